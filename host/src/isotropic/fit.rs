//! Whether an energy grid is wide and fine enough for what relaxes on it, and the grid that would be.
//!
//! Number and energy are kept, so the equilibrium of a state is known before a run. It is a gamma distribution of shape a in the number of
//! particles, a = 3/2 for a gas, with the temperature T = e / (n a). Its share of energy beyond E_max tells whether the grid is wide enough.
//! Whether the cells are narrow enough is read off the equilibrium on the grid itself, whose variance and Gini coefficient have known limits:
//! e^2 / (n^2 a) and Gamma(a + 1/2) / (sqrt(pi) a Gamma(a)).

use super::inequality::{gini, gini_of_gamma, shape};
use super::{CollisionKernel, EnergyGrid, OperatorConfig, Weights, initial};
use crate::error::{Error, Result};

/// Share of the equilibrium's energy beyond the grid that is tolerated, and that an advised grid has.
const LOST: (f64, f64) = (1e-3, 1e-4);
/// Errors of the equilibrium's variance and Gini coefficient on the grid that are tolerated, and those of an advised grid.
const VARIANCE: (f64, f64) = (2e-2, 1e-2);
const GINI: (f64, f64) = (1e-2, 5e-3);
/// Widths of cells of a gas, in temperatures, by the weights of the quadrature: tolerated and advised. Beyond the first the variance of the
/// discrete equilibrium is 2% off, below the second 1%.
const CENTER: (f64, f64) = (0.29, 0.16);
const CELL: (f64, f64) = (0.59, 0.35);
/// Where agents save, the cells that an agent of mean wealth spreads over in one encounter: by cells alone the variance rises by the inverse square.
const SPREAD: (f64, f64) = (10.0, 14.0);
/// Below so many cells the exchange is lost within them, and an economy does not move.
const LEAST_SPREAD: f64 = 2.0;
/// Most cells of a grid that nobody asked for: the work grows as their square.
const MOST_UNASKED: usize = 2048;
/// Share of the particles in the highest twentieth of the energies that is tolerated.
const AT_THE_END: f64 = 1e-3;

/// A distribution that was sampled on a grid: what its integrals are exactly, and the temperatures of its coldest and hottest part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampled {
    /// Number.
    pub number: f64,
    /// Energy.
    pub energy: f64,
    /// Temperature of the coldest part.
    pub coldest: f64,
    /// Temperature of the hottest part.
    pub hottest: f64,
}

impl OperatorConfig {
    /// Whether the grid is too narrow or its cells are too wide for the state `f` and for the equilibrium that it relaxes to. Each text says the
    /// grid that would do.
    pub fn warnings(&self, f: &[f64]) -> Vec<String> {
        let [number, energy] = sums(self, f);
        if !(number > 0.0 && energy > 0.0 && (energy / number).is_normal()) {
            return Vec::new();
        }
        let mut warnings = equilibrium_warnings(self, energy / number);
        if warnings.is_empty() {
            warnings.extend(end_warning(self, f, number));
        }
        warnings
    }

    /// The same of a distribution whose integrals are known.
    ///
    /// # Errors
    /// A grid that misses more than half of the number or of the energy, or that holds as much too much.
    pub fn warnings_of(&self, f: &[f64], exact: &Sampled) -> Result<Vec<String>> {
        let [number, energy] = sums(self, f);
        let (few, many) = self.width_of_cells();
        let hottest = exact.hottest.max(exact.energy / exact.number / 1.5);
        let reach = self.grid.emax().max(hottest * reach(1.5, LOST.1));
        let off = (number / exact.number - 1.0)
            .abs()
            .max((energy / exact.energy - 1.0).abs());
        let narrow = beyond(1.5, self.grid.emax() / hottest) > LOST.0;
        let wide = self.grid.width() > few * exact.coldest;
        let grid = format!("{} cells up to {}", self.grid.cells(), self.grid.emax());
        let held = format!(
            "{} of the particles and {} of the energy",
            percent(number / exact.number),
            percent(energy / exact.energy)
        );
        let cure = grid_in_words((reach / (many * exact.coldest)).ceil(), reach);
        if off.is_nan() || off > 0.5 {
            return Err(Error::invalid(
                "grid",
                format!("{grid}, which hold {held}"),
                cure,
            ));
        }
        if narrow || wide || off > 0.05 {
            return Ok(vec![format!(
                "the grid of {grid} holds {held}; it takes {cure}"
            )]);
        }
        Ok(self.warnings(f))
    }

