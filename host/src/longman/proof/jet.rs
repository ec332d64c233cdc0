//! Taylor coefficients of a function over a range [b, r b] that may be unbounded, each within an interval that a power of x carries.
//!
//! With x = b t, 1 <= t <= r, the coefficients of f(x (1 + epsilon)) in powers of epsilon are
//!
//! ```text
//! F_k(x) = x^k f^(k)(x)/k!  =  t^e h_k(x),     h_k(x) in [mid_k - rad_k, mid_k + rad_k]  for all x of the range at once,
//! ```
//!
//! with one exponent e for all k. The power has two uses. It keeps sqrt(x^2 + p^2) = t sqrt(b^2 + p^2/t^2) free of the
//! dependency that makes plain intervals explode, as only p^2/t^2 varies. And it makes r infinite possible: h_k stays bounded where f is a power at infinity.
//!
//! Coefficients follow by the recurrences of automatic differentiation (R. E. Moore, *Interval Analysis*, 1966; A. Griewank and A. Walther, *Evaluating
//! Derivatives*, 2008, table 13.2), h_0 in intervals, the others by midpoint and radius, where a product's radius is at most
//! |a| rad_b + rad_a (|b| + rad_b) plus the rounding of the dot product.
//!
//! exp(u) with u = t^e h, e > 0, h < 0 decays faster than any power. On an unbounded range it is carried by t^-K. K is such that all coefficients up
//! to the order fall at least like [`DECAY`]. Its reciprocal overflows, so that a jet may carry the jet of its own reciprocal, from which 1/cosh(x) and
//! 1/(exp(x) - 1) are found.

mod bessel;
mod error_function;
mod exponential;
mod vanishing;

use super::interval::Interval;

/// Coefficients of a jet at most.
pub(crate) const TERMS: usize = 17;

/// Power of x by which exponentials are taken to fall on an unbounded range, all their coefficients included.
const DECAY: f64 = 8.0;

/// Power of x that is put above a logarithm on an unbounded range.
const LOGARITHM: f64 = 0.125;

/// Rounding of a dot product of k + 1 terms, in units of the sum of their magnitudes, is below this times k + 2.
const UNIT: f64 = 2.0 * f64::EPSILON;

/// Logarithm of the ratio of any two numbers from 1e-309 to 1e309.
const LARGEST: f64 = 1423.0;

/// Widest exponent that is taken for a rounded one.
const ROUNDED: f64 = 1e-13;

/// Largest value of an exponential that is computed, rather than by its reciprocal.
const LARGE: f64 = 300.0;

/// The range [start, ratio start], and the order up to which derivatives are wanted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Span {
    /// b > 0
    pub(crate) start: f64,
    /// r >= 1, infinite for an unbounded range.
    pub(crate) ratio: f64,
    /// Highest order, below [`TERMS`].
    pub(crate) order: usize,
}

impl Span {
    /// t^d over the range.
    pub(crate) fn power(&self, d: f64) -> Interval {
        if d == 0.0 {
            return Interval::ONE;
        }
        let end = if self.ratio.is_infinite() {
            if d < 0.0 { 0.0 } else { f64::INFINITY }
        } else {
            self.ratio.powf(d)
        };
        // The difference of two exponents may be rounded; no logarithm of a ratio exceeds 1500, nor the ratio less 1.
        let slack = 4.0 * f64::EPSILON + 1e-12 * (1.0 + d.abs()) * (self.ratio - 1.0).min(1.0);
        if d < 0.0 {
            Interval::new((end * (1.0 - slack)).max(0.0), 1.0)
        } else {
            Interval::new(1.0, end * (1.0 + slack))
        }
    }

    /// t^d for all d of this magnitude or a smaller one, where that is the rounding of an exponent. It differs from 1 by less than ln(1e309) d, as no number that an
    /// integrand is evaluated at exceeds 1e309.
    fn rounded(&self, d: f64) -> Interval {
        let most = self.ratio.ln().min(LARGEST) * d * (1.0 + 1e-9) + f64::MIN_POSITIVE;
        let rest = most * (1.0 + most);
        Interval::new(1.0 - rest, 1.0 + rest)
    }

    /// The exponent of a product, and what its rounding multiplies the product by.
    fn exponent(&self, a: f64, b: f64) -> (f64, Interval) {
        let sum = a + b;
        let rest = sum - a;
        if (a - (sum - rest)) + (b - rest) == 0.0 {
            return (sum, Interval::ONE);
        }
        (
            sum,
            self.rounded(
                (sum.next_up() - sum)
                    .abs()
                    .max((sum - sum.next_down()).abs()),
            ),
        )
    }
}

