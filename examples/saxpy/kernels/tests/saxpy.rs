//! The kernel in the emulator, which checks every access: no GPU, no device toolchain.

use rarefy_simt::emulator::{Emulator, ThreadOrder};
use rarefy_simt::machine::{Grid, Machine};
use saxpy_kernels::saxpy::saxpy;

#[test]
fn every_order_of_threads_gives_the_same_sums() -> rarefy_simt::Result<()> {
    let x: Vec<f64> = (0..1000).map(f64::from).collect();
    let orders = [
        ThreadOrder::Ascending,
        ThreadOrder::Descending,
        ThreadOrder::Random(1),
    ];
    for order in orders {
        let machine = Emulator::new(order);
        let device_x = machine.upload(&x)?;
        let mut y = machine.upload(&vec![0.5; 1000])?;
        let launch = saxpy {
            x: &device_x,
            y: &mut y,
            a: 2.0,
        };
        machine.launch(Grid::per_item(1000, 128), launch)?;
        let mut sums = vec![0.0; 1000];
        machine.read(&y, &mut sums)?;
        assert!(x.iter().zip(&sums).all(|(x, sum)| *sum == 2.0 * x + 0.5));
    }
    Ok(())
}

#[test]
fn a_vector_that_is_too_short_is_found() -> rarefy_simt::Result<()> {
    let machine = Emulator::default();
    let x = machine.upload(&[1.0_f32; 10])?;
    let mut y = machine.upload(&[0.0_f32; 11])?;
    let launch = saxpy {
        x: &x,
        y: &mut y,
        a: 2.0,
    };
    let fault = machine.launch(Grid::per_item(11, 32), launch).unwrap_err();
    assert!(fault.to_string().contains("saxpy.rs"), "{fault}");
    Ok(())
}
