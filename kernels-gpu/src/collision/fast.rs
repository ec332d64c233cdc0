//! The same sum restructured: the coefficient depends on i and j only through s = i + j and rho = |i - j|^2.
//!
//! With `P_s(n) = f((s+n)/2) f((s-n)/2)` the gain is `gain_i = sum over j of G(i+j, |i-j|^2)`, where
//! `G(s, rho) = rho^(gamma/2) sum over n of omega(rho, n) P_s(n)`. Three exact reductions follow:
//!
//! 1. omega depends on the magnitudes of the components of n only, so the products of n that differ by signs, or by an exchange of n_x and n_y
//!    of equal parity, are summed first ([`pair_products()`]);
//! 2. for one such set, omega differs from zero in a band of rho only: G is a banded matrix times a matrix whose
//!    columns are the values of s ([`speed_spectrum()`]);
//! 3. rho splits into a part of (x, y) and a part of z, so the sum over j_z is done once for each distinct value of
//!    the former ([`gather_z()`]), and only N^5 additions remain ([`gather_xy()`]).
//!
//! **Images.** Let w_a = min(s_a, 2(N-1) - s_a). The n that belong to s form the box |n_a| <= w_a, so all s with the same w_z and the same pair
//! w_1 >= w_2 of {w_x, w_y} need the same coefficients: 16 of them, in general, that the symmetries of the grid that keep the z axis map
//! onto one another. They are treated together, as neighbouring columns. Image `8 m + e` of the canonical s = (w_1, w_2, w_z) has its z component mirrored
//! if m = 1, its second component if bit 0 of e is set, its first if bit 1 is, and then the two exchanged if bit 2 is. Images that coincide are
//! computed more than once, which costs 14 per cent at N = 32.

use crate::kernel;
use crate::math::{Real, quotient};
use crate::memory::{In, Out, Quad, Shared};
use crate::simt::{Simt, WARP};

/// Rows of rho that a warp treats together: the granularity of the stored bands.
pub const TILE: u32 = 16;
/// Images of s that differ by symmetries of the grid that keep the z axis.
pub const IMAGES: u32 = 16;
/// Values of w_z that are treated together.
pub const GROUP: u32 = 4;
/// Columns of G that a warp treats together.
pub const COLUMNS: u32 = GROUP * IMAGES;
/// Threads of a block of [`pair_products()`].
pub const PRODUCT_THREADS: u32 = 256;
/// Threads of a block of [`speed_spectrum()`].
pub const SPECTRUM_THREADS: u32 = 128;
/// Threads of a block of [`gather_z()`] and [`gather_xy()`].
pub const GATHER_THREADS: u32 = 256;
/// Distinct values of rho_xy that a block of [`gather_z()`] takes.
pub const GATHER_SHARE: u32 = 4;
/// Entries of the list of a warp of [`speed_spectrum()`]: two rounds of candidates, and a margin for reading ahead.
const LIST: u32 = 2 * WARP + 8;

/// The problem of the kernels of this file, and the part of it that a launch does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct FastShape {
    /// Cells along one axis of the grid.
    pub n: u32,
    /// First block of this launch in the list of blocks; in [`pair_products()`], the first of `count` pairs.
    pub first: u32,
    /// Blocks of this launch for each distribution.
    pub blocks: u32,
    /// Most pairs (|n_x|, |n_y|) of a pass.
    pub pairs: u32,
    /// Most tiles of G of one distribution in a pass.
    pub tiles: u32,
    /// Tiles in the list of each parity pattern.
    pub pattern_tiles: u32,
    /// Words of the z-sums of one distribution.
    pub z_sums: u32,
}