/// Coefficients of a function over a range.
#[derive(Clone, Debug)]
pub(crate) struct Jet {
    exponent: f64,
    value: Interval,
    mid: [f64; TERMS],
    rad: [f64; TERMS],
    /// All coefficients above this one are zero.
    degree: usize,
    inverse: Option<Box<Jet>>,
    /// Sign and argument of an exponential.
    exponential: Option<Box<(f64, Jet)>>,
}

impl Jet {
    /// A number that does not depend on x.
    pub(crate) fn constant(value: Interval) -> Self {
        let mut jet = Self {
            exponent: 0.0,
            value,
            mid: [0.0; TERMS],
            rad: [0.0; TERMS],
            degree: 0,
            inverse: None,
            exponential: None,
        };
        jet.set_value(value);
        jet
    }

    /// x itself.
    pub(crate) fn variable(span: &Span) -> Self {
        let mut jet = Self::constant(Interval::point(span.start));
        jet.exponent = 1.0;
        jet.degree = 1;
        jet.mid[1] = span.start;
        jet
    }

    /// x = start/t for t from 1 to the ratio of the span: the range below `start`, down to 0 where the span has no end. The coefficients are those of x, and
    /// powers of t carry them as they do above.
    pub(crate) fn variable_below(span: &Span) -> Self {
        let mut jet = Self::variable(span);
        jet.exponent = -1.0;
        jet
    }

    /// A function of which nothing is known.
    fn unknown(span: &Span) -> Self {
        Self::rough(span, Interval::ALL)
    }

    /// A function of whose derivatives nothing is known.
    fn rough(span: &Span, value: Interval) -> Self {
        let mut jet = Self::constant(value);
        jet.degree = span.order;
        jet.rad[1..].fill(f64::INFINITY);
        jet
    }

    /// The exponent e.
    pub(crate) fn exponent(&self) -> f64 {
        self.exponent
    }

    /// h_0 over the range.
    pub(crate) fn factor(&self) -> Interval {
        self.value
    }

    /// The reciprocal of the function, where a jet of its own is known.
    pub(crate) fn reciprocal(&self) -> Option<&Self> {
        self.inverse.as_deref()
    }

    /// Midpoint and radius of h_k.
    pub(crate) fn coefficient(&self, k: usize) -> (f64, f64) {
        (self.mid[k], self.rad[k])
    }

    /// The function's value over the range.
    pub(crate) fn values(&self, span: &Span) -> Interval {
        self.value * span.power(self.exponent)
    }

    fn is_constant(&self) -> bool {
        self.degree == 0 && self.exponent == 0.0
    }

    pub(crate) fn is_zero(&self) -> bool {
        self.degree == 0 && self.value == Interval::ZERO
    }

    fn set_value(&mut self, value: Interval) {
        self.value = value;
        (self.mid[0], self.rad[0]) = value.middle();
    }

    /// The same jet, multiplied by a number of the interval that may vary with x, its variation being accounted for elsewhere.
    fn scaled(mut self, by: Interval) -> Self {
        if by == Interval::ONE {
            return self;
        }
        let (middle, radius) = by.middle();
        for k in 1..=self.degree {
            let (m, r) = (self.mid[k], self.rad[k]);
            self.mid[k] = m * middle;
            self.rad[k] =
                (m.abs() * radius + r * (middle.abs() + radius) + UNIT * (m * middle).abs())
                    * SLACK;
        }
        self.set_value(self.value * by);
        self.inverse = None;
        self.exponential = None;
        self
    }

    /// The same function, carried by another power of t.
    fn carried(self, span: &Span, exponent: f64) -> Self {
        let by = span.power(self.exponent - exponent);
        let (inverse, exponential) = (self.inverse.clone(), self.exponential.clone());
        let mut jet = self.scaled(by);
        jet.exponent = exponent;
        jet.inverse = inverse;
        jet.exponential = exponential;
        jet
    }

    pub(crate) fn negated(mut self) -> Self {
        self.value = -self.value;
        for m in &mut self.mid[..=self.degree] {
            *m = -*m;
        }
        self.inverse = self.inverse.map(|inverse| Box::new(inverse.negated()));
        if let Some(exponential) = &mut self.exponential {
            exponential.0 = -exponential.0;
        }
        self
    }

