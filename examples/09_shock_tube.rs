//! A problem of one's own in time: Sod's shock tube for a dense and for a rarefied gas.
//!
//!     cargo run --release --example 09_shock_tube

use rarefy::bgk::{
    Axis, Boundaries, Boundary, Gas, Problem, Simulation, SimulationConfig, Space, State,
    VelocitySpace,
};

fn main() -> rarefy::Result<()> {
    let (left, right) = (
        State::along_x(1.0, 0.0, 1.0),
        State::along_x(0.125, 0.0, 0.8),
    );
    for (name, half_length) in [("dense", 50.0), ("rarefied", 0.5)] {
        // Lengths are in mean free paths of the gas on the left, times in its mean free times.
        let problem = Problem::new(
            Space::line(200, [-half_length, half_length])?,
            // v_y and v_z are integrated out.
            VelocitySpace::new(vec![Axis::uniform(32, -5.0, 5.0)?], 1)?,
            Gas::default(),
            Boundaries::line(Boundary::Inflow(left), Boundary::Inflow(right)),
            |x, _| if x < 0.0 { left } else { right },
        )?;
        let step = 0.002 * half_length;
        let mut run = Simulation::new(SimulationConfig::new(problem, step))?;
        // Until the shock is halfway to the end.
        run.advance(200)?;
        println!(
            "{name}: tube of {} mean free paths at time {:.2}, on {}",
            2.0 * half_length,
            run.time(),
            run.device()
        );
        println!("       x/L   density  velocity  temperature");
        let moments = run.moments()?;
        let cells = moments.len();
        for (i, at) in moments
            .iter()
            .enumerate()
            .skip(cells / 20)
            .step_by(cells / 10)
        {
            let x = (i as f64 + 0.5) / cells as f64 - 0.5;
            println!(
                "{x:10.3} {:9.4} {:9.4} {:12.4}",
                at.density, at.velocity[0], at.temperature
            );
        }
    }
    Ok(())
}
