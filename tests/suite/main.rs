//! Integration tests, in one binary so that they link fast and travel well.

mod cli;
mod collision;
mod collision_backends;
mod collision_order;
mod collision_transport;
mod emulator;
mod gpu;
mod longman;
mod longman_cli;
mod longman_gpu;
mod longman_paper;
mod ptx;
mod support;
