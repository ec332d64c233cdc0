//! Tables and launches of the restructured sum on a GPU.
//!
//! What the kernels `pair_products`, `speed_spectrum`, `gather_z` and `gather_xy` read, in the layouts that they document.

use std::collections::BTreeMap;
use std::ops::Range;

use rarefy_kernels::collision::{
    FastShape, GATHER_SHARE, GROUP, IMAGES, SPECTRUM_THREADS, TILE, pair_place,
};
use rarefy_kernels::{Quad, Real, WARP};

use super::coefficients::OrbitTable;

/// One stretch of the work, with its intermediate results small enough for their buffers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pass {
    /// Pairs of the products.
    pub(super) pairs: Range<u32>,
    /// Blocks of the spectrum, as positions in [`SpectrumPlan::spectra`].
    pub(super) spectra: Range<u32>,
    /// Blocks of the z-sums, as positions in [`SpectrumPlan::gathers`].
    pub(super) gathers: Range<u32>,
}

/// Everything but the coefficients that depends on the grid only.
pub(super) struct SpectrumPlan {
    /// The problem.
    pub(super) shape: FastShape,
    /// `[|n_1|, |n_2|, w_1, w_2]` packed in bytes, task after task.
    pub(super) pairs: Vec<u32>,
    /// Tiles of 4 x 4 cells in the lower triangle: `[a/4, b/4]` packed in bytes.
    pub(super) tiles: Vec<u32>,
    /// Blocks of the spectrum, the most laborious of each pass first.
    pub(super) spectra: Vec<Quad<u32>>,
    /// Two entries for each task, a pair w_1 >= w_2.
    pub(super) tasks: Vec<Quad<u32>>,
    /// Blocks of the z-sums.
    pub(super) gathers: Vec<u32>,
    /// Distinct values of rho_xy, task after task.
    pub(super) distinct: Vec<u32>,
    /// First z-sum and first word of the map for each (s_x, s_y).
    pub(super) places: Vec<u32>,
    /// Place of (|m_x|, |m_y|) among the distinct values, box after box.
    pub(super) map: Vec<u32>,
    /// The stretches.
    pub(super) passes: Vec<Pass>,
}

/// The coefficients, cut into tiles of rho, and for each tile who contributes to it.
pub(super) struct BandTiles {
    /// First entry of each |n_2| / 2 of each tile, for each of the eight parity patterns of (n_1, n_2, n_z), and the end.
    pub(super) starts: Vec<u32>,
    /// `[|n| and whether this is the first of its tiles, packed in bytes; coefficients / TILE]`.
    pub(super) entries: Vec<u32>,
    /// Coefficients times multiplicity, tile after tile; the first tile is zero.
    pub(super) coefficients: Vec<f64>,
    /// Tiles of a pattern.
    pub(super) pattern_tiles: u32,
}

/// Numbers up to `most` of its parity.
fn alike(most: u32) -> impl Iterator<Item = u32> + Clone {
    (most & 1..=most).step_by(2)
}

/// Binary logarithm of the distance of two values of rho in a parity class.
fn class_shift(class: u32) -> u32 {
    if class == 3 { 3 } else { 2 }
}

/// Tiles from rho = 0 to the corner of a box.
fn tiles_of(w: [u32; 3]) -> u32 {
    let class = w.iter().map(|w| w & 1).sum();
    let rho = w.iter().map(|w| w * w).sum::<u32>();
    ((rho - class) >> class_shift(class)) / TILE + 1
}

