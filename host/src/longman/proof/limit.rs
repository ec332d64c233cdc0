//! Whether an expression goes to zero at infinity, from its leading terms there.
//!
//! Samples far out cannot tell 1/ln x + 1e-4 from 1/ln x. Its leading terms can: each operation of a program is applied to asymptotic sums of exponentials,
//! powers and logarithms (G. H. Hardy, *Orders of Infinity*, 1910). So a constant below any decay is found, be it of special functions.
//!
//! | what is known of a function | as of |
//! |---|---|
//! | exp(r) times a sum with a leading term, r a sum of terms that grow | powers, exponentials, K, I, Ai, gamma |
//! | exp(r) times a bound on the order, and whether it swings without a limit in units of that | sine, cosine, J, Y, Ai at -infinity |
//! | nothing | tan, gamma at -infinity, terms that cancel to roundoff |

use std::cmp::Ordering;
use std::f64::consts::{FRAC_2_SQRT_PI, FRAC_PI_2, LN_2, PI};

use rarefy_kernels::longman::program::Operation;

use super::function::codes;
use super::series::{Order, Series, Term};
use crate::longman::expression::{Program, value_of};
use crate::longman::special;

/// The gamma constant.
const EULER: f64 = 0.577_215_664_901_532_9;

/// A function at infinity.
#[derive(Clone, Debug, PartialEq)]
enum Growth {
    /// exp of the first sum times the second, which has a leading term or is zero.
    Known(Series, Series),
    /// At most exp of the sum times the order.
    Bounded {
        rate: Series,
        order: Order,
        /// Whether it swings about without a limit, in units of that.
        swings: bool,
        /// Whether the phase of the swing grows at most like x.
        slow: bool,
    },
    Unknown,
}

use Growth::{Bounded, Known, Unknown};

/// Where a function goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    /// To infinity.
    Up,
    /// To minus infinity.
    Down,
    /// To zero, being positive.
    ZeroFromAbove,
}

/// The behaviour of a function of x at infinity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Limit {
    /// It is of lower order than the one that was asked for.
    Vanishes,
    /// It is of that order or a higher one; the factor of the order if it is that one.
    Stays(Option<f64>),
    Unknown,
}

/// Whether a program is of lower order than x^`power` at infinity.
pub(crate) fn limit(program: &Program, parameters: &[f64], power: f64) -> Limit {
    let shape = program.shape();
    if parameters.len() != shape.parameters as usize {
        return Limit::Unknown;
    }
    let mut slots = vec![Unknown; shape.slots as usize];
    slots[0] = Growth::of(Series::term(1.0, Order::X));
    for (slot, value) in slots[1..]
        .iter_mut()
        .zip(parameters.iter().chain(program.constants()))
    {
        *slot = Growth::number(*value);
    }
    for word in program.code() {
        let (target, i, j) = (word >> 8 & 0xFF, word >> 16 & 0xFF, word >> 24);
        let found = apply(
            word & 0xFF,
            &slots[i as usize],
            (&slots[j as usize], i == j),
        );
        slots[target as usize] = found;
    }
    let own = Order([power, 0.0, 0.0]);
    match &slots[shape.result as usize] {
        Known(_, sum) if sum.order().is_none() => Limit::Vanishes,
        Known(rate, sum) => match (rate.lead(), sum.lead()) {
            (Some(rate), _) if rate.factor < 0.0 => Limit::Vanishes,
            (Some(_), _) => Limit::Stays(None),
            (None, Some(lead)) if lead.order.is_below(own) => Limit::Vanishes,
            (None, Some(lead)) => Limit::Stays((lead.order == own).then_some(lead.factor)),
            _ => Limit::Unknown,
        },
        Bounded {
            rate,
            order,
            swings,
            slow,
        } => match rate.lead() {
            Some(rate) if rate.factor < 0.0 => Limit::Vanishes,
            None if order.is_below(own) => Limit::Vanishes,
            _ if *swings && *slow => Limit::Stays(None),
            _ => Limit::Unknown,
        },
        Unknown => Limit::Unknown,
    }
}

