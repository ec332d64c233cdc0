//! Exact sums of floating-point numbers: the same bits for every order, machine and number of threads.
//!
//! cargo run --release --example 06_exact_sums

use rarefy::Backend;
use rarefy::signed_digit::float::{ExactAccumulator, ExactEngine, ExactSum, exact_norm};

fn main() -> rarefy::Result<()> {
    // The terms of 1 - 1/2 + 1/3 - ..., summed from either end.
    let terms: Vec<f64> = (1..=1_000_000)
        .map(|k| if k % 2 == 1 { 1.0 } else { -1.0 } / f64::from(k))
        .collect();
    let forward: f64 = terms.iter().sum();
    let backward: f64 = terms.iter().rev().sum();
    println!("in floating point  {forward} forward, {backward} backward");

    // On a GPU if there is one.
    let engine = ExactEngine::new(Backend::Auto)?;
    let sum = engine.sum(&terms)?;
    println!(
        "exactly            {}, on {}",
        sum.round::<f64>(),
        engine.device()
    );
    assert_eq!(terms.iter().rev().collect::<ExactSum>(), sum);
    println!("before rounding    {:.40}...", sum.value());

    // A sum can be saved, continued elsewhere, and merged.
    let (left, right) = terms.split_at(300_000);
    let saved = ExactAccumulator::sum(left).to_bytes();
    let mut continued = ExactAccumulator::from_bytes(&saved)?;
    continued.merge(&ExactAccumulator::sum(right));
    assert_eq!(continued, sum);

    // Nothing overflows on the way.
    println!(
        "norm               {:e}",
        exact_norm(&[3e200, 4e200, 1.2e201])
    );
    Ok(())
}
