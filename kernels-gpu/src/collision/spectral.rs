//! The spectral collision operator: the gain in Carleman's variables, one complex transform a direction.
//!
//! With directions e_m and weights w_m on a half sphere, and a kernel that is a sum of products u_k(|x|) v_k(|y|),
//!
//! ```text
//! gain(v) = sum over m, k of w_m A_mk(v) B_mk(v),     A_mk + i B_mk = IDFT[(a_mk + i b_mk) fhat],     nu = IDFT[beta fhat].
//! ```
//!
//! A is the integral of u_k f along the line through v with direction e_m, B that of v_k f over the plane through v normal to it. Both multipliers are real and
//! even in the wave vector l, so A and B are real, and one complex transform gives both. Source of the form: C. Mouhot and L. Pareschi, Math. Comp. 75 (2006) 1833.
//!
//! f occupies a corner of an array of P^3 nodes, P about 1.5 N, that is zero elsewhere. Three kernels leave out what is zero or not wanted:
//!
//! | kernel | transforms |
//! |---|---|
//! | [`spectral_transform()`] | f to fhat, for half of the waves along x: f is real |
//! | [`spectral_planes()`] | (a + i b) fhat along z and y, of which N values each are kept |
//! | [`spectral_columns()`], [`mixed_columns()`] | along x, products A B, their sum over the directions |
//!
//! **Waves along x in pairs.** As fhat(-l) is the conjugate of fhat(l) and the weights are even, the plane at -l_x is the conjugate of the transform of
//! (a - i b) fhat at l_x: one load of fhat and of the weights serves both.
//!
//! **A line** of P = R1 R2 points takes two steps, of R1 and of R2 points, in the registers of different threads, with shared memory between them. A table of radices
//! for each P keeps the kernels the same for all sizes.

mod dft;

use dft::{Complex, first_transform, first_twins, second_transform, second_twins};

use crate::kernel;
use crate::math::{Real, quotient};
use crate::memory::{In, Out, Shared};
use crate::simt::Simt;

/// Columns of a block of [`spectral_columns()`]: whole sectors of 32 bytes.
pub const SPECTRAL_COLUMNS: u32 = 4;

/// The grid, its padded array and the directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct SpectralShape {
    /// Cells along an axis.
    pub n: u32,
    /// Nodes of the padded array along an axis, P = R1 R2; even.
    pub period: u32,
    /// Points of the first transform of a line.
    pub first: u32,
    /// Points of the second transform of a line.
    pub second: u32,
    /// Products of the gain: directions times rank. One transform more gives the collision frequency.
    pub products: u32,
    /// Lines along the first axis that a block of [`spectral_transform()`] and of [`spectral_planes()`] takes up together.
    pub lines: u32,
    /// Transforms that a block of [`spectral_columns()`] takes up together.
    pub together: u32,
}

impl SpectralShape {
    /// Distance of lines in shared memory: odd, so that neighbours lie in different banks.
    #[inline(always)]
    pub const fn line_stride(&self) -> u32 {
        self.period | 1
    }
    /// The same for what is kept of a line.
    #[inline(always)]
    pub const fn kept_stride(&self) -> u32 {
        self.n | 1
    }
    /// Numbers of the intermediate lines of [`spectral_planes()`].
    #[inline(always)]
    pub const fn line_words(&self) -> u32 {
        4 * self.lines * self.line_stride()
    }
    /// Numbers of the planes of [`spectral_planes()`].
    #[inline(always)]
    pub const fn plane_words(&self) -> u32 {
        4 * self.period * self.kept_stride()
    }
    /// Complex numbers of a column transform in shared memory.
    #[inline(always)]
    pub const fn column_stride(&self) -> u32 {
        self.first * (self.second | 1) * SPECTRAL_COLUMNS
    }
    /// Complex numbers of the spectrum of a distribution, `[l_x < P/2][l_z][l_y]`.
    #[inline(always)]
    pub const fn spectrum(&self) -> u32 {
        self.period / 2 * self.period * self.period
    }
    /// Complex numbers of the planes of a distribution, `[transform][l_x][y][z]`.
    #[inline(always)]
    pub const fn planes(&self) -> u32 {
        (self.products + 1) * self.period * self.n * self.n
    }
    /// The point `l = R2 l1 + l2` of the first transform.
    #[inline(always)]
    fn point(&self, outer: u32, inner: u32) -> u32 {
        self.second * outer + inner
    }
}

