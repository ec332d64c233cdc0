//! What a backend does for the operator, whichever it is.

use std::time::Duration;

use rarefy_kernels::isotropic::Stage;

use super::gpu::MachineEngine;
use super::host::HostEngine;
use super::{Integrator, Law, Moments, OperatorConfig, Rates, Storage, cpu};
use crate::backend::{Precision, Resolved};
use crate::emulator::Emulator;
use crate::error::Result;

/// A state as it is recorded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    /// Moments of the state.
    pub(super) moments: Moments,
    /// Largest frequency of collisions that move a particle; the time step must be below its inverse.
    pub(super) largest_frequency: f64,
}

/// States on some machine, and the means to move them on in time.
pub(super) trait Engine: Send {
    /// The machine in words.
    fn describe(&self) -> String;
    /// Replaces the states, one after the other.
    fn set_states(&mut self, f: &[f64]) -> Result<()>;
    /// The rows of the states as they are.
    fn rows(&mut self) -> Result<Vec<Row>>;
    /// Takes so many steps, and waits until they are taken.
    fn take(&mut self, integrator: Integrator, dt: f64, steps: u64) -> Result<()>;
    /// Takes `every` steps before each of so many records; returns the rows of all states of each record.
    fn advance(
        &mut self,
        integrator: Integrator,
        dt: f64,
        records: u64,
        every: u64,
    ) -> Result<Vec<Vec<Row>>>;
    /// The states.
    fn states(&mut self) -> Result<Vec<f64>>;
    /// Gain, frequency and rate of the first state.
    fn rates(&mut self) -> Result<Rates>;
    /// How long so many steps take, without copies or records.
    fn time_steps(&mut self, integrator: Integrator, dt: f64, steps: u64) -> Result<Duration>;
    /// Bytes of coefficients.
    fn table_bytes(&self) -> u64;
}

/// The stages of an integrator.
pub(super) fn stages(integrator: Integrator) -> Vec<Stage> {
    let stage = |state, sum, rate, sum_rate| Stage {
        state,
        sum,
        rate,
        sum_rate,
    };
    match integrator {
        Integrator::Euler => vec![stage(1.0, 0.0, 1.0, 0.0)],
        Integrator::Ssprk3 => vec![
            stage(1.0, 0.0, 1.0, 0.0),
            stage(0.25, 0.0, 0.25, 0.0),
            stage(2.0 / 3.0, 0.0, 2.0 / 3.0, 0.0),
        ],
        Integrator::Rk4 => vec![
            stage(0.0, 0.0, 0.5, 1.0 / 6.0),
            stage(0.0, 0.0, 0.5, 1.0 / 3.0),
            stage(0.0, 0.0, 1.0, 1.0 / 3.0),
            stage(0.0, 1.0, 1.0 / 6.0, 0.0),
        ],
    }
}

/// The engine that a configuration asks for, for `states` states at once.
pub(super) fn engine(config: &OperatorConfig, states: usize) -> Result<Box<dyn Engine>> {
    config.validate()?;
    check_memory(config)?;
    let resolved = config.backend.resolve()?;
    let name = resolved.describe();
    let host = |operator| Box::new(HostEngine::new(name.clone(), config, operator, states));
    Ok(match (resolved, config.precision) {
        (Resolved::Reference, _) => host(Box::new(cpu::Reference(config.clone()))),
        (Resolved::Cpu, Precision::F32) => host(cpu::operator::<f32>(config)),
        (Resolved::Cpu, Precision::F64) => host(cpu::operator::<f64>(config)),
        (Resolved::Emulator, Precision::F32) => Box::new(MachineEngine::<_, f32>::new(
            Emulator::default(),
            name,
            config,
            states,
        )?),
        (Resolved::Emulator, Precision::F64) => Box::new(MachineEngine::<_, f64>::new(
            Emulator::default(),
            name,
            config,
            states,
        )?),
        (Resolved::Cuda(device), Precision::F32) => {
            Box::new(MachineEngine::<_, f32>::new(device, name, config, states)?)
        }
        (Resolved::Cuda(device), Precision::F64) => {
            Box::new(MachineEngine::<_, f64>::new(device, name, config, states)?)
        }
    })
}

/// Refuses coefficients that do not fit into main memory, where all of them are made.
fn check_memory(config: &OperatorConfig) -> Result<()> {
    let counts = super::coefficients::Counts::of(config.grid.cells());
    let (elements, remedy) = match (config.law, config.storage) {
        (Law::Power { .. }, Storage::Full) => (counts.full, "use --storage pairs"),
        (Law::Power { .. }, Storage::Compact) => (
            counts.reciprocal + counts.reciprocal / 8,
            "use --storage pairs",
        ),
        _ => (2 * counts.pair, "use fewer cells"),
    };
    let bytes = match config.precision {
        Precision::F32 => 4,
        Precision::F64 => 8,
    };
    Ok(crate::memory_plan::check_host(
        &format!("the table of {elements} coefficients"),
        elements.saturating_mul(bytes),
        remedy,
    )?)
}
