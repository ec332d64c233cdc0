//! Sweeps of space with bodies, over the full velocity space: a node carries one function.
//!
//! | module | content |
//! |---|---|
//! | [`gas`] | local equilibria at a node, and the moments that cells, faces and walls keep |
//! | [`cell`] | the update of one cell at one velocity |
//! | [`beam`] | the parts of both that velocities with the same v_x and v_y share |
//! | [`layout`] | cells, walls, sides and batches in memory |
//! | [`sweep`] | the sweep, and the sums over its blocks |

pub mod beam;
pub mod cell;
pub mod gas;
pub mod layout;
pub mod sweep;
