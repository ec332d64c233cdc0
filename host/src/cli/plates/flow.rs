//! Which of the two flows between plates, and what it is compared with.

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::bgk::Gas;
use crate::bgk::steady::Solution;
use crate::bgk::steady::plates::{Drive, free_molecular};
use crate::cli::known::{JUMP, SLIP, TABLE};

/// Which of the two flows, with what it is called and compared with.
pub(in crate::cli) struct Flow {
    pub(in crate::cli) command: &'static str,
    pub(in crate::cli) drive: Drive,
}

/// The fluxes between the plates and the gas at them, in the units of the tables: per p0 U/v0 or p0 v0 dT/T0, and per U or dT.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(in crate::cli) struct Measured {
    pub(in crate::cli) flux: f64,
    pub(in crate::cli) wall: f64,
}

impl Flow {
    pub(super) fn strength(&self) -> f64 {
        match self.drive {
            Drive::Couette(u) => u,
            Drive::Fourier(dt) => dt,
        }
    }

    pub(super) fn is_couette(&self) -> bool {
        matches!(self.drive, Drive::Couette(_))
    }

    pub(super) fn names(&self) -> [&'static str; 2] {
        if self.is_couette() {
            ["Pi", "u_wall"]
        } else {
            ["Q", "tau_wall"]
        }
    }

    /// Flux and wall value of a solution, from the exchange at both plates.
    pub(in crate::cli) fn measure(&self, solution: &Solution, strength: f64) -> Option<Measured> {
        let (left, right) = (solution.exchange[0].first()?, solution.exchange[1].first()?);
        // Stresses are in units of rho0 v0^2 and energy fluxes of rho0 v0^3; p0 is half of rho0 v0^2.
        Some(if self.is_couette() {
            Measured {
                flux: (left.shear - right.shear) / strength,
                wall: 0.5 * (right.velocity - left.velocity) / strength,
            }
        } else {
            Measured {
                flux: (right.heat - left.heat) / strength,
                wall: 0.5 * (left.temperature - right.temperature) / strength,
            }
        })
    }

    /// The table's row and the limits that hold for this delta.
    pub(super) fn reference(
        &self,
        delta: f64,
        gas: &Gas,
        accommodation: f64,
    ) -> Map<String, Value> {
        let [flux, wall] = self.names();
        let mut map = Map::new();
        map.insert("free_molecular".into(), json!({ flux: free_molecular() }));
        if accommodation != 1.0 {
            map.clear();
        }
        if gas.effective_prandtl() != 1.0 || accommodation != 1.0 {
            return map;
        }
        let slip = if self.is_couette() {
            1.0 / (delta + 2.0 * SLIP)
        } else {
            1.25 / (delta + 2.0 * JUMP)
        };
        map.insert("slip_limit".into(), json!({ flux: slip }));
        if let Some(row) = TABLE.iter().find(|row| row[0] == delta) {
            let at = if self.is_couette() { 1 } else { 3 };
            map.insert("table".into(), json!({ flux: row[at], wall: row[at + 1] }));
        }
        map
    }
}
