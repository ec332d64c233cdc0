//! The fast method: the direct sum restructured by centre of mass and relative speed.
//!
//! For s = i + j and rho = |i - j|^2 the sum over n is the same for all pairs (i, j):
//!
//! ```text
//! G(s, rho) = rho^(gamma/2) sum over n in B(s) of omega(rho, n) f_(s+n)/2 f_(s-n)/2,     gain_i = sum over j of G(i+j, |i-j|^2),
//! ```
//!
//! where B(s) holds the n of the parity of s with |n_a| <= w_a = min(s_a, 2(N-1) - s_a). It is computed in three stages:
//!
//! 1. **Products.** omega is constant on the orbits of n under signs and permutations of components of equal parity, so the products are first
//!    added up by orbit: P(s, o). N^2/2 multiply-adds altogether, N = n^3.
//! 2. **Band product.** G(s, r) = rho^(gamma/2) sum over o of omega(r, o) P(s, o). Each orbit touches a short band of r. About 1.7 N^2
//!    multiply-adds for n = 20, 2.6 N^2 for n = 32.
//! 3. **Gather.** rho = (m_x^2 + m_y^2) + m_z^2 is additive, so z is summed first, once for each distinct rho_xy:
//!    R(rho_xy; i_z) = sum over j_z of G((s_x, s_y, i_z + j_z), rho_xy + (i_z - j_z)^2), about 0.2 N^2 additions; then
//!    gain(i_x, i_y, i_z) gets R((2 i_x - s_x)^2 + (2 i_y - s_y)^2; i_z) from each column (s_x, s_y), n^5 additions.
//!
//! **Lanes.** The 16 symmetries of the grid that keep the z axis (reflections of x, y and z, and the exchange of x and y) map each s
//! to others with the same w up to order, hence with the same orbits, radii and coefficients. So only s with s_x <= s_y <= N - 1
//! and s_z <= N - 1 are visited, and every number of the three stages is a vector of 16 lanes, one for each image of s:
//! all memory accesses are aligned, and no lane is idle. An s that a symmetry maps to itself is visited in several lanes and
//! weighs accordingly less.
//!
//! **Columns.** For one column (s_x, s_y) and one parity of s_z the boxes B(s) are nested. Orbits are numbered in the order in
//! which they enter, and the lists of coefficients, one for each four radii, are written in that order: for any s_z the orbits that
//! occur are a prefix of each list.

use rarefy_kernels::Real;
use rayon::prelude::*;

use super::super::coefficients::{OrbitClass, OrbitTable, speeds};
use super::simd::{Job, dispatch};

/// Images of a cell under the symmetries that keep the z axis.
const LANES: usize = 16;
/// Radii that are summed at once.
const TILE: usize = 4;
/// An orbit that has no number yet.
const NONE: u32 = u32::MAX;

pub(super) struct Fast<T> {
    n: usize,
    halves: usize,
    bands: [Band<T>; 4],
    /// Orbit of n for each parity pattern, `[n_x/2][n_y/2][n_z/2]`.
    orbit_of: [Vec<u32>; 8],
    /// The columns that each part of the sum visits. The cut depends on n alone.
    parts: Vec<Vec<[usize; 2]>>,
}

/// The coefficients of one parity class, cut into tiles of consecutive radii.
struct Band<T> {
    /// rho of radius r is `class + (r << shift)`.
    class: usize,
    shift: usize,
    /// 2 rho^(gamma/2) by radius, padded to whole tiles. The 2 stands for n and -n, of which the products visit one.
    speeds: Vec<f64>,
    /// Orbit by orbit: index of its first tile, and where its tiles' coefficients are.
    orbits: Vec<OrbitTiles>,
    /// Coefficients, zero where a tile reaches beyond the band.
    omega: Vec<[T; TILE]>,
    /// Where the list of each tile starts if all orbits occur; one past the last at the end.
    starts: Vec<usize>,
}

#[derive(Clone, Copy)]
struct OrbitTiles {
    first: u32,
    count: u32,
    offset: u32,
}