    /// Refuses a state whose exchanges are lost within the cells.
    pub(super) fn check_exchange(&self, f: &[f64]) -> Result<()> {
        let CollisionKernel::Saving { lambda } = self.law else {
            return Ok(());
        };
        let [number, energy] = sums(self, f);
        let mean = energy / number;
        let spread = spread(lambda, mean, self.grid.width());
        if spread < LEAST_SPREAD {
            return Err(Error::invalid(
                "grid",
                format!(
                    "{} cells up to {}, where in an encounter agents of mean wealth spread over {spread:.2} of a cell and nothing moves",
                    self.grid.cells(),
                    self.grid.emax()
                ),
                saving_grid(lambda, mean, self.grid.emax()),
            ));
        }
        Ok(())
    }

    /// Widths of cells of a gas in temperatures, tolerated and advised.
    fn width_of_cells(&self) -> (f64, f64) {
        match self.weights {
            Weights::Center => CENTER,
            Weights::Cell => CELL,
        }
    }
}

/// A grid for agents of mean wealth 1 under a law, as number of cells and upper end: that of `cells` cells up to `emax` where it will do, else one
/// that will, as far as 2048 cells go. It reaches at least up to `least`.
pub(super) fn suitable(
    law: CollisionKernel,
    weights: Weights,
    cells: usize,
    emax: f64,
    least: f64,
) -> Result<(usize, f64)> {
    let config = |cells: usize, emax: f64| -> Result<OperatorConfig> {
        Ok(OperatorConfig {
            weights,
            ..OperatorConfig::new(EnergyGrid::new(cells, emax)?, law)
        })
    };
    if least <= emax && equilibrium_warnings(&config(cells, emax)?, 1.0).is_empty() {
        return Ok((cells, emax));
    }
    let needed = least.max(reach(shape(law), LOST.1) / shape(law));
    let (enough, emax) = match law {
        // Agents who save much stay near the mean.
        CollisionKernel::Saving { lambda } => {
            let emax = needed.max(1.5);
            ((emax * SPREAD.1 / (2.0 * (1.0 - lambda))).ceil(), emax)
        }
        _ => {
            let emax = emax.max(needed);
            let config = config(cells, emax)?;
            (advised(&config, 1.0, emax), emax)
        }
    };
    let most = MOST_UNASKED.max(cells);
    Ok(((enough.min(most as f64) as usize).max(cells), emax))
}

/// Number and energy.
fn sums(config: &OperatorConfig, f: &[f64]) -> [f64; 2] {
    let mut sums = [0.0; 2];
    for (i, (f, measure)) in f.iter().zip(config.measure()).enumerate() {
        sums[0] += measure * f;
        sums[1] += measure * f * config.grid.energy(i);
    }
    sums
}

