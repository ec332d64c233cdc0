//! Means over the images of a velocity under the symmetries of a flow.

use crate::kernel;
use crate::math::quotient;

/// Symmetries about the middle of the velocity box, and the cells along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct MirrorShape {
    /// Cells along an axis.
    pub n: u32,
    /// Cells of all distributions.
    pub values: u32,
    /// 1 for distributions that are even in v_y.
    pub y: u32,
    /// 1 for distributions that are even in v_z.
    pub z: u32,
    /// 1 for distributions that stay when v_y and v_z are exchanged; then the mirrors are both there or both not.
    pub exchange: u32,
}

impl MirrorShape {
    /// The image of (y, z) under the map with the bits of `map`: mirrors along y and z, then the exchange. A bit of a symmetry that is not there changes nothing.
    #[inline(always)]
    fn image(&self, map: u32, y: u32, z: u32) -> (u32, u32) {
        let y = if map & self.y == 1 { self.n - 1 - y } else { y };
        let z = if (map >> 1) & self.z == 1 {
            self.n - 1 - z
        } else {
            z
        };
        if (map >> 2) & self.exchange == 1 {
            (z, y)
        } else {
            (y, z)
        }
    }
}

kernel! {
    /// Gives all images of a cell the mean of their values, in `values[item][x][y][z]`.
    ///
    /// A thread a cell; that of the first image of an orbit does the work. A value that is its own image under a symmetry counts twice.
    ///
    /// **No race**: orbits have no cell in common.
    pub fn mean_of_images<T: Real>(t, values: InOut<T>; shape: MirrorShape) for f32, f64 {
        let n = shape.n;
        let cell = t.global_idx() as u32;
        if cell < shape.values {
            let row = quotient(cell, n);
            let z = cell - row * n;
            let plane = quotient(row, n);
            let y = row - plane * n;
            let of = |map: u32| {
                let (y, z) = shape.image(map, y, z);
                y * n + z
            };
            let images = [of(0), of(1), of(2), of(3), of(4), of(5), of(6), of(7)];
            let mut least = images[0];
            for map in 1..8 {
                least = if images[map] < least { images[map] } else { least };
            }
            if least == images[0] {
                let at = |map: usize| (plane * n * n + images[map]) as usize;
                let value = |map: usize| values.get(t, at(map));
                let (mirrored_y, mirrored_z, exchanged) = (shape.y == 1, shape.z == 1, shape.exchange == 1);
                let first = value(0);
                let of_y = if mirrored_y { value(1) } else { first };
                let (of_z, of_both) = if mirrored_z {
                    let of_z = value(2);
                    (of_z, if mirrored_y { value(3) } else { of_z })
                } else {
                    (first, of_y)
                };
                let mut sum = (first + of_y) + (of_z + of_both);
                sum += if exchanged { (value(4) + value(5)) + (value(6) + value(7)) } else { sum };
                let mean = sum * T::from_f64(0.125);
                values.set(t, at(0), mean);
                if mirrored_y {
                    values.set(t, at(1), mean);
                }
                if mirrored_z {
                    values.set(t, at(2), mean);
                    if mirrored_y {
                        values.set(t, at(3), mean);
                    }
                }
                if exchanged {
                    for map in 4..8 {
                        values.set(t, at(map), mean);
                    }
                }
            }
        }
    }
}
