//! The pass of [molecules that rotate](super::rotating) in one dimension of space.

use super::layout::FlowShape;
use super::sweep_1d::{Pass, line_scratch_rotating};
use crate::kernel;

kernel! {
    /// [`line_pass_upwind()`](super::sweep_1d::line_pass_upwind()) for molecules that rotate: the functions g, h and E of one v_y are a group.
    ///
    /// **Cost**: three functions of a velocity are read and written, in `f32` 24 bytes where Shakhov's two take 16. Partial sums are 7 words a cell where Shakhov's are 5.
    pub fn line_pass_upwind_rotating<T: Real>(
        t, f: In<T>, tables: In<T>, axes: In<T>, next: Out<T>, partial: Out<T>; shape: FlowShape, groups: u32, reversed: u32,
    ) for f32, f64
    shared { scratch: [T; line_scratch_rotating(size_of::<T>())] } {
        let pass = Pass { t, f, next, tables, axes, partial, scratch, shape: &shape, groups, reversed: reversed != 0 };
        pass.rotating_line::<false>();
    }
}

kernel! {
    /// [`line_pass_upwind_rotating()`] of second order with van Leer's slopes.
    pub fn line_pass_van_leer_rotating<T: Real>(
        t, f: In<T>, tables: In<T>, axes: In<T>, next: Out<T>, partial: Out<T>; shape: FlowShape, groups: u32, reversed: u32,
    ) for f32, f64
    shared { scratch: [T; line_scratch_rotating(size_of::<T>())] } {
        let pass = Pass { t, f, next, tables, axes, partial, scratch, shape: &shape, groups, reversed: reversed != 0 };
        pass.rotating_line::<true>();
    }
}
