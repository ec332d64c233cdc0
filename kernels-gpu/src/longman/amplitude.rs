//! The amplitude of an integral, as the outcome needs it.

use super::integrand::Integrand;
use crate::math::Real;

/// An amplitude with what is known of its errors.
pub trait Amplitude<T: Real> {
    /// Whether [`with_error`](Self::with_error) knows errors.
    const ERRORS: bool;
    /// Whether the amplitude is known to have no steps, kinks or narrow fronts.
    const SMOOTH: bool;
    /// g(x).
    fn value(&mut self, x: T) -> T;
    /// g(x) and a bound on its roundoff; 0 where nothing is known.
    fn with_error(&mut self, x: T) -> (T, T);
}

/// An [`Integrand`] as amplitude.
pub(super) struct Named<I>(pub(super) I);

impl<T: Real, I: Integrand<T>> Amplitude<T> for Named<I> {
    const ERRORS: bool = I::ERRORS;
    const SMOOTH: bool = I::SMOOTH;
    #[inline(always)]
    fn value(&mut self, x: T) -> T {
        self.0.amplitude(x)
    }
    #[inline(always)]
    fn with_error(&mut self, x: T) -> (T, T) {
        let error = if I::ERRORS {
            self.0.amplitude_error(x)
        } else {
            T::ZERO
        };
        (self.0.amplitude(x), error)
    }
}