fn apply(operation: u32, a: &Growth, (b, same): (&Growth, bool)) -> Growth {
    use codes::*;
    const J: u32 = Operation::BesselJ as u32;
    const Y: u32 = Operation::BesselY as u32;
    const I: u32 = Operation::BesselI as u32;
    const K: u32 = Operation::BesselK as u32;
    const AI: u32 = Operation::AiryAi as u32;
    const GAMMA: u32 = Operation::Gamma as u32;
    // Numbers have the values that the program computes.
    if let (Some(x), Some(y)) = (a.constant(), b.constant()) {
        return Growth::number(value_of(operation, x, y));
    }
    let at = |x: f64| value_of(operation, x, x);
    match operation {
        ADD => a.plus(b),
        SUBTRACT if same => Growth::number(0.0),
        SUBTRACT => a.plus(&b.scaled(-1.0)),
        MULTIPLY => a.times(b, same),
        DIVIDE if same => Growth::number(1.0),
        DIVIDE => a.times(&b.power(-1.0), false),
        POWER => match b.constant() {
            Some(exponent) => a.power(exponent),
            None => b.times(&a.ln(), false).exp(),
        },
        MINIMUM => a.extreme(b, -1.0),
        MAXIMUM => a.extreme(b, 1.0),
        NEGATE => a.scaled(-1.0),
        MAGNITUDE => match a.sign() {
            Some(sign) => a.scaled(sign),
            None => a.clone(),
        },
        SQUARE_ROOT => a.power(0.5),
        EXP => a.exp(),
        LN => a.ln(),
        SIN => a.wave(|x| [x.sin(), x.cos(), -x.sin(), -x.cos()]),
        COS => a.wave(|x| [x.cos(), -x.sin(), -x.cos(), x.sin()]),
        TAN => a.near(|x| {
            let (t, s) = (x.tan(), 1.0 + x.tan().powi(2));
            vec![t, s, t * s, s * (1.0 + 3.0 * t * t) / 3.0]
        }),
        ARCSIN | ARCCOS => a.near(|x| {
            let s = 1.0 / (1.0 - x * x).sqrt();
            let sign = if operation == ARCSIN { 1.0 } else { -1.0 };
            vec![at(x), sign * s, 0.5 * sign * x * s.powi(3)]
        }),
        ARCTAN => a.arctan(),
        SINH | COSH => {
            let sign = if operation == SINH { -1.0 } else { 1.0 };
            let down = a.scaled(-1.0).exp().scaled(sign);
            a.exp().plus(&down).scaled(0.5)
        }
        TANH => {
            // 1 - 2/(exp(2u) + 1)
            let one = Growth::number(1.0);
            let quotient = a.scaled(2.0).exp().plus(&one).power(-1.0);
            one.plus(&quotient.scaled(-2.0))
        }
        FLOOR => a.floor(),
        SIGN => a.sign().map_or_else(
            || a.bounded(),
            |sign| {
                let zero = a.constant() == Some(0.0);
                Growth::number(if zero { 0.0 } else { sign })
            },
        ),
        EXPM1 => a.exp().plus(&Growth::number(-1.0)),
        LN1P => a.plus(&Growth::number(1.0)).ln(),
        ERF => a
            .erfc()
            .scaled(-1.0)
            .plus(&Growth::number(1.0))
            .or(a.near(gaussian)),
        ERFC if same => a.erfc(),
        // Two arguments are those of erfcx.
        ERFC => a.erfcx(),
        J | Y => match (a.constant(), b.direction()) {
            (Some(_), Some(Direction::Up)) => b.bessel(0.5),
            (Some(nu), _) if operation == J && nu >= 0.0 => b.small_bessel(nu, at2(J, nu)),
            (Some(nu), _) => b.near(|x| vec![at2(Y, nu)(x)]),
            _ => Unknown,
        },
        I => match (a.constant(), b.direction()) {
            (Some(nu), Some(Direction::Up)) => b.exp().times(&b.hankel(nu, -1.0), false),
            (Some(nu), _) if nu >= 0.0 => b.small_bessel(nu, at2(I, nu)),
            (Some(nu), _) => b.near(|x| vec![at2(I, nu)(x)]),
            _ => Unknown,
        },
        K => match (a.constant(), b.direction()) {
            (Some(nu), Some(Direction::Up)) => {
                let down = b.scaled(-1.0).exp();
                down.times(&b.hankel(nu, 1.0), false).scaled(PI)
            }
            (Some(nu), Some(Direction::ZeroFromAbove)) => b.small_k(nu),
            (Some(nu), _) => b.near(|x| vec![at2(K, nu)(x)]),
            _ => Unknown,
        },
        AI => a.airy(at),
        GAMMA => match a.direction() {
            Some(Direction::Up) => a.stirling(),
            Some(Direction::Down) => Unknown,
            // Gamma(1 + u)/u
            Some(Direction::ZeroFromAbove) => {
                a.power(-1.0).times(&a.near(|_| vec![1.0, -EULER]), false)
            }
            None => a.near(|x| vec![at(x)]),
        },
        _ => Unknown,
    }
}

