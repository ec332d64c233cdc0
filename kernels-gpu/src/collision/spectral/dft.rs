//! Discrete Fourier transforms of a few points in registers: `X_n = sum_l x_l e^(2 pi i l n / R)`, unnormalised.
//!
//! Longer transforms take two of them. With `P = R1 R2`, `l = R2 l1 + l2` and `n = n1 + R1 n2`
//!
//! ```text
//! X_n = sum_l2 e^(2 pi i l2 n2 / R2)  e^(2 pi i l2 n1 / P)  sum_l1 x_l e^(2 pi i l1 n1 / R1).
//! ```
//!
//! Lengths of coprime factors (6, 10, 12) need no twiddle factors: indices of the Chinese remainder theorem take their place (Good 1958; Thomas 1963).

use crate::math::Real;

/// A complex number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Complex<T> {
    pub(super) re: T,
    pub(super) im: T,
}

impl<T: Real> Complex<T> {
    pub(super) const ZERO: Self = Self {
        re: T::ZERO,
        im: T::ZERO,
    };

    #[inline(always)]
    pub(super) fn of([re, im]: [T; 2]) -> Self {
        Self { re, im }
    }
    #[inline(always)]
    pub(super) fn pair(self) -> [T; 2] {
        [self.re, self.im]
    }
    #[inline(always)]
    pub(super) fn conjugate(self) -> Self {
        Self {
            re: self.re,
            im: -self.im,
        }
    }
    #[inline(always)]
    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            re: self.re + other.re,
            im: self.im + other.im,
        }
    }
    #[inline(always)]
    fn minus(self, other: Self) -> Self {
        Self {
            re: self.re - other.re,
            im: self.im - other.im,
        }
    }
    #[inline(always)]
    pub(super) fn times(self, other: Self) -> Self {
        Self {
            re: self.re.mul_add(other.re, -(self.im * other.im)),
            im: self.re.mul_add(other.im, self.im * other.re),
        }
    }
    #[inline(always)]
    fn scaled(self, factor: T) -> Self {
        Self {
            re: self.re * factor,
            im: self.im * factor,
        }
    }
    /// `self * factor + term`.
    #[inline(always)]
    fn scaled_plus(self, factor: T, term: Self) -> Self {
        Self {
            re: self.re.mul_add(factor, term.re),
            im: self.im.mul_add(factor, term.im),
        }
    }
    /// `i self`.
    #[inline(always)]
    fn turned(self) -> Self {
        Self {
            re: -self.im,
            im: self.re,
        }
    }
}

/// `cos + i sin` of a constant angle.
#[inline(always)]
fn root<T: Real>(re: f64, im: f64) -> Complex<T> {
    Complex {
        re: T::from_f64(re),
        im: T::from_f64(im),
    }
}

const HALF_ROOT_3: f64 = 0.866_025_403_784_438_6;
const HALF_ROOT_2: f64 = core::f64::consts::FRAC_1_SQRT_2;

#[inline(always)]
pub(super) fn dft2<T: Real>(x: [Complex<T>; 2]) -> [Complex<T>; 2] {
    [x[0].plus(x[1]), x[0].minus(x[1])]
}

#[inline(always)]
pub(super) fn dft3<T: Real>(x: [Complex<T>; 3]) -> [Complex<T>; 3] {
    let sum = x[1].plus(x[2]);
    let middle = sum.scaled_plus(T::from_f64(-0.5), x[0]);
    let across = x[1].minus(x[2]).scaled(T::from_f64(HALF_ROOT_3)).turned();
    [x[0].plus(sum), middle.plus(across), middle.minus(across)]
}

#[inline(always)]
pub(super) fn dft4<T: Real>(x: [Complex<T>; 4]) -> [Complex<T>; 4] {
    let (even, odd) = (x[0].plus(x[2]), x[1].plus(x[3]));
    let (a, b) = (x[0].minus(x[2]), x[1].minus(x[3]).turned());
    [even.plus(odd), a.plus(b), even.minus(odd), a.minus(b)]
}

