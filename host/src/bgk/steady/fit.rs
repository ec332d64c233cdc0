//! Whether cells and velocities fit the flow.

use super::problem::{Closure, SteadyProblem};
use crate::bgk::Boundary;

/// Mean free paths that a cell at a wall may be wide with diamond differences, which resolve the Knudsen layer up to there.
const WIDEST: f64 = 0.3;

/// Share of the gas's viscosity that upwind differences add, per width of a cell in l0: their diffusion has the coefficient `|v| h/2`, with the mean `1/sqrt(pi)` of |v|, and
/// the gas has the viscosity 1/2. Between plates at delta = 5 and U = 2 it is 11% on 25 cells of 0.2 l0 in the mean, as this says.
const ADDED: f64 = 0.564_189_583_547_756_3;
/// The share that passes without a warning, and that on the cells which the warning names.
const TOLERATED_SHARE: f64 = 0.03;
const SMALL_SHARE: f64 = 0.01;

/// Rarefaction parameter above which slip is a small correction that only thin cells at walls resolve.
const DENSE: f64 = 10.0;

/// Distance of the nodes of a collision integral in thermal speeds of the coldest gas up to which its collisions are resolved.
pub(in crate::bgk) const COARSEST: f64 = 0.55;
/// The heat flux between plates is off by up to this share of the fourth power of that distance, with either sign: measured at delta 0.1, 1 and 10 with temperature differences of 0.4 and 1.2, at distances
/// from 0.5 (0.6%) over 0.73 (5%), 0.82 (12%) and 0.89 (19%) to 1.33 (56%).
const COLLISION_ERROR: f64 = 0.3;

/// Error of the fluxes, at most, where the nodes of a collision integral are so many thermal speeds of the coldest gas apart.
pub(in crate::bgk) fn collision_error(apart: f64) -> f64 {
    COLLISION_ERROR * apart.powi(4)
}

/// The names of the sides as in [`super::Solution::exchange`].
const SIDES: [&str; 4] = ["left", "right", "bottom", "top"];

impl SteadyProblem {
    /// Whether the cells are too wide for the closure, or at the walls too wide for the slip of a dense gas, and whether a collision integral has too few velocities. Each text
    /// says how many, or which width, would do.
    pub fn warnings(&self, closure: Closure) -> Vec<String> {
        match closure {
            Closure::Upwind => self.diffusion_warning(),
            Closure::Diamond => self.slip_warning(),
        }
        .into_iter()
        .chain(self.cold_warning())
        .collect()
    }

    /// The nodes of a collision integral are too far apart for the coldest gas that enters. Streams alone bring in their fluxes, and a shock wave has
    /// [warnings](crate::bgk::boltzmann::ShockWave::warnings) of its own.
    fn cold_warning(&self) -> Option<String> {
        let grid = self.integral.as_ref()?.grid;
        let faces = || (0..self.dimensions).flat_map(|direction| self.boundaries.along(direction));
        faces().find(|face| matches!(face, Boundary::Wall(_)))?;
        let coldest = faces()
            .filter_map(|face| match face {
                Boundary::Wall(wall) => Some(wall.temperature),
                Boundary::Inflow(state) => Some(state.temperature),
                Boundary::Specular | Boundary::Periodic => None,
            })
            .chain(self.initial.iter().map(|state| state.temperature))
            .fold(f64::INFINITY, f64::min);
        let apart = grid.spacing() / coldest.sqrt();
        let enough = 2.0 * (0.5 * grid.n() as f64 * apart / COARSEST).ceil();
        (apart > COARSEST * (1.0 + 1e-9)).then(|| {
            let [error, left] = [apart, COARSEST].map(|apart| 100.0 * collision_error(apart));
            format!(
                "the velocities are {apart:.2} thermal speeds of the coldest gas apart, and its collisions are not resolved: fluxes may be off by up to {error:.0}%; {enough} velocities, or a narrower \
                 box, bring that to {left:.0}%"
            )
        })
    }

    /// The largest collision frequency at the start, in units of that of the reference state.
    fn densest(&self) -> f64 {
        if self.linear {
            return 1.0;
        }
        let frequency = |density: f64, t: f64| density * t.powf(1.0 - self.gas.omega);
        let states = self.initial.iter();
        states
            .map(|s| frequency(s.density, s.temperature))
            .fold(0.0, f64::max)
    }