impl BandTiles {
    pub(super) fn new(table: &OrbitTable) -> Self {
        let n = table.n() as u32;
        let largest = |parity: u32| n - 1 - ((n - 1 - parity) & 1);
        let pattern_tiles = (0..4)
            .map(|class| table.class(class).radii() as u32 / TILE + 1)
            .max()
            .unwrap_or(1);
        // Each orbit's band once, for all its images.
        let mut coefficients = vec![0.0; TILE as usize];
        let mut bands: Vec<Vec<[u32; 3]>> = vec![];
        for class in 0..4 {
            let orbits = table.class(class);
            let cut = orbits.orbits().iter().map(|orbit| {
                let first = orbit.first / TILE;
                let count = if orbit.count == 0 {
                    0
                } else {
                    (orbit.first + orbit.count).div_ceil(TILE) - first
                };
                let offset = coefficients.len();
                coefficients.resize(offset + (count * TILE) as usize, 0.0);
                // A product stands for n and -n; the kernel counts it once for each sign of a component that is zero.
                let zeros = orbit.n.iter().filter(|&&n| n == 0).count() as i32;
                let weight = 2.0 / 2f64.powi(zeros);
                let at = offset + (orbit.first - first * TILE) as usize;
                for (to, omega) in coefficients[at..].iter_mut().zip(orbits.band(orbit)) {
                    *to = weight * omega;
                }
                [first, count, offset as u32 / TILE]
            });
            bands.push(cut.collect());
        }
        let mut starts = vec![];
        let mut entries = vec![];
        for pattern in 0..8 {
            let parity = [pattern >> 2, pattern >> 1 & 1, pattern & 1];
            let class = parity.iter().sum::<u32>();
            let levels = (n as usize).div_ceil(2);
            // In the same order for every tile: neighbouring tiles then want the same products at about the same time.
            let mut lists = vec![vec![vec![]; levels]; pattern_tiles as usize];
            let magnitudes = |axis: usize| alike(largest(parity[axis]));
            for q in magnitudes(1) {
                for p in magnitudes(0).filter(|&p| parity[0] != parity[1] || p >= q) {
                    for z in magnitudes(2) {
                        let halves = [p, q, z].map(|n| n as usize / 2);
                        let orbit = table.class(class).orbit_of(pattern, halves);
                        let [first, count, offset] = bands[class as usize][orbit];
                        for tile in 0..count {
                            lists[(first + tile) as usize][halves[1]].extend([
                                p | q << 8 | z << 16 | u32::from(tile == 0) << 24,
                                offset + tile,
                            ]);
                        }
                    }
                }
            }
            for list in lists.into_iter().flatten() {
                starts.push(entries.len() as u32 / 2);
                entries.extend(list);
            }
        }
        starts.push(entries.len() as u32 / 2);
        Self {
            starts,
            entries,
            coefficients,
            pattern_tiles,
        }
    }
}

/// Distance to the nearer end of the doubled lattice.
fn half_width(s: u32, n: u32) -> u32 {
    s.min(2 * (n - 1) - s)
}

