//! Intervals of real numbers, rounded outwards.
//!
//! Each operation returns an interval that holds the results of all numbers of its arguments (R. E. Moore, *Interval Analysis*, 1966). Sums, products,
//! quotients and roots of IEEE numbers are correctly rounded, so one step outwards suffices. The other functions are taken to be accurate to four units.

use std::ops::{Add, Mul, Neg, Sub};

/// Relative error of the elementary functions of the platform, with room to spare.
const FUNCTION: f64 = 4.0 * f64::EPSILON;

/// All numbers from `lo` to `hi`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Interval {
    pub(crate) lo: f64,
    pub(crate) hi: f64,
}

impl Interval {
    pub(crate) const ZERO: Self = Self::point(0.0);
    pub(crate) const ONE: Self = Self::point(1.0);
    /// Nothing is known.
    pub(crate) const ALL: Self = Self {
        lo: f64::NEG_INFINITY,
        hi: f64::INFINITY,
    };

    pub(crate) const fn point(x: f64) -> Self {
        Self { lo: x, hi: x }
    }

    /// From `lo` to `hi`; all numbers if one of them is not a number.
    pub(crate) fn new(lo: f64, hi: f64) -> Self {
        if lo <= hi { Self { lo, hi } } else { Self::ALL }
    }

    /// One step outwards.
    fn outwards(lo: f64, hi: f64) -> Self {
        Self::new(lo.next_down(), hi.next_up())
    }

    /// A result of an increasing function that is accurate to [`FUNCTION`].
    fn function(lo: f64, hi: f64) -> Self {
        let slack = |x: f64| FUNCTION * x.abs() + f64::MIN_POSITIVE;
        Self::outwards(lo - slack(lo), hi + slack(hi))
    }

    pub(crate) fn contains(self, x: f64) -> bool {
        self.lo <= x && x <= self.hi
    }

    pub(crate) fn is_finite(self) -> bool {
        self.lo.is_finite() && self.hi.is_finite()
    }

    /// Largest magnitude.
    pub(crate) fn magnitude(self) -> f64 {
        self.lo.abs().max(self.hi.abs())
    }

    /// A midpoint, and a radius within which all numbers lie.
    pub(crate) fn middle(self) -> (f64, f64) {
        if !self.is_finite() {
            return (0.0, f64::INFINITY);
        }
        let middle = 0.5 * self.lo + 0.5 * self.hi;
        let radius = (self.hi - middle).max(middle - self.lo);
        let exact = self.lo == self.hi;
        (middle, if exact { 0.0 } else { radius.next_up() })
    }

    pub(crate) fn hull(self, other: Self) -> Self {
        Self::new(self.lo.min(other.lo), self.hi.max(other.hi))
    }

    pub(crate) fn square(self) -> Self {
        let low = if self.contains(0.0) {
            0.0
        } else {
            self.lo.abs().min(self.hi.abs())
        };
        let high = self.magnitude();
        Self::new((low * low).next_down().max(0.0), (high * high).next_up())
    }

    pub(crate) fn abs(self) -> Self {
        if self.lo >= 0.0 {
            self
        } else if self.hi <= 0.0 {
            -self
        } else {
            Self::new(0.0, self.magnitude())
        }
    }

    /// 1/x; all numbers where x may be zero.
    pub(crate) fn recip(self) -> Self {
        if self.contains(0.0) {
            Self::ALL
        } else {
            Self::outwards(1.0 / self.hi, 1.0 / self.lo)
        }
    }

    /// The root of the numbers that have one.
    pub(crate) fn sqrt(self) -> Self {
        if self.hi < 0.0 {
            return Self::ALL;
        }
        let low = self.lo.max(0.0).sqrt().next_down().max(0.0);
        Self::new(low, self.hi.sqrt().next_up())
    }

    pub(crate) fn exp(self) -> Self {
        let found = Self::function(self.lo.exp(), self.hi.exp());
        Self::new(found.lo.max(0.0), found.hi)
    }

    /// The logarithm of positive numbers.
    pub(crate) fn ln(self) -> Self {
        if self.lo < 0.0 || self.hi <= 0.0 {
            Self::ALL
        } else {
            Self::function(self.lo.ln(), self.hi.ln())
        }
    }

    /// x^c of positive numbers.
    pub(crate) fn powf(self, c: Self) -> Self {
        if self.lo <= 0.0 {
            return Self::ALL;
        }
        let mut found: Option<Self> = None;
        for x in [self.lo, self.hi] {
            for c in [c.lo, c.hi] {
                let y = x.powf(c);
                let y = Self::function(y, y);
                found = Some(found.map_or(y, |f| f.hull(y)));
            }
        }
        let found = found.unwrap_or(Self::ALL);
        // x^c is monotone in x and in c, so that its extremes lie at corners.
        Self::new(found.lo.max(0.0), found.hi)
    }

    /// An increasing function of the platform.
    pub(crate) fn increasing(self, f: impl Fn(f64) -> f64) -> Self {
        Self::function(f(self.lo), f(self.hi))
    }

