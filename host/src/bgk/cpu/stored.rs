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
    /// What the tables say of a population's Maxwellian only where it deviates from one, and the scales.
    fn value(self, maxwellian: impl FnOnce() -> (T, [T; 2])) -> T;
    /// What stands for a population, rounded to the nearest: of what was read in f64, exactly what was there.
    fn of(f: f64, maxwellian: impl FnOnce() -> (f64, [f32; 2])) -> Self;
    /// The population, to all digits.
    fn exactly(self, maxwellian: impl FnOnce() -> (f64, [f32; 2])) -> f64;
    /// The populations of a node, in place or in `scratch`.
    fn open<'a>(plane: &'a mut [Self], scratch: &'a mut [T], known: Known<'_, T>) -> &'a mut [T];
    /// Puts those of `scratch` back that are not in place, rounded at random.
    fn close(plane: &mut [Self], scratch: &[T], known: Known<'_, T>, rounding: Rounding);
}

/// What the populations of a node deviate from in all cells, and its scale.
#[derive(Clone, Copy)]
pub(in crate::bgk) struct Known<'a, T> {
    /// The Maxwellian's factors along x and y multiplied, and the innermost one.
    pub(super) product: &'a [T],
    pub(super) inner: &'a [T],
    /// To decode and to encode.
    pub(super) scale: [T; 2],
}

/// Where the random numbers of a node's plane are found.
#[derive(Clone, Copy)]
pub(in crate::bgk) struct Rounding {
    /// Those of the step.
    pub(super) seed: u32,
    /// Number of the first word of the node, two cells each, and of words from row to row: as on a GPU, so that both round alike.
    pub(super) first: u32,
    pub(super) distance: u32,
    /// Nodes of the innermost axis: so many runs of 32 cells lie between neighbouring ones of a node.
    pub(super) nodes: u32,
    /// Cells of a row.
    pub(super) nx: usize,
}

macro_rules! plain {
    ($($t:ty)*) => {$(
        impl Stored<$t> for $t {
            const DEVIATIONS: bool = false;
            #[inline(always)]
            fn value(self, _: impl FnOnce() -> ($t, [$t; 2])) -> $t {
                self
            }
            fn of(f: f64, _: impl FnOnce() -> (f64, [f32; 2])) -> Self {
                <$t>::from_f64(f)
            }
            fn exactly(self, _: impl FnOnce() -> (f64, [f32; 2])) -> f64 {
                self.to_f64()
            }
            #[inline(always)]
            fn open<'a>(plane: &'a mut [Self], _: &'a mut [$t], _: Known<'_, $t>) -> &'a mut [$t] {
                plane
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

    #[inline(always)]
    fn value(self, maxwellian: impl FnOnce() -> (f32, [f32; 2])) -> f32 {
        let (maxwellian, [scale, _]) = maxwellian();
        decode(u32::from(self.0)) * scale + maxwellian
    }

    fn of(f: f64, maxwellian: impl FnOnce() -> (f64, [f32; 2])) -> Self {
        let (maxwellian, scale) = maxwellian();
        Self(nearest(f, maxwellian, scale) as u16)
    }

    fn exactly(self, maxwellian: impl FnOnce() -> (f64, [f32; 2])) -> f64 {
        let (maxwellian, scale) = maxwellian();
        decoded(u32::from(self.0), maxwellian, scale)
    }

    #[inline(always)]
    fn open<'a>(
        plane: &'a mut [Self],
        scratch: &'a mut [f32],
        known: Known<'_, f32>,
    ) -> &'a mut [f32] {
        let n = plane.len();
        let (product, inner) = (&known.product[..n], &known.inner[..n]);
        let values = &mut scratch[..n];
        for i in 0..n {
            values[i] = decode(u32::from(plane[i].0)) * known.scale[0] + product[i] * inner[i];
        }
        values
    }

    #[inline(always)]
    fn close(plane: &mut [Self], scratch: &[f32], known: Known<'_, f32>, rounding: Rounding) {
        let Rounding {
            seed,
            first,
            distance,
            nodes,
            nx,
        } = rounding;
        let rows = plane.chunks_exact_mut(nx).zip(scratch.chunks_exact(nx));
        let known_rows = known
            .product
            .chunks_exact(nx)
            .zip(known.inner.chunks_exact(nx));
        for (iy, ((out, f), (product, inner))) in rows.zip(known_rows).enumerate() {
            let word = first + iy as u32 * distance;
            for i in 0..nx {
                let (run, place) = (i as u32 / 32, i as u32 % 32);
                let random = noise(seed, word + run * nodes * 16 + place / 2);
                let random = if i % 2 == 0 { random[0] } else { random[1] };
                let deviation = (f[i] - product[i] * inner[i]) * known.scale[1];
                out[i] = Self(encode(deviation, random) as u16);
            }
        }
    }
}
