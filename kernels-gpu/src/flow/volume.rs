//! Sweeps of space with bodies, over the full velocity space: a node carries one function.
//!
//! | module | content |
//! |---|---|
//! | [`gas`] | local equilibria at a node, and the moments that cells, faces and walls keep |
//! | [`cell`] | the update of one cell at one velocity |

pub mod cell;
pub mod gas;
