//! The pass over a chunk of nodes.

use rarefy_kernels::Real;

use super::super::equilibrium::{Relaxation, sum};
use super::faces::Face;
use super::rows::{RowShift, gather, passing, relax, relax_shakhov, settle};
use super::stored::{Known, Rounding, Stored};
use super::{Layout, Tables};

/// What all chunks of a step share.
pub(super) struct Step<'a, T> {
    pub(super) layout: &'a Layout<T>,
    pub(super) tables: &'a Tables<T>,
    /// The tables of the step before, the scales of the nodes, and the random bits of the step, for populations that deviate from the former.
    pub(super) before: &'a Tables<T>,
    pub(super) scales: &'a [[T; 2]],
    pub(super) seed: u32,
    /// Shakhov's polynomial of each cell, with the Maxwellian's share in its constant, and the mean velocity:
    /// `p_0, p_x, p_y, q_0, q_x, q_y, u_x, u_y`.
    pub(super) heat: &'a [[T; 8]],
}

/// The Shakhov model's polynomials of all cells.
pub(super) fn heat_terms<T: Real>(relaxations: &[Relaxation]) -> Vec<[T; 8]> {
    relaxations
        .iter()
        .map(|r| {
            let (heat, [ux, uy]) = (r.heat, r.maxwellian.state.velocity);
            let [px, py] = heat.linear;
            let [qx, qy] = heat.cubic;
            [r.give + heat.constant, px, py, heat.square, qx, qy, ux, uy].map(T::from_f64)
        })
        .collect()
}

impl<T: Real> Step<'_, T> {
    /// The factor of the Maxwellian at one cell for the pair (j_x, j_y), as `alpha + beta s` with s for the unresolved part of |c|^2.
    #[inline(always)]
    fn heat_factor(&self, cell: usize, vx: T, vy: T) -> (T, T) {
        let [p0, px, py, q0, qx, qy, ux, uy] = self.heat[cell];
        let (cx, cy) = (vx - ux, vy - uy);
        let beta = q0 + qx * cx + qy * cy;
        (p0 + px * cx + py * cy + beta * (cx * cx + cy * cy), beta)
    }

    /// What multiplies [`Layout::heat_argument`] in a row of cells: 1, or the table of h.
    #[inline(always)]
    fn unresolved(&self, cell: usize) -> T {
        if self.layout.problem.velocity.is_reduced() {
            self.tables.inner[self.layout.cells() + cell]
        } else {
            T::ONE
        }
    }

    /// The relaxed population of one node and cell.
    pub(super) fn relaxed<P: Stored<T>>(&self, f: &[P], node: usize, cell: usize) -> T {
        let (layout, tables, cells) = (self.layout, self.tables, self.layout.cells());
        let n = &layout.nodes[node];
        let m = tables.x[n.jx * cells + cell]
            * tables.y[n.jy * cells + cell]
            * tables.inner[n.m * cells + cell];
        let share = if layout.shakhov {
            let (alpha, beta) = self.heat_factor(cell, T::from_f64(n.v[0]), T::from_f64(n.v[1]));
            alpha + beta * self.unresolved(cell) * layout.heat_argument[n.m]
        } else if P::DEVIATIONS {
            tables.give[cell]
        } else {
            T::ONE
        };
        let f = f[node * cells + cell].value(|| {
            let maxwellian = self.before.maxwellian([n.jx, n.jy, n.m], cells, cell);
            (maxwellian, self.scales[node])
        });
        tables.keep[cell] * f + m * share
    }

    /// What the populations of a node deviate from in the step before (0) or in this one (1), given the product of its factors along x and y.
    #[inline(always)]
    fn known<'a, P: Stored<T>>(
        &'a self,
        product: &'a [T],
        now: usize,
        node: usize,
        m: usize,
    ) -> Known<'a, T> {
        if !P::DEVIATIONS {
            return Known {
                product: &[],
                inner: &[],
                scale: [T::ONE; 2],
            };
        }
        let cells = self.layout.cells();
        let tables = [self.before, self.tables][now];
        Known {
            product,
            inner: &tables.inner[m * cells..][..cells],
            scale: self.scales[node],
        }
    }

    /// Where the random numbers of a node are found.
    #[inline(always)]
    fn rounding(&self, node: usize) -> Rounding {
        let Layout { nx, ny, .. } = *self.layout;
        let nodes = self.layout.problem.velocity.shape()[2];
        let (pair, m) = (node / nodes, node % nodes);
        // Rows of a GPU are whole warps long.
        let distance = nx.next_multiple_of(32) / 2 * nodes;
        Rounding {
            seed: self.seed,
            first: (pair * distance * ny + m * 32 / 2) as u32,
            distance: distance as u32,
            nodes: nodes as u32,
            nx,
        }
    }

    /// The shift along x of a pair's rows.
    pub(super) fn shift_x(&self, jx: usize, faces: &[Face<T>]) -> RowShift<T> {
        let layout = self.layout;
        let courant = layout.courant[0][jx];
        RowShift {
            n: layout.nx,
            pad: layout.pad[0],
            forward: layout.problem.velocity.x().nodes()[jx] > 0.0,
            whole: courant.whole,
            fraction: T::from_f64(courant.fraction),
            sloped: [layout.sloped(), faces[0].sloped(), faces[1].sloped()],
        }
    }
}

