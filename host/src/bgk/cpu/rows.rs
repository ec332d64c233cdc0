//! Rows of cells: relaxation, shift and sums, written so that the compiler turns them into vector instructions.
//!
//! Every function here is inlined into the pass over a chunk of nodes, which is compiled for each kind of vector unit.

use rarefy_kernels::Real;

/// `keep f + p m`, the relaxed populations of a row.
#[inline(always)]
pub(super) fn relax<T: Real>(out: &mut [T], f: &[T], keep: &[T], p: &[T], m: &[T]) {
    let n = out.len();
    let (f, keep, p, m) = (&f[..n], &keep[..n], &p[..n], &m[..n]);
    for i in 0..n {
        out[i] = keep[i] * f[i] + p[i] * m[i];
    }
}

/// The same with the Shakhov model's factor `alpha + beta s`.
#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "one row of each kind")]
pub(super) fn relax_shakhov<T: Real>(
    out: &mut [T],
    f: &[T],
    keep: &[T],
    p: &[T],
    m: &[T],
    alpha: &[T],
    beta: &[T],
    s: T,
) {
    let n = out.len();
    let (f, keep, p, m) = (&f[..n], &keep[..n], &p[..n], &m[..n]);
    let (alpha, beta) = (&alpha[..n], &beta[..n]);
    for i in 0..n {
        out[i] = keep[i] * f[i] + p[i] * m[i] * (alpha[i] + beta[i] * s);
    }
}

/// What passes the upstream faces of cells in the fraction `a` of a cell: `a f`, and with slopes `a (1-a)/2 S` besides.
#[inline(always)]
pub(super) fn passing<T: Real>(
    out: &mut [T],
    cell: &[T],
    up: &[T],
    down: &[T],
    a: T,
    sloped: bool,
) {
    let n = out.len();
    let (cell, up, down) = (&cell[..n], &up[..n], &down[..n]);
    if sloped {
        // Twice the half: van Leer's slope is 2 A B / (A + B).
        let c = a * (T::ONE - a);
        for i in 0..n {
            let (before, after) = (cell[i] - up[i], down[i] - cell[i]);
            let product = before * after;
            let slope = product / (before + after);
            out[i] = a * cell[i]
                + if product > T::ZERO {
                    c * slope
                } else {
                    T::ZERO
                };
        }
    } else {
        for i in 0..n {
            out[i] = a * cell[i];
        }
    }
}

/// `cell - leaves + enters`.
#[inline(always)]
pub(super) fn settle<T: Real>(out: &mut [T], cell: &[T], leaves: &[T], enters: &[T]) {
    let n = out.len();
    let (cell, leaves, enters) = (&cell[..n], &leaves[..n], &enters[..n]);
    for i in 0..n {
        out[i] = cell[i] - leaves[i] + enters[i];
    }
}

/// Adds `weights[k] f` to the k-th of the rows of sums, which lie `distance` apart from `first` on.
#[inline(always)]
pub(super) fn gather<T: Real>(
    sums: &mut [T],
    first: usize,
    distance: usize,
    f: &[T],
    weights: &[T],
) {
    let n = f.len();
    for (k, &weight) in weights.iter().enumerate() {
        // A table of h adds nothing to the mass.
        if weight != T::ZERO {
            let sums = &mut sums[k * distance + first..][..n];
            for i in 0..n {
                sums[i] += weight * f[i];
            }
        }
    }
}

/// A row along x with room for `pad` cells beyond either end, and the shift of molecules that travel `whole + fraction` cells.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowShift<T> {
    pub(super) n: usize,
    pub(super) pad: usize,
    pub(super) forward: bool,
    pub(super) whole: usize,
    pub(super) fraction: T,
    /// Whether slopes are taken at all, and in the cells beyond either end.
    pub(super) sloped: [bool; 3],
}

impl<T: Real> RowShift<T> {
    /// Shifts `row` into `out`; `passes` has room for `n + 1` values.
    #[inline(always)]
    pub(super) fn run(&self, row: &[T], passes: &mut [T], out: &mut [T]) {
        let Self {
            n,
            pad,
            forward,
            whole,
            fraction,
            sloped,
        } = *self;
        let first = if forward {
            pad - whole - 1
        } else {
            pad + whole
        };
        let passes = &mut passes[..=n];
        let (left, right) = (&row[first - 1..], &row[first + 1..]);
        let (up, down) = if forward {
            (left, right)
        } else {
            (right, left)
        };
        passing(passes, &row[first..], up, down, fraction, sloped[0]);
        if sloped[0] {
            // Cells beyond the ends have slopes only where they are images of cells.
            if !sloped[1] {
                for q in first..pad.clamp(first, first + n + 1) {
                    passes[q - first] = fraction * row[q];
                }
            }
            if !sloped[2] {
                for q in (pad + n).clamp(first, first + n + 1)..=first + n {
                    passes[q - first] = fraction * row[q];
                }
            }
        }
        if forward {
            settle(out, &row[pad - whole..], &passes[1..], passes);
        } else {
            settle(out, &row[pad + whole..], passes, &passes[1..]);
        }
    }
}

/// What leaves through an end in cells of population; `at(d)` is the cell at the distance d from it. The last cell itself has no slope.
#[inline(always)]
pub(super) fn outflow<T: Real>(
    at: impl Fn(usize) -> T,
    whole: usize,
    fraction: T,
    sloped: bool,
) -> T {
    let mut out = fraction * at(whole);
    if sloped && whole > 0 {
        let (before, after) = (at(whole) - at(whole + 1), at(whole - 1) - at(whole));
        let product = before * after;
        if product > T::ZERO {
            out += fraction * (T::ONE - fraction) * product / (before + after);
        }
    }
    for d in 0..whole {
        out += at(d);
    }
    out
}
