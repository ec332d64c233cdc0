//! Molecules that rotate: a third function E of the velocity, their internal energy, beside g and h of a reduced velocity space.
//!
//! With d internal degrees of freedom, c = v - u, and the Maxwellian M of n, u and the temperature T* that [`Rotating`] explains,
//!
//! ```text
//! S_F = M [1 + (8/5) Q_t.c/(n T*^2) (|c|^2/T* - 5/2)]     S_E = (d/2) T_r* S_F + 4 Q_r.c/(n T*) M
//! ```
//!
//! as of V. A. Rykov (1975) and L. Wu et al., J. Fluid Mech. 763 (2015) 24, with one Maxwellian. g and h relax as in Shakhov's model. E has g's factor and
//! two rows of the tables more, for the vector of its flux. E streams as the others do, and meets them in the sums of the cells alone.
//!
//! Here are the tables and the faces; passes are in [`rotating_1d`](super::rotating_1d) and [`rotating_2d`](super::rotating_2d). All have kernels of their own, so that those of single
//! atoms carry none of this.

use super::boundary::{FACE_ROW_SCRATCH, FACE_THREADS, Faces};
use super::boundary::{fill_ghost_columns, fill_ghost_rows, outflow_x, outflow_y};
pub use super::equilibrium::Rotating;
use super::equilibrium::{Relaxing, equilibrium_scratch, relax};
use super::layout::FlowShape;
use crate::kernel;
use crate::simt::WARP;

kernel! {
    /// [`equilibrium()`](super::equilibrium::equilibrium()) of molecules that rotate: twelve sums a cell.
    pub fn equilibrium_rotating<T: Real>(
        t, partial: In<T>, axes: In<f64>, state: InOut<f64>, tables: InOut<T>; shape: FlowShape, rule: Relaxing, rotation: Rotating,
    ) for f32, f64
    shared { scratch: [f64; equilibrium_scratch(&rule)] } {
        relax::<_, _, true, true>(t, partial, axes, state, tables, scratch, &shape, &rule, Some(&rotation));
    }
}

kernel! {
    /// [`faces_along_x()`](super::boundary::faces_along_x()) of molecules that rotate; the energy is that of E too.
    pub fn faces_along_x_rotating<T: Real>(
        t, f: In<T>, axes: In<T>, tables: In<T>, partial: Out<f64>; shape: FlowShape, faces: Faces,
    ) for f32, f64
    shared { scratch: [f64; FACE_THREADS / WARP * 4] } {
        outflow_x::<_, _, true>(t, f, axes, tables, partial, scratch, &shape, &faces);
    }
}

kernel! {
    /// [`faces_along_y()`](super::boundary::faces_along_y()) of molecules that rotate.
    pub fn faces_along_y_rotating<T: Real>(
        t, f: In<T>, axes: In<T>, tables: In<T>, partial: Out<f64>; shape: FlowShape, faces: Faces,
    ) for f32, f64
    shared { scratch: [f64; FACE_ROW_SCRATCH] } {
        if faces.sloped != 0 {
            outflow_y::<_, _, true, true>(t, f, axes, tables, partial, scratch, &shape, &faces);
        } else {
            outflow_y::<_, _, false, true>(t, f, axes, tables, partial, scratch, &shape, &faces);
        }
    }
}

kernel! {
    /// [`ghosts_along_x()`](super::boundary::ghosts_along_x()) of molecules that rotate.
    pub fn ghosts_along_x_rotating<T: Real>(t, f: InOut<T>, axes: In<T>, tables: In<T>; shape: FlowShape, faces: Faces) for f32, f64 {
        fill_ghost_columns::<_, _, true>(t, f, axes, tables, &shape, &faces);
    }
}

kernel! {
    /// [`ghosts_along_y()`](super::boundary::ghosts_along_y()) of molecules that rotate.
    pub fn ghosts_along_y_rotating<T: Real>(t, f: InOut<T>, axes: In<T>, tables: In<T>; shape: FlowShape, faces: Faces) for f32, f64 {
        if faces.sloped != 0 {
            fill_ghost_rows::<_, _, true, true>(t, f, axes, tables, &shape, &faces);
        } else {
            fill_ghost_rows::<_, _, false, true>(t, f, axes, tables, &shape, &faces);
        }
    }
}
