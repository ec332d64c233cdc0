//! f to fhat, for half of the waves along x.

use super::dft::{Complex, first_transform, second_transform};
use super::shape::{Field, SpectralShape, load_roots};
use crate::math::{Real, quotient};
use crate::memory::{In, Out, Shared};
use crate::simt::Simt;

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

/// The body of [`spectral_transform()`](super::spectral_transform()).
#[inline(always)]
#[track_caller]
pub(super) fn transform<T: Real, S: Simt>(
    t: &S,
    (f, roots, spectrum): (In<'_, T>, In<'_, T>, Out<'_, T>),
    shape: SpectralShape,
    (root, lines, plane): (Shared<'_, T>, Shared<'_, T>, Shared<'_, T>),
) {
    let SpectralShape { n, period, .. } = shape;
    let [first, second] = shape.radices();
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
            let y = shape.rounds(task);
            let line = task - y * count;
            let z = start + line;
            if z < n {
                let column = ((item * n * n + y) * n + z) as usize;
                lines.set(
                    t,
                    line * stride + y,
                    wave_of_column(t, f, root, column, l_x, &shape),
                );
            }
            task += t.block_dim();
        }
        t.sync_threads();
        let mut task = t.thread_idx();
        while task < count * second {
            let inner = shape.rounds(task);
            let line = task - inner * count;
            if start + line < n {
                let base = line * stride + inner;
                let load = |outer: u32| {
                    if second * outer + inner < n {
                        lines.get_near(t, base, second * outer)
                    } else {
                        Complex::ZERO
                    }
                };
                let store = |k: u32, value: Complex<T>| {
                    lines.set_near(t, base, second * k, root.twiddled(t, (k, inner), value));
                };
                first_transform(first, load, store);
            }
            task += t.block_dim();
        }
        t.sync_threads();
        let mut task = t.thread_idx();
        while task < count * first {
            let outer = shape.rounds(task);
            let line = task - outer * count;
            if start + line < n {
                let load = |k: u32| lines.get_near(t, line * stride + second * outer, k);
                let base = (start + line) * stride + outer;
                let store = |k: u32, value: Complex<T>| plane.set_near(t, base, first * k, value);
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
        let base = inner * stride + (task - inner * period);
        let load = |outer: u32| {
            if second * outer + inner < n {
                plane.get_near(t, base, second * outer * stride)
            } else {
                Complex::ZERO
            }
        };
        let store = |k: u32, value: Complex<T>| {
            plane.set_near(
                t,
                base,
                second * k * stride,
                root.twiddled(t, (k, inner), value),
            );
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
        let load = |k: u32| plane.get_near(t, second * outer * stride + l_y, k * stride);
        let place = ((t.block_idx() * period + outer) * period + l_y) as usize;
        let store = |k: u32, value: Complex<T>| {
            let value = [value.re * scale, -(value.im * scale)];
            spectrum.set_run(t, 2 * (place + (first * k * period) as usize), value);
        };
        second_transform(second, load, store);
        task += t.block_dim();
    }
}
