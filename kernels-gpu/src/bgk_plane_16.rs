//! Kernels of the BGK and Shakhov models in two dimensions of space with populations in 16 bits: the passes of [`bgk_plane`](crate::bgk_plane).
//!
//! What lies in memory is told in [`bgk_flow`](crate::bgk_flow). They are a file of their own, so that a run loads only what it needs.

use crate::bgk_flow::layout::FlowShape;
use crate::bgk_flow::pass::Pass;
use crate::bgk_flow::store::{Deviations, Rounded};
use crate::bgk_plane::{plane_scratch, staged};
use crate::kernel;

kernel! {
    /// [`plane_pass_upwind()`](crate::bgk_plane::plane_pass_upwind()) with populations in 16 bits.
    pub fn plane_pass_upwind_16(
        t, f: In<u32>, before: In<f32>, scales: In<f32>, clock: In<u32>, tables: In<f32>, axes: In<f32>, next: Out<u32>, partial: Out<f32>;
        shape: FlowShape, groups: u32, turned: u32,
    )
    shared {
        scratch: [f32; plane_scratch(&shape, size_of::<f32>())],
        stages: [u32; staged(size_of::<f32>()) / 2],
    } {
        let store = Rounded { read: Deviations { f, before, scales }, clock, next };
        let pass = Pass { t, store, tables, axes, partial, scratch, shape: &shape, groups, turned: turned != 0 };
        pass.plane::<false, false>(stages);
    }
}

kernel! {
    /// [`plane_pass_van_leer()`](crate::bgk_plane::plane_pass_van_leer()) with populations in 16 bits.
    pub fn plane_pass_van_leer_16(
        t, f: In<u32>, before: In<f32>, scales: In<f32>, clock: In<u32>, tables: In<f32>, axes: In<f32>, next: Out<u32>, partial: Out<f32>;
        shape: FlowShape, groups: u32, turned: u32,
    )
    shared {
        scratch: [f32; plane_scratch(&shape, size_of::<f32>())],
        stages: [u32; 0],
    } {
        let store = Rounded { read: Deviations { f, before, scales }, clock, next };
        let pass = Pass { t, store, tables, axes, partial, scratch, shape: &shape, groups, turned: turned != 0 };
        pass.plane::<true, false>(stages);
    }
}

kernel! {
    /// [`plane_pass_upwind_shakhov()`](crate::bgk_plane::plane_pass_upwind_shakhov()) with populations in 16 bits.
    pub fn plane_pass_upwind_shakhov_16(
        t, f: In<u32>, before: In<f32>, scales: In<f32>, clock: In<u32>, tables: In<f32>, axes: In<f32>, next: Out<u32>, partial: Out<f32>;
        shape: FlowShape, groups: u32, turned: u32,
    )
    shared {
        scratch: [f32; plane_scratch(&shape, size_of::<f32>())],
        stages: [u32; 0],
    } {
        let store = Rounded { read: Deviations { f, before, scales }, clock, next };
        let pass = Pass { t, store, tables, axes, partial, scratch, shape: &shape, groups, turned: turned != 0 };
        pass.plane::<false, true>(stages);
    }
}

kernel! {
    /// [`plane_pass_van_leer_shakhov()`](crate::bgk_plane::plane_pass_van_leer_shakhov()) with populations in 16 bits.
    pub fn plane_pass_van_leer_shakhov_16(
        t, f: In<u32>, before: In<f32>, scales: In<f32>, clock: In<u32>, tables: In<f32>, axes: In<f32>, next: Out<u32>, partial: Out<f32>;
        shape: FlowShape, groups: u32, turned: u32,
    )
    shared {
        scratch: [f32; plane_scratch(&shape, size_of::<f32>())],
        stages: [u32; 0],
    } {
        let store = Rounded { read: Deviations { f, before, scales }, clock, next };
        let pass = Pass { t, store, tables, axes, partial, scratch, shape: &shape, groups, turned: turned != 0 };
        pass.plane::<true, true>(stages);
    }
}