impl SpectrumPlan {
    /// Plans a grid of n^3 cells for `items` distributions at once, with at most `budget` bytes for products and spectra of one pass.
    pub(super) fn new<T: Real>(n: usize, items: usize, budget: u64) -> Self {
        let n = n as u32;
        let mut shape = FastShape {
            n,
            first: 0,
            blocks: 0,
            pairs: 0,
            tiles: 0,
            pattern_tiles: 0,
            z_sums: 0,
        };
        let quads = n.div_ceil(4);
        let tiles = (0..quads)
            .flat_map(|a| (0..=a).map(move |b| a | b << 8))
            .collect();
        let word = size_of::<T>() as u64 * items as u64;
        let slot_bytes = 2 * u64::from(shape.slot_words()) * word;
        let tile_bytes = u64::from(TILE * shape.row_words()) * word;
        let widest = |parity: u32| n - 1 - ((n - 1 - parity) & 1);

        let mut plan = Self {
            shape,
            pairs: vec![],
            tiles,
            spectra: vec![],
            tasks: vec![],
            gathers: vec![],
            distinct: vec![],
            places: vec![],
            map: vec![],
            passes: vec![],
        };
        let mut boxes = BTreeMap::new();
        let mut used = 0;
        let (mut first_pair, mut first_tile) = (0, 0);
        for w1 in (0..n).rev() {
            for w2 in (0..=w1).rev() {
                let same = (w1 ^ w2) & 1 == 0;
                let pairs: Vec<u32> = alike(w1)
                    .flat_map(|p| alike(w2).map(move |q| [p, q]))
                    .filter(|[p, q]| !same || p >= q)
                    .map(|[p, q]| p | q << 8 | w1 << 16 | w2 << 24)
                    .collect();
                debug_assert!((0..).zip(&pairs).all(|(place, pair)| {
                    pair_place(pair & 0xff, pair >> 8 & 0xff, w1, w2) == place
                }));
                let tiles = [0, 1].map(|pz| tiles_of([w1, w2, widest(pz)]));
                let needed =
                    slot_bytes * pairs.len() as u64 + tile_bytes * u64::from(tiles[0] + tiles[1]);
                if plan.passes.is_empty() || used + needed > budget {
                    let (pairs, spectra, gathers) =
                        (plan.pairs.len(), plan.spectra.len(), plan.gathers.len());
                    plan.passes.push(Pass {
                        pairs: pairs as u32..pairs as u32,
                        spectra: spectra as u32..spectra as u32,
                        gathers: gathers as u32..gathers as u32,
                    });
                    (used, first_pair, first_tile) = (0, 0, 0);
                }
                used += needed;

                for pz in 0..2 {
                    let first_output = first_tile + if pz == 0 { 0 } else { tiles[0] };
                    let groups = ((widest(pz) / 2) / GROUP) + 1;
                    for group in 0..groups {
                        let wz = widest(pz).min(2 * (GROUP * group + GROUP - 1) + pz);
                        let key = w1 | w2 << 8 | pz << 16 | group << 24;
                        plan.spectra.extend(
                            (0..tiles_of([w1, w2, wz]))
                                .step_by((SPECTRUM_THREADS / WARP) as usize)
                                .map(|tile| Quad([key, tile, first_pair, first_output])),
                        );
                    }
                }

                // rho_xy takes the same values in the box turned round.
                let mut values: Vec<u32> = alike(w1)
                    .flat_map(|m1| alike(w2).map(move |m2| m1 * m1 + m2 * m2))
                    .collect();
                values.sort_unstable();
                values.dedup();
                let count = values.len() as u32;
                for [wx, wy] in [[w1, w2], [w2, w1]] {
                    boxes.insert((wx, wy), (shape.z_sums, count, plan.map.len() as u32));
                    plan.map.extend(
                        alike(wx)
                            .flat_map(|mx| alike(wy).map(move |my| mx * mx + my * my))
                            .map(|rho| values.binary_search(&rho).unwrap_or(0) as u32),
                    );
                }
                let task = plan.tasks.len() as u32 / 2;
                plan.tasks.push(Quad([
                    w1 | w2 << 8,
                    first_tile,
                    first_tile + tiles[0],
                    shape.z_sums,
                ]));
                plan.tasks
                    .push(Quad([plan.distinct.len() as u32, count, 0, 0]));
                plan.gathers.extend(
                    (0..count)
                        .step_by(GATHER_SHARE as usize)
                        .map(|first| task << 16 | first),
                );
                plan.distinct.extend(values);
                shape.z_sums += IMAGES / 2 * count * n;

                first_pair += pairs.len() as u32;
                first_tile += tiles[0] + tiles[1];
                shape.pairs = shape.pairs.max(first_pair);
                shape.tiles = shape.tiles.max(first_tile);
                plan.pairs.extend(pairs);
                if let Some(pass) = plan.passes.last_mut() {
                    pass.pairs.end = plan.pairs.len() as u32;
                    pass.spectra.end = plan.spectra.len() as u32;
                    pass.gathers.end = plan.gathers.len() as u32;
                }
            }
        }
        for pass in &plan.passes {
            let range = pass.spectra.start as usize..pass.spectra.end as usize;
            plan.spectra[range].sort_by_key(|&Quad([key, ..])| {
                let [w1, w2, pz, group] = key.to_le_bytes().map(u32::from);
                let wz = widest(pz).min(2 * (GROUP * group + GROUP - 1) + pz);
                std::cmp::Reverse((w1 + 1) * (w2 + 1) * (wz + 1))
            });
        }
        // Images of (s_x, s_y): bit 0 mirrors the second component, bit 1 the first, bit 2 exchanges them.
        for sx in 0..2 * n - 1 {
            for sy in 0..2 * n - 1 {
                let (wx, wy) = (half_width(sx, n), half_width(sy, n));
                let (first_sum, count, first_map) =
                    boxes.get(&(wx, wy)).copied().unwrap_or_default();
                let (mx, my) = (u32::from(sx >= n), u32::from(sy >= n));
                let image = if wx >= wy {
                    2 * mx + my
                } else {
                    4 + 2 * my + mx
                };
                plan.places
                    .extend([first_sum + image * count * n, first_map]);
            }
        }
        plan.shape = shape;
        plan
    }