/// A function of an order and a number.
fn at2(operation: u32, nu: f64) -> impl Fn(f64) -> f64 {
    move |x| value_of(operation, nu, x)
}

/// Taylor coefficients of erf.
fn gaussian(x: f64) -> Vec<f64> {
    let slope = FRAC_2_SQRT_PI * (-x * x).exp();
    vec![
        libm::erf(x),
        slope,
        -x * slope,
        slope * (2.0 * x * x - 1.0) / 3.0,
    ]
}

impl Growth {
    fn of(sum: Series) -> Self {
        Self::with(Series::default(), sum)
    }

    /// exp(rate) times a sum; without a leading term of it only its order is known.
    fn with(rate: Series, sum: Series) -> Self {
        match (sum.lead(), sum.rest) {
            (None, Some(order)) if order.0[0] == f64::INFINITY => Unknown,
            (None, Some(order)) => Bounded {
                rate,
                order,
                swings: false,
                slow: false,
            },
            _ => Known(rate, sum),
        }
    }

    fn number(value: f64) -> Self {
        if value.is_finite() {
            Self::of(Series::number(value))
        } else {
            Unknown
        }
    }

    fn constant(&self) -> Option<f64> {
        match self {
            Known(rate, sum) if rate.order().is_none() => sum.constant(),
            _ => None,
        }
    }

    fn or(self, other: Self) -> Self {
        if self == Unknown { other } else { self }
    }

    /// A function between -1 and 1 of which nothing else is known.
    fn bounded(&self) -> Self {
        Bounded {
            rate: Series::default(),
            order: Order::ONE,
            swings: false,
            slow: false,
        }
    }

    /// The sign that it has from somewhere on.
    fn sign(&self) -> Option<f64> {
        match self {
            Known(_, sum) => Some(sum.lead().map_or(1.0, |lead| lead.factor.signum())),
            _ => None,
        }
    }

    /// Where it goes, if it has a leading term.
    fn direction(&self) -> Option<Direction> {
        let Known(rate, sum) = self else { return None };
        let lead = sum.lead()?;
        let grows = match rate.lead() {
            Some(rate) => rate.factor > 0.0,
            None => Order::ONE.is_below(lead.order),
        };
        let vanishes = match rate.lead() {
            Some(rate) => rate.factor < 0.0,
            None => lead.order.is_below(Order::ONE),
        };
        match (grows, vanishes, lead.factor > 0.0) {
            (true, _, true) => Some(Direction::Up),
            (true, _, false) => Some(Direction::Down),
            (_, true, true) => Some(Direction::ZeroFromAbove),
            _ => None,
        }
    }

    fn scaled(&self, by: f64) -> Self {
        match self {
            Known(rate, sum) => Self::with(rate.clone(), sum.scaled(by)),
            Bounded { .. } if by == 0.0 => Self::number(0.0),
            other => other.clone(),
        }
    }

    /// Rate and order of its bound; none of zero.
    fn bound(&self) -> Option<Option<(&Series, Order)>> {
        match self {
            Known(rate, sum) => Some(sum.order().map(|order| (rate, order))),
            Bounded { rate, order, .. } => Some(Some((rate, *order))),
            Unknown => None,
        }
    }

