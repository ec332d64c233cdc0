//! The driver for many integrals at once: one thread an integral, all integrals of a launch over the same table.
//!
//! With `x = s / omega` the areas and the head of `integral of g(x) osc(omega x)` are sums of `g(s_j / omega)` with weights that contain the
//! oscillation and do not depend on the integral. The table of nodes and weights is in shared memory, all threads read the same element of it at
//! the same time, and no special function but those of g is left. For integrands without a known oscillation the weights are those of the
//! quadrature alone.
//!
//! The thread classifies its integral as the driver of the CPU does, but by fixed means: areas by one Kronrod rule, a head by tanh-sinh of one
//! step, eight candidates for the tail. It says OK, or that no refinement could help, only where the estimates show it; everything else is
//! [`UNDECIDED`] and goes to the driver of the CPU.

pub use super::amplitude::Amplitude;
use super::amplitude::Named;
pub use super::batch::{
    BatchRule, CANDIDATES, HEAD_SUMS, Outcome, Outcomes, PANEL_NODES, ROW_QUADS, Table, UNDECIDED,
    row,
};
use super::functions::Functions;
use super::integrand::{Damped, Integrand, PowerDamped, Rational, Sommerfeld};
pub use super::outcome::outcome;
pub use super::probe::FarOut;
use super::program::{
    Column, ProgramShape, SharedCode, Slots, no_special, no_special_error, run, run_with_errors,
};
use crate::kernel;
use crate::math::Real;
use crate::memory::{In, Quad, Shared};
use crate::simt::Simt;

/// Threads of a block, each of which owns an integral.
pub const BATCH_THREADS: u32 = 128;

/// The body of the kernels `integrate_...`, for any amplitude: call it from a kernel of your own, after [`Table::stage`].
#[inline(always)]
#[track_caller]
pub fn integrate<I: Integrand<T>, T: Real, S: Simt>(
    t: &S,
    table: Table<'_, T>,
    rule: BatchRule,
    frequencies: In<'_, T>,
    parameters: In<'_, T>,
    outcomes: Outcomes<'_, T>,
) {
    let index = t.global_idx();
    if index < rule.integrals as usize {
        let scale = T::ONE / frequencies.get(t, index);
        let integrand = I::new(|k| parameters.get(t, k as usize * rule.integrals as usize + index));
        let outcome = outcome(t, table, &rule, scale, Named(integrand));
        outcomes.set(t, index, outcome);
    }
}

/// A kernel of the driver for one named amplitude. The declarations below differ in nothing else, but each needs a declaration of its own in the source,
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
        let outcomes = Outcomes {
            values: $values,
            errors: $errors,
            conditions: $conditions,
            codes: $codes,
        };
        integrate::<$amplitude, T, _>($t, table, $rule, $frequencies, $parameters, outcomes);
    }};
}

