//! Tables and launches of the restructured sum on a GPU.
//!
//! Input of the kernels `pair_products`, `speed_spectrum`, `gather_z` and `gather_xy`, in the layouts that they document.

use std::collections::BTreeMap;
use std::ops::Range;

use rarefy_kernels::collision::{
    BLOCK_WORDS, COLUMNS, FastShape, GATHER_SHARE, GROUP, IMAGES, Image, PORTION, STEP, TILE,
    WINDOW, pair_place, second_box,
};
use rarefy_kernels::{Quad, Real};
use rayon::prelude::*;

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
    /// Two entries for each task, a pair w_1 >= w_2 that is no other's second box.
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

/// An n >= 0 and its coefficients.
#[derive(Clone, Copy, Debug)]
struct Band {
    /// |n_1|, |n_2|, |n_z|.
    n: [u32; 3],
    /// First tile that has some, and the end.
    tiles: [u32; 2],
    /// Where the first tile of coefficients is, in tiles.
    offset: u32,
}

/// The coefficients, cut into tiles of rho, and for each window of tiles who contributes to it.
pub(super) struct BandTiles {
    /// For each of the eight parity patterns of (n_1, n_2, n_z) and each window, by |n_2|, |n_1| and |n_z|.
    windows: [Vec<Vec<Band>>; 8],
    /// Coefficients times multiplicity, tile after tile; the first tiles of a window belong to nobody.
    pub(super) coefficients: Vec<f64>,
}

/// Operands of the blocks of the spectrum.
pub(super) struct EntryLists {
    /// [`BLOCK_WORDS`] for each block, as `speed_spectrum` documents them.
    pub(super) blocks: Vec<u32>,
    /// `2 PORTION` words for each portion of each block.
    pub(super) entries: Vec<u32>,
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
        // Each orbit's band once, for all its images. Room at the front: coefficients are found from the start of a window on.
        let mut coefficients = vec![0.0; ((WINDOW - 1) * TILE) as usize];
        let mut bands: Vec<Vec<([u32; 2], u32)>> = vec![];
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
                // A product serves n and -n; the kernel counts it once for each sign of a component that is zero.
                let zeros = orbit.n.iter().filter(|&&n| n == 0).count() as i32;
                let weight = 2.0 / 2f64.powi(zeros);
                let at = offset + (orbit.first - first * TILE) as usize;
                for (to, omega) in coefficients[at..].iter_mut().zip(orbits.band(orbit)) {
                    *to = weight * omega;
                }
                ([first, first + count], offset as u32 / TILE)
            });
            bands.push(cut.collect());
        }
        let windows = [0, 1, 2, 3, 4, 5, 6, 7].map(|pattern: u32| {
            let parity = [pattern >> 2, pattern >> 1 & 1, pattern & 1];
            let class = parity.iter().sum::<u32>();
            let tiles = table.class(class).radii() as u32 / TILE + 1;
            let mut windows = vec![vec![]; tiles.div_ceil(WINDOW) as usize];
            let magnitudes = |axis: usize| alike(largest(parity[axis]));
            for q in magnitudes(1) {
                for p in magnitudes(0).filter(|&p| parity[0] != parity[1] || p >= q) {
                    for z in magnitudes(2) {
                        let halves = [p, q, z].map(|n| n as usize / 2);
                        let orbit = table.class(class).orbit_of(pattern, halves);
                        let (tiles, offset) = bands[class as usize][orbit];
                        for window in tiles[0] / WINDOW..tiles[1].div_ceil(WINDOW) {
                            windows[window as usize].push(Band {
                                n: [p, q, z],
                                tiles,
                                offset,
                            });
                        }
                    }
                }
            }
            windows
        });
        Self {
            windows,
            coefficients,
        }
    }
}

/// A block of the spectrum.
#[derive(Clone, Copy)]
struct Block {
    w1: u32,
    w2: u32,
    pz: u32,
    group: u32,
    /// First tile of the window.
    first: u32,
}