impl FastShape {
    /// Distance of two rows of the padded distribution: quads do not cross rows.
    #[inline(always)]
    pub const fn stride(&self) -> u32 {
        self.n.div_ceil(4) * 4
    }
    /// Words of one padded distribution.
    #[inline(always)]
    pub const fn padded(&self) -> u32 {
        self.n * self.n * self.stride()
    }
    /// Most values of w_z, and of |n_z|, of one parity.
    #[inline(always)]
    pub const fn levels(&self) -> u32 {
        self.n.div_ceil(2)
    }
    /// Groups of values of w_z of one parity.
    #[inline(always)]
    pub const fn groups(&self) -> u32 {
        self.levels().div_ceil(GROUP)
    }
    /// Words of a row of G.
    #[inline(always)]
    pub const fn row_words(&self) -> u32 {
        self.groups() * COLUMNS
    }
    /// Where the sums of products with |n_z| / 2 = level start among those of a pair and a parity: row `level` holds the groups of w_z from
    /// that of the smallest w_z >= |n_z| on.
    #[inline(always)]
    pub const fn level_start(&self, level: u32) -> u32 {
        let whole = level / GROUP;
        let skipped = GROUP * (whole * whole.wrapping_sub(1) / 2) + level % GROUP * whole;
        COLUMNS * (level * self.groups() - skipped)
    }
    /// Words of the sums of products of a pair and a parity of n_z.
    #[inline(always)]
    pub const fn slot_words(&self) -> u32 {
        self.level_start(self.levels())
    }
    /// Words of the sums of products of one distribution in a pass.
    #[inline(always)]
    pub const fn products(&self) -> usize {
        2 * self.pairs as usize * self.slot_words() as usize
    }
    /// Words of G of one distribution in a pass.
    #[inline(always)]
    pub const fn spectrum(&self) -> usize {
        self.tiles as usize * (TILE * self.row_words()) as usize
    }
}

/// Four components packed in bytes.
#[inline(always)]
const fn bytes(word: u32) -> [u32; 4] {
    [word & 0xff, word >> 8 & 0xff, word >> 16 & 0xff, word >> 24]
}

/// Distance of a doubled index from the nearer end of the doubled lattice: the half-width of the centre-of-mass box.
#[inline(always)]
const fn half_width(s: u32, n: u32) -> u32 {
    let mirror = 2 * (n - 1) - s;
    if s < mirror { s } else { mirror }
}

/// Binary logarithm of the distance of two values of rho in a parity class.
#[inline(always)]
const fn class_shift(class: u32) -> u32 {
    if class == 3 { 3 } else { 2 }
}

/// Place of the pair (p, q) among those that fit the box (w1, w2): row by row in p, and for components of equal parity p >= q only.
#[inline(always)]
pub const fn pair_place(p: u32, q: u32, w1: u32, w2: u32) -> u32 {
    let (p, q, width) = (p / 2, q / 2, w2 / 2 + 1);
    if (w1 ^ w2) & 1 != 0 {
        p * width + q
    } else if p < width {
        p * (p + 1) / 2 + q
    } else {
        width * (width + 1) / 2 + (p - width) * width + q
    }
}

/// Four consecutive values in one access or two.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
fn load_four<T: Real, S: Simt>(t: &S, from: In<T>, index: usize) -> [T; 4] {
    if size_of::<T>() == 4 {
        from.get_run::<4, S>(t, index)
    } else {
        let [a, b] = from.get_run::<2, S>(t, index);
        let [c, d] = from.get_run::<2, S>(t, index + 2);
        [a, b, c, d]
    }
}

kernel! {
    /// Copies distributions into rows of whole quads: one thread a cell. The cells that fill up a row are zero beforehand.
    pub fn pad_rows<T: Real>(t, f: In<T>, padded: Out<T>; shape: FastShape) for f32, f64 {
        let cell = t.global_idx();
        if cell < f.len() {
            let row = quotient(cell as u32, shape.n);
            let within = cell as u32 - row * shape.n;
            padded.set(t, (row as usize * shape.stride() as usize) + within as usize, f.get(t, cell));
        }
    }
}

kernel! {
    /// Fills memory with zeros: thread k owns the elements k, k + threads of the launch, ....
    pub fn clear<T: Real>(t, out: Out<T>) for f32, f64 {
        let mut k = t.global_idx();
        while k < out.len() {
            out.set(t, k, T::ZERO);
            k += t.global_dim();
        }
    }
}

