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
//!    R(rho_xy; i_z) = sum over j_z of G((s_x, s_y, i_z + j_z), rho_xy + (i_z - j_z)^2), about 0.2 N^2 additions. Then
//!    gain(i_x, i_y, i_z) gets R((2 i_x - s_x)^2 + (2 i_y - s_y)^2; i_z) from each column (s_x, s_y), n^5 additions.
//!
//! **Lanes.** The 16 symmetries of the grid that keep the z axis (reflections of x, y and z, and the exchange of x and y) map each s
//! to others. These have the same w up to order, hence the same orbits, radii and coefficients. So only s with s_x <= s_y <= N - 1
//! and s_z <= N - 1 are visited. Every number of the three stages is a vector of 16 lanes, one for each image of s.
//! All memory accesses are aligned, and no lane is idle. An s that a symmetry maps to itself is visited in several lanes and
//! weighs accordingly less.
//!
//! **Columns.** For one column (s_x, s_y) and one parity of s_z the boxes B(s) are nested. Orbits are numbered in the order in which they
//! enter. The lists of coefficients, one for each four radii, are written in that order. For any s_z the orbits that
//! occur are a prefix of each list.

use rayon::prelude::*;

use super::super::Order;
use super::super::coefficients::{OrbitClass, OrbitTable, speeds};
use crate::simd::{CpuReal, RegisterJob, Registers, Vector, on_registers};

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
    /// 2 rho^(gamma/2) by radius, padded to whole tiles. The 2 counts n and -n, of which the products visit one.
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

impl<T: CpuReal> Band<T> {
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

impl<T: CpuReal> Fast<T> {
    pub(super) fn new(n: usize, gamma: f64, order: Order) -> Self {
        let table = OrbitTable::of(n, order);
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
        let lanes = self.lanes(f);
        self.sum::<false>([&lanes, &lanes], gain);
    }

    /// The sum with `g_k m_l + m_k g_l` in the place of `f_k f_l`.
    pub(super) fn mixed_gain(&self, g: &[T], m: &[T], gain: &mut [f64]) {
        self.sum::<true>([&self.lanes(g), &self.lanes(m)], gain);
    }

    /// The values of each cell's images.
    fn lanes(&self, f: &[T]) -> Vec<Lanes<T>> {
        let n = self.n;
        let mut lanes = vec![Lanes::<T>::ZERO; f.len()];
        lanes
            .par_chunks_exact_mut(n)
            .enumerate()
            .for_each(|(row, out)| {
                for lane in 0..LANES {
                    let image = Image::of_row(n, lane, row);
                    for (z, out) in out.iter_mut().enumerate() {
                        out.0[lane] = f[image.cell(z)];
                    }
                }
            });
        lanes
    }

