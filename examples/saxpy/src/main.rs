//! y += a x on the GPU, or in the emulator where there is none.

use rarefy_simt::emulator::Emulator;
use rarefy_simt::gpu::Device;
use rarefy_simt::machine::{Grid, Machine};
use saxpy_kernels::saxpy::saxpy;

/// The PTX of `kernels/`, as `build.rs` has compiled it.
#[allow(
    dead_code,
    reason = "the compiler and the hash of the sources are there too"
)]
mod own {
    use rarefy_simt::gpu::ptx::PtxModule;
    include!(concat!(env!("OUT_DIR"), "/ptx.rs"));
}

fn main() -> rarefy_simt::Result<()> {
    match Device::open(own::MODULES) {
        Ok(device) => {
            println!("on {}", device.name());
            run(&device, 1 << 24)
        }
        Err(error) => {
            println!("in the emulator, as there is no GPU: {error}");
            run(&Emulator::default(), 1000)
        }
    }
}

/// Computes y += 2 x for x = 0, 1, 2, ... and y = 1, and compares with the sums on the host.
fn run<M: Machine>(machine: &M, count: usize) -> rarefy_simt::Result<()> {
    let host: Vec<f32> = (0..count).map(|i| i as f32).collect();
    let x = machine.upload(&host)?;
    let mut y = machine.upload(&vec![1.0_f32; count])?;
    let grid = Grid::per_item(count, 256);
    let took = machine.time(&mut || {
        machine.launch(
            grid,
            saxpy {
                x: &x,
                y: &mut y,
                a: 2.0,
            },
        )
    })?;
    let mut sums = vec![0.0_f32; count];
    machine.read(&y, &mut sums)?;
    let wrong = host
        .iter()
        .zip(&sums)
        .filter(|(x, sum)| **sum != x.mul_add(2.0, 1.0));
    println!("{count} sums in {took:?}, {} of them wrong", wrong.count());
    Ok(())
}
