//! Amplitudes: what an oscillation is multiplied by.

use core::marker::PhantomData;

use super::elementary::{Elementary, Software};
use crate::math::Real;

/// The amplitude g of an integrand `g(x) osc(omega x)`, with the parameters of one integral.
///
/// Implemented by a small type in any crate, it makes kernels: see [`warp_integral`](super::warp_integral) and
/// [`integrate()`](super::integrate()).
///
/// ```
/// use rarefy_kernels::Real;
/// use rarefy_kernels::longman::Integrand;
///
/// /// 1/(x^2 + p^2)
/// #[derive(Clone, Copy)]
/// struct Lorentzian<T> {
///     square: T,
/// }
///
/// impl<T: Real> Integrand<T> for Lorentzian<T> {
///     const PARAMETERS: u32 = 1;
///     fn new(parameter: impl Fn(u32) -> T) -> Self {
///         let p = parameter(0);
///         Self { square: p * p }
///     }
///     fn amplitude(&self, x: T) -> T {
///         T::ONE / x.mul_add(x, self.square)
///     }
/// }
/// assert_eq!(Lorentzian::new(|_| 2.0).amplitude(1.0), 0.2);
/// ```
pub trait Integrand<T: Real>: Copy {
    /// Parameters that each integral brings.
    const PARAMETERS: u32;
    /// The amplitude of one integral, whose k-th parameter is `parameter(k)`.
    fn new(parameter: impl Fn(u32) -> T) -> Self;
    /// g(x), for finite x above the lower limit. A value that is not finite makes the integral not finite, never wrong.
    fn amplitude(&self, x: T) -> T;

    /// Whether g is known to have no steps, kinks or narrow fronts. If not, two more nodes of each panel show them.
    const SMOOTH: bool = false;
    /// Whether [`amplitude_error`](Self::amplitude_error) is tighter than the accuracy in the arguments of a launch.
    const ERRORS: bool = false;
    /// A bound on the error that roundoff makes in g(x); for amplitudes that cancel, or are powers and exponentials of large numbers.
    #[inline(always)]
    fn amplitude_error(&self, _x: T) -> T {
        T::ZERO
    }
}

/// `e^(-lambda x)`: parameter lambda.
#[derive(Debug)]
pub struct Damped<T, F = Software> {
    rate: T,
    functions: PhantomData<F>,
}

impl<T: Copy, F> Clone for Damped<T, F> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T: Copy, F> Copy for Damped<T, F> {}

impl<T: Real, F: Elementary> Integrand<T> for Damped<T, F> {
    const PARAMETERS: u32 = 1;
    const SMOOTH: bool = true;
    #[inline(always)]
    fn new(parameter: impl Fn(u32) -> T) -> Self {
        Self {
            rate: F::rate(-parameter(0)),
            functions: PhantomData,
        }
    }
    #[inline(always)]
    fn amplitude(&self, x: T) -> T {
        F::growth(self.rate * x)
    }
}

/// `x^mu e^(-lambda x)`: parameters mu, lambda.
#[derive(Clone, Copy, Debug)]
pub struct PowerDamped<T> {
    power: T,
    rate: T,
}

impl<T: Real> Integrand<T> for PowerDamped<T> {
    const PARAMETERS: u32 = 2;
    const SMOOTH: bool = true;
    #[inline(always)]
    fn new(parameter: impl Fn(u32) -> T) -> Self {
        Self {
            power: parameter(0),
            rate: -parameter(1),
        }
    }
    #[inline(always)]
    fn amplitude(&self, x: T) -> T {
        Software::exp(self.power.mul_add(x.ln(), self.rate * x))
    }
    const ERRORS: bool = true;
    /// The exponent is a difference of what may be large, rounded like its parts.
    #[inline(always)]
    fn amplitude_error(&self, x: T) -> T {
        let parts = (self.power * x.ln()).abs() + (self.rate * x).abs();
        T::from_f64(2.0) * T::EPSILON * parts * self.amplitude(x)
    }
}

/// `x e^(-z u) / u` with `u = sqrt(x^2 + k^2)`, of Sommerfeld's integral of a spherical wave: parameters k, z.
#[derive(Clone, Copy, Debug)]
pub struct Sommerfeld<T> {
    square: T,
    height: T,
}

impl<T: Real> Integrand<T> for Sommerfeld<T> {
    const PARAMETERS: u32 = 2;
    const SMOOTH: bool = true;
    #[inline(always)]
    fn new(parameter: impl Fn(u32) -> T) -> Self {
        let k = parameter(0);
        Self {
            square: k * k,
            height: -parameter(1),
        }
    }
    #[inline(always)]
    fn amplitude(&self, x: T) -> T {
        let u = x.mul_add(x, self.square).sqrt();
        x / u * Software::exp(self.height * u)
    }
}

/// `x^m / (x^2 + p^2)` with m = 0 or 1: parameters p, m.
#[derive(Clone, Copy, Debug)]
pub struct Rational<T> {
    square: T,
    odd: bool,
}

impl<T: Real> Integrand<T> for Rational<T> {
    const PARAMETERS: u32 = 2;
    const SMOOTH: bool = true;
    #[inline(always)]
    fn new(parameter: impl Fn(u32) -> T) -> Self {
        let p = parameter(0);
        Self {
            square: p * p,
            odd: parameter(1) > T::ZERO,
        }
    }
    #[inline(always)]
    fn amplitude(&self, x: T) -> T {
        let numerator = if self.odd { x } else { T::ONE };
        numerator / x.mul_add(x, self.square)
    }
}
