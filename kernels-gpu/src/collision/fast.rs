//! The same sum restructured: the coefficient depends on i and j only through s = i + j and rho = |i - j|^2.
//!
//! With `P_s(n) = f((s+n)/2) f((s-n)/2)` the gain is `gain_i = sum over j of G(i+j, |i-j|^2)`, where
//! `G(s, rho) = rho^(gamma/2) sum over n of omega(rho, n) P_s(n)`. Three exact reductions follow:
//!
//! 1. omega depends on the magnitudes of the components of n only, so the products of n that differ by signs, or by an exchange of n_x and n_y
//!    of equal parity, are summed first ([`pair_products()`], [`mixed_products()`] for two distributions);
//! 2. for one such set, omega differs from zero in a band of rho only: G is a banded matrix times a matrix whose
//!    columns are the values of s ([`speed_spectrum()`]);
//! 3. rho splits into a part of (x, y) and a part of z, so the sum over j_z is done once for each distinct value of
//!    the former ([`gather_z()`]), and only N^5 additions remain ([`gather_xy()`]).
//!
//! **Images.** Let w_a = min(s_a, 2(N-1) - s_a). The n that belong to s form the box |n_a| <= w_a, so all s with the same w_z and the same pair
//! w_1 >= w_2 of {w_x, w_y} need the same coefficients: 16 of them, in general, that the symmetries of the grid that keep the z axis map
//! onto one another. They are treated together, as neighbouring columns: a task. Image `8 m + e` of the canonical s = (w_1, w_2, w_z) has its z component mirrored
//! if m = 1, its second component if bit 0 of e is set, its first if bit 1 is, and then the two exchanged if bit 2 is.
//!
//! For w_1 = w_2 the exchange adds nothing, and for w_1 = N-1 the mirror of the first component, as N-1 is the middle. The columns that would be copies then
//! belong to a second box: (w-2, w-2) is treated with (w, w), and (N-1, w_2-2) with (N-1, w_2), so that half as many such tasks are left ([`Image`]). Pairs, coefficients and values of rho of a task are those of
//! its first box; products of the second one are zero where n lies beyond it. That saves 13 per cent of all work at N = 16, 7 at 32. The mirror image of w_z = N-1 alone is a place left empty.

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
/// Pairs of a thread of [`pair_products()`], one after the other.
pub const PAIRS: u32 = 4;
/// Threads of a block of [`speed_spectrum()`].
pub const SPECTRUM_THREADS: u32 = 128;
/// Most parts of sums of a block of [`gather_xy()`]: shares of j_x times cells.
pub const GATHER_PARTS: u32 = 256;
/// Distinct values of rho_xy that a block of [`gather_z()`] takes.
pub const GATHER_SHARE: u32 = 4;
/// Entries that a warp of [`speed_spectrum()`] multiplies together, at least.
pub const STEP: u32 = 8;
/// Neighbouring entries in the lists of [`speed_spectrum()`]: two steps.
pub const PORTION: u32 = 2 * STEP;
/// Tiles of rho that a block of [`speed_spectrum()`] treats.
pub const WINDOW: u32 = SPECTRUM_THREADS / WARP;
/// Words of a block in the list of blocks of [`speed_spectrum()`].
pub const BLOCK_WORDS: u32 = 4 + WINDOW;
/// Values of an entry in shared memory: its products, and its coefficients in a window.
const ENTRY: u32 = COLUMNS + WINDOW * TILE;

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
    /// Threads of a block of [`gather_z()`]: the sums of a block are those of each.
    #[inline(always)]
    pub const fn gather_threads(&self) -> u32 {
        (self.levels() * (IMAGES / 4)).next_multiple_of(WARP)
    }
    /// Shares of j_x in a block of [`gather_xy()`].
    #[inline(always)]
    pub const fn gather_shares(&self) -> u32 {
        quotient(GATHER_PARTS, self.n)
    }
    /// Threads of a block of [`gather_xy()`] with `run` cells each.
    #[inline(always)]
    pub const fn gather_xy_threads(&self, run: u32) -> u32 {
        (self.gather_shares() * quotient(self.n, run)).next_multiple_of(WARP)
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

/// Threads of a block of [`pair_products()`]: in f64, where they take many more registers, smaller blocks fill a multiprocessor better.
#[inline(always)]
pub const fn product_threads<T>() -> u32 {
    1024 / size_of::<T>() as u32
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

/// The contribution of one of the 8 images in x and y of a task to (s_x, s_y).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Image {
    /// w_1 and w_2 of the box: of the task, or of its second box; negative where the task has none.
    pub widths: [i32; 2],
    /// Whether the first and the second component are mirrored.
    pub mirrored: [bool; 2],
    /// Whether they are exchanged then, the second one being that of x.
    pub exchanged: bool,
}

impl Image {
    /// Image `e` of the task w_1 >= w_2. Bit 0 mirrors the second component always. With one box bit 1 mirrors the first one and bit 2 exchanges the two; with two boxes bit 2 is the second box,
    /// and bit 1 mirrors the first component for w_1 = w_2 and exchanges them for w_1 = N-1.
    #[inline(always)]
    pub const fn of(e: u32, w1: u32, w2: u32, n: u32) -> Self {
        let (bit1, bit2) = (e & 2 != 0, e & 4 != 0);
        let (equal, middle) = (w1 == w2, w1 == n - 1 && w1 != w2);
        let less = if bit2 { 2 } else { 0 };
        Self {
            widths: [
                w1 as i32 - if equal { less } else { 0 },
                w2 as i32 - if equal || middle { less } else { 0 },
            ],
            mirrored: [bit1 && !middle, e & 1 != 0],
            exchanged: if middle { bit1 } else { bit2 && !equal },
        }
    }
}

/// Whether (w_1, w_2) is the second box of another task.
#[inline(always)]
pub const fn second_box(w1: u32, w2: u32, n: u32) -> bool {
    // From the widest on, two of either parity lead and the next two follow.
    if w1 == w2 {
        (n - 1 - w1) % 4 >= 2
    } else {
        w1 == n - 1 && (n - 2 - w2) % 4 >= 2
    }
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
#[track_caller]
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
    /// Sums of products over the n of one (|n_x|, |n_y|, |n_z|), for all s of one task and all images.
    ///
    /// `pairs[k] = [p, q, w_1, w_2]`, packed in bytes: |n_1| = p and |n_2| = q, or the other way round where the parities allow. The rows
    /// of cells of the canonical s that meet are (k_1, k_2) and (l_1, l_2), (k_1, l_2) and (l_1, k_2), with k = (w + n)/2, l = (w - n)/2.
    /// The sums with s_z = a + b, |n_z| = a - b >= 0 are the matrix M(a, b) = r_1(a) r_2(b) + r_2(a) r_1(b) + r_3(a) r_4(b) + r_4(a) r_3(b),
    /// an outer product of rows. In the second box of a task they are zero for a pair that does not fit it.
    ///
    /// **Thread**: [`PAIRS`] pairs, which share the places of what is written, one of the 8 images in x and y, and a tile of 4 x 4 (a, b),
    /// `tiles[k] = [a/4, b/4]`. A pair takes 8 loads of 16 bytes (in f32), 64 multiply-adds, and 16 words written, each by one thread. A warp has 8 images of 4 tiles: neighbouring threads read the same rows, and every fourth writes
    /// the next of 8 consecutive words.
    ///
    /// Written is `products[pair][parity of n_z][level_start(|n_z|/2) + (w_z/2 - start of the group) 16 + image]`; the
    /// words of a group with w_z < |n_z| belong to no product and are never read; the mirror images of the middle w_z = N - 1 are never written and stay zero.
    pub fn pair_products<T: Real>(
        t, padded: In<T>, pairs: In<u32>, tiles: In<u32>, products: Out<T>; shape: FastShape, count: u32,
    ) for f32, f64 {
        multiply_rows::<T, _, false>(t, padded, pairs, tiles, products, (shape, count), 0);
    }
}

kernel! {
    /// [`pair_products()`] of two distributions, `g_k m_l + m_k g_l` instead of `f_k f_l`: that of m is `partner` words behind that of g.
    ///
    /// A pair takes 16 loads of 16 bytes (in f32) and 128 multiply-adds.
    pub fn mixed_products<T: Real>(
        t, padded: In<T>, pairs: In<u32>, tiles: In<u32>, products: Out<T>; shape: FastShape, count: u32, partner: u32,
    ) for f32, f64 {
        multiply_rows::<T, _, true>(t, padded, pairs, tiles, products, (shape, count), partner);
    }
}

/// The work of [`pair_products()`] and, `MIXED`, of [`mixed_products()`].
#[inline(always)]
#[track_caller]
fn multiply_rows<T: Real, S: Simt, const MIXED: bool>(
    t: &S,
    padded: In<'_, T>,
    pairs: In<'_, u32>,
    tiles: In<'_, u32>,
    products: Out<'_, T>,
    (shape, count): (FastShape, u32),
    partner: u32,
) {
    let n = shape.n;
    let item = quotient(t.block_idx(), shape.blocks);
    let index = (t.block_idx() - item * shape.blocks) * t.block_dim() + t.thread_idx();
    let (image, rest) = (index / 4 % 8, index / WARP * 4 + index % 4);
    let group = quotient(rest, tiles.len() as u32);
    let mut pair = group * PAIRS;
    if pair < count {
        let [high, low, _, _] = bytes(tiles.get(t, (rest - group * tiles.len() as u32) as usize));
        // In 32 bits: the z-sums beside it are many times as large.
        let source = item * shape.padded();
        // A place is that of |n_z| = a - b, of four levels, plus that of s_z = a + b, of seven columns.
        let slot_words = shape.slot_words();
        let mut levels = [0; 4];
        for k in 0..4 {
            let level = (2 * (high - low) + k).saturating_sub(2);
            levels[k as usize] = shape
                .level_start(level)
                .wrapping_sub(level / GROUP * COLUMNS);
        }
        let mut columns = [0; 7];
        for k in 0..7 {
            let s = 4 * (high + low) + k;
            let (half, mirrored) = if s < n {
                (s / 2, 0)
            } else {
                ((n - 1).saturating_sub(s.div_ceil(2)), IMAGES / 2)
            };
            columns[k as usize] = half * IMAGES + mirrored + image;
        }
        let end = if pair + PAIRS < count {
            pair + PAIRS
        } else {
            count
        };
        // Of no pair.
        let mut task = u32::MAX;
        let mut rows_of = Rows::default();
        while pair < end {
            let word = pairs.get(t, (shape.first + pair) as usize);
            let [mut p, mut q, w1, w2] = bytes(word);
            // Pairs of a task follow one another.
            if word >> 16 != task {
                task = word >> 16;
                rows_of = Rows::of(Image::of(image, w1, w2, n), source, shape);
            }
            let mut turns = rows_of.turns(p, q);
            let mut sums = [[T::ZERO; 4]; 4];
            while turns > 0 {
                let rows = rows_of.meeting(p, q);
                if MIXED {
                    for r in 0..4 {
                        let (row, other) = (rows[r], rows[r ^ 1]);
                        let a = load_four(t, padded, (row + 4 * high) as usize);
                        let b = load_four(t, padded, (partner + other + 4 * low) as usize);
                        add_outer(a, b, &mut sums);
                        let a = load_four(t, padded, (partner + row + 4 * high) as usize);
                        let b = load_four(t, padded, (other + 4 * low) as usize);
                        add_outer(a, b, &mut sums);
                    }
                } else {
                    let mut a = [[T::ZERO; 4]; 4];
                    let mut b = [[T::ZERO; 4]; 4];
                    for r in 0..4 {
                        a[r] = load_four(t, padded, (rows[r] + 4 * high) as usize);
                        b[r] = load_four(t, padded, (rows[r] + 4 * low) as usize);
                    }
                    for r in 0..4 {
                        add_outer(a[r], b[r ^ 1], &mut sums);
                    }
                }
                (p, q) = (q, p);
                turns -= 1;
            }
            let target =
                (item as usize * shape.pairs as usize + pair as usize) * (2 * slot_words) as usize;
            for i in 0..4 {
                for j in 0..4 {
                    if 4 * high + (i as u32) < n && (i >= j || high > low) {
                        let odd = if (i + j) % 2 == 1 { slot_words } else { 0 };
                        let level = (i + 4 - j) / 2;
                        let at = levels[level].wrapping_add(columns[i + j]) + odd;
                        products.set(t, target + at as usize, sums[i][j]);
                    }
                }
            }
            pair += 1;
        }
    }
}

/// Adds the outer product of two rows of four.
#[inline(always)]
fn add_outer<T: Real>(a: [T; 4], b: [T; 4], sums: &mut [[T; 4]; 4]) {
    for i in 0..4 {
        for j in 0..4 {
            sums[i][j] = a[i].mul_add(b[j], sums[i][j]);
        }
    }
}

/// The rows of a distribution, which starts at `source`, that an image of [`pair_products()`] reads: that of (c_1, c_2) starts at origin + c_1 steps_1 + c_2 steps_2.
#[derive(Clone, Copy, Default)]
struct Rows {
    widths: [i32; 2],
    origin: u32,
    steps: [u32; 2],
}

impl Rows {
    #[inline(always)]
    const fn of(image: Image, source: u32, shape: FastShape) -> Self {
        let (x, y) = (shape.n * shape.stride(), shape.stride());
        let [first, second] = if image.exchanged { [y, x] } else { [x, y] };
        let [mirror1, mirror2] = image.mirrored;
        let end1 = if mirror1 { (shape.n - 1) * first } else { 0 };
        let end2 = if mirror2 { (shape.n - 1) * second } else { 0 };
        Self {
            widths: image.widths,
            origin: source + end1 + end2,
            steps: [
                if mirror1 { first.wrapping_neg() } else { first },
                if mirror2 {
                    second.wrapping_neg()
                } else {
                    second
                },
            ],
        }
    }

    /// How often the pair (p, q) counts: not at all where it does not fit the box, and turned round too, where that fits and is another one.
    #[inline(always)]
    const fn turns(self, p: u32, q: u32) -> u32 {
        let [w1, w2] = self.widths;
        let (p, q) = (p as i32, q as i32);
        if p > w1 || q > w2 {
            0
        } else if (w1 ^ w2) & 1 == 0 && p != q && p <= w2 {
            2
        } else {
            1
        }
    }

    /// The rows of cells that meet for |n_1| = p and |n_2| = q: the first two and the last two.
    #[inline(always)]
    const fn meeting(self, p: u32, q: u32) -> [u32; 4] {
        let [w1, w2] = [self.widths[0] as u32, self.widths[1] as u32];
        let [step1, step2] = self.steps;
        let l1 = ((w1 - p) / 2).wrapping_mul(step1).wrapping_add(self.origin);
        let k1 = p.wrapping_mul(step1).wrapping_add(l1);
        let l2 = ((w2 - q) / 2).wrapping_mul(step2);
        let k2 = q.wrapping_mul(step2).wrapping_add(l2);
        [
            k1.wrapping_add(k2),
            l1.wrapping_add(l2),
            k1.wrapping_add(l2),
            l1.wrapping_add(k2),
        ]
    }
}

kernel! {
    /// G(s, rho) for all s with fixed w_1 >= w_2 and four neighbouring values of w_z of one parity, 16 images each: 64 columns.
    ///
    /// **Block**: a window of four tiles of 16 consecutive values of rho, one for each warp. `list[8 b ..] = [w_1, w_2, parity of s_z + 2 group of w_z, first tile
    /// / 4, packed in bytes; first portion; first pair; first tile of the output; for each warp its first step, and the end in the upper half]`.
    ///
    /// **Entries** are the n whose bands meet the window, by the first and the last tile in it, so that those of a tile are neighbours; 16 are a portion. `entries[32
    /// portion ..]` has 16 words for their products, `[4 rows << 4, which of the four w_z have one]`, and 16 for their coefficients, `[tiles << 4, which tiles of
    /// the window have some]`. Absent entries count as zero and are not read.
    ///
    /// All warps copy products and coefficients into shared memory, a stage ahead or two, in the order in which all will read them. Each multiplies in those steps of 8 entries
    /// in which its own tile has coefficients: two steps at a time, or one, are a product of matrices, 64 columns x 16 or 8 entries times as many entries x 16 rows, for the tensor cores
    /// ([`Simt::multiply_tiles`]); the 1024 sums of a warp are 32 registers a lane (in f32).
    ///
    /// **Cost** of 16 entries for a tile in f32: 20 loads of 8 bytes a lane from shared memory, 48 instructions of the tensor cores and 140 others, of which
    /// 96 take factors apart; for a block besides 16 copies of 512 bytes. Shared memory: 32 KiB in f32, 48 KiB in f64.
    ///
    /// No race: the place of a stage is filled anew one barrier after its last reader. The order of the entries is fixed, so the bits are too.
    pub fn speed_spectrum<T: Real>(
        t, products: In<T>, list: In<u32>, entries: In<u32>, coefficients: In<T>, speed: In<T>, spectrum: Out<T>; shape: FastShape,
    ) for f32, f64
    shared { staged: [T; span::<T>() * stages::<T>() * PORTION * ENTRY] } {
        let item = quotient(t.block_idx(), shape.blocks);
        let block = (shape.first + t.block_idx() - item * shape.blocks) * BLOCK_WORDS;
        let [key, first_portion, first_pair, first_output] = list.get_run::<4, _>(t, block as usize);
        let steps: [u32; WINDOW as usize] = list.get_run(t, block as usize + 4);
        let slots = (item as usize * shape.pairs as usize + first_pair as usize) * 2;
        let stream = Stream {
            entries, products, coefficients, staged,
            source: slots * shape.slot_words() as usize,
            first: first_portion,
            count: last_step(steps).div_ceil(PORTION / STEP),
        };
        let own = list.get(t, (block + 4 + t.warp()) as usize);
        let sums = if size_of::<T>() == 4 { stream.sum::<{ span::<f32>() as usize }, _>(t, own) } else { stream.sum::<{ span::<f64>() as usize }, _>(t, own) };
        let [w1, w2, place, window] = bytes(key);
        let (pz, group) = (place % 2, place / 2);
        let tile = window * WINDOW + t.warp();
        let output = item as usize * shape.spectrum()
            + ((first_output + tile) * TILE * shape.row_words() + group * COLUMNS) as usize;
        let class = (w1 & 1) + (w2 & 1) + pz;
        let target = Target { first: class + ((tile * TILE) << class_shift(class)), step: class_shift(class), output };
        // Rows that the tile has for each w_z.
        let mut rows = [0; GROUP as usize];
        for m in 0..GROUP {
            let w_z = 2 * (GROUP * group + m) + pz;
            if w_z < shape.n {
                let end = ((w1 * w1 + w2 * w2 + w_z * w_z - class) >> class_shift(class)) + 1;
                rows[m as usize] = end.saturating_sub(tile * TILE);
            }
        }
        target.write(t, &sums, rows, speed, spectrum, shape);
    }
}

/// Portions of a stage of [`speed_spectrum()`], the entries that are copied together.
#[inline(always)]
const fn span<T>() -> u32 {
    if size_of::<T>() == 4 { 2 } else { 1 }
}

/// Stages that have room in shared memory.
#[inline(always)]
const fn stages<T>() -> u32 {
    if size_of::<T>() == 4 { 2 } else { 3 }
}

/// The end of the last warp's steps.
#[inline(always)]
const fn last_step(steps: [u32; WINDOW as usize]) -> u32 {
    let mut last = 0;
    let mut warp = 0;
    while warp < WINDOW as usize {
        let end = steps[warp] >> 16;
        last = if end > last { end } else { last };
        warp += 1;
    }
    last
}

/// The share of a lane in the sums of a tile: 16 columns and 8 rows at a time, as [`Simt::multiply_tiles`] spreads them.
type Sums<T> = [[[T; 4]; 2]; 4];

/// The entries of a block of [`speed_spectrum()`], on their way through shared memory.
struct Stream<'a, T: Real> {
    entries: In<'a, u32>,
    products: In<'a, T>,
    coefficients: In<'a, T>,
    staged: Shared<'a, T>,
    /// Where the products of the task start.
    source: usize,
    /// First portion, and their number.
    first: u32,
    count: u32,
}

