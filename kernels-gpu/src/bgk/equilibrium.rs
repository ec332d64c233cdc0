//! From partial sums to the tables of the local equilibria.

mod heat;
mod rotation;
mod sums;

use super::exponential::exponential;
use super::layout::{FlowShape, SUMS_BGK, SUMS_ROTATING, SUMS_SHAKHOV, row, split};
use crate::kernel;
use crate::math::Real;
use crate::memory::{In, InOut, Shared};
use crate::simt::{Simt, WARP};
pub(crate) use heat::{Drift, Heat};
use heat::{Means, heat_flux, heat_term};
pub use rotation::Rotating;
use sums::{AXIS_SUMS, CellSums, add_chunks, axis_sums, combine, factor};
use sums::{inner_factor, less_than_one, node};

/// Most threads of a block of [`equilibrium()`], for few cells; there are at least 64. More warps share the nodes of a cell and finish it sooner, but all
/// of them repeat the work that is not shared.
pub const EQUILIBRIUM_THREADS: u32 = 256;

/// Words of shared memory of [`equilibrium()`].
#[inline(always)]
pub(crate) const fn equilibrium_scratch(rule: &Relaxing) -> u32 {
    rule.threads * AXIS_SUMS as u32
}

/// The relaxation of the cells, and the layout of their sums.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Relaxing {
    /// Time step; 0 makes a pass stream only.
    pub dt: f64,
    /// Exponent of the viscosity.
    pub omega: f64,
    /// Prandtl number of the Shakhov model.
    pub prandtl: f64,
    /// Relaxation frequency at unit density and temperature.
    pub frequency: f64,
    /// 1 for Maxwellians with exact moments, 0 for sampled ones.
    pub conservative: u32,
    /// Newton steps for the exact ones; 0 uses the Maxwellians that the state keeps.
    pub steps: u32,
    /// Chunks of partial sums; 0 where the state already has the sums.
    pub chunks: u32,
    /// Chunks of one v_x, which follow each other.
    pub parts: u32,
    /// Threads of a block.
    pub threads: u32,
    /// The first row of cells.
    pub low: u32,
}

/// Numbers of each cell in the state behind its sums: slopes b_x and b_y and inverse temperature c of the conservative Maxwellian, and T.
pub const KEPT: u32 = 4;

kernel! {
    /// Sets all populations to the Maxwellians of the tables, and ghosts and what lies between populations to 0: one thread a place and innermost
    /// node, which walks over the pairs (v_x, v_y).
    pub fn fill<T: Real>(t, tables: In<T>, f: Out<T>; shape: FlowShape) for f32, f64 {
        let index = t.global_idx();
        let (m, place) = split(index as u32, shape.rows_of_pair() * shape.pitch);
        let (row, ix) = split(place, shape.pitch);
        let iy = row.wrapping_sub(shape.ghost_rows);
        let inside = iy < shape.ny && ix < shape.nx;
        if m < shape.count_m {
            let column = if inside { iy * shape.pitch + ix } else { 0 };
            let at = |row: u32| tables.get(t, (row * shape.columns() + column) as usize);
            let inner = at(shape.row_m() + m);
            for jx in 0..shape.count_x {
                let x = at(row::X + jx) * inner;
                for jy in 0..shape.count_y {
                    let value = x * at(shape.row_y() + jy);
                    let value = if inside { value } else { T::ZERO };
                    // Ghost rows below the cells have numbers below 0.
                    let first = shape.row_start(jx * shape.count_y + jy, m, 0);
                    let to = first.wrapping_add(iy.wrapping_mul(shape.pitch * shape.count_m));
                    f.set(t, (to + shape.in_row(ix)) as usize, value);
                }
            }
        }
        let mut ghost = shape.populations() - WARP as usize + index;
        while ghost < shape.words() {
            f.set(t, ghost, T::ZERO);
            ghost += (t.grid_dim() * t.block_dim()) as usize;
        }
    }
}

