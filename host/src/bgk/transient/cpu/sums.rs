//! Sums over the nodes: of the chunks, in the precision of the populations, and of all, in f64.

use rarefy_kernels::Real;
use rayon::prelude::*;

use super::super::relaxation::sum;
use super::Layout;
use super::rows::{Sums, for_cells};
use super::tables::columns;
use crate::simd::{Job, on_widest};

/// Cells whose sums are added up at a time.
const TOGETHER: usize = 256;

/// Sums the populations of the pairs from `first` on as they are.
pub(super) struct SumChunk<'a, T> {
    pub(super) layout: &'a Layout<T>,
    pub(super) first: usize,
    pub(super) f: &'a [T],
    pub(super) sums: &'a mut [T],
}

impl<T: Real> Job for SumChunk<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let Self {
            layout,
            first,
            f,
            sums,
        } = self;
        let cells = layout.cells();
        let [_, count_y, count_m] = layout.shape;
        sums.fill(T::ZERO);
        for (offset, block) in f.chunks_exact(count_m * cells).enumerate() {
            let jy = (first + offset) % count_y;
            for (m, f) in block.chunks_exact(cells).enumerate() {
                let mut sums = Sums {
                    rows: &mut *sums,
                    distance: cells,
                };
                sums.gather(f, layout.pass_weights(jy, m));
            }
        }
    }
}

/// Adds what the chunks left in each cell up to the sums of all nodes, `[sum][cell]`.
pub(super) fn add_chunks<T: Real>(layout: &Layout<T>, partial: &[Vec<T>], sums: &mut [f64]) {
    columns(sums, layout.cells(), TOGETHER)
        .into_par_iter()
        .enumerate()
        .for_each(|(block, mut sums)| {
            on_widest(AddBlock {
                layout,
                partial,
                first: block * TOGETHER,
                sums: &mut sums,
            });
        });
}

/// The same for the cells from `first` on.
struct AddBlock<'a, 'b, T> {
    layout: &'a Layout<T>,
    partial: &'a [Vec<T>],
    first: usize,
    sums: &'a mut [&'b mut [f64]],
}

impl<T: Real> Job for AddBlock<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let Self {
            layout,
            partial,
            first,
            sums,
        } = self;
        let cells = layout.cells();
        for sum in &mut *sums {
            sum.fill(0.0);
        }
        let (bgk, shakhov) = sums.split_at_mut(sum::BGK);
        let ([density, along_x, along_y, energy], len) = match bgk {
            [density, along_x, along_y, energy] => {
                let len = density.len();
                ([density, along_x, along_y, energy], len)
            }
            _ => return,
        };
        for (chunk, partial) in partial.iter().enumerate() {
            let vx = layout.velocity_of(chunk);
            let part = |k: usize| &partial[k * cells + first..][..len];
            let (p0, p1, p2) = (part(0), part(1), part(2));
            add_bgk(density, along_x, along_y, energy, vx, p0, p1, p2);
            if let [flux_x, flux_y, xx, yy, xy, internal @ ..] = shakhov {
                let parts = [p0, p1, p2, part(3), part(4)];
                add_shakhov(flux_x, flux_y, xx, yy, xy, vx, parts);
                if let [energy, flux_x, flux_y] = internal {
                    add_internal(energy, flux_x, flux_y, vx, [part(5), part(6)]);
                }
            }
        }
    }
}

const _: () = assert!(
    sum::DENSITY == 0 && sum::MOMENTUM == 1 && sum::ENERGY == 3,
    "the order in which `AddBlock` takes the sums"
);
const _: () = assert!(
    sum::FLUX == 4 && sum::STRESS == 6 && sum::SHAKHOV == 9 && sum::INTERNAL == 9,
    "the order in which `AddBlock` takes the sums"
);

#[inline(always)]
#[allow(
    clippy::too_many_arguments,
    reason = "the compiler is to know that these rows lie apart"
)]
fn add_bgk<T: Real>(
    density: &mut [f64],
    along_x: &mut [f64],
    along_y: &mut [f64],
    energy: &mut [f64],
    vx: f64,
    p0: &[T],
    p1: &[T],
    p2: &[T],
) {
    for_cells!(
        density.len(),
        [p0, p1, p2],
        [density, along_x, along_y, energy],
        {
            let (p0, p1, p2) = (p0.to_f64(), p1.to_f64(), p2.to_f64());
            *density += p0;
            *along_x += vx * p0;
            *along_y += p1;
            *energy += vx * vx * p0 + p2;
        }
    );
}

#[inline(always)]
fn add_shakhov<T: Real>(
    flux_x: &mut [f64],
    flux_y: &mut [f64],
    xx: &mut [f64],
    yy: &mut [f64],
    xy: &mut [f64],
    vx: f64,
    [p0, p1, p2, p3, p4]: [&[T]; 5],
) {
    for_cells!(
        xx.len(),
        [p0, p1, p2, p3, p4],
        [flux_x, flux_y, xx, yy, xy],
        {
            let (p0, p1) = (p0.to_f64(), p1.to_f64());
            *flux_x += vx * vx * vx * p0 + vx * p2.to_f64();
            *flux_y += vx * vx * p1 + p3.to_f64();
            *xx += vx * vx * p0;
            *yy += p4.to_f64();
            *xy += vx * p1;
        }
    );
}

#[inline(always)]
fn add_internal<T: Real>(
    energy: &mut [f64],
    flux_x: &mut [f64],
    flux_y: &mut [f64],
    vx: f64,
    [p5, p6]: [&[T]; 2],
) {
    for_cells!(energy.len(), [p5, p6], [energy, flux_x, flux_y], {
        let p5 = p5.to_f64();
        *energy += p5;
        *flux_x += vx * p5;
        *flux_y += p6.to_f64();
    });
}
