//! Integration tests, in one binary so that they link fast and travel well.

mod bgk;
mod bgk_steady;
mod cli;
mod collision;
mod collision_backends;
mod collision_order;
mod collision_transport;
mod emulator;
mod gpu;
mod ptx;
mod support;
