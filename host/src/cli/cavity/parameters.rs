//! The flags of `rarefy cavity`, and the run in full.

use serde::{Deserialize, Serialize};

use crate::accuracy::scaled;
use crate::bgk::boltzmann::{FlowConfig, Initial, Stepping};
use crate::bgk::errors::in_box;
use crate::bgk::steady::plates::LEAST_DRIVE;
use crate::bgk::steady::{Nodes, SteadyProblem};
use crate::bgk::{Axis, Cavity, SimulationConfig, State};
use crate::cli::flow::{self, CollisionArgs, Counts, FlowArgs, MODEL_MOLECULES};
use crate::cli::operator::Choice;
use crate::cli::record::OF_TIME;
use crate::cli::text::name_of;
use crate::cli::values::{count, finite, named, positive};
use crate::collision::{Mirrors, Scattering, VelocityGrid};
use crate::error::{Error, Result};

const EXAMPLES: &str = "\
Examples:
  rarefy cavity --delta 1                                     the steady flow: seconds on a CPU
  rarefy cavity --delta 1 --cells 40 --in-time --reduced      steps in time, in the reduced velocity space: a minute on a CPU
  rarefy cavity --delta 10 --cells 160 --velocities 20x20x20 --scheme upwind --precision f32 --out cavity10
  rarefy cavity --delta 1 --cells 160 --linear                the equation linearised about rest
  rarefy cavity --gas nitrogen --pressure 100 --temperature 300 --size 1e-3   in SI units; molecules that rotate
  rarefy cavity --delta 10 --cells 64 --collision boltzmann --precision f32   hard spheres, by some 20 integrals of every cell: on a GPU
  rarefy cavity --resume cavity10/checkpoint.rarefy       go on where --checkpoint-every or Ctrl-C left it";

/// Compute the flow in a square cavity whose lid moves
///
/// Units: velocity v0 = sqrt(2 R T0), length l0 = v0/nu0, pressure and shear stress rho0 v0^2 = 2 p0; delta is the side in l0, (sqrt(pi)/2)/Kn. The walls have the temperature of the gas at
/// rest. With --collision boltzmann steps take relaxation to the local Maxwellian as implicit, so that collisions do not bound them; molecules are hard spheres unless
/// --molecules says otherwise. Results go to --out, or to rarefy-out/cavity if neither --out nor --json is given. Ctrl-C saves a checkpoint.
#[derive(Clone, Debug, Serialize, Deserialize, clap::Args)]
#[serde(rename_all = "kebab-case")]
#[command(after_help = EXAMPLES)]
pub(in crate::cli) struct CavityArgs {
    /// Rarefaction parameter: the side of the square in units of l0; several, as 0.1,1,10, make a sweep: a run for each, with one table and one plot [default: 1, or --size in m]
    #[arg(long, value_name = "D", value_parser = finite, conflicts_with = "size")]
    pub(super) delta: Option<f64>,
    /// Knudsen number; it sets --delta to (sqrt(pi)/2)/KN
    #[arg(long, value_name = "KN", value_parser = positive, conflicts_with_all = ["delta", "size"])]
    #[serde(skip)]
    pub(super) kn: Option<f64>,
    /// Cells along a side
    #[arg(long, value_name = "N", default_value_t = Cavity::CELLS as u64, value_parser = count)]
    pub(super) cells: u64,
    #[command(flatten)]
    #[serde(flatten)]
    pub(super) collisions: CollisionArgs,
    /// Velocity nodes along x, y and z, as 20x20x20 [default in time: 20x20x20, or 20x20 with --reduced]; of the steady flow --quadrature says what they are; one number with --collision boltzmann, for a cubic grid [default: 20]
    #[arg(long, value_name = "NXxNYxNZ")]
    pub(super) velocities: Option<Counts>,
    /// Half-width of the velocity box of --quadrature midpoint, which this implies [default: 4.5, or 4 with --collision boltzmann]
    #[arg(long, value_name = "V", value_parser = positive)]
    pub(super) vmax: Option<f64>,
    /// Integrate v_z out and keep two functions of v_x and v_y: the same result at a tenth of the work
    #[arg(long)]
    pub(super) reduced: bool,
    /// Solve for the steady flow directly, without steps in time, as without flags of time; --steps counts iterations. The models store no distribution, and their velocity space is
    /// reduced
    #[arg(long, conflicts_with_all = OF_TIME)]
    pub(super) steady: bool,
    /// Solve for the steady flow of the equation linearised about rest
    #[arg(long, conflicts_with_all = OF_TIME, conflicts_with = "in_time")]
    pub(super) linear: bool,
    /// Velocity nodes: half-range Gauss rules along x and y, which wall fluxes want, or midpoints of a box; of the steady flow also directions and Gauss
    /// speeds (--velocities ANGLESxSPEEDS, angles of a quadrant) [default: half-range, or midpoint with --vmax, or polar for the steady flow]
    #[arg(long, value_name = "RULE", value_parser = named::<Quadrature>(&["polar", "half-range", "midpoint"]))]
    pub(super) quadrature: Option<Quadrature>,
    /// Speed of the lid; the flow is linear in it to a thousandth up to 0.02
    #[arg(long, value_name = "U", default_value_t = Cavity::LID, value_parser = finite)]
    pub(super) lid: f64,
    /// Accommodation coefficient of the walls, 0 to 1: the share of diffuse reflections
    #[arg(long, value_name = "A", default_value_t = 1.0, value_parser = finite)]
    pub(super) accommodation: f64,
    #[command(flatten)]
    #[serde(flatten)]
    pub(super) shared: FlowArgs,
}

