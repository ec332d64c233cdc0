//! Effect of the discrete operator on exactly known physics: relaxation rates, viscosity, an exact solution, equilibrium.
//!
//! A scheme may conserve to roundoff, keep f positive and be of second order, and still relax too fast. These functions
//! measure that. All are for density 1, temperature 1, molecules of mass 1, and Boltzmann's constant 1; `L` is the
//! operator linearised about the Maxwellian M, `L g = d/de I(M + e g)` at e = 0.
//!
//! | measure | definition | exact |
//! |---|---|---|
//! | [`decay_rate`] of shear stress | projection of `-L M phi` on phi = xi_x xi_y | [`exact_decay_rate`] |
//! | [`decay_rate`] of heat flux | the same with phi = xi_x (xi^2 - 5)/2 | 2/3 of that |
//! | [`viscosity`] | `mu = int xi_x xi_y g`, where `L g = -M xi_x xi_y` | [`exact_viscosity`] |
//! | [`bkw_error`] | L2 error of I at the Bobylev-Krook-Wu solution, and the rate of its fourth moment | 0, 5 (1 - K)^2 |
//! | [`equilibrium_error`] | L2 norm of I(M) over that of the loss | 0 |
//!
//! ```
//! use rarefy::Backend;
//! use rarefy::collision::transport::{self, Flux};
//! use rarefy::collision::{OperatorConfig, Scattering, VelocityGrid};
//!
//! let grid = VelocityGrid::new(12, -5.5, 5.5)?;
//! let rate = |config: OperatorConfig| {
//!     let config = OperatorConfig { compute: Backend::Cpu.into(), ..config };
//!     transport::decay_rate(&config, Flux::Shear)
//! };
//! let exact = transport::exact_decay_rate(Scattering::HardSphere, 1.0, Flux::Shear);
//! assert!(rate(OperatorConfig::paper(grid))? / exact - 1.0 > 0.3);
//! assert!((rate(OperatorConfig::new(grid))? / exact - 1.0).abs() < 2e-4);
//! # Ok::<(), rarefy::Error>(())
//! ```

use std::f64::consts::PI;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::balanced;
use super::correction::Tangent;
use super::gmres::gmres;
use super::initial::{Bkw, maxwellian};
use super::{
    CollisionOperator, CorrectionMethod, Method, Moments, OperatorConfig, Order, Scattering,
    VelocityGrid,
};
use crate::compute::Precision;
use crate::error::{Error, Result};

/// Half width of the velocity box in which [`Study`] measures rates and viscosity.
pub const RATES_HALF_WIDTH: f64 = 5.5;
/// Half width of the velocity box in which [`Study`] measures errors at the exact solution and at equilibrium.
pub const ERRORS_HALF_WIDTH: f64 = 5.0;
/// The state of the Bobylev-Krook-Wu solution at which [`Study`] measures.
pub const BKW_K: f64 = 0.65;
/// Viscosity of hard spheres over its first approximation (Pekeris and Alterman 1957).
pub const HARD_SPHERE_VISCOSITY_RATIO: f64 = 1.016_034;

/// Most Krylov vectors for a viscosity.
const KRYLOV: usize = 80;

/// Width of cells, in thermal speeds, beyond which no rate of a [`Study`] means anything, and that of an advised grid.
const WIDTH: (f64, f64) = (1.0, 0.7);

/// A flux whose decay towards equilibrium is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Flux {
    /// Shear stress, phi = xi_x xi_y.
    Shear,
    /// Heat flux, phi = xi_x (xi^2 - 5)/2.
    Heat,
}

impl Flux {
    /// phi at the velocity xi.
    pub fn phi(self, [x, y, z]: [f64; 3]) -> f64 {
        match self {
            Self::Shear => x * y,
            Self::Heat => 0.5 * x * (x * x + y * y + z * z - 5.0),
        }
    }

    /// Size of the perturbation by which [`decay_rate`] takes its difference.
    ///
    /// Without correction I is quadratic and the size is of no matter. A correction makes it slightly nonlinear, so the size is part of the
    /// definition.
    pub fn amplitude(self) -> f64 {
        match self {
            Self::Shear => 0.05,
            Self::Heat => 0.02,
        }
    }
}

