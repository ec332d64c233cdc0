//! CUDA devices: driver, memory, launches, graphs.
//!
//! | file | content |
//! |---|---|
//! | `driver` | finding the driver library, and its errors in plain words |
//! | `choice` | devices of the driver: properties, the one that is taken, its start ahead of the first use |
//! | `device` | [`Device`]: opening, buffers, the order of the calls |
//! | `machine` | the device as a [`Machine`](crate::machine::Machine): copies and launches |
//! | `staging` | large copies to the device, through page-locked memory |
//! | `arguments` | the parameters of a launch in the layout that the driver wants |
//! | [`ptx`] | the PTX that a program embeds, and which variant a device takes |
//! | `modules` | loading PTX at first use |
//! | `nccl`, `communicator` | finding NCCL; ranks on several GPUs that exchange data by it |
//! | `event`, `graph` | measuring time, replaying a recorded series of launches |
//! | [`doctor`] | what is there, what works, what is missing and how to get it |
//!
//! The driver is loaded at run time, so one binary runs with and without a GPU. Nothing here panics where there is no
//! driver, an old one, or no device: [`Device::open`] returns [`Error::NoDevice`](crate::Error::NoDevice) with what was
//! looked for and what to do.

#![warn(missing_debug_implementations)]

mod arguments;
mod aside;
mod choice;
mod communicator;
mod device;
pub mod doctor;
mod driver;
mod event;
mod graph;
mod machine;
mod modules;
mod nccl;
mod pool;
mod post;
pub mod ptx;
mod staging;

pub use choice::{close_ahead, open_ahead};
pub use communicator::Communicator;
pub use device::{Device, DeviceBuffer};
pub use driver::CudaVersion;
pub use event::Event;
pub use graph::Graph;
pub use post::Post;
