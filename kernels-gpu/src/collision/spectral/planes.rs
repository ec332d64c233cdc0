//! Transforms along z and y of the weighted spectrum.

use super::dft::{Complex, first_transform, first_twins, second_transform};
use super::shape::{Field, SpectralShape, load_roots};
use crate::math::{Real, quotient};
use crate::memory::{In, Out, Shared};
use crate::simt::Simt;

/// The body of [`spectral_planes()`](super::spectral_planes()).
#[inline(always)]
#[track_caller]
pub(super) fn planes<T: Real, S: Simt>(
    t: &S,
    (spectrum, weights, roots, planes): (In<'_, T>, In<'_, T>, In<'_, T>, Out<'_, T>),
    shape: SpectralShape,
    (first_item, items, partner): (u32, u32, u32),
    (root, lines, kept): (Shared<'_, T>, Shared<'_, T>, Shared<'_, T>),
) {
    let SpectralShape { n, period, .. } = shape;
    let ([first, second], twins) = (shape.radices(), shape.twins());
    let (count, stride) = (shape.lines, shape.line_stride());
    let half = period / 2;
    let transforms = shape.products + 1;
    let blocks = if twins == 2 { half } else { period };
    let transform_of_all = quotient(t.block_idx(), blocks);
    let block = t.block_idx() - transform_of_all * blocks;
    // Of one of a pair: its number, 0 for l_x and 1 for -l_x.
    let (l_x, only) = if twins == 2 {
        (block, 0)
    } else {
        (block / 2, block % 2)
    };
    // The twin of l_x = 0 is the plane itself.
    if l_x == 0 && only == 1 {
        return;
    }
    let item = quotient(transform_of_all, transforms);
    let transform = transform_of_all - item * transforms;
    load_roots(t, roots, root, period);
    let (root, lines, kept) = (Field(root), Field(lines), Field(kept));
    t.sync_threads();

    let copy = quotient(item, items);
    let distribution = first_item + item + copy * (partner - items);
    let of_spectrum = ((distribution * half + l_x) * period * period) as usize;
    let of_weights = (transform * half + l_x) as usize * (period * period) as usize;
    let mut start = 0;
    while start < period {
        let mut task = t.thread_idx();
        while task < count * second {
            let inner = shape.rounds(task);
            let line = task - inner * count;
            let l_y = start + line;
            if l_y < period {
                let place = (inner * period + l_y) as usize;
                let base = line * stride + inner;
                let pair = |outer: u32| {
                    let offset = (second * outer * period) as usize;
                    let [re, im]: [T; 2] = spectrum.get_run(t, 2 * (of_spectrum + place + offset));
                    let [a, b]: [T; 2] = weights.get_run(t, 2 * (of_weights + place + offset));
                    (a * re, a * im, b * re, b * im)
                };
                // (a + i b) fhat and (a - i b) fhat.
                let one = |(are, aim, bre, bim): (T, T, T, T)| Complex {
                    re: are - bim,
                    im: aim + bre,
                };
                let other = |(are, aim, bre, bim): (T, T, T, T)| Complex {
                    re: are + bim,
                    im: aim - bre,
                };
                if twins == 2 {
                    let load = |outer: u32| {
                        let pair = pair(outer);
                        [one(pair), other(pair)]
                    };
                    let store = |k: u32, [one, other]: [Complex<T>; 2]| {
                        lines.set_near(t, base, second * k, root.twiddled(t, (k, inner), one));
                        lines.set_near(
                            t,
                            base,
                            count * stride + second * k,
                            root.twiddled(t, (k, inner), other),
                        );
                    };
                    first_twins(first, load, store);
                } else {
                    let load = |outer: u32| {
                        let pair = pair(outer);
                        if only == 0 { one(pair) } else { other(pair) }
                    };
                    let store = |k: u32, value: Complex<T>| {
                        lines.set_near(t, base, second * k, root.twiddled(t, (k, inner), value));
                    };
                    first_transform(first, load, store);
                }
            }
            task += t.block_dim();
        }
        t.sync_threads();
        let mut task = t.thread_idx();
        while task < twins * count * first {
            let twin_and_outer = shape.rounds(task);
            let line = task - twin_and_outer * count;
            let twin = quotient(twin_and_outer, first);
            let outer = twin_and_outer - twin * first;
            let l_y = start + line;
            if l_y < period {
                let load =
                    |k: u32| lines.get_near(t, (twin * count + line) * stride + second * outer, k);
                let base = (twin * n + outer) * stride + l_y;
                let store = |k: u32, value: Complex<T>| {
                    if outer + first * k < n {
                        kept.set_near(t, base, first * k * stride, value);
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
    while task < twins * n * second {
        let twin_and_inner = shape.rows(task);
        let z = task - twin_and_inner * n;
        let twin = quotient(twin_and_inner, second);
        let inner = twin_and_inner - twin * second;
        let base = (twin * n + z) * stride + inner;
        let load = |outer: u32| kept.get_near(t, base, second * outer);
        let store = |k: u32, value: Complex<T>| {
            kept.set_near(t, base, second * k, root.twiddled(t, (k, inner), value))
        };
        first_transform(first, load, store);
        task += t.block_dim();
    }
    t.sync_threads();
    let mut task = t.thread_idx();
    while task < twins * n * first {
        let twin_and_outer = shape.rows(task);
        let z = task - twin_and_outer * n;
        let twin = quotient(twin_and_outer, first);
        let outer = twin_and_outer - twin * first;
        let mirrored = twin + only == 1;
        if !mirrored || l_x > 0 {
            let l = if mirrored { period - l_x } else { l_x };
            let plane = (transform_of_all * period + l) as usize * (n * n) as usize
                + (outer * n + z) as usize;
            let load = |k: u32| kept.get_near(t, (twin * n + z) * stride + second * outer, k);
            let store = |k: u32, value: Complex<T>| {
                if outer + first * k < n {
                    let value = if mirrored { value.conjugate() } else { value };
                    planes.set_run(t, 2 * (plane + (first * k * n) as usize), value.pair());
                }
            };
            second_transform(second, load, store);
        }
        task += t.block_dim();
    }
}
