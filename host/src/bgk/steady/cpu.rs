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
use super::plan::{COEFFICIENTS, Plan, upward};
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
    /// Outgoing molecules to be recorded: offset in the vector of unknowns and both functions of a node.
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

    fn sweep<const LINEAR: bool, const SHAKHOV: bool, const OUTPUT: bool>(
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
                    let job = Job::<T, LINEAR, SHAKHOV, OUTPUT> {
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
        match (self.plan.linear, self.plan.shakhov) {
            (false, false) => self.sweep::<false, false, OUTPUT>(x, y),
            (false, true) => self.sweep::<false, true, OUTPUT>(x, y),
            (true, false) => self.sweep::<true, false, OUTPUT>(x, y),
            (true, true) => self.sweep::<true, true, OUTPUT>(x, y),
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
            internal: None,
        })
    }
}

/// One chunk to be swept.
struct Job<'a, T, const LINEAR: bool, const SHAKHOV: bool, const OUTPUT: bool> {
    sweeps: &'a CpuSweeps<T>,
    chunk: &'a Chunk<T>,
    x: &'a [f64],
    coefficients: &'a [[T; COEFFICIENTS]],
    found: &'a mut Found,
}

impl<T: LaneReal, const LINEAR: bool, const SHAKHOV: bool, const OUTPUT: bool> lanes::Job
    for Job<'_, T, LINEAR, SHAKHOV, OUTPUT>
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
        let incoming = |side: usize, face: usize| -> [Lanes<T>; 2] {
            let mut lanes = [[T::ZERO; LANES]; 2];
            for l in 0..LANES {
                let values = plan.incoming(x, side, face, chunk.node + l);
                lanes[0][l] = T::from_f64(values[0]);
                lanes[1][l] = T::from_f64(values[1]);
            }
            lanes
        };
        let mut along_y = vec![[[T::ZERO; LANES]; 2]; nx];
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
            pass::<T, FUSED>(chunk, &square, found, if east { 0 } else { nx }, &along_x);
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
                let local = equilibrium::<T, LINEAR, SHAKHOV, FUSED>(chunk, &square, half_k, c);
                let mut bx = [T::ZERO; LANES];
                for l in 0..LANES {
                    bx[l] = chunk.speed[0][l] * sweeps.inverse[0][column];
                }
                let beside = [&mut along_x, &mut along_y[column]];
                let f = balance::<T, FUSED>(c[6], &local.s, [&bx, &by], beside, plan.diamond);
                let terms = if OUTPUT {
                    stresses::<T, LINEAR, FUSED>(chunk, &local, &f)
                } else {
                    defects::<T, LINEAR, SHAKHOV, FUSED>(chunk, &square, &local, &f)
                };
                let sums = &mut found.sums[cell * components..][..components];
                for (sum, term) in sums.iter_mut().zip(&terms) {
                    *sum += total(term).to_f64();
                }
                pass::<T, FUSED>(chunk, &square, found, column + usize::from(east), &along_x);
            }
            leave::<T, OUTPUT>(plan, chunk, found, if east { 1 } else { 0 }, row, &along_x);
        }
        if plane {
            let side = if north { 3 } else { 2 };
            for (face, f) in along_y.iter().enumerate() {
                leave::<T, OUTPUT>(plan, chunk, found, side, face, f);
            }
        }
    }
}

/// The local equilibrium of a cell at the velocities of a chunk (both functions), and these velocities relative to the gas; linearised, to rest.
struct Local<T> {
    s: [Lanes<T>; 2],
    c: [Lanes<T>; 2],
    square: Lanes<T>,
}

/// The local equilibrium that the coefficients `c` of a cell describe.
#[inline(always)]
fn equilibrium<T: LaneReal, const LINEAR: bool, const SHAKHOV: bool, const FUSED: bool>(
    chunk: &Chunk<T>,
    square: &Lanes<T>,
    half_k: T,
    c: &[T; COEFFICIENTS],
) -> Local<T> {
    let [shift1, shift2] = [2.5, 1.5].map(|s| half_k + T::from_f64(-s));
    let [vx, vy] = chunk.v;
    let vz2 = chunk.vz2;
    let mut s1 = [T::ZERO; LANES];
    let mut s2 = [T::ZERO; LANES];
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
            s1[l] = fma::<T, FUSED>(k, square[l] + shift1, first);
            s2[l] = half_k * (s1[l] + c[3] + k);
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
                s1[l] = fma::<T, FUSED>(g, k * (xi[l] + shift1), g);
                s2[l] = c[7] * fma::<T, FUSED>(g, k * (xi[l] + shift2), g);
            } else {
                s1[l] = g;
                s2[l] = c[7] * g;
            }
        }
    }
    Local {
        s: [s1, s2],
        c: [cx, cy],
        square: c2,
    }
}

