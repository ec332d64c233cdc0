//! The flags of `rarefy shock`, and the run in full.

use serde::{Deserialize, Serialize};

use crate::bgk::boltzmann::{Collisions, ShockWave, Stepping};
use crate::bgk::{Mach, Shock, ShockProfile, SimulationConfig, Space};
use crate::cli::flow::{self, CollisionArgs, Counts, FlowArgs, HARD_SPHERES, OMEGA};
use crate::cli::operator::Choice;
use crate::cli::record::OF_TIME;
use crate::cli::values::{count, finite, positive};
use crate::cli::verify::scaled;
use crate::collision::{CorrectionMethod, Order, Spectral};
use crate::error::{Error, Result};

const EXAMPLES: &str = "\
Examples:
  rarefy shock --mach 3 --reduced                        the reduced velocity space: seconds on a CPU
  rarefy shock --mach 1.5 --model shakhov --reduced      with the Prandtl number of a monatomic gas
  rarefy shock --mach 3 --cells 1024 --velocities 32x28x28 --scheme upwind --out shock3
  rarefy shock --mach 3 --steady --upstream 80 --length 110  the steady wave directly, without steps in time
  rarefy shock --mach 1.5 --collision boltzmann --out hs15  hard spheres, by the collision integral itself
  rarefy shock --mach 2 --collision boltzmann --steady   its steady wave in some 15 integrals of every cell
  rarefy shock --resume shock3/checkpoint.rarefy         go on where --checkpoint-every or Ctrl-C left it";

/// Compute the structure of a plane shock wave by the BGK or the Shakhov model, or by the Boltzmann equation
///
/// With --collision boltzmann molecules are hard spheres unless --molecules is given. It takes minutes on a CPU.
///
/// Units: velocity sqrt(2 R T1), time 1/nu1, length l0 = sqrt(2 R T1)/nu1 = 1.108 mean free paths of hard spheres, upstream density n1 and temperature
/// T1. Results go to --out, or to rarefy-out/shock if neither --out nor --json is given: profile.csv with x from where the density is half-way.
/// Ctrl-C saves a checkpoint.
#[derive(Clone, Debug, Serialize, Deserialize, clap::Args)]
#[serde(rename_all = "kebab-case")]
#[command(after_help = EXAMPLES)]
pub(in crate::cli) struct ShockArgs {
    /// Mach number, above 1; several, as 1.2,1.5,2,3, make a sweep: a run for each, with one table and one plot
    #[arg(long, value_name = "MA", default_value = "3", value_parser = mach)]
    pub(super) mach: Mach,
    /// Cells in space [default: ten for each l0, five with --collision boltzmann]
    #[arg(long, value_name = "N", value_parser = count)]
    pub(super) nx: Option<u64>,
    #[command(flatten)]
    #[serde(flatten)]
    pub(super) collisions: CollisionArgs,
    /// Length of the domain in l0 [default: 60, or 24 with --collision boltzmann, and more for weak and very strong shocks; or --size in m]
    #[arg(long, value_name = "L", value_parser = positive, conflicts_with = "size")]
    pub(super) length: Option<f64>,
    /// How much of it is upstream of the initial jump [default: two thirds, or seven twelfths with --collision boltzmann; less where the default length of a weak shock is longer]
    #[arg(long, value_name = "L", value_parser = positive)]
    pub(super) upstream: Option<f64>,
    /// Velocity nodes along x, and across, as 32x28x28 [default: 0.55 sqrt(T1) apart]; one number with --collision boltzmann, for a cubic
    /// grid [default: 0.5 sqrt(T1) apart]
    #[arg(long, value_name = "NXxNYxNZ")]
    pub(super) velocities: Option<Counts>,
    /// Half-width of the velocity box about both mean velocities, in square roots of their temperatures [default: 4.5, or 3.2 with
    /// --collision boltzmann]
    #[arg(long, value_name = "C", value_parser = positive)]
    pub(super) cut: Option<f64>,
    /// Integrate v_y and v_z out and keep two functions of v_x: the same result at a small part of the work
    #[arg(long)]
    pub(super) reduced: bool,
    /// Solve for the steady wave directly, without steps in time; --steps counts iterations. The models store no distribution, and their velocity space is
    /// reduced unless three numbers of --velocities say otherwise
    #[arg(long, conflicts_with_all = OF_TIME)]
    #[serde(default)]
    pub(super) steady: bool,
    #[command(flatten)]
    #[serde(flatten)]
    pub(super) shared: FlowArgs,
}
/// A Mach number.
fn mach(text: &str) -> std::result::Result<Mach, String> {
    Mach::new(finite(text)?).map_err(|error| match error {
        Error::Input { expected, .. } => format!("{expected} is needed"),
        other => other.to_string(),
    })
}

