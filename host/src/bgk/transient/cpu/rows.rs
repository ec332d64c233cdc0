//! Rows of cells: relaxation, shift and sums, written so that the compiler turns them into vector instructions.
//!
//! Every function here is inlined into the pass over a chunk of nodes, which is compiled for each kind of vector unit.

use rarefy_kernels::Real;

use super::super::shift::van_leer;

/// Rows of scratch memory begin at multiples of so many cells.
pub(super) const BLOCK: usize = 16;

/// Runs a loop over as many cells of rows as `n` says, given the rows that it reads and those that it writes. In its body their names stand for the cells.
macro_rules! for_cells {
    ($n:expr, [$($read:ident),*], [$($write:ident),*], $body:expr) => {{
        let n = $n;
        $(let $read = &$read[..n];)*
        $(let $write = &mut $write[..n];)*
        for i in 0..n {
            $(let $read = $read[i];)*
            $(let $write = &mut $write[i];)*
            $body
        }
    }};
}

pub(super) use for_cells;

/// Calls for a row that will be read before long, and that the processor does not foresee: the row before it in time lies elsewhere.
#[inline(always)]
pub(super) fn prefetch<P>(row: &[P]) {
    #[cfg(target_arch = "x86_64")]
    for line in row.chunks(64 / size_of::<P>()) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint, which reads nothing.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = row;
}

/// Adds a row to another.
#[inline(always)]
pub(super) fn add<T: Real>(out: &mut [T], row: &[T]) {
    for_cells!(out.len(), [row], [out], *out += row);
}

/// The product of two rows.
#[inline(always)]
pub(super) fn multiply<T: Real>(out: &mut [T], x: &[T], y: &[T]) {
    for_cells!(out.len(), [x, y], [out], *out = x * y);
}

/// `keep f + p m`, the relaxed populations of a row.
#[inline(always)]
pub(super) fn relax<T: Real>(out: &mut [T], f: &[T], keep: &[T], p: &[T], m: &[T]) {
    for_cells!(out.len(), [f, keep, p, m], [out], *out = keep * f + p * m);
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
    for_cells!(
        out.len(),
        [f, keep, p, m, alpha, beta],
        [out],
        *out = keep * f + p * m * (alpha + beta * s)
    );
}

/// The Shakhov model's factor of the Maxwellian in a row of cells as `alpha + beta s`, with s for the part of |c|^2 other than along x and y, or for what
/// multiplies `unresolved` there; of the rows of `p_0, p_x, p_y, q_0, q_x, q_y, u_x, u_y`.
#[inline(always)]
pub(super) fn heat_factors<T: Real>(
    alpha: &mut [T],
    beta: &mut [T],
    [p0, px, py, q0, qx, qy, ux, uy]: [&[T]; 8],
    [vx, vy]: [T; 2],
    unresolved: Option<&[T]>,
) {
    for_cells!(
        alpha.len(),
        [p0, px, py, q0, qx, qy, ux, uy],
        [alpha, beta],
        {
            let (cx, cy) = (vx - ux, vy - uy);
            *beta = q0 + qx * cx + qy * cy;
            *alpha = p0 + px * cx + py * cy + *beta * (cx * cx + cy * cy);
        }
    );
    if let Some(unresolved) = unresolved {
        for_cells!(beta.len(), [unresolved], [beta], *beta *= unresolved);
    }
}

/// `alpha + g.(v - u)`, of the rows of g and of the mean velocity.
#[inline(always)]
pub(super) fn add_along<T: Real>(
    out: &mut [T],
    alpha: &[T],
    [gx, gy]: [&[T]; 2],
    [ux, uy]: [&[T]; 2],
    [vx, vy]: [T; 2],
) {
    for_cells!(out.len(), [alpha, gx, gy, ux, uy], [out], {
        *out = alpha + gx * (vx - ux) + gy * (vy - uy);
    });
}

/// Flux through the upstream face of a cell in the fraction `a` of one: `a f`, with slopes `a (1-a)/2 S` more.
#[inline(always)]
fn passed<T: Real, const SLOPED: bool>(up: T, cell: T, down: T, a: T) -> T {
    if SLOPED {
        a * cell + a * (T::ONE - a) * van_leer(T::ONE, cell - up, down - cell)
    } else {
        a * cell
    }
}

/// The same in a row of cells.
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
    if sloped {
        for_cells!(n, [cell, up, down], [out], {
            *out = passed::<T, true>(up, cell, down, a);
        });
    } else {
        for_cells!(n, [cell], [out], *out = a * cell);
    }
}

/// `cell - leaves + enters`.
#[inline(always)]
pub(super) fn settle<T: Real>(out: &mut [T], cell: &[T], leaves: &[T], enters: &[T]) {
    for_cells!(
        out.len(),
        [cell, leaves, enters],
        [out],
        *out = cell - leaves + enters
    );
}

/// [`settle`] without slopes: `f - a f + a f'` with the upstream neighbour f'.
#[inline(always)]
fn settle_upwind<T: Real>(out: &mut [T], cell: &[T], up: &[T], a: T) {
    for_cells!(
        out.len(),
        [cell, up],
        [out],
        *out = cell - a * cell + a * up
    );
}