    pub(crate) fn plus(&self, other: &Self, span: &Span) -> Self {
        if self.is_zero() {
            return other.clone();
        }
        if other.is_zero() {
            return self.clone();
        }
        // 1/(a + b) = (1/a)/(1 + b/a)
        let inverse = match (&self.inverse, &other.inverse) {
            (Some(one), None) => Some((one, other)),
            (None, Some(one)) => Some((one, self)),
            _ => None,
        };
        let inverse = inverse.map(|(one, rest)| {
            let sum = Self::constant(Interval::ONE).plus(&one.times(rest, span), span);
            Box::new(one.over(&sum, span))
        });
        let exponent = self.exponent.max(other.exponent);
        let (a, b) = (
            self.clone().carried(span, exponent),
            other.clone().carried(span, exponent),
        );
        let mut sum = a;
        sum.degree = sum.degree.max(b.degree);
        for k in 1..=sum.degree {
            sum.mid[k] += b.mid[k];
            sum.rad[k] = (sum.rad[k] + b.rad[k] + UNIT * sum.mid[k].abs()) * SLACK;
        }
        sum.set_value(sum.value + b.value);
        sum.inverse = inverse;
        sum.exponential = None;
        // Where the sum may be zero, a difference of exponentials has a sharper form.
        if sum.value.contains(0.0)
            && let Some(sharp) = self.difference_of_exponentials(other, span)
        {
            return sharp;
        }
        sum
    }

    pub(crate) fn minus(&self, other: &Self, span: &Span) -> Self {
        self.plus(&other.clone().negated(), span)
    }

    pub(crate) fn times(&self, other: &Self, span: &Span) -> Self {
        let mut product = self.product(other, self.value * other.value, span);
        product.inverse = match (&self.inverse, &other.inverse) {
            (Some(one), Some(other)) => Some(Box::new(one.times(other, span))),
            (Some(one), None) if !other.value.contains(0.0) => {
                Some(Box::new(one.over(other, span)))
            }
            (None, Some(one)) if !self.value.contains(0.0) => Some(Box::new(one.over(self, span))),
            _ => None,
        };
        product
    }

    pub(crate) fn squared(&self, span: &Span) -> Self {
        let mut square = self.product(self, self.value.square(), span);
        square.inverse = self
            .inverse
            .as_ref()
            .map(|inverse| Box::new(inverse.squared(span)));
        square
    }

    fn product(&self, other: &Self, value: Interval, span: &Span) -> Self {
        if self.is_zero() || other.is_zero() {
            return Self::constant(Interval::ZERO);
        }
        let (exponent, rounding) = span.exponent(self.exponent, other.exponent);
        let mut product = Self::constant(value);
        product.degree = (self.degree + other.degree).min(span.order);
        for k in 1..=product.degree {
            let from = k.saturating_sub(other.degree);
            let to = k.min(self.degree);
            let terms = (from..=to).map(|i| (i, k - i, 1.0));
            (product.mid[k], product.rad[k]) = dot(self, other, terms);
        }
        product.exponent = exponent;
        let mut product = product.scaled(rounding);
        product.exponent = exponent;
        product
    }

    pub(crate) fn over(&self, other: &Self, span: &Span) -> Self {
        if self.is_zero() {
            return Self::constant(Interval::ZERO);
        }
        if other.value.contains(0.0) || !other.value.is_finite() {
            if let Some(inverse) = &other.inverse {
                return self.times(inverse, span);
            }
            return Self::unknown(span);
        }
        let reciprocal = other.value.recip();
        let mut quotient = Self::constant(self.value * reciprocal);
        if other.degree == 0 {
            quotient = Self {
                inverse: None,
                exponential: None,
                ..self.clone()
            }
            .scaled(reciprocal);
        } else {
            quotient.degree = span.order;
            for k in 1..=span.order {
                let terms = (1..=k.min(other.degree)).map(|j| (j, k - j, 1.0));
                let (mid, rad) = dot(other, &quotient, terms);
                let (mid, rad) = (self.mid[k] - mid, rad + self.rad[k]);
                let rad = (rad + UNIT * (mid.abs() + self.mid[k].abs())) * SLACK;
                (quotient.mid[k], quotient.rad[k]) = times((mid, rad), reciprocal.middle());
            }
        }
        let (exponent, rounding) = span.exponent(self.exponent, -other.exponent);
        let mut quotient = quotient.scaled(rounding);
        quotient.exponent = exponent;
        quotient.inverse = self
            .inverse
            .as_ref()
            .map(|inverse| Box::new(other.times(inverse, span)));
        quotient
    }