/// Entries of a portion that a warp copies.
const SHARE: u32 = PORTION / WINDOW;

/// The words of a portion that a lane needs for its share of the copies: those for the products or for the coefficients, or both.
type Words = [[u32; SHARE as usize]; 2];

impl<T: Real> Stream<'_, T> {
    /// The whole tile, whose steps are `first | end << 16`, in stages of `SPAN` portions.
    #[inline(always)]
    #[track_caller]
    fn sum<const SPAN: usize, S: Simt>(&self, t: &S, steps: u32) -> Sums<T> {
        let (first, end) = (steps & 0xffff, steps >> 16);
        let span = SPAN as u32;
        let ahead = stages::<T>() - 1;
        let mut sums = [[[T::ZERO; 4]; 2]; 4];
        for stage in 0..ahead {
            if stage * span < self.count {
                self.copy(t, self.words::<SPAN, _>(t, stage), stage);
            }
            t.end_copies();
        }
        let mut words = self.words::<SPAN, _>(t, ahead);
        let mut stage = 0;
        let mut slot = 0;
        while stage * span < self.count {
            t.wait_copies(ahead - 1);
            t.sync_threads();
            // The slot before this one is free: every warp is past it.
            if (stage + ahead) * span < self.count {
                self.copy(t, words, if slot == 0 { ahead } else { slot - 1 });
                words = self.words::<SPAN, _>(t, stage + stages::<T>());
            }
            t.end_copies();
            for portion in 0..span {
                let step = (stage * span + portion) * (PORTION / STEP);
                let entry = (slot * span + portion) * PORTION;
                let lower = first <= step && step < end;
                let upper = first <= step + 1 && step + 1 < end;
                if size_of::<T>() == 4 {
                    if lower && upper {
                        self.multiply::<2, _>(t, entry, &mut sums);
                    } else if lower || upper {
                        self.multiply::<1, _>(
                            t,
                            if lower { entry } else { entry + STEP },
                            &mut sums,
                        );
                    }
                } else {
                    // In f64 a product of 16 entries is two of 8.
                    let mut k = if lower { 0 } else { 1 };
                    let steps = if upper { 2 } else { u32::from(lower) };
                    while k < steps {
                        self.multiply::<1, _>(t, entry + k * STEP, &mut sums);
                        k += 1;
                    }
                }
            }
            stage += 1;
            slot = if slot == ahead { 0 } else { slot + 1 };
        }
        sums
    }

    /// This lane's words of a stage; zeros past the end, for which nothing is read.
    #[inline(always)]
    #[track_caller]
    fn words<const SPAN: usize, S: Simt>(&self, t: &S, stage: u32) -> [Words; SPAN] {
        let mut words = [[[0; SHARE as usize]; 2]; SPAN];
        for k in 0..SPAN {
            let portion = stage * SPAN as u32 + k as u32;
            if portion < self.count {
                let at = (self.first + portion) * 2 * PORTION + t.warp() * SHARE;
                if size_of::<T>() == 4 {
                    let half = t.lane() / (WARP / 2) * PORTION;
                    words[k][0] = self.entries.get_run(t, (at + half) as usize);
                } else {
                    words[k][0] = self.entries.get_run(t, at as usize);
                    words[k][1] = self.entries.get_run(t, (at + PORTION) as usize);
                }
            }
        }
        words
    }

    /// Starts this warp's share of the copies of a stage: 32 times 16 bytes an entry in f32, products by the lower lanes and coefficients by the upper ones;
    /// twice as many in f64.
    #[inline(always)]
    #[track_caller]
    fn copy<const SPAN: usize, S: Simt>(&self, t: &S, words: [Words; SPAN], slot: u32) {
        let run = run_length::<T>();
        for copy in 0..SPAN as u32 * size_of::<T>() as u32 / 4 {
            let (portion, part) = (copy % SPAN as u32, copy / SPAN as u32);
            let value = (part * WARP + t.lane()) * run;
            let (half, column) = (value / COLUMNS, value % COLUMNS);
            let (from, start) = if half == 0 {
                (self.products, self.source)
            } else {
                (self.coefficients, 0)
            };
            let start = start + column as usize;
            for k in 0..SHARE {
                let word = words[portion as usize][part as usize][k as usize];
                let entry = (slot * SPAN as u32 + portion) * PORTION + t.warp() * SHARE + k;
                let place = entry * ENTRY + half * COLUMNS + (column ^ swizzle::<T>(k));
                let there = word >> (column / TILE) & 1 != 0;
                let index = start + (word >> 4) as usize * TILE as usize;
                self.staged.copy_16(t, place, from, index, there);
            }
        }
    }

    /// Adds the shares of `8 K` entries from `entry` on.
    ///
    /// Rows of the tile are columns of [`Simt::multiply_tiles`], and columns its rows. Which is which there is free: a lane reads neighbours in memory
    /// into registers in the order in which a matrix has them, as every other order would cost copies.
    #[inline(always)]
    #[track_caller]
    fn multiply<const K: usize, S: Simt>(&self, t: &S, entry: u32, sums: &mut Sums<T>) {
        let (g, part) = (t.lane() / 4, t.lane() % 4);
        let swizzle = swizzle::<T>(part);
        let here = (entry + part) * ENTRY;
        let read = |k: usize, half: u32, column: u32| {
            here + (k as u32 * STEP + half * (STEP / 2)) * ENTRY + column
        };
        let mut coefficients = [[[T::ZERO; 2]; K]; 2];
        for k in 0..K {
            for half in 0..2 {
                let at = |row: u32| read(k, half, COLUMNS + ((t.warp() * TILE + row) ^ swizzle));
                // In f64, where they are used as they are, they come in two loads, into the registers where the matrices want them.
                let [upper, lower] = if size_of::<T>() == 4 {
                    self.staged.get_run::<2, S>(t, at(2 * g))
                } else {
                    [g, g + 8].map(|row| self.staged.get(t, at(row)))
                };
                coefficients[0][k][half as usize] = upper;
                coefficients[1][k][half as usize] = lower;
            }
        }
        // The columns of the odd matrices are swizzled too, in f32.
        let columns = [(2 * g) ^ swizzle, (2 * g + TILE) ^ swizzle];
        for m in 0..4 {
            let column = columns[m % 2] + (m as u32 / 2) * 2 * TILE;
            let mut products = [[T::ZERO; 4]; K];
            for k in 0..K {
                let [a, b] = self.staged.get_run::<2, S>(t, read(k, 0, column));
                let [c, d] = self.staged.get_run::<2, S>(t, read(k, 1, column));
                products[k] = [a, b, c, d];
            }
            for j in 0..2 {
                sums[m][j] = t.multiply_tiles(products, coefficients[j], sums[m][j]);
            }
        }
    }
}