kernel! {
    /// Sums of products over the n of one (|n_x|, |n_y|, |n_z|), for all s of one pair w_1 >= w_2 and all images.
    ///
    /// `pairs[k] = [p, q, w_1, w_2]`, packed in bytes: |n_1| = p and |n_2| = q, or the other way round where the parities allow. The rows
    /// of cells of the canonical s that meet are (k_1, k_2) and (l_1, l_2), (k_1, l_2) and (l_1, k_2), with k = (w + n)/2, l = (w - n)/2.
    /// The sums with s_z = a + b, |n_z| = a - b >= 0 are the matrix M(a, b) = r_1(a) r_2(b) + r_2(a) r_1(b) + r_3(a) r_4(b) + r_4(a) r_3(b),
    /// an outer product of rows.
    ///
    /// **Thread**: one pair, one of the 8 images in x and y, and a tile of 4 x 4 (a, b), `tiles[k] = [a/4, b/4]`: 8 loads of 16 bytes (in f32),
    /// 64 multiply-adds, 16 words written, each by one thread. A warp has 8 images of 4 tiles: neighbouring threads read the same rows, and every fourth writes
    /// the next of 8 consecutive words.
    ///
    /// Written is `products[pair][parity of n_z][level_start(|n_z|/2) + (w_z/2 - start of the group) 16 + image]`; the
    /// words of a group with w_z < |n_z| belong to no product and stay zero.
    pub fn pair_products<T: Real>(
        t, padded: In<T>, pairs: In<u32>, tiles: In<u32>, products: Out<T>; shape: FastShape, count: u32,
    ) for f32, f64 {
        let n = shape.n;
        let item = quotient(t.block_idx(), shape.blocks);
        let index = (t.block_idx() - item * shape.blocks) * t.block_dim() + t.thread_idx();
        let (image, rest) = (index / 4 % 8, index / WARP * 4 + index % 4);
        let pair = quotient(rest, tiles.len() as u32);
        if pair < count {
            let [high, low, _, _] = bytes(tiles.get(t, (rest - pair * tiles.len() as u32) as usize));
            let [mut p, mut q, w1, w2] = bytes(pairs.get(t, (shape.first + pair) as usize));
            let source = item as usize * shape.padded() as usize;
            let row = |c1: u32, c2: u32| {
                let u1 = if image & 2 != 0 { n - 1 - c1 } else { c1 };
                let u2 = if image & 1 != 0 { n - 1 - c2 } else { c2 };
                let (x, y) = if image & 4 != 0 { (u2, u1) } else { (u1, u2) };
                source + ((x * n + y) * shape.stride()) as usize
            };
            // The pair turned round counts too, where it fits and is another one.
            let mut turns = 1;
            if (w1 ^ w2) & 1 == 0 && p != q && p <= w2 {
                turns = 2;
            }
            let mut sums = [[T::ZERO; 4]; 4];
            while turns > 0 {
                let (k1, l1) = ((w1 + p) / 2, (w1 - p) / 2);
                let (k2, l2) = ((w2 + q) / 2, (w2 - q) / 2);
                let rows = [row(k1, k2), row(l1, l2), row(k1, l2), row(l1, k2)];
                let mut a = [[T::ZERO; 4]; 4];
                let mut b = [[T::ZERO; 4]; 4];
                let mut r = 0;
                while r < 4 {
                    a[r] = load_four(t, padded, rows[r] + 4 * high as usize);
                    b[r] = load_four(t, padded, rows[r] + 4 * low as usize);
                    r += 1;
                }
                let mut r = 0;
                while r < 4 {
                    let mut i = 0;
                    while i < 4 {
                        let mut j = 0;
                        while j < 4 {
                            sums[i][j] = a[r][i].mul_add(b[r ^ 1][j], sums[i][j]);
                            j += 1;
                        }
                        i += 1;
                    }
                    r += 1;
                }
                (p, q) = (q, p);
                turns -= 1;
            }
            let slot_words = shape.slot_words();
            let target = (item as usize * shape.pairs as usize + pair as usize) * (2 * slot_words) as usize;
            // A place is that of |n_z| = a - b, of four levels, plus that of s_z = a + b, of seven columns.
            let mut levels = [0; 4];
            let mut k = 0;
            while k < 4 {
                let level = (2 * (high - low) + k).saturating_sub(2);
                levels[k as usize] = shape.level_start(level).wrapping_sub(level / GROUP * COLUMNS);
                k += 1;
            }
            let mut columns = [0; 7];
            let mut k = 0;
            while k < 7 {
                let s = 4 * (high + low) + k;
                let (half, mirrored) =
                    if s < n { (s / 2, 0) } else { ((n - 1).saturating_sub(s.div_ceil(2)), IMAGES / 2) };
                columns[k as usize] = half * IMAGES + mirrored + image;
                k += 1;
            }
            let mut i = 0;
            while i < 4 {
                let mut j = 0;
                while j < 4 {
                    if 4 * high + (i as u32) < n && (i >= j || high > low) {
                        let odd = if (i + j) % 2 == 1 { slot_words } else { 0 };
                        let at = levels[(i + 4 - j) / 2].wrapping_add(columns[i + j]) + odd;
                        products.set(t, target + at as usize, sums[i][j]);
                    }
                    j += 1;
                }
                i += 1;
            }
        }
    }
}