/// Complex numbers of shared memory.
#[derive(Clone, Copy)]
struct Field<'a, T: Real>(Shared<'a, T>);

impl<T: Real> Field<'_, T> {
    #[inline(always)]
    #[track_caller]
    fn get<S: Simt>(self, t: &S, index: u32) -> Complex<T> {
        Complex::of(self.0.get_run(t, 2 * index))
    }
    #[inline(always)]
    #[track_caller]
    fn set<S: Simt>(self, t: &S, index: u32, value: Complex<T>) {
        self.0.set_run(t, 2 * index, value.pair());
    }
}

/// Copies the roots of unity `e^(2 pi i k / P)` into shared memory.
#[inline(always)]
#[track_caller]
fn load_roots<T: Real, S: Simt>(t: &S, roots: In<'_, T>, to: Shared<'_, T>, period: u32) {
    let mut k = t.thread_idx();
    while k < period {
        to.set_run(t, 2 * k, roots.get_run::<2, S>(t, 2 * k as usize));
        k += t.block_dim();
    }
}

/// `sum_x f_x e^(2 pi i x l_x / P)` of a column along x; loads are under way four at a time.
#[inline(always)]
#[track_caller]
fn wave_of_column<T: Real, S: Simt>(
    t: &S,
    f: In<'_, T>,
    root: Field<'_, T>,
    column: usize,
    l_x: u32,
    shape: &SpectralShape,
) -> Complex<T> {
    let (n, period) = (shape.n, shape.period);
    let plane = (n * n) as usize;
    let mut sum = Complex::ZERO;
    let mut phase = 0;
    let mut x = 0;
    while x < n {
        let value = |k: u32| {
            if x + k < n {
                f.get(t, column + (x + k) as usize * plane)
            } else {
                T::ZERO
            }
        };
        let values = [value(0), value(1), value(2), value(3)];
        let mut k = 0;
        while k < 4 {
            let wave = root.get(t, phase);
            sum = Complex {
                re: wave.re.mul_add(values[k], sum.re),
                im: wave.im.mul_add(values[k], sum.im),
            };
            phase += l_x;
            phase = if phase >= period {
                phase - period
            } else {
                phase
            };
            k += 1;
        }
        x += 4;
    }
    sum
}

