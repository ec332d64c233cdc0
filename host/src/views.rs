//! Fields and distributions as arrays of `ndarray` and matrices of `nalgebra`, without a copy.
//!
//! All data of this crate are flat slices in an order that the documentation states; these methods say it to other libraries.

use crate::error::{Error, Result};

/// Refuses a slice that has not one value for each place.
fn check_len(found: usize, expected: usize) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    Err(Error::invalid(
        "view",
        format!("{found} values"),
        format!("{expected} values"),
    ))
}

#[cfg(feature = "ndarray")]
mod arrays {
    use ndarray::{ArrayRef3, ArrayView2, ArrayView3, ArrayView5};

    use super::check_len;
    use crate::bgk::{Problem, Space};
    use crate::collision::VelocityGrid;
    use crate::error::{Error, Result};

    /// A view of a slice whose length was checked.
    fn wrong_shape(error: ndarray::ShapeError) -> Error {
        Error::invalid("shape", error, "the shape of an array")
    }

    impl VelocityGrid {
        /// Values of the cells, such as a distribution or an [`Evaluation`](crate::collision::Evaluation)'s rate, as an array `[ix, iy, iz]`. Takes the
        /// feature `ndarray`.
        ///
        /// ```
        /// use ndarray::{Axis, s};
        /// use rarefy::collision::{VelocityGrid, initial};
        ///
        /// let grid = VelocityGrid::new(12, -6.0, 6.0)?;
        /// let f = initial::maxwellian(&grid, 1.0, [0.0; 3], 1.0);
        /// let f = grid.view(&f)?;
        /// assert_eq!(f[[1, 2, 3]], f[[3, 2, 1]]);
        /// let of_x = f.sum_axis(Axis(2)).sum_axis(Axis(1)) * grid.spacing().powi(2);
        /// assert_eq!(of_x.len(), 12);
        /// assert!(f.slice(s![6, .., ..]).sum() > f.slice(s![2, .., ..]).sum());
        /// # Ok::<(), rarefy::Error>(())
        /// ```
        ///
        /// # Errors
        /// Another number of values than N^3.
        pub fn view<'a, T>(&self, values: &'a [T]) -> Result<ArrayView3<'a, T>> {
            check_len(values.len(), self.cells())?;
            let n = self.n();
            ArrayView3::from_shape((n, n, n), values).map_err(wrong_shape)
        }

        /// The values of an array `[ix, iy, iz]` of any layout in the order of this crate, as solvers take them. Takes the feature `ndarray`.
        ///
        /// ```
        /// use ndarray::Array3;
        /// use rarefy::collision::VelocityGrid;
        ///
        /// let grid = VelocityGrid::new(4, -2.0, 2.0)?;
        /// let f = Array3::from_shape_fn((4, 4, 4), |(x, y, z)| (100 * x + 10 * y + z) as f64);
        /// assert_eq!(grid.values(&f)?[grid.index(1, 2, 3)], 123.0);
        /// assert_eq!(grid.values(&f.t())?[grid.index(1, 2, 3)], 321.0);
        /// # Ok::<(), rarefy::Error>(())
        /// ```
        ///
        /// # Errors
        /// An array of another shape.
        pub fn values<T: Clone>(&self, array: &ArrayRef3<T>) -> Result<Vec<T>> {
            let n = self.n();
            if array.dim() != (n, n, n) {
                return Err(Error::invalid(
                    "array",
                    format!("the shape {:?}", array.shape()),
                    format!("the {n} x {n} x {n} cells of the grid"),
                ));
            }
            Ok(array.iter().cloned().collect())
        }
    }

    impl Space {
        /// Values of the cells, such as moments, as an array `[iy, ix]`; one row on a line. Takes the feature `ndarray`.
        ///
        /// ```
        /// use rarefy::bgk::Space;
        ///
        /// let space = Space::rectangle([3, 2], [0.0, 3.0], [0.0, 2.0])?;
        /// let view = space.view(&[0, 1, 2, 10, 11, 12])?;
        /// assert_eq!(view[[1, 2]], 12);
        /// # Ok::<(), rarefy::Error>(())
        /// ```
        ///
        /// # Errors
        /// Another number of values than cells.
        pub fn view<'a, T>(&self, values: &'a [T]) -> Result<ArrayView2<'a, T>> {
            check_len(values.len(), self.cells())?;
            ArrayView2::from_shape((self.ny(), self.nx()), values).map_err(wrong_shape)
        }
    }

    impl Problem {
        /// [Populations](crate::bgk::Simulation::state) as an array `[jx, jy, m, iy, ix]`. Takes the feature `ndarray`.
        ///
        /// ```
        /// use rarefy::Backend;
        /// use rarefy::bgk::{Axis, Boundaries, Boundary, Gas, Problem, Simulation, SimulationConfig, Space, State, VelocitySpace};
        ///
        /// let space = Space::line(10, [0.0, 1.0])?;
        /// let velocity = VelocitySpace::new(vec![Axis::uniform(16, -4.0, 4.0)?], 1)?;
        /// let boundaries = Boundaries::line(Boundary::Periodic, Boundary::Periodic);
        /// let problem = Problem::uniform(space, velocity, Gas::default(), boundaries, State::REST)?;
        /// let config = SimulationConfig { compute: Backend::Cpu.into(), ..SimulationConfig::new(problem.clone(), 0.01) };
        /// let populations = Simulation::new(config)?.state()?;
        /// let view = problem.view(&populations)?;
        /// assert_eq!(view.shape(), [16, 1, 2, 1, 10]);
        /// // The populations of m = 0 contain the weights: their sum is the density.
        /// let density = view.slice(ndarray::s![.., .., 0, 0, 3]).sum();
        /// assert!((density - 1.0).abs() < 1e-12);
        /// # Ok::<(), rarefy::Error>(())
        /// ```
        ///
        /// # Errors
        /// Another number of values than phase-space cells.
        pub fn view<'a, T>(&self, populations: &'a [T]) -> Result<ArrayView5<'a, T>> {
            let [x, y, m] = self.velocity.shape();
            let shape = (x, y, m, self.space.ny(), self.space.nx());
            check_len(
                populations.len(),
                self.velocity.nodes() * self.space.cells(),
            )?;
            ArrayView5::from_shape(shape, populations).map_err(wrong_shape)
        }
    }
}

#[cfg(feature = "nalgebra")]
mod matrices {
    use nalgebra::{DMatrixView, Scalar};

    use super::check_len;
    use crate::bgk::Space;
    use crate::error::Result;

    impl Space {
        /// Values of the cells, such as moments, as a matrix with the element (ix, iy); one column on a line. Takes the feature `nalgebra`.
        ///
        /// ```
        /// use rarefy::bgk::Space;
        ///
        /// let space = Space::rectangle([3, 2], [0.0, 3.0], [0.0, 2.0])?;
        /// let matrix = space.matrix(&[0, 1, 2, 10, 11, 12])?;
        /// assert_eq!(matrix[(2, 1)], 12);
        /// # Ok::<(), rarefy::Error>(())
        /// ```
        ///
        /// # Errors
        /// Another number of values than cells.
        pub fn matrix<'a, T: Scalar>(&self, values: &'a [T]) -> Result<DMatrixView<'a, T>> {
            check_len(values.len(), self.cells())?;
            Ok(DMatrixView::from_slice(values, self.nx(), self.ny()))
        }
    }
}
