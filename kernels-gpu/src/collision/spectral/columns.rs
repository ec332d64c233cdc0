//! Transforms along x, products of their fields, and the sum over the directions.

use super::dft::{Complex, first_transform, second_transform, second_twins};
use super::shape::{Field, SPECTRAL_COLUMNS, SpectralShape, load_roots};
use crate::math::{Real, quotient};
use crate::memory::{In, Out, Shared};
use crate::simt::Simt;

/// Transforms along x for [`SPECTRAL_COLUMNS`] columns, products, and their sum over the directions; of one distribution, or of two that are `MIXED`.
#[inline(always)]
#[track_caller]
pub(super) fn columns<T: Real, const MIXED: bool, S: Simt>(
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
        together,
        ..
    } = shape;
    let [first, second] = shape.radices();
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
                let from = ((item + copy * items) * transforms + transform) * period + inner;
                let from = from as usize * (n * n) as usize + (column + c) as usize;
                let load = |outer: u32| {
                    if 2 * (second * outer + inner) == period {
                        Complex::ZERO
                    } else {
                        Complex::of(
                            planes.get_run(t, 2 * (from + (second * outer * n * n) as usize)),
                        )
                    }
                };
                let base = which * stride + inner * WIDTH + c;
                let store = |k: u32, value: Complex<T>| {
                    columns.set_near(t, base, k * row, root.twiddled(t, (k, inner), value));
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
                    columns.get_near(t, which * stride + outer * row + c, k * WIDTH)
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
