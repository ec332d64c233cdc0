//! The collision integral of a distribution of one's own: here a Maxwellian with a hole around one velocity, in nitrogen-like
//! molecules (variable hard spheres, omega = 0.74).
//!
//!     cargo run --release --example 02_collide_your_own_distribution

use rarefy::collision::{CollisionOperator, Moments, OperatorConfig, Scattering, VelocityGrid};

fn main() -> rarefy::Result<()> {
    let grid = VelocityGrid::new(16, -5.0, 5.0)?;
    let config = OperatorConfig {
        scattering: Scattering::Vhs { omega: 0.74 },
        ..OperatorConfig::new(grid)
    };
    // Any finite values >= 0 in the order f[ix][iy][iz]; `sample` asks for them by velocity.
    let f = grid.sample(|[x, y, z]| {
        let square = x * x + y * y + z * z;
        let hole = (x - 1.0).powi(2) + y * y + z * z;
        (-square / 2.0).exp() * (1.0 - 0.9 * (-2.0 * hole).exp())
    });

    // The operator keeps its tables from one distribution to the next.
    let mut operator = CollisionOperator::new(config)?;
    let integral = operator.evaluate(&f)?;

    let moments = Moments::of(&grid, &f);
    println!("on {}", operator.device());
    println!(
        "density {:.6}, velocity {:.6?}, temperature {:.6}",
        moments.density, moments.velocity, moments.temperature
    );
    // The row of cells along x that is nearest to the axis.
    println!("   xi_x          f       gain       f nu          I");
    for ix in 0..grid.n() {
        let cell = grid.index(ix, grid.n() / 2, grid.n() / 2);
        let loss = f[cell] * integral.frequency[cell];
        println!(
            "{:7.4} {:10.3e} {:10.3e} {loss:10.3e} {:10.3e}",
            grid.centre(ix),
            f[cell],
            integral.gain[cell],
            integral.rate[cell]
        );
    }
    println!(
        "residuals of mass, momentum, energy: {:.0e}",
        integral
            .correction
            .residuals
            .into_iter()
            .fold(0.0, f64::max)
    );
    Ok(())
}
