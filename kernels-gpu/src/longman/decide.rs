//! The driver for many integrals at once: one thread an integral, all integrals of a launch over the same table.
//!
//! With `x = s / omega` the areas and the head of `integral of g(x) osc(omega x)` are sums of `g(s_j / omega)` with weights that contain the
//! oscillation and do not depend on the integral. The table of nodes and weights is in shared memory, all threads read the same element of it at
//! the same time, and no special function but those of g is left. For integrands without a known oscillation the weights are those of the
//! quadrature alone.
//!
//! The thread judges its integral as the driver of the CPU does, but with fixed means: areas by one Kronrod rule, a head by tanh-sinh of one
//! step, eight candidates for the tail. It says OK, or that no refinement could help, only where the estimates show it; everything else is
//! [`UNDECIDED`] and goes to the driver of the CPU.

use super::functions::Functions;
use super::integrand::{Damped, Integrand, PowerDamped, Rational, Sommerfeld};
use super::program::{Column, ProgramShape, SharedCode, no_special, run};
use super::status::{Accelerator, Status};
use crate::kernel;
use crate::math::Real;
use crate::memory::{In, Out, Quad, Shared};
use crate::simt::Simt;

/// Threads of a block, each of which owns an integral.
pub const BATCH_THREADS: u32 = 128;
/// Nodes of the Kronrod rule of a panel; most areas are one.
pub const PANEL_NODES: u32 = 15;
/// The code of an integral that the device leaves to the CPU.
pub const UNDECIDED: u32 = 0xFF;

/// Candidates for the tail: two accelerators, each after skipping four numbers of areas, which are then summed as they are.
pub const CANDIDATES: usize = 8;
/// Fours of words in the row of weights of an area.
pub const ROW_QUADS: u32 = 6;

/// Where the weights of an area stand in its row.
///
/// Candidate m is Euler's transformation for even m, that of Cohen, Rodriguez Villegas and Zagier for odd m, with skip number m / 2.
pub mod row {
    /// Weights of the candidates.
    pub const VALUE: usize = 0;
    /// Weights of the candidates with fewer areas, 2 or 3; the difference shows how far they have converged.
    pub const FEWER: usize = 8;
    /// Weights of 2^-n Delta^n V for Euler's candidates.
    pub const BOUND: usize = 16;
    /// Roundoff of the area, relative to the integral of the magnitude.
    pub const NOISE: usize = 20;
    /// Weight of the magnitude of the area in the condition number.
    pub const MAGNITUDE: usize = 21;
    /// Panels of the area.
    pub const PANELS: usize = 22;
}

/// Sizes and tolerances of a launch.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct BatchRule {
    /// Absolute tolerance.
    pub absolute: f64,
    /// Relative tolerance.
    pub relative: f64,
    /// Accuracy of the integrand, relative.
    pub accuracy: f64,
    /// Integrals in this launch.
    pub integrals: u32,
    /// Areas.
    pub areas: u32,
    /// Panels of all areas together, each of which has its Kronrod rule.
    pub panels: u32,
    /// Nodes of the head.
    pub head: u32,
    /// Areas that must alternate and decrease.
    pub premise: u32,
    /// The numbers of areas that candidates skip.
    pub skips: [u32; 4],
    /// Not used.
    pub padding: u32,
}

/// The table of a launch, in shared memory.
#[derive(Clone, Copy)]
pub struct Table<'a, T: Real> {
    /// `[s, weight, weight with twice the step, with four times the step]` of the head, the least s first.
    pub head: Shared<'a, Quad<T>>,
    /// `[s, Kronrod weight, Gauss weight, 0]` of each panel.
    pub nodes: Shared<'a, Quad<T>>,
    /// The rows of weights of the areas.
    pub rows: Shared<'a, Quad<T>>,
}

