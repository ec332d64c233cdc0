//! Sweeps on all cores of the CPU: eight velocities in the lanes of vector registers.
//!
//! The unit of work is a chunk of [`LANES`] velocities of one direction. It visits the cells in upwind order. Registers hold the
//! inflow of the next cell along x, a row of memory that along y. A task has a fixed range of chunks and sums of its own, which
//! are added in the order of the tasks, so the result does not depend on the number of threads.

#![allow(
    clippy::needless_range_loop,
    reason = "a lane index runs over several arrays at once, which the compiler makes vectors of"
)]

use rarefy_kernels::Real;
use rayon::prelude::*;

use super::engine::Sweeps;
use super::plan::{COEFFICIENTS, COMPONENTS, FUNCTIONS, INTERNAL, Plan, upward};
use super::sums::{Sums, Swept, flux, leaving};
use crate::error::Result;
use crate::maxwellian::lanes::{self, LANES, LaneReal, Lanes, fma};

/// Tasks that the chunks of one direction are divided into.
const TASKS: usize = 16;

/// Eight velocities of one direction.
struct Chunk<T> {
    group: usize,
    /// First node.
    node: usize,
    v: [Lanes<T>; 2],
    vz2: Lanes<T>,
    weight: Lanes<T>,
    /// |v| times 2 for the diamond closure, 1 for the upwind one.
    speed: [Lanes<T>; 2],
}

/// The multi-core path in one precision.
pub(super) struct CpuSweeps<T> {
    plan: Plan,
    chunks: Vec<Chunk<T>>,
    /// Ranges of chunks, each in one group.
    tasks: Vec<std::ops::Range<usize>>,
    inverse: [Vec<T>; 2],
}

/// Results of one task.
struct Found {
    sums: Vec<f64>,
    faces: Vec<f64>,
    /// Fluxes through the faces of a line.
    fluxes: Vec<[f64; flux::LEN]>,
    /// Outgoing molecules to be recorded: place in the vector of unknowns, and value.
    records: Vec<(usize, f64)>,
}

impl<T: LaneReal> CpuSweeps<T> {
    pub(super) fn new(plan: &Plan) -> Self {
        let factor = if plan.diamond { 2.0 } else { 1.0 };
        let mut chunks = Vec::new();
        let mut tasks = Vec::new();
        for group in 0..4 {
            let first = chunks.len();
            for node in (plan.groups[group]..plan.groups[group + 1]).step_by(LANES) {
                let part = |k: usize| -> Lanes<T> {
                    std::array::from_fn(|l| T::from_f64(plan.nodes[node + l][k]))
                };
                let v = [part(0), part(1)];
                chunks.push(Chunk {
                    group,
                    node,
                    v,
                    vz2: part(2),
                    weight: part(3),
                    speed: v.map(|v| v.map(|v| T::from_f64(factor) * v.abs())),
                });
            }
            let count = chunks.len() - first;
            let parts = TASKS.min(count);
            for k in 0..parts {
                tasks.push(first + k * count / parts..first + (k + 1) * count / parts);
            }
        }
        Self {
            inverse: plan
                .inverse
                .clone()
                .map(|inverse| inverse.into_iter().map(T::from_f64).collect()),
            plan: plan.clone(),
            chunks,
            tasks,
        }
    }

