//! Longman (temporary heading)
pub mod expression;
pub mod special;
