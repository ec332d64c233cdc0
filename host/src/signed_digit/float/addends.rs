//! Numbers, slices, arrays and iterators that an accumulator adds.

use std::iter::Sum;
use std::ops::{AddAssign, SubAssign};

#[cfg(feature = "nalgebra")]
use nalgebra::{Dim, Matrix, RawStorage, Scalar};
#[cfg(feature = "ndarray")]
use ndarray::{ArrayRef, Dimension};
use rayon::prelude::*;

use super::accumulator::ExactAccumulator;
use super::format::Float;
#[cfg(any(feature = "nalgebra", feature = "ndarray"))]
use crate::error::Error;
use crate::error::Result;
use crate::signed_digit::limb::same_length;

/// Elements that one task of the CPU takes.
const TASK: usize = 1 << 16;

impl ExactAccumulator {
    /// The sum of a slice, on all cores.
    pub fn sum<T: Float>(x: &[T]) -> Self {
        let mut sum = Self::new();
        sum.add_slice(x);
        sum
    }

    /// The dot product of two slices of one length, on all cores.
    ///
    /// # Errors
    /// Slices of different lengths.
    pub fn dot<T: Float>(x: &[T], y: &[T]) -> Result<Self> {
        let mut sum = Self::new();
        sum.add_products(x, y)?;
        Ok(sum)
    }

    /// Adds a number.
    pub fn add<T: Float>(&mut self, x: T) {
        self.add_number(x.to_f64());
    }

    /// Adds the product of two numbers.
    pub fn add_product<T: Float>(&mut self, x: T, y: T) {
        self.add_one_product(x.to_f64(), y.to_f64());
    }

    /// Adds the numbers of a slice, on all cores if it is long.
    pub fn add_slice<T: Float>(&mut self, x: &[T]) {
        self.in_tasks(x.len(), |range, sum| T::add_sum::<false>(&x[range], sum));
    }

    /// Adds the magnitudes of the numbers of a slice.
    pub fn add_magnitudes<T: Float>(&mut self, x: &[T]) {
        self.in_tasks(x.len(), |range, sum| T::add_sum::<true>(&x[range], sum));
    }

    /// Adds the products of the numbers of two slices of one length.
    ///
    /// # Errors
    /// Slices of different lengths.
    pub fn add_products<T: Float>(&mut self, x: &[T], y: &[T]) -> Result<()> {
        same_length(x.len(), y.len())?;
        self.in_tasks(x.len(), |range, sum| {
            T::add_dot(&x[range.clone()], &y[range], sum)
        });
        Ok(())
    }

    /// Adds the squares of the numbers of a slice.
    pub fn add_squares<T: Float>(&mut self, x: &[T]) {
        self.in_tasks(x.len(), |range, sum| {
            T::add_dot(&x[range.clone()], &x[range], sum)
        });
    }

    /// Adds the numbers of an array of `ndarray`, or of a view of one, in whatever layout. Takes the feature `ndarray`.
    ///
    /// ```
    /// use ndarray::array;
    /// use rarefy::signed_digit::float::ExactAccumulator;
    ///
    /// let x = array![[1.0, 1e100], [-1e100, 3.0]];
    /// let mut sum = ExactAccumulator::new();
    /// sum.add_array(&x);
    /// sum.add_array(&x.column(0));
    /// assert_eq!(sum.round::<f64>(), -1e100);
    /// ```
    #[cfg(feature = "ndarray")]
    pub fn add_array<T: Float, D: Dimension>(&mut self, x: &ArrayRef<T, D>) {
        match x.as_slice_memory_order() {
            Some(slice) => self.add_slice(slice),
            None => self.add_all(x.iter().copied()),
        }
    }

    /// Adds the products of the numbers at equal places of two arrays of one shape: their dot product. Takes the feature `ndarray`.
    ///
    /// ```
    /// use ndarray::array;
    /// use rarefy::signed_digit::float::ExactAccumulator;
    ///
    /// let (x, y) = (array![1e200, 1.0, 1e200], array![1e-50, 0.25, -1e-50]);
    /// let mut sum = ExactAccumulator::new();
    /// sum.add_array_products(&x, &y)?;
    /// assert_eq!(sum.round::<f64>(), 0.25);
    /// # Ok::<(), rarefy::Error>(())
    /// ```
    ///
    /// # Errors
    /// Arrays of different shapes.
    #[cfg(feature = "ndarray")]
    pub fn add_array_products<T: Float, D: Dimension>(
        &mut self,
        x: &ArrayRef<T, D>,
        y: &ArrayRef<T, D>,
    ) -> Result<()> {
        if x.shape() != y.shape() {
            return Err(Error::invalid(
                "y",
                format!("an array of shape {:?}", y.shape()),
                format!("the shape of x, {:?}", x.shape()),
            ));
        }
        if let (Some(x), Some(y)) = (x.as_slice(), y.as_slice()) {
            return self.add_products(x, y);
        }
        for (x, y) in x.iter().zip(y.iter()) {
            self.add_product(*x, *y);
        }
        Ok(())
    }