/// Compiles a function for the vector units that a processor may have, and calls the best.
macro_rules! vectorised {
    ($(#[$doc:meta])* pub(super) fn $name:ident<$T:ident: Real $(, $P:ident: $bound:path)?>($($arg:ident: $type:ty),* $(,)?) $body:block) => {
        $(#[$doc])*
        pub(super) fn $name<$T: Real $(, $P: $bound)?>($($arg: $type),*) {
            #[inline(always)]
            fn body<$T: Real $(, $P: $bound)?>($($arg: $type),*) $body
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")]
                fn widest<$T: Real $(, $P: $bound)?>($($arg: $type),*) {
                    body($($arg),*);
                }
                #[target_feature(enable = "avx2,fma")]
                fn wide<$T: Real $(, $P: $bound)?>($($arg: $type),*) {
                    body($($arg),*);
                }
                if is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512vl")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("fma")
                {
                    // SAFETY: the processor has the features.
                    return unsafe { widest($($arg),*) };
                }
                if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                    // SAFETY: the processor has the features.
                    return unsafe { wide($($arg),*) };
                }
            }
            body($($arg),*);
        }
    };
}

vectorised! {
    /// Relaxes, shifts and sums the populations of the pairs from `first` on, in place.
    pub(super) fn run_chunk<T: Real, P: Stored<T>>(
        step: &Step<'_, T>,
        first: usize,
        f: &mut [P],
        faces: &[Vec<Face<T>>; 2],
        sums: &mut [T],
    ) {
        let layout = step.layout;
        let (nx, ny, cells) = (layout.nx, layout.ny, layout.cells());
        let [_, count_y, count_m] = layout.shape;
        let two = layout.problem.space.dimensions() == 2;
        let [pad_x, pad_y] = layout.pad;
        let mut row = vec![T::ZERO; nx + 2 * pad_x];
        let mut passes = vec![T::ZERO; nx + 1];
        let mut plane = vec![T::ZERO; if two { nx * (ny + 2 * pad_y) } else { 0 }];
        let mut entering = vec![T::ZERO; nx];
        let mut leaving = vec![T::ZERO; nx];
        let mut products = vec![T::ZERO; cells];
        let mut factors = [vec![T::ZERO; cells], vec![T::ZERO; cells]];
        // Of populations that deviate: their values, and products of factors of what they deviate from, in this step and the one before.
        let deviating = if P::DEVIATIONS { cells } else { 0 };
        let mut values = vec![T::ZERO; deviating];
        let mut plain = [vec![T::ZERO; deviating], vec![T::ZERO; deviating]];
        sums.fill(T::ZERO);
        for (offset, block) in f.chunks_exact_mut(count_m * cells).enumerate() {
            let pair = first + offset;
            let (jx, jy) = (pair / count_y, pair % count_y);
            let v = layout.nodes[pair * count_m].v;
            let (x, y) = (&step.tables.x[jx * cells..][..cells], &step.tables.y[jy * cells..][..cells]);
            for i in 0..cells {
                products[i] = x[i] * y[i];
            }
            if P::DEVIATIONS {
                let [before, now] = &mut plain;
                step.before.multiply(jx, jy, before);
                now.copy_from_slice(&products);
                if !layout.shakhov {
                    for (product, give) in products.iter_mut().zip(&step.tables.give) {
                        *product *= *give;
                    }
                }
            }
            if layout.shakhov {
                let (vx, vy) = (T::from_f64(v[0]), T::from_f64(v[1]));
                let [alpha, beta] = &mut factors;
                for i in 0..cells {
                    (alpha[i], beta[i]) = step.heat_factor(i, vx, vy);
                    beta[i] *= step.unresolved(i);
                }
            }
            let along_x = step.shift_x(jx, &faces[0]);
            for (m, stored) in block.chunks_exact_mut(cells).enumerate() {
                let node = pair * count_m + m;
                let table = &step.tables.inner[m * cells..][..cells];
                let known = |now: usize| step.known::<P>(&plain[now], now, node, m);
                let f = P::open(stored, &mut values, known(0));
                let weights = layout.pass_weights(jy, m);
                for iy in 0..ny {
                    let here = iy * nx..(iy + 1) * nx;
                    let inside = &mut row[pad_x..pad_x + nx];
                    let (keep, p, t) = (&step.tables.keep[here.clone()], &products[here.clone()], &table[here.clone()]);
                    if layout.shakhov {
                        let (alpha, beta) = (&factors[0][here.clone()], &factors[1][here.clone()]);
                        relax_shakhov(inside, &f[here.clone()], keep, p, t, alpha, beta, layout.heat_argument[m]);
                    } else {
                        relax(inside, &f[here.clone()], keep, p, t);
                    }
                    for (side, face) in faces[0].iter().enumerate() {
                        face.fill(layout, node, iy, side, &mut row);
                    }
                    if two {
                        let out = &mut plane[(pad_y + iy) * nx..][..nx];
                        along_x.run(&row, &mut passes, out);
                    } else {
                        along_x.run(&row, &mut passes, &mut f[here.clone()]);
                        gather(sums, 0, cells, f, weights);
                    }
                }
                if two {
                    for (side, face) in faces[1].iter().enumerate() {
                        face.fill_rows(layout, node, side, &mut plane);
                    }
                    let scratch = [&mut entering, &mut leaving];
                    shift_y(layout, jy, &faces[1], &plane, scratch, f, |iy, f| {
                        gather(sums, iy * nx, cells, f, weights);
                    });
                }
                if P::DEVIATIONS {
                    P::close(stored, &values, known(1), step.rounding(node));
                }
            }
        }
    }
}