    fn diffusion_warning(&self) -> Option<String> {
        let per_length = self.gas.frequency * self.densest();
        let widths = self.widths.iter().take(self.dimensions).flatten();
        let widest = per_length * widths.copied().fold(0.0, f64::max);
        let share = ADDED * widest;
        (share > TOLERATED_SHARE).then(|| {
            let added = if share < 1.0 {
                format!("up to {:.0}%", 100.0 * share)
            } else {
                format!("up to {share:.0} times as much")
            };
            format!(
                "upwind differences on cells of {widest:.2} mean free paths add {added} to viscosity and heat conduction; use diamond differences, or cells of {:.3} for {:.0}%",
                SMALL_SHARE / ADDED,
                100.0 * SMALL_SHARE
            )
        })
    }

    fn slip_warning(&self) -> Option<String> {
        let length = |d: usize| self.widths[d].iter().sum::<f64>();
        let shortest = (0..self.dimensions)
            .map(length)
            .fold(f64::INFINITY, f64::min);
        if self.gas.frequency * shortest <= DENSE {
            return None;
        }
        let (mut widest, mut names) = (0.0_f64, Vec::new());
        for direction in 0..self.dimensions {
            let widths = &self.widths[direction];
            let ends = [widths[0], widths[widths.len() - 1]];
            for (high, (face, width)) in
                (self.boundaries.along(direction).iter().zip(ends)).enumerate()
            {
                let thickness = self.gas.frequency * width;
                if matches!(face, Boundary::Wall(_)) && thickness > WIDEST {
                    widest = widest.max(thickness);
                    names.push(SIDES[2 * direction + high]);
                }
            }
        }
        let (last, others) = names.split_last()?;
        let walls = if others.is_empty() {
            format!("{last} wall are")
        } else {
            format!("{} and {last} walls are", others.join(", "))
        };
        Some(format!(
            "the cells at the {walls} {widest:.2} mean free paths wide: velocity slip and temperature jump there have the coefficients 0.886 and 1.108 of \
             half-range moments, where 1.016 and 1.303 are right; cells of {WIDEST} resolve them"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bgk::steady::plates::{Drive, Resolution, plates};
    use crate::bgk::{Cavity, Gas};

    fn couette(delta: f64, cells: usize) -> SteadyProblem {
        let resolution = Resolution {
            cells,
            ..Resolution::default()
        };
        plates(
            delta,
            Drive::Couette(1.0),
            Gas::default(),
            1.0,
            resolution,
            true,
        )
        .unwrap()
    }

    fn cavity(delta: f64) -> SteadyProblem {
        SteadyProblem::from(&Cavity::new(delta, 40, &[8, 8]).unwrap().problem().unwrap())
    }

    #[test]
    fn graded_plates_are_fine_enough_at_every_rarefaction() {
        for delta in [1e-3, 1.0, 100.0, 1e4] {
            assert!(
                couette(delta, 200).warnings(Closure::Diamond).is_empty(),
                "{delta}"
            );
        }
        let few = couette(1e4, 20).warnings(Closure::Diamond);
        assert!(few[0].contains("left and right walls"), "{few:?}");
    }

    #[test]
    fn uniform_cavities_of_dense_gas_and_upwind_differences_are_warned_of() {
        assert!(cavity(10.0).warnings(Closure::Diamond).is_empty());
        let dense = cavity(100.0).warnings(Closure::Diamond);
        assert!(dense[0].contains("2.50 mean free paths"), "{dense:?}");
        // A cavity of these cells has D = 0.4452 where 0.4191 is right.
        let quarter = cavity(10.0).warnings(Closure::Upwind);
        assert!(quarter[0].contains("add up to 14%"), "{quarter:?}");
        assert!(cavity(2.0).warnings(Closure::Upwind).is_empty());
        let diffusive = cavity(100.0).warnings(Closure::Upwind);
        assert!(
            diffusive[0].contains("2.50 mean free paths"),
            "{diffusive:?}"
        );
        // Upwind differences in the middle between plates, where the cells are widest.
        assert!(!couette(100.0, 200).warnings(Closure::Upwind).is_empty());
    }
}
