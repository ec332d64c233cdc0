//! Integration tests.

mod collision;