    pub(crate) fn sqrt(&self, span: &Span) -> Self {
        if self.is_zero() {
            return self.clone();
        }
        if self.value.lo <= 0.0 || !self.value.is_finite() {
            return match &self.inverse {
                Some(inverse) => {
                    let root = inverse.sqrt(span);
                    let mut unknown = Self::unknown(span);
                    unknown.inverse = Some(Box::new(root));
                    unknown
                }
                None if self.value.lo >= 0.0 => {
                    Self::rough(span, (self.value * span.power(self.exponent)).sqrt())
                }
                None => Self::unknown(span),
            };
        }
        let value = self.value.sqrt();
        let mut root = Self::constant(value);
        root.exponent = 0.5 * self.exponent;
        if self.degree > 0 {
            root.degree = span.order;
            let half = (Interval::point(2.0) * value).recip().middle();
            for k in 1..=span.order {
                let (mid, rad) = dot(&root, &root, (1..k).map(|j| (j, k - j, 1.0)));
                let (mid, rad) = (self.mid[k] - mid, rad + self.rad[k]);
                let rad = (rad + UNIT * (mid.abs() + self.mid[k].abs())) * SLACK;
                (root.mid[k], root.rad[k]) = times((mid, rad), half);
            }
        }
        root
    }

    /// a^c, where c does not depend on x.
    pub(crate) fn power(&self, c: &Self, span: &Span) -> Self {
        if !c.is_constant() {
            return c.times(&self.ln(span), span).exp(span);
        }
        if self.value.lo <= 0.0 || !self.value.is_finite() {
            return match &self.inverse {
                Some(inverse) => inverse.power(&c.clone().negated(), span),
                // 0 and what is above it.
                None if self.value.lo == 0.0 && c.value.lo > 0.0 => {
                    let most = Interval::point(self.values(span).hi).powf(c.value);
                    Self::rough(span, Interval::new(0.0, most.hi))
                }
                None => Self::unknown(span),
            };
        }
        if c.value == Interval::ZERO {
            return Self::constant(Interval::ONE);
        }
        let mut power = Self::constant(self.value.powf(c.value));
        if self.degree > 0 {
            power.degree = span.order;
            let reciprocal = self.value.recip().middle();
            let (cm, cr) = c.value.middle();
            for k in 1..=span.order {
                // y_k = sum_j ((c + 1) j - k) a_j y_(k-j)/(k a_0)
                let (mut mid, mut rad) = (0.0, 0.0);
                for j in 1..=k.min(self.degree) {
                    let factor = ((cm + 1.0) * j as f64 - k as f64) / k as f64;
                    let slack = (cr * j as f64 + UNIT * ((cm.abs() + 1.0) * j as f64 + k as f64))
                        / k as f64;
                    let term = times(
                        times(
                            (self.mid[j], self.rad[j]),
                            (power.mid[k - j], power.rad[k - j]),
                        ),
                        (factor, slack),
                    );
                    mid += term.0;
                    rad += term.1 + UNIT * mid.abs();
                }
                (power.mid[k], power.rad[k]) = times((mid, rad * SLACK), reciprocal);
            }
        }
        // t^(e c), with the largest exponent that c allows; what is too much is a factor below 1. An exponent that is a rounded number, such as m + 1, is that number.
        let corners = Interval::point(self.exponent) * c.value;
        let (middle, width) = (0.5 * corners.lo + 0.5 * corners.hi, corners.hi - corners.lo);
        let product = self.exponent * c.value.lo;
        let exact = c.value.lo == c.value.hi && self.exponent.mul_add(c.value.lo, -product) == 0.0;
        let (exponent, by) = if exact || self.exponent == 0.0 {
            (product, Interval::ONE)
        } else if width <= ROUNDED * middle.abs() {
            (middle, span.rounded(width))
        } else {
            (corners.hi, span.power(corners.lo - corners.hi))
        };
        let exponent = if self.exponent == 0.0 { 0.0 } else { exponent };
        let mut power = power.scaled(by);
        power.exponent = exponent;
        power
    }

    /// The function itself, not carried by a power: of a range without end only where it is bounded.
    fn plain(&self, span: &Span) -> Self {
        self.clone().carried(span, 0.0)
    }

    /// Whether a function without bound is applied at infinity.
    fn grows(&self, span: &Span) -> bool {
        self.exponent > 0.0 && span.ratio.is_infinite()
    }