    /// Bytes of the products, the spectra and the z-sums for `items` distributions.
    pub(super) fn working_bytes<T: Real>(&self, items: usize) -> u64 {
        let words = self.shape.products() + self.shape.spectrum();
        (words as u64 + u64::from(self.shape.z_sums)) * size_of::<T>() as u64 * items as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_share_the_work_out() {
        for n in [3, 8, 13] {
            let whole = SpectrumPlan::new::<f32>(n, 1, u64::MAX);
            assert_eq!(whole.passes.len(), 1);
            for budget in [0, 1 << 16, 1 << 18] {
                let plan = SpectrumPlan::new::<f32>(n, 1, budget);
                assert!(budget > 0 || plan.passes.len() == n * (n + 1) / 2);
                let mut end = [0; 3];
                for pass in &plan.passes {
                    let ranges = [&pass.pairs, &pass.spectra, &pass.gathers];
                    assert_eq!(ranges.map(|range| range.start), end);
                    assert!(ranges.iter().all(|range| !range.is_empty()));
                    assert!(pass.pairs.len() as u32 <= plan.shape.pairs);
                    end = ranges.map(|range| range.end);
                    // A block's products and output lie in the buffers of the pass.
                    for Quad([key, first, pair, output]) in
                        &plan.spectra[pass.spectra.start as usize..pass.spectra.end as usize]
                    {
                        let [w1, w2, ..] = key.to_le_bytes().map(u32::from);
                        assert!(pair + pair_place(w1, w2, w1, w2) < plan.shape.pairs);
                        assert!(first + output < plan.shape.tiles);
                    }
                }
                let lengths = [&plan.pairs, &plan.gathers].map(Vec::len);
                assert_eq!([end[0], end[2]].map(|end| end as usize), lengths);
                assert_eq!(end[1] as usize, plan.spectra.len());
                assert_eq!(lengths, [&whole.pairs, &whole.gathers].map(Vec::len));
                assert_eq!(plan.places, whole.places);
            }
        }
    }

    #[test]
    fn the_lists_of_the_tiles_hold_every_coefficient_once() {
        let n = 9;
        let table = OrbitTable::of(n, super::super::Order::Second);
        let bands = BandTiles::new(&table);
        let tile_of =
            |offset: u32| &bands.coefficients[(offset * TILE) as usize..][..TILE as usize];
        assert!(tile_of(0).iter().all(|value| *value == 0.0));
        for pattern in 0..8_u32 {
            let class = pattern.count_ones();
            let levels = n.div_ceil(2);
            let mut found = BTreeMap::new();
            for tile in 0..bands.pattern_tiles {
                let first = (pattern * bands.pattern_tiles + tile) as usize * levels;
                let range = bands.starts[first]..bands.starts[first + levels];
                for entry in range {
                    let [key, offset] = [0, 1].map(|k| bands.entries[2 * entry as usize + k]);
                    for (row, value) in (0..).zip(tile_of(offset)) {
                        if *value != 0.0 {
                            let rho = class + ((tile * TILE + row) << class_shift(class));
                            assert!(found.insert((key, rho), *value).is_none());
                        }
                    }
                }
            }
            for (&(key, rho), &value) in &found {
                let [p, q, z, _] = key.to_le_bytes().map(u32::from);
                let zeros = [p, q, z].iter().filter(|n| **n == 0).count() as i32;
                let expected = 2.0 / 2f64.powi(zeros) * table.omega(rho, [p, q, z]);
                assert_eq!(value, expected, "{p} {q} {z} {rho}");
            }
            // Every nonzero coefficient, p >= q where their exchange is the same entry.
            let mut expected = 0;
            for p in (pattern >> 2..n as u32).step_by(2) {
                for q in (pattern >> 1 & 1..n as u32).step_by(2) {
                    let turned = pattern >> 2 == pattern >> 1 & 1 && p < q;
                    for z in (pattern & 1..n as u32).step_by(2).filter(|_| !turned) {
                        let orbits = table.class(class);
                        let halves = [p, q, z].map(|n| n as usize / 2);
                        let orbit = &orbits.orbits()[orbits.orbit_of(pattern, halves)];
                        expected += orbits.band(orbit).iter().filter(|o| **o != 0.0).count();
                    }
                }
            }
            assert_eq!(found.len(), expected, "{pattern:03b}");
        }
    }
}