    fn plus(&self, other: &Self) -> Self {
        let (Some(a), Some(b)) = (self.bound(), other.bound()) else {
            return Unknown;
        };
        let (Some((rate, order)), Some((other_rate, other_order))) = (a, b) else {
            return if a.is_none() {
                other.clone()
            } else {
                self.clone()
            };
        };
        let Some(faster) = faster(rate, other_rate) else {
            return Unknown;
        };
        match (faster, self, other) {
            (Ordering::Greater, Known(rate, sum), _) => {
                Self::with(rate.clone(), sum.clone().with_rest(Order::NOTHING))
            }
            (Ordering::Greater, ..) => self.clone(),
            (Ordering::Less, ..) => other.plus(self),
            (_, Known(_, a), Known(_, b)) => Self::with(rate.clone(), a.plus(b)),
            (_, Known(_, sum), Bounded { .. }) if other_order.is_below(order) => {
                Self::with(rate.clone(), sum.clone().with_rest(other_order))
            }
            (_, Bounded { .. }, Known(..)) => other.plus(self),
            (
                _,
                _,
                Bounded {
                    rate, swings, slow, ..
                },
            ) => {
                // A swing stays one beside what is smaller, or goes to a limit.
                let alone = matches!(self, Known(..)) && order == other_order
                    || order.is_below(other_order);
                let mine = match self {
                    Bounded { swings, slow, .. } if other_order.is_below(order) => {
                        Some((*swings, *slow))
                    }
                    _ => None,
                };
                let (swings, slow) = if alone {
                    (*swings, *slow)
                } else {
                    mine.unwrap_or((false, false))
                };
                Bounded {
                    rate: rate.clone(),
                    order: order.larger(other_order),
                    swings,
                    slow,
                }
            }
            _ => Unknown,
        }
    }

    fn times(&self, other: &Self, same: bool) -> Self {
        let (Some(a), Some(b)) = (self.bound(), other.bound()) else {
            return Unknown;
        };
        let (Some((rate, order)), Some((other_rate, other_order))) = (a, b) else {
            return Self::number(0.0);
        };
        let rate = rate.plus(other_rate);
        if rate.lead().is_none() && rate.rest.is_some() {
            return Unknown;
        }
        let swing = |growth: &Self| match growth {
            Bounded { swings, slow, .. } => (*swings, *slow),
            _ => (false, false),
        };
        match (self, other) {
            (Known(_, a), Known(_, b)) => Self::with(rate, a.times(b)),
            (Bounded { .. }, Bounded { .. }) => {
                let (swings, slow) = swing(self);
                Bounded {
                    rate,
                    order: order.times(other_order),
                    swings: swings && same,
                    slow,
                }
            }
            (swinging @ Bounded { .. }, _) | (_, swinging) => {
                let (swings, slow) = swing(swinging);
                Bounded {
                    rate,
                    order: order.times(other_order),
                    swings,
                    slow,
                }
            }
        }
    }

    fn power(&self, exponent: f64) -> Self {
        if exponent == 0.0 {
            return Self::number(1.0);
        }
        let Known(rate, sum) = self else {
            return match self {
                Bounded { rate, order, .. } if exponent > 0.0 => Bounded {
                    rate: rate.scaled(exponent),
                    order: order.power(exponent),
                    swings: false,
                    slow: false,
                },
                _ => Unknown,
            };
        };
        let Some((lead, small)) = sum.split() else {
            return if exponent > 0.0 {
                Self::number(0.0)
            } else {
                Unknown
            };
        };
        let factor = lead.factor.powf(exponent);
        let (mut binomial, mut factors) = (1.0, Vec::with_capacity(4));
        for k in 0..4 {
            factors.push(binomial);
            binomial *= (exponent - f64::from(k)) / f64::from(k + 1);
        }
        let lead = Series::term(factor, lead.order.power(exponent));
        Self::with(
            rate.scaled(exponent),
            small.substituted(&factors).times(&lead),
        )
    }