    pub(crate) fn exp(&self, span: &Span) -> Self {
        if self.grows(span) {
            return match (self.value.hi < 0.0, self.value.lo > 0.0) {
                (true, _) => self.decay(span),
                (_, true) => Self::inverse_of(self.clone().negated().decay(span), span),
                _ => Self::unknown(span),
            };
        }
        let u = self.plain(span);
        if u.value.lo > LARGE {
            return Self::inverse_of(u.negated().exp(span), span);
        }
        let mut y = Self::constant(u.value.exp());
        if u.degree > 0 {
            y.degree = span.order;
            for k in 1..=span.order {
                (y.mid[k], y.rad[k]) = derivative_dot(&u, &y, k);
            }
        }
        if self.is_constant() {
            return y;
        }
        y.of_exponent(1.0, self.clone())
    }

    /// A function of which the reciprocal alone is known.
    fn inverse_of(inverse: Self, span: &Span) -> Self {
        let mut jet = Self::unknown(span);
        jet.inverse = Some(Box::new(inverse));
        jet
    }

    /// exp(u) with u below zero and without bound, over an unbounded range.
    ///
    /// With u <= -c t^e the value is at most t^-K sup t^K exp(-c t^e), and coefficient k is t^(k e - K) times a number of its recurrence, as u_j is
    /// carried by t^e only once in it.
    fn decay(&self, span: &Span) -> Self {
        let (c, e) = (-self.value.hi, self.exponent);
        let decay = (DECAY + span.order as f64 * e) * (1.0 + 1e-12);
        let most = if c * e >= decay {
            (-c).exp()
        } else {
            ((decay / (c * e)).ln() * decay / e - decay / e).exp()
        };
        let most = most * (1.0 + 1e-9) + f64::MIN_POSITIVE;
        let u = self.clone().higher_within_unit();
        let mut y = Self::constant(Interval::new(0.0, most));
        y.degree = span.order;
        for k in 1..=span.order {
            (y.mid[k], y.rad[k]) = derivative_dot(&u, &y, k);
        }
        for k in 1..=span.order {
            (y.mid[k], y.rad[k]) = within_unit((y.mid[k], y.rad[k]));
        }
        y.exponent = -DECAY;
        y
    }

    /// Coefficients from the second on times a number from 0 to 1.
    fn higher_within_unit(mut self) -> Self {
        for k in 2..=self.degree {
            (self.mid[k], self.rad[k]) = within_unit((self.mid[k], self.rad[k]));
        }
        self
    }

    pub(crate) fn ln(&self, span: &Span) -> Self {
        if let Some(inverse) = &self.inverse
            && !self.value.is_finite()
        {
            return inverse.ln(span).negated();
        }
        if self.value.lo <= 0.0 || !self.value.is_finite() {
            return Self::unknown(span);
        }
        let mut y = Self::constant(self.value.ln());
        if self.degree == 0 && self.exponent == 0.0 {
            return y;
        }
        y.degree = span.order;
        let reciprocal = self.value.recip().middle();
        for k in 1..=span.order {
            // y_k = (a_k - sum_(0<j<k) j y_j a_(k-j)/k)/a_0
            let terms = (1..k).map(|j| (j, k - j, j as f64 / k as f64));
            let (mid, rad) = dot(&y, self, terms);
            let (mid, rad) = (self.mid[k] - mid, rad + self.rad[k]);
            let rad = (rad + UNIT * (mid.abs() + self.mid[k].abs())) * SLACK;
            (y.mid[k], y.rad[k]) = times((mid, rad), reciprocal);
        }
        let e = self.exponent;
        if e == 0.0 {
            return y;
        }
        if span.ratio.is_finite() {
            let logarithm = Interval::new(0.0, Interval::point(span.ratio).ln().hi);
            y.set_value(y.value + Interval::point(e) * logarithm);
            return y;
        }
        // ln t <= t^s/(s e), e Euler's number here; the coefficients do not grow.
        let value = y.value;
        let most = (e.abs() / (LOGARITHM * std::f64::consts::E)) * (1.0 + 1e-9);
        let inverse = (e > 0.0 && value.lo > 0.0 || e < 0.0 && value.hi < 0.0).then(|| {
            let floor = if e > 0.0 { value.lo } else { -value.hi };
            let ceiling = (1.0 / floor).next_up();
            let ends = if e > 0.0 {
                (0.0, ceiling)
            } else {
                (-ceiling, 0.0)
            };
            let mut inverse = Self::constant(Interval::new(ends.0, ends.1));
            inverse.degree = span.order;
            for k in 1..=span.order {
                let terms = (1..=k).map(|j| (j, k - j, -1.0));
                let (mid, rad) = dot(&y, &inverse, terms);
                (inverse.mid[k], inverse.rad[k]) =
                    times((mid, rad), Interval::new(ends.0, ends.1).middle());
            }
            Box::new(inverse)
        });
        let mut y = y.carried(span, LOGARITHM);
        y.set_value(if e > 0.0 {
            Interval::new(value.lo.min(0.0), value.hi.max(0.0) + most)
        } else {
            Interval::new(value.lo.min(0.0) - most, value.hi.max(0.0))
        });
        y.inverse = inverse;
        y
    }