kernel! {
    /// G(s, rho) for all s with given w_1 >= w_2 and four neighbouring values of w_z of one parity, 16 images each: 64 columns.
    ///
    /// **Block**: `list[b] = [w_1, w_2, parity of s_z, group of w_z, packed in bytes; first tile; first pair; first tile of the
    /// output]`; warp k owns tile `first + k` of 16 consecutive values of rho and shares nothing with the others.
    ///
    /// **Warp**: `entries[starts[tile] ..]` are the candidates for the tile's parity pattern: `[|n_1|, |n_2|, |n_z|, packed in bytes; their coefficients / 16]`.
    /// 32 at a time are compared with the box, and those that fit are listed in shared memory: where their products start, and their coefficients.
    /// Then a lane holds R x 8 sums in registers, and for each entry of the list R coefficients meet 8 products. In f32 R = 8: 8 lanes
    /// span the columns, 2 the rows, and the two half-warps take turns with the entries; their sums are added in the end. In f64 R = 4, without turns.
    ///
    /// **Cost** of an entry, 1024 multiply-adds: in f32 64 multiply-adds of a lane to 4 loads of 16 bytes for every two entries. Products come from the L1 cache, where the
    /// neighbouring warps' tiles want the same. The order of the entries is fixed, so the bits are too.
    pub fn speed_spectrum<T: Real>(
        t, products: In<T>, list: In<Quad<u32>>, starts: In<u32>, entries: In<u32>, coefficients: In<T>, speed: In<T>,
        spectrum: Out<T>; shape: FastShape,
    ) for f32, f64
    shared { fitting: [u64; SPECTRUM_THREADS / WARP * LIST] } {
        let item = quotient(t.block_idx(), shape.blocks);
        let block = shape.first + t.block_idx() - item * shape.blocks;
        let Quad([key, first_tile, first_pair, first_output]) = list.get(t, block as usize);
        let [w1, w2, pz, group] = bytes(key);
        let tile = first_tile + t.warp();
        // The widest box of the group.
        let last = 2 * (GROUP * group + GROUP - 1) + pz;
        let most = shape.n - 1 - ((shape.n - 1 - pz) & 1);
        let wz = if last < most { last } else { most };
        let class = (w1 & 1) + (w2 & 1) + pz;
        let rho_max = w1 * w1 + w2 * w2 + wz * wz;
        if tile <= ((rho_max - class) >> class_shift(class)) / TILE {
            let slots = (item as usize * shape.pairs as usize + first_pair as usize) * 2;
            let pattern = (w1 & 1) << 2 | (w2 & 1) << 1 | pz;
            let start = (pattern * (shape.pattern_tiles + 1) + tile) as usize;
            let output = item as usize * shape.spectrum()
                + ((first_output + tile) * TILE * shape.row_words() + group * COLUMNS) as usize;
            let work = Tile {
                products, entries, coefficients, speed, spectrum, fitting, shape, w1, w2, wz, pz, group,
                source: slots * shape.slot_words() as usize,
                candidates: [starts.get(t, start), starts.get(t, start + 1)],
                first_rho: class + ((tile * TILE) << class_shift(class)), step: class_shift(class), rho_max, output,
            };
            if size_of::<T>() == 4 {
                work.sum::<8, _>(t);
            } else {
                work.sum::<4, _>(t);
            }
        }
    }
}

