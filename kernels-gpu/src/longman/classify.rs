//! The classification of an integral by its areas and errors: the tests that the kernels and the driver of the CPU share.

use super::status::Status;
use crate::math::Real;

/// The areas of an integral, seen one after another.
///
/// Comparisons are false where a NaN is involved, so that nothing is concluded from it.
#[derive(Clone, Copy, Debug)]
pub struct Seen<T> {
    /// The first area from which on all alternate in sign and fall.
    pub start: u32,
    /// Areas up to the last one that counts in a plain sum.
    pub counts: u32,
    /// Magnitude of the largest area.
    pub largest: T,
    head: T,
    start_size: T,
    last: T,
    areas: u32,
}

impl<T: Real> Seen<T> {
    /// No area yet, only the value of the head.
    #[inline(always)]
    pub fn new(head: T) -> Self {
        Self {
            start: 0,
            counts: 0,
            largest: T::ZERO,
            head,
            start_size: T::ZERO,
            last: T::ZERO,
            areas: 0,
        }
    }

    /// The next area; `noise` is the error of it, or of the one before.
    #[inline(always)]
    pub fn look(&mut self, area: T, noise: T) {
        let size = area.abs();
        let alternates = (area > T::ZERO) != (self.last > T::ZERO);
        let falls = size < self.last.abs() + noise * T::from_f64(4.0);
        if self.areas == 0 || !(alternates && falls) {
            self.start = self.areas;
            self.start_size = size;
        }
        self.largest = self.largest.max(size);
        let negligible = T::from_f64(NEGLIGIBLE) * T::EPSILON;
        let is_negligible = size <= negligible * (self.head.abs() + self.largest);
        if !is_negligible {
            self.counts = self.areas + 1;
        }
        self.last = area;
        self.areas += 1;
    }

    /// Whether the areas end far below roundoff, so that their plain sum is the tail.
    #[inline(always)]
    pub fn ends(&self) -> bool {
        self.counts + 2 <= self.areas
    }

    /// The alternation test, which accelerators need: at least so many areas alternate and fall, in all by more than noise could.
    #[inline(always)]
    pub fn alternates(&self, least: u32, noise: T) -> bool {
        self.start + least <= self.areas
            && self.start_size - self.last.abs() > T::from_f64(8.0) * noise
    }
}

/// Part of the head and the largest area, in units of roundoff, below which an area is nothing: 1e-18 in `f64`.
pub const NEGLIGIBLE: f64 = 1e-18 / f64::EPSILON;

/// Roundoff of the sum of a head and areas of which the largest is `largest`.
#[inline(always)]
pub fn sum_roundoff<T: Real>(head: T, largest: T) -> T {
    T::from_f64(2.0) * T::EPSILON * (head.abs() + T::from_f64(2.0) * largest)
}

/// The error of the value `best` of which `error` is known, beside another value whose error should be within `claim`: of two that exclude each other one
/// is wrong, and it may be this one.
#[inline(always)]
pub fn contradicted<T: Real>((best, error): (T, T), other: T, claim: T) -> T {
    error.max((best - other).abs() - claim)
}

/// The larger of the two tolerances of a value.
#[inline(always)]
pub fn tolerance<T: Real>(absolute: T, relative: T, value: T) -> T {
    absolute.max(relative * value.abs())
}

/// The outcome of a value with this error.
#[inline(always)]
pub fn status<T: Real>(value: T, error: T, tolerance: T) -> Status {
    let finite = value.abs() < T::ONE / T::ZERO;
    if !finite {
        Status::NotFinite
    } else if error <= tolerance {
        Status::Ok
    } else {
        Status::NotConverged
    }
}

/// The factor by which roundoff grows: the sum of the magnitudes over the magnitude of the sum.
#[inline(always)]
pub fn condition<T: Real>(magnitude: T, sum: T) -> T {
    if magnitude <= T::ZERO {
        T::ONE
    } else {
        magnitude / sum.abs()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(areas: &[f64], noise: f64) -> Seen<f64> {
        let mut seen = Seen::new(0.5);
        areas.iter().for_each(|area| seen.look(*area, noise));
        seen
    }

    #[test]
    fn areas_that_alternate_and_fall_are_found_from_the_first_of_them_on() {
        let found = seen(&[0.1, -0.9, 0.8, -0.7, 0.6], 0.0);
        assert_eq!((found.start, found.counts, found.largest), (1, 5, 0.9));
        assert!(found.alternates(4, 0.0) && !found.alternates(5, 0.0) && !found.ends());
        // They fall by 0.3.
        assert!(found.alternates(4, 0.037) && !found.alternates(4, 0.038));
        assert!(!found.alternates(4, f64::NAN));
        // A rise within four times the noise is none.
        assert_eq!(seen(&[0.9, -0.8, 0.81, -0.7], 0.0).start, 2);
        assert_eq!(seen(&[0.9, -0.8, 0.81, -0.7], 0.01).start, 0);
        assert_eq!(seen(&[0.9, -0.8, f64::NAN, -0.7], 0.01).start, 3);
    }

    #[test]
    fn two_negligible_areas_end_a_sum() {
        let found = seen(&[1.0, -1e-9, 1e-18, -1.5e-18], 0.0);
        assert!(found.ends() && found.counts == 2);
        assert!(!seen(&[1.0, -1e-9, 1e-18, -1.6e-18], 0.0).ends());
        assert!(!seen(&[1.0, -1e-9, f64::NAN, 0.0], 0.0).ends());
    }
}
