//! Device code: one kernel.
#![no_std]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx), allow(internal_features))]

pub mod saxpy;