/// The decay rate of a flux in the first approximation of Chapman and Enskog, which projects L on phi, as [`decay_rate`] does.
///
/// With relative velocity g of two molecules at temperature 1,
/// `lambda = sigma_T <g^(gamma + 4)> / 120` for shear stress, `<g^p> = 2^p Gamma((p + 3)/2) / Gamma(3/2)`, and two thirds of it for
/// heat flux: 1/2 and 1/3 for pseudo-Maxwell molecules, 16/(5 sqrt pi) and two thirds of it for hard spheres. Variable soft spheres have
/// `6 alpha / ((alpha + 1)(alpha + 2))` times that, the mean of sin^2 chi over its isotropic value.
pub fn exact_decay_rate(scattering: Scattering, sigma_t: f64, flux: Flux) -> f64 {
    let p = scattering.gamma() + 4.0;
    let moment = 2f64.powf(p) * libm::tgamma(0.5 * (p + 3.0)) / (0.5 * PI.sqrt());
    let alpha = scattering.alpha();
    let softness = 6.0 * alpha / ((alpha + 1.0) * (alpha + 2.0));
    let shear = softness * sigma_t * moment / 120.0;
    match flux {
        Flux::Shear => shear,
        Flux::Heat => shear * 2.0 / 3.0,
    }
}

/// The viscosity at temperature 1, where it is known: for pseudo-Maxwell molecules 1/lambda exactly, for hard spheres
/// [`HARD_SPHERE_VISCOSITY_RATIO`] / lambda, lambda being the rate of shear stress.
pub fn exact_viscosity(scattering: Scattering, sigma_t: f64) -> Option<f64> {
    let first = exact_decay_rate(scattering, sigma_t, Flux::Shear).recip();
    // The limits of the variable hard spheres are these two laws, whatever their names.
    let gamma = scattering.gamma();
    if scattering.alpha() != 1.0 {
        None
    } else if gamma == 0.0 {
        Some(first)
    } else if gamma == 1.0 {
        Some(HARD_SPHERE_VISCOSITY_RATIO * first)
    } else {
        None
    }
}

/// The decay rate of a flux under the discrete operator, on the grid of the configuration:
/// `-sum phi [I(M + G) - I(M - G)]/2 / sum phi G` with G = a M phi and the [amplitude](Flux::amplitude) a.
///
/// # Errors
/// A backend that is not there, or a fault of the device.
pub fn decay_rate(config: &OperatorConfig, flux: Flux) -> Result<f64> {
    let mut operator = CollisionOperator::new(config.clone())?;
    let phi = config.grid.sample(|xi| flux.phi(xi));
    let m = equilibrium(&config.grid);
    let mut rate = |sign: f64| -> Result<Vec<f64>> {
        let f: Vec<f64> = m
            .iter()
            .zip(&phi)
            .map(|(m, phi)| m * (1.0 + sign * flux.amplitude() * phi))
            .collect();
        Ok(operator.evaluate_any(&f)?.rate)
    };
    let [up, down] = [rate(1.0)?, rate(-1.0)?];
    let mut change = 0.0;
    let mut size = 0.0;
    for (cell, phi) in phi.iter().enumerate() {
        change -= phi * 0.5 * (up[cell] - down[cell]);
        size += flux.amplitude() * phi * phi * m[cell];
    }
    Ok(change / size)
}

/// The collision operator linearised about a distribution f, with the correction if the configuration asks for it.
///
/// Gain and loss are quadratic, so `[gain(f + g) - gain(f - g)]/2` is their derivative along g up to roundoff, whatever the size of g. The
/// corrected integral is not quadratic, `I = gain - loss p` with the polynomial p in (1, xi, xi^2) for which I conserves. Its derivative
/// follows from those of gain and loss,
///
/// ```text
/// L g = gain' - loss' p - loss p',    p' such that the moments of L g vanish,
/// ```
///
/// with the 5 x 5 matrix of the correction itself. The balanced integral `Q(f, f) - Q(M, M) - M (c . phi)` has the derivative
///
/// ```text
/// L g = Q'(f) g - Q'(M) M' - M' (c . phi) - M (c' . phi),     M' = M (a' . phi) with the moments of g,
/// ```
///
/// and c' such that the moments of L g vanish.
pub struct Linearised {
    operator: CollisionOperator,
    f: Vec<f64>,
    frequency: Vec<f64>,
    tangent: Derivative,
}

