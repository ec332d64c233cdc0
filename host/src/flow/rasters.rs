//! Shapes from files and arrays, before the case is checked: what they hold, and walls from masks, voxels and distances.

use super::body::{Raster, Shape, Voxels};
use super::case::{Case, Side};
use super::level::{Beyond, Grid, Level};
use super::mask;
use super::samples::Samples;
use super::volume::VoxelWall;
use crate::error::{Error, Result};

/// Share of a sample by which an array may miss the ends of a domain or a period.
const NEAR: f64 = 0.51;

/// The domain that samples lie in.
pub(super) struct Ground {
    ends: [[f64; 2]; 3],
    periodic: [bool; 3],
}

impl Ground {
    /// That of a case.
    pub(super) fn new(case: &Case) -> Self {
        let sides = case.named_sides();
        let periodic = [0, 2, 4].map(|side: usize| {
            let side = sides.get(side).map(|(_, side)| *side);
            matches!(side, Some(Side::Periodic { .. }))
        });
        // A plane goes on along z without end.
        let z = case.domain.z.unwrap_or([f64::NEG_INFINITY, f64::INFINITY]);
        Self {
            ends: [case.domain.x, case.domain.y, z],
            periodic,
        }
    }

    /// The values beyond samples from `first` to `last` along an axis, of which the next one would lie one spacing on.
    fn beyond(&self, axis: usize, [first, last]: [f64; 2], spacing: f64) -> Beyond {
        let [low, high] = self.ends[axis];
        let period = last - first + spacing;
        if self.periodic[axis] && (period - (high - low)).abs() < 1e-6 * spacing.max(period * 1e-3)
        {
            return Beyond::Again;
        }
        let near = NEAR * spacing;
        match first - near <= low && last + near >= high {
            true => Beyond::Same,
            false => Beyond::Gas,
        }
    }
}

/// Reads the files of a shape, and makes walls of its samples.
///
/// # Errors
/// A file or an array that makes no body.
pub(super) fn prepare(shape: &mut Shape, ground: &Ground) -> Result<()> {
    shape.read()?;
    match shape {
        Shape::Mask(raster) => raster.prepare(ground, true),
        Shape::Distance(raster) => raster.prepare(ground, false),
        Shape::Voxels(voxels) => voxels.prepare(ground),
        Shape::Union { of } | Shape::Difference { of } => {
            let mut parts = of.iter_mut().enumerate();
            parts.try_for_each(|(k, part)| {
                prepare(part, ground).map_err(|e| e.within(&format!("part {}", k + 1)))
            })
        }
        _ => Ok(()),
    }
}

impl Raster {
    fn prepare(&mut self, ground: &Ground, is_mask: bool) -> Result<()> {
        let (origin, spacing) = placed(self.origin, self.spacing)?;
        let Some(samples) = &self.samples else {
            return Err(Error::invalid("file", "none", "a file of the array"));
        };
        let count = [samples.nx(), samples.ny()];
        // Centres of pixels lie half a pixel within the corner.
        let first = match is_mask {
            true => origin.map(|x| x + 0.5 * spacing),
            false => origin,
        };
        let beyond = [0, 1].map(|axis| {
            let last = first[axis] + spacing * (count[axis] - 1) as f64;
            ground.beyond(axis, [first[axis], last], spacing)
        });
        let grid = Grid {
            origin: first,
            spacing,
            count,
            beyond,
        };
        // A mask with gas around it has one more row of pixels.
        let grid = if is_mask { with_border(grid) } else { grid };
        if self.level.as_ref().is_some_and(|level| level.suits(&grid)) {
            return Ok(());
        }
        let phi = match is_mask {
            true => wall_of_mask(samples, &grid),
            false => samples.values().to_vec(),
        };
        self.level = Level::new(grid, phi);
        match self.level {
            Some(_) => Ok(()),
            None => Err(no_wall(samples, is_mask)),
        }
    }
}

impl Voxels {
    fn prepare(&mut self, ground: &Ground) -> Result<()> {
        let (origin, spacing) = placed(self.origin, self.spacing)?;
        let Some(samples) = &self.samples else {
            return Err(Error::invalid("file", "none", "a file of the array"));
        };
        let count = samples.count();
        let first = origin.map(|x| x + 0.5 * spacing);
        let beyond = [0, 1, 2].map(|axis| {
            let last = first[axis] + spacing * (count[axis] - 1) as f64;
            ground.beyond(axis, [first[axis], last], spacing)
        });
        self.make_wall(beyond)
    }

