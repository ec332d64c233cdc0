//! The viscosity of a gas of hard spheres under the collision integral on a grid, against the exact one: two orders with the paper's correction, three grids.
//!
//!     cargo run --release --example 08_viscosity

use rarefy::collision::transport::{exact_viscosity, viscosity};
use rarefy::collision::{OperatorConfig, Order, Scattering, VelocityGrid};

fn main() -> rarefy::Result<()> {
    let exact = exact_viscosity(Scattering::HardSphere, 1.0).unwrap_or(f64::NAN);
    println!("exact {exact:.6}\n grid  order 2   error  order 4   error");
    for n in [12, 14, 16] {
        print!("{n:>3}^3");
        for order in [Order::Second, Order::Fourth] {
            let config = OperatorConfig {
                order,
                ..OperatorConfig::paper(VelocityGrid::new(n, -5.5, 5.5)?)
            };
            let found = viscosity(&config)?.value;
            print!(" {found:>8.5} {:>6.1}%", 100.0 * (found / exact - 1.0));
        }
        println!();
    }
    Ok(())
}
