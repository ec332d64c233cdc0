//! The infinite tube of circular section: its flow by a weak fall of the pressure, and by a weak fall of the temperature.
//!
//! For a tube of radius a, the mass flow over rho0 v0 pi a^2/2 is `G_P X_P` for a relative fall X_P of the pressure over the length a, and `-G_T X_T` for one of the temperature
//! (F. Sharipov, V. Seleznev, J. Phys. Chem. Ref. Data 27 (1998) 657, section 5). Without collisions G_P is 8/(3 sqrt(pi)) and G_T half of it.

use std::f64::consts::PI;

use super::accommodation::Accommodation;
use super::case::{Case, Domain, GasOf, Side, Sides, Symmetry, Velocities};
use super::findings::Findings;
use crate::bgk::{Model, Rotation};

/// Length of the period, which is one cell: nothing varies along the tube.
const PERIOD: f64 = 0.01;
/// Rarefaction below which molecules along the tube decide, whose speeds across are many.
const THIN: f64 = 0.3;

/// An infinite tube of radius 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tube {
    /// The relaxation model.
    pub model: Model,
    /// The rotation of the molecules, of the polyatomic model alone; without it the default.
    pub rotation: Option<Rotation>,
    /// Rarefaction parameter: the radius over l0 = mu0 v0/p0.
    pub delta: f64,
    /// Share of the molecules that the wall emits diffusely.
    pub accommodation: f64,
}

/// The cause of a flow along a tube.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drive {
    /// A fall of the pressure.
    Pressure,
    /// A fall of the temperature at constant pressure.
    Temperature,
}

impl Tube {
    /// The linearised flow as a case, on cells that are finer at the wall.
    pub fn case(&self, drive: Drive) -> Case {
        let (jump, jump_temperature) = match drive {
            Drive::Pressure => (PERIOD, 0.0),
            Drive::Temperature => (0.0, PERIOD),
        };
        let period = Side::Periodic {
            jump,
            jump_temperature,
            factor: 1.0,
        };
        let rotates = self.model == Model::Polyatomic;
        let rotation = rotates.then(|| self.rotation.unwrap_or_default());
        let gas = GasOf {
            model: self.model,
            prandtl: match (self.model, &rotation) {
                (Model::Bgk, _) => 1.0,
                (_, Some(rotation)) => rotation.prandtl,
                _ => 2.0 / 3.0,
            },
            rotation,
            linear: true,
            ..GasOf::new(self.delta)
        };
        let domain = Domain {
            symmetry: Some(Symmetry::Axis),
            x: [0.0, PERIOD],
            y: [0.0, 1.0],
            h: 0.02,
            core: Some(vec![[0.0, PERIOD], [0.8, 1.0]]),
            growth: 1.2,
            largest: 0.06,
            ..Domain::default()
        };
        let sides = Sides {
            left: period.clone(),
            right: period,
            bottom: Side::Axis,
            top: Side::Wall {
                temperature: None,
                velocity: 0.0.into(),
                accommodation: Accommodation::Share(self.accommodation),
            },
            back: None,
            front: None,
        };
        let mut case = Case::new(gas, domain, sides);
        case.velocities = Some(Velocities::Axis {
            angles: 40,
            speeds: if self.delta < THIN { 32 } else { 16 },
            // The function is a low polynomial of the velocity along the tube.
            axial: 4,
            temperature: 1.0,
        });
        case.solver.tolerance = 1e-7;
        case.solver.depth = 40;
        case.solver.iterations = 3000;
        case
    }

    /// G_P or G_T of the solved flow.
    pub fn coefficient(drive: Drive, found: &Findings) -> f64 {
        let right = found.sides.iter().find(|(name, _)| name == "right");
        let flow = right.map_or(f64::NAN, |(_, flux)| flux.mass);
        let sign = match drive {
            Drive::Pressure => 1.0,
            Drive::Temperature => -1.0,
        };
        // The fall over a radius is 1.
        sign * 2.0 * flow / PI
    }
}