impl<T: Real> Table<'_, T> {
    /// Copies the table to shared memory, by the whole block.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn stage<S: Simt>(
        self,
        t: &S,
        rule: &BatchRule,
        head: In<'_, Quad<T>>,
        nodes: In<'_, Quad<T>>,
        rows: In<'_, Quad<T>>,
    ) {
        stage(t, head, self.head, rule.head);
        stage(t, nodes, self.nodes, rule.panels * PANEL_NODES);
        stage(t, rows, self.rows, rule.areas * ROW_QUADS);
        t.sync_threads();
    }
}

#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
fn stage<T: Real, S: Simt>(t: &S, from: In<'_, Quad<T>>, to: Shared<'_, Quad<T>>, count: u32) {
    let mut i = t.thread_idx();
    while i < count {
        to.set(t, i, from.get(t, i as usize));
        i += t.block_dim();
    }
}

/// What a thread says of its integral.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verdict<T> {
    /// The integral.
    pub value: T,
    /// Estimate of its error.
    pub error: T,
    /// Sum of the magnitudes over the magnitude of the sum: the factor by which roundoff grows.
    pub condition: T,
    /// Code of the status, and 256 times that of the accelerator; or [`UNDECIDED`].
    pub code: u32,
}

/// x^(3/2), 0 for 0.
#[inline(always)]
fn three_halves<T: Real>(x: T) -> T {
    x * x.sqrt()
}

