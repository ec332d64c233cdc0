//! Tables and launches of the restructured sum on a GPU.
//!
//! What the kernels `speed_spectrum`, `gather_z` and `gather_xy` read, in the layouts that they document.

use std::collections::BTreeMap;
use std::ops::Range;

use rarefy_kernels::collision::{FastShape, TILE};
use rarefy_kernels::{Quad, Real};

use super::coefficients::{Orbit, OrbitTable};

/// Orbits that a block takes up at a time.
const CHUNK: u32 = 128;

/// One stretch of the work, with its output small enough for the buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pass {
    /// Tasks of the spectrum.
    pub(super) tasks: Range<u32>,
    /// Places of the z-sums, as positions in [`SpectrumPlan::order`].
    pub(super) places: Range<u32>,
}

/// Everything but the coefficients that depends on the grid only.
pub(super) struct SpectrumPlan {
    /// The problem, with the first pass' tasks.
    pub(super) shape: FastShape,
    /// `[s_x, s_y, parity of s_z, first tile]`, the most laborious of each pass first.
    pub(super) tasks: Vec<Quad<u32>>,
    /// Two entries for each (s_x, s_y).
    pub(super) places: Vec<Quad<u32>>,
    /// The places in the order of the passes.
    pub(super) order: Vec<u32>,
    /// Distinct values of rho_xy, box after box.
    pub(super) distinct: Vec<u32>,
    /// Place of (|m_x|, |m_y|) among the distinct values, box after box.
    pub(super) map: Vec<u32>,
    /// The stretches.
    pub(super) passes: Vec<Pass>,
}

/// The orbits of all classes with their bands cut into tiles.
pub(super) struct BandTiles {
    /// `[|n|, first tile, tiles, first coefficient / TILE]`.
    pub(super) orbits: Vec<Quad<u32>>,
    /// First orbit of each class, and the end.
    pub(super) classes: Vec<u32>,
    /// End of the highest tile up to each chunk of a class.
    pub(super) reach: Vec<u32>,
    /// Coefficients times multiplicity, tile after tile.
    pub(super) coefficients: Vec<f64>,
}

/// How often `speed_spectrum`'s sum over assignments and signs counts each product of an orbit, turned round: what one of its terms is worth.
fn multiplicity(class: u32, orbit: &Orbit) -> f64 {
    let [a, b, c] = orbit.n;
    let zeros = orbit.n.iter().filter(|&&n| n == 0).count() as i32;
    let alike = if class.is_multiple_of(3) {
        match (a == b, b == c) {
            (true, true) => 6.0,
            (false, false) => 1.0,
            _ => 2.0,
        }
    } else if b == c {
        2.0
    } else {
        1.0
    };
    2.0 / (2f64.powi(zeros) * alike)
}

impl BandTiles {
    pub(super) fn new(table: &OrbitTable) -> Self {
        let mut tiles = Self {
            orbits: vec![],
            classes: vec![0],
            reach: vec![],
            coefficients: vec![],
        };
        for class in 0..4 {
            let orbits = table.class(class);
            let mut sorted: Vec<&Orbit> = orbits
                .orbits()
                .iter()
                .filter(|orbit| orbit.count > 0)
                .collect();
            sorted.sort_by_key(|orbit| orbit.first / TILE);
            let mut reach = 0;
            for chunk in sorted.chunks(CHUNK as usize) {
                for orbit in chunk {
                    let first = orbit.first / TILE;
                    let count = (orbit.first + orbit.count).div_ceil(TILE) - first;
                    let [a, b, c] = orbit.n;
                    let offset = tiles.coefficients.len();
                    tiles.orbits.push(Quad([
                        a | b << 8 | c << 16,
                        first,
                        count,
                        offset as u32 / TILE,
                    ]));
                    tiles
                        .coefficients
                        .resize(offset + (count * TILE) as usize, 0.0);
                    let at = offset + (orbit.first - first * TILE) as usize;
                    let weight = multiplicity(class, orbit);
                    for (to, omega) in tiles.coefficients[at..].iter_mut().zip(orbits.band(orbit)) {
                        *to = weight * omega;
                    }
                    reach = reach.max(first + count);
                }
                tiles.reach.push(reach);
                // Up to a whole chunk with orbits that fit into no box.
                let missing = CHUNK as usize - chunk.len();
                tiles.orbits.extend(std::iter::repeat_n(
                    Quad([0xff_ffff, u32::MAX, 0, 0]),
                    missing,
                ));
            }
            tiles.classes.push(tiles.orbits.len() as u32);
        }
        tiles
    }
}

/// Distance to the nearer end of the doubled lattice.
fn half_width(s: u32, n: u32) -> u32 {
    s.min(2 * (n - 1) - s)
}

/// Mirror images that a block treats together: as many as fill up to `lanes` columns.
fn sets<T: Real>(n: u32) -> u32 {
    let most = if size_of::<T>() == 4 { 128 } else { 96 };
    [4, 2]
        .into_iter()
        .find(|sets| sets * n <= most)
        .unwrap_or(1)
}