kernel! {
    /// Integrals with amplitude `e^(-lambda x)`: value, error estimate, condition and code of each.
    ///
    /// One thread an integral, 128 a block; parameter k of integral i is `parameters[k * integrals + i]`. A block copies the table to shared memory,
    /// `32 (head + 17 panels + 6 areas)` bytes in `f64`, 24 KiB for 24 areas, and after the one barrier only reads it: all threads the same element at
    /// the same time, without conflicts. Results are written once, in columns, by the thread that owns them.
    ///
    /// A node costs two loads of 16 bytes (one in `f32`), the amplitude, and five operations; an area 24 more and six loads. With 24 areas, 26 panels and 192 nodes
    /// of the head, 582 nodes: in `f64` 582 x 26 double-precision instructions an integral for this amplitude, 1.0e9 integrals a second on an H200.
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

/// A program with its slots, and the errors of what they hold, which lie behind all slots of the block.
struct Programmed<'a, 'm, S: Simt, T: Functions> {
    code: SharedCode<'a, 'm, S>,
    shape: ProgramShape,
    slots: Column<'a, 'm, S, T>,
    errors: Column<'a, 'm, S, T>,
}

impl<T: Functions, S: Simt> Amplitude<T> for Programmed<'_, '_, S, T> {
    const ERRORS: bool = true;
    const SMOOTH: bool = false;

    #[inline(always)]
    fn value(&mut self, x: T) -> T {
        let shape = self.shape;
        self.slots.set(0, x);
        let body = (shape.prologue, shape.length);
        run(&self.code, body, &mut self.slots, &no_special);
        self.slots.get(shape.result)
    }

    #[inline(always)]
    fn with_error(&mut self, x: T) -> (T, T) {
        let shape = self.shape;
        self.slots.set(0, x);
        // The node in phase, the frequency, and their quotient are rounded.
        self.errors.set(0, T::from_f64(1.5) * T::EPSILON * x.abs());
        let body = (shape.prologue, shape.length);
        let (slots, errors) = (&mut self.slots, &mut self.errors);
        run_with_errors(
            &self.code,
            body,
            slots,
            errors,
            &no_special,
            &no_special_error,
        );
        (slots.get(shape.result), errors.get(shape.result))
    }
}

/// The body of the interpreting kernels: the amplitude is a program.
#[inline(always)]
#[track_caller]
fn interpret<T: Functions, S: Simt>(
    t: &S,
    table: Table<'_, T>,
    rule: BatchRule,
    shape: ProgramShape,
    views: &Interpreted<'_, T>,
    outcomes: Outcomes<'_, T>,
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
    let half = T::from_f64(0.5) * T::EPSILON;
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
    let mut errors = Column {
        memory: views.slots,
        column: shape.slots * t.block_dim() + t.thread_idx(),
        ..slots
    };
    let mut k = 0;
    while k < shape.parameters {
        let at = k as usize * rule.integrals as usize + index;
        let parameter = views.parameters.get(t, at);
        slots.set(1 + k, parameter);
        // Numbers of f64, rounded.
        let rounded = if size_of::<T>() == 8 {
            T::ZERO
        } else {
            half * parameter.abs()
        };
        errors.set(1 + k, rounded);
        k += 1;
    }
    k = 0;
    while k < shape.constants {
        let constant = views.constants.get(t, k as usize);
        slots.set(1 + shape.parameters + k, constant);
        let error = views.constants.get(t, (shape.constants + k) as usize);
        errors.set(1 + shape.parameters + k, error);
        k += 1;
    }
    let prologue = (0, shape.prologue);
    run_with_errors(
        &code,
        prologue,
        &mut slots,
        &mut errors,
        &no_special,
        &no_special_error,
    );
    let scale = T::ONE / views.frequencies.get(t, index);
    let program = Programmed {
        code,
        shape,
        slots,
        errors,
    };
    outcomes.set(t, index, outcome(t, table, &rule, scale, program));
}

kernel! {
    /// [`integrate_damped()`] with an amplitude, or a whole integrand, that is interpreted; see [`program`](super::program).
    ///
    /// The instructions are in shared memory too, and the slots of each thread with their errors, of which no other thread reads. The two nodes outside
    /// each panel are evaluated too. Errors are run for some 80 of the 770 nodes of 32 areas.
    pub fn integrate_program_f32(
        t, head: In<Quad<f32>>, nodes: In<Quad<f32>>, rows: In<Quad<f32>>, code: In<u32>, constants: In<f32>,
        frequencies: In<f32>, parameters: In<f32>, values: Out<f32>, errors: Out<f32>, conditions: Out<f32>, codes: Out<u32>;
        rule: BatchRule, shape: ProgramShape,
    )
    shared {
        table_head: [Quad<f32>; rule.head], table_nodes: [Quad<f32>; rule.panels * PANEL_NODES],
        table_rows: [Quad<f32>; rule.areas * ROW_QUADS], words: [u32; shape.length],
        slots: [f32; 2 * shape.slots * BATCH_THREADS],
    } {
        let table = Table { head: table_head, nodes: table_nodes, rows: table_rows };
        table.stage(t, &rule, head, nodes, rows);
        let views = Interpreted { code, constants, frequencies, parameters, words, slots };
        interpret(t, table, rule, shape, &views, Outcomes { values, errors, conditions, codes });
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
        slots: [f64; 2 * shape.slots * BATCH_THREADS],
    } {
        let table = Table { head: table_head, nodes: table_nodes, rows: table_rows };
        table.stage(t, &rule, head, nodes, rows);
        let views = Interpreted { code, constants, frequencies, parameters, words, slots };
        interpret(t, table, rule, shape, &views, Outcomes { values, errors, conditions, codes });
    }
}