#[inline(always)]
pub(super) fn dft5<T: Real>(x: [Complex<T>; 5]) -> [Complex<T>; 5] {
    let c1 = T::from_f64(0.309_016_994_374_947_45);
    let c2 = T::from_f64(-0.809_016_994_374_947_5);
    let s1 = T::from_f64(0.951_056_516_295_153_5);
    let s2 = T::from_f64(0.587_785_252_292_473_1);
    let (a, b) = (x[1].plus(x[4]), x[2].plus(x[3]));
    let (d, e) = (x[1].minus(x[4]), x[2].minus(x[3]));
    let first = b.scaled_plus(c2, a.scaled_plus(c1, x[0]));
    let second = b.scaled_plus(c1, a.scaled_plus(c2, x[0]));
    let across = e.scaled_plus(s2, d.scaled(s1)).turned();
    let other = e.scaled_plus(-s1, d.scaled(s2)).turned();
    [
        x[0].plus(a).plus(b),
        first.plus(across),
        second.plus(other),
        second.minus(other),
        first.minus(across),
    ]
}

#[inline(always)]
pub(super) fn dft6<T: Real>(x: [Complex<T>; 6]) -> [Complex<T>; 6] {
    let a = dft3([x[0], x[2], x[4]]);
    let b = dft3([x[3], x[5], x[1]]);
    // X_n from n mod 3 and n mod 2.
    [
        a[0].plus(b[0]),
        a[1].minus(b[1]),
        a[2].plus(b[2]),
        a[0].minus(b[0]),
        a[1].plus(b[1]),
        a[2].minus(b[2]),
    ]
}

#[inline(always)]
pub(super) fn dft8<T: Real>(x: [Complex<T>; 8]) -> [Complex<T>; 8] {
    let a = dft4([x[0], x[2], x[4], x[6]]);
    let b = dft4([x[1], x[3], x[5], x[7]]);
    let b1 = b[1].times(root(HALF_ROOT_2, HALF_ROOT_2));
    let b2 = b[2].turned();
    let b3 = b[3].times(root(-HALF_ROOT_2, HALF_ROOT_2));
    [
        a[0].plus(b[0]),
        a[1].plus(b1),
        a[2].plus(b2),
        a[3].plus(b3),
        a[0].minus(b[0]),
        a[1].minus(b1),
        a[2].minus(b2),
        a[3].minus(b3),
    ]
}

#[inline(always)]
pub(super) fn dft9<T: Real>(x: [Complex<T>; 9]) -> [Complex<T>; 9] {
    let w1 = root(0.766_044_443_118_978, 0.642_787_609_686_539_3);
    let w2 = root(0.173_648_177_666_930_4, 0.984_807_753_012_208);
    let w4 = root(-0.939_692_620_785_908_4, 0.342_020_143_325_668_9);
    let a = dft3([x[0], x[3], x[6]]);
    let b = dft3([x[1], x[4], x[7]]);
    let c = dft3([x[2], x[5], x[8]]);
    let [x0, x3, x6] = dft3([a[0], b[0], c[0]]);
    let [x1, x4, x7] = dft3([a[1], b[1].times(w1), c[1].times(w2)]);
    let [x2, x5, x8] = dft3([a[2], b[2].times(w2), c[2].times(w4)]);
    [x0, x1, x2, x3, x4, x5, x6, x7, x8]
}

#[inline(always)]
pub(super) fn dft10<T: Real>(x: [Complex<T>; 10]) -> [Complex<T>; 10] {
    let a = dft5([x[0], x[2], x[4], x[6], x[8]]);
    let b = dft5([x[5], x[7], x[9], x[1], x[3]]);
    // X_n from n mod 5 and n mod 2.
    [
        a[0].plus(b[0]),
        a[1].minus(b[1]),
        a[2].plus(b[2]),
        a[3].minus(b[3]),
        a[4].plus(b[4]),
        a[0].minus(b[0]),
        a[1].plus(b[1]),
        a[2].minus(b[2]),
        a[3].plus(b[3]),
        a[4].minus(b[4]),
    ]
}

#[inline(always)]
pub(super) fn dft12<T: Real>(x: [Complex<T>; 12]) -> [Complex<T>; 12] {
    // Residues: of l modulo 3 along a column, modulo 4 along a row; l = 4 l1 + 3 l2.
    let a = dft3([x[0], x[4], x[8]]);
    let b = dft3([x[3], x[7], x[11]]);
    let c = dft3([x[6], x[10], x[2]]);
    let d = dft3([x[9], x[1], x[5]]);
    let [x0, x9, x6, x3] = dft4([a[0], b[0], c[0], d[0]]);
    let [x4, x1, x10, x7] = dft4([a[1], b[1], c[1], d[1]]);
    let [x8, x5, x2, x11] = dft4([a[2], b[2], c[2], d[2]]);
    [x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11]
}