/// How the velocities of the steady mode are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Quadrature {
    Polar,
    HalfRange,
    Midpoint,
}

impl Quadrature {
    /// Numbers of nodes of a steady flow that are not given.
    fn counts(self, delta: f64) -> Vec<usize> {
        let [_, half_range, midpoint] = Cavity::NODES;
        match self {
            Self::Polar => Cavity::directions(delta).to_vec(),
            Self::HalfRange => vec![half_range; 2],
            Self::Midpoint => vec![midpoint; 2],
        }
    }
}
impl CavityArgs {
    /// The arguments in full.
    pub(super) fn in_full(&self) -> Result<Self> {
        if self.steady && self.linear {
            self.shared.gas.refuse_molecules_of_linear()?;
        }
        self.shared.si.check(true)?;
        let other_rule = self
            .quadrature
            .is_some_and(|rule| rule != Quadrature::Midpoint);
        let of_models = [
            ("reduced", self.reduced),
            ("linear", self.linear),
            ("no-correction", self.shared.time_options.no_correction),
            ("quadrature", other_rule),
        ];
        (self.collisions).refuse_foreign(&self.shared.gas, &of_models, Choice::Spectral)?;
        let boltzmann = self.collisions.is_boltzmann();
        let [of_models, of_integral] = Cavity::REACH;
        let (vmax, molecules) = if boltzmann {
            (of_integral, Scattering::HardSphere)
        } else {
            (of_models, MODEL_MOLECULES)
        };
        let mut full = self.clone();
        full.quadrature = Some(self.chosen_quadrature()?);
        full.vmax = Some(self.vmax.unwrap_or(vmax));
        full.shared.gas = self
            .shared
            .gas
            .resolved(&self.shared.si, molecules, !boltzmann)?;
        let rotates = full.shared.gas.gas().rotating().is_some();
        full.reduced |= (self.steady || rotates) && !boltzmann;
        let delta = flow::rarefaction(self.delta, self.kn, self.shared.si.length()?)?;
        full.delta = Some(delta.unwrap_or(1.0));
        full.velocities = Some(full.complete_velocities()?);
        if boltzmann {
            full.collisions
                .complete_near_rest(&full.grid()?, &full.shared.gas);
        }
        let residual = if self.steady || boltzmann {
            flow::residual(self.shared.common.precision, self.collisions.collision)
        } else {
            SimulationConfig::RESIDUAL
        };
        full.shared.time_options = self.shared.time_options.resolved(self.steady, residual)?;
        if full.shared.time_options.dt.is_none() {
            full.shared.time_options.dt = Some(if boltzmann {
                0.5 * full.by_integral()?.crossing_step()?
            } else {
                full.cavity()?.time_step()
            });
        }
        Ok(full)
    }

    /// The rule of the velocity nodes, which flags may imply.
    fn chosen_quadrature(&self) -> Result<Quadrature> {
        let quadrature = self.quadrature.unwrap_or(
            match (
                self.steady,
                self.vmax.is_some() || self.collisions.is_boltzmann(),
            ) {
                (_, true) => Quadrature::Midpoint,
                (true, false) => Quadrature::Polar,
                (false, false) => Quadrature::HalfRange,
            },
        );
        if quadrature == Quadrature::Polar && !self.steady {
            return Err(Error::invalid(
                "--quadrature",
                "polar in time",
                "half-range or midpoint in time",
            ));
        }
        if let (Some(_), false) = (self.vmax, quadrature == Quadrature::Midpoint) {
            return Err(Error::invalid(
                "--vmax",
                format!("given with --quadrature {}", name_of(&quadrature)),
                "one of the two alone: --vmax is the box of --quadrature midpoint",
            ));
        }
        Ok(quadrature)
    }

