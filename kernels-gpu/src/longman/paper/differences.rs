//! The method as the paper has it: fixed numbers of areas and Gauss nodes, the whole table of differences in shared memory.

use crate::kernel;
use crate::longman::elementary::{Hardware, Software};
use crate::longman::integrand::{Damped, Integrand};
use crate::math::Real;
use crate::memory::{In, Out, Quad, Shared};
use crate::simt::Simt;

/// Most areas of an integral in the kernels of fixed rules.
pub const MOST_AREAS: u32 = 64;

/// A fixed rule for `integral of g(x) cos(omega x)` or `sin` from 0, or from the first zero, on.
///
/// Boundaries are `x_k = (k + first) pi / omega`, k = 0, 1, ...: the zeros of the oscillation, with `first` = 1/2 for cos and 1 for sin.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct FixedRule {
    /// The first zero as a multiple of the half-period: 1/2 for cos, 1 for sin.
    pub first: f64,
    /// Width of a panel of the head as a multiple of the half-period: first / panels.
    pub width: f64,
    /// Integrals of the launch.
    pub integrals: u32,
    /// Areas, N <= 64.
    pub areas: u32,
    /// Gauss nodes of an area and of a panel of the head.
    pub nodes: u32,
    /// Panels of the head, the integral from 0 to the first zero; 0: start at the first zero.
    pub panels: u32,
    /// Whether to write the columns of differences too: 0 or 1.
    pub columns: u32,
    /// Lanes that share an integral in the fast form, a power of two up to 32: [`lanes_of()`](super::lanes_of()) with columns.
    pub lanes: u32,
}

/// One integral under a fixed rule: its amplitude, and where the zeros lie.
#[derive(Clone, Copy)]
pub(super) struct Fixed<'a, T: Real, I> {
    pub(super) integrand: I,
    /// pi / omega
    pub(super) half_period: T,
    pub(super) rule: FixedRule,
    /// Node in (0, 1), and weight times the sine of pi times that; weights sum up to 1. The weights of the areas may follow.
    pub(super) nodes: Shared<'a, Quad<T>>,
}

impl<'a, T: Real, I: Integrand<T>> Fixed<'a, T, I> {
    /// Reads what integral `index` needs. Parameters are columns: all values of the first, then all of the second.
    #[inline(always)]
    #[track_caller]
    pub(super) fn new<S: Simt>(
        t: &S,
        index: u32,
        frequencies: In<'_, T>,
        parameters: In<'_, T>,
        rule: FixedRule,
        nodes: Shared<'a, Quad<T>>,
    ) -> Self {
        let omega = frequencies.get(t, index as usize);
        Self {
            integrand: I::new(|k| {
                parameters.get(t, k as usize * rule.integrals as usize + index as usize)
            }),
            half_period: T::from_f64(core::f64::consts::PI) / omega,
            rule,
            nodes,
        }
    }

    /// Node and weight with the oscillation: the same for all areas and all integrals, as areas lie between zeros.
    #[inline(always)]
    #[track_caller]
    pub(super) fn node<S: Simt>(&self, t: &S, g: u32) -> (T, T) {
        let Quad([node, weight, ..]) = self.nodes.get(t, g);
        (node, weight)
    }

    /// Area k without the sign of its oscillation: eq. (17), the phase counted from its first zero.
    #[inline(always)]
    #[track_caller]
    pub(super) fn area<S: Simt>(&self, t: &S, k: u32) -> T {
        self.area_of(k, self.rule.nodes, |g| self.node(t, g))
    }

    /// The same with the nodes at hand: a constant number of them unrolls the loop.
    #[inline(always)]
    #[track_caller]
    pub(super) fn area_of(&self, k: u32, nodes: u32, node: impl Fn(u32) -> (T, T)) -> T {
        let h = self.half_period;
        let start = h * (T::from_f64(self.rule.first) + T::from_f64(f64::from(k)));
        let mut sum = T::ZERO;
        for g in 0..nodes {
            let (node, weight) = node(g);
            sum = weight.mul_add(self.integrand.amplitude(h.mul_add(node, start)), sum);
        }
        h * sum
    }

    /// The share of the g-th node of the head, to be multiplied by [`head_width`](Self::head_width). Behind nodes and weights of areas `gauss` has for each
    /// node its place in half-periods from the lower limit, and its weight with the oscillation.
    #[inline(always)]
    #[track_caller]
    pub(super) fn head_term<S: Simt>(&self, t: &S, gauss: In<'_, Quad<T>>, g: u32) -> T {
        let before = self.rule.nodes + self.rule.areas;
        let Quad([at, weight, ..]) = gauss.get(t, (before + g) as usize);
        weight * self.integrand.amplitude(self.half_period * at)
    }

    /// Width of a panel of the head.
    #[inline(always)]
    pub(super) fn head_width(&self) -> T {
        self.half_period * T::from_f64(self.rule.width)
    }
}

