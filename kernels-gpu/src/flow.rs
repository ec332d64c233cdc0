//! Kernels of steady flows past and through bodies: sweeps of a plane or of space whose cells bodies cut. No distribution is stored.
//!
//! The update of a cell is one body for GPUs, CPUs and the reference. Functions that these share take `FUSED`: whether a product and a sum are
//! rounded once, as on machines with fused instructions.
//!
//! | module | content |
//! |---|---|
//! | [`gas`] | local equilibria at a node, and the moments that cells, faces and walls keep |
//! | [`cell`] | the update of one cell at one velocity |
//! | [`layout`] | cells, walls and sides in memory |
//! | [`plane`] | the sweep, and the sums over its blocks |
//! | [`volume`] | the same in space, over the full velocity space |
//! | [`ring`] | the same round an axis, angle by angle |

pub mod cell;
pub mod gas;
pub mod layout;
pub mod plane;
pub mod ring;
pub mod volume;