    fn sum<const MIXED: bool>(&self, factors: [&[Lanes<T>]; 2], gain: &mut [f64]) {
        let n = self.n;
        let parts: Vec<Vec<f64>> = self
            .parts
            .par_iter()
            .with_max_len(1)
            .map_init(
                || Scratch::new(self),
                |scratch, columns| {
                    scratch.gain.fill(Lanes::ZERO);
                    on_registers(Part::<T, MIXED> {
                        plan: self,
                        factors,
                        columns,
                        scratch,
                    });
                    let mut sum = vec![0.0; n.pow(3)];
                    for (row, from) in scratch.gain.chunks_exact(n).enumerate() {
                        for lane in 0..LANES {
                            let image = Image::of_row(n, lane, row);
                            for (z, from) in from.iter().enumerate() {
                                sum[image.cell(z)] += from.0[lane];
                            }
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

/// Where a lane has the cells of one row (x, y) of the grid.
#[derive(Clone, Copy)]
struct Image {
    first: usize,
    /// 1, or -1 as a wrapping number.
    step: usize,
}

impl Image {
    /// Bit 3 of the lane exchanges x and y, then bits 2, 1, 0 reflect x, y, z.
    fn of_row(n: usize, lane: usize, row: usize) -> Self {
        let [x, y] = [row / n, row % n];
        let [x, y] = if lane & 8 == 0 { [x, y] } else { [y, x] };
        let reflect = |bit: usize, i: usize| if lane & bit == 0 { i } else { n - 1 - i };
        Self {
            first: (reflect(4, x) * n + reflect(2, y)) * n + reflect(1, 0),
            step: if lane & 1 == 0 { 1 } else { usize::MAX },
        }
    }

    fn cell(self, z: usize) -> usize {
        self.first.wrapping_add(z.wrapping_mul(self.step))
    }
}

/// One number for each image.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Lanes<T>([T; LANES]);

impl<T: CpuReal> Lanes<T> {
    const ZERO: Self = Self([T::ZERO; LANES]);

    /// Adds another vector.
    ///
    /// # Safety
    /// The processor has the vector unit.
    #[inline(always)]
    unsafe fn add<R: Registers>(&mut self, a: &Self) {
        for k in (0..LANES).step_by(T::Of::<R>::LANES) {
            // SAFETY: registers divide the lanes evenly; the caller vouches for the vector unit.
            unsafe {
                let to = self.0.as_mut_ptr().add(k);
                let a = T::Of::<R>::load(a.0.as_ptr().add(k));
                T::Of::<R>::load(to).add(a).store(to);
            }
        }
    }
}

/// Work space of a thread while it sums a part.
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

impl<T: CpuReal> Scratch<T> {
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

/// Some columns of the sum of one distribution, or `MIXED` of two.
struct Part<'a, T, const MIXED: bool> {
    plan: &'a Fast<T>,
    factors: [&'a [Lanes<T>]; 2],
    columns: &'a [[usize; 2]],
    scratch: &'a mut Scratch<T>,
}

impl<T: CpuReal, const MIXED: bool> RegisterJob for Part<'_, T, MIXED> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<R: Registers>(self) {
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
                let column =
                    Column::<T, MIXED>::new(self.plan, self.factors, [sx, sy], parity, scratch);
                for sz in (parity..n).step_by(2) {
                    // SAFETY: this job's own condition.
                    unsafe {
                        column.multiply::<R>(sz, scratch);
                        // Eight sums fit into the registers of any processor beside what is added to them.
                        match LANES / T::Of::<R>::LANES {
                            1 => column.band::<R, 1>(sz, scratch),
                            _ => column.band::<R, 2>(sz, scratch),
                        }
                        column.gather::<R>(sz, scratch);
                    }
                }
            }

            // Both signs of m_x and m_y.
            for ix in 0..=sx {
                for iy in 0..=sy {
                    let rho = (2 * ix).abs_diff(sx).pow(2) + (2 * iy).abs_diff(sy).pow(2);
                    let r = &scratch.r[scratch.index_of[rho] as usize * n..][..n];
                    let gain = &mut scratch.gain[(ix * n + iy) * n..][..n];
                    for (gain, r) in gain.iter_mut().zip(r) {
                        for k in (0..LANES).step_by(T::Of::<R>::LANES) {
                            // SAFETY: registers divide the lanes evenly, and this job's own condition.
                            unsafe {
                                T::Of::<R>::load(r.0.as_ptr().add(k))
                                    .add_to(gain.0.as_mut_ptr().add(k));
                            }
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
struct Column<'a, T, const MIXED: bool> {
    plan: &'a Fast<T>,
    band: &'a Band<T>,
    factors: [&'a [Lanes<T>]; 2],
    s: [usize; 2],
    parity: usize,
}

impl<'a, T: CpuReal, const MIXED: bool> Column<'a, T, MIXED> {
    /// Numbers the orbits and writes the lists of coefficients.
    #[inline(always)]
    fn new(
        plan: &'a Fast<T>,
        factors: [&'a [Lanes<T>]; 2],
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
            factors,
            s: [sx, sy],
            parity,
        }
    }

    /// The cells (x, y, 0), (x, y, 1), ... of both factors.
    #[inline(always)]
    fn row(&self, x: usize, y: usize) -> [&'a [Lanes<T>]; 2] {
        let n = self.plan.n;
        self.factors.map(|f| &f[(x * n + y) * n..][..n])
    }

    /// Stage 1 for one s: the products of the half-space n > 0, and half of that of n = 0.
    ///
    /// # Safety
    /// The processor has the vector unit.
    #[inline(always)]
    unsafe fn multiply<R: Registers>(&self, sz: usize, scratch: &mut Scratch<T>) {
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
                let [a, b] = [self.row(kx, ky), self.row(lx, ly)];
                let [c, d] = [self.row(kx, ly), self.row(lx, ky)];
                let axis = nx == 0 && ny == 0;
                let both = nx > 0 && ny > 0;
                for (hz, &number) in numbers.iter().enumerate() {
                    let (kz, lz) = (top + hz + self.parity, top - hz);
                    let at = |row: [&'a [Lanes<T>]; 2], z: usize| row.map(|row| &row[z].0);
                    let (ak, al, bk, bl) = (at(a, kz), at(a, lz), at(b, kz), at(b, lz));
                    let (ck, cl, dk, dl) = (at(c, kz), at(c, lz), at(d, kz), at(d, lz));
                    let to = &mut products[number as usize].0;
                    for k in (0..LANES).step_by(T::Of::<R>::LANES) {
                        // SAFETY: registers divide the lanes evenly; the caller vouches for the vector unit.
                        unsafe {
                            let load = |from: &[T; LANES]| T::Of::<R>::load(from.as_ptr().add(k));
                            let add = |sum, x: [&[T; LANES]; 2], y: [&[T; LANES]; 2]| {
                                if MIXED {
                                    let sum = load(x[1]).mul_add(load(y[0]), sum);
                                    load(x[0]).mul_add(load(y[1]), sum)
                                } else {
                                    load(x[0]).mul_add(load(y[0]), sum)
                                }
                            };
                            let to = to.as_mut_ptr().add(k);
                            let mut sum = T::Of::<R>::load(to);
                            let product = if MIXED {
                                load(ak[0]).mul_add(load(bl[1]), load(ak[1]).mul(load(bl[0])))
                            } else {
                                load(ak[0]).mul(load(bl[0]))
                            };
                            if axis {
                                // n and -n differ in the sign of n_z alone; they are one where n_z = 0.
                                let share = if kz == lz { 0.5 } else { 1.0 };
                                sum = product.mul_add(T::Of::<R>::splat(T::from_f64(share)), sum);
                            } else {
                                sum = sum.add(product);
                                if kz != lz {
                                    sum = add(sum, al, bk);
                                }
                                if both {
                                    sum = add(sum, ck, dl);
                                    if kz != lz {
                                        sum = add(sum, cl, dk);
                                    }
                                }
                            }
                            sum.store(to);
                        }
                    }
                }
            }
        }
    }

    /// Stage 2 for one s, C registers of lanes at a time.
    ///
    /// # Safety
    /// The processor has the vector unit.
    #[inline(always)]
    unsafe fn band<R: Registers, const C: usize>(&self, sz: usize, scratch: &mut Scratch<T>) {
        let last = self.plan.n - 1;
        let [sx, sy] = self.s;
        let level = sz / 2;
        let tiles = self.band.tiles();
        // Lanes in which the same s is visited: the reflections that keep it, and the exchange.
        let fixed = [sx == last, sy == last, sz == last, sx == sy];
        let share = 0.5f64.powi(fixed.iter().filter(|&&fixed| fixed).count() as i32);
        let products = &scratch.products[..scratch.entered[level]];
        let width = T::Of::<R>::LANES;
        for tile in 0..tiles {
            if scratch.needed[tile] > level as u32 {
                continue;
            }
            let length = scratch.lengths[level * tiles + tile] as usize;
            let entries = &scratch.entries[self.band.starts[tile]..][..length];
            for first in (0..LANES).step_by(C * width) {
                // SAFETY: C registers divide the lanes evenly; the caller vouches for the vector unit.
                unsafe {
                    let mut sums = [[T::Of::<R>::splat(T::ZERO); C]; TILE];
                    for &[number, coefficients] in entries {
                        let from = products[number as usize].0.as_ptr().add(first);
                        let omega = &self.band.omega[coefficients as usize];
                        let mut products = [T::Of::<R>::splat(T::ZERO); C];
                        for (c, products) in products.iter_mut().enumerate() {
                            *products = T::Of::<R>::load(from.add(c * width));
                        }
                        for (sums, &omega) in sums.iter_mut().zip(omega) {
                            let omega = T::Of::<R>::splat(omega);
                            for (sum, &products) in sums.iter_mut().zip(&products) {
                                *sum = omega.mul_add(products, *sum);
                            }
                        }
                    }
                    for (row, sums) in sums.iter().enumerate() {
                        let r = tile * TILE + row;
                        let speed = T::Of::<R>::splat(T::from_f64(share * self.band.speeds[r]));
                        let g = scratch.g[r].0.as_mut_ptr().add(first);
                        for (c, &sum) in sums.iter().enumerate() {
                            sum.mul(speed).store(g.add(c * width));
                        }
                    }
                }
            }
        }
    }

    /// Stage 3 for one s, along z.
    ///
    /// # Safety
    /// The processor has the vector unit.
    #[inline(always)]
    unsafe fn gather<R: Registers>(&self, sz: usize, scratch: &mut Scratch<T>) {
        let n = self.plan.n;
        let top = sz / 2;
        for (index, rho_xy) in scratch.rho_xy.iter().enumerate() {
            let r = &mut scratch.r[index * n..][..n];
            for hz in 0..=top {
                let mz = 2 * hz + self.parity;
                let g = &scratch.g[(rho_xy + mz * mz - self.band.class) >> self.band.shift];
                let (iz, jz) = (top + hz + self.parity, top - hz);
                // SAFETY: the caller vouches for the vector unit.
                unsafe {
                    r[iz].add::<R>(g);
                    if iz != jz {
                        r[jz].add::<R>(g);
                    }
                }
            }
        }
    }
}
