//! The flags of flows between plates.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::Serialize;

use super::flow::{Flow, Kind};
use crate::bgk::Axis;
use crate::bgk::boltzmann::{GapCollisions, PlatesConfig};
use crate::bgk::steady::plates::Resolution;
use crate::bgk::steady::{Closure, SteadyConfig, channel};
use crate::cli::flow::{self, CollisionArgs, GasArgs, SiArgs, refused};
use crate::cli::operator::Choice;
use crate::cli::options::Common;
use crate::cli::text::kept_as_text;
use crate::cli::values::{count, finite, named, positive, whole};
use crate::cli::verify::VerifyArgs;
use crate::collision::{Mirrors, Scattering, VelocityGrid};
use crate::compute::{Backend, Devices, Precision};
use crate::error::{Error, Result};

/// Flags of `couette`, `fourier` and `poiseuille`. In full they are the parameters in the record of a run.
#[derive(Clone, Debug, Serialize, clap::Args)]
#[serde(rename_all = "kebab-case")]
pub(in crate::cli) struct PlatesArgs {
    /// Distance of the plates in units of l0 = mu0 v0 / p0: the rarefaction parameter. Several, as 0.1,1,10, make a sweep: a run for each, with one table and one plot
    #[arg(long, value_name = "D", value_parser = positive, conflicts_with = "size")]
    pub(super) delta: Option<f64>,
    /// Knudsen number; it sets --delta to (sqrt(pi)/2)/KN
    #[arg(long, value_name = "KN", value_parser = positive, conflicts_with_all = ["delta", "size"])]
    #[serde(skip)]
    pub(super) kn: Option<f64>,
    #[command(flatten)]
    #[serde(flatten)]
    pub(super) collisions: CollisionArgs,
    /// Cells between the plates; they crowd towards them [default: 200, or 60 with --collision boltzmann]
    #[arg(long, value_name = "N", value_parser = cells)]
    pub(super) cells: Option<usize>,
    /// Velocities normal to the plates of either sign, and along them: a graded half-range Gauss rule and a Gauss rule [default: 20x8, more in a thin channel]; one number with --collision boltzmann, for
    /// a cubic grid [default: 0.4 v0 apart, and half a thermal speed of the colder plate]
    #[arg(long, value_name = "N[xM]")]
    pub(super) velocities: Option<Velocities>,
    /// With --collision boltzmann: half-width of the velocity box in units of v0 [default: 4 thermal speeds of the hottest gas beyond the plates' velocities]
    #[arg(long, value_name = "V", value_parser = positive)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) vmax: Option<f64>,
    #[command(flatten)]
    #[serde(flatten)]
    pub(super) si: SiArgs,
    #[command(flatten)]
    #[serde(flatten)]
    pub(super) gas: GasArgs,
    /// Choices of the models' steady solver; flow along a channel has none of them.
    #[arg(skip)]
    #[serde(flatten)]
    of_solver: Option<SolverArgs>,
    /// Stop when an iteration changes the fields by less than this share of their range [default: 1e-9 in f64, 1e-5 in f32; 1e-6 with --collision boltzmann]
    #[arg(long, value_name = "R", value_parser = positive)]
    pub(super) until_residual: Option<f64>,
    /// Stop after so many iterations
    #[arg(long, value_name = "N", default_value_t = SteadyConfig::MOST_ITERATIONS as u64, value_parser = count)]
    pub(super) iterations: u64,
    /// Go on with an interrupted sweep: the run.json in its folder, without further options
    #[arg(long, value_name = "FILE")]
    #[serde(skip)]
    resume: Option<PathBuf>,
    #[command(flatten)]
    #[serde(flatten)]
    pub(super) verify: VerifyArgs,
    #[command(flatten)]
    #[serde(flatten)]
    pub(super) common: Common,
}

/// Flags of the models' steady solver.
#[derive(Clone, Debug, Serialize, clap::Args)]
#[serde(rename_all = "kebab-case")]
pub(in crate::cli) struct SolverArgs {
    /// Accommodation coefficient of both plates, 0 to 1
    #[arg(long, value_name = "A", default_value_t = 1.0, value_parser = finite)]
    pub(super) accommodation: f64,
    /// Solve the equation linearised about rest
    #[arg(long)]
    pub(super) linear: bool,
    /// How what leaves a cell follows from what is in it: diamond (second order) or upwind (first order)
    #[arg(long, default_value = "diamond", value_parser = named::<Closure>(&["diamond", "upwind"]))]
    pub(super) scheme: Closure,
}

