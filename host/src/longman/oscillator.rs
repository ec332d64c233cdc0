//! The oscillating factor of an integrand, and tables of it in phase, which serve every frequency.
//!
//! With s = omega x the integral of g(x) osc(omega x) is 1/omega times that of g(s/omega) osc(s). Neither the zeros of osc nor its values
//! at the nodes between them depend on omega. So they are tabulated once. Sine and cosine are taken at the local phase
//! theta = s - s_k, in [0, pi], where their values are exact to roundoff for any k. Bessel functions are taken at s_k + theta, and the
//! derivative corrects the roundoff of that sum.

use std::collections::HashMap;
use std::f64::consts::{FRAC_PI_2, PI};
use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use serde::{Deserialize, Serialize};

use super::quadrature::{Kronrod, Node, tanh_sinh_nodes};
use super::special::{BESSEL_EPSILONS, bessel_j, bessel_j_derivative};
use super::zeros::{MAX_BESSEL_ORDER, bessel_zeros, bessel_zeros_beyond};
use crate::error::{Error, Result};

/// The oscillating factor of an integrand.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
#[non_exhaustive]
pub enum Oscillator {
    /// cos(omega x).
    Cos,
    /// sin(omega x).
    Sin,
    /// J_nu(omega x), nu > -1.
    BesselJ(f64),
}

impl Oscillator {
    /// Refuses orders of Bessel functions that have no table.
    ///
    /// # Errors
    /// An order not above -1, or too high for the tables.
    pub fn check(self) -> Result<()> {
        match self {
            Self::BesselJ(nu) if !(nu > -1.0 && nu <= MAX_BESSEL_ORDER) => Err(Error::invalid(
                "order",
                nu,
                format!("an order of a Bessel oscillator above -1 and at most {MAX_BESSEL_ORDER}"),
            )),
            _ => Ok(()),
        }
    }

    /// Its value at a phase.
    pub fn value(self, s: f64) -> f64 {
        match self {
            Self::Cos => s.cos(),
            Self::Sin => s.sin(),
            Self::BesselJ(nu) => bessel_j(nu, s),
        }
    }

    /// Accuracy of [`value`](Self::value), in units of the machine epsilon.
    pub fn epsilons(self) -> f64 {
        match self {
            Self::Cos | Self::Sin => 4.0,
            Self::BesselJ(_) => BESSEL_EPSILONS,
        }
    }

    /// The first `count` zeros beyond a phase `from` >= 0.
    pub fn zeros_beyond(self, from: f64, count: usize) -> Vec<f64> {
        let trigonometric = |shift: f64| {
            // k by a ceiling, never by a loop; a zero at `from` itself, to roundoff, is the lower end and not the first boundary.
            let first = (from / PI - shift).floor() + 1.0;
            let first = if (first + shift) * PI > from {
                first
            } else {
                first + 1.0
            };
            (0..count)
                .map(|k| (first + k as f64 + shift) * PI)
                .collect()
        };
        match self {
            Self::Cos => trigonometric(-0.5),
            Self::Sin => trigonometric(0.0),
            Self::BesselJ(nu) if from == 0.0 => bessel_zeros(nu, count)
                .iter()
                .copied()
                .take(count)
                .collect(),
            Self::BesselJ(nu) => bessel_zeros_beyond(nu, from, count),
        }
    }
}

impl fmt::Display for Oscillator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cos => f.write_str("cos"),
            Self::Sin => f.write_str("sin"),
            Self::BesselJ(nu) => write!(f, "bessel:{nu}"),
        }
    }
}

impl FromStr for Oscillator {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let oscillator = match text {
            "cos" => Some(Self::Cos),
            "sin" => Some(Self::Sin),
            _ => text
                .strip_prefix("bessel:")
                .and_then(|nu| nu.parse().ok())
                .map(Self::BesselJ),
        };
        let oscillator = oscillator.ok_or_else(|| {
            Error::invalid("oscillator", format!("'{text}'"), "cos, sin or bessel:NU")
        })?;
        oscillator.check()?;
        Ok(oscillator)
    }
}

