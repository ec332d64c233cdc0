//! Integration tests.

mod ptx;