/// One integral with amplitude `amplitude(x)`, at `x = s scale`.
///
/// Every comparison that decides for a result is false where a NaN is involved, so that such an integral stays undecided.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn judge<T: Real, S: Simt>(
    t: &S,
    table: Table<'_, T>,
    rule: &BatchRule,
    scale: T,
    mut amplitude: impl FnMut(T) -> T,
) -> Verdict<T> {
    let number = |value: f64| T::from_f64(value);

    // The head: tanh-sinh with three steps on the same nodes.
    let (mut fine, mut middle, mut coarse, mut magnitude) = (T::ZERO, T::ZERO, T::ZERO, T::ZERO);
    let mut cut = T::ZERO;
    let mut j = 0;
    while j < rule.head {
        let Quad([s, weight, double, quadruple]) = table.head.get(t, j);
        let g = amplitude(s * scale);
        fine = weight.mul_add(g, fine);
        middle = double.mul_add(g, middle);
        coarse = quadruple.mul_add(g, coarse);
        let term = (weight * g).abs();
        magnitude += term;
        if j == 0 {
            cut = term;
        }
        j += 1;
    }
    // Doubling the nodes squares the error; no more than the geometric continuation is trusted. What lies below the least node is of the
    // size of its term.
    let (last, before) = ((fine - middle).abs(), (middle - coarse).abs());
    let shrinks = if last < before { last / before } else { T::ONE };
    let mut error = last * shrinks + cut * number(10.0);
    let mut floor = magnitude * number(rule.accuracy);

    let mut value = [T::ZERO; CANDIDATES];
    let mut fewer = [T::ZERO; CANDIDATES];
    let mut bound = [T::ZERO; 4];
    let mut direct = T::ZERO;
    let mut magnitudes = magnitude;
    let mut largest = T::ZERO;
    // The first area from which on they alternate and decrease, and its magnitude; the last one that counts in a plain sum.
    let (mut start, mut start_size, mut counts) = (0, T::ZERO, 0);
    let (mut previous, mut noise) = (T::ZERO, T::ZERO);
    let mut at = 0;
    let mut k = 0;
    while k < rule.areas {
        let Quad([roundoff, in_condition, panels, _]) = table.rows.get(t, k * ROW_QUADS + 5);
        let (mut kronrod, mut sizes, mut quadrature) = (T::ZERO, T::ZERO, T::ZERO);
        let mut left = panels;
        while left > T::ZERO {
            let (mut sum, mut gauss, mut magnitude) = (T::ZERO, T::ZERO, T::ZERO);
            let mut g = 0;
            while g < PANEL_NODES {
                let Quad([s, weight, embedded, _]) = table.nodes.get(t, at);
                let f = amplitude(s * scale);
                sum = weight.mul_add(f, sum);
                gauss = embedded.mul_add(f, gauss);
                magnitude += (weight * f).abs();
                at += 1;
                g += 1;
            }
            // QUADPACK's scaling of the difference of the two rules; a quarter of the size stands for the variation, of which it is no more.
            let variation = magnitude * number(0.25);
            let scaled = (sum - gauss).abs() * number(200.0);
            quadrature += if scaled < variation {
                three_halves(scaled / variation) * variation
            } else {
                scaled
            };
            kronrod += sum;
            sizes += magnitude;
            left -= T::ONE;
        }

        let Quad(w0) = table.rows.get(t, k * ROW_QUADS);
        let Quad(w1) = table.rows.get(t, k * ROW_QUADS + 1);
        let Quad(w2) = table.rows.get(t, k * ROW_QUADS + 2);
        let Quad(w3) = table.rows.get(t, k * ROW_QUADS + 3);
        let Quad(w4) = table.rows.get(t, k * ROW_QUADS + 4);
        let mut c = 0;
        while c < 4 {
            value[c] = w0[c].mul_add(kronrod, value[c]);
            value[c + 4] = w1[c].mul_add(kronrod, value[c + 4]);
            fewer[c] = w2[c].mul_add(kronrod, fewer[c]);
            fewer[c + 4] = w3[c].mul_add(kronrod, fewer[c + 4]);
            bound[c] = w4[c].mul_add(kronrod, bound[c]);
            c += 1;
        }
        direct += kronrod;

        let size = kronrod.abs();
        let rounded = roundoff * sizes;
        noise = rounded + quadrature;
        floor += rounded;
        error += quadrature;
        magnitudes = in_condition.mul_add(size, magnitudes);
        let alternates = (kronrod > T::ZERO) != (previous > T::ZERO);
        let decreases = size < previous.abs() + noise * number(4.0);
        if k == 0 || !(alternates && decreases) {
            start = k;
            start_size = size;
        }
        if size > largest {
            largest = size;
        }
        let negligible = size <= number(1e-2) * T::EPSILON * (fine.abs() + largest);
        if !negligible {
            counts = k + 1;
        }
        previous = kronrod;
        k += 1;
    }

    floor += number(2.0) * T::EPSILON * (fine.abs() + number(2.0) * largest);
    let mut tail = T::ZERO;
    let mut least = T::ONE / T::ZERO;
    let mut accelerator = Accelerator::None;
    let mut allowed = false;
    if counts + 2 <= rule.areas {
        tail = direct;
        least = T::ZERO;
        accelerator = Accelerator::Direct;
        allowed = true;
    } else if start + rule.premise <= rule.areas
        && start_size - previous.abs() > number(8.0) * noise
    {
        let mut c = 0;
        while c < CANDIDATES {
            let change = (value[c] - fewer[c]).abs();
            let estimate = if c & 1 == 0 {
                let quarter = change * number(0.25);
                let bound = bound[c / 2].abs();
                if quarter > bound { quarter } else { bound }
            } else {
                change * number(0.05)
            };
            if start <= rule.skips[c / 2] && estimate < least {
                least = estimate;
                tail = value[c];
                accelerator = if c & 1 == 0 {
                    Accelerator::Euler
                } else {
                    Accelerator::Cvz
                };
                allowed = true;
            }
            c += 1;
        }
    }

    let sum = fine + tail;
    let total = least + error + floor;
    let tolerance = {
        let relative = number(rule.relative) * sum.abs() * scale;
        let absolute = number(rule.absolute);
        if relative > absolute {
            relative
        } else {
            absolute
        }
    };
    let finite = magnitudes < T::ONE / T::ZERO && total < T::ONE / T::ZERO;
    let status = if !(allowed && finite) {
        UNDECIDED
    } else if total * scale <= tolerance {
        Status::Ok.code()
    } else if floor * scale > tolerance * number(4.0) && least + error <= floor {
        // Roundoff alone exceeds the tolerance, by more than what its bound may be too large by, and is most of the estimate.
        Status::NotConverged.code()
    } else {
        UNDECIDED
    };
    Verdict {
        value: sum * scale,
        error: total * scale,
        condition: magnitudes / sum.abs(),
        code: if status == UNDECIDED {
            UNDECIDED
        } else {
            status | accelerator.code() << 8
        },
    }
}