/// Defaults of the flags for one kind of collisions.
struct Usual {
    /// Lengths upstream and downstream of the jump.
    sides: [f64; 2],
    /// Share of the upstream side in a given length.
    share: f64,
    /// Cells for each l0.
    cells: f64,
    cut: f64,
    /// Exponent of the viscosity.
    omega: f64,
    /// Residual at the end of a run in time.
    residual: f64,
}

/// Distance of velocity nodes in units of the upstream sqrt(T), unless they are given.
const SPACING: f64 = 0.55;

impl ShockArgs {
    fn usual(&self) -> Usual {
        match self.collisions.collision {
            Collisions::Model => Usual {
                sides: {
                    let [upstream, downstream] = self.mach.tails();
                    [upstream.max(40.0), downstream.max(20.0)]
                },
                share: 40.0 / 60.0,
                cells: 10.0,
                cut: 4.5,
                omega: OMEGA,
                residual: flow::RESIDUAL,
            },
            // The cost of the collision integral is in the cells.
            Collisions::Boltzmann => Usual {
                sides: [14.0, 10.0].map(|side| self.mach.weak_sides().max(side)),
                share: 14.0 / 24.0,
                cells: 5.0,
                cut: ShockWave::CUT,
                omega: HARD_SPHERES,
                residual: 2e-5,
            },
        }
    }

    /// The arguments in full.
    pub(super) fn in_full(&self) -> Result<Self> {
        let of_models = [
            ("reduced", self.reduced),
            ("no-correction", self.shared.time_options.no_correction),
        ];
        (self.collisions).refuse_foreign(&self.shared.gas, &of_models, Choice::Auto)?;
        self.shared.si.check(false)?;
        let usual = self.usual();
        let mut full = self.clone();
        full.shared.gas = self
            .shared
            .gas
            .resolved(self.shared.si.omega().unwrap_or(usual.omega))?;
        let [before, after] = usual.sides;
        let given = self.length.or(self.shared.si.length()?);
        let length = given.unwrap_or(before + after);
        let upstream = given.map_or(before, |length| usual.share * length);
        let upstream = self.upstream.unwrap_or(upstream);
        if upstream >= length {
            return Err(Error::invalid(
                "--upstream",
                upstream,
                format!("a side shorter than the whole domain, {length}"),
            ));
        }
        (full.length, full.upstream) = (Some(length), Some(upstream));
        let fewest = ShockProfile::FEWEST_CELLS as u64;
        let usual_cells = ((usual.cells * length).ceil() as u64).max(fewest);
        let cells = self.nx.unwrap_or(usual_cells);
        if cells < fewest {
            return Err(Error::invalid(
                "cells",
                cells,
                format!("{fewest} cells or more, which the thickness needs"),
            ));
        }
        full.nx = Some(cells);
        full.cut = Some(self.cut.unwrap_or(usual.cut));
        if self.collisions.is_boltzmann() {
            full.complete_integral()?;
        } else {
            full.complete_model()?;
        }
        let residual = if self.steady {
            flow::residual(self.shared.common.precision, self.collisions.collision)
        } else {
            usual.residual
        };
        full.shared.time_options = full.shared.time_options.resolved(self.steady, residual)?;
        Ok(full)
    }

    /// Velocities and time step of the models.
    fn complete_model(&mut self) -> Result<()> {
        let after = self.mach.downstream();
        let nodes = |width: f64| 2 * (0.5 * width / SPACING).ceil() as usize;
        let across = nodes(2.0 * self.cut() * after.temperature.sqrt());
        let counts = match &self.velocities {
            Some(Counts(counts)) => counts.clone(),
            None => {
                let along = Shock::new(self.mach.into())?.range(self.cut());
                vec![nodes(along[1] - along[0])]
            }
        };
        let also_three = self.steady && !self.reduced;
        self.reduced |= self.steady && counts.len() < 3;
        let velocities = match (self.reduced, counts[..].to_vec()) {
            (true, counts) if counts.len() == 1 => counts,
            (true, counts) => {
                return Err(Error::invalid(
                    "--velocities",
                    Counts(counts),
                    format!(
                        "one number{}: the reduced velocity space integrates out v_y and v_z",
                        if also_three { ", or three" } else { "" }
                    ),
                ));
            }
            (false, counts) if counts.len() == 1 => vec![counts[0], across, across],
            (false, counts) if counts.len() == 3 => counts,
            (false, counts) => {
                return Err(Error::invalid(
                    "--velocities",
                    Counts(counts),
                    "one number, or three as 32x28x28",
                ));
            }
        };
        self.velocities = Some(Counts(velocities));
        // A relaxation frequency times the step of a fifth is what the accuracy of the tables in the documentation was measured with.
        let gas = self.shared.gas.gas();
        let fastest = gas.relaxation_frequency(after.density, after.temperature);
        self.shared.time_options.dt = self
            .shared
            .time_options
            .dt
            .or(Some((0.25 / fastest).min(0.05)));
        Ok(())
    }

