//! The collision integrals of many cells of a flow at once: the tables are shared, and one launch has work for the whole machine.
//!
//!     cargo run --release --example 11_many_cells

use rarefy::collision::{CollisionOperator, OperatorConfig, VelocityGrid, initial};

fn main() -> rarefy::Result<()> {
    let grid = VelocityGrid::new(10, -5.5, 5.5)?;
    let config = OperatorConfig::new(grid);
    // A gas between a cold and a hot wall: each cell a mixture of what either sends.
    let cold = initial::maxwellian(&grid, 1.0, [0.2, 0.0, 0.0], 0.8);
    let hot = initial::maxwellian(&grid, 0.9, [-0.2, 0.0, 0.0], 1.2);
    let cells: Vec<Vec<f64>> = (0..32)
        .map(|cell| {
            let share = (f64::from(cell) + 0.5) / 32.0;
            let mixed = cold.iter().zip(&hot);
            mixed.map(|(c, h)| (1.0 - share) * c + share * h).collect()
        })
        .collect();

    let mut operator = CollisionOperator::new(config)?;
    let integrals = operator.evaluate_batch(&cells.concat())?;
    println!("{} cells on {}", cells.len(), operator.device());
    println!("cell  largest |I|  positivity bound  largest residual");
    for (cell, integral) in integrals.iter().enumerate().step_by(4) {
        let largest = integral
            .rate
            .iter()
            .fold(0.0_f64, |m, rate| m.max(rate.abs()));
        let residual = integral
            .correction
            .residuals
            .into_iter()
            .fold(0.0, f64::max);
        println!(
            "{cell:>4} {largest:>12.3e} {:>17.4} {residual:>17.0e}",
            integral.correction.largest_step
        );
    }
    Ok(())
}