/// The deficit on the grid of the equilibrium of this mean energy.
fn equilibrium_warnings(config: &OperatorConfig, mean: f64) -> Vec<String> {
    let (grid, law) = (&config.grid, config.law);
    let a = shape(law);
    let temperature = mean / a;
    let mut warnings = Vec::new();
    let lost = beyond(a, grid.emax() / temperature);
    let gas = law.is_gas();
    let energy = if gas { "energy" } else { "wealth" };
    if lost > LOST.0 {
        let needed = reach(a, LOST.1) * temperature;
        warnings.push(format!(
            "{} of the {energy} of the equilibrium lies beyond the grid, which ends at {:.4}; it takes {}",
            percent(lost),
            grid.emax(),
            grid_in_words(advised(config, mean, needed), needed)
        ));
        return warnings;
    }
    let coarse = match law {
        _ if gas => {
            let width = grid.width() / temperature;
            (width > config.width_of_cells().0)
                .then(|| format!("cells are {width:.2} temperatures wide at equilibrium"))
        }
        CollisionKernel::Saving { lambda } => {
            let spread = spread(lambda, mean, grid.width());
            (spread < SPREAD.0).then(|| {
                format!(
                    "in an encounter agents of mean wealth spread over {spread:.1} cells, which makes the variance about {} too large",
                    percent(spread.powi(-2))
                )
            })
        }
        _ => {
            let [variance, gini] = errors(config, mean);
            (variance.abs() > VARIANCE.0 || gini.abs() > GINI.0).then(|| {
                format!(
                    "at equilibrium on this grid the variance is {:+.1}% off and the Gini coefficient {:+.1}%",
                    100.0 * variance,
                    100.0 * gini
                )
            })
        }
    };
    if let Some(coarse) = coarse {
        let cure = match law {
            CollisionKernel::Saving { lambda } => saving_grid(lambda, mean, grid.emax()),
            _ => grid_in_words(advised(config, mean, grid.emax()), grid.emax()),
        };
        warnings.push(format!("{coarse}; it takes {cure}"));
    }
    warnings
}

/// The deficit of the state itself at the end of the grid.
fn end_warning(config: &OperatorConfig, f: &[f64], number: f64) -> Option<String> {
    let cells = f.len();
    let measure = config.measure();
    let last = cells - cells.div_ceil(20)..cells;
    let share = last.map(|i| measure[i] * f[i]).sum::<f64>() / number;
    (share > AT_THE_END).then(|| {
        format!(
            "{} of the particles are in the highest twentieth of the energies, beyond which collisions are left out; it takes a grid that ends at {:.4} or higher",
            percent(share),
            2.0 * config.grid.emax()
        )
    })
}

/// Cells of a grid up to `emax` that do for this mean energy.
fn advised(config: &OperatorConfig, mean: f64, emax: f64) -> f64 {
    let emax = emax.max(config.grid.emax());
    if config.law.is_gas() {
        let width = config.width_of_cells().1 * mean / shape(config.law);
        return (emax / width).ceil().max(config.grid.cells() as f64);
    }
    match config.law {
        CollisionKernel::Saving { lambda } => {
            (emax * SPREAD.1 / (2.0 * (1.0 - lambda) * mean)).ceil()
        }
        _ => EnergyGrid::new(config.grid.cells(), emax).map_or(f64::INFINITY, |grid| {
            cells_for(
                &OperatorConfig {
                    grid,
                    ..config.clone()
                },
                mean,
            )
        }),
    }
}

/// The fewest cells, to one part in 16, up to the end of the grid for which the equilibrium has the right variance and Gini coefficient. It is infinite if
/// no grid has so many.
fn cells_for(config: &OperatorConfig, mean: f64) -> f64 {
    let good = |cells: usize| {
        EnergyGrid::new(cells, config.grid.emax()).is_ok_and(|grid| {
            let [variance, gini] = errors(
                &OperatorConfig {
                    grid,
                    ..config.clone()
                },
                mean,
            );
            variance.abs() < VARIANCE.1 && gini.abs() < GINI.1
        })
    };
    let mut high = 16;
    while !good(high) {
        high *= 2;
        if high > EnergyGrid::MAX_CELLS {
            return f64::INFINITY;
        }
    }
    let step = (high / 32).max(1);
    let mut cells = high;
    while cells > step && cells - step >= high / 2 && good(cells - step) {
        cells -= step;
    }
    cells as f64
}

/// Relative errors of the variance and of the Gini coefficient of the equilibrium on the grid.
fn errors(config: &OperatorConfig, mean: f64) -> [f64; 2] {
    let a = shape(config.law);
    let Ok(rest) = initial::equilibrium(config, 1.0, mean) else {
        return [f64::INFINITY; 2];
    };
    let p: Vec<f64> = rest
        .f
        .iter()
        .zip(config.measure())
        .map(|(f, m)| f * m)
        .collect();
    let variance: f64 = p
        .iter()
        .enumerate()
        .map(|(i, p)| p * (config.grid.energy(i) - mean).powi(2))
        .sum();
    [
        variance * a / (mean * mean) - 1.0,
        gini(&config.grid, &p) / gini_of_gamma(a) - 1.0,
    ]
}

