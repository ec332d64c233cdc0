//! Compiles the device crate to PTX.