    /// Numbers of velocity nodes along all axes; the rest of the arguments is in full.
    fn complete_velocities(&self) -> Result<Counts> {
        let quadrature = self.quadrature();
        if self.collisions.is_boltzmann() {
            let nodes = CollisionArgs::nodes(self.velocities.as_ref(), Cavity::NODES[0])?;
            return Ok(Counts(vec![nodes; 3]));
        }
        let counts = match (&self.velocities, self.steady) {
            (Some(Counts(counts)), _) => counts.clone(),
            (None, true) => quadrature.counts(self.delta()),
            (None, false) => vec![Cavity::NODES[0]; if self.reduced { 2 } else { 3 }],
        };
        let velocities = match (self.reduced, counts.len()) {
            (true, 1) => vec![counts[0]; 2],
            (true, 2) => counts,
            (true, _) => {
                return Err(Error::invalid(
                    "--velocities",
                    Counts(counts),
                    if self.steady {
                        "one number or two: a steady flow integrates out v_z; three are for --in-time"
                    } else if self.shared.gas.gas().rotating().is_some() {
                        "one number or two: of molecules that rotate v_z is integrated out"
                    } else {
                        "one number or two: --reduced integrates out v_z"
                    },
                ));
            }
            (false, 1) => vec![counts[0]; 3],
            (false, 3) => counts,
            (false, _) => {
                return Err(Error::invalid(
                    "--velocities",
                    "two numbers",
                    "one number, or three as 20x20x20; two need --reduced",
                ));
            }
        };
        let mut along = velocities.iter().take(2);
        match along.find(|n| quadrature == Quadrature::HalfRange && !n.is_multiple_of(2)) {
            Some(odd) => Err(Error::invalid(
                "--velocities",
                odd,
                "even numbers along x and y: half-range rules have as many nodes on both sides of 0",
            )),
            None => Ok(Counts(velocities)),
        }
    }

    /// Refuses a lid whose effect on a nonlinear flow is roundoff.
    fn check_drive(&self) -> Result<()> {
        if self.linear || self.lid == 0.0 || self.lid.abs() >= LEAST_DRIVE {
            return Ok(());
        }
        Err(Error::invalid(
            "--lid",
            format!("{:e}", self.lid),
            format!(
                "at least {LEAST_DRIVE:e}, or --linear: less is lost in the roundoff of a nonlinear flow"
            ),
        ))
    }

    /// The same cavity, in full, on other cells and velocities, and in another box. Steps in time become shorter where the cells demand it.
    pub(super) fn on_grid(&self, cells: usize, nodes: usize, extent: usize) -> Result<Self> {
        let mut fine = self.clone();
        fine.cells = cells as u64;
        let counts = match self.polar() {
            Some(counts) => scaled(&counts, nodes, 1, 4),
            None => scaled(self.counts(), nodes, 2, 4),
        };
        let (counts, wider) = in_box(&counts, extent)?;
        fine.velocities = Some(Counts(counts));
        fine.vmax = self.vmax.map(|half| wider * half);
        if self.steady {
            return Ok(fine);
        }
        let options = &mut fine.shared.time_options;
        if let Some(dt) = options.dt.as_mut() {
            *dt *= (self.cells as f64 / cells as f64).min(1.0);
        }
        if let (false, Some(dt)) = (self.collisions.is_boltzmann(), fine.shared.time_options.dt) {
            fine.shared.time_options.dt = Some(dt.min(fine.cavity()?.time_step()));
        }
        fine.shared
            .time_options
            .same_time(&self.shared.time_options);
        Ok(fine)
    }

    pub(super) fn delta(&self) -> f64 {
        self.delta.unwrap_or(1.0)
    }

    pub(super) fn cells(&self) -> usize {
        self.cells as usize
    }

    pub(super) fn counts(&self) -> &[usize] {
        self.velocities
            .as_ref()
            .map_or(&[], |Counts(counts)| counts)
    }

    /// Whether the velocities of a run in full are those of a box.
    pub(super) fn is_in_box(&self) -> bool {
        self.collisions.is_boltzmann() || self.quadrature() == Quadrature::Midpoint
    }

    /// The rule of a run in full.
    fn quadrature(&self) -> Quadrature {
        self.quadrature.unwrap_or(Quadrature::Midpoint)
    }

    /// Directions of a quadrant and speeds, where these are the nodes.
    pub(super) fn polar(&self) -> Option<[usize; 2]> {
        match (self.quadrature(), self.counts()) {
            (Quadrature::Polar, &[angles, speeds]) => Some([angles, speeds]),
            _ => None,
        }
    }