/// What a warp of [`speed_spectrum()`] works on.
struct Tile<'a, T: Real> {
    products: In<'a, T>,
    entries: In<'a, u32>,
    coefficients: In<'a, T>,
    speed: In<'a, T>,
    spectrum: Out<'a, T>,
    fitting: Shared<'a, u64>,
    shape: FastShape,
    w1: u32,
    w2: u32,
    wz: u32,
    pz: u32,
    group: u32,
    /// Where the products of the task start.
    source: usize,
    /// First candidate, and the end.
    candidates: [u32; 2],
    first_rho: u32,
    /// Binary logarithm of the distance of rows.
    step: u32,
    rho_max: u32,
    /// Where the tile's first row starts.
    output: usize,
}

impl<T: Real> Tile<'_, T> {
    /// Where the products of an entry start, for an entry that fits the box.
    #[inline(always)]
    fn row_of(&self, n1: u32, n2: u32, nz: u32) -> u32 {
        let pair = pair_place(n1, n2, self.w1, self.w2);
        let level = nz / 2;
        (2 * pair + self.pz) * self.shape.slot_words()
            + self.shape.level_start(level)
            + (self.group - level / GROUP) * COLUMNS
    }

    /// The whole tile, with R rows a lane.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn sum<const R: usize, S: Simt>(&self, t: &S) {
        let list = t.warp() * LIST;
        let [mut next, end] = self.candidates;
        let mut sums = [[T::ZERO; 8]; R];
        let mut count = 0;
        while next < end {
            let candidate = next + t.lane();
            let known = if candidate < end { candidate } else { end - 1 };
            let [key, offset] = self.entries.get_run::<2, S>(t, 2 * known as usize);
            let [n1, n2, nz, _] = bytes(key);
            let fits = candidate < end && n1 <= self.w1 && n2 <= self.w2 && nz <= self.wz;
            let mask = t.ballot(fits);
            if fits {
                let place = count + (mask & !(u32::MAX << t.lane())).count_ones();
                let entry = u64::from(self.row_of(n1, n2, nz)) | u64::from(offset) << 32;
                self.fitting.set(t, list + place, entry);
            }
            count += mask.count_ones();
            next += WARP;
            if count > WARP || next >= end {
                // Coefficients of zero for whoever reads past the end.
                if t.lane() < LIST - 2 * WARP {
                    self.fitting.set(t, list + count + t.lane(), 0);
                }
                t.sync_warp();
                self.multiply::<R, S>(t, list, count, &mut sums);
                t.sync_warp();
                count = 0;
            }
        }
        self.finish::<R, S>(t, &mut sums);
    }

    /// The rows of a lane start at `R * part`, and it takes the entries `turn`, `turn + R / 4`, ...: `[part, turn]`.
    #[inline(always)]
    fn lane_part<const R: usize, S: Simt>(t: &S) -> [u32; 2] {
        let k = t.lane() / 8;
        if R == 8 { [k % 2, k / 2] } else { [k, 0] }
    }

    /// Coefficients and products of an entry, as far as they concern this lane: runs of 16 bytes, so that 8 lanes read 128 bytes in a row.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn fetch<const R: usize, S: Simt>(&self, t: &S, entry: u32, part: u32) -> ([T; R], [T; 8]) {
        let entry = self.fitting.get(t, entry);
        let coefficient = ((entry >> 32) as u32 * TILE + part * R as u32) as usize;
        let mut coefficients = [T::ZERO; R];
        let mut k = 0;
        while k < R {
            let four = load_four(t, self.coefficients, coefficient + k);
            coefficients[k] = four[0];
            coefficients[k + 1] = four[1];
            coefficients[k + 2] = four[2];
            coefficients[k + 3] = four[3];
            k += 4;
        }
        let product = self.source + (entry as u32 + t.lane() % 8 * run_length::<T>()) as usize;
        let products = if size_of::<T>() == 4 {
            let [a, b, c, d] = self.products.get_run::<4, S>(t, product);
            let [e, f, g, h] = self.products.get_run::<4, S>(t, product + 32);
            [a, b, c, d, e, f, g, h]
        } else {
            let [a, b] = self.products.get_run::<2, S>(t, product);
            let [c, d] = self.products.get_run::<2, S>(t, product + 16);
            let [e, f] = self.products.get_run::<2, S>(t, product + 32);
            let [g, h] = self.products.get_run::<2, S>(t, product + 48);
            [a, b, c, d, e, f, g, h]
        };
        (coefficients, products)
    }

    /// Adds the shares of `count` entries of the list. While one entry is multiplied the next one is on its way.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn multiply<const R: usize, S: Simt>(
        &self,
        t: &S,
        list: u32,
        count: u32,
        sums: &mut [[T; 8]; R],
    ) {
        let [part, turn] = Self::lane_part::<R, S>(t);
        let turns = R as u32 / 4;
        let mut at = list + turn;
        let end = list + count;
        let mut even = self.fetch::<R, S>(t, at, part);
        while at - turn < end {
            let odd = self.fetch::<R, S>(t, at + turns, part);
            t.pin_accesses();
            outer_product(&even.0, &even.1, sums);
            even = self.fetch::<R, S>(t, at + 2 * turns, part);
            t.pin_accesses();
            outer_product(&odd.0, &odd.1, sums);
            at += 2 * turns;
        }
    }

    /// Writes the tile: four rows a lane.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn finish<const R: usize, S: Simt>(&self, t: &S, sums: &mut [[T; 8]; R]) {
        let [part, turn] = Self::lane_part::<R, S>(t);
        if R == 8 {
            // Each half-warp keeps four of the eight rows and gets the other one's sums.
            let mut row = 0;
            while row < 4 {
                let mut c = 0;
                while c < 8 {
                    let (low, high) = (sums[row][c], sums[(row + 4) % R][c]);
                    let (kept, sent) = if turn == 0 { (low, high) } else { (high, low) };
                    sums[row][c] = kept + t.shuffle_xor(sent, WARP / 2);
                    c += 1;
                }
                row += 1;
            }
        }
        let first = part * R as u32 + turn * 4;
        let mut row = 0;
        while row < 4 {
            let rho = self.first_rho + ((first + row as u32) << self.step);
            let factor = if rho <= self.rho_max {
                self.speed.get(t, rho as usize)
            } else {
                T::ZERO
            };
            let at = self.output
                + ((first + row as u32) * self.shape.row_words() + t.lane() % 8 * run_length::<T>())
                    as usize;
            let s = sums[row].map(|sum| factor * sum);
            if size_of::<T>() == 4 {
                self.spectrum.set_run(t, at, [s[0], s[1], s[2], s[3]]);
                self.spectrum.set_run(t, at + 32, [s[4], s[5], s[6], s[7]]);
            } else {
                self.spectrum.set_run(t, at, [s[0], s[1]]);
                self.spectrum.set_run(t, at + 16, [s[2], s[3]]);
                self.spectrum.set_run(t, at + 32, [s[4], s[5]]);
                self.spectrum.set_run(t, at + 48, [s[6], s[7]]);
            }
            row += 1;
        }
    }
}

