//! The collision operator: one configuration, any backend.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{Moments, Scattering, Spectral, VelocityGrid};
use crate::compute::Compute;
use crate::error::{Error, Result};

/// How the collision integral is computed. Both sums over the nodes agree to roundoff; the spectral method has an error of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Method {
    /// The paper's sum, term by term: about N^8 operations for N cells along an axis.
    Direct,
    /// The same sum restructured by centre of mass and relative speed.
    #[default]
    Fast,
    /// By transforms (see [`Spectral`]): spectrally accurate where f is smooth, and faster; gain and f may be slightly negative.
    Spectral,
}

/// Order, in the width of the cells, of the error of the coefficients of the gain.
///
/// The second order is the paper's. Its coefficients are positive and so is the gain, but at usable grids the corrected operator relaxes
/// too fast: with 20 cells along 11 thermal speeds the shear stress of hard spheres decays 12% too fast. The fourth order takes the leading
/// error out of the same sum (see [`coefficients`](super::coefficients)) with a table twice as large, and is within 1% there. But some of
/// its coefficients are negative: where f falls steeply the gain, and after some time f, can be slightly negative, which takes cells narrower than the
/// thermal speed to stay small. Exactly at equilibrium the corrected second order is the more accurate of the two up to about 28 cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
#[non_exhaustive]
pub enum Order {
    /// Piecewise constant f, as in the paper.
    Second,
    /// The same with the average over cells taken back to leading order.
    #[default]
    Fourth,
}

impl From<Order> for u8 {
    fn from(order: Order) -> Self {
        match order {
            Order::Second => 2,
            Order::Fourth => 4,
        }
    }
}

impl TryFrom<u8> for Order {
    type Error = Error;

    fn try_from(number: u8) -> Result<Self> {
        match number {
            2 => Ok(Self::Second),
            4 => Ok(Self::Fourth),
            _ => Err(Error::invalid(
                "order",
                number,
                "2 or 4, the order of the coefficients",
            )),
        }
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        u8::from(*self).fmt(f)
    }
}

impl FromStr for Order {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text.parse::<u8>() {
            Ok(number) => number.try_into(),
            Err(_) => Err(Error::invalid(
                "order",
                format!("'{text}'"),
                "2 or 4, the order of the coefficients",
            )),
        }
    }
}

/// The conservative correction; the sums alone conserve to the order of the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum CorrectionMethod {
    /// `Q(f, f) - Q(M, M) - M (c . phi)` with the discrete Maxwellian M of f: at rest at every discrete Maxwellian, and with the relaxation rates of the sums.
    Balanced,
    /// The paper's, `gain - loss (1 + delta . phi)` (eqs. 11-13). It damps what is no invariant by the error of the grid.
    Paper,
    /// The sums alone.
    None,
}

impl fmt::Display for CorrectionMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Balanced => "balanced",
            Self::Paper => "paper",
            Self::None => "none",
        })
    }
}

/// The configuration of a [`CollisionOperator`](super::CollisionOperator).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OperatorConfig {
    /// The velocity grid.
    pub grid: VelocityGrid,
    /// The scattering law.
    pub scattering: Scattering,
    /// Total cross-section sigma_T = 4 pi C at unit relative speed.
    pub sigma_t: f64,
    /// How the sum is done.
    pub method: Method,
    /// Order of the coefficients of the gain; the spectral method has none.
    pub order: Order,
    /// Directions, products and period of the spectral method.
    pub spectral: Spectral,
    /// The conservative correction.
    pub correction: CorrectionMethod,
    /// Where to compute, and in which arithmetic gain and collision frequency; everything after them is f64.
    #[serde(flatten)]
    pub compute: Compute,
}

impl OperatorConfig {
    /// Hard spheres with unit cross-section, the fourth order with the balanced correction, on the best machine there is.
    pub fn new(grid: VelocityGrid) -> Self {
        Self {
            grid,
            scattering: Scattering::default(),
            sigma_t: 1.0,
            method: Method::default(),
            order: Order::Fourth,
            spectral: Spectral::default(),
            correction: CorrectionMethod::Balanced,
            compute: Compute::default(),
        }
    }

    /// The same with the paper's scheme: second order and its correction.
    pub fn paper(grid: VelocityGrid) -> Self {
        Self {
            order: Order::Second,
            correction: CorrectionMethod::Paper,
            ..Self::new(grid)
        }
    }

