//! The pass over a line of molecules that rotate: three functions of each velocity at once.

use super::super::equilibrium::Drift;
use super::super::layout::{FUNCTIONS, FlowShape, PASS_SUMS_ROTATING, axis, ceiling, split};
use super::super::sweep::block;
use super::{Pass, Walk, line_groups, line_tiles, line_width};
use crate::Pack;
use crate::math::Real;
use crate::simt::{Simt, WARP};

impl<S: Simt, T: Real> Pass<'_, S, T> {
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[track_caller]
    pub(crate) fn rotating_line<const SLOPED: bool>(&self) {
        let shape = self.shape;
        let tiles = line_tiles(shape.nx, size_of::<T>(), SLOPED);
        let (chunk, tile) = split(block(self.t, self.reversed), tiles);
        let (jx, part) = split(chunk, ceiling(line_groups(shape), self.groups));
        if jx >= shape.count_x {
            return;
        }
        let forward = self.forward(jx);
        let place = [chunk, tile, jx, part];
        // Decided at compile time, so that no other width is compiled.
        if const { line_width(size_of::<T>()) == 4 } {
            if forward {
                self.rotating::<SLOPED, true, 4>(place);
            } else {
                self.rotating::<SLOPED, false, 4>(place);
            }
        } else if forward {
            self.rotating::<SLOPED, true, 2>(place);
        } else {
            self.rotating::<SLOPED, false, 2>(place);
        }
    }

    /// The velocities of a block on one tile; a group is one v_y.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[track_caller]
    fn rotating<const SLOPED: bool, const FORWARD: bool, const W: usize>(
        &self,
        [chunk, tile, jx, part]: [u32; 4],
    ) {
        let mut walk = Walk::<S, T, W>::new::<SLOPED, true, FORWARD>(self, tile, jx);
        let drift = walk.drift();
        let (mut jy, end) = self.share(part, line_groups(self.shape));
        let step = self.t.warps();
        if jy < end {
            let mut ahead = walk.load::<FUNCTIONS, true>(jy, 0);
            while jy < end {
                let (f, here) = (ahead, jy);
                jy += step;
                if jy < end {
                    ahead = walk.load::<FUNCTIONS, true>(jy, 0);
                }
                if jy + step < end {
                    walk.prefetch_ahead(FUNCTIONS as u32, jy + step, 0);
                }
                walk.functions::<SLOPED, FORWARD>(&drift, here, f);
            }
        }
        self.sum_line(&walk, chunk, PASS_SUMS_ROTATING);
    }
}

impl<S: Simt, T: Real, const W: usize> Walk<'_, '_, S, T, W> {
    /// The flux of the internal energy at the sources of the cells.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[track_caller]
    fn drift(&self) -> Drift<T, W> {
        let Pass {
            t,
            tables,
            axes,
            shape,
            ..
        } = *self.pass;
        let velocity = |jx: u32| axes.get(t, (shape.axis_x(jx) + axis::VELOCITY) as usize);
        let vx = Pack::from_fn(|k| velocity(self.cells.table_node(k, self.jx, shape)));
        let rows = |row: u32| {
            let [values] = self.table(tables, |_| row);
            values
        };
        Drift::of(shape.row_internal(), rows, vx)
    }

    /// Relaxes, shifts, writes and sums the functions g, h and E of one v_y.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[track_caller]
    fn functions<const SLOPED: bool, const FORWARD: bool>(
        &mut self,
        drift: &Drift<T, W>,
        jy: u32,
        f: [Pack<T, W>; FUNCTIONS],
    ) {
        let Pass {
            t,
            next,
            tables,
            axes,
            shape,
            ..
        } = *self.pass;
        let vy = axes.get(t, (shape.axis_y(jy) + axis::VELOCITY) as usize);
        let of_h = axes.get(t, (shape.axis_m(1) + axis::FRACTION) as usize);
        let [y, internal] = self.table(tables, |k| match k {
            0 => shape.row_y() + jy,
            _ => shape.row_m() + 2,
        });
        let maxwellian = self.x * y;
        // The equilibrium of g and its growth with the unresolved |c|^2, of which g and E have one share and h another.
        let (mut of_g, mut slope) = (maxwellian, Pack::ZERO);
        if let Some(heat) = &self.heat {
            let (alpha, beta) = heat.at(vy);
            slope = beta * maxwellian * self.unresolved;
            of_g = alpha.mul_add(maxwellian, slope);
        }
        let of_h = slope.mul_add(of_h - T::ONE, of_g) * self.unresolved;
        let of_e = internal.mul_add(of_g, drift.at(vy) * maxwellian);
        let to = self.to(jy);
        let mut streamed = [Pack::ZERO; FUNCTIONS];
        for (k, share) in [of_g, of_h, of_e].into_iter().enumerate() {
            let post = self.decay.mul_add(f[k], share);
            let (a, c) = (self.fraction, self.rest);
            let z = if FORWARD {
                self.cells.shift::<S, T, SLOPED, 1>(t, post, a, c, true)
            } else {
                self.cells.shift::<S, T, SLOPED, -1>(t, post, a, c, false)
            };
            if self.cells.owns {
                next.set_run(t, (to + k as u32 * WARP) as usize, z.0);
            }
            streamed[k] = z;
        }
        let [g, h, e] = streamed;
        let rest = g.mul_add(vy * vy, h);
        self.sums[0] += g;
        self.sums[1] = g.mul_add(vy, self.sums[1]);
        self.sums[2] += rest;
        self.sums[3] = rest.mul_add(vy, self.sums[3]);
        self.sums[4] = g.mul_add(vy * vy, self.sums[4]);
        self.sums[5] += e;
        self.sums[6] = e.mul_add(vy, self.sums[6]);
    }

    /// Where the own cells' functions of a v_y begin.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn to(&self, jy: u32) -> u32 {
        let shape: &FlowShape = self.pass.shape;
        self.base(self.jx, jy, 0) + shape.in_row(self.cells.own_cell())
    }
}