    fn sweep<const LINEAR: bool, const SHAKHOV: bool, const OUTPUT: bool, const F: usize>(
        &self,
        x: &[f64],
        y: &mut [f64],
    ) -> Swept {
        let plan = &self.plan;
        let coefficients = plan.coefficients(x);
        let coefficients: Vec<[T; COEFFICIENTS]> = coefficients
            .into_iter()
            .map(|c| c.map(T::from_f64))
            .collect();
        let components = if OUTPUT { 5 } else { plan.layout.components };
        let per_face = if OUTPUT { leaving::LEN } else { 1 };
        let found: Vec<Found> = self
            .tasks
            .par_iter()
            .map(|task| {
                let mut found = Found {
                    sums: vec![0.0; components * plan.layout.cells],
                    faces: vec![0.0; per_face * plan.layout.faces[4]],
                    fluxes: if OUTPUT { Vec::new() } else { plan.no_fluxes() },
                    records: Vec::new(),
                };
                for chunk in &self.chunks[task.clone()] {
                    let job = Job::<T, LINEAR, SHAKHOV, OUTPUT, F> {
                        sweeps: self,
                        chunk,
                        x,
                        coefficients: &coefficients,
                        found: &mut found,
                    };
                    lanes::on_widest(job);
                }
                found
            })
            .collect();
        let mut sums = vec![0.0; components * plan.layout.cells];
        sums.par_chunks_mut(4096).enumerate().for_each(|(k, part)| {
            for found in &found {
                for (sum, value) in part.iter_mut().zip(&found.sums[4096 * k..]) {
                    *sum += value;
                }
            }
        });
        let mut faces = vec![0.0; per_face * plan.layout.faces[4]];
        let mut fluxes = if OUTPUT { Vec::new() } else { plan.no_fluxes() };
        for found in &found {
            for (sums, values) in fluxes.iter_mut().zip(&found.fluxes) {
                for (sum, value) in sums.iter_mut().zip(values) {
                    *sum += value;
                }
            }
            for (sum, value) in faces.iter_mut().zip(&found.faces) {
                *sum += value;
            }
            for &(at, value) in &found.records {
                y[at] = value;
            }
        }
        // Cells first in memory while sweeping: [cell][component] becomes [component][cell].
        let cells = plan.layout.cells;
        let turned = (0..components * cells)
            .map(|at| sums[(at % cells) * components + at / cells])
            .collect();
        Swept {
            sums: turned,
            left: faces,
            fluxes,
            ..Swept::default()
        }
    }

    fn choose<const OUTPUT: bool>(&self, x: &[f64], y: &mut [f64]) -> Swept {
        let plan = &self.plan;
        match (plan.linear, plan.shakhov, plan.rotation.is_some()) {
            (false, false, _) => self.sweep::<false, false, OUTPUT, 2>(x, y),
            (false, true, false) => self.sweep::<false, true, OUTPUT, 2>(x, y),
            (false, true, true) => self.sweep::<false, true, OUTPUT, FUNCTIONS>(x, y),
            (true, false, _) => self.sweep::<true, false, OUTPUT, 2>(x, y),
            (true, true, false) => self.sweep::<true, true, OUTPUT, 2>(x, y),
            (true, true, true) => self.sweep::<true, true, OUTPUT, FUNCTIONS>(x, y),
        }
    }
}

impl<T: LaneReal> Sweeps for CpuSweeps<T> {
    fn iterate(&mut self, x: &[f64], y: &mut [f64]) -> Result<Swept> {
        Ok(self.choose::<false>(x, y))
    }

    fn unit(&self) -> f64 {
        T::EPSILON.to_f64()
    }

    fn output(&mut self, x: &[f64]) -> Result<Sums> {
        let mut unused = vec![0.0; x.len()];
        let swept = self.choose::<true>(x, &mut unused);
        Ok(Sums {
            cells: swept.sums,
            faces: swept.left,
        })
    }
}

/// One chunk to be swept, with `F` functions of a node: internal energy is the third.
struct Job<'a, T, const LINEAR: bool, const SHAKHOV: bool, const OUTPUT: bool, const F: usize> {
    sweeps: &'a CpuSweeps<T>,
    chunk: &'a Chunk<T>,
    x: &'a [f64],
    coefficients: &'a [[T; COEFFICIENTS]],
    found: &'a mut Found,
}

