//! The oscillator-table mode with nothing but sums: the fastest form, without a verdict.

use super::elementary::Software;
use super::integrand::{Damped, Integrand, PowerDamped};
use crate::kernel;
use crate::math::Real;
use crate::memory::{In, Out, Quad, Shared};
use crate::simt::Simt;

/// Threads of a block of [`tabled_damped()`].
pub const TABLE_THREADS: u32 = 128;

/// The body of [`tabled_damped()`], for any amplitude: call it from a kernel of your own with the same arguments.
#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "the arguments of a launch")]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn tabled_integral<I: Integrand<T>, T: Real, S: Simt>(
    t: &S,
    nodes: In<'_, Quad<T>>,
    frequencies: In<'_, T>,
    parameters: In<'_, T>,
    values: Out<'_, T>,
    errors: Out<'_, T>,
    count: u32,
    table: Shared<'_, Quad<T>>,
) {
    let mut i = t.thread_idx();
    while i < count {
        table.set(t, i, nodes.get(t, i as usize));
        i += t.block_dim();
    }
    t.sync_threads();
    let index = t.global_idx();
    if index < values.len() {
        let scale = T::ONE / frequencies.get(t, index);
        let integrand = I::new(|k| parameters.get(t, k as usize * values.len() + index));
        let (mut value, mut change) = (T::ZERO, T::ZERO);
        let mut j = 0;
        while j < count {
            let Quad([s, weight, difference, _]) = table.get(t, j);
            let g = integrand.amplitude(s * scale);
            value = weight.mul_add(g, value);
            change = difference.mul_add(g, change);
            j += 1;
        }
        values.set(t, index, value * scale);
        errors.set(t, index, (change * scale).abs());
    }
}

kernel! {
    /// `values[i]` = integral of `e^(-lambda x) osc(omega x)` as one sum over a table of `[s, weight, difference of weights, 0]`, and
    /// `errors[i]` = magnitude of the difference between two accelerators of the same areas.
    ///
    /// One thread an integral, 128 a block, `count` nodes in shared memory, read by all threads at the same address and written before the one barrier. A
    /// node costs one load of 16 bytes (two in `f64`), the amplitude and three operations. With this amplitude, 16 areas of 8 nodes and a head of 8: 136
    /// nodes of 24 double-precision instructions, 5.1e9 integrals a second on an H200 in `f64`; of 22 instructions in `f32`, 1.1e10.
    pub fn tabled_damped<T: Real>(
        t, nodes: In<Quad<T>>, frequencies: In<T>, parameters: In<T>, values: Out<T>, errors: Out<T>; count: u32,
    ) for f32, f64
    shared { table: [Quad<T>; count] } {
        tabled_integral::<Damped<T, Software>, T, _>(t, nodes, frequencies, parameters, values, errors, count, table);
    }
}

kernel! {
    /// [`tabled_damped()`] with amplitude `x^mu e^(-lambda x)`.
    pub fn tabled_power<T: Real>(
        t, nodes: In<Quad<T>>, frequencies: In<T>, parameters: In<T>, values: Out<T>, errors: Out<T>; count: u32,
    ) for f32, f64
    shared { table: [Quad<T>; count] } {
        tabled_integral::<PowerDamped<T>, T, _>(t, nodes, frequencies, parameters, values, errors, count, table);
    }
}

kernel! {
    /// [`tabled_damped()`] in `f32` with the hardware's exponential function.
    pub fn tabled_damped_hardware<T: Real>(
        t, nodes: In<Quad<T>>, frequencies: In<T>, parameters: In<T>, values: Out<T>, errors: Out<T>; count: u32,
    ) for f32
    shared { table: [Quad<T>; count] } {
        tabled_integral::<Damped<T, super::Hardware>, T, _>(t, nodes, frequencies, parameters, values, errors, count, table);
    }
}