/// Where the sums of a warp of [`speed_spectrum()`] go.
struct Target {
    /// The tile's first rho, and the binary logarithm of the distance to the next.
    first: u32,
    step: u32,
    output: usize,
}

impl Target {
    /// Writes the tile: four rows a lane, as far as each w_z has them.
    #[inline(always)]
    #[track_caller]
    fn write<T: Real, S: Simt>(
        &self,
        t: &S,
        sums: &Sums<T>,
        rows: [u32; GROUP as usize],
        speed: In<T>,
        spectrum: Out<T>,
        shape: FastShape,
    ) {
        let mut most = 0;
        for m in 0..GROUP as usize {
            most = if rows[m] > most { rows[m] } else { most };
        }
        for k in 0..4 {
            let row = if size_of::<T>() == 4 {
                t.lane() % 4 * 4 + k as u32
            } else {
                k as u32 % 2 * 8 + t.lane() % 4 * 2 + k as u32 / 2
            };
            if row < most {
                let factor = speed.get(t, (self.first + (row << self.step)) as usize);
                let at = self.output + (row * shape.row_words() + t.lane() / 4 * 2) as usize;
                // Column 2 t of the matrix with the j-th coefficients is row 4 t + j of the tile in f32, 8 j + 2 t in f64, column 2 t + 1 row 4 t + 2 + j or 8 j + 2 t + 1.
                let value = |m: usize, side: usize| factor * sums[m][k % 2][2 * side + k / 2];
                for m in 0..GROUP as usize {
                    if row < rows[m] {
                        spectrum.set_run(t, at + 16 * m, [value(m, 0), value(m, 1)]);
                    }
                }
            }
        }
    }
}

