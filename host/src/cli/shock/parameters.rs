//! The flags of `rarefy shock`, and the run in full.

use serde::{Deserialize, Serialize};

use crate::accuracy::EXTENT;
use crate::bgk::boltzmann::{Collisions, ShockWave, Stepping};
use crate::bgk::{Mach, Shock, ShockProfile, SimulationConfig, Space};
use crate::cli::flow::{self, CollisionArgs, Counts, FlowArgs, MODEL_MOLECULES};
use crate::cli::operator::Choice;
use crate::cli::record::OF_TIME;
use crate::cli::values::{count, finite, positive};
use crate::collision::{CorrectionMethod, Order, Scattering, Spectral};
use crate::error::{Error, Result};

const EXAMPLES: &str = "\
Examples:
  rarefy shock --mach 3                                  the steady wave: a second on a CPU
  rarefy shock --mach 1.5 --model shakhov                with the Prandtl number of a monatomic gas
  rarefy shock --mach 3 --in-time --reduced              steps in time, in the reduced velocity space
  rarefy shock --mach 3 --cells 1024 --velocities 32x28x28 --scheme upwind --out shock3
  rarefy shock --mach 2 --collision boltzmann --out hs2  hard spheres, by some 15 integrals of every cell
  rarefy shock --mach 1.5 --collision boltzmann --in-time  the same in time
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
    pub(super) cells: Option<u64>,
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
    pub(super) vmax: Option<f64>,
    /// Integrate v_y and v_z out and keep two functions of v_x, three of molecules that rotate: the same result at a small part of the work [default with --model polyatomic]
    #[arg(long)]
    pub(super) reduced: bool,
    /// Solve for the steady wave directly, without steps in time, as without flags of time; --steps counts iterations. The models store no distribution, and their velocity space is
    /// reduced unless three numbers of --velocities say otherwise
    #[arg(long, conflicts_with_all = OF_TIME)]
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
    molecules: Scattering,
    /// Residual at the end of a run in time.
    residual: f64,
}

