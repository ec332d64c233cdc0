//! Vectors of a few numbers that one thread holds in registers.

use core::mem::MaybeUninit;
use core::ops::{Add, AddAssign, Index, IndexMut, Mul, Neg, Sub};

use crate::math::Real;

/// `W` numbers of one thread, such as neighbouring cells; arithmetic acts on each of them.
///
/// Loops over the components have a constant length, so the compiler unrolls them and keeps the components in registers. The right operand may be
/// a number, which then counts for all components. Views load and store the array inside: `Pack(f.get_run(t, at))`, `f.set_run(t, at, pack.0)`.
///
/// ```
/// use rarefy_simt::Pack;
///
/// let (f, maxwellian) = (Pack([1.0, 2.0]), Pack([3.0, 4.0]));
/// assert_eq!(f.mul_add(0.5, maxwellian * 2.0), Pack([6.5, 9.0]));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(transparent)]
pub struct Pack<T, const W: usize>(pub [T; W]);

impl<T: Copy, const W: usize> Pack<T, W> {
    /// The same number `W` times.
    #[inline(always)]
    pub const fn splat(value: T) -> Self {
        Self([value; W])
    }
    /// Component `k` is `component(k)`.
    #[inline(always)]
    #[track_caller]
    pub fn from_fn(mut component: impl FnMut(usize) -> T) -> Self {
        let mut all = MaybeUninit::<[T; W]>::uninit();
        for k in 0..W {
            // SAFETY: place k of W.
            unsafe { all.as_mut_ptr().cast::<T>().add(k).write(component(k)) };
        }
        // SAFETY: the loop has written each place.
        Self(unsafe { all.assume_init() })
    }
    /// Each component through a function.
    #[inline(always)]
    #[track_caller]
    pub fn map<U: Copy>(self, mut function: impl FnMut(T) -> U) -> Pack<U, W> {
        Pack::from_fn(|k| function(self.0[k]))
    }
    /// Each pair of components through a function.
    #[inline(always)]
    #[track_caller]
    pub fn zip<U: Copy, V: Copy>(
        self,
        other: Pack<U, W>,
        mut function: impl FnMut(T, U) -> V,
    ) -> Pack<V, W> {
        Pack::from_fn(|k| function(self.0[k], other.0[k]))
    }
    /// The first component.
    #[inline(always)]
    pub fn first(self) -> T {
        self.0[0]
    }
    /// The last component.
    #[inline(always)]
    pub fn last(self) -> T {
        self.0[W - 1]
    }
    /// The components in the opposite order.
    #[inline(always)]
    pub fn reversed(self) -> Self {
        Self::from_fn(|k| self.0[W - 1 - k])
    }
    /// The component before each component, and that component, through a function; `first` is before the first one.
    #[inline(always)]
    #[track_caller]
    pub fn with_previous<U: Copy>(
        self,
        first: T,
        mut function: impl FnMut(T, T) -> U,
    ) -> Pack<U, W> {
        let mut previous = first;
        self.map(|here| {
            let value = function(previous, here);
            previous = here;
            value
        })
    }
    /// Each component, and the one behind it, through a function; `last` is behind the last one.
    #[inline(always)]
    #[track_caller]
    pub fn with_next<U: Copy>(self, last: T, mut function: impl FnMut(T, T) -> U) -> Pack<U, W> {
        Pack::from_fn(|k| function(self.0[k], if k + 1 < W { self.0[k + 1] } else { last }))
    }
}

impl<T: Real, const W: usize> Pack<T, W> {
    /// Zeros.
    pub const ZERO: Self = Self::splat(T::ZERO);
    /// Ones.
    pub const ONE: Self = Self::splat(T::ONE);