/// The means of a cell by its balance, `f = (nu S + sum b f_in) / (nu + sum b)`. The inflows along x and y become the outflows.
#[inline(always)]
fn balance<T: Real, const FUSED: bool>(
    nu: T,
    s: &[Lanes<T>; 2],
    [bx, by]: [&Lanes<T>; 2],
    [along_x, along_y]: [&mut [Lanes<T>; 2]; 2],
    diamond: bool,
) -> [Lanes<T>; 2] {
    let from_below = *along_y;
    let mut f1 = [T::ZERO; LANES];
    let mut f2 = [T::ZERO; LANES];
    let mut onward = [[T::ZERO; LANES]; 2];
    for l in 0..LANES {
        let inverse = T::ONE / (nu + bx[l] + by[l]);
        let inflow = |k: usize| fma::<T, FUSED>(bx[l], along_x[k][l], by[l] * from_below[k][l]);
        f1[l] = fma::<T, FUSED>(nu, s[0][l], inflow(0)) * inverse;
        f2[l] = fma::<T, FUSED>(nu, s[1][l], inflow(1)) * inverse;
        if diamond {
            onward[0][l] = f1[l] + f1[l] - from_below[0][l];
            onward[1][l] = f2[l] + f2[l] - from_below[1][l];
            along_x[0][l] = f1[l] + f1[l] - along_x[0][l];
            along_x[1][l] = f2[l] + f2[l] - along_x[1][l];
        } else {
            onward[0][l] = f1[l];
            onward[1][l] = f2[l];
            along_x[0][l] = f1[l];
            along_x[1][l] = f2[l];
        }
    }
    *along_y = onward;
    [f1, f2]
}

/// Terms of the sums of an iteration, `(f - S) (1, v_x, v_y, |v|^2)`, and with the Shakhov model of the heat flux.
#[inline(always)]
fn defects<T: Real, const LINEAR: bool, const SHAKHOV: bool, const FUSED: bool>(
    chunk: &Chunk<T>,
    square: &Lanes<T>,
    local: &Local<T>,
    [f1, f2]: &[Lanes<T>; 2],
) -> [Lanes<T>; 6] {
    let ([vx, vy], weight) = (&chunk.v, &chunk.weight);
    let ([s1, s2], [cx, cy]) = (&local.s, &local.c);
    let mut terms = [[T::ZERO; LANES]; 6];
    for l in 0..LANES {
        let d1 = weight[l] * (f1[l] - s1[l]);
        let d2 = weight[l] * (f2[l] - s2[l]);
        terms[0][l] = d1;
        terms[1][l] = d1 * vx[l];
        terms[2][l] = d1 * vy[l];
        terms[3][l] = fma::<T, FUSED>(d1, square[l], d2);
        if SHAKHOV {
            let energy = heat::<T, LINEAR, FUSED>(weight[l], f1[l], f2[l], local.square[l]);
            terms[4][l] = energy * cx[l];
            terms[5][l] = energy * cy[l];
        }
    }
    terms
}

/// Terms of P_xx, P_xy, P_yy, q_x and q_y.
#[inline(always)]
fn stresses<T: Real, const LINEAR: bool, const FUSED: bool>(
    chunk: &Chunk<T>,
    local: &Local<T>,
    [f1, f2]: &[Lanes<T>; 2],
) -> [Lanes<T>; 6] {
    let (weight, [cx, cy]) = (&chunk.weight, &local.c);
    let mut terms = [[T::ZERO; LANES]; 6];
    for l in 0..LANES {
        let wf = weight[l] * f1[l];
        let wx = wf * cx[l];
        terms[0][l] = wx * cx[l];
        terms[1][l] = wx * cy[l];
        terms[2][l] = wf * cy[l] * cy[l];
        let energy = heat::<T, LINEAR, FUSED>(weight[l], f1[l], f2[l], local.square[l]);
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
fn pass<T: Real, const FUSED: bool>(
    chunk: &Chunk<T>,
    square: &Lanes<T>,
    found: &mut Found,
    face: usize,
    f: &[Lanes<T>; 2],
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
    }
    for (sum, term) in sums.iter_mut().zip(&terms) {
        *sum += total(term).to_f64();
    }
}

/// Adds up, and where that is needed records, what leaves through a face.
#[inline(always)]
fn leave<T: Real, const OUTPUT: bool>(
    plan: &Plan,
    chunk: &Chunk<T>,
    found: &mut Found,
    side: usize,
    face: usize,
    f: &[Lanes<T>; 2],
) {
    let per_face = if OUTPUT { leaving::LEN } else { 1 };
    let sums = &mut found.faces[(plan.layout.faces[side] + face) * per_face..][..per_face];
    for l in 0..LANES {
        let node = chunk.node + l;
        if OUTPUT {
            plan.add_leaving(sums, side, node, [f[0][l], f[1][l]].map(Real::to_f64));
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
