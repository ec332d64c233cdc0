//! Arrays of samples in a plane and in space.

use std::sync::Arc;

use crate::error::{Error, Result};

/// Samples on a square grid, row by row along x.
#[derive(Clone, PartialEq)]
pub struct Samples {
    nx: usize,
    values: Arc<[f64]>,
}

impl Samples {
    /// `ny` rows of `nx` values, indexed `[iy][ix]`. In a mask all values but zero are solid.
    ///
    /// # Errors
    /// Fewer than two samples along an axis, another number of values, or one that is not finite.
    pub fn new(nx: usize, ny: usize, values: Vec<f64>) -> Result<Self> {
        if nx < 2 || ny < 2 {
            return Err(Error::invalid(
                "shape",
                format!("({ny}, {nx})"),
                "an array of two dimensions, [iy][ix], with at least two samples along each",
            ));
        }
        if nx.checked_mul(ny) != Some(values.len()) {
            let count = values.len();
            return Err(Error::invalid(
                "shape",
                format!("({ny}, {nx}) of {count} values"),
                "as many values as the shape has",
            ));
        }
        if let Some(at) = values.iter().position(|value| !value.is_finite()) {
            return Err(Error::invalid(
                format!("sample [{}][{}]", at / nx, at % nx),
                values[at],
                "a finite number",
            ));
        }
        Ok(Self {
            nx,
            values: values.into(),
        })
    }

    /// Samples along x.
    pub fn nx(&self) -> usize {
        self.nx
    }

    /// Samples along y.
    pub fn ny(&self) -> usize {
        self.values.len() / self.nx
    }

    /// The values, row by row along x.
    pub fn values(&self) -> &[f64] {
        &self.values
    }
}

impl std::fmt::Debug for Samples {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Samples[{}][{}]", self.ny(), self.nx)
    }
}

/// Voxels of solid and gas on a cubic grid, along x, then y, then z.
#[derive(Clone, PartialEq)]
pub struct VoxelSamples {
    count: [usize; 3],
    solid: Arc<[bool]>,
}

impl VoxelSamples {
    /// `nz` layers of `ny` rows of `nx` voxels, indexed `[iz][iy][ix]`; true is solid.
    ///
    /// # Errors
    /// Fewer than two voxels along an axis, or another number of them.
    pub fn new([nx, ny, nz]: [usize; 3], solid: Vec<bool>) -> Result<Self> {
        if nx < 2 || ny < 2 || nz < 2 {
            return Err(Error::invalid(
                "shape",
                format!("({nz}, {ny}, {nx})"),
                "an array of three dimensions, [iz][iy][ix], with at least two samples along each",
            ));
        }
        let total = nx.checked_mul(ny).and_then(|layer| layer.checked_mul(nz));
        if total != Some(solid.len()) {
            let count = solid.len();
            return Err(Error::invalid(
                "shape",
                format!("({nz}, {ny}, {nx}) of {count} values"),
                "as many values as the shape has",
            ));
        }
        Ok(Self {
            count: [nx, ny, nz],
            solid: solid.into(),
        })
    }

    /// Voxels along x, y and z.
    pub fn count(&self) -> [usize; 3] {
        self.count
    }

    /// Whether each voxel is solid.
    pub fn values(&self) -> &[bool] {
        &self.solid
    }
}

impl std::fmt::Debug for VoxelSamples {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [nx, ny, nz] = self.count;
        write!(f, "VoxelSamples[{nz}][{ny}][{nx}]")
    }
}