vectorised! {
    /// Sums the populations of the pairs from `first` on as they are.
    pub(super) fn sum_chunk<T: Real>(layout: &Layout<T>, first: usize, f: &mut [T], sums: &mut [T]) {
        let cells = layout.cells();
        let [_, count_y, count_m] = layout.shape;
        sums.fill(T::ZERO);
        for (offset, block) in f.chunks_exact(count_m * cells).enumerate() {
            let jy = (first + offset) % count_y;
            for (m, f) in block.chunks_exact(cells).enumerate() {
                gather(sums, 0, cells, f, layout.pass_weights(jy, m));
            }
        }
    }
}

/// Adds what chunks left in the cells from `first` on to the sums of all nodes, rows of `len` cells.
pub(super) fn add_chunks<T: Real>(
    layout: &Layout<T>,
    partial: &[Vec<T>],
    first: usize,
    len: usize,
) -> Vec<f64> {
    let cells = layout.cells();
    let mut sums = vec![0.0; layout.sums * len];
    for (chunk, partial) in partial.iter().enumerate() {
        let vx = layout.velocity_of(chunk);
        let part = |k: usize| &partial[k * cells + first..][..len];
        let mut add = |row: usize, k: usize, factor: f64| {
            for (sum, part) in sums[row * len..][..len].iter_mut().zip(part(k)) {
                *sum += factor * part.to_f64();
            }
        };
        add(sum::DENSITY, 0, 1.0);
        add(sum::MOMENTUM, 0, vx);
        add(sum::MOMENTUM + 1, 1, 1.0);
        add(sum::ENERGY, 0, vx * vx);
        add(sum::ENERGY, 2, 1.0);
        if layout.shakhov {
            add(sum::FLUX, 0, vx * vx * vx);
            add(sum::FLUX, 2, vx);
            add(sum::FLUX + 1, 1, vx * vx);
            add(sum::FLUX + 1, 3, 1.0);
            add(sum::STRESS, 0, vx * vx);
            add(sum::STRESS + 1, 4, 1.0);
            add(sum::STRESS + 2, 1, vx);
        }
    }
    sums
}

/// Shifts a plane of rows along y into `f`, downstream row by row, each of which `sum` sees.
#[inline(always)]
fn shift_y<T: Real>(
    layout: &Layout<T>,
    jy: usize,
    faces: &[Face<T>],
    plane: &[T],
    scratch: [&mut Vec<T>; 2],
    f: &mut [T],
    mut sum: impl FnMut(usize, &[T]),
) {
    let (nx, ny, pad) = (layout.nx, layout.ny, layout.pad[1]);
    let courant = layout.courant[1][jy];
    let a = T::from_f64(courant.fraction);
    let forward = layout.problem.velocity.y_nodes()[jy] > 0.0;
    let [entering, leaving] = scratch;
    let row = |q: usize| &plane[q * nx..][..nx];
    let pass = |q: usize, out: &mut Vec<T>| {
        let (up, down) = if forward {
            (q - 1, q + 1)
        } else {
            (q + 1, q - 1)
        };
        let sloped = layout.sloped()
            && (q >= pad || faces[0].sloped())
            && (q < pad + ny || faces[1].sloped());
        passing(out, row(q), row(up), row(down), a, sloped);
    };
    // Rows in the order in which molecules meet them.
    for k in 0..ny {
        let (i, q) = if forward {
            (k, pad + k - courant.whole)
        } else {
            (ny - 1 - k, pad + ny - 1 - k + courant.whole)
        };
        if k == 0 {
            pass(if forward { q - 1 } else { q + 1 }, entering);
        }
        pass(q, leaving);
        let out = &mut f[i * nx..][..nx];
        settle(out, row(q), leaving, entering);
        sum(i, out);
        std::mem::swap(entering, leaving);
    }
}