/// Values in 16 bytes.
#[inline(always)]
const fn run_length<T>() -> u32 {
    16 / size_of::<T>() as u32
}

/// Adds the products of R rows and 8 columns.
#[inline(always)]
fn outer_product<T: Real, const R: usize>(rows: &[T; R], columns: &[T; 8], sums: &mut [[T; 8]; R]) {
    let mut row = 0;
    while row < R {
        let mut c = 0;
        while c < 8 {
            sums[row][c] = rows[row].mul_add(columns[c], sums[row][c]);
            c += 1;
        }
        row += 1;
    }
}

kernel! {
    /// R(s_x, s_y, rho_xy; i_z) = sum over j_z of G((s_x, s_y, i_z + j_z), rho_xy + (i_z - j_z)^2), for the
    /// distinct values of rho_xy in the box of (s_x, s_y).
    ///
    /// **Block**: `list[b]` has the task in its upper half and the first value of rho_xy in its lower half; four values at most, for the 8 images of (s_x, s_y).
    /// `tasks[2 k] = [w_1, w_2 packed; first tile for even s_z, for odd s_z; first z-sum]` and `tasks[2 k + 1] = [first distinct value, their
    /// number, -, -]`.
    ///
    /// **Thread**: pairs (i_z of the lower half, image), for all four values; neighbouring threads read neighbouring images. For each |i_z - j_z| the
    /// two j_z share a row of G, and the four rows the place in them.
    /// Through shared memory the sums get into the order `[image][rho_xy][i_z]`, so that rows of them are written whole.
    pub fn gather_z<T: Real>(
        t, spectrum: In<T>, tasks: In<Quad<u32>>, list: In<u32>, distinct: In<u32>, z_sums: Out<T>; shape: FastShape,
    ) for f32, f64
    shared { sums: [T; GATHER_SHARE * IMAGES / 2 * shape.n] } {
        let n = shape.n;
        let item = quotient(t.block_idx(), shape.blocks);
        let key = list.get(t, (shape.first + t.block_idx() - item * shape.blocks) as usize);
        let (task, first) = (key >> 16, key & 0xffff);
        let Quad([box_key, even, odd, first_sum]) = tasks.get(t, 2 * task as usize);
        let Quad([first_distinct, values, _, _]) = tasks.get(t, 2 * task as usize + 1);
        let [w1, w2, _, _] = bytes(box_key);
        let count = if values - first < GATHER_SHARE { values - first } else { GATHER_SHARE };
        let source = item as usize * shape.spectrum();
        let row_words = shape.row_words();
        let half = shape.levels();
        let mut rho_xy = [0; GATHER_SHARE as usize];
        let mut d = 0;
        while d < GATHER_SHARE as usize {
            // Past the end the last value once more.
            let place = first + if (d as u32) < count { d as u32 } else { count - 1 };
            rho_xy[d] = distinct.get(t, (first_distinct + place) as usize);
            d += 1;
        }

        let mut k = t.thread_idx();
        while k < half * IMAGES {
            let (image, iz) = (k % IMAGES, k / IMAGES);
            let (mirror, e) = (image / 8, image % 8);
            let mut sum = [T::ZERO; GATHER_SHARE as usize];
            let mut pz = 0;
            while pz < 2 {
                let class = (w1 & 1) + (w2 & 1) + pz;
                let shift = class_shift(class);
                let tile = if pz == 0 { even } else { odd };
                let mut rows = [0; GATHER_SHARE as usize];
                let mut d = 0;
                while d < GATHER_SHARE as usize {
                    let row = tile * TILE + ((rho_xy[d] + pz - class) >> shift);
                    rows[d] = source + (row * row_words) as usize;
                    d += 1;
                }
                // The squares of the numbers of one parity rise by 4, 12, 20, ... or 8, 16, 24, ....
                let mut down = 0;
                let mut rise = ((4 * (1 + pz)) >> shift) * row_words;
                let more = (8 >> shift) * row_words;
                let mut delta = pz;
                while delta < n - iz {
                    // Two distances at a time, so that eight loads are under way; a second one that leaves the grid is not counted.
                    let mut values = [[T::ZERO; GATHER_SHARE as usize]; 2];
                    let next = [delta, if delta + 2 < n - iz { delta + 2 } else { delta }];
                    let mut u = 0;
                    while u < 2 {
                        let s = 2 * iz + next[u];
                        // Above the middle, s is the mirror image of 2(N-1) - s; the middle is its own.
                        let (w, turned) = if s > n - 1 {
                            (2 * (n - 1) - s, mirror ^ 1)
                        } else if s == n - 1 {
                            (s, 0)
                        } else {
                            (s, mirror)
                        };
                        let row = if next[u] == delta { down } else { down + rise };
                        let at = (row + w / 2 * IMAGES + turned * 8 + e) as i32;
                        let mut d = 0;
                        while d < GATHER_SHARE as usize {
                            values[u][d] = spectrum.get_near(t, rows[d], at);
                            d += 1;
                        }
                        u += 1;
                    }
                    let second = next[1] != delta;
                    let mut d = 0;
                    while d < GATHER_SHARE as usize {
                        sum[d] += values[0][d];
                        sum[d] += if second { values[1][d] } else { T::ZERO };
                        d += 1;
                    }
                    if delta <= iz {
                        let next = [delta, if delta + 2 <= iz { delta + 2 } else { delta }];
                        let mut u = 0;
                        while u < 2 {
                            let row = if next[u] == delta { down } else { down + rise };
                            let at = (row + (2 * iz - next[u]) / 2 * IMAGES + image) as i32;
                            let mut d = 0;
                            while d < GATHER_SHARE as usize {
                                values[u][d] = spectrum.get_near(t, rows[d], at);
                                d += 1;
                            }
                            u += 1;
                        }
                        let (first, second) = (delta > 0, next[1] != delta);
                        let mut d = 0;
                        while d < GATHER_SHARE as usize {
                            sum[d] += if first { values[0][d] } else { T::ZERO };
                            sum[d] += if second { values[1][d] } else { T::ZERO };
                            d += 1;
                        }
                    }
                    down += 2 * rise + more;
                    rise += 2 * more;
                    delta += 4;
                }
                pz += 1;
            }
            let z = if mirror == 1 { n - 1 - iz } else { iz };
            // The middle cell belongs to both halves; either sum is the same.
            if mirror == 0 || z != iz {
                let mut d = 0;
                while d < GATHER_SHARE as usize {
                    if (d as u32) < count {
                        sums.set(t, (d as u32 * 8 + e) * n + z, sum[d]);
                    }
                    d += 1;
                }
            }
            k += t.block_dim();
        }
        t.sync_threads();
        let target = item as usize * shape.z_sums as usize + first_sum as usize;
        let mut k = t.thread_idx();
        while k < count * 8 * n {
            let (row, z) = (quotient(k, n), k - quotient(k, n) * n);
            let (d, e) = (row / 8, row % 8);
            let at = (e * values + first + d) * n + z;
            z_sums.set(t, target + at as usize, sums.get(t, k));
            k += t.block_dim();
        }
    }
}

