//! A kernel of one's own, run thread by thread on the CPU; then the same with a barrier left out, which the emulator reports.
//!
//!     cargo run --release --example 03_custom_kernel_in_the_emulator

use rarefy::emulator::{Emulator, ThreadOrder};
use rarefy::machine::{Grid, Machine};
use rarefy_kernels::kernel;

const THREADS: u32 = 64;

kernel! {
    /// out[b] = sum of the 64 elements of x that block b owns, as a tree in shared memory.
    pub fn block_sums(t, x: In<f64>, out: Out<f64>) shared { tile: [f64; THREADS] } {
        let k = t.thread_idx();
        tile.set(t, k, x.get_or(t, t.global_idx(), 0.0));
        t.sync_threads();
        let mut half = THREADS / 2;
        while half > 0 {
            if k < half {
                tile.set(t, k, tile.get(t, k) + tile.get(t, k + half));
            }
            t.sync_threads();
            half /= 2;
        }
        if k == 0 {
            out.set(t, t.block_idx() as usize, tile.get(t, 0));
        }
    }
}

kernel! {
    /// The same without the barrier between two levels of the tree.
    pub fn block_sums_in_a_hurry(t, x: In<f64>, out: Out<f64>) shared { tile: [f64; THREADS] } {
        let k = t.thread_idx();
        tile.set(t, k, x.get_or(t, t.global_idx(), 0.0));
        t.sync_threads();
        let mut half = THREADS / 2;
        while half > 0 {
            if k < half {
                tile.set(t, k, tile.get(t, k) + tile.get(t, k + half));
            }
            half /= 2;
        }
        if k == 0 {
            out.set(t, t.block_idx() as usize, tile.get(t, 0));
        }
    }
}

fn main() -> rarefy::Result<()> {
    let data: Vec<f64> = (1..=200).map(f64::from).collect();
    let grid = Grid::per_item(data.len(), THREADS);
    for order in [
        ThreadOrder::Ascending,
        ThreadOrder::Descending,
        ThreadOrder::Random(1),
    ] {
        let machine = Emulator::new(order);
        let x = machine.upload(&data)?;
        let mut out = machine.allocate(grid.blocks as usize)?;
        machine.launch(
            grid,
            block_sums {
                x: &x,
                out: &mut out,
            },
        )?;
        let mut sums = vec![0.0; grid.blocks as usize];
        machine.read(&out, &mut sums)?;
        println!("{order:?}: {sums:?}");
        assert_eq!(sums, [2080.0, 6176.0, 10272.0, 1572.0]);
    }

    let machine = Emulator::default();
    let x = machine.upload(&data)?;
    let mut out = machine.allocate(grid.blocks as usize)?;
    match machine.launch(
        grid,
        block_sums_in_a_hurry {
            x: &x,
            out: &mut out,
        },
    ) {
        Err(fault) => println!("without the barrier: {fault}"),
        Ok(()) => println!("without the barrier: nothing was found"),
    }
    Ok(())
}
