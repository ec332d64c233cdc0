//! Integrals to infinity of a function that oscillates: of a closure, of an expression for many parameters, and of one that has no value.
//!
//!     cargo run --release --example 10_oscillating_integrals

use rarefy::longman::{Oscillator, Settings, Status, Task, integrate_oscillating};
use rarefy::{Backend, Precision};

fn main() -> rarefy::Result<()> {
    let settings = Settings::default();

    // int_0^inf J_0(2 x) x / (x^2 + 1) dx = K_0(2)
    let found = integrate_oscillating(
        |x| x / (x * x + 1.0),
        Oscillator::BesselJ(0.0),
        2.0,
        0.0,
        &settings,
    )?;
    println!(
        "a closure      {:.16} +- {:.0e}, {:?}",
        found.value, found.error, found.status
    );

    // The same for a thousand pairs of parameters, by name, on the GPU if there is one.
    let task = Task::oscillating("x/(x^2+p^2)", "bessel:0", "xi", &[])?;
    let rows: Vec<f64> = (0..1000)
        .flat_map(|k| {
            [
                0.5 + 0.01 * f64::from(k % 100),
                1.0 + 0.3 * f64::from(k / 100),
            ]
        })
        .collect();
    let machine = Backend::Auto.resolve()?;
    let all = task.integrate_on(&machine, &[0.0; 1000], &rows, &settings, Precision::F64)?;
    let good = all.iter().filter(|found| found.status == Status::Ok);
    let worst = good
        .clone()
        .map(|found| found.error / found.value.abs())
        .fold(0.0, f64::max);
    println!(
        "an expression  {} of {} OK, largest estimate {worst:.0e} of the value",
        good.count(),
        all.len()
    );

    // cos(x) (1 + x) oscillates ever wider: no value is given, and the status says why.
    let found = integrate_oscillating(|x| 1.0 + x, Oscillator::Cos, 1.0, 0.0, &settings)?;
    println!("no integral    {:?}, value {}", found.status, found.value);
    Ok(())
}
