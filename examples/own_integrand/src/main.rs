//! Integrals over J_0(rho x) with an amplitude that rarefy does not know, on the GPU, or in the emulator where there is none.

use own_integrand_kernels::ring::integrate_ring;
use rarefy::emulator::Emulator;
use rarefy::gpu::Device;
use rarefy::longman::gpu::batch::{Batch, BatchConfig, Oscillation};
use rarefy::machine::Machine;

/// The PTX of `kernels/`, as `build.rs` has compiled it.
#[allow(
    dead_code,
    reason = "the compiler and the hash of the sources are there too"
)]
mod own {
    use rarefy::gpu::ptx::PtxModule;
    include!(concat!(env!("OUT_DIR"), "/ptx.rs"));
}

fn main() -> rarefy::Result<()> {
    match Device::open(own::MODULES) {
        Ok(device) => potentials(&device, 1_000_000),
        Err(error) => {
            println!("in the emulator, as there is no GPU: {error}");
            potentials(&Emulator::default(), 200)
        }
    }
}

/// The potential at many distances rho, at height z above a plate of strength q.
fn potentials<M: Machine>(machine: &M, count: usize) -> rarefy::Result<()> {
    let rho: Vec<f64> = (1..=count)
        .map(|i| 0.5 + 4.0 * i as f64 / count as f64)
        .collect();
    let (z, q) = (vec![0.3; count], vec![0.7; count]);
    let batch = Batch::<M, f64>::new(machine, &BatchConfig::new(Oscillation::Bessel(0.0)))?;
    let outcomes = batch.integrate_with(&rho, &[z, q], |grid, a| {
        Ok(machine.launch(
            grid,
            integrate_ring {
                head: a.head,
                nodes: a.nodes,
                rows: a.rows,
                frequencies: a.frequencies,
                parameters: a.parameters,
                values: a.values,
                errors: a.errors,
                conditions: a.conditions,
                codes: a.codes,
                rule: a.rule,
            },
        )?)
    })?;
    let decided = outcomes.iter().flatten().count();
    println!(
        "{decided} of {count} integrals are decided; the rest is for rarefy::longman on the CPU"
    );
    for k in [0, count / 2, count - 1] {
        if let Some(found) = outcomes[k] {
            println!(
                "rho = {:.4}: {:.15} +- {:.1e}, {}",
                rho[k], found.value, found.error, found.status
            );
        }
    }
    Ok(())
}
