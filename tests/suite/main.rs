//! Integration tests, in one binary so that they link fast and travel well.

mod bgk;
mod bgk_steady;
mod cli;
mod collision;
mod collision_backends;
mod collision_batch;
mod collision_order;
mod collision_transport;
mod emulator;
mod gpu;
mod isotropic;
mod isotropic_cli;
mod longman;
mod longman_cli;
mod longman_gpu;
mod longman_paper;
mod ptx;
mod signed_digit_decimal;
mod signed_digit_dft;
mod signed_digit_dft_cli;
mod signed_digit_float;
mod signed_digit_float_cli;
mod signed_digit_integer;
mod signed_digit_radix10;
mod support;
mod threads;