/// Where the verdicts of a launch go.
#[derive(Clone, Copy)]
pub struct Verdicts<'a, T: Real> {
    /// Values.
    pub values: Out<'a, T>,
    /// Error estimates.
    pub errors: Out<'a, T>,
    /// Condition numbers.
    pub conditions: Out<'a, T>,
    /// Codes.
    pub codes: Out<'a, u32>,
}

impl<T: Real> Verdicts<'_, T> {
    /// Writes the verdict on integral `index`.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn set<S: Simt>(self, t: &S, index: usize, verdict: Verdict<T>) {
        self.values.set(t, index, verdict.value);
        self.errors.set(t, index, verdict.error);
        self.conditions.set(t, index, verdict.condition);
        self.codes.set(t, index, verdict.code);
    }
}

/// The body of the kernels `integrate_...`, for any amplitude: call it from a kernel of your own, after [`Table::stage`].
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn decide<I: Integrand<T>, T: Real, S: Simt>(
    t: &S,
    table: Table<'_, T>,
    rule: BatchRule,
    frequencies: In<'_, T>,
    parameters: In<'_, T>,
    verdicts: Verdicts<'_, T>,
) {
    let index = t.global_idx();
    if index < rule.integrals as usize {
        let scale = T::ONE / frequencies.get(t, index);
        let integrand = I::new(|k| parameters.get(t, k as usize * rule.integrals as usize + index));
        let verdict = judge(t, table, &rule, scale, |x| integrand.amplitude(x));
        verdicts.set(t, index, verdict);
    }
}

/// A kernel of the driver for one named amplitude. The declarations below differ in nothing else, but each must stand in the source for itself,
/// as the builder of the PTX reads them there.
macro_rules! integrate {
    ($t:ident, $amplitude:ty, $head:ident, $nodes:ident, $rows:ident, $rule:ident, $frequencies:ident, $parameters:ident,
     $values:ident, $errors:ident, $conditions:ident, $codes:ident, $table_head:ident, $table_nodes:ident, $table_rows:ident) => {{
        let table = Table {
            head: $table_head,
            nodes: $table_nodes,
            rows: $table_rows,
        };
        table.stage($t, &$rule, $head, $nodes, $rows);
        let verdicts = Verdicts {
            values: $values,
            errors: $errors,
            conditions: $conditions,
            codes: $codes,
        };
        decide::<$amplitude, T, _>($t, table, $rule, $frequencies, $parameters, verdicts);
    }};
}