    /// The spectral method with the paper's correction, which conserves to roundoff; the balanced one takes twice as many transforms.
    pub fn spectral(grid: VelocityGrid) -> Self {
        Self {
            method: Method::Spectral,
            correction: CorrectionMethod::Paper,
            ..Self::new(grid)
        }
    }

    /// The same by the spectral method with the paper's correction, or, where that has an [obstacle](Spectral::obstacle), by fast sums with the balanced one.
    #[must_use]
    pub fn by_state(&self, f: &[f64]) -> Self {
        let (method, correction) = match Spectral::suits(&self.grid, self.scattering, f) {
            true => (Method::Spectral, CorrectionMethod::Paper),
            false => (Method::Fast, CorrectionMethod::Balanced),
        };
        Self {
            method,
            correction,
            ..self.clone()
        }
    }

    /// The same with the degree of the spectral method that these distributions need, one after the other in `f`, unless one is given.
    #[must_use]
    pub fn suited(&self, f: &[f64]) -> Self {
        let mut config = self.clone();
        if config.method == Method::Spectral {
            config.spectral = config.spectral.suited(&config.grid, f);
        }
        config
    }

    /// How far below zero a given distribution may reach, as a share of its largest value.
    ///
    /// The paper's second order keeps f >= 0 and takes no other. Runs of the others leave traces of negative values in the tails, 10^-8 of the largest
    /// value on good grids and more on coarse ones. Their results must do as input again. A thousandth tells them from a mistake.
    pub fn tolerated_negative(&self) -> f64 {
        Self::tolerated_by(self.method, self.order, self.correction)
    }

    /// The same of an operator with this method, order and correction.
    pub(crate) fn tolerated_by(method: Method, order: Order, correction: CorrectionMethod) -> f64 {
        let positive = method != Method::Spectral
            && order == Order::Second
            && correction != CorrectionMethod::Balanced;
        if positive { 0.0 } else { 1e-3 }
    }

    /// Factor from the lattice operator to the physical one: C h^(3+gamma) with C = sigma_T / (4 pi).
    pub fn lattice_factor(&self) -> f64 {
        let h = self.grid.spacing();
        self.sigma_t / (4.0 * std::f64::consts::PI) * h.powi(3) * h.powf(self.scattering.gamma())
    }

    /// Checks what the types alone do not.
    ///
    /// # Errors
    /// A cross-section that is not positive and finite, or an exponent of the scattering law out of its range; variable soft spheres without the spectral method, or a degree,
    /// rank or period that it does not have; a product of cross-section and cells that
    /// leaves the range of f64.
    pub fn validate(&self) -> Result<()> {
        if !(self.sigma_t.is_finite() && self.sigma_t > 0.0) {
            return Err(Error::invalid(
                "sigma_t",
                self.sigma_t,
                "a cross-section sigma_T that must be positive and finite",
            ));
        }
        if !self.lattice_factor().is_normal() {
            return Err(Error::invalid(
                "sigma_t",
                format!("{:e} on cells {:e} wide", self.sigma_t, self.grid.spacing()),
                "a cross-section within the range of f64; take units in which both are nearer to 1",
            ));
        }
        self.scattering.validate()?;
        match (self.method, self.scattering) {
            (Method::Spectral, law) => self.spectral.validate(self.grid.n(), law),
            (_, Scattering::Vss { .. }) => Err(Error::invalid(
                "scattering",
                "variable soft spheres",
                "isotropic scattering for the sums over the nodes, or the spectral method",
            )),
            _ => Ok(()),
        }
    }

    /// A warning of spectral sums that miss conservation by much before their correction: they are wrong elsewhere too.
    pub(super) fn defect(&self, correction: &Correction) -> Option<String> {
        const LARGE: f64 = 1e-3;
        let most = correction
            .delta
            .iter()
            .fold(0.0_f64, |most, delta| most.max(delta.abs()));
        let corrected = correction.status == CorrectionStatus::Loss;
        (self.method == Method::Spectral && corrected && most > LARGE).then(|| {
            format!(
                "the spectral sums miss conservation by {most:.1e} of the loss before their correction: the cells are too wide, or box or period too small"
            )
        })
    }