    /// Sine and cosine.
    pub(crate) fn sin_cos(&self, span: &Span) -> (Self, Self) {
        let grows = self.grows(span);
        let whole = Interval::new(-1.0, 1.0);
        let (u, values) = if grows {
            (self.clone().higher_within_unit(), (whole, whole))
        } else {
            let u = self.plain(span);
            let values = (u.value.sin(), u.value.cos());
            (u, values)
        };
        let (mut s, mut c) = (Self::constant(values.0), Self::constant(values.1));
        if u.degree > 0 {
            (s.degree, c.degree) = (span.order, span.order);
            for k in 1..=span.order {
                (s.mid[k], s.rad[k]) = derivative_dot(&u, &c, k);
                let (mid, rad) = derivative_dot(&u, &s, k);
                (c.mid[k], c.rad[k]) = (-mid, rad);
            }
        }
        if let Some(small) = self.vanishing(&c, 1.0, f64::sin, span) {
            s = small;
        }
        if grows {
            // Coefficient k is carried by t^(k e).
            for jet in [&mut s, &mut c] {
                jet.exponent = span.order as f64 * self.exponent * (1.0 + 1e-12);
                jet.set_value(jet.value);
                for k in 1..=span.order {
                    (jet.mid[k], jet.rad[k]) = within_unit((jet.mid[k], jet.rad[k]));
                }
            }
        }
        (s, c)
    }

    /// The function with this value whose derivative is u' w.
    fn integral(u: &Self, w: &Self, value: Interval, span: &Span) -> Self {
        let (exponent, rounding) = span.exponent(u.exponent, w.exponent);
        let mut y = Self::constant(Interval::ZERO);
        y.degree = span.order;
        for k in 1..=span.order {
            (y.mid[k], y.rad[k]) = derivative_dot(u, w, k);
        }
        let mut y = y.scaled(rounding);
        y.exponent = exponent;
        // The value may be carried by another power than what its derivative says.
        let mut y = y.carried(span, exponent.max(0.0));
        let power = span.power(-y.exponent);
        y.set_value(value * power);
        y
    }

    pub(crate) fn atan(&self, span: &Span) -> Self {
        let w = Self::constant(Interval::ONE).over(
            &Self::constant(Interval::ONE).plus(&self.squared(span), span),
            span,
        );
        if let Some(small) = self.vanishing(&w, 1.0, f64::atan, span) {
            return small;
        }
        let value = self.values(span).increasing(f64::atan);
        Self::integral(self, &w, value, span)
    }

    /// arcsin, and arccos with `sign` -1 and its own value.
    pub(crate) fn asin(&self, span: &Span) -> Self {
        let u = self.values(span);
        if !(u.lo > -1.0 && u.hi < 1.0) {
            return Self::unknown(span);
        }
        let rest = Self::constant(Interval::ONE).minus(&self.squared(span), span);
        let w = Self::constant(Interval::ONE).over(&rest.sqrt(span), span);
        self.vanishing(&w, 1.0, f64::asin, span)
            .unwrap_or_else(|| Self::integral(self, &w, u.increasing(f64::asin), span))
    }

    pub(crate) fn erf(&self, span: &Span) -> Self {
        let w = self.gaussian(span);
        if let Some(small) = self.vanishing(&w, std::f64::consts::FRAC_2_SQRT_PI, libm::erf, span) {
            return small;
        }
        let value = self.values(span).increasing(libm::erf);
        Self::integral(self, &w, value, span)
    }