impl Default for SolverArgs {
    fn default() -> Self {
        Self {
            accommodation: 1.0,
            linear: false,
            scheme: Closure::Diamond,
        }
    }
}

/// A number of cells between plates.
fn cells(text: &str) -> std::result::Result<usize, String> {
    whole(text, 4..=crate::bgk::steady::plates::MAX_CELLS)
}

/// The value of `--velocities`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Velocities {
    pub(super) normal: usize,
    pub(super) tangential: Option<usize>,
}

kept_as_text!(Velocities);

impl FromStr for Velocities {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = |text: &str| text.parse().ok().filter(|n| (3..=64).contains(n));
        let found = match text.split_once('x') {
            None => number(text).map(|normal| (normal, None)),
            Some((normal, along)) => number(normal).zip(number(along).map(Some)),
        };
        let (normal, tangential) =
            found.ok_or("use N or NxM with whole numbers from 3 to 64, such as 20x8")?;
        Ok(Self { normal, tangential })
    }
}

impl fmt::Display for Velocities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.tangential {
            Some(tangential) => write!(f, "{}x{tangential}", self.normal),
            None => self.normal.fmt(f),
        }
    }
}

impl PlatesArgs {
    /// The same with choices of the models' steady solver.
    pub(in crate::cli) fn with(&self, of_solver: &SolverArgs) -> Self {
        Self {
            of_solver: Some(of_solver.clone()),
            ..self.clone()
        }
    }

    /// The choices of the models' steady solver.
    pub(super) fn solver(&self) -> SolverArgs {
        self.of_solver.clone().unwrap_or_default()
    }

    /// Whether the equation is linearised about rest.
    pub(super) fn is_linear(&self) -> bool {
        self.solver().linear
    }

    /// Refuses flags without effect, and returns them with the values of what they leave out, and the rarefaction parameter. `drive` is the flag of what drives the flow, if it
    /// was given.
    pub(super) fn resolved(&self, flow: &Flow, drive: Option<&str>) -> Result<(Self, f64)> {
        if let Some(path) = &self.resume {
            return Err(Error::file(
                path,
                "not the run.json of a sweep; --resume is for these, since a single flow has no checkpoints",
            ));
        }
        self.si.check(true)?;
        let of_models = self.of_steady_solver();
        (self.collisions).refuse_foreign(&self.gas, &of_models, Choice::Spectral)?;
        let boltzmann = self.collisions.is_boltzmann();
        let vmax = [("vmax", self.vmax.is_some() && !boltzmann)];
        refused(
            &vmax,
            "belongs to --collision boltzmann; the models have Gauss rules",
        )?;
        if flow.kind == Kind::Poiseuille && !boltzmann {
            self.check_forced()?;
        }
        let delta = flow::rarefaction(self.delta, self.kn, self.si.length()?)?;
        let delta = delta.ok_or_else(|| {
            Error::invalid(
                "delta",
                "none",
                "--delta, --kn, or a case in SI units with --gas and --size",
            )
        })?;
        if self.is_linear() {
            self.gas.refuse_molecules_of_linear()?;
        }
        if let (true, Some(drive)) = (self.is_linear(), drive) {
            return Err(Error::invalid(
                drive,
                "given with --linear",
                "none: it has no effect on results per unit of it",
            ));
        }
        let molecules = if boltzmann {
            Scattering::HardSphere
        } else {
            flow::MODEL_MOLECULES
        };
        let mut full = Self {
            delta: Some(delta),
            gas: self.gas.resolved(&self.si, molecules, !boltzmann)?,
            cells: self.cells.or(Some(if boltzmann {
                PlatesConfig::CELLS
            } else {
                Resolution::default().cells
            })),
            ..self.clone()
        };
        full.gas.conduction.prandtl = full.gas.recorded_prandtl();
        full.until_residual = Some(full.tolerance());
        if boltzmann {
            full.complete_box(flow)?;
        } else {
            let driven = flow.driven(delta, drive);
            let usual = match (self.velocities, flow.kind) {
                (None, Kind::Poiseuille) => {
                    channel::resolution(delta, driven.force(delta), full.gas.gas())?
                }
                _ => Resolution::of(driven.drive(), self.is_linear()),
            };
            let given = self.velocities;
            full.velocities = Some(Velocities {
                normal: given.map_or(usual.normal, |given| given.normal),
                tangential: given
                    .and_then(|given| given.tangential)
                    .or(Some(usual.tangential)),
            });
        }
        Ok((full, delta))
    }

