//! Integration tests, in one binary so that they link fast and travel well.

mod emulator;
mod gpu;
mod ptx;
mod support;
