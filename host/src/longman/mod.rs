//! Longman (temporary heading)
pub mod expression;
pub mod quadrature;
pub mod special;