impl<T: LaneReal, const LINEAR: bool, const SHAKHOV: bool, const OUTPUT: bool, const F: usize>
    lanes::Job for Job<'_, T, LINEAR, SHAKHOV, OUTPUT, F>
{
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let Self {
            sweeps,
            chunk,
            x,
            coefficients,
            found,
        } = self;
        let plan = &sweeps.plan;
        let (nx, ny) = (plan.nx, plan.ny);
        let components = if OUTPUT { 5 } else { plan.layout.components };
        let [east, north] = [0, 1].map(|d| upward(chunk.group, d));
        let plane = plan.dimensions == 2;
        let incoming = |side: usize, face: usize| -> [Lanes<T>; F] {
            let mut lanes = [[T::ZERO; LANES]; F];
            for l in 0..LANES {
                let values = plan.incoming(x, side, face, chunk.node + l);
                for k in 0..F {
                    lanes[k][l] = T::from_f64(values[k]);
                }
            }
            lanes
        };
        let mut along_y = vec![[[T::ZERO; LANES]; F]; nx];
        if plane {
            for (face, f) in along_y.iter_mut().enumerate() {
                *f = incoming(if north { 2 } else { 3 }, face);
            }
        }
        let half_k = T::from_f64(0.5 * plan.internal);
        let [vx, vy] = chunk.v;
        let mut square = [T::ZERO; LANES];
        for l in 0..LANES {
            square[l] = fma::<T, FUSED>(vx[l], vx[l], fma::<T, FUSED>(vy[l], vy[l], chunk.vz2[l]));
        }
        for step in 0..ny {
            let row = if north { step } else { ny - 1 - step };
            let mut along_x = incoming(if east { 0 } else { 1 }, row);
            pass::<T, FUSED, F>(chunk, &square, found, if east { 0 } else { nx }, &along_x);
            let mut by = [T::ZERO; LANES];
            if plane {
                for l in 0..LANES {
                    by[l] = chunk.speed[1][l] * sweeps.inverse[1][row];
                }
            }
            for step in 0..nx {
                let column = if east { step } else { nx - 1 - step };
                let cell = row * nx + column;
                let c = &coefficients[cell];
                let local = equilibrium::<T, LINEAR, SHAKHOV, FUSED, F>(chunk, &square, half_k, c);
                let mut bx = [T::ZERO; LANES];
                for l in 0..LANES {
                    bx[l] = chunk.speed[0][l] * sweeps.inverse[0][column];
                }
                let beside = [&mut along_x, &mut along_y[column]];
                let f = balance::<T, FUSED, F>(c[6], &local.s, [&bx, &by], beside, plan.diamond);
                let terms = if OUTPUT {
                    stresses::<T, LINEAR, FUSED, F>(chunk, &local, &f)
                } else {
                    defects::<T, LINEAR, SHAKHOV, FUSED, F>(chunk, &square, &local, &f)
                };
                let sums = &mut found.sums[cell * components..][..components];
                for (sum, term) in sums.iter_mut().zip(&terms) {
                    *sum += total(term).to_f64();
                }
                pass::<T, FUSED, F>(chunk, &square, found, column + usize::from(east), &along_x);
            }
            leave::<T, OUTPUT, F>(plan, chunk, found, if east { 1 } else { 0 }, row, &along_x);
        }
        if plane {
            let side = if north { 3 } else { 2 };
            for (face, f) in along_y.iter().enumerate() {
                leave::<T, OUTPUT, F>(plan, chunk, found, side, face, f);
            }
        }
    }
}

/// The local equilibrium of a cell at the velocities of a chunk, and these velocities relative to the gas; linearised, to rest.
struct Local<T, const F: usize> {
    s: [Lanes<T>; F],
    c: [Lanes<T>; 2],
    square: Lanes<T>,
}

/// The local equilibrium that the coefficients `c` of a cell describe.
#[inline(always)]
fn equilibrium<
    T: LaneReal,
    const LINEAR: bool,
    const SHAKHOV: bool,
    const FUSED: bool,
    const F: usize,
>(
    chunk: &Chunk<T>,
    square: &Lanes<T>,
    half_k: T,
    c: &[T; COEFFICIENTS],
) -> Local<T, F> {
    let [shift1, shift2] = [2.5, 1.5].map(|s| half_k + T::from_f64(-s));
    let [vx, vy] = chunk.v;
    let vz2 = chunk.vz2;
    let mut s = [[T::ZERO; LANES]; F];
    let (mut cx, mut cy) = (vx, vy);
    let mut c2 = *square;
    if LINEAR {
        for l in 0..LANES {
            let drift = fma::<T, FUSED>(c[1], vx[l], c[2] * vy[l]);
            let first = fma::<T, FUSED>(c[3], square[l] + shift2, c[0] + drift);
            let mut k = T::ZERO;
            if SHAKHOV {
                k = fma::<T, FUSED>(c[4], vx[l], c[5] * vy[l]);
            }
            s[0][l] = fma::<T, FUSED>(k, square[l] + shift1, first);
            s[1][l] = half_k * (s[0][l] + c[3] + k);
            if F == FUNCTIONS {
                let along = fma::<T, FUSED>(c[10], vy[l], c[8]);
                s[F - 1][l] = fma::<T, FUSED>(c[9], vx[l], along);
            }
        }
    } else {
        let mut xi = [T::ZERO; LANES];
        let mut minus = [T::ZERO; LANES];
        for l in 0..LANES {
            cx[l] = vx[l] - c[1];
            cy[l] = vy[l] - c[2];
            c2[l] = fma::<T, FUSED>(cx[l], cx[l], fma::<T, FUSED>(cy[l], cy[l], vz2[l]));
            xi[l] = c2[l] * c[3];
            minus[l] = -xi[l];
        }
        let g = T::exp_lanes::<FUSED>(minus);
        for l in 0..LANES {
            let g = g[l] * c[0];
            if SHAKHOV {
                let k = fma::<T, FUSED>(c[4], cx[l], c[5] * cy[l]);
                s[0][l] = fma::<T, FUSED>(g, k * (xi[l] + shift1), g);
                s[1][l] = c[7] * fma::<T, FUSED>(g, k * (xi[l] + shift2), g);
            } else {
                s[0][l] = g;
                s[1][l] = c[7] * g;
            }
            if F == FUNCTIONS {
                let drift = fma::<T, FUSED>(c[9], cx[l], c[10] * cy[l]);
                s[F - 1][l] = fma::<T, FUSED>(c[8], s[0][l], drift * g);
            }
        }
    }
    Local {
        s,
        c: [cx, cy],
        square: c2,
    }
}

