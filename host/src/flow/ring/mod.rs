//! Steady flows round an axis, over the full velocity space.
//!
//! x runs along the axis, r is the distance from it. A velocity has v_x, the speed v_p across the axis, and the angle between the radius and its part across:
//! v_r = v_p mu with mu = cos(omega). Without swirl f is even in omega, which goes from 0 to pi. A straight ray turns in omega:
//!
//! ```text
//! v_x df/dx + v_p (mu df/dr - (sin(omega)/r) df/domega) = nu (S - f)
//! ```
//!
//! The recursion over the angles is that of neutron transport (E. E. Lewis, W. F. Miller, Computational Methods of Neutron Transport, 1984, chapter 4).
//! Cells are rings: those of the plane, with volumes, faces and walls weighted by 2 pi r. So is the flow a flow in space with one layer of cells, and shares
//! gas, faces, iteration and results with it.

mod check;
mod device;
mod nodes;
mod reference;
mod space;
mod sweep;

pub(in crate::flow) use device::new as sweep_on_machine;
#[cfg(test)]
pub(in crate::flow) use device::{Plan, RingSweeps};
pub(in crate::flow) use nodes::{gauss, nodes_of, spread};
pub(in crate::flow) use reference::run as sweep_in_loops;
pub(in crate::flow) use space::space_of;
pub(in crate::flow) use sweep::run as sweep_in_lanes;

#[cfg(test)]
mod tests;