/// Contribution of the correction to the derivative of the sums.
enum Derivative {
    None,
    Paper(Box<Tangent>),
    Balanced(Box<balanced::Tangent>),
}

impl fmt::Debug for Linearised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Linearised")
            .field("operator", &self.operator)
            .finish_non_exhaustive()
    }
}

impl Linearised {
    /// Linearises about `f`.
    ///
    /// # Errors
    /// As [`CollisionOperator::evaluate`]; a distribution for which the correction does not exist.
    pub fn new(config: &OperatorConfig, f: Vec<f64>) -> Result<Self> {
        let mut operator = CollisionOperator::new(OperatorConfig {
            correction: CorrectionMethod::None,
            ..config.clone()
        })?;
        let base = operator.evaluate(&f)?;
        let grid = &config.grid;
        let tangent = match config.correction {
            CorrectionMethod::None => Some(Derivative::None),
            CorrectionMethod::Paper => Tangent::at(grid, &f, &base.gain, &base.frequency)
                .map(|tangent| Derivative::Paper(Box::new(tangent))),
            CorrectionMethod::Balanced => {
                let whole = CollisionOperator::new(config.clone())?.evaluate(&f)?;
                balanced::Tangent::at(grid, &f, whole.correction.delta)
                    .map(|tangent| Derivative::Balanced(Box::new(tangent)))
            }
        };
        let tangent = tangent.ok_or_else(|| {
            Error::Numerical(
                "the conservative correction does not exist for this distribution, so it has no derivative".into(),
            )
        })?;
        Ok(Self {
            operator,
            f,
            frequency: base.frequency,
            tangent,
        })
    }

    /// The collision frequency at f.
    pub fn frequency(&self) -> &[f64] {
        &self.frequency
    }

    /// L g.
    ///
    /// # Errors
    /// Values of the wrong number or not finite; a fault of the device.
    pub fn apply(&mut self, g: &[f64]) -> Result<Vec<f64>> {
        self.operator.config().validate_values(g)?;
        let (gain, loss) = slope(&mut self.operator, &self.f, g)?;
        let difference = |gain: &[f64], loss: &[f64]| -> Vec<f64> {
            gain.iter()
                .zip(loss)
                .map(|(gain, loss)| gain - loss)
                .collect()
        };
        Ok(match &self.tangent {
            Derivative::None => difference(&gain, &loss),
            Derivative::Paper(tangent) => tangent.slope(&gain, &loss),
            Derivative::Balanced(tangent) => {
                let mut change = tangent.change(g);
                // The Maxwellian does not change under a flux, but for roundoff, for which two more evaluations would be wasted.
                if most(&change) <= 64.0 * f64::EPSILON * most(g) {
                    change.fill(0.0);
                }
                let (back, lost) = slope(&mut self.operator, tangent.maxwellian(), &change)?;
                let mut slope = difference(&gain, &loss);
                for (slope, back) in slope.iter_mut().zip(difference(&back, &lost)) {
                    *slope -= back;
                }
                tangent.balance(slope, &change)
            }
        })
    }
}

fn most(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |most, v| most.max(v.abs()))
}

/// The derivatives of gain and loss at `f` along `g`.
fn slope(operator: &mut CollisionOperator, f: &[f64], g: &[f64]) -> Result<(Vec<f64>, Vec<f64>)> {
    if most(g) == 0.0 {
        return Ok((vec![0.0; g.len()], vec![0.0; g.len()]));
    }
    // Of the size of f, g loses the least in the differences.
    let size = most(f) / most(g);
    let mut side = |sign: f64| {
        let pairs = f.iter().zip(g);
        let f: Vec<f64> = pairs.map(|(f, g)| f + sign * size * g).collect();
        let evaluation = operator.evaluate_any(&f)?;
        let pairs = evaluation.frequency.iter().zip(&f);
        let loss: Vec<f64> = pairs.map(|(nu, f)| nu * f).collect();
        Ok::<_, Error>((evaluation.gain, loss))
    };
    let (up, down) = (side(1.0)?, side(-1.0)?);
    let slope = |up: &[f64], down: &[f64]| -> Vec<f64> {
        let pairs = up.iter().zip(down);
        pairs.map(|(up, down)| 0.5 * (up - down) / size).collect()
    };
    Ok((slope(&up.0, &down.0), slope(&up.1, &down.1)))
}

