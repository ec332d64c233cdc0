//! Kernels of the BGK and Shakhov models with populations in 16 bits: what leaves through the faces, as in [`bgk_flow`](crate::bgk_flow).

use crate::bgk_flow::layout::FlowShape;
use crate::bgk_flow::store::Deviations;
use crate::bgk_flow::walls::{FACE_ROW_SCRATCH, near_columns, near_rows};
use crate::bgk_flow::{FACE_THREADS, Faces};
use crate::kernel;
use crate::simt::WARP;

kernel! {
    /// [`faces_along_x()`](crate::bgk_flow::faces_along_x()) of populations in 16 bits.
    pub fn faces_along_x_16(
        t, f: In<u32>, before: In<f32>, scales: In<f32>, axes: In<f32>, emissions: In<f64>, tables: InOut<f32>, found: Out<f64>;
        shape: FlowShape, faces: Faces,
    )
    shared { scratch: [f64; FACE_THREADS / WARP * 4] } {
        let f = Deviations { f, before, scales };
        near_columns(t, f, axes, emissions, tables, found, scratch, &shape, &faces);
    }
}

kernel! {
    /// [`faces_along_y()`](crate::bgk_flow::faces_along_y()) of populations in 16 bits.
    pub fn faces_along_y_16(
        t, f: In<u32>, before: In<f32>, scales: In<f32>, axes: In<f32>, tables: In<f32>, partial: Out<f64>; shape: FlowShape, faces: Faces,
    )
    shared { scratch: [f64; FACE_ROW_SCRATCH] } {
        let f = Deviations { f, before, scales };
        if faces.sloped != 0 {
            near_rows::<_, _, _, true>(t, f, axes, tables, partial, scratch, &shape, &faces);
        } else {
            near_rows::<_, _, _, false>(t, f, axes, tables, partial, scratch, &shape, &faces);
        }
    }
}
