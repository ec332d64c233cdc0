//! Integration tests.

mod gpu;
mod support;