kernel! {
    /// gain(i) = sum over j_x, j_y of R(i_x + j_x, i_y + j_y, (i_x - j_x)^2 + (i_y - j_y)^2; i_z).
    ///
    /// Block (i_x, i_y); its threads share out j_x and add up their parts in a fixed order, in f64. With
    /// `places[s_x (2N-1) + s_y] = [first z-sum, first of the map]`, `map[first + (|m_x|/2) (w_y/2 + 1) + |m_y|/2]`
    /// is the place of rho_xy among the distinct values of the box.
    pub fn gather_xy<T: Real>(t, z_sums: In<T>, places: In<u32>, map: In<u32>, gain: Out<T>; shape: FastShape)
    for f32, f64
    shared { parts: [f64; GATHER_THREADS] } {
        let n = shape.n;
        let item = quotient(t.block_idx(), n * n);
        let row = t.block_idx() - item * n * n;
        let ix = quotient(row, n);
        let iy = row - ix * n;
        let shares = quotient(t.block_dim(), n);
        let share = quotient(t.thread_idx(), n);
        let iz = t.thread_idx() - share * n;
        let source = item as usize * shape.z_sums as usize;

        let mut sum = 0.0;
        let mut jx = share;
        while share < shares && jx < n {
            let mx = ix.abs_diff(jx);
            let mut jy = 0;
            while jy < n {
                // Four chains of loads at a time; where the row ends the last one is loaded again and not counted.
                let mut terms = [T::ZERO; 4];
                let mut r = 0;
                while r < 4 {
                    let y = if jy + r < n { jy + r } else { n - 1 };
                    let my = iy.abs_diff(y);
                    let place = (ix + jx) * (2 * n - 1) + iy + y;
                    let [first_sum, first] = places.get_run(t, 2 * place as usize);
                    let d = map.get(t, (first + (mx / 2) * (half_width(iy + y, n) / 2 + 1) + my / 2) as usize);
                    terms[r as usize] = z_sums.get(t, source + (first_sum + d * n + iz) as usize);
                    r += 1;
                }
                let mut r = 0;
                while r < 4 {
                    if jy + r < n {
                        sum += terms[r as usize].to_f64();
                    }
                    r += 1;
                }
                jy += 4;
            }
            jx += shares;
        }
        parts.set(t, t.thread_idx(), sum);
        t.sync_threads();
        if share == 0 {
            let mut other = 1;
            while other < shares {
                sum += parts.get(t, other * n + iz);
                other += 1;
            }
            gain.set(t, t.block_idx() as usize * n as usize + iz as usize, T::from_f64(sum));
        }
    }
}