    /// Adds the numbers of a matrix or vector of `nalgebra`, or of a view of one, in whatever layout. Takes the feature `nalgebra`.
    ///
    /// ```
    /// use nalgebra::{Matrix2, Vector2};
    /// use rarefy::signed_digit::float::ExactAccumulator;
    ///
    /// let x = Matrix2::new(1.0, 1e100, -1e100, 3.0);
    /// let mut sum = ExactAccumulator::new();
    /// sum.add_matrix(&x);
    /// sum.add_matrix(&x.row(0));
    /// sum.add_matrix(&Vector2::new(-1e100, 0.0));
    /// assert_eq!(sum.round::<f64>(), 5.0);
    /// ```
    #[cfg(feature = "nalgebra")]
    pub fn add_matrix<T, R, C, S>(&mut self, x: &Matrix<T, R, C, S>)
    where
        T: Float + Scalar,
        R: Dim,
        C: Dim,
        S: RawStorage<T, R, C>,
    {
        self.add_all(x.iter().copied());
    }

    /// Adds the products of the numbers at equal places of two matrices or vectors of one shape: their dot product. Takes the feature `nalgebra`.
    ///
    /// ```
    /// use nalgebra::Vector3;
    /// use rarefy::signed_digit::float::ExactAccumulator;
    ///
    /// let (x, y) = (Vector3::new(1e200, 1.0, 1e200), Vector3::new(1e-50, 0.25, -1e-50));
    /// let mut sum = ExactAccumulator::new();
    /// sum.add_matrix_products(&x, &y)?;
    /// assert_eq!(sum.round::<f64>(), 0.25);
    /// # Ok::<(), rarefy::Error>(())
    /// ```
    ///
    /// # Errors
    /// Matrices of different shapes.
    #[cfg(feature = "nalgebra")]
    pub fn add_matrix_products<T, R1, C1, S1, R2, C2, S2>(
        &mut self,
        x: &Matrix<T, R1, C1, S1>,
        y: &Matrix<T, R2, C2, S2>,
    ) -> Result<()>
    where
        T: Float + Scalar,
        R1: Dim,
        C1: Dim,
        S1: RawStorage<T, R1, C1>,
        R2: Dim,
        C2: Dim,
        S2: RawStorage<T, R2, C2>,
    {
        if x.shape() != y.shape() {
            return Err(Error::invalid(
                "y",
                format!("a matrix of shape {:?}", y.shape()),
                format!("the shape of x, {:?}", x.shape()),
            ));
        }
        for (x, y) in x.iter().zip(y.iter()) {
            self.add_product(*x, *y);
        }
        Ok(())
    }

    /// Adds the numbers of an iterator, in pieces, as slices are added much faster than single numbers.
    fn add_all<T: Float>(&mut self, numbers: impl Iterator<Item = T>) {
        const PIECE: usize = 1024;
        let mut piece = Vec::with_capacity(PIECE);
        for number in numbers {
            piece.push(number);
            if piece.len() == PIECE {
                T::add_sum::<false>(&piece, self);
                piece.clear();
            }
        }
        T::add_sum::<false>(&piece, self);
    }

    /// Runs `work` on all ranges of a slice's tasks, and adds what they make.
    fn in_tasks(&mut self, len: usize, work: impl Fn(std::ops::Range<usize>, &mut Self) + Sync) {
        if len <= 2 * TASK {
            work(0..len, self);
            return;
        }
        // Fewer and longer tasks than the ranges that rayon would make: each ends with a merge.
        let task = (len / (4 * rayon::current_num_threads())).clamp(TASK, 1 << 24);
        let sum = (0..len.div_ceil(task))
            .into_par_iter()
            .fold(Self::new, |mut sum, k| {
                work(k * task..((k + 1) * task).min(len), &mut sum);
                sum
            })
            .reduce(Self::new, |mut sum, other| {
                sum.merge(&other);
                sum
            });
        self.merge(&sum);
    }
}

macro_rules! from_iterators {
    ($([$($life:lifetime)?] $number:ty, |$x:ident| $value:expr;)*) => {$(
        impl$(<$life>)? Extend<$number> for ExactAccumulator {
            fn extend<I: IntoIterator<Item = $number>>(&mut self, numbers: I) {
                self.add_all(numbers.into_iter().map(|$x| $value));
            }
        }

        impl$(<$life>)? FromIterator<$number> for ExactAccumulator {
            fn from_iter<I: IntoIterator<Item = $number>>(numbers: I) -> Self {
                let mut sum = Self::new();
                sum.extend(numbers);
                sum
            }
        }
    )*};
}
from_iterators! {
    [] f32, |x| x;
    [] f64, |x| x;
    ['a] &'a f32, |x| *x;
    ['a] &'a f64, |x| *x;
}

impl Sum for ExactAccumulator {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(Self::new(), |mut sum, part| {
            sum.merge(&part);
            sum
        })
    }
}

impl<T: Float> AddAssign<T> for ExactAccumulator {
    fn add_assign(&mut self, x: T) {
        self.add(x);
    }
}

impl<T: Float> SubAssign<T> for ExactAccumulator {
    fn sub_assign(&mut self, x: T) {
        self.add(-x);
    }
}
