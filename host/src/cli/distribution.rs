//! Distributions that the command starts from: their formulas, their files, their checks, their cross-sections.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::npy;
use super::text::{short, text_or_file};
use crate::collision::initial::{Bkw, TwoMaxwellians};
use crate::collision::{Beams, VelocityGrid};
use crate::error::{Error, Result};

/// The initial state of a relaxation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub(super) enum Init {
    /// Half the sum of two Maxwellians of temperature 1 with mean velocities +-U along x, density 1.
    TwoMaxwellians(f64),
    /// Of the relaxation models: the same with a share of the molecules at the velocity U, and the others at the one that balances their momentum.
    Unequal { speed: f64, share: f64 },
    /// Of the relaxation models: temperatures of translation and rotation.
    Temperatures([f64; 2]),
    /// The Bobylev-Krook-Wu solution, from one of its states on.
    Bkw(Bkw),
    /// An array.
    File(PathBuf),
}

impl Init {
    /// Half width of the velocity box that suits this state, if it is known.
    pub(super) fn vmax(&self) -> Option<f64> {
        match self {
            Self::TwoMaxwellians(u) => Some(u.abs() + 5.0),
            Self::Bkw(_) => Some(5.5),
            Self::Unequal { .. } | Self::Temperatures(_) | Self::File(_) => None,
        }
    }

    /// Whether it is a start of the relaxation models alone.
    pub(super) fn is_of_models(&self) -> bool {
        matches!(self, Self::Unequal { .. } | Self::Temperatures(_))
    }

    /// The Maxwellians that it is a sum of, or near to, if they are known.
    pub(super) fn beams(&self) -> Option<Beams> {
        let fastest = match self {
            Self::TwoMaxwellians(u) => u.abs(),
            Self::Bkw(_) => 0.0,
            Self::Unequal { .. } | Self::Temperatures(_) | Self::File(_) => return None,
        };
        Some(Beams {
            coldest: 1.0,
            hottest: 1.0,
            fastest,
        })
    }

    /// The values on the grid; those of a file may reach below zero by this share of the largest.
    pub(super) fn sample(&self, grid: &VelocityGrid, tolerated: f64) -> Result<Vec<f64>> {
        match self {
            Self::TwoMaxwellians(speed) => {
                let beams = TwoMaxwellians {
                    speed: *speed,
                    ..TwoMaxwellians::default()
                };
                Ok(beams.sample(grid))
            }
            Self::Bkw(state) => Ok(state.sample(grid)),
            Self::Unequal { .. } | Self::Temperatures(_) => Err(Error::invalid(
                "--init",
                self,
                "two-maxwellians[:U], bkw:K0 or a .npy file; this start is of a relaxation model, --model",
            )),
            Self::File(path) => Ok(read(path, grid.n()..=grid.n(), tolerated, false)?.values),
        }
    }

    /// The state in words.
    pub(super) fn in_words(&self) -> String {
        match self {
            Self::TwoMaxwellians(u) => {
                format!("two Maxwellians (u = ±{} along x, T = 1)", short(*u))
            }
            Self::Unequal { speed, share } => format!(
                "two Maxwellians (a share of {} at u = {} along x, T = 1)",
                short(*share),
                short(*speed)
            ),
            Self::Temperatures([of_t, of_r]) => format!(
                "temperatures {} of translation and {} of rotation",
                short(*of_t),
                short(*of_r)
            ),
            Self::Bkw(state) => format!("the Bobylev-Krook-Wu solution from K = {}", state.k()),
            Self::File(path) => path.display().to_string(),
        }
    }
}

/// Two finite numbers with a comma between them.
fn pair_of(text: &str) -> Option<[f64; 2]> {
    let (first, second) = text.split_once(',')?;
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|x| x.is_finite());
    Some([number(first)?, number(second)?])
}

impl FromStr for Init {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, value) = match text.split_once(':') {
            Some((name, value)) => (name, Some(value)),
            None => (text, None),
        };
        match (name, value) {
            ("two-maxwellians", None) => Ok(Self::TwoMaxwellians(TwoMaxwellians::default().speed)),
            ("two-maxwellians", Some(pair)) if pair.contains(',') => match pair_of(pair) {
                Some([speed, share]) if share > 0.0 && share < 1.0 => {
                    Ok(Self::Unequal { speed, share })
                }
                _ => Err(format!(
                    "two-maxwellians:U,SHARE needs a finite speed U and a share above 0 and below 1; '{pair}' was given"
                )),
            },
            ("temperatures", Some(pair)) => match pair_of(pair) {
                Some([of_t, of_r]) if of_t > 0.0 && of_r > 0.0 => {
                    Ok(Self::Temperatures([of_t, of_r]))
                }
                _ => Err(format!(
                    "temperatures:T_T,T_R needs two positive temperatures; '{pair}' was given"
                )),
            },
            ("two-maxwellians", Some(u)) => match u.parse::<f64>() {
                Ok(u) if u.is_finite() => Ok(Self::TwoMaxwellians(u)),
                _ => Err(format!(
                    "two-maxwellians:U needs a finite speed U; '{u}' was given"
                )),
            },
            ("bkw", Some(k)) => match k.parse().map(Bkw::new) {
                Ok(Ok(state)) if state.k() < 1.0 => Ok(Self::Bkw(state)),
                _ => Err(format!(
                    "bkw:K0 needs 3/5 <= K0 < 1, where the distribution is nonnegative and not yet at rest; '{k}' was given"
                )),
            },
            _ if text.ends_with(".npy") || Path::new(text).is_file() => {
                Ok(Self::File(PathBuf::from(text)))
            }
            _ => Err(
                "use two-maxwellians[:U], bkw:K0 with 3/5 <= K0 < 1, or the name of a .npy file; with --model also two-maxwellians:U,SHARE and temperatures:T_T,T_R"
                    .into(),
            ),
        }
    }
}