    /// A warning of an integral without the correction that was asked for: f lives in so few cells that none exists, and the sums miss conservation by their own error.
    pub(super) fn unresolved(&self, evaluation: &Evaluation) -> Option<String> {
        if evaluation.correction.status != CorrectionStatus::Singular {
            return None;
        }
        let [mass, moved, energy, moved_energy] = self.grid.sum(|cell, xi| {
            let rate = evaluation.rate[cell];
            let square: f64 = xi.iter().map(|xi| xi * xi).sum();
            [rate, rate.abs(), rate * square, (rate * square).abs()]
        });
        let share = |sum: f64, of: f64| match of {
            0.0 => 0.0,
            _ => 100.0 * sum / of,
        };
        Some(format!(
            "f lives in too few cells for a conservative correction: the integral is uncorrected, and its sums are {:+.1}% of what it moves for the mass and {:+.1}% \
             for the energy, where none would be right; it takes cells narrower than f",
            share(mass, moved),
            share(energy, moved_energy)
        ))
    }

    /// Checks that `f` is a distribution on the grid: of its size, finite, with some mass, and nowhere below `-share` times its
    /// largest value.
    pub(super) fn validate_distribution(&self, f: &[f64], share: f64) -> Result<()> {
        self.validate_values(f)?;
        let largest = f.iter().copied().fold(0.0, f64::max);
        let least = if share > 0.0 { -share * largest } else { 0.0 };
        let negative = f.iter().filter(|&&v| v < least).count();
        if let Some(first) = f.iter().position(|&v| v < least) {
            let floor = if least < 0.0 {
                format!("{least:e}, which this scheme tolerates")
            } else {
                "0".into()
            };
            return Err(Error::invalid(
                "distribution",
                format!(
                    "{negative} negative values, the first {:e} at {}",
                    f[first],
                    self.place(first)
                ),
                format!("values that are all at least {floor}"),
            ));
        }
        if f.iter().sum::<f64>() <= 0.0 {
            return Err(Error::invalid(
                "distribution",
                "zero everywhere",
                "a positive density",
            ));
        }
        let m = Moments::of(&self.grid, f);
        let sums = [m.density, m.temperature, m.fourth, m.entropy];
        let all = sums.iter().chain(&m.pressure).chain(&m.heat_flux);
        if !(all.into_iter().all(|m| m.is_finite()) && m.density.is_normal()) {
            return Err(Error::invalid(
                "distribution",
                format!("values up to {largest:.2e}"),
                "moments in the range of f64: scale it so that its largest value is near 1",
            ));
        }
        Ok(())
    }

    fn place(&self, cell: usize) -> String {
        let n = self.grid.n();
        format!("f[{}][{}][{}]", cell / (n * n), cell / n % n, cell % n)
    }

    /// Checks that `f` has a finite value for each cell, and the symmetries that were promised.
    pub(super) fn validate_values(&self, f: &[f64]) -> Result<()> {
        let (n, cells) = (self.grid.n(), self.grid.cells());
        if f.len() != cells {
            return Err(Error::invalid(
                "distribution",
                format!("{} values", f.len()),
                format!("{cells} values on a grid of {n}^3"),
            ));
        }
        let count = f.iter().filter(|v| !v.is_finite()).count();
        if let Some(first) = f.iter().position(|v| !v.is_finite()) {
            return Err(Error::invalid(
                "distribution",
                format!(
                    "{count} values that are not finite, the first {} at {}",
                    f[first],
                    self.place(first)
                ),
                "finite values",
            ));
        }
        match self.method {
            Method::Spectral => self.spectral.mirrors.check(&self.grid, f),
            _ => Ok(()),
        }
    }
}

/// How the conservative correction went (eqs. 11-13).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CorrectionStatus {
    /// The loss was corrected, as in the paper.
    Loss,
    /// The loss alone could not restore conservation (f lives on a plane or a sphere); loss and gain were corrected.
    LossAndGain,
    /// The balanced correction.
    Balanced,
    /// No correction exists (too few cells carry f, or the grid has no Maxwellian with its moments); the integral is uncorrected.
    Singular,
    /// No correction was asked for.
    Off,
}