    fn exp(&self) -> Self {
        let (rate, sum) = match self {
            Known(rate, sum) => (rate, sum),
            // Between positive numbers, or below some.
            Bounded { rate, order, .. } => {
                let most = match rate.lead() {
                    Some(rate) => rate.factor < 0.0,
                    None => !Order::ONE.is_below(*order),
                };
                return if most { self.bounded() } else { Unknown };
            }
            Unknown => return Unknown,
        };
        let Some(lead) = sum.lead() else {
            return Self::number(1.0);
        };
        match rate.lead() {
            Some(rate) if rate.factor < 0.0 => {
                return Self::of(Series::number(1.0).with_rest(Order::NOTHING));
            }
            // An exponential of an exponential.
            Some(_) => {
                let order = Order([f64::INFINITY, 0.0, 0.0]);
                let mut rate = Series::term(1.0, Order::X);
                rate.terms[0] = Term {
                    factor: lead.factor.signum(),
                    order,
                };
                return Self::with(rate, Series::number(1.0));
            }
            None => {}
        }
        let (large, rest) = sum.parts(|order| Order::ONE.is_below(order));
        if rest.rest.is_some_and(|rest| !rest.is_below(Order::ONE)) {
            // A power before it may be anything, but for what falls or grows faster than all of them.
            return match lead {
                Term { factor, order } if factor < 0.0 && order.0[0] > 0.0 => Bounded {
                    rate: Series::term(0.5 * factor, order),
                    order: Order::ONE,
                    swings: false,
                    slow: false,
                },
                _ if large.terms.is_empty() => self.bounded(),
                _ => Unknown,
            };
        }
        // Multiples of ln x and of ln ln x are powers.
        let (mut order, mut grows) = (Order::ONE, Series::default());
        for term in large.terms {
            match term.order.0 {
                [0.0, 1.0, 0.0] => order.0[0] += term.factor,
                [0.0, 0.0, 1.0] => order.0[1] += term.factor,
                _ => grows.terms.push(term),
            }
        }
        let (middle, small) = rest.parts(|order| order == Order::ONE);
        let middle: f64 = middle.terms.iter().map(|term| term.factor).sum();
        let sum = small
            .substituted(&[1.0, 1.0, 0.5, 1.0 / 6.0])
            .times(&Series::term(middle.exp(), order));
        Self::with(grows, sum)
    }

    fn ln(&self) -> Self {
        let Known(rate, sum) = self else {
            return Unknown;
        };
        let Some((lead, small)) = sum.split() else {
            return Unknown;
        };
        let [p, q, r] = lead.order.0;
        let tower = rate.terms.iter().any(|term| term.order.0[0].is_infinite());
        if lead.factor <= 0.0 || r != 0.0 || tower {
            return Unknown;
        }
        let powers = Series {
            terms: vec![
                Term {
                    factor: p,
                    order: Order([0.0, 1.0, 0.0]),
                },
                Term {
                    factor: q,
                    order: Order([0.0, 0.0, 1.0]),
                },
                Term {
                    factor: lead.factor.ln(),
                    order: Order::ONE,
                },
            ],
            rest: None,
        };
        let small = small.substituted(&[0.0, 1.0, -0.5, 1.0 / 3.0]);
        Self::of(rate.plus(&powers).plus(&small))
    }

    /// The number that it goes to, and what it is more than that.
    fn about(&self) -> Option<(f64, Series)> {
        let Known(rate, sum) = self else { return None };
        match rate.lead() {
            Some(rate) if rate.factor < 0.0 => {
                return Some((0.0, Series::default().with_rest(Order::NOTHING)));
            }
            Some(_) => return None,
            None => {}
        }
        if sum.order().is_some_and(|order| Order::ONE.is_below(order)) {
            return None;
        }
        let (constant, small) = sum.parts(|order| order == Order::ONE);
        Some((constant.terms.first().map_or(0.0, |t| t.factor), small))
    }

    /// A function of what goes to a number, by its Taylor coefficients there.
    fn near(&self, f: impl Fn(f64) -> Vec<f64>) -> Self {
        match self.about() {
            Some((limit, small)) => Self::of(small.substituted(&f(limit))),
            None => Unknown,
        }
    }

    /// Sine or cosine by value and derivatives.
    fn wave(&self, f: impl Fn(f64) -> [f64; 4]) -> Self {
        let grows = matches!(self.direction(), Some(Direction::Up | Direction::Down));
        if self.about().is_some() {
            return self.near(|x| {
                let [a, b, c, d] = f(x);
                vec![a, b, 0.5 * c, d / 6.0]
            });
        }
        let Known(rate, sum) = self else {
            return self.bounded().or(Unknown);
        };
        let order = sum.order().unwrap_or(Order::ONE);
        Bounded {
            rate: Series::default(),
            order: Order::ONE,
            swings: grows,
            slow: rate.order().is_none() && !Order::X.is_below(order),
        }
    }

