//! A synthetic distribution of incomes with three peaks relaxes in two economies: with and without saving.
//!
//! The histogram is made up from three normal distributions and an exponential one; it is no survey.
//!
//!     cargo run --release --example 04_market

use rarefy::Backend;
use rarefy::isotropic::CollisionKernel;
use rarefy::isotropic::market::{Histogram, Market, MarketConfig, Start};

fn main() -> rarefy::Result<()> {
    let incomes = Start::Histogram(incomes()?);
    for law in [
        CollisionKernel::Money,
        CollisionKernel::Saving { lambda: 0.5 },
    ] {
        let mut config = MarketConfig::on_grid(law, incomes.clone(), 256, 16.0)?;
        config.operator.compute.backend = Backend::Cpu;
        config.dt = Some(0.1); // encounters of an agent
        config.every = 10;
        let mut market = Market::new(config)?;
        println!("{law}, on {}", market.device());
        println!("  encounters     Gini   agents below half the mean");
        for _ in 0..6 {
            let poor: f64 = market.agents()?[0][..8].iter().sum();
            let (time, gini) = (market.time(), market.inequality()?[0]);
            println!("  {time:10.1}  {gini:.5}   {poor:.5}");
            market.advance(40)?;
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