    pub(crate) fn erfc(&self, span: &Span) -> Self {
        let w = self.gaussian(span);
        if !self.grows(span) || self.value.lo <= 0.0 {
            let value = self.values(span).decreasing(libm::erfc);
            return Self::integral(self, &w.negated(), value, span);
        }
        // 0 < erfc(u) <= exp(-u^2) for u >= 0, and the power that carries u grows.
        let (exponent, rounding) = span.exponent(self.exponent, w.exponent);
        let mut y = Self::constant(Interval::ZERO);
        y.degree = span.order;
        for k in 1..=span.order {
            let (mid, rad) = derivative_dot(self, &w, k);
            (y.mid[k], y.rad[k]) = (-mid, rad);
        }
        let mut y = y.scaled(rounding);
        y.exponent = exponent;
        y.set_value(Interval::new(0.0, w.value.hi.max(0.0)));
        y
    }

    /// 2/sqrt(pi) exp(-u^2)
    fn gaussian(&self, span: &Span) -> Self {
        let factor = Interval::new(
            std::f64::consts::FRAC_2_SQRT_PI.next_down(),
            std::f64::consts::FRAC_2_SQRT_PI.next_up(),
        );
        self.squared(span).negated().exp(span).scaled(factor)
    }

    /// exp(u) and exp(-u).
    fn exponentials(&self, span: &Span) -> (Self, Self) {
        (self.exp(span), self.clone().negated().exp(span))
    }

    /// The value of a monotone function where it can be computed, which is sharper than that of the exponentials.
    fn with_values(mut self, u: &Self, span: &Span, f: impl Fn(Interval) -> Interval) -> Self {
        let values = u.values(span);
        if self.exponent == 0.0 && values.magnitude() < LARGE {
            let value = f(values);
            self.set_value(Interval::new(
                value.lo.max(self.value.lo),
                value.hi.min(self.value.hi),
            ));
        }
        self
    }

    pub(crate) fn sinh(&self, span: &Span) -> Self {
        if self.vanishes(span)
            && let Some(small) = self.vanishing(&self.cosh(span), 1.0, f64::sinh, span)
        {
            return small;
        }
        let (up, down) = self.exponentials(span);
        up.minus(&down, span)
            .half()
            .with_values(self, span, |u| u.increasing(f64::sinh))
    }

    pub(crate) fn cosh(&self, span: &Span) -> Self {
        let (up, down) = self.exponentials(span);
        up.plus(&down, span).half()
    }

    fn half(self) -> Self {
        let inverse = self.inverse.clone();
        let mut half = self.scaled(Interval::point(0.5));
        half.inverse = inverse.map(|inverse| Box::new(inverse.scaled(Interval::point(2.0))));
        half
    }

    pub(crate) fn expm1(&self, span: &Span) -> Self {
        let one = Self::constant(Interval::ONE);
        let exp = self.exp(span);
        if let Some(small) = self.vanishing(&exp, 1.0, f64::exp_m1, span) {
            return small;
        }
        exp.minus(&one, span)
            .with_values(self, span, |u| u.increasing(f64::exp_m1))
    }

    pub(crate) fn ln1p(&self, span: &Span) -> Self {
        let one = Self::constant(Interval::ONE);
        let sum = self.plus(&one, span);
        if self.vanishes(span)
            && let Some(small) = self.vanishing(&one.over(&sum, span), 1.0, f64::ln_1p, span)
        {
            return small;
        }
        let y = sum.ln(span);
        if self.values(span).lo > -0.5 {
            return y.with_values(self, span, |u| u.increasing(f64::ln_1p));
        }
        y
    }

    pub(crate) fn tanh(&self, span: &Span) -> Self {
        let one = Self::constant(Interval::ONE);
        if self.vanishes(span) {
            let slope = one.over(&self.cosh(span).squared(span), span);
            if let Some(small) = self.vanishing(&slope, 1.0, f64::tanh, span) {
                return small;
            }
        }
        let sign = if self.value.hi < 0.0 { -1.0 } else { 1.0 };
        // tanh(u) = (1 - q)/(1 + q), q = exp(-2u)
        let twice = self.clone().scaled(Interval::point(-2.0 * sign));
        let q = twice.exp(span);
        let y = one.minus(&q, span).over(&one.plus(&q, span), span);
        let y = if sign < 0.0 { y.negated() } else { y };
        y.with_values(self, span, |u| u.increasing(f64::tanh))
    }

    pub(crate) fn tan(&self, span: &Span) -> Self {
        let (s, c) = self.sin_cos(span);
        s.over(&c, span)
    }