    /// J or Y, |u|^-power at infinity.
    fn bessel(&self, power: f64) -> Self {
        let Known(rate, sum) = self else {
            return Unknown;
        };
        let order = sum.order().unwrap_or(Order::ONE);
        Bounded {
            rate: rate.scaled(-power),
            order: order.power(-power),
            swings: true,
            slow: rate.order().is_none() && !Order::X.is_below(order),
        }
    }

    /// J or I of what goes to a number.
    fn small_bessel(&self, nu: f64, at: impl Fn(f64) -> f64) -> Self {
        match self.about() {
            Some((0.0, small)) if nu == 0.0 => {
                // 1 -+ u^2/4: the sign is that of the second derivative.
                let bend = (at(1e-3) - 1.0).signum() * 0.25;
                Self::of(small.substituted(&[1.0, 0.0, bend, 0.0]))
            }
            Some((0.0, _)) => {
                let first = 0.5_f64.powf(nu) / libm::tgamma(nu + 1.0);
                let half = self.power(nu).scaled(first);
                half.times(&self.near(|_| vec![1.0, 0.0]), false)
            }
            _ => self.near(|x| vec![at(x)]),
        }
    }

    /// K of what goes to zero from above.
    fn small_k(&self, nu: f64) -> Self {
        let nu = nu.abs();
        let Some((0.0, small)) = self.about() else {
            return Unknown;
        };
        let order = small.order().unwrap_or(Order::NOTHING);
        if nu == 0.0 {
            let constant = Self::number(LN_2 - EULER);
            return self.ln().scaled(-1.0).plus(&constant).with_rest(order);
        }
        let factor = 0.5 * 2f64.powf(nu) * libm::tgamma(nu);
        let rest = Self::of(Series::number(1.0).with_rest(order.power(nu.min(1.0))));
        self.power(-nu).scaled(factor).times(&rest, false)
    }

    fn with_rest(self, rest: Order) -> Self {
        match self {
            Known(rate, sum) => Self::with(rate, sum.with_rest(rest)),
            other => other,
        }
    }

    /// (2 pi u)^(-1/2) (1 +- (4 nu^2 - 1)/(8u)), the factor of I and K at infinity.
    fn hankel(&self, nu: f64, sign: f64) -> Self {
        let inverse = self.power(-1.0);
        let small = inverse.near(|_| vec![1.0, sign * (4.0 * nu * nu - 1.0) / 8.0]);
        let factor = (2.0 * PI).powf(-0.5);
        self.power(-0.5).scaled(factor).times(&small, false)
    }

    fn airy(&self, at: impl Fn(f64) -> f64) -> Self {
        match self.direction() {
            Some(Direction::Up) => {
                let cube = self.power(1.5);
                let small = cube.power(-1.0).near(|_| vec![1.0, -5.0 / 48.0]);
                let factor = 0.25 * FRAC_2_SQRT_PI;
                let front = self.power(-0.25).scaled(factor).times(&small, false);
                cube.scaled(-2.0 / 3.0).exp().times(&front, false)
            }
            Some(Direction::Down) => {
                let up = self.scaled(-1.0);
                match up.bessel(0.25) {
                    Bounded {
                        rate,
                        order,
                        swings,
                        ..
                    } => Bounded {
                        rate,
                        order,
                        swings,
                        slow: order.0[0] >= -1.0 / 6.0,
                    },
                    other => other,
                }
            }
            _ => self.near(|x| vec![at(x)]),
        }
    }

    /// Gamma of what grows.
    fn stirling(&self) -> Self {
        let logarithm = self.ln();
        let power = self.plus(&Self::number(-0.5)).times(&logarithm, false);
        let exponential = power.plus(&self.scaled(-1.0)).exp();
        let small = self.power(-1.0).near(|_| vec![1.0, 1.0 / 12.0]);
        let found = exponential.times(&small, false).scaled((2.0 * PI).sqrt());
        if found != Unknown {
            return found;
        }
        // Faster than all exponentials, whatever the rest is.
        match power {
            Known(_, sum) => match sum.order() {
                Some(order) => Self::with(Series::term(1.0, order), Series::number(1.0)),
                None => Unknown,
            },
            _ => Unknown,
        }
    }

