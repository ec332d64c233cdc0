//! The sum of Aristov et al. (2011) as they take it, term by term; the product takes the restructured one of `fast`.

mod direct;

pub use direct::*;
