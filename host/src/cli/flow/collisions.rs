//! The choice between a relaxation model and the collision integral, by flags and in records.

use serde::{Deserialize, Serialize};

use super::arguments::{Counts, GasArgs};
use crate::bgk::Model;
use crate::bgk::boltzmann::{Collisions, cross_section};
use crate::cli::operator::{CORRECTIONS, Choice, METHODS, Taken};
use crate::cli::values::{degree, named};
use crate::collision::initial::maxwellian;
use crate::collision::{
    CorrectionMethod, Method, Mirrors, OperatorConfig, Order, Scattering, Spectral, VelocityGrid,
};
use crate::compute::Compute;
use crate::error::{Error, Result};

/// Collisions of the molecules of a flow.
#[derive(Clone, Debug, Default, Serialize, Deserialize, clap::Args)]
#[serde(rename_all = "kebab-case")]
pub(in crate::cli) struct CollisionArgs {
    /// Collisions of molecules: a relaxation model, or the collision integral
    #[arg(long, default_value = "model", value_parser = named::<Collisions>(&["model", "boltzmann"]))]
    pub(in crate::cli) collision: Collisions,
    /// With --collision boltzmann: sums over the nodes, the spectral method, or as suits the gas [default: auto for a shock, spectral between walls; fast with --order, for a shock also with --correction]
    #[arg(long, value_parser = named::<Choice>(&METHODS))]
    pub(in crate::cli) method: Option<Choice>,
    /// The method that was taken and why; a checkpoint keeps it beside the parameters.
    #[arg(skip)]
    #[serde(skip)]
    pub(in crate::cli) taken: Option<Taken>,
    /// With --method spectral: degree of the rule on the sphere, 5, 7, 9, 11, 15, 17 or 21 [default: 11; for a shock to 21, by the Mach number]
    #[arg(long, value_name = "DEGREE", value_parser = degree())]
    pub(in crate::cli) sphere: Option<u8>,
    /// With --collision boltzmann: order of the coefficients of the collision integral, 2 as published or 4 [default: 4]
    #[arg(long, value_name = "ORDER")]
    pub(in crate::cli) order: Option<Order>,
    /// With --collision boltzmann: what makes the collision integral conservative [default: balanced; paper for the spectral method in a shock]
    #[arg(long, value_parser = named::<CorrectionMethod>(&CORRECTIONS))]
    pub(in crate::cli) correction: Option<CorrectionMethod>,
}

/// Refuses the first of the flags that is given; `why` says where it belongs.
pub(in crate::cli) fn refused(flags: &[(&str, bool)], why: &str) -> Result<()> {
    match flags.iter().find(|flag| flag.1) {
        Some((flag, _)) => Err(Error::invalid(
            format!("--{flag}"),
            "given",
            format!("none: it {why}"),
        )),
        None => Ok(()),
    }
}

impl CollisionArgs {
    pub(in crate::cli) fn is_boltzmann(&self) -> bool {
        self.collision == Collisions::Boltzmann
    }

    /// The method by flags; those of the sums take the sums. `usual` is taken without any.
    fn choice(&self, usual: Choice) -> Choice {
        let sums = self.order.is_some() || usual == Choice::Auto && self.correction.is_some();
        match self.method {
            Some(choice) => choice,
            None if sums => Choice::Fast,
            None if self.sphere.is_some() => Choice::Spectral,
            None => usual,
        }
    }

