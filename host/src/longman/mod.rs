//! Longman (temporary heading)
pub mod accelerate;
pub mod expression;
pub mod oscillator;
pub mod quadrature;
pub mod special;
pub mod zeros;