impl<T: Real> Band<T> {
    fn new(class: &OrbitClass, powers: &[f64]) -> Self {
        let tiles = class.radii().div_ceil(TILE);
        let mut speeds: Vec<f64> = (0..class.radii())
            .map(|r| 2.0 * powers[class.rho(r) as usize])
            .collect();
        speeds.resize(tiles * TILE, 0.0);
        let mut omega = Vec::new();
        let mut counts = vec![0; tiles];
        let orbits = class
            .orbits()
            .iter()
            .map(|orbit| {
                let offset = omega.len();
                let band = class.band(orbit);
                let first = orbit.first as usize / TILE;
                let lead = orbit.first as usize % TILE;
                let tiles = (lead + band.len()).div_ceil(TILE);
                omega.resize(offset + tiles, [T::ZERO; TILE]);
                for (k, &value) in (lead..).zip(band) {
                    omega[offset + k / TILE][k % TILE] = T::from_f64(value);
                }
                for count in &mut counts[first..first + tiles] {
                    *count += 1;
                }
                OrbitTiles {
                    first: first as u32,
                    count: tiles as u32,
                    offset: offset as u32,
                }
            })
            .collect();
        let mut starts = vec![0];
        for count in counts {
            starts.push(starts[starts.len() - 1] + count);
        }
        Self {
            class: class.class() as usize,
            shift: if class.class() == 3 { 3 } else { 2 },
            speeds,
            orbits,
            omega,
            starts,
        }
    }

    fn tiles(&self) -> usize {
        self.starts.len() - 1
    }
}

impl<T: Real> Fast<T> {
    pub(super) fn new(n: usize, gamma: f64) -> Self {
        let table = OrbitTable::of(n);
        let powers = speeds(n, gamma);
        let halves = n.div_ceil(2);
        let orbit_of = std::array::from_fn(|pattern| {
            let class = table.class(pattern.count_ones());
            let half = 0..halves.pow(3);
            half.map(|k| [k / (halves * halves), k / halves % halves, k % halves])
                .map(|half| class.orbit_of(pattern as u32, half) as u32)
                .collect()
        });

        // Columns by descending work, each to the part with the least so far: the parts come out even.
        let mut columns: Vec<(usize, [usize; 2])> = (0..n)
            .flat_map(|sx| (sx..n).map(move |sy| [sx, sy]))
            .map(|[sx, sy]| {
                let box_xy = (sx + 1) * (sy + 1);
                (box_xy * (n * n + (sx * sx + sy * sy)), [sx, sy])
            })
            .collect();
        columns.sort_by_key(|&(work, column)| (std::cmp::Reverse(work), column));
        let count = (n * n / 32).clamp(4, 64);
        let mut parts = vec![(0, Vec::new()); count];
        for (work, column) in columns {
            if let Some(least) = parts.iter_mut().min_by_key(|(work, _)| *work) {
                least.0 += work;
                least.1.push(column);
            }
        }
        Self {
            n,
            halves,
            bands: [0, 1, 2, 3].map(|class| Band::new(table.class(class), &powers)),
            orbit_of,
            parts: parts.into_iter().map(|(_, columns)| columns).collect(),
        }
    }

    pub(super) fn gain(&self, f: &[T], gain: &mut [f64]) {
        let n = self.n;
        let mut lanes = vec![Lanes::<T>::ZERO; f.len()];
        lanes
            .par_chunks_exact_mut(n * n)
            .enumerate()
            .for_each(|(x, plane)| {
                for (k, out) in plane.iter_mut().enumerate() {
                    out.0 = std::array::from_fn(|lane| f[image(n, lane, [x, k / n, k % n])]);
                }
            });
        let parts: Vec<Vec<f64>> = self
            .parts
            .par_iter()
            .with_max_len(1)
            .map_init(
                || Scratch::new(self),
                |scratch, columns| {
                    scratch.gain.fill(Lanes::ZERO);
                    dispatch(Part {
                        plan: self,
                        f: &lanes,
                        columns,
                        scratch,
                    });
                    let mut sum = vec![0.0; n.pow(3)];
                    for (cell, lanes) in scratch.gain.iter().enumerate() {
                        for (lane, value) in lanes.0.iter().enumerate() {
                            sum[image(n, lane, [cell / (n * n), cell / n % n, cell % n])] += value;
                        }
                    }
                    sum
                },
            )
            .collect();
        gain.par_chunks_mut(n * n)
            .enumerate()
            .for_each(|(x, gain)| {
                gain.fill(0.0);
                for part in &parts {
                    for (gain, part) in gain.iter_mut().zip(&part[x * n * n..]) {
                        *gain += part;
                    }
                }
            });
    }
}