kernel! {
    /// The spectrum of each distribution for one l_x, `fhat = P^-3 sum_j f_j e^(-2 pi i l.j / P)`.
    ///
    /// **Block** `(item, l_x)`, l_x from 0 to P/2 - 1 fastest. Lines along y come first, [`SpectralShape::lines`] columns z at a time: a thread sums N values over x for each point.
    /// Lines along z follow in place; they leave `spectrum[item][l_x][l_z][l_y]`. All transforms are the inverse ones: the result is the conjugate of theirs, for
    /// f is real.
    ///
    /// **Cost** of a block: N^3 words read, mostly from the L2 cache, 2 N^3 multiply-adds, and N + P lines.
    ///
    /// **No race**: a step along a line writes the places that the same thread has read; a barrier separates the two steps of a line, and the axes.
    /// Shared memory: 30 KiB at P = 48 in f32, 177 KiB at P = 96 in f64.
    pub fn spectral_transform<T: Real>(
        t, f: In<T>, roots: In<T>, spectrum: Out<T>; shape: SpectralShape,
    ) for f32, f64
    shared {
        root: [T; 2 * shape.period],
        lines: [T; 2 * shape.lines * shape.line_stride()],
        plane: [T; 2 * shape.period * shape.line_stride()],
    } {
        let SpectralShape { n, period, first, second, .. } = shape;
        let (count, stride) = (shape.lines, shape.line_stride());
        let half = period / 2;
        let item = quotient(t.block_idx(), half);
        let l_x = t.block_idx() - item * half;
        load_roots(t, roots, root, period);
        let (root, lines, plane) = (Field(root), Field(lines), Field(plane));
        t.sync_threads();

        let mut start = 0;
        while start < n {
            // Lines along y: their points, summed over x with the wave l_x, and then their transforms in place.
            let mut task = t.thread_idx();
            while task < count * n {
                let y = quotient(task, count);
                let line = task - y * count;
                let z = start + line;
                if z < n {
                    let column = ((item * n * n + y) * n + z) as usize;
                    lines.set(t, line * stride + y, wave_of_column(t, f, root, column, l_x, &shape));
                }
                task += t.block_dim();
            }
            t.sync_threads();
            let mut task = t.thread_idx();
            while task < count * second {
                let inner = quotient(task, count);
                let line = task - inner * count;
                if start + line < n {
                    let load = |outer: u32| {
                        let y = shape.point(outer, inner);
                        if y < n { lines.get(t, line * stride + y) } else { Complex::ZERO }
                    };
                    let store = |k: u32, value: Complex<T>| {
                        lines.set(t, line * stride + shape.point(k, inner), value.times(root.get(t, k * inner)));
                    };
                    first_transform(first, load, store);
                }
                task += t.block_dim();
            }
            t.sync_threads();
            let mut task = t.thread_idx();
            while task < count * first {
                let outer = quotient(task, count);
                let line = task - outer * count;
                if start + line < n {
                    let load = |k: u32| lines.get(t, line * stride + shape.point(outer, k));
                    let store = |k: u32, value: Complex<T>| {
                        plane.set(t, (start + line) * stride + outer + first * k, value);
                    };
                    second_transform(second, load, store);
                }
                task += t.block_dim();
            }
            t.sync_threads();
            start += count;
        }

        // Lines along z, a lane an l_y.
        let mut task = t.thread_idx();
        while task < period * second {
            let inner = quotient(task, period);
            let l_y = task - inner * period;
            let load = |outer: u32| {
                let z = shape.point(outer, inner);
                if z < n { plane.get(t, z * stride + l_y) } else { Complex::ZERO }
            };
            let store = |k: u32, value: Complex<T>| {
                plane.set(t, shape.point(k, inner) * stride + l_y, value.times(root.get(t, k * inner)));
            };
            first_transform(first, load, store);
            task += t.block_dim();
        }
        t.sync_threads();
        let scale = T::ONE / T::from_f64(f64::from(period * period * period));
        let mut task = t.thread_idx();
        while task < period * first {
            let outer = quotient(task, period);
            let l_y = task - outer * period;
            let load = |k: u32| plane.get(t, shape.point(outer, k) * stride + l_y);
            let store = |k: u32, value: Complex<T>| {
                let l_z = outer + first * k;
                let place = (t.block_idx() * period + l_z) * period + l_y;
                let value = [value.re * scale, -(value.im * scale)];
                spectrum.set_run(t, 2 * place as usize, value);
            };
            second_transform(second, load, store);
            task += t.block_dim();
        }
    }
}