impl ShockArgs {
    fn usual(&self) -> Usual {
        match self.collisions.collision {
            Collisions::Model => Usual {
                sides: Shock::of(self.mach, self.shared.gas.gas()).sides,
                share: 40.0 / 60.0,
                cells: Shock::CELLS,
                cut: Shock::CUT,
                molecules: MODEL_MOLECULES,
                residual: SimulationConfig::RESIDUAL,
            },
            Collisions::Boltzmann => Usual {
                sides: ShockWave::sides_of(self.mach),
                share: 14.0 / 24.0,
                cells: ShockWave::CELLS,
                cut: ShockWave::CUT,
                molecules: Scattering::HardSphere,
                residual: ShockWave::RESIDUAL,
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
        let mut full = self.clone();
        let usual = self.usual();
        full.shared.gas = self.shared.gas.resolved(
            &self.shared.si,
            usual.molecules,
            !self.collisions.is_boltzmann(),
        )?;
        // Molecules that rotate have longer tails.
        let usual = full.usual();
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
        let cells = self.cells.unwrap_or(usual_cells);
        if cells < fewest {
            return Err(Error::invalid(
                "cells",
                cells,
                format!("{fewest} cells or more, which the thickness needs"),
            ));
        }
        full.cells = Some(cells);
        full.vmax = Some(self.vmax.unwrap_or(usual.cut));
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
        let [along, across] = Shock::nodes(self.mach_of_gas(), self.cut());
        let counts = match &self.velocities {
            Some(Counts(counts)) => counts.clone(),
            None => vec![along],
        };
        let also_three = self.steady && !self.reduced;
        let rotates = self.shared.gas.gas().rotating().is_some();
        self.reduced |= (self.steady || rotates) && counts.len() < 3;
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
        let usual = self.shock().time_step();
        self.shared.time_options.dt.get_or_insert(usual);
        Ok(())
    }

    /// Molecules and velocities of the collision integral, which finds the time step.
    fn complete_integral(&mut self) -> Result<()> {
        let usual = ShockWave::nodes(self.mach, self.cut());
        let nodes = CollisionArgs::nodes(self.velocities.as_ref(), usual)?;
        self.velocities = Some(Counts(vec![nodes; 3]));
        let obstacle = self.wave().obstacle()?;
        let usual = (Choice::Auto, CorrectionMethod::Paper);
        self.collisions.complete(usual, || obstacle);
        Ok(())
    }

    /// The same wave, in full, on other cells and velocities, in another box, and in a domain of another length.
    pub(super) fn on_grid(&self, grid: [usize; 4]) -> Result<Self> {
        let (cells, sides, counts, cut) = match self.collisions.is_boltzmann() {
            true => {
                let wave = self.wave().on_grid(grid)?;
                (wave.cells, wave.sides, vec![wave.velocities; 3], wave.cut)
            }
            false => {
                let shock = self.shock().on_grid(grid)?;
                (shock.cells, shock.sides, shock.velocities, shock.cut)
            }
        };
        let mut fine = self.clone();
        fine.cells = Some(cells as u64);
        fine.velocities = Some(Counts(counts));
        if grid[2] != EXTENT {
            fine.vmax = Some(cut);
        }
        if grid[3] != EXTENT {
            (fine.upstream, fine.length) = (Some(sides[0]), Some(sides[0] + sides[1]));
        }
        if let Some(dt) = fine.shared.time_options.dt.as_mut() {
            *dt *= (self.cells() as f64 / grid[0] as f64).min(1.0);
        }
        fine.shared
            .time_options
            .same_time(&self.shared.time_options);
        Ok(fine)
    }

    /// The Mach number in the gas, whose molecules may rotate.
    pub(super) fn mach_of_gas(&self) -> Mach {
        match self.collisions.collision {
            Collisions::Model => self.mach.of(&self.shared.gas.gas()),
            Collisions::Boltzmann => self.mach,
        }
    }

    pub(super) fn cut(&self) -> f64 {
        self.vmax.unwrap_or(self.usual().cut)
    }

    pub(super) fn cells(&self) -> usize {
        self.cells.map_or(0, |cells| cells as usize)
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

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::flow::Flow;
    use crate::cli::{Cli, Command};

    fn resolved(flags: &str) -> ShockArgs {
        let line = format!("rarefy shock {flags}");
        let cli = Cli::try_parse_from(line.split_whitespace()).expect("arguments");
        match cli.command {
            Some(Command::Shock(args)) => args.resolved().expect("a shock"),
            _ => unreachable!("the command is shock"),
        }
    }

    #[test]
    fn defaults_are_those_of_the_library() {
        for mach in [1.2, 1.5, 3.0, 8.0] {
            let full = resolved(&format!("--mach {mach}"));
            let shock = Shock::new(mach).expect("a shock");
            assert_eq!(full.shock(), shock, "Mach {mach}");
            assert_eq!(full.shared.time_options.dt, Some(shock.time_step()));
            assert_eq!(full.shared.time_options.until_residual, Some(1e-9));
        }
        for mach in [1.1, 1.5, 3.0] {
            let full = resolved(&format!("--mach {mach} --collision boltzmann"));
            let wave = ShockWave::new(mach).expect("a wave");
            assert_eq!(full.wave(), wave, "Mach {mach}");
            // Too few velocities for the transforms.
            let coarse = resolved(&format!(
                "--mach {mach} --collision boltzmann --velocities 8"
            ));
            let velocities = 8;
            let suited = ShockWave { velocities, ..wave }.suited();
            assert_eq!(coarse.wave(), suited.expect("a wave"), "Mach {mach}");
        }
        let residual = |flags: &str| resolved(flags).shared.time_options.until_residual;
        assert_eq!(residual("--in-time"), Some(SimulationConfig::RESIDUAL));
        assert_eq!(
            residual("--in-time --collision boltzmann"),
            Some(ShockWave::RESIDUAL)
        );
    }

    /// A flow is steady unless a flag is of steps in time.
    #[test]
    fn flags_of_time_choose_steps_in_time() {
        for (flags, steady) in [
            ("", true),
            ("--until-residual 1e-4 --checkpoint-every 3", true),
            ("--scheme diamond --devices 1", true),
            ("--steady --steps 3", true),
            ("--in-time", false),
            ("--steps 3", false),
            ("--dt 0.1", false),
            ("--save-every 2", false),
            ("--save-f 1", false),
            ("--no-correction", false),
            ("--scheme upwind", false),
            ("--devices 2", false),
        ] {
            let full = resolved(flags);
            assert_eq!(full.steady, steady, "{flags}");
            let again = full.resolved().expect("a shock");
            assert_eq!(again.steady, steady, "{flags}, again");
        }
    }
}