/// The means of a cell by its balance, `f = (nu S + sum b f_in) / (nu + sum b)`. The inflows along x and y become the outflows.
#[inline(always)]
fn balance<T: Real, const FUSED: bool, const F: usize>(
    nu: T,
    s: &[Lanes<T>; F],
    [bx, by]: [&Lanes<T>; 2],
    [along_x, along_y]: [&mut [Lanes<T>; F]; 2],
    diamond: bool,
) -> [Lanes<T>; F] {
    let from_below = *along_y;
    let mut means = [[T::ZERO; LANES]; F];
    let mut onward = [[T::ZERO; LANES]; F];
    for l in 0..LANES {
        let inverse = T::ONE / (nu + bx[l] + by[l]);
        for k in 0..F {
            let inflow = fma::<T, FUSED>(bx[l], along_x[k][l], by[l] * from_below[k][l]);
            let f = fma::<T, FUSED>(nu, s[k][l], inflow) * inverse;
            means[k][l] = f;
            if diamond {
                onward[k][l] = f + f - from_below[k][l];
                along_x[k][l] = f + f - along_x[k][l];
            } else {
                onward[k][l] = f;
                along_x[k][l] = f;
            }
        }
    }
    *along_y = onward;
    means
}

/// Terms of the sums of an iteration, `(f - S) (1, v_x, v_y, |v|^2)`, with the Shakhov model of the heat flux, and those of internal energy.
#[inline(always)]
fn defects<T: Real, const LINEAR: bool, const SHAKHOV: bool, const FUSED: bool, const F: usize>(
    chunk: &Chunk<T>,
    square: &Lanes<T>,
    local: &Local<T, F>,
    f: &[Lanes<T>; F],
) -> [Lanes<T>; COMPONENTS] {
    let ([vx, vy], weight) = (&chunk.v, &chunk.weight);
    let (s, [cx, cy]) = (&local.s, &local.c);
    let mut terms = [[T::ZERO; LANES]; COMPONENTS];
    for l in 0..LANES {
        let d1 = weight[l] * (f[0][l] - s[0][l]);
        let d2 = weight[l] * (f[1][l] - s[1][l]);
        terms[0][l] = d1;
        terms[1][l] = d1 * vx[l];
        terms[2][l] = d1 * vy[l];
        terms[3][l] = fma::<T, FUSED>(d1, square[l], d2);
        if SHAKHOV {
            let energy = heat::<T, LINEAR, FUSED>(weight[l], f[0][l], f[1][l], local.square[l]);
            terms[4][l] = energy * cx[l];
            terms[5][l] = energy * cy[l];
        }
        if F == FUNCTIONS {
            let e = f[F - 1][l];
            let energy = T::from_f64(0.5) * weight[l] * e;
            terms[INTERNAL][l] = weight[l] * (e - s[F - 1][l]);
            terms[INTERNAL + 1][l] = energy * cx[l];
            terms[INTERNAL + 2][l] = energy * cy[l];
        }
    }
    terms
}