impl TryFrom<String> for Oscillator {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl Oscillator {
    /// Sign after a zero; 1 for Bessel functions.
    pub(super) fn sign_after(self, zero: f64) -> f64 {
        let parity = match self {
            // cos is negative after pi/2, sin positive after 0.
            Self::Cos => (zero / PI - 0.5).round() + 1.0,
            Self::Sin => (zero / PI).round(),
            Self::BesselJ(_) => 0.0,
        };
        if parity % 2.0 == 0.0 { 1.0 } else { -1.0 }
    }
}

impl From<Oscillator> for String {
    fn from(oscillator: Oscillator) -> Self {
        oscillator.to_string()
    }
}

/// Most panels into which an area is divided: 1, 2, 4 or 8.
pub(super) const DIVISIONS: [usize; 4] = [1, 2, 4, 8];

/// Levels of tanh-sinh whose nodes are tabulated for Bessel functions.
const HEAD_LEVELS: usize = 6;

/// Values of an oscillator at the Kronrod nodes of its areas from phase 0 on.
#[derive(Debug)]
pub(super) struct PhaseTable {
    pub(super) oscillator: Oscillator,
    pub(super) kronrod: Arc<Kronrod>,
    /// sin(theta) at the nodes of [0, pi] in 1, 2, 4 and 8 panels, for cosine and sine.
    local: [Vec<f64>; DIVISIONS.len()],
    /// For a Bessel function: its zeros, its values at the nodes of each area, and those of the head [0, z_1].
    zeros: Vec<f64>,
    areas: Vec<Vec<f64>>,
    /// And those just outside each area; see [`beyond`](Self::beyond).
    outside: Vec<[f64; 2]>,
    head: Vec<f64>,
}

impl PhaseTable {
    /// The table with at least this many areas; computed once for each oscillator and rule.
    pub(super) fn get(oscillator: Oscillator, points: usize, areas: usize) -> Arc<Self> {
        type Key = (u8, u64, usize);
        static KNOWN: OnceLock<Mutex<HashMap<Key, Arc<PhaseTable>>>> = OnceLock::new();
        let known = KNOWN.get_or_init(Mutex::default);
        let lock = || known.lock().unwrap_or_else(PoisonError::into_inner);
        let key = match oscillator {
            Oscillator::Cos => (0, 0, points),
            Oscillator::Sin => (1, 0, points),
            Oscillator::BesselJ(nu) => (2, nu.to_bits(), points),
        };
        if let Some(table) = lock().get(&key)
            && table.reaches(areas)
        {
            return Arc::clone(table);
        }
        // Computed outside the lock: two threads may do it twice, none waits for another order.
        let table = Arc::new(Self::compute(oscillator, points, areas));
        let mut known = lock();
        if known.len() >= 1024 {
            known.clear();
        }
        known.insert(key, Arc::clone(&table));
        table
    }

    fn reaches(&self, areas: usize) -> bool {
        match self.oscillator {
            Oscillator::Cos | Oscillator::Sin => true,
            Oscillator::BesselJ(_) => self.areas.len() >= areas,
        }
    }

    fn compute(oscillator: Oscillator, points: usize, areas: usize) -> Self {
        let kronrod = Kronrod::new(points);
        let local = DIVISIONS.map(|panels| {
            let nodes = (0..panels).flat_map(|panel| {
                let kronrod = &kronrod;
                kronrod.rule.nodes.iter().map(move |&t| {
                    let theta = PI * (panel as f64 + 0.5 * (1.0 + t)) / panels as f64;
                    // The sine from the nearer end is more accurate.
                    if theta > FRAC_PI_2 {
                        let rest = PI * ((panels - 1 - panel) as f64 + 0.5 * (1.0 - t));
                        (rest / panels as f64).sin()
                    } else {
                        theta.sin()
                    }
                })
            });
            nodes.collect()
        });
        let mut table = Self {
            oscillator,
            kronrod,
            local,
            zeros: Vec::new(),
            areas: Vec::new(),
            outside: Vec::new(),
            head: Vec::new(),
        };
        if let Oscillator::BesselJ(nu) = oscillator {
            table.zeros = oscillator.zeros_beyond(0.0, areas + 1);
            table.areas = table
                .zeros
                .windows(2)
                .map(|ends| {
                    let nodes = table.kronrod.rule.nodes.iter();
                    nodes
                        .map(|&t| local_bessel(nu, ends[0], 0.5 * (1.0 + t) * (ends[1] - ends[0])))
                        .collect()
                })
                .collect();
            let margin = 0.5 * table.kronrod.margin();
            let outside = |ends: &[f64]| {
                [-margin, 1.0 + margin]
                    .map(|part| local_bessel(nu, ends[0], part * (ends[1] - ends[0])))
            };
            table.outside = table.zeros.windows(2).map(outside).collect();
            let first = table.zeros.first().copied().unwrap_or(1.0);
            table.head = tanh_sinh_nodes(first, HEAD_LEVELS)
                .iter()
                .map(|node| head_bessel(nu, first, node.below, node.above))
                .collect();
        }
        table
    }