/// The correction that was applied, in the basis phi = (1, c_x, c_y, c_z, (c^2 - 3)/sqrt 6), c = (xi - u)/sqrt theta. Weights of u and theta are the loss, or the
/// Maxwellian of the balanced correction.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Correction {
    /// How it went.
    pub status: CorrectionStatus,
    /// The five coefficients; of the balanced correction c.
    pub delta: [f64; 5],
    /// Residuals after the correction, |sum I phi| / sum(loss |phi|), for the five invariants.
    pub residuals: [f64; 5],
    /// Largest time step for which an explicit Euler step keeps f >= 0: 1 / max of nu (1 + delta.phi); infinite where nothing can become negative. With the balanced
    /// correction 1 / max nu, for which the loss alone takes no more than there is.
    #[serde(with = "crate::serial::or_infinite")]
    pub largest_step: f64,
}

/// One evaluation of the collision integral, in physical units.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Evaluation {
    /// Inverse collision integral (gain) in each cell; with the balanced correction, which is no difference of two sums, I + f nu.
    pub gain: Vec<f64>,
    /// Collision frequency nu in each cell; the uncorrected loss is `f nu`.
    pub frequency: Vec<f64>,
    /// The collision integral I = gain - loss, corrected if that was asked for.
    pub rate: Vec<f64>,
    /// The correction.
    pub correction: Correction,
    /// Whether the grid is too narrow or too coarse for the distribution, and the one that would do; empty where signs are not checked.
    pub warnings: Vec<String>,
}

impl Evaluation {
    /// An evaluation of nothing, to be filled.
    pub(super) fn empty(cells: usize) -> Self {
        Self {
            gain: vec![0.0; cells],
            frequency: vec![0.0; cells],
            rate: vec![0.0; cells],
            correction: Correction {
                status: CorrectionStatus::Off,
                delta: [0.0; 5],
                residuals: [0.0; 5],
                largest_step: f64::INFINITY,
            },
            warnings: Vec::new(),
        }
    }

    /// The same of the distribution times `2^exponent`: the integral is quadratic in it, and powers of two are exact.
    ///
    /// # Errors
    /// Values that leave the range of f64.
    pub(super) fn scaled(mut self, exponent: i32, largest: f64) -> Result<Self> {
        let most = |values: &[f64]| values.iter().fold(0.0, |most: f64, v| most.max(v.abs()));
        let unit = most(&self.gain);
        let factors = powers(exponent);
        for value in self.gain.iter_mut().chain(&mut self.rate) {
            *value = times(times(*value, factors), factors);
        }
        for value in &mut self.frequency {
            *value = times(*value, factors);
        }
        self.correction.largest_step = scale(self.correction.largest_step, -exponent);
        let finite = |values: &[f64]| values.iter().all(|value| value.is_finite());
        // Where all of the gain is below the normal numbers, or none, nothing is left of its digits.
        let kept = |values: &[f64], before: f64| before == 0.0 || most(values).is_normal();
        if finite(&self.gain)
            && finite(&self.rate)
            && finite(&self.frequency)
            && !self.correction.delta.iter().any(|delta| delta.is_nan())
            && kept(&self.gain, unit)
        {
            return Ok(self);
        }
        // In units of the largest value squared.
        let unit = unit / scale(largest, -exponent).powi(2);
        let advice = if unit.is_normal() {
            let [low, high] = [-290, 290].map(|power| (10f64.powi(power) / unit).sqrt());
            format!("scale it so that its largest value lies between {low:.0e} and {high:.0e}")
        } else {
            "take units in which velocities and the cross-section are nearer to 1".into()
        };
        Err(Error::invalid(
            "distribution",
            format!("values up to {largest:.2e}"),
            format!("a collision integral in the range of f64: {advice}"),
        ))
    }
}

/// Largest magnitude of a distribution, and the exponent of the power of two that brings it to between 1 and 2.
pub(super) fn normalising(f: &[f64]) -> (f64, i32) {
    let largest = f.iter().fold(0.0, |most: f64, f| most.max(f.abs()));
    let exponent = if largest > 0.0 {
        -(largest.log2().floor() as i32)
    } else {
        0
    };
    (largest, exponent)
}

/// `value * 2^exponent`, in two steps so that the factor itself stays in range.
pub(super) fn scale(value: f64, exponent: i32) -> f64 {
    times(value, powers(exponent))
}

/// Two factors whose product is `2^exponent`.
pub(super) fn powers(exponent: i32) -> [f64; 2] {
    let half = exponent / 2;
    [half, exponent - half].map(|half| 2f64.powi(half))
}

/// A value times [`powers`].
pub(super) fn times(value: f64, [first, second]: [f64; 2]) -> f64 {
    value * first * second
}