/// Cells over which an agent of mean wealth spreads in an encounter with another.
fn spread(lambda: f64, mean: f64, width: f64) -> f64 {
    2.0 * (1.0 - lambda) * mean / width
}

fn saving_grid(lambda: f64, mean: f64, emax: f64) -> String {
    let a = shape(CollisionKernel::Saving { lambda });
    let end = emax.min((reach(a, LOST.1) * mean / a).max(1.5 * mean));
    grid_in_words((end * SPREAD.1 / (2.0 * (1.0 - lambda) * mean)).ceil(), end)
}

fn grid_in_words(cells: f64, emax: f64) -> String {
    if cells > EnergyGrid::MAX_CELLS as f64 {
        format!(
            "more cells up to {emax:.4} than the {} that a grid may have",
            EnergyGrid::MAX_CELLS
        )
    } else {
        format!("{cells} cells up to {emax:.4}")
    }
}

fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    if percent.abs() >= 0.1 || percent == 0.0 {
        format!("{percent:.1}%")
    } else {
        format!("{percent:.1e}%")
    }
}

/// Share of the energy of a gamma distribution of shape `a` beyond x temperatures: Q(a + 1, x).
fn beyond(a: f64, x: f64) -> f64 {
    upper_gamma(a + 1.0, x)
}

/// Temperatures beyond which this share of the energy of a gamma distribution of shape `a` lies.
fn reach(a: f64, share: f64) -> f64 {
    let (mut low, mut high) = (0.0, a + 20.0 + 20.0 * a.sqrt());
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if beyond(a, middle) > share {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// The regularised incomplete gamma function Q(a, x): its series below a + 1, Lentz's continued fraction above.
fn upper_gamma(a: f64, x: f64) -> f64 {
    if x.is_nan() || x <= 0.0 {
        return 1.0;
    }
    let factor = (a * x.ln() - x - libm::lgamma(a)).exp();
    if x < a + 1.0 {
        let (mut term, mut sum) = (1.0 / a, 1.0 / a);
        for k in 1..10_000 {
            term *= x / (a + f64::from(k));
            sum += term;
            if term < sum * f64::EPSILON {
                break;
            }
        }
        return 1.0 - factor * sum;
    }
    let mut b = x + 1.0 - a;
    let (mut c, mut d) = (1e300, 1.0 / b);
    let mut h = d;
    for k in 1..10_000 {
        let k = f64::from(k);
        let an = -k * (k - a);
        b += 2.0;
        d = 1.0 / (an * d + b);
        c = b + an / c;
        h *= d * c;
        if (d * c - 1.0).abs() < 1e-15 {
            break;
        }
    }
    factor * h
}

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use super::*;

    #[test]
    fn tails_and_inequality_of_gamma_distributions() {
        // Q(1, x) = exp(-x), Q(2, x) = (1 + x) exp(-x), Q(1/2, x) = erfc(sqrt x).
        for x in [0.1, 0.9, 1.7, 3.0, 12.0] {
            assert!((upper_gamma(1.0, x) - (-x).exp()).abs() < 1e-14);
            assert!((upper_gamma(2.0, x) - (1.0 + x) * (-x).exp()).abs() < 1e-14);
            assert!((upper_gamma(0.5, x) - libm::erfc(x.sqrt())).abs() < 1e-14);
        }
        assert!((beyond(1.5, reach(1.5, 1e-3)) / 1e-3 - 1.0).abs() < 1e-9);
        for (a, gini) in [(0.25, 0.76276), (0.5, 2.0 / PI), (1.0, 0.5), (1.5, 0.42441)] {
            assert!((gini_of_gamma(a) - gini).abs() < 1e-5, "{a}");
        }
    }
}