    /// `self * factor + term`, rounded once.
    #[inline(always)]
    pub fn mul_add(self, factor: impl Operand<T, W>, term: impl Operand<T, W>) -> Self {
        Self::from_fn(|k| self.0[k].mul_add(factor.component(k), term.component(k)))
    }
    /// The smaller of each pair of components.
    #[inline(always)]
    pub fn min(self, other: impl Operand<T, W>) -> Self {
        Self::from_fn(|k| self.0[k].min(other.component(k)))
    }
    /// The larger of each pair of components.
    #[inline(always)]
    pub fn max(self, other: impl Operand<T, W>) -> Self {
        Self::from_fn(|k| self.0[k].max(other.component(k)))
    }
    /// The components as `f64`.
    #[inline(always)]
    pub fn to_f64(self) -> Pack<f64, W> {
        self.map(T::to_f64)
    }
}

/// A right operand of a [`Pack`]: a pack, or one number for all components.
pub trait Operand<T, const W: usize>: Copy {
    /// The number for component `k`.
    fn component(self, k: usize) -> T;
}

impl<T: Copy, const W: usize> Operand<T, W> for Pack<T, W> {
    #[inline(always)]
    fn component(self, k: usize) -> T {
        self.0[k]
    }
}

impl<T: Real, const W: usize> Operand<T, W> for T {
    #[inline(always)]
    fn component(self, _: usize) -> T {
        self
    }
}

macro_rules! operator {
    ($($name:ident $method:ident $sign:tt)*) => {$(
        impl<T: Real, O: Operand<T, W>, const W: usize> $name<O> for Pack<T, W> {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: O) -> Self {
                Self::from_fn(|k| self.0[k] $sign other.component(k))
            }
        }
    )*};
}
operator! { Add add + Sub sub - Mul mul * }

impl<T: Real, O: Operand<T, W>, const W: usize> AddAssign<O> for Pack<T, W> {
    #[inline(always)]
    fn add_assign(&mut self, other: O) {
        *self = *self + other;
    }
}

impl<T: Real, const W: usize> Neg for Pack<T, W> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        self.map(|value| -value)
    }
}

impl<T, const W: usize> Index<usize> for Pack<T, W> {
    type Output = T;
    #[inline(always)]
    fn index(&self, k: usize) -> &T {
        &self.0[k]
    }
}

impl<T, const W: usize> IndexMut<usize> for Pack<T, W> {
    #[inline(always)]
    fn index_mut(&mut self, k: usize) -> &mut T {
        &mut self.0[k]
    }
}

#[cfg(test)]
mod tests {
    use super::Pack;

    const P: Pack<f64, 3> = Pack([1.0, 2.0, 4.0]);

    #[test]
    fn operators_act_on_each_component() {
        let other = Pack([3.0, -1.0, 0.5]);
        assert_eq!(P + other, Pack([4.0, 1.0, 4.5]));
        assert_eq!(P - other, Pack([-2.0, 3.0, 3.5]));
        assert_eq!(P * other, Pack([3.0, -2.0, 2.0]));
        assert_eq!(P * 2.0 + 1.0, Pack([3.0, 5.0, 9.0]));
        assert_eq!(-P, Pack([-1.0, -2.0, -4.0]));
        assert_eq!(P.mul_add(other, 1.0), Pack([4.0, -1.0, 3.0]));
        assert_eq!(P.min(other), Pack([1.0, -1.0, 0.5]));
        assert_eq!(P.max(2.0), Pack([2.0, 2.0, 4.0]));
        let mut sum = P;
        sum += other;
        assert_eq!(sum, P + other);
    }

    #[test]
    fn a_product_and_a_sum_are_rounded_once() {
        let x = Pack([1.0 + f64::EPSILON; 2]);
        assert_eq!(
            x.mul_add(x, -1.0 - 2.0 * f64::EPSILON),
            Pack([f64::EPSILON * f64::EPSILON; 2])
        );
    }

    #[test]
    fn components_meet_their_neighbours() {
        assert_eq!(P.reversed(), Pack([4.0, 2.0, 1.0]));
        assert_eq!(
            P.with_previous(9.0, |a, b| (a, b)),
            Pack([(9.0, 1.0), (1.0, 2.0), (2.0, 4.0)])
        );
        assert_eq!(
            P.with_next(9.0, |a, b| (a, b)),
            Pack([(1.0, 2.0), (2.0, 4.0), (4.0, 9.0)])
        );
        assert_eq!((P.first(), P.last()), (1.0, 4.0));
    }
}