impl Block {
    fn of(Quad([key, first, ..]): Quad<u32>) -> Self {
        let [w1, w2, pz, group] = key.to_le_bytes().map(u32::from);
        Self {
            w1,
            w2,
            pz,
            group,
            first,
        }
    }

    /// The values of w_z that the grid has.
    fn w_z(self, n: u32) -> impl Iterator<Item = u32> + Clone {
        (0..GROUP)
            .map(move |k| 2 * (GROUP * self.group + k) + self.pz)
            .filter(move |&w| w < n)
    }

    /// Its entries, two words each as `speed_spectrum` documents them, and the steps of each warp.
    fn entries(
        self,
        shape: FastShape,
        bands: &BandTiles,
    ) -> (Vec<[u32; 2]>, [[u32; 2]; WINDOW as usize]) {
        let Self {
            w1,
            w2,
            pz,
            group,
            first,
        } = self;
        let w_z = self.w_z(shape.n);
        let most = w_z.clone().last().unwrap_or(0);
        let end = tiles_of([w1, w2, most]).min(first + WINDOW);
        let pattern = (w1 & 1) << 2 | (w2 & 1) << 1 | pz;
        // By the first and the last tile in the window: the entries of a tile are then neighbours.
        let mut sorted: [Vec<(u32, [u32; 2])>; (WINDOW * WINDOW) as usize] = Default::default();
        let window = bands.windows[pattern as usize].get((first / WINDOW) as usize);
        for band in window.into_iter().flatten() {
            let [n1, n2, n_z] = band.n;
            let tiles = [band.tiles[0].max(first), band.tiles[1].min(end)];
            if n2 > w2 {
                break;
            }
            if n1 > w1 || n_z > most || tiles[0] >= tiles[1] {
                continue;
            }
            let level = n_z / 2;
            let row = (2 * pair_place(n1, n2, w1, w2) + pz) * (shape.slot_words() / COLUMNS)
                + shape.level_start(level) / COLUMNS
                + group
                - level / GROUP;
            let products: u32 = (0..)
                .zip(w_z.clone())
                .filter(|&(_, w)| w >= n_z)
                .map(|(k, _)| 1 << k)
                .sum();
            let there: u32 = (tiles[0] - first..tiles[1] - first)
                .map(|tile| 1 << tile)
                .sum();
            let from = band.offset + first - band.tiles[0];
            let place = (tiles[0] - first) * WINDOW + tiles[1] - 1 - first;
            sorted[place as usize].push((
                there,
                [(row * (COLUMNS / TILE)) << 4 | products, from << 4 | there],
            ));
        }
        let sorted: Vec<_> = sorted.into_iter().flatten().collect();
        let steps = std::array::from_fn(|tile| {
            let has = |(there, _): &(u32, [u32; 2])| there >> tile & 1 != 0;
            let first = sorted.iter().position(has).unwrap_or(0) as u32;
            let end = sorted
                .iter()
                .rposition(has)
                .map_or(first, |last| last as u32 + 1);
            [first / STEP, end.div_ceil(STEP)]
        });
        (sorted.into_iter().map(|(_, words)| words).collect(), steps)
    }
}