    fn arctan(&self) -> Self {
        let side = match self.direction() {
            Some(Direction::Up) => FRAC_PI_2,
            Some(Direction::Down) => -FRAC_PI_2,
            _ => {
                return self.near(|x| {
                    let s = 1.0 / (1.0 + x * x);
                    vec![x.atan(), s, -x * s * s]
                });
            }
        };
        let inverse = self.power(-1.0).near(|_| vec![0.0, -1.0, 0.0, 1.0 / 3.0]);
        Self::number(side).plus(&inverse)
    }

    fn erfc(&self) -> Self {
        match self.direction() {
            Some(Direction::Up) => {
                let square = self.times(self, true);
                let small = square.power(-1.0).near(|_| vec![1.0, -0.5]);
                let front = self
                    .power(-1.0)
                    .scaled(0.5 * FRAC_2_SQRT_PI)
                    .times(&small, false);
                square.scaled(-1.0).exp().times(&front, false)
            }
            Some(Direction::Down) => Self::of(Series::number(2.0).with_rest(Order::NOTHING)),
            _ => self.near(|x| {
                let mut factors: Vec<f64> = gaussian(x).iter().map(|factor| -factor).collect();
                factors[0] = libm::erfc(x);
                factors
            }),
        }
    }

    fn erfcx(&self) -> Self {
        match self.direction() {
            Some(Direction::Up) => {
                let small = self.times(self, true).power(-1.0);
                let front = self.power(-1.0).scaled(0.5 * FRAC_2_SQRT_PI);
                front.times(&small.near(|_| vec![1.0, -0.5, 0.75]), false)
            }
            Some(Direction::Down) => self.times(self, true).exp().scaled(2.0),
            _ => self.near(|x| {
                // y' = 2 x y - 2/sqrt(pi), y'' = 2 y + 2 x y'
                let y = special::erfcx(x);
                let slope = 2.0 * x * y - FRAC_2_SQRT_PI;
                vec![y, slope, y + x * slope]
            }),
        }
    }

    fn floor(&self) -> Self {
        let Known(rate, sum) = self else {
            return match self {
                Bounded { rate, .. } if rate.lead().is_none_or(|rate| rate.factor < 0.0) => {
                    self.plus(&self.bounded())
                }
                _ => Unknown,
            };
        };
        match self.about() {
            Some((limit, small)) => {
                let below = if limit != limit.floor() {
                    0.0
                } else {
                    match small.lead() {
                        Some(term) if term.factor < 0.0 => 1.0,
                        None if rate.lead().is_some() && self.sign() == Some(-1.0) => 1.0,
                        None if small.rest.is_some() && rate.lead().is_none() => return Unknown,
                        _ => 0.0,
                    }
                };
                Self::number(limit.floor() - below)
            }
            None if rate.order().is_none() => Self::of(sum.clone().with_rest(Order::ONE)),
            None => Self::with(rate.clone(), sum.clone().with_rest(Order::NOTHING)),
        }
    }

    /// The larger of two, or the smaller with `sign` -1.
    fn extreme(&self, other: &Self, sign: f64) -> Self {
        let difference = self.plus(&other.scaled(-1.0));
        match difference.sign() {
            Some(found) if found * sign >= 0.0 => self.clone(),
            Some(_) => other.clone(),
            None => match difference {
                // No more than both.
                Bounded { .. } => match (self.bound(), other.bound()) {
                    (Some(Some((rate, a))), Some(Some((_, b)))) => Bounded {
                        rate: rate.clone(),
                        order: a.larger(b),
                        swings: false,
                        slow: false,
                    },
                    _ => Unknown,
                },
                _ => Unknown,
            },
        }
    }
}

