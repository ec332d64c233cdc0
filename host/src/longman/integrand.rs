//! Integrands and amplitudes: functions of x that may know how far off their values are.

use rarefy_kernels::longman::functions::Functions;

use super::expression::Evaluator;
use super::proof::function::Function as Enclosed;
use super::proof::interval::Interval;
use super::proof::jet::Span;
use super::proof::limit::{Limit, limit};

/// Values are nearer to the integrand's than this in units of its magnitude.
#[derive(Clone, Copy, Debug)]
pub(super) struct Accuracy {
    /// Relative error of the integrand.
    pub(super) relative: f64,
    /// Error of its argument, as a phase of half a cycle a unit.
    pub(super) argument: f64,
    /// Absolute error of the integrand.
    pub(super) absolute: f64,
    /// Unit of roundoff of x.
    pub(super) roundoff: f64,
    /// Whether the roundoff of the integrand is looked at in every node of an area, not in its middle alone.
    pub(super) thorough: bool,
}

/// A function of x that may know how far off its values are.
pub(super) trait Function {
    /// The value at x.
    fn at(&mut self, x: f64) -> f64;
    /// The value at x, and a bound on its roundoff; 0 where nothing is known of it.
    fn with_error(&mut self, x: f64) -> (f64, f64);
    /// Whether anything is known of it.
    fn knows_errors(&self) -> bool;
    /// The value and the bound far beyond the areas, with all digits that can be had.
    fn far(&mut self, x: f64) -> (f64, f64) {
        self.with_error(x)
    }
    /// Whether it is of lower order than x^`power` at infinity, where its form shows that.
    fn limit(&self, _power: f64) -> Limit {
        Limit::Unknown
    }
    /// The function over ranges, where it can be enclosed.
    fn enclosed(&self) -> Option<Enclosed<'_>> {
        None
    }
}

impl<F: FnMut(f64) -> f64> Function for F {
    fn at(&mut self, x: f64) -> f64 {
        self(x)
    }
    fn with_error(&mut self, x: f64) -> (f64, f64) {
        (self(x), 0.0)
    }
    fn knows_errors(&self) -> bool {
        false
    }
}

impl<T: Functions> Function for Evaluator<'_, T> {
    fn at(&mut self, x: f64) -> f64 {
        self.at(x)
    }
    fn with_error(&mut self, x: f64) -> (f64, f64) {
        self.with_error(x)
    }
    fn knows_errors(&self) -> bool {
        true
    }
}

/// A program in the arithmetic of `near`, and one in `f64` for what is far out.
pub(super) struct Farsighted<'a, T> {
    pub(super) near: Evaluator<'a, T>,
    pub(super) far: Evaluator<'a, f64>,
}

impl<T> Farsighted<'_, T> {
    /// A bound on the error of a value at x by an enclosure of the function there: where an operation overflows, as the hyperbolic cosine in 1/cosh(x), error analysis
    /// has none.
    fn enclosed_error(&self, x: f64, value: f64) -> f64 {
        let enclosed = (x > 0.0).then(|| self.enclosure()).flatten();
        let Some(mut function) = enclosed else {
            return f64::INFINITY;
        };
        let span = Span {
            start: x,
            ratio: 1.0_f64.next_up(),
            order: 0,
        };
        let values = function.over(&span).values(&span);
        let error = (values.hi - value).max(value - values.lo);
        if error < f64::INFINITY && value.is_finite() {
            error
        } else {
            f64::INFINITY
        }
    }

    fn enclosure(&self) -> Option<Enclosed<'_>> {
        let parameters: Vec<Interval> = self.far.parameters().map(Interval::point).collect();
        Enclosed::new(self.far.program(), &parameters)
    }
}

impl<T: Functions> Function for Farsighted<'_, T> {
    fn at(&mut self, x: f64) -> f64 {
        self.near.at(x)
    }
    fn with_error(&mut self, x: f64) -> (f64, f64) {
        let (value, error) = self.near.with_error(x);
        if error < f64::INFINITY {
            (value, error)
        } else {
            (value, self.enclosed_error(x, value))
        }
    }
    fn knows_errors(&self) -> bool {
        true
    }
    fn far(&mut self, x: f64) -> (f64, f64) {
        self.far.with_error(x)
    }
    fn limit(&self, power: f64) -> Limit {
        let parameters: Vec<f64> = self.far.parameters().collect();
        limit(self.far.program(), &parameters, power)
    }
    fn enclosed(&self) -> Option<Enclosed<'_>> {
        self.enclosure()
    }
}