impl fmt::Display for Init {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TwoMaxwellians(u) => write!(f, "two-maxwellians:{u}"),
            Self::Unequal { speed, share } => write!(f, "two-maxwellians:{speed},{share}"),
            Self::Temperatures([of_t, of_r]) => write!(f, "temperatures:{of_t},{of_r}"),
            Self::Bkw(state) => write!(f, "bkw:{}", state.k()),
            Self::File(path) => write!(f, "{}", path.display()),
        }
    }
}

text_or_file!(Init);

/// Reads a distribution, or with `many` possibly many of them, and checks that it is one: finite, not zero, nonnegative but for
/// a share of the largest value that the operator tolerates.
pub(super) fn read(
    path: &Path,
    sides: std::ops::RangeInclusive<usize>,
    tolerated: f64,
    many: bool,
) -> Result<npy::Cube> {
    let cube = npy::read_cube(path, sides, many)?;
    for (item, values) in cube.values.chunks_exact(cube.n.pow(3)).enumerate() {
        let item = cube.items.map(|_| item);
        check(path, cube.n, item, values, tolerated)?;
    }
    Ok(cube)
}

fn check(path: &Path, n: usize, item: Option<usize>, values: &[f64], tolerated: f64) -> Result<()> {
    let of = item.map_or(String::new(), |item| format!("distribution {item}: "));
    let count = |wrong: &dyn Fn(f64) -> bool| {
        let first = values.iter().position(|&f| wrong(f))?;
        let count = values.iter().filter(|&&f| wrong(f)).count();
        let (x, y, z) = (first / (n * n), first / n % n, first % n);
        let (are, it) = if count == 1 {
            ("value is", "it is")
        } else {
            ("values are", "the first is")
        };
        Some((
            count,
            are,
            format!("{it} f[{x}][{y}][{z}] = {}", values[first]),
        ))
    };
    if let Some((count, are, first)) = count(&|f| !f.is_finite()) {
        return Err(Error::file(
            path,
            format!("{of}{count} {are} not finite; {first}"),
        ));
    }
    let largest = values.iter().copied().fold(0.0, f64::max);
    let least = -tolerated * largest;
    if let Some((count, are, first)) = count(&|f| f < least) {
        return Err(Error::file(
            path,
            format!("{of}{count} {are} negative; {first}; a distribution is nonnegative"),
        ));
    }
    if values.iter().all(|&f| f == 0.0) {
        return Err(Error::file(
            path,
            format!("{of}all values are zero; a distribution of zero density does not collide"),
        ));
    }
    Ok(())
}

/// The velocities of the cells along each axis.
pub(super) fn centres(grid: &VelocityGrid) -> Vec<f64> {
    (0..grid.n()).map(|i| grid.centre(i)).collect()
}

/// Cross-sections of `f` along x (at y = z = 0) and along y (at x = z = 0), through the middle of the box.
///
/// For odd N the middle is a row of cells; for even N it is an edge, and the four rows of cells around it are averaged.
pub(super) fn cross_sections(grid: &VelocityGrid, f: &[f64]) -> [Vec<f64>; 2] {
    let n = grid.n();
    let rows = [(n - 1) / 2, n / 2];
    let average = |value: &dyn Fn(usize, usize) -> f64| {
        let pairs = rows.iter().flat_map(|&a| rows.iter().map(move |&b| (a, b)));
        pairs.map(|(a, b)| value(a, b)).sum::<f64>() / 4.0
    };
    [
        (0..n)
            .map(|i| average(&|a, b| f[grid.index(i, a, b)]))
            .collect(),
        (0..n)
            .map(|i| average(&|a, b| f[grid.index(a, i, b)]))
            .collect(),
    ]
}

/// The label of an axis that shows [`cross_sections`]; it says so where they are averages.
pub(super) fn section_label(grid: &VelocityGrid, what: &str) -> String {
    if grid.n().is_multiple_of(2) {
        format!("{what}, mean of the four rows of cells around the axis")
    } else {
        what.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collision::Moments;

    #[test]
    fn two_maxwellians_start_where_the_paper_does() {
        let grid = VelocityGrid::new(20, -6.5, 6.5).unwrap();
        let f = Init::TwoMaxwellians(1.5).sample(&grid, 0.0).unwrap();
        let h = f
            .iter()
            .filter(|f| **f > 0.0)
            .map(|f| f * f.ln())
            .sum::<f64>()
            * grid.volume();
        assert!((h + 4.78359244).abs() < 1e-7, "{h}");
        let [x, y] = cross_sections(&grid, &f);
        assert!(x[6] > x[9] && y[6] < y[9]);
        assert!((Moments::entropy_at_rest(1.0, 1.7499973) + 5.096237).abs() < 1e-6);
    }
}
