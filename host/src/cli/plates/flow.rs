//! The flow between plates, and the values that it is compared with.

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::bgk::Gas;
use crate::bgk::steady::plates::{Drive, free_molecular};
use crate::bgk::steady::{Solution, channel};
use crate::cli::known::{JUMP, SLIP, TABLE};

/// The drive of a flow between plates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Kind {
    /// Plates that slide.
    Couette,
    /// Plates of two temperatures.
    Fourier,
    /// A fall of the pressure along the plates.
    Poiseuille,
}

/// A flow between plates, and the strength of its drive.
#[derive(Clone, Copy, Debug)]
pub(in crate::cli) struct Flow {
    pub(in crate::cli) kind: Kind,
    pub(in crate::cli) strength: f64,
}

/// The fluxes between the plates and the gas at them, in the units of the tables: per p0 U/v0, p0 v0 dT/T0 or v0/2 and fall of the pressure, and per U, dT or fall.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(in crate::cli) struct Measured {
    pub(in crate::cli) flux: f64,
    pub(in crate::cli) wall: f64,
}

impl Flow {
    pub(in crate::cli) fn command(&self) -> &'static str {
        match self.kind {
            Kind::Couette => "couette",
            Kind::Fourier => "fourier",
            Kind::Poiseuille => "poiseuille",
        }
    }

    /// The plates of a flow of this strength.
    pub(in crate::cli) fn drive(&self) -> Drive {
        match self.kind {
            Kind::Couette => Drive::Couette(self.strength),
            Kind::Fourier => Drive::Fourier(self.strength),
            Kind::Poiseuille => Drive::Couette(0.0),
        }
    }

    /// The same with the strength that suits this delta where none was asked for.
    pub(super) fn driven(self, delta: f64, drive: Option<&str>) -> Self {
        match (self.kind, drive) {
            (Kind::Poiseuille, None) => Self {
                strength: channel::gradient(delta),
                ..self
            },
            _ => self,
        }
    }

    /// The acceleration along the plates that a fall of the pressure over their distance is.
    pub(in crate::cli) fn force(&self, delta: f64) -> f64 {
        match self.kind {
            Kind::Poiseuille => 0.5 * self.strength / delta,
            Kind::Couette | Kind::Fourier => 0.0,
        }
    }

    /// Flow, flux, gas at the plates, and drive in words.
    pub(super) fn titles(&self) -> [&'static str; 4] {
        match self.kind {
            Kind::Couette => ["Couette flow", "Pi", "u_wall / U", "U"],
            Kind::Fourier => ["Heat conduction between plates", "Q", "tau_wall / dT", "dT"],
            Kind::Poiseuille => ["Poiseuille flow", "G", "2 u_wall / X", "X"],
        }
    }

    pub(super) fn names(&self) -> [&'static str; 2] {
        match self.kind {
            Kind::Couette => ["Pi", "u_wall"],
            Kind::Fourier => ["Q", "tau_wall"],
            Kind::Poiseuille => ["G", "u_wall"],
        }
    }

    /// Flux and wall value of a solution, from the exchange at both plates; `flow` is the reduced flow rate along them.
    pub(in crate::cli) fn measure(
        &self,
        solution: &Solution,
        flow: Option<f64>,
    ) -> Option<Measured> {
        let (left, right) = (solution.exchange[0].first()?, solution.exchange[1].first()?);
        // Stresses are in units of rho0 v0^2 and energy fluxes of rho0 v0^3; p0 is half of rho0 v0^2.
        Some(match self.kind {
            Kind::Couette => Measured {
                flux: (left.shear - right.shear) / self.strength,
                wall: 0.5 * (right.velocity - left.velocity) / self.strength,
            },
            Kind::Fourier => Measured {
                flux: (right.heat - left.heat) / self.strength,
                wall: 0.5 * (left.temperature - right.temperature) / self.strength,
            },
            Kind::Poiseuille => Measured {
                flux: flow?,
                wall: (left.velocity + right.velocity) / self.strength,
            },
        })
    }

    /// The table's row and the limits that hold for this delta; only the limit of no collisions for a gas that is no BGK gas.
    pub(super) fn reference(
        &self,
        delta: f64,
        gas: Option<&Gas>,
        accommodation: f64,
    ) -> Map<String, Value> {
        let [flux, wall] = self.names();
        let mut map = Map::new();
        if accommodation != 1.0 {
            return map;
        }
        // Without collisions the flow rate grows without bound.
        if self.kind != Kind::Poiseuille {
            let internal = match (self.kind, gas.and_then(Gas::rotating)) {
                (Kind::Fourier, Some(rotation)) => 0.25 * rotation.freedom,
                _ => 0.0,
            };
            let limit = (1.0 + internal) * free_molecular();
            map.insert("free_molecular".into(), json!({ flux: limit }));
        }
        if gas.is_none_or(|gas| gas.effective_prandtl() != 1.0) {
            return map;
        }
        let (limit, at) = match self.kind {
            Kind::Couette => (1.0 / (delta + 2.0 * SLIP), Some(1)),
            Kind::Fourier => (1.25 / (delta + 2.0 * JUMP), Some(3)),
            // In thin gas it is far off.
            Kind::Poiseuille if delta < 10.0 => return map,
            Kind::Poiseuille => (delta / 6.0 + SLIP, None),
        };
        map.insert("slip_limit".into(), json!({ flux: limit }));
        let row = TABLE.iter().find(|row| row[0] == delta);
        if let (Some(row), Some(at)) = (row, at) {
            map.insert("table".into(), json!({ flux: row[at], wall: row[at + 1] }));
        }
        map
    }
}