    /// Refuses flags that belong to the other collisions. `of_models` has those of the command that the collision integral has no use for, besides those of the gas.
    pub(in crate::cli) fn refuse_foreign(
        &self,
        gas: &GasArgs,
        of_models: &[(&str, bool)],
        usual: Choice,
    ) -> Result<()> {
        if !self.is_boltzmann() {
            let why = "belongs to --collision boltzmann; the models";
            let order = [("order", self.order.is_some())];
            refused(&order, &format!("{why} have no coefficients"))?;
            let relax = [
                ("method", self.method.is_some()),
                ("sphere", self.sphere.is_some()),
            ];
            refused(&relax, &format!("{why} relax"))?;
            let correction = [("correction", self.correction.is_some())];
            return refused(&correction, &format!("{why} have --no-correction"));
        }
        let why = "belongs to the models; with --collision boltzmann leave it out";
        refused(of_models, why)?;
        let of_gas = [
            ("model", gas.model() != Model::Bgk),
            ("prandtl", gas.conduction.prandtl.is_some()),
        ];
        refused(&of_gas, why)?;
        refused(&gas.conduction.of_rotation(), why)?;
        let choice = self.choice(usual);
        refused(
            &[("order", choice == Choice::Spectral && self.order.is_some())],
            "belongs to the sums over the nodes; the spectral method has --sphere",
        )?;
        let sums = matches!(choice, Choice::Direct | Choice::Fast);
        refused(
            &[("sphere", sums && self.sphere.is_some())],
            "belongs to --method spectral; the sums over the nodes have --order",
        )
    }

    /// Fills in what the flags leave out. `usual` has the method, and the correction of the spectral method; `obstacle` says why that method does not suit the gas.
    pub(in crate::cli) fn complete(
        &mut self,
        usual: (Choice, CorrectionMethod),
        obstacle: impl FnOnce() -> Option<String>,
    ) {
        let taken = self.choice(usual.0).method(obstacle);
        let (order, correction) = if taken.taken == Method::Spectral {
            (None, usual.1)
        } else {
            self.sphere = None;
            (Some(Order::Fourth), CorrectionMethod::Balanced)
        };
        (self.method, self.taken) = (Some(taken.taken.into()), Some(taken));
        self.order = self.order.or(order);
        self.correction = self.correction.or(Some(correction));
    }

    /// The same for a gas that is near the Maxwellian at rest: by the spectral method, with the balanced correction.
    pub(in crate::cli) fn complete_near_rest(&mut self, grid: &VelocityGrid, gas: &GasArgs) {
        let usual = (Choice::Spectral, CorrectionMethod::Balanced);
        self.complete(usual, || {
            let rest = maxwellian(grid, 1.0, [0.0; 3], 0.5);
            Spectral::obstacle(grid, gas.scattering(), &rest)
        });
    }

    /// The method of arguments in full.
    pub(in crate::cli) fn method(&self) -> Method {
        self.method.map_or(Method::Fast, Choice::chosen)
    }

    /// Nodes along each axis of the cubic grid of velocities, `usual` if there are none.
    pub(in crate::cli) fn nodes(counts: Option<&Counts>, usual: usize) -> Result<usize> {
        match counts.map(|Counts(counts)| &counts[..]) {
            None => Ok(usual),
            Some([n]) => Ok(*n),
            Some([x, y, z]) if x == y && y == z => Ok(*x),
            Some(_) => Err(Error::invalid(
                "--velocities",
                "different numbers",
                "one number, or three equal ones: the collision integral needs a cubic grid",
            )),
        }
    }

    /// The collision integral of arguments in full; all distributions of the flow have the symmetries `mirrors`.
    pub(in crate::cli) fn operator(
        &self,
        grid: VelocityGrid,
        gas: &GasArgs,
        mirrors: Mirrors,
        compute: Compute,
    ) -> Result<OperatorConfig> {
        let scattering = gas.scattering();
        let method = self.method();
        let mirrors = match method {
            Method::Spectral => mirrors,
            _ => Mirrors::NONE,
        };
        Ok(OperatorConfig {
            scattering,
            sigma_t: cross_section(scattering),
            method,
            order: self.order.unwrap_or(Order::Fourth),
            spectral: Spectral {
                degree: self.sphere,
                mirrors,
                ..Spectral::default()
            },
            correction: self.correction.unwrap_or(CorrectionMethod::Balanced),
            compute,
            ..OperatorConfig::new(grid)
        })
    }

    /// The collisions as titles call them.
    pub(in crate::cli) fn name(&self, gas: &GasArgs) -> String {
        match self.collision {
            Collisions::Boltzmann => match gas.scattering() {
                Scattering::HardSphere => "Boltzmann, hard spheres".into(),
                Scattering::Maxwell => "Boltzmann, Maxwell molecules".into(),
                molecules => format!("Boltzmann, {molecules}"),
            },
            Collisions::Model => gas.name().to_owned(),
        }
    }
}