    /// Flags of the models' steady solver alone.
    fn of_steady_solver(&self) -> [(&'static str, bool); 3] {
        let SolverArgs {
            accommodation,
            linear,
            scheme,
        } = self.solver();
        [
            ("linear", linear),
            ("scheme upwind", scheme != Closure::Diamond),
            ("accommodation", accommodation != 1.0),
        ]
    }

    /// Refuses machines that a model with a force does not run on: its sweeps are on the CPU, in f64.
    fn check_forced(&self) -> Result<()> {
        let device = matches!(self.common.backend, Backend::Auto | Backend::Cpu);
        let elsewhere = [
            (
                "devices",
                self.common
                    .devices
                    .is_some_and(|devices| devices != Devices::Number(1)),
            ),
            ("backend", !device),
            ("precision f32", self.common.precision == Precision::F32),
        ];
        refused(
            &elsewhere,
            "is not there for Poiseuille flow by a model, which runs on the CPU in f64; leave it out, or use --collision boltzmann",
        )
    }

    /// Box and nodes of the collision integral.
    fn complete_box(&mut self, flow: &Flow) -> Result<()> {
        let drive = flow.drive();
        let vmax = self.vmax.unwrap_or(PlatesConfig::reach(drive));
        let nodes = match self.velocities {
            None => PlatesConfig::nodes(drive, vmax),
            Some(Velocities {
                normal,
                tangential: None,
            }) => normal,
            Some(_) => {
                return Err(Error::invalid(
                    "--velocities",
                    "two numbers",
                    "one number: the collision integral needs a cubic grid",
                ));
            }
        };
        self.vmax = Some(vmax);
        self.velocities = Some(Velocities {
            normal: nodes,
            tangential: None,
        });
        let grid = self.grid()?;
        self.collisions.complete_near_rest(&grid, &self.gas);
        Ok(())
    }

    /// The velocities of the collision integral.
    fn grid(&self) -> Result<VelocityGrid> {
        let half = self.vmax.unwrap_or_default();
        VelocityGrid::new(self.velocities().normal, -half, half)
    }

    /// Whether the flow is found by sweeps around the collisions, instead of by the models' steady solver.
    pub(super) fn sweeps_integral(&self, flow: &Flow) -> bool {
        self.collisions.is_boltzmann() || flow.kind == Kind::Poiseuille
    }

    /// The configuration of such sweeps; the arguments are in full.
    pub(super) fn around_collisions(&self, flow: &Flow) -> Result<PlatesConfig> {
        let velocities = self.velocities();
        let collisions = if self.collisions.is_boltzmann() {
            let (grid, compute) = (self.grid()?, self.common.compute());
            // The solver knows the symmetries.
            let any = Mirrors::NONE;
            let operator = self.collisions.operator(grid, &self.gas, any, compute)?;
            GapCollisions::Integral(operator)
        } else {
            let tangential = velocities.tangential.unwrap_or_default();
            let resolution = Resolution {
                cells: self.cells(),
                normal: velocities.normal,
                tangential,
            };
            let (gas, force) = (self.gas.gas(), flow.force(self.delta()));
            let velocity = channel::velocities(self.delta(), force, gas, resolution)?;
            GapCollisions::Model(gas, velocity)
        };
        let mut config = PlatesConfig::new(self.delta(), flow.drive(), collisions);
        config.force = flow.force(self.delta());
        config.cells = self.cells();
        config.tolerance = self.tolerance();
        config.iterations = usize::try_from(self.iterations).unwrap_or(usize::MAX);
        Ok(config)
    }

    /// In words, each way in which the velocities across the gap are too few.
    pub(super) fn velocity_warnings(
        &self,
        flow: &Flow,
        config: &PlatesConfig,
    ) -> Result<Vec<String>> {
        let axis = match &config.collisions {
            GapCollisions::Model(_, velocity) => velocity.x().clone(),
            GapCollisions::Integral(_) => {
                let half = self.vmax.unwrap_or_default();
                Axis::uniform(self.velocities().normal, -half, half)?
            }
        };
        let mut warnings = Vec::from_iter(axis.wall_flux_warning());
        let error = axis.channel_flow_error(self.delta());
        if flow.kind == Kind::Poiseuille && error.abs() > channel::TOLERATED {
            warnings.push(format!(
                "molecules that fly along the channel are not resolved: G is about {:.1}% too {}; use more --velocities, or a thicker gas",
                100.0 * error.abs(),
                if error < 0.0 { "low" } else { "high" }
            ));
        }
        Ok(warnings)
    }

    pub(super) fn delta(&self) -> f64 {
        self.delta.unwrap_or(1.0)
    }

    pub(super) fn cells(&self) -> usize {
        self.cells.unwrap_or_default()
    }

    pub(super) fn velocities(&self) -> Velocities {
        let usual = Resolution::default();
        self.velocities.unwrap_or(Velocities {
            normal: usual.normal,
            tangential: Some(usual.tangential),
        })
    }

    /// The change of an iteration that ends it.
    pub(super) fn tolerance(&self) -> f64 {
        match self.until_residual {
            None if self.collisions.is_boltzmann() => {
                SteadyConfig::usual_tolerance(Precision::F64, true)
            }
            _ => self.config().tolerance(),
        }
    }

    /// The library's configuration.
    pub(super) fn config(&self) -> SteadyConfig {
        SteadyConfig {
            closure: self.solver().scheme,
            rtol: self.until_residual,
            iterations: usize::try_from(self.iterations).unwrap_or(usize::MAX),
            anderson_depth: SteadyConfig::DEPTH,
            compute: self.common.compute(),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::Cli;

    fn args(line: &str) -> PlatesArgs {
        #[derive(Parser)]
        struct Plates {
            #[command(flatten)]
            plates: PlatesArgs,
        }
        Plates::try_parse_from(line.split_whitespace())
            .expect("arguments")
            .plates
    }

    /// A flow in full; of Poiseuille flow with the strength that it takes by itself.
    fn resolved(kind: Kind, strength: f64, line: &str) -> (PlatesArgs, Flow) {
        let flow = Flow { kind, strength };
        let drive = (kind != Kind::Poiseuille).then_some("--drive");
        let (full, delta) = args(line).resolved(&flow, drive).expect("plates");
        (full, flow.driven(delta, drive))
    }

    #[test]
    fn defaults_are_those_of_the_library() {
        for (kind, strength) in [(Kind::Couette, 3.0), (Kind::Fourier, 1.9)] {
            let (full, flow) = resolved(kind, strength, "rarefy --delta 1");
            let usual = Resolution::of(flow.drive(), false);
            let Velocities { normal, tangential } = full.velocities();
            assert_eq!(
                (full.cells(), normal, tangential),
                (usual.cells, usual.normal, Some(usual.tangential))
            );
            let compute = full.config().compute;
            let config = SteadyConfig {
                compute,
                ..SteadyConfig::default()
            };
            let own = SteadyConfig {
                rtol: None,
                ..full.config()
            };
            assert_eq!(own, config);
            assert_eq!(full.tolerance(), config.tolerance());
            let (full, flow) = resolved(
                kind,
                0.5 * strength,
                "rarefy --delta 1 --collision boltzmann",
            );
            let found = full.around_collisions(&flow).expect("plates");
            let reach = PlatesConfig::reach(flow.drive());
            let nodes = PlatesConfig::nodes(flow.drive(), reach);
            let grid = VelocityGrid::new(nodes, -reach, reach).expect("a grid");
            assert!(matches!(&found.collisions, GapCollisions::Integral(of) if of.grid == grid));
            let usual = PlatesConfig::new(1.0, flow.drive(), found.collisions.clone());
            assert_eq!(found, usual);
        }
        for delta in [0.01, 1.0, 100.0] {
            let line = format!("rarefy --delta {delta}");
            let (full, flow) = resolved(Kind::Poiseuille, 0.01, &line);
            assert_eq!(flow.strength, channel::gradient(delta));
            let usual = channel::resolution(delta, flow.force(delta), full.gas.gas());
            let usual = usual.expect("a resolution");
            assert_eq!(full.velocities().normal, usual.normal, "delta {delta}");
        }
    }

    /// Only the flows of the models' steady solver have its flags.
    #[test]
    fn a_channel_has_no_flags_of_the_steady_solver() {
        let parsed = |line: &str| Cli::try_parse_from(line.split_whitespace());
        assert!(parsed("rarefy poiseuille --delta 1").is_ok());
        assert!(parsed("rarefy poiseuille --delta 1 --linear").is_err());
        assert!(parsed("rarefy couette --delta 1 --linear").is_ok());
    }
}