/// The bits added without carry to the column of an entry in shared memory: the four rows that the lanes of half a warp (in f32) or a quarter read together lie in different banks,
/// 32 bytes apart.
#[inline(always)]
const fn swizzle<T>(entry: u32) -> u32 {
    entry % 4 * 2 * run_length::<T>()
}

/// Values in 16 bytes.
#[inline(always)]
const fn run_length<T>() -> u32 {
    16 / size_of::<T>() as u32
}

/// Where a thread of [`gather_z()`] is among the j_z.
struct Walk {
    /// |i_z - j_z|.
    delta: u32,
    /// j_z < i_z.
    below: bool,
    /// How far the row of G is from that of the least distance.
    down: u32,
    /// How much further the next one is.
    rise: u32,
}

impl Walk {
    /// On to the j_z below, where there is another one, or to the next distance.
    #[inline(always)]
    const fn step(&mut self, iz: u32, more: u32) {
        self.below = !self.below && self.delta > 0 && self.delta <= iz;
        if !self.below {
            self.delta += 2;
            self.down += self.rise;
            self.rise += more;
        }
    }
}

kernel! {
    /// R(s_x, s_y, rho_xy; i_z) = sum over j_z of G((s_x, s_y, i_z + j_z), rho_xy + (i_z - j_z)^2), for the
    /// distinct values of rho_xy in the first box of a task. Those beyond its second box are never read of the latter.
    ///
    /// **Block**: `list[b]` has the task in its upper half and the first value of rho_xy in its lower half; four values at most, for the 8 images of (s_x, s_y).
    /// `tasks[2 k] = [w_1, w_2 packed; first tile for even s_z, for odd s_z; first z-sum]` and `tasks[2 k + 1] = [first distinct value, their
    /// number, -, -]`.
    ///
    /// **Thread**: an i_z of the lower half and four images that are neighbours in memory, for all four values: 16 sums. The j_z follow each other
    /// by |i_z - j_z|, two at a time; the four rows of G share the place in them, and four images an access of 16 bytes (in f32).
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
        for d in 0..GATHER_SHARE as usize {
            // Past the end the last value once more.
            let place = first + if (d as u32) < count { d as u32 } else { count - 1 };
            rho_xy[d] = distinct.get(t, (first_distinct + place) as usize);
        }

        let k = t.thread_idx();
        if k < half * (IMAGES / 4) {
            let (image, iz) = (k % (IMAGES / 4) * 4, k / (IMAGES / 4));
            let (mirror, e) = (image / 8, image % 8);
            let mut sums_here = [[T::ZERO; 4]; GATHER_SHARE as usize];
            for pz in 0..2 {
                let class = (w1 & 1) + (w2 & 1) + pz;
                let shift = class_shift(class);
                let tile = if pz == 0 { even } else { odd };
                let mut rows = [0; GATHER_SHARE as usize];
                for d in 0..GATHER_SHARE as usize {
                    let row = tile * TILE + ((rho_xy[d] + pz - class) >> shift);
                    rows[d] = source + (row * row_words) as usize;
                }
                // The j_z of this parity in the order of their distance, above before below. Every lane has as many, whatever its i_z.
                let mut walk = Walk {
                    delta: pz,
                    below: false,
                    down: 0,
                    // The squares of the numbers of one parity rise by 4, 12, 20, ... or 8, 16, 24, ....
                    rise: ((4 * (1 + pz)) >> shift) * row_words,
                };
                let more = (8 >> shift) * row_words;
                while walk.delta < n - iz {
                    let place = |walk: &Walk| {
                        let s = if walk.below { 2 * iz - walk.delta } else { 2 * iz + walk.delta };
                        // Above the middle, s is the mirror image of 2(N-1) - s; the middle is its own.
                        let (w, turned) = if s > n - 1 {
                            (2 * (n - 1) - s, mirror ^ 1)
                        } else if s == n - 1 {
                            (s, 0)
                        } else {
                            (s, mirror)
                        };
                        walk.down + w / 2 * IMAGES + turned * 8 + e
                    };
                    // Two at a time; past the end the last one once more, not counted.
                    let first = place(&walk);
                    walk.step(iz, more);
                    let both = walk.delta < n - iz;
                    let second = if both { place(&walk) } else { first };
                    let mut values = [[[T::ZERO; 4]; 2]; GATHER_SHARE as usize];
                    for d in 0..GATHER_SHARE as usize {
                        values[d][0] = load_four(t, spectrum, rows[d] + first as usize);
                        values[d][1] = load_four(t, spectrum, rows[d] + second as usize);
                    }
                    for d in 0..GATHER_SHARE as usize {
                        for c in 0..4 {
                            sums_here[d][c] += values[d][0][c];
                            sums_here[d][c] += if both { values[d][1][c] } else { T::ZERO };
                        }
                    }
                    walk.step(iz, more);
                }
            }
            let z = if mirror == 1 { n - 1 - iz } else { iz };
            // The middle cell belongs to both halves; either sum is the same.
            if mirror == 0 || z != iz {
                for d in 0..GATHER_SHARE {
                    for c in 0..4 {
                        if d < count {
                            sums.set(t, (d * 8 + e + c) * n + z, sums_here[d as usize][c as usize]);
                        }
                    }
                }
            }
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
    /// **Block**: (i_x, i_y). **Thread**: `run` cells i_z that are neighbours in memory, 1 or, where they divide N, 2 or in f32 4; and
    /// a share of j_x, of [`gather_shares`](FastShape::gather_shares). The shares are added up in a fixed order, in f64, which does not depend on `run`. With
    /// `places[s_x (2N-1) + s_y] = [first z-sum, first of the map]`, `map[first + (|m_x|/2) (w_y/2 + 1) + |m_y|/2]`
    /// is the place of rho_xy among the distinct values of the task.
    pub fn gather_xy<T: Real>(t, z_sums: In<T>, places: In<u32>, map: In<u32>, gain: Out<T>; shape: FastShape, run: u32)
    for f32, f64
    shared { parts: [f64; GATHER_PARTS] } {
        let n = shape.n;
        let item = quotient(t.block_idx(), n * n);
        let row = t.block_idx() - item * n * n;
        let gather = GatherXy { z_sums, places, map, shape, source: item as usize * shape.z_sums as usize };
        if run == 1 {
            gather.share::<1, 4, _>(t, row, parts);
        } else if size_of::<T>() == 4 && run == 4 {
            gather.share::<4, 8, _>(t, row, parts);
        } else {
            gather.share::<2, 8, _>(t, row, parts);
        }
        t.sync_threads();
        let mut iz = t.thread_idx();
        while iz < n {
            let mut sum = parts.get(t, iz);
            for other in 1..shape.gather_shares() {
                sum += parts.get(t, other * n + iz);
            }
            gain.set(t, t.block_idx() as usize * n as usize + iz as usize, T::from_f64(sum));
            iz += t.block_dim();
        }
    }
}

/// The input of a block of [`gather_xy()`].
struct GatherXy<'a, T: Real> {
    z_sums: In<'a, T>,
    places: In<'a, u32>,
    map: In<'a, u32>,
    shape: FastShape,
    /// First z-sum of the distribution.
    source: usize,
}