kernel! {
    /// Integrals with amplitude `e^(-lambda x)`: value, error estimate, condition and code of each.
    ///
    /// One thread an integral, 128 a block; parameter k of integral i is `parameters[k * integrals + i]`. A block copies the table to shared memory,
    /// `32 (head + 15 panels + 6 areas)` bytes in `f64`, 20 KiB for 24 areas, and after the one barrier only reads it: all threads the same element at
    /// the same time, without conflicts. Results are written once, in columns, by the thread that owns them.
    ///
    /// A node costs two loads of 16 bytes (one in `f32`), the amplitude, and five operations; an area 24 more and six loads. With 24 areas, 26 panels and 77 nodes
    /// of the head, 470 nodes: in `f64` 470 x 26 double-precision instructions an integral for this amplitude, 1.3e9 integrals a second on an H200.
    pub fn integrate_damped<T: Real>(
        t, head: In<Quad<T>>, nodes: In<Quad<T>>, rows: In<Quad<T>>, frequencies: In<T>, parameters: In<T>,
        values: Out<T>, errors: Out<T>, conditions: Out<T>, codes: Out<u32>; rule: BatchRule,
    ) for f32, f64
    shared {
        table_head: [Quad<T>; rule.head], table_nodes: [Quad<T>; rule.panels * PANEL_NODES],
        table_rows: [Quad<T>; rule.areas * ROW_QUADS],
    } {
        integrate!(t, Damped<T>, head, nodes, rows, rule, frequencies, parameters, values, errors, conditions, codes,
            table_head, table_nodes, table_rows);
    }
}

kernel! {
    /// [`integrate_damped()`] with amplitude `x^mu e^(-lambda x)`.
    pub fn integrate_power<T: Real>(
        t, head: In<Quad<T>>, nodes: In<Quad<T>>, rows: In<Quad<T>>, frequencies: In<T>, parameters: In<T>,
        values: Out<T>, errors: Out<T>, conditions: Out<T>, codes: Out<u32>; rule: BatchRule,
    ) for f32, f64
    shared {
        table_head: [Quad<T>; rule.head], table_nodes: [Quad<T>; rule.panels * PANEL_NODES],
        table_rows: [Quad<T>; rule.areas * ROW_QUADS],
    } {
        integrate!(t, PowerDamped<T>, head, nodes, rows, rule, frequencies, parameters, values, errors, conditions, codes,
            table_head, table_nodes, table_rows);
    }
}

kernel! {
    /// [`integrate_damped()`] with amplitude `x e^(-z u) / u`, `u = sqrt(x^2 + k^2)`.
    pub fn integrate_sommerfeld<T: Real>(
        t, head: In<Quad<T>>, nodes: In<Quad<T>>, rows: In<Quad<T>>, frequencies: In<T>, parameters: In<T>,
        values: Out<T>, errors: Out<T>, conditions: Out<T>, codes: Out<u32>; rule: BatchRule,
    ) for f32, f64
    shared {
        table_head: [Quad<T>; rule.head], table_nodes: [Quad<T>; rule.panels * PANEL_NODES],
        table_rows: [Quad<T>; rule.areas * ROW_QUADS],
    } {
        integrate!(t, Sommerfeld<T>, head, nodes, rows, rule, frequencies, parameters, values, errors, conditions, codes,
            table_head, table_nodes, table_rows);
    }
}

kernel! {
    /// [`integrate_damped()`] with amplitude `x^m / (x^2 + p^2)`, m = 0 or 1.
    pub fn integrate_rational<T: Real>(
        t, head: In<Quad<T>>, nodes: In<Quad<T>>, rows: In<Quad<T>>, frequencies: In<T>, parameters: In<T>,
        values: Out<T>, errors: Out<T>, conditions: Out<T>, codes: Out<u32>; rule: BatchRule,
    ) for f32, f64
    shared {
        table_head: [Quad<T>; rule.head], table_nodes: [Quad<T>; rule.panels * PANEL_NODES],
        table_rows: [Quad<T>; rule.areas * ROW_QUADS],
    } {
        integrate!(t, Rational<T>, head, nodes, rows, rule, frequencies, parameters, values, errors, conditions, codes,
            table_head, table_nodes, table_rows);
    }
}

/// The arguments of [`integrate_program_f64()`] and its twin that are views.
struct Interpreted<'a, T: Real> {
    code: In<'a, u32>,
    constants: In<'a, T>,
    frequencies: In<'a, T>,
    parameters: In<'a, T>,
    words: Shared<'a, u32>,
    slots: Shared<'a, T>,
}