kernel! {
    /// Adds the partial sums of each cell and makes the tables of its equilibrium.
    ///
    /// **Block**: 32 places of the padded plane, one a lane; its warps share the chunks of partial sums and the nodes of the axes. Only exponentials are in the
    /// precision of the tables, so that the Maxwellian's moments are exact for the tables as they are; all else is f64.
    /// **Cost**: reads the partial sums once; an exponential for each node of the axes and Newton step, twice as many to write the tables.
    /// **Order**: warps take chunks in turn, and their sums are added in a fixed order, so the bits repeat.
    /// **No race**: a lane owns its place. The owner writes shared memory and the block reads it, with barriers between.
    pub fn equilibrium<T: Real>(
        t, partial: In<T>, axes: In<f64>, state: InOut<f64>, tables: InOut<T>; shape: FlowShape, rule: Relaxing,
    ) for f32, f64
    shared { scratch: [f64; equilibrium_scratch(&rule)] } {
        relax::<_, _, false, false>(t, partial, axes, state, tables, scratch, &shape, &rule, None);
    }
}

kernel! {
    /// [`equilibrium()`] for the Shakhov model.
    pub fn equilibrium_shakhov<T: Real>(
        t, partial: In<T>, axes: In<f64>, state: InOut<f64>, tables: InOut<T>; shape: FlowShape, rule: Relaxing,
    ) for f32, f64
    shared { scratch: [f64; equilibrium_scratch(&rule)] } {
        relax::<_, _, true, false>(t, partial, axes, state, tables, scratch, &shape, &rule, None);
    }
}