    /// The wall of the samples, with this beyond them along each axis.
    pub(super) fn make_wall(&mut self, beyond: [Beyond; 3]) -> Result<()> {
        let Some(samples) = &self.samples else {
            return Ok(());
        };
        let (origin, spacing) = placed(self.origin, self.spacing)?;
        let count = samples.count();
        let grid = with_border(Grid {
            // Centres of voxels lie half a voxel within the corner.
            origin: origin.map(|x| x + 0.5 * spacing),
            spacing,
            count,
            beyond,
        });
        if self.wall.as_ref().is_some_and(|wall| wall.suits(&grid)) {
            return Ok(());
        }
        let solid = widened(samples.values(), count, grid.count);
        let periodic = grid.beyond.map(|beyond| beyond == Beyond::Again);
        let mut phi = mask::distances(grid.count, &solid, periodic);
        phi.iter_mut().for_each(|phi| *phi *= spacing);
        self.wall = VoxelWall::new(grid, phi);
        if self.wall.is_some() {
            return Ok(());
        }
        let (held, expected) = match samples.values()[0] {
            false => ("gas", "some that are true: the solid"),
            true => ("solid", "some that are false: the gas"),
        };
        let [nx, ny, nz] = count;
        let value = format!("[{nz}][{ny}][{nx}] samples, all {held}");
        Err(Error::invalid("voxels", value, expected))
    }
}

/// Origin and spacing of samples, once their file was read.
fn placed<const N: usize>(
    origin: Option<[f64; N]>,
    spacing: Option<f64>,
) -> Result<([f64; N], f64)> {
    match spacing {
        Some(spacing) if spacing.is_finite() && spacing > 0.0 => {
            Ok((origin.unwrap_or([0.0; N]), spacing))
        }
        Some(spacing) => Err(Error::invalid("spacing", spacing, "a positive number")),
        None => Err(Error::invalid(
            "spacing",
            "none",
            "the distance of samples, which only a .vti file has",
        )),
    }
}

/// Pixels of gas around a mask that ends within the domain.
const BORDER: usize = 2;

fn with_border<const N: usize>(grid: Grid<N>) -> Grid<N> {
    let mut wide = grid;
    for axis in 0..N {
        if grid.beyond[axis] == Beyond::Gas {
            wide.origin[axis] -= BORDER as f64 * grid.spacing;
            wide.count[axis] += 2 * BORDER;
        }
    }
    wide
}

/// A mask in the middle of a wider one, whose other samples are gas.
fn widened<const N: usize>(solid: &[bool], count: [usize; N], wide: [usize; N]) -> Vec<bool> {
    let place = |mut k: usize| {
        let (mut at, mut stride) = (0, 1);
        for axis in 0..N {
            let margin = (wide[axis] - count[axis]) / 2;
            let here = (k % wide[axis])
                .checked_sub(margin)
                .filter(|here| *here < count[axis])?;
            at += here * stride;
            k /= wide[axis];
            stride *= count[axis];
        }
        Some(at)
    };
    (0..wide.iter().product())
        .map(|k| place(k).is_some_and(|at| solid[at]))
        .collect()
}

fn wall_of_mask(samples: &Samples, grid: &Grid<2>) -> Vec<f64> {
    let marks: Vec<bool> = samples.values().iter().map(|value| *value != 0.0).collect();
    let solid = widened(&marks, [samples.nx(), samples.ny()], grid.count);
    let periodic = grid.beyond.map(|beyond| beyond == Beyond::Again);
    let mut phi = mask::distances(grid.count, &solid, periodic);
    phi.iter_mut().for_each(|phi| *phi *= grid.spacing);
    phi
}

fn no_wall(samples: &Samples, is_mask: bool) -> Error {
    let (nx, ny) = (samples.nx(), samples.ny());
    let all_gas = match is_mask {
        true => samples.values()[0] == 0.0,
        false => samples.values()[0] >= 0.0,
    };
    let (held, expected) = match (is_mask, all_gas) {
        (true, true) => ("gas", "some that are true or dark: the solid"),
        (true, false) => ("solid", "some that are false or light: the gas"),
        (false, true) => ("at least 0", "negative distances in the solid"),
        (false, false) => ("negative", "positive distances in the gas"),
    };
    let name = if is_mask { "mask" } else { "distance" };
    Error::invalid(name, format!("[{ny}][{nx}] samples, all {held}"), expected)
}