impl SpectrumPlan {
    /// Plans a grid of n^3 cells for `items` distributions at once, with at most `budget` bytes for the spectra of one pass.
    pub(super) fn new<T: Real>(n: usize, items: usize, budget: u64) -> Self {
        let n = n as u32;
        let sets = sets::<T>(n);
        let mut shape = FastShape {
            n,
            sets,
            chunk: CHUNK,
            first_task: 0,
            launch_tasks: 0,
            tiles: 0,
            z_sums: 0,
        };
        let ends = 2 * n - 1;
        let tile_bytes = u64::from(TILE * shape.columns()) * size_of::<T>() as u64 * items as u64;
        let most_tiles = (budget / tile_bytes).min(u64::from(u32::MAX) / u64::from(TILE)) as u32;

        // Tiles that a task writes: rho from 0 to the corner of the box.
        let tiles = |sx: u32, sy: u32, pz: u32| {
            let (wx, wy) = (half_width(sx, n), half_width(sy, n));
            let wz = n - 1 - ((n - 1 - pz) & 1);
            let class = (sx & 1) + (sy & 1) + pz;
            let shift = if class == 3 { 3 } else { 2 };
            ((wx * wx + wy * wy + wz * wz - class) >> shift) / TILE + 1
        };
        let base = |s: u32, mirrored: bool| if mirrored { half_width(s, n) } else { s };
        let (mirror_x, mirror_y) = (sets == 4, sets >= 2);

        // Boxes share their distinct values of rho_xy.
        let mut distinct = vec![];
        let mut map = vec![];
        let mut boxes = BTreeMap::new();
        for wx in 0..n {
            for wy in 0..n {
                let (first_distinct, first_map) = (distinct.len() as u32, map.len() as u32);
                let components = |w: u32| (w & 1..=w).step_by(2);
                let mut values: Vec<u32> = components(wx)
                    .flat_map(|mx| components(wy).map(move |my| mx * mx + my * my))
                    .collect();
                let all = values.clone();
                values.sort_unstable();
                values.dedup();
                map.extend(
                    all.iter()
                        .map(|rho| values.binary_search(rho).unwrap_or(0) as u32),
                );
                boxes.insert(
                    (wx, wy),
                    [first_distinct, values.len() as u32, first_map, 0],
                );
                distinct.extend(values);
            }
        }

        let mut places = vec![Quad([0; 4]); 2 * (ends * ends) as usize];
        let mut order = vec![];
        let mut tasks: Vec<Quad<u32>> = vec![];
        let mut passes: Vec<Pass> = vec![];
        let mut z_sums = 0;
        let mut used = 0;
        let rows = if mirror_x { n } else { ends };
        let columns = if mirror_y { n } else { ends };
        for sx in 0..rows {
            let needed: u32 = (0..columns)
                .map(|sy| tiles(sx, sy, 0) + tiles(sx, sy, 1))
                .sum();
            if passes.is_empty() || used + needed > most_tiles.max(needed) {
                passes.push(Pass {
                    tasks: tasks.len() as u32..tasks.len() as u32,
                    places: order.len() as u32..order.len() as u32,
                });
                used = 0;
            }
            for sy in 0..columns {
                let first = [used, used + tiles(sx, sy, 0)];
                used += tiles(sx, sy, 0) + tiles(sx, sy, 1);
                for pz in 0..2 {
                    tasks.push(Quad([sx, sy, pz, first[pz as usize]]));
                }
                for set in 0..sets {
                    let x = if set & 2 == 0 { sx } else { 2 * (n - 1) - sx };
                    let y = if set & 1 == 0 { sy } else { 2 * (n - 1) - sy };
                    // The middle of the lattice is its own mirror image.
                    if (set & 2 != 0 && x == sx) || (set & 1 != 0 && y == sy) {
                        continue;
                    }
                    debug_assert_eq!((base(x, mirror_x), base(y, mirror_y)), (sx, sy));
                    let place = x * ends + y;
                    let entry = boxes[&(half_width(x, n), half_width(y, n))];
                    places[2 * place as usize] = Quad([first[0], first[1], set * n, z_sums]);
                    places[2 * place as usize + 1] = Quad(entry);
                    order.push(place);
                    z_sums += entry[1] * n;
                }
            }
            if let Some(pass) = passes.last_mut() {
                pass.tasks.end = tasks.len() as u32;
                pass.places.end = order.len() as u32;
            }
            shape.tiles = shape.tiles.max(used);
        }
        for pass in &passes {
            let range = pass.tasks.start as usize..pass.tasks.end as usize;
            tasks[range].sort_by_key(|&Quad([sx, sy, pz, _])| {
                let volume = (half_width(sx, n) + 1) * (half_width(sy, n) + 1);
                std::cmp::Reverse(u64::from(volume) * u64::from(tiles(sx, sy, pz)))
            });
        }
        shape.z_sums = z_sums;
        Self {
            shape,
            tasks,
            places,
            order,
            distinct,
            map,
            passes,
        }
    }

    /// Bytes of the spectra and of the z-sums for `items` distributions.
    pub(super) fn working_bytes<T: Real>(&self, items: usize) -> u64 {
        let spectra = u64::from(self.shape.tiles) * u64::from(TILE * self.shape.columns());
        (spectra + u64::from(self.shape.z_sums)) * size_of::<T>() as u64 * items as u64
    }
}