    /// Value at node `node` of panel `panel` of `DIVISIONS[level]`, in the area between the zeros `low` and `high`, which is number
    /// `index` from phase 0 on. Cosine and sine are given as sin(theta), to be multiplied by [`sign`](Self::sign).
    pub(super) fn value(
        &self,
        index: usize,
        (low, high): (f64, f64),
        level: usize,
        panel: usize,
        node: usize,
    ) -> f64 {
        let Oscillator::BesselJ(nu) = self.oscillator else {
            let place = panel * self.kronrod.rule.nodes.len() + node;
            return self.local[level][place];
        };
        if level == 0
            && let Some(values) = self.areas.get(index)
            && self.zeros.get(index) == Some(&low)
        {
            return values[node];
        }
        let t = self.kronrod.rule.nodes[node];
        let theta = (high - low) * (panel as f64 + 0.5 * (1.0 + t)) / DIVISIONS[level] as f64;
        local_bessel(nu, low, theta)
    }

    /// Value just outside area number `index`, between the zeros `low` and `high`, as far from its ends as the nodes next to them are inside; `part` of the area lies
    /// below. Otherwise like [`value`](Self::value).
    pub(super) fn beyond(
        &self,
        index: usize,
        (low, high): (f64, f64),
        level: usize,
        part: f64,
    ) -> f64 {
        match self.outside.get(index) {
            Some([before, after]) if level == 0 && self.zeros.get(index) == Some(&low) => {
                if part < 0.5 { *before } else { *after }
            }
            _ => self.at((low, high), part),
        }
    }

    /// Value anywhere in the area between the zeros `low` and `high`, or next to it.
    pub(super) fn at(&self, (low, high): (f64, f64), part: f64) -> f64 {
        match self.oscillator {
            Oscillator::Cos | Oscillator::Sin => (PI * part.min(1.0 - part)).sin(),
            Oscillator::BesselJ(nu) => local_bessel(nu, low, part * (high - low)),
        }
    }

    /// Width of the area between two zeros.
    pub(super) fn phase(&self, (low, high): (f64, f64)) -> f64 {
        match self.oscillator {
            // Of zeros far out the difference is coarse.
            Oscillator::Cos | Oscillator::Sin => PI,
            Oscillator::BesselJ(_) => high - low,
        }
    }

    /// Sign of the oscillator after the zero `low`; 1 for Bessel functions, whose values have theirs.
    pub(super) fn sign(&self, low: f64) -> f64 {
        self.oscillator.sign_after(low)
    }

    /// Value at a node of the head, between the lower limit and the first zero.
    pub(super) fn head(&self, start: &Start, first: f64, node: Node) -> f64 {
        let Node {
            below,
            above,
            place,
        } = node;
        match self.oscillator {
            Oscillator::BesselJ(nu) if start.phase == 0.0 => match self.head.get(place) {
                Some(&value) => value,
                None => head_bessel(nu, first, below, above),
            },
            Oscillator::BesselJ(nu) if above < below => local_bessel(nu, first, -above),
            Oscillator::BesselJ(nu) => local_bessel(nu, start.phase, below + start.lost),
            // By the distance from the nearer of the zeros before and after.
            _ if below < above => -self.sign(first) * (start.since + below).sin(),
            _ => -self.sign(first) * above.sin(),
        }
    }
}

/// The phase of the lower limit, to twice the digits: far out a phase rounded to one number would be too coarse.
#[derive(Clone, Copy, Debug)]
pub(super) struct Start {
    /// omega a, rounded.
    pub(super) phase: f64,
    /// The rounding error.
    lost: f64,
    /// Phase since the last zero of a cosine or sine at or before it.
    since: f64,
}

/// pi - PI.
const PI_LOST: f64 = 1.224_646_799_147_353_2e-16;

impl Start {
    pub(super) fn new(oscillator: Oscillator, omega: f64, lower: f64) -> Self {
        let phase = omega * lower;
        let lost = omega.mul_add(lower, -phase);
        let mut start = Self {
            phase,
            lost,
            since: 0.0,
        };
        let shift = match oscillator {
            Oscillator::Cos => 0.5,
            Oscillator::Sin => 0.0,
            Oscillator::BesselJ(_) => return start,
        };
        let turns = (phase / PI + shift).floor() - shift;
        start.since = -start.until(turns);
        start
    }