    /// The cavity.
    pub(super) fn cavity(&self) -> Result<Cavity> {
        self.check_drive()?;
        let vmax = self.vmax.unwrap_or(Cavity::REACH[0]);
        let axis = |(d, &n): (usize, &usize)| match self.quadrature() {
            // Nothing streams along z.
            Quadrature::HalfRange if d == 2 => Axis::hermite(n),
            Quadrature::HalfRange => Axis::half_range(n / 2, 1),
            // The nodes of directions are not on axes; a box has axes where these are asked for.
            Quadrature::Polar => Axis::uniform(32, -vmax, vmax),
            Quadrature::Midpoint => Axis::uniform(n, -vmax, vmax),
        };
        let axes = self.counts().iter().enumerate().map(axis);
        Ok(Cavity {
            lid: self.lid,
            accommodation: self.accommodation,
            gas: self.shared.gas.gas(),
            conservative: !self.shared.time_options.no_correction,
            ..Cavity::with_axes(self.delta(), self.cells(), axes.collect::<Result<_>>()?)?
        })
    }

    /// The velocities of the collision integral.
    fn grid(&self) -> Result<VelocityGrid> {
        let half = self.vmax.unwrap_or(Cavity::REACH[0]);
        let nodes = self.counts().first().copied().unwrap_or(0);
        VelocityGrid::new(nodes, -half, half)
    }

    /// The flow by the collision integral, in time; it has no start yet.
    fn by_integral(&self) -> Result<FlowConfig> {
        let problem = self.cavity()?.problem()?;
        let grid = self.grid()?;
        // Nothing moves along z.
        let mirrors = Mirrors {
            z: true,
            ..Mirrors::NONE
        };
        let compute = self.shared.common.compute();
        Ok(FlowConfig {
            space: problem.space,
            operator: self
                .collisions
                .operator(grid, &self.shared.gas, mirrors, compute)?,
            drift: 0.0,
            boundaries: problem.boundaries,
            incoming: Default::default(),
            scheme: self.shared.time_options.interpolation().scheme(),
            stepping: Stepping::Penalised,
            dt: self.shared.time_options.dt.unwrap_or(0.0),
            initial: Initial::States(Vec::new()),
        })
    }

    /// The same from rest.
    pub(super) fn flow_config(&self) -> Result<FlowConfig> {
        let mut config = self.by_integral()?;
        config.start(|_, _| State::REST)?;
        Ok(config)
    }

    /// The flow by a model, in time.
    pub(super) fn config(&self) -> Result<SimulationConfig> {
        Ok(SimulationConfig {
            scheme: self.shared.time_options.interpolation().scheme(),
            relaxed: false,
            compute: self.shared.common.compute(),
            ..SimulationConfig::new(
                self.cavity()?.problem()?,
                self.shared.time_options.dt.unwrap_or(0.0),
            )
        })
    }

    /// The steady problem.
    pub(super) fn steady_case(&self) -> Result<SteadyProblem> {
        if self.collisions.is_boltzmann() {
            return self.flow_config()?.steady();
        }
        let mut case = SteadyProblem::from(&self.cavity()?.problem()?);
        if let Some([angles, speeds]) = self.polar() {
            case.nodes = Nodes::polar(angles, speeds)?;
        }
        case.linear = self.linear;
        Ok(case)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::bgk::boltzmann::Collisions;
    use crate::cli::flow::Flow;
    use crate::cli::{Cli, Command};

    fn resolved(flags: &str) -> CavityArgs {
        let line = format!("rarefy cavity {flags}");
        let cli = Cli::try_parse_from(line.split_whitespace()).expect("arguments");
        match cli.command {
            Some(Command::Cavity(args)) => args.resolved().expect("a cavity"),
            _ => unreachable!("the command is cavity"),
        }
    }

    #[test]
    fn defaults_are_those_of_the_library() {
        for delta in [0.1, 1.0, 10.0] {
            let full = resolved(&format!("--delta {delta}"));
            assert!(full.steady);
            assert_eq!(full.polar(), Some(Cavity::directions(delta)));
            let usual = Cavity::new(delta, Cavity::CELLS, &[8, 8]).expect("a cavity");
            let found = full.cavity().expect("a cavity");
            let axes = found.axes.clone();
            assert_eq!(found, Cavity { axes, ..usual });
        }
        let full = resolved("--in-time");
        let axis = Axis::half_range(Cavity::NODES[0] / 2, 1).expect("an axis");
        assert_eq!(
            full.cavity().expect("a cavity").axes[..2],
            [axis.clone(), axis]
        );
        let full = resolved("--collision boltzmann");
        let [_, reach] = Cavity::REACH;
        let grid = VelocityGrid::new(Cavity::NODES[0], -reach, reach).expect("a grid");
        assert_eq!(full.grid().expect("a grid"), grid);
        assert_eq!(
            full.shared.time_options.until_residual,
            Some(flow::residual(
                full.shared.common.precision,
                Collisions::Boltzmann
            ))
        );
    }

    #[test]
    fn a_linear_flow_is_steady() {
        let full = resolved("--linear --steps 5");
        assert!(full.steady && full.linear);
    }
}