/// The cell that lane `lane` holds in the place of cell (x, y, z): bit 3 exchanges x and y, then bits 2, 1, 0 reflect x, y, z.
fn image(n: usize, lane: usize, [x, y, z]: [usize; 3]) -> usize {
    let [x, y] = if lane & 8 == 0 { [x, y] } else { [y, x] };
    let reflect = |bit: usize, i: usize| if lane & bit == 0 { i } else { n - 1 - i };
    (reflect(4, x) * n + reflect(2, y)) * n + reflect(1, z)
}

/// One number for each image.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Lanes<T>([T; LANES]);

impl<T: Real> Lanes<T> {
    const ZERO: Self = Self([T::ZERO; LANES]);

    /// Adds the product of a and b.
    #[inline(always)]
    fn add_product<const FUSED: bool>(&mut self, a: &Self, b: &Self) {
        for k in 0..LANES {
            self.0[k] = if FUSED {
                a.0[k].mul_add(b.0[k], self.0[k])
            } else {
                a.0[k] * b.0[k] + self.0[k]
            };
        }
    }

    #[inline(always)]
    fn add(&mut self, a: &Self) {
        for k in 0..LANES {
            self.0[k] += a.0[k];
        }
    }
}

/// What a thread needs while it sums a part.
struct Scratch<T> {
    /// The gain, in lanes.
    gain: Vec<Lanes<f64>>,
    /// Number of each orbit in the order of entry.
    number: Vec<u32>,
    /// The same for each n of the box, `[n_x/2][n_y/2][n_z/2]`.
    number_of: Vec<u32>,
    /// How many orbits have entered at each n_z/2.
    entered: Vec<usize>,
    /// For each tile its list of (orbit's number, index of the coefficients).
    entries: Vec<[u32; 2]>,
    /// Length of each tile's list at each n_z/2, `[n_z/2][tile]`.
    lengths: Vec<u32>,
    /// The n_z/2 from which on each tile is needed.
    needed: Vec<u32>,
    /// P(s, o) by number of the orbit.
    products: Vec<Lanes<T>>,
    /// G(s, r).
    g: Vec<Lanes<T>>,
    /// R(rho_xy; i_z) by index of rho_xy.
    r: Vec<Lanes<T>>,
    /// Index of each rho_xy, and all that occur.
    index_of: Vec<u32>,
    rho_xy: Vec<usize>,
}

impl<T: Real> Scratch<T> {
    fn new(plan: &Fast<T>) -> Self {
        let n = plan.n;
        let most = |of: fn(&Band<T>) -> usize| plan.bands.iter().map(of).max().unwrap_or(0);
        let tiles = most(Band::tiles);
        let orbits = most(|band| band.orbits.len());
        Self {
            gain: vec![Lanes::ZERO; n.pow(3)],
            number: vec![NONE; orbits],
            number_of: vec![0; plan.halves.pow(3)],
            entered: vec![0; plan.halves],
            entries: vec![[0; 2]; most(|band| band.starts[band.tiles()])],
            lengths: vec![0; plan.halves * tiles],
            needed: vec![0; tiles],
            products: vec![Lanes::ZERO; orbits],
            g: vec![Lanes::ZERO; tiles * TILE],
            r: Vec::new(),
            index_of: vec![NONE; 2 * (n - 1) * (n - 1) + 1],
            rho_xy: Vec::new(),
        }
    }
}

struct Part<'a, T> {
    plan: &'a Fast<T>,
    f: &'a [Lanes<T>],
    columns: &'a [[usize; 2]],
    scratch: &'a mut Scratch<T>,
}

