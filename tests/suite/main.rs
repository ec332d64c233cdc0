//! Integration tests, in one binary so that they link fast and travel well.

mod cli;
mod collision;
mod collision_backends;
mod collision_order;
mod collision_transport;
mod emulator;
mod gpu;
mod isotropic;
mod isotropic_cli;
mod ptx;
mod support;