/// A viscosity with what its solver says about it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Viscosity {
    /// The viscosity at temperature 1.
    pub value: f64,
    /// Relative residual of the linear system, in the norm weighted by 1/M.
    pub residual: f64,
    /// Krylov vectors, two evaluations of the integral each.
    pub iterations: usize,
}

/// The viscosity of a gas under the discrete operator, on the grid of the configuration: `mu = int xi_x xi_y g`, `L g = -M xi_x xi_y`
/// (the full linear equation of Chapman and Enskog, not its first approximation).
///
/// Solved by GMRES in the norm weighted by 1/M, in which L is nearly symmetric, with 1/nu as preconditioner, to a residual of 1e-9 (f64) or 1e-5 (f32).
/// The right-hand side and with it all Krylov vectors are odd in xi_x and in xi_y, where L has no null vectors.
///
/// # Errors
/// A backend that is not there, a fault of the device, or a system that is not solved to 1e-3.
pub fn viscosity(config: &OperatorConfig) -> Result<Viscosity> {
    let grid = &config.grid;
    let m = equilibrium(grid);
    let mut linearised = Linearised::new(config, m.clone())?;
    let root: Vec<f64> = m.iter().map(|m| m.sqrt()).collect();
    let phi = grid.sample(|xi| Flux::Shear.phi(xi));
    let right: Vec<f64> = root
        .iter()
        .zip(&phi)
        .map(|(root, phi)| -root * phi)
        .collect();
    let inverse: Vec<f64> = linearised
        .frequency()
        .iter()
        .map(|nu| -nu.recip())
        .collect();
    let unscaled =
        |x: &[f64]| -> Vec<f64> { (0..x.len()).map(|k| x[k] * root[k] * inverse[k]).collect() };
    let apply = |x: &[f64]| {
        let image = linearised.apply(&unscaled(x))?;
        Ok(image
            .iter()
            .zip(&root)
            .map(|(image, root)| image / root)
            .collect())
    };
    let tolerance = match config.compute.precision {
        Precision::F64 => 1e-9,
        Precision::F32 => 1e-5,
    };
    let solution = gmres(apply, &right, tolerance, KRYLOV)?;
    if solution.residual.is_nan() || solution.residual > 1e-3 {
        return Err(Error::Numerical(format!(
            "the linearised equation for the viscosity on {}^3 velocities is solved to a residual of {:.1e} only",
            grid.n(),
            solution.residual
        )));
    }
    let g = unscaled(&solution.x);
    let flux: f64 = g.iter().zip(&phi).map(|(g, phi)| g * phi).sum();
    Ok(Viscosity {
        value: flux * grid.volume(),
        residual: solution.residual,
        iterations: solution.iterations,
    })
}

/// The discrete operator at the exact solution of Bobylev, Krook and Wu.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct BkwError {
    /// |I - df/dt| / |df/dt| in L2.
    pub relative: f64,
    /// Rate of change of the fourth moment, int I |xi|^4.
    pub fourth_rate: f64,
}

/// The error of the discrete operator at a state of the Bobylev-Krook-Wu solution. The molecules are pseudo-Maxwell, whatever the configuration says.
///
/// # Errors
/// A backend that is not there, or a fault of the device.
pub fn bkw_error(config: &OperatorConfig, state: Bkw) -> Result<BkwError> {
    let config = OperatorConfig {
        scattering: Scattering::Maxwell,
        ..config.clone()
    };
    let rate = CollisionOperator::new(config.clone())?
        .evaluate(&state.sample(&config.grid))?
        .rate;
    let exact = state.derivative(&config.grid, config.sigma_t);
    let error = rate.iter().zip(&exact).map(|(rate, exact)| rate - exact);
    Ok(BkwError {
        relative: norm(error) / norm(exact.iter().copied()),
        fourth_rate: Moments::of(&config.grid, &rate).fourth,
    })
}