/// The body of [`equilibrium()`], with the terms of Shakhov's model where `SHAKHOV`, and those of molecules that rotate where `ROTATES` too.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
#[track_caller]
#[allow(clippy::too_many_arguments, reason = "the arguments of the kernels")]
pub(crate) fn relax<S: Simt, T: Real, const SHAKHOV: bool, const ROTATES: bool>(
    t: &S,
    partial: In<'_, T>,
    axes: In<'_, f64>,
    state: InOut<'_, f64>,
    tables: InOut<'_, T>,
    scratch: Shared<'_, f64>,
    shape: &FlowShape,
    rule: &Relaxing,
    rotation: Option<&Rotating>,
) {
    let place = rule.low * shape.pitch + t.block_idx() * WARP + t.lane();
    let (_, ix) = split(place, shape.pitch);
    let inside = ix < shape.nx && place < shape.plane();
    let plane = shape.plane() as usize;
    let at = |k: u32| k as usize * plane + place as usize;
    let count = if ROTATES {
        SUMS_ROTATING
    } else if SHAKHOV {
        SUMS_SHAKHOV
    } else {
        SUMS_BGK
    };

    let mut sums: CellSums = [0.0; SUMS_ROTATING as usize];
    if rule.chunks > 0 {
        if inside {
            let chunks = [rule.chunks, rule.parts];
            add_chunks::<_, _, SHAKHOV, ROTATES>(t, partial, axes, shape, chunks, place, &mut sums);
        }
        if ROTATES {
            sums = combine(t, scratch, sums);
        } else if SHAKHOV {
            let mut nine = [0.0; SUMS_SHAKHOV as usize];
            #[allow(clippy::manual_memcpy, reason = "a copy of slices can fail")]
            for k in 0..SUMS_SHAKHOV as usize {
                nine[k] = sums[k];
            }
            nine = combine(t, scratch, nine);
            #[allow(clippy::manual_memcpy, reason = "a copy of slices can fail")]
            for k in 0..SUMS_SHAKHOV as usize {
                sums[k] = nine[k];
            }
        } else {
            let four = combine(t, scratch, [sums[0], sums[1], sums[2], sums[3]]);
            [sums[0], sums[1], sums[2], sums[3]] = four;
        }
        if inside && t.warp() == 0 {
            for k in 0..SUMS_ROTATING {
                if k < count {
                    state.set(t, at(k), sums[k as usize]);
                }
            }
        }
    } else if inside {
        for k in 0..SUMS_ROTATING {
            if k < count {
                sums[k as usize] = state.get(t, at(k));
            }
        }
    }
    // Places beyond the row must reach the barriers; they hold a gas at rest.
    if !inside {
        sums = [1.0, 0.0, 0.0, 1.5, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0];
    }

    let density = sums[0];
    let ux = sums[1] / density;
    let uy = if shape.flow == 2 {
        sums[2] / density
    } else {
        0.0
    };
    let mut temperature = (sums[3] / density - ux * ux - uy * uy) / 1.5;
    let relaxed = match rotation {
        Some(rotation) if ROTATES => {
            let time_at = |t: f64| {
                let growth = exponential((1.0 - rule.omega) * <f64 as Real>::ln(t));
                rule.dt * rule.frequency * density * growth
            };
            let internal = sums[9];
            let rotational = internal / (0.5 * rotation.freedom * density);
            let mut q_t = heat_flux(&sums, [ux, uy]);
            let mut q_r = [
                0.5 * (sums[10] - ux * internal),
                0.5 * (sums[11] - uy * internal),
            ];
            // An axis without flow is stored by half, and has other sums.
            if shape.flow < 2 {
                (q_t[1], q_r[1]) = (0.0, 0.0);
            }
            Some(rotation.relaxed(time_at, [temperature, rotational], [q_t, q_r]))
        }
        _ => None,
    };
    // The Maxwellian of molecules that rotate has the temperature T*.
    if let Some(relaxed) = &relaxed {
        temperature = relaxed.temperatures[0];
    }

    let kept = count;
    let (mut bx, mut by, mut c) = (0.0, 0.0, 1.0 / temperature);
    // All warps read here, and warp 0 writes at the end: a barrier lies between.
    if rule.conservative != 0 && inside {
        bx = state.get(t, at(kept));
        by = state.get(t, at(kept + 1));
        let before = state.get(t, at(kept + 3));
        c = state.get(t, at(kept + 2));
        // c T changes less than c; an unchanged state must keep its own c.
        if before != temperature {
            c *= before / temperature;
        }
    }
    let integrated = f64::from(shape.integrated);
    // Internal energy a molecule at the temperature T_r*.
    let internal = match (rotation, &relaxed) {
        (Some(rotation), Some(relaxed)) => 0.5 * rotation.freedom * relaxed.temperatures[1],
        _ => 0.0,
    };
    for _ in 0..rule.steps {
        let sums = axis_sums::<_, T, 5>(t, scratch, axes, shape, [ux, uy], [bx, by], c);
        let m = Means::of(&sums, shape, c);
        let mut energy = m.x[2] + m.y[2] + m.rest - 1.5 * temperature;
        let mut spread = m.x[4] - m.x[2] * m.x[2] + m.rest_square - m.rest * m.rest;
        // An axis without flow enters with its energy alone.
        let (rx, cx) = (m.x[1], m.x[3] - m.x[1] * m.x[2]);
        let per_vx = 1.0 / (m.x[2] - m.x[1] * m.x[1]);
        energy -= cx * rx * per_vx;
        spread -= cx * cx * per_vx;
        let (mut ry, mut cy, mut per_vy) = (0.0, 0.0, 1.0);
        if shape.integrated < 2 {
            spread += m.y[4] - m.y[2] * m.y[2];
            if shape.flow == 2 {
                (ry, cy) = (m.y[1], m.y[3] - m.y[1] * m.y[2]);
                per_vy = 1.0 / (m.y[2] - m.y[1] * m.y[1]);
                energy -= cy * ry * per_vy;
                spread -= cy * cy * per_vy;
            }
        }
        let change = (energy / spread).max(-0.5 * c).min(c);
        bx += (cx * change - rx) * per_vx;
        by += (cy * change - ry) * per_vy;
        c += change;
    }
    let columns = shape.columns() as usize;
    let put = |row: u32, value: T| {
        if inside {
            tables.set(t, row as usize * columns + place as usize, value);
        }
    };
    // Factors without the amplitude go into the tables here, while they are added for it.
    let mut masses = [0.0; 3];
    let mut j = t.warp();
    while j < shape.count_x {
        let (v, weight) = node(t, axes, j);
        masses[0] += factor::<T>(v - ux, weight, bx, c).to_f64();
        j += t.warps();
    }
    let mut j = t.warp();
    while j < shape.count_y {
        let value = if shape.integrated < 2 {
            let (v, weight) = node(t, axes, shape.count_x + j);
            factor::<T>(v - uy, weight, by, c)
        } else {
            T::ONE
        };
        masses[1] += value.to_f64();
        put(shape.row_y() + j, value);
        j += t.warps();
    }
    let mut m = t.warp();
    while m < shape.count_m {
        let value = if shape.integrated == 0 {
            let (square, log_weight) = node(t, axes, shape.count_x + shape.count_y + m);
            inner_factor::<T>(square, log_weight, c)
        } else if m == 0 {
            T::ONE
        } else if ROTATES && m == 2 {
            T::from_f64(internal)
        } else {
            T::from_f64(integrated / (2.0 * c))
        };
        masses[2] += value.to_f64();
        put(shape.row_m() + m, value);
        m += t.warps();
    }
    let masses = combine(t, scratch, masses);
    if rule.steps > 0 && inside && t.warp() == 0 {
        state.set(t, at(kept), bx);
        state.set(t, at(kept + 1), by);
        state.set(t, at(kept + 2), c);
        state.set(t, at(kept + 3), temperature);
    }
    let amplitude = if rule.conservative != 0 {
        let y = if shape.integrated < 2 { masses[1] } else { 1.0 };
        let z = if shape.integrated < 1 { masses[2] } else { 1.0 };
        density / (masses[0] * y * z)
    } else {
        let per_axis = (core::f64::consts::PI * temperature).sqrt();
        let mut amplitude = density / per_axis;
        if shape.integrated < 2 {
            amplitude /= per_axis;
        }
        if shape.integrated < 1 {
            amplitude /= per_axis;
        }
        amplitude
    };

    let mut means = Means::default();
    let (time, decay, gain) = match &relaxed {
        Some(relaxed) => (0.0, relaxed.decay, relaxed.gain),
        None => {
            // T^(1-omega) by its logarithm; the exponential of 0 is exactly 1.
            let growth = exponential((1.0 - rule.omega) * <f64 as Real>::ln(temperature));
            let time = rule.dt * rule.frequency * density * growth;
            let decay = exponential(-time);
            (time, decay, less_than_one(time, decay))
        }
    };
    if SHAKHOV {
        let sums = axis_sums::<_, T, 6>(t, scratch, axes, shape, [ux, uy], [bx, by], c);
        means = Means::of(&sums, shape, c);
    }
    if !inside {
        return;
    }
    if t.warp() == 0 {
        put(row::DECAY, T::from_f64(decay));
        put(
            row::INVERSE_TEMPERATURE,
            T::from_f64(-c * core::f64::consts::LOG2_E),
        );
    }
    if SHAKHOV && t.warp() == 1 {
        let g = if let Some(relaxed) = &relaxed {
            let per_heat = 1.6 / (density * temperature * temperature);
            relaxed.heat[0].map(|part| per_heat * part)
        } else {
            let heat_decay = exponential(-rule.prandtl * time);
            let q = heat_flux(&sums, [ux, uy]);
            let share = 1.6 * (heat_decay - decay) / (density * temperature * temperature);
            // An axis without flow is stored by half, and has other sums.
            let along_y = if shape.flow == 2 { q[1] } else { 0.0 };
            [share * q[0], share * along_y]
        };
        let heat = heat_term(&means, g, temperature, rule.conservative != 0);
        put(row::HEAT, T::from_f64(gain + heat[0]));
        for k in 1..6 {
            put(row::HEAT + k, T::from_f64(heat[k as usize]));
        }
        put(row::HEAT + 6, T::from_f64(ux));
        put(row::HEAT + 7, T::from_f64(uy));
        if let Some(relaxed) = &relaxed {
            let per_flux = 4.0 / (density * temperature);
            for k in 0..2 {
                let flux = per_flux * relaxed.heat[1][k as usize];
                put(shape.row_internal() + k, T::from_f64(flux));
            }
        }
    }
    let scale = if SHAKHOV { amplitude } else { amplitude * gain };
    let mut j = t.warp();
    while j < shape.count_x {
        let (v, weight) = node(t, axes, j);
        let value = factor::<T>(v - ux, weight, bx, c).to_f64();
        put(row::X + j, T::from_f64(scale * value));
        j += t.warps();
    }
}