kernel! {
    /// The transforms along z and y of `(a + i b) fhat` for one pair +-l_x, of which N values along each axis are kept.
    ///
    /// **Block** `(copy, item, transform, l_x)`, l_x from 0 to P/2 - 1 fastest, for the `count` items from `first` on; the second copies of all items lie `partner` items behind. The `weights[transform][l_x][l_z][l_y]` are pairs (a, b), zero where some |l| is P/2. Lines along z,
    /// [`SpectralShape::lines`] values of l_y at a time; lines along y in place. It leaves `planes[item][transform][l_x][y][z]`, the conjugates of the twin at P - l_x.
    ///
    /// **Cost** of a block: 2 P^2 words of the spectrum and as many weights read, 2 (P + N) lines, 4 N^2 words written.
    ///
    /// **No race**: as in [`spectral_transform()`]. Shared memory: 74 KiB at P = 48 in f32 with 32 lines, 221 KiB at P = 96 in f64 with 8.
    pub fn spectral_planes<T: Real>(
        t, spectrum: In<T>, weights: In<T>, roots: In<T>, planes: Out<T>; shape: SpectralShape, first: u32, count: u32, partner: u32,
    ) for f32, f64
    shared {
        root: [T; 2 * shape.period], lines: [T; shape.line_words()], kept: [T; shape.plane_words()],
    } {
        let (first_item, items) = (first, count);
        let SpectralShape { n, period, first, second, .. } = shape;
        let (count, stride, kept_stride) = (shape.lines, shape.line_stride(), shape.kept_stride());
        let half = period / 2;
        let transforms = shape.products + 1;
        let transform_of_all = quotient(t.block_idx(), half);
        let l_x = t.block_idx() - transform_of_all * half;
        let item = quotient(transform_of_all, transforms);
        let transform = transform_of_all - item * transforms;
        load_roots(t, roots, root, period);
        let (root, lines, kept) = (Field(root), Field(lines), Field(kept));
        t.sync_threads();

        let copy = quotient(item, items);
        let distribution = first_item + item + copy * (partner - items);
        let of_spectrum = (distribution * half + l_x) * period * period;
        let of_weights = (transform * half + l_x) as usize * (period * period) as usize;
        let mut start = 0;
        while start < period {
            let mut task = t.thread_idx();
            while task < count * second {
                let inner = quotient(task, count);
                let line = task - inner * count;
                let l_y = start + line;
                if l_y < period {
                    let load = |outer: u32| {
                        let place = (shape.point(outer, inner) * period + l_y) as usize;
                        let [re, im]: [T; 2] = spectrum.get_run(t, 2 * (of_spectrum as usize + place));
                        let [a, b]: [T; 2] = weights.get_run(t, 2 * (of_weights + place));
                        // (a + i b) fhat and (a - i b) fhat.
                        let (are, aim, bre, bim) = (a * re, a * im, b * re, b * im);
                        [
                            Complex { re: are - bim, im: aim + bre },
                            Complex { re: are + bim, im: aim - bre },
                        ]
                    };
                    let store = |k: u32, [one, other]: [Complex<T>; 2]| {
                        let place = line * stride + shape.point(k, inner);
                        let twiddle = root.get(t, k * inner);
                        lines.set(t, place, one.times(twiddle));
                        lines.set(t, count * stride + place, other.times(twiddle));
                    };
                    first_twins(first, load, store);
                }
                task += t.block_dim();
            }
            t.sync_threads();
            let mut task = t.thread_idx();
            while task < 2 * count * first {
                let twin_and_outer = quotient(task, count);
                let line = task - twin_and_outer * count;
                let twin = quotient(twin_and_outer, first);
                let outer = twin_and_outer - twin * first;
                let l_y = start + line;
                if l_y < period {
                    let load = |k: u32| lines.get(t, (twin * count + line) * stride + shape.point(outer, k));
                    let store = |k: u32, value: Complex<T>| {
                        let z = outer + first * k;
                        if z < n {
                            kept.set(t, (twin * period + l_y) * kept_stride + z, value);
                        }
                    };
                    second_transform(second, load, store);
                }
                task += t.block_dim();
            }
            t.sync_threads();
            start += count;
        }

        // Lines along y, a lane a z.
        let mut task = t.thread_idx();
        while task < 2 * n * second {
            let twin_and_inner = quotient(task, n);
            let z = task - twin_and_inner * n;
            let twin = quotient(twin_and_inner, second);
            let inner = twin_and_inner - twin * second;
            let at = |l: u32| (twin * period + l) * kept_stride + z;
            let load = |outer: u32| kept.get(t, at(shape.point(outer, inner)));
            let store = |k: u32, value: Complex<T>| {
                kept.set(t, at(shape.point(k, inner)), value.times(root.get(t, k * inner)));
            };
            first_transform(first, load, store);
            task += t.block_dim();
        }
        t.sync_threads();
        let mut task = t.thread_idx();
        while task < 2 * n * first {
            let twin_and_outer = quotient(task, n);
            let z = task - twin_and_outer * n;
            let twin = quotient(twin_and_outer, first);
            let outer = twin_and_outer - twin * first;
            // The twin of l_x = 0 is the plane itself.
            if twin == 0 || l_x > 0 {
                let l = if twin == 0 { l_x } else { period - l_x };
                let plane = (transform_of_all * period + l) as usize * (n * n) as usize;
                let load = |k: u32| kept.get(t, (twin * period + shape.point(outer, k)) * kept_stride + z);
                let store = |k: u32, value: Complex<T>| {
                    let y = outer + first * k;
                    if y < n {
                        let value = if twin == 0 { value } else { value.conjugate() };
                        planes.set_run(t, 2 * (plane + (y * n + z) as usize), value.pair());
                    }
                };
                second_transform(second, load, store);
            }
            task += t.block_dim();
        }
    }
}