impl EntryLists {
    pub(super) fn new(plan: &SpectrumPlan, bands: &BandTiles) -> Self {
        let lists = plan.spectra.par_iter().map(|&quad| {
            let (entries, steps) = Block::of(quad).entries(plan.shape, bands);
            // Words of zero for what a portion lacks.
            let words: Vec<u32> = entries
                .chunks(PORTION as usize)
                .flat_map(|portion| {
                    [0, 1].into_iter().flat_map(move |which| {
                        (0..PORTION as usize)
                            .map(move |k| portion.get(k).map_or(0, |words| words[which]))
                    })
                })
                .collect();
            (words, steps)
        });
        let lists: Vec<_> = lists.collect();
        let mut blocks = Vec::with_capacity(plan.spectra.len() * BLOCK_WORDS as usize);
        let mut entries = Vec::with_capacity(lists.iter().map(|(words, _)| words.len()).sum());
        for (&quad, (words, steps)) in plan.spectra.iter().zip(lists) {
            let Block {
                w1,
                w2,
                pz,
                group,
                first,
            } = Block::of(quad);
            let Quad([_, _, first_pair, first_output]) = quad;
            let key = w1 | w2 << 8 | (pz | group << 1) << 16 | (first / WINDOW) << 24;
            let first_portion = entries.len() as u32 / (2 * PORTION);
            blocks.extend([key, first_portion, first_pair, first_output]);
            blocks.extend(steps.iter().map(|[first, end]| first | end << 16));
            entries.extend(words);
        }
        Self { blocks, entries }
    }
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
            places: vec![0; 2 * (2 * n as usize - 1).pow(2)],
            map: vec![],
            passes: vec![],
        };
        let mut used = 0;
        let (mut first_pair, mut first_tile) = (0, 0);
        for w1 in (0..n).rev() {
            for w2 in (0..=w1).rev().filter(|&w2| !second_box(w1, w2, n)) {
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
                    plan.begin_pass();
                    (used, first_pair, first_tile) = (0, 0, 0);
                }
                used += needed;

                for pz in 0..2 {
                    let first_output = first_tile + if pz == 0 { 0 } else { tiles[0] };
                    plan.add_spectra([w1, w2, pz], widest(pz), [first_pair, first_output]);
                }
                plan.add_task([w1, w2], first_tile, tiles[0], &mut shape);
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
        plan.shape = shape;
        plan
    }

    /// Begins a pass.
    fn begin_pass(&mut self) {
        let [pairs, spectra, gathers] =
            [self.pairs.len(), self.spectra.len(), self.gathers.len()].map(|len| len as u32);
        self.passes.push(Pass {
            pairs: pairs..pairs,
            spectra: spectra..spectra,
            gathers: gathers..gathers,
        });
    }

    /// Adds the spectra of a box of one parity along z, in groups up to the widest.
    fn add_spectra(&mut self, [w1, w2, pz]: [u32; 3], widest: u32, firsts: [u32; 2]) {
        let [first_pair, first_output] = firsts;
        let groups = ((widest / 2) / GROUP) + 1;
        for group in 0..groups {
            let wz = widest.min(2 * (GROUP * group + GROUP - 1) + pz);
            let key = w1 | w2 << 8 | pz << 16 | group << 24;
            self.spectra.extend(
                (0..tiles_of([w1, w2, wz]))
                    .step_by(WINDOW as usize)
                    .map(|tile| Quad([key, tile, first_pair, first_output])),
            );
        }
    }

    /// Adds the sums along z of a box, and their gathering. Its spectra of even parity take `even` tiles.
    fn add_task(&mut self, [w1, w2]: [u32; 2], first_tile: u32, even: u32, shape: &mut FastShape) {
        let mut values: Vec<u32> = alike(w1)
            .flat_map(|m1| alike(w2).map(move |m2| m1 * m1 + m2 * m2))
            .collect();
        values.sort_unstable();
        values.dedup();
        let count = values.len() as u32;
        self.place_images([w1, w2], &values, *shape);
        let task = self.tasks.len() as u32 / 2;
        let key = w1 | w2 << 8;
        self.tasks
            .push(Quad([key, first_tile, first_tile + even, shape.z_sums]));
        self.tasks
            .push(Quad([self.distinct.len() as u32, count, 0, 0]));
        self.gathers.extend(
            (0..count)
                .step_by(GATHER_SHARE as usize)
                .map(|first| task << 16 | first),
        );
        self.distinct.extend(values);
        shape.z_sums += IMAGES / 2 * count * shape.n;
    }

    /// Says where the z-sums of each image of a task are, from the first one of the `shape` on, and maps (|m_x|, |m_y|) to their `values` of rho_xy.
    fn place_images(&mut self, [w1, w2]: [u32; 2], values: &[u32], shape: FastShape) {
        let n = shape.n;
        let mut maps = BTreeMap::new();
        // Of images that coincide the first one counts.
        for e in (0..IMAGES / 2).rev() {
            let image = Image::of(e, w1, w2, n);
            let [Ok(w1), Ok(w2)] = image.widths.map(u32::try_from) else {
                continue;
            };
            let mirrored = |axis: usize, w: u32| {
                if image.mirrored[axis] {
                    2 * (n - 1) - w
                } else {
                    w
                }
            };
            let (mut s, mut w) = ([mirrored(0, w1), mirrored(1, w2)], [w1, w2]);
            if image.exchanged {
                s.reverse();
                w.reverse();
            }
            // rho_xy takes the same values in the box turned round, and some of them in the second box.
            let first_map = *maps.entry(w).or_insert_with(|| {
                let first = self.map.len() as u32;
                self.map.extend(
                    alike(w[0])
                        .flat_map(|mx| alike(w[1]).map(move |my| mx * mx + my * my))
                        .map(|rho| values.binary_search(&rho).unwrap_or(0) as u32),
                );
                first
            });
            let at = 2 * (s[0] * (2 * n - 1) + s[1]) as usize;
            self.places[at] = shape.z_sums + e * values.len() as u32 * n;
            self.places[at + 1] = first_map;
        }
    }

    /// Bytes of the products, the spectra and the z-sums for `items` distributions.
    pub(super) fn working_bytes<T: Real>(&self, items: usize) -> u64 {
        let words = self.shape.products() + self.shape.spectrum();
        (words as u64 + u64::from(self.shape.z_sums)) * size_of::<T>() as u64 * items as u64
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The pairs w_1 >= w_2 of the tasks.
    fn tasks(n: u32) -> impl Iterator<Item = [u32; 2]> {
        (0..n)
            .flat_map(|w1| (0..=w1).map(move |w2| [w1, w2]))
            .filter(move |&[w1, w2]| !second_box(w1, w2, n))
    }

    #[test]
    fn passes_share_the_work_out() {
        for n in [3, 8, 13] {
            let whole = SpectrumPlan::new::<f32>(n, 1, u64::MAX);
            assert_eq!(whole.passes.len(), 1);
            for budget in [0, 1 << 16, 1 << 18] {
                let plan = SpectrumPlan::new::<f32>(n, 1, budget);
                assert!(budget > 0 || plan.passes.len() == tasks(n as u32).count());
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
    fn every_centre_has_z_sums_of_its_own_and_finds_its_values() {
        for n in 2..=10 {
            let plan = SpectrumPlan::new::<f32>(n as usize, 1, u64::MAX);
            assert_eq!(plan.tasks.len(), 2 * tasks(n).count());
            let mut found = BTreeSet::new();
            for s in (0..2 * n - 1).flat_map(|sx| (0..2 * n - 1).map(move |sy| [sx, sy])) {
                let at = 2 * (s[0] * (2 * n - 1) + s[1]) as usize;
                let (first_sum, first_map) = (plan.places[at], plan.places[at + 1]);
                assert!(found.insert(first_sum), "{n}: {s:?}");
                let task = plan.tasks.chunks(2).rfind(|task| task[0].0[3] <= first_sum);
                let [Quad([.., task_sum]), Quad([distinct, count, ..])] = task.unwrap_or(&[])
                else {
                    panic!("{n}: {s:?} has no task");
                };
                let place = first_sum - task_sum;
                assert!(place % (count * n) == 0 && place < IMAGES / 2 * count * n);
                let w = s.map(|s| s.min(2 * (n - 1) - s));
                let rhos = alike(w[0]).flat_map(|mx| alike(w[1]).map(move |my| mx * mx + my * my));
                for (rho, place) in rhos.zip(&plan.map[first_map as usize..]) {
                    assert!(place < count);
                    assert_eq!(plan.distinct[(distinct + place) as usize], rho);
                }
            }
        }
    }

    #[test]
    fn the_lists_of_the_blocks_hold_every_coefficient_once() {
        let n = 9;
        let table = OrbitTable::of(n, super::super::Order::Second);
        let bands = BandTiles::new(&table);
        let plan = SpectrumPlan::new::<f32>(n, 1, u64::MAX);
        let lists = EntryLists::new(&plan, &bands);
        // By (w_1, w_2, parity of w_z, group, rho, row of products).
        let mut found = BTreeMap::new();
        for (&quad, words) in plan
            .spectra
            .iter()
            .zip(lists.blocks.chunks(BLOCK_WORDS as usize))
        {
            let Block {
                w1,
                w2,
                pz,
                group,
                first,
            } = Block::of(quad);
            let steps = words[4..].iter().map(|step| [step & 0xffff, step >> 16]);
            let class = (w1 & 1) + (w2 & 1) + pz;
            let portions = steps
                .clone()
                .map(|[_, end]| end)
                .max()
                .unwrap_or(0)
                .div_ceil(PORTION / STEP);
            for (tile, steps) in (first..).zip(steps) {
                for k in steps[0] * STEP..steps[1] * STEP {
                    let at = ((words[1] + k / PORTION) * 2 * PORTION + k % PORTION) as usize;
                    let [products, from] =
                        [0, PORTION as usize].map(|which| lists.entries[at + which]);
                    assert!(k / PORTION < portions);
                    if from >> (tile - first) & 1 == 0 {
                        continue;
                    }
                    let values = &bands.coefficients
                        [(((from >> 4) + tile - first) * TILE) as usize..]
                        [..TILE as usize];
                    for (row, value) in (0..).zip(values).filter(|(_, value)| **value != 0.0) {
                        let rho = class + ((tile * TILE + row) << class_shift(class));
                        let key = (w1, w2, pz, group, rho, products >> 6);
                        assert!(
                            found.insert(key, (products & 0xf, *value)).is_none(),
                            "{key:?}"
                        );
                    }
                }
            }
        }
        let rows = plan.shape.slot_words() / COLUMNS;
        let mut expected = 0;
        for [w1, w2] in tasks(n as u32) {
            for (p, q) in alike(w1).flat_map(|p| alike(w2).map(move |q| (p, q))) {
                if (w1 ^ w2) & 1 == 0 && p < q {
                    continue;
                }
                for w_z in 0..n as u32 {
                    for z in alike(w_z) {
                        let (group, level) = (w_z / 2 / GROUP, z / 2);
                        let row = (2 * pair_place(p, q, w1, w2) + w_z % 2) * rows
                            + plan.shape.level_start(level) / COLUMNS
                            + group
                            - level / GROUP;
                        let class = (w1 & 1) + (w2 & 1) + w_z % 2;
                        let zeros = [p, q, z].iter().filter(|n| **n == 0).count() as i32;
                        for rho in
                            (class..=w1 * w1 + w2 * w2 + w_z * w_z).step_by(1 << class_shift(class))
                        {
                            let value = 2.0 / 2f64.powi(zeros) * table.omega(rho, [p, q, z]);
                            let key = (w1, w2, w_z % 2, group, rho, row);
                            if value != 0.0 {
                                let (there, coefficient) = found[&key];
                                assert_eq!(coefficient, value, "{key:?}");
                                assert_eq!(there >> (w_z / 2 % GROUP) & 1, 1, "{key:?}");
                                expected +=
                                    u32::from(w_z + 2 >= n as u32 || w_z / 2 % GROUP == GROUP - 1);
                            }
                        }
                    }
                }
            }
        }
        // The widest box of a group has all its coefficients.
        let inside = found.keys().filter(|(w1, w2, pz, group, rho, _)| {
            let widest = (0..GROUP)
                .map(|k| 2 * (GROUP * group + k) + pz)
                .rfind(|&w| w < n as u32)
                .unwrap_or(0);
            *rho <= w1 * w1 + w2 * w2 + widest * widest
        });
        assert_eq!(inside.count() as u32, expected);
    }
}