impl<T: Real> Job for Part<'_, T> {
    #[inline(always)]
    fn run<const FUSED: bool, const WIDE: bool>(self) {
        let n = self.plan.n;
        let scratch = self.scratch;
        for &[sx, sy] in self.columns {
            // The distinct rho_xy of the column's box.
            scratch.rho_xy.clear();
            for mx in (sx % 2..=sx).step_by(2) {
                for my in (sy % 2..=sy).step_by(2) {
                    let rho = mx * mx + my * my;
                    if scratch.index_of[rho] == NONE {
                        scratch.index_of[rho] = scratch.rho_xy.len() as u32;
                        scratch.rho_xy.push(rho);
                    }
                }
            }
            scratch.r.clear();
            scratch.r.resize(scratch.rho_xy.len() * n, Lanes::ZERO);

            for parity in 0..2 {
                let column = Column::new(self.plan, self.f, [sx, sy], parity, scratch);
                for sz in (parity..n).step_by(2) {
                    column.multiply::<FUSED>(sz, scratch);
                    if WIDE || size_of::<T>() == 4 {
                        column.band::<FUSED, LANES>(sz, scratch);
                    } else {
                        column.band::<FUSED, { LANES / 2 }>(sz, scratch);
                    }
                    column.gather(sz, scratch);
                }
            }

            // Both signs of m_x and m_y.
            for ix in 0..=sx {
                for iy in 0..=sy {
                    let rho = (2 * ix).abs_diff(sx).pow(2) + (2 * iy).abs_diff(sy).pow(2);
                    let r = &scratch.r[scratch.index_of[rho] as usize * n..][..n];
                    let gain = &mut scratch.gain[(ix * n + iy) * n..][..n];
                    for (gain, r) in gain.iter_mut().zip(r) {
                        for k in 0..LANES {
                            gain.0[k] += r.0[k].to_f64();
                        }
                    }
                }
            }
            for rho in &scratch.rho_xy {
                scratch.index_of[*rho] = NONE;
            }
        }
    }
}

/// A column (s_x, s_y) and a parity of s_z.
struct Column<'a, T> {
    plan: &'a Fast<T>,
    band: &'a Band<T>,
    f: &'a [Lanes<T>],
    s: [usize; 2],
    parity: usize,
}

impl<'a, T: Real> Column<'a, T> {
    /// Numbers the orbits and writes the lists of coefficients.
    #[inline(always)]
    fn new(
        plan: &'a Fast<T>,
        f: &'a [Lanes<T>],
        [sx, sy]: [usize; 2],
        parity: usize,
        scratch: &mut Scratch<T>,
    ) -> Self {
        let (px, py) = (sx % 2, sy % 2);
        let band = &plan.bands[px + py + parity];
        let orbit_of = &plan.orbit_of[px << 2 | py << 1 | parity];
        let halves = plan.halves;
        let tiles = band.tiles();
        // n_z = 2 hz + parity <= n - 1.
        let levels = (plan.n + 1 - parity) / 2;

        scratch.number[..band.orbits.len()].fill(NONE);
        let mut entered = 0;
        for hz in 0..levels {
            let (before, lengths) = scratch.lengths.split_at_mut(hz * tiles);
            let lengths = &mut lengths[..tiles];
            match hz {
                0 => lengths.fill(0),
                _ => lengths.copy_from_slice(&before[(hz - 1) * tiles..]),
            }
            for hx in 0..=sx / 2 {
                for hy in 0..=sy / 2 {
                    let at = (hx * halves + hy) * halves + hz;
                    let orbit = orbit_of[at] as usize;
                    if scratch.number[orbit] == NONE {
                        scratch.number[orbit] = entered;
                        let run = band.orbits[orbit];
                        for k in 0..run.count {
                            let tile = (run.first + k) as usize;
                            let length = &mut lengths[tile];
                            scratch.entries[band.starts[tile] + *length as usize] =
                                [entered, run.offset + k];
                            *length += 1;
                        }
                        entered += 1;
                    }
                    scratch.number_of[at] = scratch.number[orbit];
                }
            }
            scratch.entered[hz] = entered as usize;
        }

        scratch.needed[..tiles].fill(NONE);
        for hz in (0..levels).rev() {
            let mz = 2 * hz + parity;
            for rho_xy in &scratch.rho_xy {
                let tile = ((rho_xy + mz * mz - band.class) >> band.shift) / TILE;
                scratch.needed[tile] = hz as u32;
            }
        }
        Self {
            plan,
            band,
            f,
            s: [sx, sy],
            parity,
        }
    }