/// Which of two exponentials grows faster; none if that is not known.
fn faster(a: &Series, b: &Series) -> Option<Ordering> {
    let infinite = |rate: &Series| {
        rate.lead()
            .filter(|lead| lead.order.0[0].is_infinite())
            .map(|lead| lead.factor)
    };
    match (infinite(a), infinite(b)) {
        (None, None) => {}
        (Some(_), Some(_)) => return None,
        (Some(factor), None) => return factor.partial_cmp(&0.0),
        (None, Some(factor)) => return 0.0.partial_cmp(&factor),
    }
    let difference = a.plus(&b.scaled(-1.0));
    match (difference.lead(), difference.rest) {
        (Some(lead), _) => lead.factor.partial_cmp(&0.0),
        (None, None) => Some(Ordering::Equal),
        (None, Some(_)) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Limit {
        limit(&Program::parse(text).unwrap(), &[], 0.0)
    }

    #[test]
    fn what_goes_to_zero_is_found() {
        for text in [
            "1/ln(x+3)",
            "exp(-x)",
            "exp(-sqrt(x^2+1))*x^3",
            "sqrt(x+1)-sqrt(x)",
            "x^(-0.01)*ln(x)^5",
            "sin(x)/x",
            "1/gamma(x+1)",
            "airy(x)",
            "besselk(0.3,x)",
            "besselj(1,x)",
            "besseli(0,x)*exp(-x)",
            "besseli(1,x)*besselk(1,x)",
            "erfc(x)",
            "1-erf(x)",
            "1-tanh(x)",
            "atan(x)-atan(x+1)",
            "1/ln(ln(x+20))",
            "max(exp(-x),1/(1+x))",
            "max(0,1-x/5)",
            "exp(x)*erfc(sqrt(x))",
            "2^(-x)+x^(-x)",
            "log1p(1/x)",
            "besselj(0,1/x)-1",
            "gamma(1+1/x)-1",
            "exp(-x+ln(x))",
            "1/cosh(x)",
            "x/(exp(x)-1)",
            "0*x",
            "(1+1/x)^x-e",
        ] {
            assert_eq!(found(text), Limit::Vanishes, "{text}");
        }
    }

    #[test]
    fn constants_are_found_below_every_decay() {
        for (text, constant) in [
            ("1e-4+1/ln(x+3)", 1e-4),
            ("airy(x)+0.5", 0.5),
            ("1/gamma(x+1)+0.5*x/(1+x)", 0.5),
            ("besselj(0,x)+0.3", 0.3),
            ("bessely(0,x)+0.3", 0.3),
            ("0.25*erf(x)+1/x", 0.25),
            ("2e-3-1e-3*tanh(x)", 1e-3),
            ("x*besseli(0,x)*besselk(0,x)", 0.5),
            ("besselk(0,1/x)/ln(x)", 1.0),
            ("1e-7*(x+1)/sqrt(x^2+3)+besselk(0,x)", 1e-7),
            ("gamma(2+1/x)", 1.0),
            ("floor(0.5+1/x)+0.125", 0.125),
            ("sign(x-5)*1e-3", 1e-3),
            ("abs(sin(x))/x+1e-5", 1e-5),
            ("x^(1/x)", 1.0),
            ("erfc(-x)", 2.0),
            ("besseli(0,exp(-x))", 1.0),
            ("gamma(1/(1+x))*exp(-x)+1e-3*erfc(-x)", 2e-3),
        ] {
            match found(text) {
                Limit::Stays(Some(found)) => {
                    assert!((found - constant).abs() < 1e-12, "{text}: {found}");
                }
                other => panic!("{text}: {other:?}"),
            }
        }
        for text in [
            "x^0.01",
            "ln(x)",
            "exp(0.1*x)",
            "gamma(x)",
            "besseli(0,x)",
            "cos(x)",
            "exp(-x)+0.5*cos(2*x)",
            "1+sin(x)",
            "sin(x)^2",
            "exp(exp(x))",
            "sqrt(x)*besselj(0,x)",
        ] {
            assert_eq!(found(text), Limit::Stays(None), "{text}");
        }
        // The integrals of cos(x^2) and Ai(-x) converge.
        assert_eq!(found("cos(x^2)"), Limit::Unknown);
        assert_eq!(found("x*airy(-x)"), Limit::Unknown);
        // J_0 falls itself.
        let program = Program::parse("x^0.4").unwrap();
        assert_eq!(limit(&program, &[], 0.5), Limit::Vanishes);
        // Roundoff is no constant.
        assert_eq!(found("(0.1+0.2)*(1+1/x)-(0.3+1/x)"), Limit::Unknown);
    }
}