    /// A decreasing function of the platform.
    pub(crate) fn decreasing(self, f: impl Fn(f64) -> f64) -> Self {
        Self::function(f(self.hi), f(self.lo))
    }

    pub(crate) fn cos(self) -> Self {
        self.periodic(f64::cos, 0.0)
    }

    pub(crate) fn sin(self) -> Self {
        self.periodic(f64::sin, 0.5)
    }

    /// A cosine or sine, whose extremes lie at (k + `shift`) pi, the largest at even k.
    fn periodic(self, f: impl Fn(f64) -> f64, shift: f64) -> Self {
        const FAR: f64 = 1e8;
        let whole = Self::new(-1.0, 1.0);
        if !(self.magnitude() < FAR && self.hi - self.lo < 6.0) {
            return whole;
        }
        let ends = Self::point(f(self.lo)).hull(Self::point(f(self.hi)));
        let mut found = Self::function(ends.lo, ends.hi);
        let turn = |x: f64| x / std::f64::consts::PI - shift;
        // A millionth of a turn covers the rounding of the turns.
        let (first, last) = (turn(self.lo) - 1e-6, turn(self.hi) + 1e-6);
        let mut k = first.ceil();
        while k <= last {
            let extreme = if k.rem_euclid(2.0) == 0.0 { 1.0 } else { -1.0 };
            found = found.hull(Self::point(extreme));
            k += 1.0;
        }
        Self::new(found.lo.max(-1.0), found.hi.min(1.0))
    }
}

impl Neg for Interval {
    type Output = Self;
    fn neg(self) -> Self {
        Self {
            lo: -self.hi,
            hi: -self.lo,
        }
    }
}

impl Add for Interval {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self::outwards(self.lo + other.lo, self.hi + other.hi)
    }
}

impl Sub for Interval {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self + -other
    }
}

impl Mul for Interval {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        // Zero times anything is zero, though IEEE has none of zero times infinity.
        let product = |a: f64, b: f64| if a == 0.0 || b == 0.0 { 0.0 } else { a * b };
        if self == Self::ZERO || other == Self::ZERO {
            return Self::ZERO;
        }
        let corners = [
            product(self.lo, other.lo),
            product(self.lo, other.hi),
            product(self.hi, other.lo),
            product(self.hi, other.hi),
        ];
        let least = corners.iter().copied().fold(f64::INFINITY, f64::min);
        let most = corners.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let found = Self::outwards(least, most);
        // Products of numbers of one sign have a sign.
        let positive = (self.lo >= 0.0 && other.lo >= 0.0) || (self.hi <= 0.0 && other.hi <= 0.0);
        let negative = (self.lo >= 0.0 && other.hi <= 0.0) || (self.hi <= 0.0 && other.lo >= 0.0);
        Self {
            lo: if positive {
                found.lo.max(0.0)
            } else {
                found.lo
            },
            hi: if negative {
                found.hi.min(0.0)
            } else {
                found.hi
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// An interval, and a number in it.
    fn with_number() -> impl Strategy<Value = (Interval, f64)> {
        (-50.0..50.0_f64, 0.0..4.0_f64, 0.0..1.0_f64).prop_map(|(lo, width, part)| {
            let hi = lo + width;
            (Interval::new(lo, hi), (lo + part * width).clamp(lo, hi))
        })
    }

    proptest! {
        #[test]
        fn results_lie_in_intervals((a, x) in with_number(), (b, y) in with_number()) {
            prop_assert!((a + b).contains(x + y));
            prop_assert!((a - b).contains(x - y));
            prop_assert!((a * b).contains(x * y));
            prop_assert!((a * b.recip()).contains(x / y) || b.contains(0.0));
            prop_assert!(a.square().contains(x * x));
            prop_assert!(a.abs().contains(x.abs()));
            prop_assert!(a.exp().contains(x.exp()));
            prop_assert!(a.cos().contains(x.cos()));
            prop_assert!(a.sin().contains(x.sin()));
            prop_assert!(a.abs().sqrt().contains(x.abs().sqrt()));
            prop_assert!(a.increasing(f64::atan).contains(x.atan()));
            prop_assert!(a.decreasing(|x| -x).contains(-x));
            if a.lo > 0.0 {
                prop_assert!(a.ln().contains(x.ln()));
                prop_assert!(a.powf(b).contains(x.powf(y)));
            }
            let (middle, radius) = a.middle();
            prop_assert!((x - middle).abs() <= radius);
        }
    }

    #[test]
    fn numbers_that_nothing_is_known_of_stay_unknown() {
        assert_eq!(Interval::new(-1.0, 1.0).recip(), Interval::ALL);
        assert_eq!(Interval::ALL * Interval::ZERO, Interval::ZERO);
        assert!(!(Interval::ALL + Interval::ALL).is_finite());
        assert_eq!(Interval::new(f64::NAN, 1.0), Interval::ALL);
        assert_eq!(Interval::new(-1.0, 2.0).ln(), Interval::ALL);
    }
}
