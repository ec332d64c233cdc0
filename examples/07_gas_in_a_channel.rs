//! Gas between plates that slide past each other, from nearly free molecules to a viscous fluid: the stress on a plate.
//!
//!     cargo run --release --example 07_gas_in_a_channel

use rarefy::Backend;
use rarefy::bgk::Gas;
use rarefy::bgk::steady::plates::{Drive, Resolution, plates};
use rarefy::bgk::steady::{SteadyConfig, solve};

fn main() -> rarefy::Result<()> {
    let config = SteadyConfig {
        compute: Backend::Auto.into(),
        ..SteadyConfig::default()
    };
    let resolution = Resolution {
        cells: 60,
        normal: 12,
        tangential: 6,
    };
    println!("    delta  stress/(p0 U/v0)  of free molecules  iterations");
    for delta in [0.01, 0.1, 1.0, 10.0] {
        // Linear in the velocity of the plates, which therefore is 1; the plates reflect diffusely.
        let case = plates(
            delta,
            Drive::Couette(1.0),
            Gas::default(),
            1.0,
            resolution,
            true,
        )?;
        let flow = solve(&case, &config)?;
        let stress = -2.0 * flow.exchange[1][0].shear;
        // Without collisions the stress is 1/sqrt(pi).
        let of_free = stress * std::f64::consts::PI.sqrt();
        println!(
            "{delta:9} {stress:17.6} {of_free:18.4} {:11}",
            flow.residuals.len()
        );
        assert!(stress > 0.0 && of_free < 1.0);
    }
    Ok(())
}
