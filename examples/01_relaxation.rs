//! Two beams of hard spheres relax to a Maxwellian: the state every few steps, and what is conserved.
//!
//!     cargo run --release --example 01_relaxation

use rarefy::collision::{
    OperatorConfig, Relaxation, RelaxationConfig, Until, VelocityGrid, initial::TwoMaxwellians,
};

fn main() -> rarefy::Result<()> {
    let grid = VelocityGrid::new(16, -6.5, 6.5)?;
    let beams = TwoMaxwellians::default();
    // By default steps of half the largest that keeps f >= 0.
    let config = RelaxationConfig::new(OperatorConfig::new(grid), Until::Time(2.0));
    let mut run = Relaxation::new(config, beams.sample(&grid))?;
    println!("on {}", run.device());
    println!("  time     P_xx     P_yy          H");
    while !run.is_done() {
        let row = run.step()?;
        if row.step % 10 == 0 || run.is_done() {
            let [xx, yy, ..] = row.moments.pressure;
            let entropy = row.moments.entropy;
            println!("{:6.3} {xx:8.5} {yy:8.5} {entropy:10.6}", row.time);
        }
    }

    let equilibrium = beams.equilibrium_temperature();
    println!(
        "at the end  P_xx = P_yy = {equilibrium:.2},  H = {:.6}",
        beams.equilibrium_entropy()
    );
    let (first, last) = (
        run.history()[0].moments,
        run.history()[run.history().len() - 1].moments,
    );
    println!(
        "drift of density {:.0e}, of temperature {:.0e}",
        (last.density / first.density - 1.0).abs(),
        (last.temperature / first.temperature - 1.0).abs()
    );
    Ok(())
}
