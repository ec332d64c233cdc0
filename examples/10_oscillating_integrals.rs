//! Integrals to infinity of a function that oscillates: of a closure, of an expression for many parameters, and of one that has no value.
//!
//!     cargo run --release --example 10_oscillating_integrals

use rarefy::longman::{Status, Task};

fn main() -> rarefy::Result<()> {
    // int_0^inf J_0(2 x) x / (x^2 + 1) dx = K_0(2)
    let task = Task::function(|x, _| x / (x * x + 1.0), "bessel:0", "2", &[])?;
    let found = task.integrals().integrate()?[0];
    println!(
        "a closure      {:.16} +- {:.0e}, {:?}",
        found.value, found.error, found.status
    );

    // The same for a thousand pairs of parameters, by name, on the GPU if there is one.
    let task = Task::oscillating("x/(x^2+p^2)", "bessel:0", "xi", &[])?;
    let p: Vec<f64> = (0..1000).map(|k| 0.5 + 0.01 * f64::from(k % 100)).collect();
    let xi: Vec<f64> = (0..1000).map(|k| 1.0 + 0.3 * f64::from(k / 100)).collect();
    let integrals = task.integrals().column("p", p).column("xi", xi);
    let all = integrals.tolerance(1e-10).integrate()?;
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
    let task = Task::oscillating("1+x", "cos", "1", &[])?;
    let found = task.integrals().integrate()?[0];
    println!("no integral    {:?}, value {}", found.status, found.value);
    Ok(())
}
