//! The arrangement of A. Frezzotti, G. P. Ghiroldi and L. Gibelli (2009): two kernels a step, which the fused pass is measured against.

pub mod two_kernel;