/// [`settle`] with what leaves as [`passing`] has it, which enters the row after; the new row times the weights is added to rows of sums.
#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "one row of each kind")]
pub(super) fn pass_on<T: Real>(
    out: &mut [T],
    [up, cell, down]: [&[T]; 3],
    enters: &mut [T],
    a: T,
    sloped: bool,
    sums: &mut Sums<'_, T>,
    weights: &[T],
) {
    match weights {
        // g, or a population of all velocities, has part in all sums; h, which has no mass, in the energy alone.
        &[w0, w1, w2] if w0 != T::ZERO => {
            let ([s0, s1, s2], w) = (sums.rows(out.len()), [w0, w1, w2]);
            if sloped {
                pass_on_and_sum::<T, true>(out, up, cell, down, enters, a, s0, s1, s2, w);
            } else {
                pass_on_and_sum::<T, false>(out, up, cell, down, enters, a, s0, s1, s2, w);
            }
        }
        _ => {
            if sloped {
                pass_on_alone::<T, true>(out, up, cell, down, enters, a);
            } else {
                pass_on_alone::<T, false>(out, up, cell, down, enters, a);
            }
            sums.gather(out, weights);
        }
    }
}

/// The new population of a cell, from its inflow. Its outflow, the inflow of the next cell, replaces the inflow.
#[inline(always)]
fn exchanged<T: Real, const SLOPED: bool>(up: T, cell: T, down: T, enters: &mut T, a: T) -> T {
    let leaves = passed::<T, SLOPED>(up, cell, down, a);
    let f = cell - leaves + *enters;
    *enters = leaves;
    f
}

/// [`pass_on`] without sums.
#[inline(always)]
fn pass_on_alone<T: Real, const SLOPED: bool>(
    out: &mut [T],
    up: &[T],
    cell: &[T],
    down: &[T],
    enters: &mut [T],
    a: T,
) {
    for_cells!(out.len(), [up, cell, down], [out, enters], {
        *out = exchanged::<T, SLOPED>(up, cell, down, enters, a);
    });
}

/// [`pass_on`] with three sums, in one loop.
#[inline(always)]
#[allow(
    clippy::too_many_arguments,
    reason = "the compiler is to know that these rows lie apart"
)]
fn pass_on_and_sum<T: Real, const SLOPED: bool>(
    out: &mut [T],
    up: &[T],
    cell: &[T],
    down: &[T],
    enters: &mut [T],
    a: T,
    s0: &mut [T],
    s1: &mut [T],
    s2: &mut [T],
    [w0, w1, w2]: [T; 3],
) {
    for_cells!(out.len(), [up, cell, down], [out, enters, s0, s1, s2], {
        let f = exchanged::<T, SLOPED>(up, cell, down, enters, a);
        *out = f;
        *s0 += w0 * f;
        *s1 += w1 * f;
        *s2 += w2 * f;
    });
}

/// Rows of sums that lie `distance` apart.
pub(super) struct Sums<'a, T> {
    pub(super) rows: &'a mut [T],
    pub(super) distance: usize,
}

impl<T: Real> Sums<'_, T> {
    /// The first three, of so many cells.
    #[inline(always)]
    fn rows(&mut self, n: usize) -> [&mut [T]; 3] {
        let (first, rest) = self.rows.split_at_mut(self.distance);
        let (second, third) = rest.split_at_mut(self.distance);
        [&mut first[..n], &mut second[..n], &mut third[..n]]
    }

    /// Adds `weights[k] f` to the k-th.
    #[inline(always)]
    pub(super) fn gather(&mut self, f: &[T], weights: &[T]) {
        for (k, &weight) in weights.iter().enumerate() {
            // A table of h adds nothing to the mass.
            if weight != T::ZERO {
                let sums = &mut self.rows[k * self.distance..];
                for_cells!(f.len(), [f], [sums], *sums += weight * f);
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
        if !sloped[0] {
            let cell = &row[if forward { pad - whole } else { pad + whole }..];
            let up = &row[if forward {
                pad - whole - 1
            } else {
                pad + whole + 1
            }..];
            return settle_upwind(out, cell, up, fraction);
        }
        let passes = &mut passes[..=n];
        let (left, right) = (&row[first - 1..], &row[first + 1..]);
        let (up, down) = if forward {
            (left, right)
        } else {
            (right, left)
        };
        passing(passes, &row[first..], up, down, fraction, true);
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
        if forward {
            settle(out, &row[pad - whole..], &passes[1..], passes);
        } else {
            settle(out, &row[pad + whole..], passes, &passes[1..]);
        }
    }
}

/// Outflow through an end in cells of population, of rows at growing distances from it. The last cell itself has no slope.
#[inline(always)]
pub(super) fn outflow<T: Real>(out: &mut [T], near: &[T], whole: usize, a: T, sloped: bool) {
    let at = |d: usize| &near[d * out.len()..][..out.len()];
    let (up, down) = match sloped && whole > 0 {
        true => (at(whole + 1), at(whole - 1)),
        false => (at(whole), at(whole)),
    };
    let (cell, sloped) = (at(whole), sloped && whole > 0);
    let n = out.len();
    passing(out, cell, up, down, a, sloped);
    for d in 0..whole {
        let cell = &near[d * n..];
        for_cells!(n, [cell], [out], *out += cell);
    }
}