/// The body of the interpreting kernels: the amplitude is a program.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
fn interpret<T: Functions, S: Simt>(
    t: &S,
    table: Table<'_, T>,
    rule: BatchRule,
    shape: ProgramShape,
    views: &Interpreted<'_, T>,
    verdicts: Verdicts<'_, T>,
) {
    let mut i = t.thread_idx();
    while i < shape.length {
        views.words.set(t, i, views.code.get(t, i as usize));
        i += t.block_dim();
    }
    t.sync_threads();
    let index = t.global_idx();
    if index >= rule.integrals as usize {
        return;
    }
    let code = SharedCode {
        t,
        words: views.words,
    };
    let mut slots = Column {
        t,
        memory: views.slots,
        threads: t.block_dim(),
        column: t.thread_idx(),
    };
    use super::program::Slots;
    let mut k = 0;
    while k < shape.parameters {
        let at = k as usize * rule.integrals as usize + index;
        slots.set(1 + k, views.parameters.get(t, at));
        k += 1;
    }
    k = 0;
    while k < shape.constants {
        slots.set(1 + shape.parameters + k, views.constants.get(t, k as usize));
        k += 1;
    }
    run(&code, 0, shape.prologue, &mut slots, &no_special);
    let scale = T::ONE / views.frequencies.get(t, index);
    let verdict = judge(t, table, &rule, scale, |x| {
        slots.set(0, x);
        run(&code, shape.prologue, shape.length, &mut slots, &no_special);
        slots.get(shape.result)
    });
    verdicts.set(t, index, verdict);
}

kernel! {
    /// [`integrate_damped()`] with an amplitude, or a whole integrand, that is interpreted; see [`program`](super::program).
    ///
    /// The instructions are in shared memory too, and the slots of each thread, of which no other thread reads.
    pub fn integrate_program_f32(
        t, head: In<Quad<f32>>, nodes: In<Quad<f32>>, rows: In<Quad<f32>>, code: In<u32>, constants: In<f32>,
        frequencies: In<f32>, parameters: In<f32>, values: Out<f32>, errors: Out<f32>, conditions: Out<f32>, codes: Out<u32>;
        rule: BatchRule, shape: ProgramShape,
    )
    shared {
        table_head: [Quad<f32>; rule.head], table_nodes: [Quad<f32>; rule.panels * PANEL_NODES],
        table_rows: [Quad<f32>; rule.areas * ROW_QUADS], words: [u32; shape.length],
        slots: [f32; shape.slots * BATCH_THREADS],
    } {
        let table = Table { head: table_head, nodes: table_nodes, rows: table_rows };
        table.stage(t, &rule, head, nodes, rows);
        let views = Interpreted { code, constants, frequencies, parameters, words, slots };
        interpret(t, table, rule, shape, &views, Verdicts { values, errors, conditions, codes });
    }
}

kernel! {
    /// [`integrate_program_f32()`] in double precision.
    pub fn integrate_program_f64(
        t, head: In<Quad<f64>>, nodes: In<Quad<f64>>, rows: In<Quad<f64>>, code: In<u32>, constants: In<f64>,
        frequencies: In<f64>, parameters: In<f64>, values: Out<f64>, errors: Out<f64>, conditions: Out<f64>, codes: Out<u32>;
        rule: BatchRule, shape: ProgramShape,
    )
    shared {
        table_head: [Quad<f64>; rule.head], table_nodes: [Quad<f64>; rule.panels * PANEL_NODES],
        table_rows: [Quad<f64>; rule.areas * ROW_QUADS], words: [u32; shape.length],
        slots: [f64; shape.slots * BATCH_THREADS],
    } {
        let table = Table { head: table_head, nodes: table_nodes, rows: table_rows };
        table.stage(t, &rule, head, nodes, rows);
        let views = Interpreted { code, constants, frequencies, parameters, words, slots };
        interpret(t, table, rule, shape, &views, Verdicts { values, errors, conditions, codes });
    }
}
