//! The pass of [molecules that rotate](super::rotating) in two dimensions of space: [`sweep_2d`](super::sweep_2d) with three functions of one v_y a thread.

use super::layout::{FUNCTIONS, FlowShape};
use super::sweep_2d::{Memory, Pass, PlaneSweep};
use crate::kernel;

kernel! {
    /// [`plane_sweep_upwind()`](super::sweep_2d::plane_sweep_upwind()) for molecules that rotate.
    ///
    /// **Cost**: three functions of a velocity are read and written, in `f32` 24 bytes where Shakhov's two take 16. Partial sums are 7 words a cell where Shakhov's are 5.
    pub fn plane_sweep_upwind_rotating<T: Real>(
        t, f: In<T>, tables: In<T>, axes: In<T>, next: Out<T>, partial: Out<T>; shape: FlowShape, sweep: PlaneSweep, reversed: u32,
    ) for f32, f64
    shared {
        exchange: [T; sweep.exchange::<FUNCTIONS>(&shape, size_of::<T>())],
        kept: [T; sweep.kept::<FUNCTIONS>(&shape, size_of::<T>())],
        stages: [T; sweep.staged_of::<FUNCTIONS>(size_of::<T>(), false)],
    } {
        let memory = Memory { f, tables, axes, next, partial, exchange, kept, stages };
        Pass { t, memory, shape: &shape, sweep: &sweep, warp: t.shuffle(t.warp(), 0) }.run::<false, true, 1, FUNCTIONS>(reversed != 0);
    }
}

kernel! {
    /// [`plane_sweep_upwind_rotating()`] of second order with van Leer's slopes.
    pub fn plane_sweep_van_leer_rotating<T: Real>(
        t, f: In<T>, tables: In<T>, axes: In<T>, next: Out<T>, partial: Out<T>; shape: FlowShape, sweep: PlaneSweep, reversed: u32,
    ) for f32, f64
    shared {
        exchange: [T; sweep.exchange::<FUNCTIONS>(&shape, size_of::<T>())],
        kept: [T; sweep.kept::<FUNCTIONS>(&shape, size_of::<T>())],
        stages: [T; sweep.staged_of::<FUNCTIONS>(size_of::<T>(), true)],
    } {
        let memory = Memory { f, tables, axes, next, partial, exchange, kept, stages };
        Pass { t, memory, shape: &shape, sweep: &sweep, warp: t.shuffle(t.warp(), 0) }.run::<true, true, 1, FUNCTIONS>(reversed != 0);
    }
}

kernel! {
    /// [`plane_sweep_upwind_rotating()`] by single cells, for planes and steps that [`PlaneSweep::narrow`] names.
    pub fn plane_sweep_narrow_upwind_rotating<T: Real>(
        t, f: In<T>, tables: In<T>, axes: In<T>, next: Out<T>, partial: Out<T>; shape: FlowShape, sweep: PlaneSweep, reversed: u32,
    ) for f32, f64
    shared {
        exchange: [T; sweep.exchange::<FUNCTIONS>(&shape, size_of::<T>())],
        kept: [T; sweep.kept::<FUNCTIONS>(&shape, size_of::<T>())],
        stages: [T; sweep.staged_of::<FUNCTIONS>(size_of::<T>(), false)],
    } {
        let memory = Memory { f, tables, axes, next, partial, exchange, kept, stages };
        Pass { t, memory, shape: &shape, sweep: &sweep, warp: t.shuffle(t.warp(), 0) }.run_narrow::<false, FUNCTIONS>(reversed != 0);
    }
}

kernel! {
    /// [`plane_sweep_van_leer_rotating()`] by single cells, for planes and steps that [`PlaneSweep::narrow`] names.
    pub fn plane_sweep_narrow_van_leer_rotating<T: Real>(
        t, f: In<T>, tables: In<T>, axes: In<T>, next: Out<T>, partial: Out<T>; shape: FlowShape, sweep: PlaneSweep, reversed: u32,
    ) for f32, f64
    shared {
        exchange: [T; sweep.exchange::<FUNCTIONS>(&shape, size_of::<T>())],
        kept: [T; sweep.kept::<FUNCTIONS>(&shape, size_of::<T>())],
        stages: [T; sweep.staged_of::<FUNCTIONS>(size_of::<T>(), true)],
    } {
        let memory = Memory { f, tables, axes, next, partial, exchange, kept, stages };
        Pass { t, memory, shape: &shape, sweep: &sweep, warp: t.shuffle(t.warp(), 0) }.run_narrow::<true, FUNCTIONS>(reversed != 0);
    }
}