/// Terms of P_xx, P_xy, P_yy, q_x and q_y.
#[inline(always)]
fn stresses<T: Real, const LINEAR: bool, const FUSED: bool, const F: usize>(
    chunk: &Chunk<T>,
    local: &Local<T, F>,
    f: &[Lanes<T>; F],
) -> [Lanes<T>; COMPONENTS] {
    let (weight, [cx, cy]) = (&chunk.weight, &local.c);
    let mut terms = [[T::ZERO; LANES]; COMPONENTS];
    for l in 0..LANES {
        let wf = weight[l] * f[0][l];
        let wx = wf * cx[l];
        terms[0][l] = wx * cx[l];
        terms[1][l] = wx * cy[l];
        terms[2][l] = wf * cy[l] * cy[l];
        let energy = heat::<T, LINEAR, FUSED>(weight[l], f[0][l], f[1][l], local.square[l]);
        terms[3][l] = energy * cx[l];
        terms[4][l] = energy * cy[l];
    }
    terms
}

/// A node's share of the heat flux but for the velocity: w (|c|^2 f_1 + f_2) / 2, in the linear case without the enthalpy that the mean
/// velocity carries.
#[inline(always)]
fn heat<T: Real, const LINEAR: bool, const FUSED: bool>(weight: T, f1: T, f2: T, c2: T) -> T {
    let half = T::from_f64(0.5);
    let square = if LINEAR { c2 + T::from_f64(-2.5) } else { c2 };
    half * weight * fma::<T, FUSED>(square, f1, f2)
}

/// The sum of the lanes, in a fixed order.
#[inline(always)]
fn total<T: Real>(lanes: &Lanes<T>) -> T {
    let mut four = [T::ZERO; 4];
    for l in 0..4 {
        four[l] = lanes[l] + lanes[l + 4];
    }
    (four[0] + four[2]) + (four[1] + four[3])
}

/// Adds up what passes a face of a line; on a rectangle there are no such sums.
#[inline(always)]
fn pass<T: Real, const FUSED: bool, const F: usize>(
    chunk: &Chunk<T>,
    square: &Lanes<T>,
    found: &mut Found,
    face: usize,
    f: &[Lanes<T>; F],
) {
    let Some(sums) = found.fluxes.get_mut(face) else {
        return;
    };
    let [vx, vy] = &chunk.v;
    let half = T::from_f64(0.5);
    let mut terms = [[T::ZERO; LANES]; flux::LEN];
    for l in 0..LANES {
        let speed = chunk.weight[l] * vx[l];
        let first = speed * f[0][l];
        terms[flux::MASS][l] = first;
        terms[flux::MOMENTUM][l] = first * vx[l];
        terms[flux::SHEAR][l] = first * vy[l];
        terms[flux::ENERGY][l] = half * fma::<T, FUSED>(first, square[l], speed * f[1][l]);
        if F == FUNCTIONS {
            terms[flux::INTERNAL][l] = half * speed * f[F - 1][l];
        }
    }
    let terms = &terms[..flux::LEN - usize::from(F < FUNCTIONS)];
    for (sum, term) in sums.iter_mut().zip(terms) {
        *sum += total(term).to_f64();
    }
}

/// Adds up, and where that is needed records, what leaves through a face.
#[inline(always)]
fn leave<T: Real, const OUTPUT: bool, const F: usize>(
    plan: &Plan,
    chunk: &Chunk<T>,
    found: &mut Found,
    side: usize,
    face: usize,
    f: &[Lanes<T>; F],
) {
    let per_face = if OUTPUT { leaving::LEN } else { 1 };
    let sums = &mut found.faces[(plan.layout.faces[side] + face) * per_face..][..per_face];
    for l in 0..LANES {
        let node = chunk.node + l;
        if OUTPUT {
            let mut functions = [0.0; FUNCTIONS];
            for k in 0..F {
                functions[k] = f[k][l].to_f64();
            }
            plan.add_leaving(sums, side, node, functions);
        } else {
            let [vx, vy, _, weight] = plan.nodes[node];
            let normal = if side < 2 { vx } else { vy };
            sums[leaving::MASS] += weight * f[0][l].to_f64() * normal.abs();
        }
    }
    if !OUTPUT && let Some(offset) = plan.record(side) {
        let count = plan.layout.faces[side + 1] - plan.layout.faces[side];
        for (k, f) in f.iter().enumerate() {
            for (l, value) in f.iter().enumerate() {
                let at = offset + (k * count + face) * plan.nodes.len() + chunk.node + l;
                found.records.push((at, value.to_f64()));
            }
        }
    }
}