/// Transforms along x for [`SPECTRAL_COLUMNS`] columns, products, and their sum over the directions; of one distribution, or of two that are `MIXED`.
#[inline(always)]
#[track_caller]
fn columns<T: Real, const MIXED: bool, S: Simt>(
    t: &S,
    (planes, factors, roots): (In<'_, T>, In<'_, T>, In<'_, T>),
    (gain, frequency): (Out<'_, T>, Out<'_, T>),
    shape: SpectralShape,
    (first_item, items, partner): (u32, u32, u32),
    (root, columns, products, sums): (Shared<'_, T>, Shared<'_, T>, Shared<'_, T>, Shared<'_, T>),
) {
    const WIDTH: u32 = SPECTRAL_COLUMNS;
    let SpectralShape {
        n,
        period,
        first,
        second,
        together,
        ..
    } = shape;
    let transforms = shape.products + 1;
    let blocks = (n * n).div_ceil(WIDTH);
    let item = quotient(t.block_idx(), blocks);
    let column = (t.block_idx() - item * blocks) * WIDTH;
    load_roots(t, roots, root, period);
    let (root, columns) = (Field(root), Field(columns));
    let row = (second | 1) * WIDTH;
    let stride = shape.column_stride();
    let copies = if MIXED { 2 } else { 1 };
    let mut k = t.thread_idx();
    while k < n * WIDTH {
        sums.set(t, k, T::ZERO);
        k += t.block_dim();
    }
    t.sync_threads();

    let mut start = 0;
    while start < transforms {
        let count = if transforms - start < together {
            transforms - start
        } else {
            together
        };
        let mut task = t.thread_idx();
        while task < copies * count * second * WIDTH {
            let c = task % WIDTH;
            let which_and_inner = task / WIDTH;
            let which = quotient(which_and_inner, second);
            let inner = which_and_inner - which * second;
            let copy = if MIXED { quotient(which, count) } else { 0 };
            let transform = start + which - copy * count;
            if column + c < n * n {
                let from = (((item + copy * items) * transforms + transform) * period) as usize;
                let load = |outer: u32| {
                    let l = shape.point(outer, inner);
                    if 2 * l == period {
                        Complex::ZERO
                    } else {
                        let place = (from + l as usize) * (n * n) as usize + (column + c) as usize;
                        Complex::of(planes.get_run(t, 2 * place))
                    }
                };
                let store = |k: u32, value: Complex<T>| {
                    let place = which * stride + k * row + inner * WIDTH + c;
                    columns.set(t, place, value.times(root.get(t, k * inner)));
                };
                first_transform(first, load, store);
            }
            task += t.block_dim();
        }
        t.sync_threads();
        let mut task = t.thread_idx();
        while task < count * first * WIDTH {
            let c = task % WIDTH;
            let which_and_outer = task / WIDTH;
            let which = quotient(which_and_outer, first);
            let outer = which_and_outer - which * first;
            if column + c < n * n {
                let load = |copy: u32, k: u32| {
                    let which = which + copy * count;
                    columns.get(t, which * stride + outer * row + k * WIDTH + c)
                };
                let last = start + which == shape.products;
                let factor = factors.get(t, (start + which) as usize);
                let slot = |which: u32, x: u32| (which * n + x) * WIDTH + c;
                if MIXED {
                    let load = |k: u32| [load(0, k), load(1, k)];
                    let store = |k: u32, [g, m]: [Complex<T>; 2]| {
                        let x = outer + first * k;
                        if x < n {
                            let product = factor * g.re.mul_add(m.im, m.re * g.im);
                            products.set(t, slot(which, x), if last { g.re } else { product });
                            if last {
                                products.set(t, slot(which + 1, x), m.re);
                            }
                        }
                    };
                    second_twins(second, load, store);
                } else {
                    let store = |k: u32, z: Complex<T>| {
                        let x = outer + first * k;
                        if x < n {
                            let product = factor * (z.re * z.im);
                            products.set(t, slot(which, x), if last { z.re } else { product });
                        }
                    };
                    second_transform(second, |k| load(0, k), store);
                }
            }
            task += t.block_dim();
        }
        t.sync_threads();
        // In the order of the directions, however many are taken up together; behind the last product lie the frequencies.
        let last = start + count == transforms;
        let summed = if last { count - 1 } else { count };
        let mut k = t.thread_idx();
        while k < n * WIDTH && column + k % WIDTH < n * n {
            let mut sum = sums.get(t, k);
            let mut which = 0;
            while which < summed {
                sum += products.get(t, which * n * WIDTH + k);
                which += 1;
            }
            sums.set(t, k, sum);
            let (x, c) = (k / WIDTH, k % WIDTH);
            if last {
                let cell =
                    |item: u32| (((first_item + item) * n + x) * n * n + column + c) as usize;
                gain.set(t, cell(item), sum);
                frequency.set(t, cell(item), products.get(t, summed * n * WIDTH + k));
                if MIXED {
                    let value = products.get(t, (summed + 1) * n * WIDTH + k);
                    frequency.set(t, cell(item + partner), value);
                }
            }
            k += t.block_dim();
        }
        t.sync_threads();
        start += together;
    }
}

kernel! {
    /// The gain and the collision frequency from the planes: transforms along x, `factors[m] A_m B_m`, and the sum over m in its order.
    ///
    /// **Block** `(item, columns)`, items from `first` on: [`SPECTRAL_COLUMNS`] neighbouring columns (y, z), all transforms, [`SpectralShape::together`] of them at a time. The last transform is
    /// the frequency.
    ///
    /// **Cost** of a block: 8 P words read a transform, 4 lines a transform, 8 N words written.
    ///
    /// **No race**: between the steps of a line, the products and their sum lie barriers; a thread owns its cells of the sum.
    pub fn spectral_columns<T: Real>(
        t, planes: In<T>, factors: In<T>, roots: In<T>, gain: Out<T>, frequency: Out<T>; shape: SpectralShape, first: u32,
    ) for f32, f64
    shared {
        root: [T; 2 * shape.period],
        lines: [T; 2 * shape.together * shape.column_stride()],
        products: [T; shape.together * shape.n * SPECTRAL_COLUMNS],
        sums: [T; shape.n * SPECTRAL_COLUMNS],
    } {
        columns::<T, false, _>(t, (planes, factors, roots), (gain, frequency), shape, (first, 0, 0), (root, lines, products, sums));
    }
}

kernel! {
    /// The bilinear gain of two distributions, `A_g B_m + A_m B_g` in place of `A B`, and both frequencies; otherwise as [`spectral_columns()`].
    ///
    /// The second distribution of an item lies `partner` items behind the first one, its planes `count` items behind.
    pub fn mixed_columns<T: Real>(
        t, planes: In<T>, factors: In<T>, roots: In<T>, gain: Out<T>, frequency: Out<T>; shape: SpectralShape, first: u32, count: u32, partner: u32,
    ) for f32, f64
    shared {
        root: [T; 2 * shape.period],
        lines: [T; 4 * shape.together * shape.column_stride()],
        products: [T; (shape.together + 1) * shape.n * SPECTRAL_COLUMNS],
        sums: [T; shape.n * SPECTRAL_COLUMNS],
    } {
        columns::<T, true, _>(t, (planes, factors, roots), (gain, frequency), shape, (first, count, partner), (root, lines, products, sums));
    }
}