    /// Molecules and velocities of the collision integral, which finds the time step.
    fn complete_integral(&mut self) -> Result<()> {
        CollisionArgs::check_molecules(&self.shared.gas)?;
        let usual = ShockWave::nodes(self.mach, self.cut());
        let nodes = CollisionArgs::nodes(self.velocities.as_ref(), usual)?;
        self.velocities = Some(Counts(vec![nodes; 3]));
        let obstacle = self.wave().obstacle()?;
        let usual = (Choice::Auto, CorrectionMethod::Paper);
        self.collisions.complete(usual, || obstacle);
        Ok(())
    }

    /// The same wave, in full, on other cells and velocities.
    pub(super) fn on_grid(&self, cells: usize, nodes: usize) -> Self {
        let mut fine = self.clone();
        fine.nx = Some(cells as u64);
        fine.velocities = Some(Counts(scaled(self.counts(), nodes, 2, 4)));
        if let Some(dt) = fine.shared.time_options.dt.as_mut() {
            *dt *= (self.cells() as f64 / cells as f64).min(1.0);
        }
        fine.shared
            .time_options
            .same_time(&self.shared.time_options);
        fine
    }

    pub(super) fn cut(&self) -> f64 {
        self.cut.unwrap_or(self.usual().cut)
    }

    pub(super) fn cells(&self) -> usize {
        self.nx.map_or(0, |nx| nx as usize)
    }

    /// Lengths of the domain upstream and downstream of the initial jump.
    pub(super) fn sides(&self) -> [f64; 2] {
        let [before, after] = self.usual().sides;
        let upstream = self.upstream.unwrap_or(before);
        [upstream, self.length.unwrap_or(before + after) - upstream]
    }

    pub(super) fn counts(&self) -> &[usize] {
        self.velocities
            .as_ref()
            .map_or(&[], |Counts(counts)| counts)
    }

    /// The cells of the domain.
    pub(super) fn space(&self) -> Result<Space> {
        let [before, after] = self.sides();
        Space::line(self.cells(), [-before, after])
    }

    /// The wave by the collision integral.
    pub(super) fn wave(&self) -> ShockWave {
        ShockWave {
            mach: self.mach,
            cells: self.cells(),
            sides: self.sides(),
            velocities: self.counts().first().copied().unwrap_or(0),
            cut: self.cut(),
            scattering: self.shared.gas.scattering(),
            method: self.collisions.method(),
            order: self.collisions.order.unwrap_or(Order::Fourth),
            spectral: Spectral {
                degree: self.collisions.sphere,
                ..Spectral::default()
            },
            correction: (self.collisions.correction).unwrap_or(CorrectionMethod::Paper),
            scheme: self.shared.time_options.interpolation().scheme(),
            stepping: Stepping::Split,
            dt: self.shared.time_options.dt,
            compute: self.shared.common.compute(),
        }
    }

    /// The wave by a model.
    pub(super) fn shock(&self) -> Shock {
        Shock {
            mach: self.mach,
            cells: self.cells(),
            sides: self.sides(),
            velocities: self.counts().to_vec(),
            cut: self.cut(),
            gas: self.shared.gas.gas(),
            conservative: !self.shared.time_options.no_correction,
        }
    }

    /// The same in time.
    pub(super) fn config(&self) -> Result<SimulationConfig> {
        Ok(SimulationConfig {
            scheme: self.shared.time_options.interpolation().scheme(),
            compute: self.shared.common.compute(),
            ..SimulationConfig::new(
                self.shock().problem()?,
                self.shared.time_options.dt.unwrap_or(0.0),
            )
        })
    }
}
