//! Populations as they are, and in 16 bits.

use rarefy_kernels::Real;
use rarefy_kernels::bgk_flow::{decode, encode, noise};

use super::super::storage::{decoded, nearest};

/// What memory holds of a population.
pub(in crate::bgk) trait Stored<T: Real>:
    Copy + Default + Send + Sync + 'static
{
    /// Whether it is the deviation from the Maxwellian of the step before.
    const DEVIATIONS: bool;
    /// What stands for a population, rounded to the nearest: of what was read in f64, exactly what was there.
    fn of(f: f64, maxwellian: impl FnOnce() -> (f64, [f32; 2])) -> Self;
    /// The population, to all digits.
    fn exactly(self, maxwellian: impl FnOnce() -> (f64, [f32; 2])) -> f64;
    /// The populations of a node in a row of cells, in place or in `scratch`.
    fn open<'a>(row: &'a [Self], scratch: &'a mut [T], known: Known<'_, T>) -> &'a [T];
    /// Where new ones go: in place or to `scratch`.
    fn room<'a>(row: &'a mut [Self], scratch: &'a mut [T]) -> &'a mut [T];
    /// Puts those of `scratch` in place that are not, rounded at random.
    fn close(row: &mut [Self], scratch: &[T], known: Known<'_, T>, rounding: Rounding);
}

/// What the populations of a node deviate from in a row of cells, and its scale.
#[derive(Clone, Copy)]
pub(in crate::bgk) struct Known<'a, T> {
    /// The Maxwellian's factors along x and y multiplied, and the innermost one.
    pub(super) product: &'a [T],
    pub(super) inner: &'a [T],
    /// To decode and to encode.
    pub(super) scale: [T; 2],
}

/// Where the random numbers of a node are found in a row of cells.
#[derive(Clone, Copy)]
pub(in crate::bgk) struct Rounding {
    /// Those of the step.
    pub(super) seed: u32,
    /// Number of the first word, two cells each: as on a GPU, so that both round alike.
    pub(super) first: u32,
    /// Nodes of the innermost axis: so many runs of 32 cells lie between neighbouring ones of a node.
    pub(super) nodes: u32,
}

macro_rules! plain {
    ($($t:ty)*) => {$(
        impl Stored<$t> for $t {
            const DEVIATIONS: bool = false;
            fn of(f: f64, _: impl FnOnce() -> (f64, [f32; 2])) -> Self {
                <$t>::from_f64(f)
            }
            fn exactly(self, _: impl FnOnce() -> (f64, [f32; 2])) -> f64 {
                self.to_f64()
            }
            #[inline(always)]
            fn open<'a>(row: &'a [Self], _: &'a mut [$t], _: Known<'_, $t>) -> &'a [$t] {
                row
            }
            #[inline(always)]
            fn room<'a>(row: &'a mut [Self], _: &'a mut [$t]) -> &'a mut [$t] {
                row
            }
            #[inline(always)]
            fn close(_: &mut [Self], _: &[$t], _: Known<'_, $t>, _: Rounding) {}
        }
    )*};
}
plain! { f32 f64 }

/// A number of half precision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::bgk) struct Half(u16);

impl Stored<f32> for Half {
    const DEVIATIONS: bool = true;

    fn of(f: f64, maxwellian: impl FnOnce() -> (f64, [f32; 2])) -> Self {
        let (maxwellian, scale) = maxwellian();
        Self(nearest(f, maxwellian, scale) as u16)
    }

    fn exactly(self, maxwellian: impl FnOnce() -> (f64, [f32; 2])) -> f64 {
        let (maxwellian, scale) = maxwellian();
        decoded(u32::from(self.0), maxwellian, scale)
    }

    #[inline(always)]
    fn open<'a>(row: &'a [Self], scratch: &'a mut [f32], known: Known<'_, f32>) -> &'a [f32] {
        let n = row.len();
        let (product, inner) = (&known.product[..n], &known.inner[..n]);
        let values = &mut scratch[..n];
        for i in 0..n {
            values[i] = decode(u32::from(row[i].0)) * known.scale[0] + product[i] * inner[i];
        }
        values
    }

    #[inline(always)]
    fn room<'a>(row: &'a mut [Self], scratch: &'a mut [f32]) -> &'a mut [f32] {
        &mut scratch[..row.len()]
    }

    #[inline(always)]
    fn close(row: &mut [Self], scratch: &[f32], known: Known<'_, f32>, rounding: Rounding) {
        let Rounding { seed, first, nodes } = rounding;
        let n = row.len();
        let (f, product, inner) = (&scratch[..n], &known.product[..n], &known.inner[..n]);
        for i in 0..n {
            let (run, place) = (i as u32 / 32, i as u32 % 32);
            let random = noise(seed, first + run * nodes * 16 + place / 2);
            let random = if i % 2 == 0 { random[0] } else { random[1] };
            let deviation = (f[i] - product[i] * inner[i]) * known.scale[1];
            row[i] = Self(encode(deviation, random) as u16);
        }
    }
}
