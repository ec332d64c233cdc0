//! Sweeps round an axis, whose cells are rings: a velocity along the axis, a speed across it, and an angle to the radius.
//!
//! A straight ray turns in its angle. So each ring passes what it has at one angle on to the next one:
//!
//! ```text
//! v_x df/dx + v_p (mu df/dr - (sin(omega)/r) df/domega) = nu (S - f),   mu = cos(omega)
//! ```
//!
//! | module | content |
//! |---|---|
//! | [`cell`] | the update of a whole ring at one velocity and angle |
//! | [`layout`] | rings, walls, sides and units of work in memory |
//! | [`sweep`] | the sweep, and the sums over its blocks |

pub mod cell;
pub mod layout;
pub mod sweep;