    /// The cells (x, y, 0), (x, y, 1), ...
    #[inline(always)]
    fn row(&self, x: usize, y: usize) -> &'a [Lanes<T>] {
        let n = self.plan.n;
        &self.f[(x * n + y) * n..][..n]
    }

    /// Stage 1 for one s: the products of the half-space n > 0, and half of that of n = 0.
    #[inline(always)]
    fn multiply<const FUSED: bool>(&self, sz: usize, scratch: &mut Scratch<T>) {
        let [sx, sy] = self.s;
        let halves = self.plan.halves;
        let top = sz / 2;
        let products = &mut scratch.products[..scratch.entered[top]];
        products.fill(Lanes::ZERO);
        for nx in (sx % 2..=sx).step_by(2) {
            for ny in (sy % 2..=sy).step_by(2) {
                let numbers = &scratch.number_of[(nx / 2 * halves + ny / 2) * halves..][..=top];
                let (kx, lx) = ((sx + nx) / 2, (sx - nx) / 2);
                let (ky, ly) = ((sy + ny) / 2, (sy - ny) / 2);
                // (n_x, n_y) and, where both differ from 0, (n_x, -n_y): the other two signs are -n.
                let rows = [
                    [self.row(kx, ky), self.row(lx, ly)],
                    [self.row(kx, ly), self.row(lx, ky)],
                ];
                let rows = &rows[..if nx > 0 && ny > 0 { 2 } else { 1 }];
                let axis = nx == 0 && ny == 0;
                for (hz, &number) in numbers.iter().enumerate() {
                    let (kz, lz) = (top + hz + self.parity, top - hz);
                    let mut sum = Lanes::ZERO;
                    for [a, b] in rows {
                        sum.add_product::<FUSED>(&a[kz], &b[lz]);
                        // Both signs of n_z, except where they coincide, or are n and -n.
                        if kz != lz && !axis {
                            sum.add_product::<FUSED>(&a[lz], &b[kz]);
                        }
                    }
                    if kz == lz && axis {
                        for k in 0..LANES {
                            sum.0[k] = sum.0[k] * T::from_f64(0.5);
                        }
                    }
                    products[number as usize].add(&sum);
                }
            }
        }
    }

    /// Stage 2 for one s, `WIDTH` lanes at a time: as many as there are registers for.
    #[inline(always)]
    fn band<const FUSED: bool, const WIDTH: usize>(&self, sz: usize, scratch: &mut Scratch<T>) {
        let last = self.plan.n - 1;
        let [sx, sy] = self.s;
        let level = sz / 2;
        let tiles = self.band.tiles();
        // Lanes in which the same s is visited: the reflections that keep it, and the exchange.
        let fixed = [sx == last, sy == last, sz == last, sx == sy];
        let share = 0.5f64.powi(fixed.iter().filter(|&&fixed| fixed).count() as i32);
        let products = &scratch.products[..scratch.entered[level]];
        for tile in 0..tiles {
            if scratch.needed[tile] > level as u32 {
                continue;
            }
            let length = scratch.lengths[level * tiles + tile] as usize;
            let entries = &scratch.entries[self.band.starts[tile]..][..length];
            for first in (0..LANES).step_by(WIDTH) {
                let mut sums = [[T::ZERO; WIDTH]; TILE];
                for &[number, coefficients] in entries {
                    let products = &products[number as usize].0[first..first + WIDTH];
                    let omega = &self.band.omega[coefficients as usize];
                    for (sum, &omega) in sums.iter_mut().zip(omega) {
                        for k in 0..WIDTH {
                            sum[k] = if FUSED {
                                omega.mul_add(products[k], sum[k])
                            } else {
                                omega * products[k] + sum[k]
                            };
                        }
                    }
                }
                for (row, sum) in sums.iter().enumerate() {
                    let r = tile * TILE + row;
                    let speed = T::from_f64(share * self.band.speeds[r]);
                    let g = &mut scratch.g[r].0[first..first + WIDTH];
                    for k in 0..WIDTH {
                        g[k] = speed * sum[k];
                    }
                }
            }
        }
    }

    /// Stage 3 for one s, along z.
    #[inline(always)]
    fn gather(&self, sz: usize, scratch: &mut Scratch<T>) {
        let n = self.plan.n;
        let top = sz / 2;
        for (index, rho_xy) in scratch.rho_xy.iter().enumerate() {
            let r = &mut scratch.r[index * n..][..n];
            for hz in 0..=top {
                let mz = 2 * hz + self.parity;
                let g = &scratch.g[(rho_xy + mz * mz - self.band.class) >> self.band.shift];
                let (iz, jz) = (top + hz + self.parity, top - hz);
                r[iz].add(g);
                if iz != jz {
                    r[jz].add(g);
                }
            }
        }
    }
}
