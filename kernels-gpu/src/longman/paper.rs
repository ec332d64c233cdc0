//! The method as the paper has it, fixed numbers of areas and of Gauss nodes, by its kernel and by a fast form of it; the product takes `driver`.

mod differences;
mod warp;

pub use differences::*;
pub use warp::*;