    /// 1 of a function that is nowhere below 0, -1 of one that is nowhere above, 0 of another: the sign of the reciprocal where that of a value is not known.
    fn known_sign(&self) -> f64 {
        let inverse = self.inverse.as_ref().map(|inverse| inverse.value);
        let of = |value: Interval| {
            f64::from(value.lo >= 0.0) - f64::from(value.hi <= 0.0 && value.lo < 0.0)
        };
        match inverse.filter(|inverse| inverse.is_finite()) {
            Some(inverse) if of(self.value) == 0.0 => of(inverse),
            _ => of(self.value),
        }
    }

    pub(crate) fn abs(&self, span: &Span) -> Self {
        let sign = self.known_sign();
        if sign > 0.0 {
            self.clone()
        } else if sign < 0.0 {
            self.clone().negated()
        } else {
            let mut jet = Self::rough(span, self.value.abs());
            jet.exponent = self.exponent;
            jet
        }
    }

    /// -1, 0 or 1.
    pub(crate) fn sign(&self, span: &Span) -> Self {
        let sign = self.known_sign();
        // A function with a reciprocal is not zero.
        let apart = !self.value.contains(0.0) || self.value.lo < 0.0 && self.value.hi > 0.0;
        if sign != 0.0 && apart {
            Self::constant(Interval::point(sign))
        } else if self.is_zero() {
            Self::constant(Interval::ZERO)
        } else {
            Self::rough(span, Interval::new(-1.0, 1.0))
        }
    }

    pub(crate) fn floor(&self, span: &Span) -> Self {
        let values = self.values(span);
        let (low, high) = (values.lo.floor(), values.hi.floor());
        if low == high && low.is_finite() {
            Self::constant(Interval::point(low))
        } else if self.grows(span) {
            // u - 1 < floor u <= u, and 1 <= t^e.
            let below = self.value - Interval::ONE;
            let mut jet = Self::rough(span, below.hull(self.value));
            jet.exponent = self.exponent;
            jet
        } else {
            Self::rough(span, Interval::new(low, high))
        }
    }

    /// The larger of two functions, or the smaller.
    pub(crate) fn extreme(&self, other: &Self, larger: bool, span: &Span) -> Self {
        let difference = self.minus(other, span);
        let sign = difference.known_sign();
        let first = sign > 0.0;
        if sign != 0.0 {
            return if first == larger {
                self.clone()
            } else {
                other.clone()
            };
        }
        let exponent = self.exponent.max(other.exponent);
        let (a, b) = (
            self.clone().carried(span, exponent).value,
            other.clone().carried(span, exponent).value,
        );
        let value = if larger {
            Interval::new(a.lo.max(b.lo), a.hi.max(b.hi))
        } else {
            Interval::new(a.lo.min(b.lo), a.hi.min(b.hi))
        };
        let mut jet = Self::rough(span, value);
        jet.exponent = exponent;
        jet
    }
}

/// Rounding of a radius.
const SLACK: f64 = 1.0 + 1e-14;

/// Product of two numbers by midpoint and radius.
fn times((a, ra): (f64, f64), (b, rb): (f64, f64)) -> (f64, f64) {
    let product = a * b;
    let radius = a.abs() * rb + ra * (b.abs() + rb) + UNIT * product.abs();
    (product, radius * SLACK + f64::MIN_POSITIVE)
}

/// A number times one from 0 to 1.
fn within_unit((mid, rad): (f64, f64)) -> (f64, f64) {
    (0.5 * mid, (0.5 * mid.abs() + rad) * SLACK)
}

/// sum of factor a_i b_j over the terms (i, j, factor); factors are those of a rational number rounded once.
fn dot(a: &Jet, b: &Jet, terms: impl Iterator<Item = (usize, usize, f64)>) -> (f64, f64) {
    let (mut mid, mut rad, mut size, mut count) = (0.0, 0.0, 0.0, 2.0);
    for (i, j, factor) in terms {
        let (am, ar) = (factor * a.mid[i], factor.abs() * a.rad[i]);
        let product = am * b.mid[j];
        mid += product;
        size += product.abs();
        rad += am.abs() * b.rad[j] + ar * (b.mid[j].abs() + b.rad[j]);
        count += 1.0;
    }
    (mid, (rad + count * UNIT * size) * SLACK + f64::MIN_POSITIVE)
}

/// sum of j u_j y_(k-j)/k over j from 1 to k: coefficient k of the integral of u' y.
fn derivative_dot(u: &Jet, y: &Jet, k: usize) -> (f64, f64) {
    let terms = (1..=k.min(u.degree)).map(|j| (j, k - j, j as f64 / k as f64));
    dot(u, y, terms)
}