/// The head and the tail together. The first area has the sign opposite to the head's oscillation, so its own sign is that of `-area`;
/// the tail is eq. (9) with that sign, which is not always the minus of eq. (18).
#[inline(always)]
pub(super) fn head_and_tail<T: Real>(head: T, first_area: T, tail: T) -> T {
    if first_area < T::ZERO {
        head + tail
    } else {
        head - tail
    }
}

/// 2^-(r+1) with the sign (-1)^r: the factor of the r-th difference in eq. (9).
#[inline(always)]
fn euler_factor<T: Real>(r: u32) -> T {
    let factor = T::power_of_two(-(r as i32) - 1);
    if r & 1 == 0 { factor } else { -factor }
}

/// Copies the Gauss nodes to shared memory, by the whole block.
#[inline(always)]
#[track_caller]
pub(super) fn stage_nodes<T: Real, S: Simt>(
    t: &S,
    gauss: In<'_, Quad<T>>,
    nodes: Shared<'_, Quad<T>>,
    count: u32,
) {
    let mut g = t.thread_idx();
    while g < count {
        nodes.set(t, g, gauss.get(t, g as usize));
        g += t.block_dim();
    }
    t.sync_threads();
}

/// The body of [`difference_table()`].
#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "the arguments of a launch")]
#[track_caller]
fn tabulate<I: Integrand<T>, T: Real, S: Simt>(
    t: &S,
    frequencies: In<'_, T>,
    parameters: In<'_, T>,
    gauss: In<'_, Quad<T>>,
    values: Out<'_, T>,
    columns: Out<'_, T>,
    rule: FixedRule,
    table: Shared<'_, T>,
    nodes: Shared<'_, Quad<T>>,
) {
    stage_nodes(t, gauss, nodes, rule.nodes);
    let (b, k, n) = (t.block_idx(), t.thread_idx(), rule.areas);
    let fixed = Fixed::<T, I>::new(t, b, frequencies, parameters, rule, nodes);
    let mut first_area = T::ZERO;
    if k < n {
        let area = fixed.area(t, k);
        first_area = area;
        table.set(t, k, area.abs());
    }
    t.sync_threads();
    for r in 1..n {
        if k + r < n {
            let above = (r - 1) * n + k;
            table.set(t, r * n + k, table.get(t, above + 1) - table.get(t, above));
        }
        t.sync_threads();
    }
    if k < n {
        let difference = table.get(t, k * n);
        if rule.columns != 0 {
            columns.set(t, b as usize * n as usize + k as usize, difference);
        }
        // Nobody else touches the first column until the barrier.
        table.set(t, k * n, difference * euler_factor(k));
    }
    t.sync_threads();
    if k == 0 {
        let mut tail = T::ZERO;
        for r in 0..n {
            tail += table.get(t, r * n);
        }
        let mut head = T::ZERO;
        for g in 0..rule.panels * rule.nodes {
            head += fixed.head_term(t, gauss, g);
        }
        values.set(
            t,
            b as usize,
            head_and_tail(head * fixed.head_width(), first_area, tail),
        );
    }
}

kernel! {
    /// The paper's kernel (section 4): `values[b]` = integral of `e^(-lambda x) cos(omega x)`, or of sin.
    ///
    /// One block an integral, of as many threads as there are areas, rounded up to whole warps. Thread k owns area k, which it sums over the
    /// Gauss nodes one after another, and column k of the table; row r of the table holds the differences of order r, and a barrier lies
    /// between two rows, so that no thread reads a value that another writes. The N threads scale the first column, and thread 0 sums it and the head.
    /// `columns[b][r]` receives the difference of order r of V_0, if the rule says so.
    ///
    /// Shared memory: N^2 words and the nodes, 33 KiB in `f64` at N = 64 and 8 nodes. N (nodes + 1) evaluations an integral, of which the last
    /// N wait for one thread; N barriers. Most threads idle in most rows. The
    /// bench compares its cost with that of the fast form, [`warp_differences()`](super::warp_differences()).
    pub fn difference_table<T: Real>(
        t, frequencies: In<T>, parameters: In<T>, gauss: In<Quad<T>>, values: Out<T>, columns: Out<T>; rule: FixedRule,
    ) for f32, f64
    shared { table: [T; rule.areas * rule.areas], nodes: [Quad<T>; rule.nodes] } {
        tabulate::<Damped<T, Software>, T, _>(t, frequencies, parameters, gauss, values, columns, rule, table, nodes);
    }
}

kernel! {
    /// [`difference_table()`] with the hardware's exponential function.
    pub fn difference_table_hardware<T: Real>(
        t, frequencies: In<T>, parameters: In<T>, gauss: In<Quad<T>>, values: Out<T>, columns: Out<T>; rule: FixedRule,
    ) for f32
    shared { table: [T; rule.areas * rule.areas], nodes: [Quad<T>; rule.nodes] } {
        tabulate::<Damped<T, Hardware>, T, _>(
            t, frequencies, parameters, gauss, values, columns, rule, table, nodes,
        );
    }
}