/// A transform of `$radix` points between two places, for each of the listed radices: straight lines, so that all points stay in registers.
macro_rules! transform {
    ($(#[$doc:meta])* $name:ident, $($radix:literal $dft:ident [$($k:literal)+]),+ $(,)?) => {
        $(#[$doc])*
        #[inline(always)]
        #[track_caller]
        pub(super) fn $name<T: Real>(
            radix: u32,
            load: impl Fn(u32) -> Complex<T>,
            store: impl Fn(u32, Complex<T>),
        ) {
            match radix {
                $($radix => {
                    let x = $dft([$(load($k)),+]);
                    $(store($k, x[$k]);)+
                })+
                _ => {}
            }
        }
    };
}

transform! {
    /// The first of the two transforms of a line, of R1 points.
    first_transform,
    2 dft2 [0 1],
    3 dft3 [0 1 2],
    4 dft4 [0 1 2 3],
    5 dft5 [0 1 2 3 4],
    6 dft6 [0 1 2 3 4 5],
    8 dft8 [0 1 2 3 4 5 6 7],
}

transform! {
    /// The second one, of R2 points.
    second_transform,
    3 dft3 [0 1 2],
    4 dft4 [0 1 2 3],
    5 dft5 [0 1 2 3 4],
    6 dft6 [0 1 2 3 4 5],
    8 dft8 [0 1 2 3 4 5 6 7],
    9 dft9 [0 1 2 3 4 5 6 7 8],
    10 dft10 [0 1 2 3 4 5 6 7 8 9],
    12 dft12 [0 1 2 3 4 5 6 7 8 9 10 11],
}

/// Transforms of two lines at once.
macro_rules! twins {
    ($(#[$doc:meta])* $name:ident, $($radix:literal $dft:ident [$($k:literal)+]),+ $(,)?) => {
        $(#[$doc])*
        #[inline(always)]
        #[track_caller]
        pub(super) fn $name<T: Real>(
            radix: u32,
            load: impl Fn(u32) -> [Complex<T>; 2],
            store: impl Fn(u32, [Complex<T>; 2]),
        ) {
            match radix {
                $($radix => {
                    let both = [$(load($k)),+];
                    let one = $dft([$(both[$k][0]),+]);
                    let other = $dft([$(both[$k][1]),+]);
                    $(store($k, [one[$k], other[$k]]);)+
                })+
                _ => {}
            }
        }
    };
}

twins! {
    /// [`first_transform`] of two lines, whose points one load makes.
    first_twins,
    2 dft2 [0 1],
    3 dft3 [0 1 2],
    4 dft4 [0 1 2 3],
    5 dft5 [0 1 2 3 4],
    6 dft6 [0 1 2 3 4 5],
    8 dft8 [0 1 2 3 4 5 6 7],
}

twins! {
    /// [`second_transform`] of two lines, whose points are stored together.
    second_twins,
    3 dft3 [0 1 2],
    4 dft4 [0 1 2 3],
    5 dft5 [0 1 2 3 4],
    6 dft6 [0 1 2 3 4 5],
    8 dft8 [0 1 2 3 4 5 6 7],
    9 dft9 [0 1 2 3 4 5 6 7 8],
    10 dft10 [0 1 2 3 4 5 6 7 8 9],
    12 dft12 [0 1 2 3 4 5 6 7 8 9 10 11],
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<const R: usize>(dft: impl Fn([Complex<f64>; R]) -> [Complex<f64>; R]) {
        let x: [Complex<f64>; R] = core::array::from_fn(|l| Complex {
            re: (1.3 * l as f64).sin() + 0.2,
            im: (0.7 * l as f64).cos(),
        });
        let found = dft(x);
        for (n, found) in found.iter().enumerate() {
            let mut sum = Complex::ZERO;
            for (l, &x) in x.iter().enumerate() {
                let angle = core::f64::consts::TAU * (l * n) as f64 / R as f64;
                sum = sum.plus(x.times(Complex {
                    re: angle.cos(),
                    im: angle.sin(),
                }));
            }
            let error = (found.re - sum.re).abs().max((found.im - sum.im).abs());
            assert!(error < 1e-14 * R as f64, "{R}, {n}: {error:e}");
        }
    }

    #[test]
    fn short_transforms_are_the_sums() {
        check(dft2);
        check(dft3);
        check(dft4);
        check(dft5);
        check(dft6);
        check(dft8);
        check(dft9);
        check(dft10);
        check(dft12);
    }
}