    /// From the lower limit to this many half turns.
    fn until(&self, turns: f64) -> f64 {
        let high = turns * PI;
        let low = turns.mul_add(PI, -high) + turns * PI_LOST;
        (high - self.phase) + (low - self.lost)
    }

    /// From the lower limit to a zero.
    pub(super) fn to(&self, zero: f64, oscillator: Oscillator) -> f64 {
        match oscillator {
            Oscillator::BesselJ(_) => (zero - self.phase) - self.lost,
            Oscillator::Cos => self.until((zero / PI - 0.5).round() + 0.5),
            Oscillator::Sin => self.until((zero / PI).round()),
        }
    }
}

/// J_nu at `zero + theta`, as if that sum were exact.
fn local_bessel(nu: f64, zero: f64, theta: f64) -> f64 {
    let s = zero + theta;
    let part = s - zero;
    let lost = (zero - (s - part)) + (theta - part);
    bessel_j(nu, s) + lost * bessel_j_derivative(nu, s)
}

fn head_bessel(nu: f64, first: f64, below: f64, above: f64) -> f64 {
    if below <= above {
        bessel_j(nu, below)
    } else {
        local_bessel(nu, first, -above)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_beyond_a_limit_are_the_first_ones() {
        let close = |a: f64, b: f64| (a - b).abs() < 1e-15 * b.abs().max(1.0);
        assert!(close(Oscillator::Cos.zeros_beyond(0.0, 1)[0], FRAC_PI_2));
        assert!(close(Oscillator::Sin.zeros_beyond(0.0, 2)[1], 2.0 * PI));
        assert!(close(
            Oscillator::Cos.zeros_beyond(FRAC_PI_2, 1)[0],
            1.5 * PI
        ));
        assert!(close(Oscillator::Sin.zeros_beyond(PI, 1)[0], 2.0 * PI));
        assert!(close(
            Oscillator::Sin.zeros_beyond(1e6, 1)[0],
            PI * 318_310.0
        ));
        assert!(Oscillator::BesselJ(0.0).zeros_beyond(5.0, 1)[0] > 5.52);
    }

    #[test]
    fn tables_in_phase_hold_the_oscillator() {
        for oscillator in [
            Oscillator::Cos,
            Oscillator::Sin,
            Oscillator::BesselJ(0.0),
            Oscillator::BesselJ(3.5),
        ] {
            let table = PhaseTable::get(oscillator, 7, 12);
            for from in [0.0, 7.0] {
                let zeros = oscillator.zeros_beyond(from, 12);
                let all = oscillator.zeros_beyond(0.0, 40);
                let offset = all.iter().position(|z| *z == zeros[0]).unwrap();
                let (below, above) = (0.3, zeros[0] - from - 0.3);
                let node = Node {
                    below,
                    above,
                    place: usize::MAX,
                };
                let head = table.head(&Start::new(oscillator, 1.0, from), zeros[0], node);
                assert!((head - oscillator.value(from + below)).abs() < 1e-14);
                for k in 0..11 {
                    for (level, panels) in DIVISIONS.iter().enumerate() {
                        let (low, high) = (zeros[k], zeros[k + 1]);
                        let (panel, node) = (panels / 2, 4);
                        let t = table.kronrod.rule.nodes[node];
                        let s =
                            low + (high - low) * (panel as f64 + 0.5 * (1.0 + t)) / *panels as f64;
                        let found = table.sign(low)
                            * table.value(offset + k, (low, high), level, panel, node);
                        let right = oscillator.value(s);
                        assert!(
                            (found - right).abs() < 1e-14,
                            "{oscillator} from {from}, area {k}, level {level}: {found} {right}"
                        );
                    }
                }
            }
        }
    }
}
