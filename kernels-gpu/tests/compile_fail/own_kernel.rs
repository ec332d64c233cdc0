//! A kernel that hands any address to an entry point, without unsafe code.

use rarefy_kernels::{DeviceMemory as Machine, Kernel};
use rarefy_kernels::{Arguments, Simt};

struct Own;

impl<M: Machine> Kernel<M> for Own {
    fn entry(&self) -> &'static str {
        "collect_f32"
    }
    fn shared_bytes(&self) -> usize {
        0
    }
    fn arguments(&self, arguments: &mut impl Arguments) {
        arguments.region(0x1000, 1 << 40);
    }
    fn run<S: Simt>(&self, _: &S) {}
}

fn main() {}