/// How far the Maxwellian of temperature 1 is from being stationary: |I(M)| / |M nu| in L2.
///
/// # Errors
/// A backend that is not there, or a fault of the device.
pub fn equilibrium_error(config: &OperatorConfig) -> Result<f64> {
    let m = equilibrium(&config.grid);
    let evaluation = CollisionOperator::new(config.clone())?.evaluate(&m)?;
    let loss = m.iter().zip(&evaluation.frequency).map(|(m, nu)| m * nu);
    Ok(norm(evaluation.rate.iter().copied()) / norm(loss))
}

/// Everything this module measures, on one grid.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Study {
    /// Cells along an axis.
    pub n: usize,
    /// How the integral is computed.
    pub method: Method,
    /// Order of the coefficients; the spectral method has none.
    pub order: Option<Order>,
    /// Whether a correction makes the integral conservative.
    pub corrected: bool,
    /// Which one.
    pub correction: CorrectionMethod,
    /// Decay rate of shear stress.
    pub shear: f64,
    /// Decay rate of heat flux.
    pub heat: f64,
    /// Viscosity.
    pub viscosity: Viscosity,
    /// Error at the exact solution, for pseudo-Maxwell molecules.
    pub bkw: BkwError,
    /// Distance of the Maxwellian from rest.
    pub equilibrium: f64,
}

impl Study {
    /// Measures the operator of the configuration, but on n^3 cells in the boxes of this module: [`RATES_HALF_WIDTH`] and
    /// [`ERRORS_HALF_WIDTH`].
    ///
    /// # Errors
    /// A number of cells that no grid has, a backend that is not there, a fault of the device.
    pub fn of(config: &OperatorConfig, n: usize) -> Result<Self> {
        Self::in_boxes(config, n, 1.0)
    }

    /// The same in boxes of another size: `scale` times those of this module.
    ///
    /// # Errors
    /// As [`Study::of`]; a box that no grid has.
    pub fn in_boxes(config: &OperatorConfig, n: usize, scale: f64) -> Result<Self> {
        let on = |half_width: f64| -> Result<OperatorConfig> {
            let half_width = scale * half_width;
            Ok(OperatorConfig {
                grid: VelocityGrid::new(n, -half_width, half_width)?,
                ..config.clone()
            })
        };
        let (rates, errors) = (on(RATES_HALF_WIDTH)?, on(ERRORS_HALF_WIDTH)?);
        Ok(Self {
            n,
            method: config.method,
            order: (config.method != Method::Spectral).then_some(config.order),
            corrected: config.correction != CorrectionMethod::None,
            correction: config.correction,
            shear: decay_rate(&rates, Flux::Shear)?,
            heat: decay_rate(&rates, Flux::Heat)?,
            viscosity: viscosity(&rates)?,
            bkw: bkw_error(&errors, Bkw::new(BKW_K)?)?,
            equilibrium: equilibrium_error(&errors)?,
        })
    }

    /// Whether its cells are wider than the thermal speed, so that its numbers say nothing of the operator's limit, and how many would do.
    pub fn warning(&self) -> Option<String> {
        let width = 2.0 * RATES_HALF_WIDTH / self.n as f64;
        (width > WIDTH.0).then(|| {
            format!(
                "{0}^3 velocities: cells are {width:.2} thermal speeds sqrt(T) wide, and rates are far off; it takes {1} cells along an axis",
                self.n,
                (2.0 * RATES_HALF_WIDTH / WIDTH.1).ceil()
            )
        })
    }
}

/// The order of convergence that two errors show: the slope of the logarithm of the error against that of the cells' width.
pub fn observed_order(coarse: (usize, f64), fine: (usize, f64)) -> f64 {
    (coarse.1 / fine.1).ln() / (fine.0 as f64 / coarse.0 as f64).ln()
}

fn equilibrium(grid: &VelocityGrid) -> Vec<f64> {
    maxwellian(grid, 1.0, [0.0; 3], 1.0)
}

fn norm(values: impl IntoIterator<Item = f64>) -> f64 {
    values
        .into_iter()
        .map(|value| value * value)
        .sum::<f64>()
        .sqrt()
}
