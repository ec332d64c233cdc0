//! Integration tests.
mod emulator;
