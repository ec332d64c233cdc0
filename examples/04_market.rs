//! A synthetic distribution of incomes with three peaks relaxes in two economies: with and without saving.
//!
//! The histogram is made up from three normal distributions and an exponential one; it is no survey.
//!
//!     cargo run --release --example 04_market

use rarefy::Backend;
use rarefy::isotropic::market::{Histogram, gini};
use rarefy::isotropic::{
    CollisionKernel, EnergyGrid, OperatorConfig, Relaxation, RelaxationConfig,
};

fn main() -> rarefy::Result<()> {
    let grid = EnergyGrid::new(256, 16.0)?;
    let agents = incomes()?.in_units_of_the_mean().rebin(&grid)?;
    for law in [
        CollisionKernel::Money,
        CollisionKernel::Saving { lambda: 0.5 },
    ] {
        let mut operator = OperatorConfig::new(grid, law);
        operator.compute.backend = Backend::Cpu;
        let config = RelaxationConfig {
            dt: Some(0.1), // encounters of an agent
            every: 10,
            ..RelaxationConfig::new(operator)
        };
        let mut run = Relaxation::new(config, std::slice::from_ref(&agents))?;
        println!("{law}, on {}", run.device());
        println!("  encounters     Gini   agents below half the mean");
        for _ in 0..6 {
            let p = run.states()?.remove(0);
            let poor: f64 = p[..8].iter().sum();
            println!("  {:10.1}  {:.5}   {poor:.5}", run.time(), gini(&grid, &p));
            run.advance(40)?;
        }
    }
    Ok(())
}

/// The rows of `income_synthetic.csv`.
fn incomes() -> rarefy::Result<Histogram> {
    let text = include_str!("data/income_synthetic.csv");
    let number = |text: &str| text.trim().parse::<f64>().unwrap_or(f64::NAN);
    let rows: Vec<[f64; 3]> = text
        .lines()
        .filter(|line| !line.starts_with(['#', 'x']))
        .map(|line| {
            let mut values = line.split(',').map(number);
            std::array::from_fn(|_| values.next().unwrap_or(f64::NAN))
        })
        .collect();
    Histogram::new(&rows)
}