impl<T: Real> GatherXy<'_, T> {
    /// Writes this thread's part of the sums of `RUN` cells, with `CHAINS` chains of loads at a time.
    #[inline(always)]
    #[track_caller]
    fn share<const RUN: usize, const CHAINS: usize, S: Simt>(
        &self,
        t: &S,
        row: u32,
        parts: Shared<f64>,
    ) {
        let n = self.shape.n;
        let ix = quotient(row, n);
        let iy = row - ix * n;
        let runs = n / RUN as u32;
        let share = quotient(t.thread_idx(), runs);
        let iz = (t.thread_idx() - share * runs) * RUN as u32;
        let shares = self.shape.gather_shares();
        if share < shares {
            let mut sums = [0.0; RUN];
            let mut jx = share;
            while jx < n {
                let mx = ix.abs_diff(jx);
                let mut jy = 0;
                while jy < n {
                    // Chains of loads at a time; where the row ends the last one is loaded again and not counted.
                    let mut terms = [[T::ZERO; RUN]; CHAINS];
                    for r in 0..CHAINS {
                        let y = if jy + (r as u32) < n {
                            jy + r as u32
                        } else {
                            n - 1
                        };
                        let my = iy.abs_diff(y);
                        let place = (ix + jx) * (2 * n - 1) + iy + y;
                        let [first_sum, first] = self.places.get_run(t, 2 * place as usize);
                        let width = half_width(iy + y, n) / 2 + 1;
                        let d = self.map.get(t, (first + mx / 2 * width + my / 2) as usize);
                        let at = self.source + (first_sum + d * n + iz) as usize;
                        terms[r] = if RUN == 1 {
                            [self.z_sums.get(t, at); RUN]
                        } else {
                            self.z_sums.get_run(t, at)
                        };
                    }
                    for r in 0..CHAINS {
                        if jy + (r as u32) < n {
                            for c in 0..RUN {
                                sums[c] += terms[r][c].to_f64();
                            }
                        }
                    }
                    jy += CHAINS as u32;
                }
                jx += shares;
            }
            for c in 0..RUN {
                parts.set(t, share * n + iz + c as u32, sums[c]);
            }
        }
    }
}
