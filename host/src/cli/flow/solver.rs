//! The solver for a flow in time: a model, or the collision integral.

use super::time_loop::patience;
use super::{Run, Saved, SavedState, Snapshot, looked_as_array};
use crate::bgk::boltzmann::{self, FlowConfig, Stepping};
use crate::bgk::{Moments, Simulation, Space, VelocitySpace};
use crate::cli::checkpoint::Arrays;
use crate::cli::ranks;
use crate::error::Result;

/// Steps within which the residual of a shock by the collision integral must halve.
const SHOCK_PATIENCE: u64 = 600;

/// A run in time; by the collision integral with what was found while it was prepared.
pub(in crate::cli) enum Solver<S> {
    Model(Box<Simulation>),
    Boltzmann(Box<boltzmann::Flow>, S),
}

impl<S> Solver<S> {
    pub(in crate::cli) fn model(simulation: Simulation) -> Self {
        Self::Model(Box::new(simulation))
    }

    pub(in crate::cli) fn boltzmann(config: FlowConfig, start: S) -> Result<Self> {
        let flow = boltzmann::Flow::over(config, ranks::transport())?;
        Ok(Self::Boltzmann(Box::new(flow), start))
    }

    /// Continues from the distributions that were saved.
    pub(in crate::cli) fn resumed(config: FlowConfig, saved: Saved, start: S) -> Result<Self> {
        let mut checkpoint = boltzmann::Checkpoint {
            config,
            step: saved.step,
            distributions: Vec::new(),
            looked: saved.looked,
        };
        let transport = ranks::transport();
        let flow = match saved.state {
            SavedState::Whole(mut stored) => {
                checkpoint.distributions = stored.get("populations")?;
                boltzmann::Flow::resume_over(checkpoint, transport)
            }
            SavedState::Parts(parts) => {
                boltzmann::Flow::resume_parts(checkpoint, transport, |wanted| parts.read(wanted))
            }
        };
        Ok(Self::Boltzmann(Box::new(flow?), start))
    }
}

impl<S> Run for Solver<S> {
    fn step(&self) -> u64 {
        match self {
            Self::Model(simulation) => simulation.steps_taken(),
            Self::Boltzmann(flow, _) => flow.steps_taken(),
        }
    }
    fn time(&self) -> f64 {
        match self {
            Self::Model(simulation) => simulation.time(),
            Self::Boltzmann(flow, _) => flow.time(),
        }
    }
    fn machine(&self) -> String {
        match self {
            Self::Model(simulation) => simulation.device(),
            Self::Boltzmann(flow, _) => flow.device(),
        }
    }
    fn advance(&mut self, steps: u64) -> Result<()> {
        match self {
            Self::Model(simulation) => simulation.advance(steps),
            Self::Boltzmann(flow, _) => flow.advance(steps),
        }
    }
    fn residual(&mut self) -> Result<f64> {
        match self {
            Self::Model(simulation) => simulation.residual(),
            Self::Boltzmann(flow, _) => flow.residual(),
        }
    }
    fn space(&self) -> Space {
        match self {
            Self::Model(simulation) => Run::space(&**simulation),
            Self::Boltzmann(flow, _) => flow.config().space,
        }
    }
    fn velocities(&self) -> Result<VelocitySpace> {
        match self {
            Self::Model(simulation) => Run::velocities(&**simulation),
            Self::Boltzmann(flow, _) => flow.config().velocity_space(),
        }
    }
    fn moments(&mut self) -> Result<Vec<Moments>> {
        match self {
            Self::Model(simulation) => simulation.moments(),
            Self::Boltzmann(flow, _) => flow.moments(),
        }
    }
    fn distributions(&mut self, places: &[usize]) -> Result<Vec<f64>> {
        match self {
            Self::Model(simulation) => Run::distributions(&mut **simulation, places),
            Self::Boltzmann(flow, _) => {
                let nodes = flow.config().operator.grid.cells();
                let f = flow.state()?;
                let cells = places.iter().map(|place| &f[place * nodes..][..nodes]);
                Ok(cells.flatten().copied().collect())
            }
        }
    }
    fn patience(&self) -> Option<u64> {
        match self {
            Self::Model(simulation) => Run::patience(&**simulation),
            Self::Boltzmann(flow, _) => {
                let config = flow.config();
                match config.stepping {
                    Stepping::Split => Some(SHOCK_PATIENCE),
                    Stepping::Penalised => {
                        patience(&config.space, &config.boundaries, 1.0, config.dt)
                    }
                }
            }
        }
    }
    fn save(&mut self) -> Result<Snapshot<'_>> {
        match self {
            Self::Model(simulation) => Run::save(&mut **simulation),
            Self::Boltzmann(flow, _) => {
                let mut arrays = Arrays::new();
                if let Some(looked) = flow.checkpoint_head().looked {
                    arrays.insert("looked".into(), looked_as_array(&looked).into());
                }
                let part = if ranks::are_several() {
                    Some((flow.checkpoint_part()?, false))
                } else {
                    arrays.insert("populations".into(), flow.state()?.into());
                    None
                };
                Ok(Snapshot { arrays, part })
            }
        }
    }
}
