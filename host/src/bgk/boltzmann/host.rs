//! The line on the host: streaming by all cores, collisions by the CPU's or the reference operator.

use rayon::prelude::*;

use super::config::LineConfig;
use super::engine::{Flow, Shift, shifts};
use crate::bgk::transient::{Node, van_leer};
use crate::bgk::{FaceFlux, Scheme};
use crate::collision::CollisionOperator;
use crate::error::Result;

/// The distributions in the memory of the host.
pub(super) struct HostFlow {
    config: LineConfig,
    operator: CollisionOperator,
    shifts: Vec<Shift>,
    f: Vec<f64>,
    streamed: Vec<f64>,
}

impl HostFlow {
    pub(super) fn new(config: &LineConfig) -> Result<Self> {
        Ok(Self {
            operator: CollisionOperator::new(config.operator())?,
            shifts: shifts(config)?,
            f: config.initial.clone(),
            streamed: vec![0.0; config.initial.len()],
            config: config.clone(),
        })
    }

    /// Heun's method in the form that keeps f >= 0: `f = (f0 + E(E(f0))) / 2`, E being Euler's step.
    fn collide(&mut self) -> Result<()> {
        let nodes = self.config.grid.cells();
        for keep in [0.0, 0.5] {
            let rates = self.operator.evaluate_batch(match keep {
                0.0 => &self.streamed,
                _ => &self.f,
            })?;
            let step = self.config.dt;
            let cells = self
                .f
                .par_chunks_exact_mut(nodes)
                .zip(self.streamed.par_chunks_exact(nodes));
            cells.zip(&rates).for_each(|((f, start), evaluation)| {
                for ((f, start), rate) in f.iter_mut().zip(start).zip(&evaluation.rate) {
                    let now = if keep == 0.0 { *start } else { *f };
                    let euler = step.mul_add(*rate, now);
                    *f = f64::mul_add(keep, start - euler, euler);
                }
            });
        }
        Ok(())
    }
}

impl Flow for HostFlow {
    fn describe(&self) -> String {
        self.operator.device()
    }
    fn advance(&mut self, steps: u64) -> Result<()> {
        for _ in 0..steps {
            stream(&self.config, &self.shifts, &self.f, &mut self.streamed);
            self.collide()?;
        }
        Ok(())
    }
    fn distributions(&mut self) -> Result<Vec<f64>> {
        Ok(self.f.clone())
    }
    fn restore(&mut self, f: &[f64]) -> Result<()> {
        self.f.copy_from_slice(f);
        Ok(())
    }
}

/// The values of one v_x at a place counted from the end where molecules come in. Where they leave, the last cell is repeated.
fn plane<'a>(
    config: &'a LineConfig,
    f: &'a [f64],
    jx: usize,
    forward: bool,
    place: isize,
) -> &'a [f64] {
    let (cells, nodes) = (config.space.nx(), config.grid.cells());
    let size = nodes / config.grid.n();
    match usize::try_from(place) {
        Err(_) => &config.ends[usize::from(!forward)][jx * size..][..size],
        Ok(place) => {
            let place = place.min(cells - 1);
            let cell = if forward { place } else { cells - 1 - place };
            &f[cell * nodes + jx * size..][..size]
        }
    }
}

/// Shifts all distributions by `|v| dt`.
pub(super) fn stream(config: &LineConfig, shifts: &[Shift], from: &[f64], to: &mut [f64]) {
    let (cells, nodes) = (config.space.nx(), config.grid.cells());
    let size = nodes / config.grid.n();
    let sloped = config.scheme == Scheme::VanLeer;
    to.par_chunks_exact_mut(nodes)
        .enumerate()
        .for_each(|(cell, to)| {
            for (jx, (to, shift)) in to.chunks_exact_mut(size).zip(shifts).enumerate() {
                let place = if shift.forward {
                    cell
                } else {
                    cells - 1 - cell
                };
                let p = place as isize - shift.courant.whole as isize;
                let at = |place| plane(config, from, jx, shift.forward, place);
                let (first, before, here, after) = (at(p - 2), at(p - 1), at(p), at(p + 1));
                let a = shift.courant.fraction;
                for (k, to) in to.iter_mut().enumerate() {
                    let middle = here[k] - before[k];
                    *to = (-a).mul_add(middle, here[k]);
                    if sloped {
                        let slopes = van_leer(2.0, middle, after[k] - here[k])
                            - van_leer(2.0, before[k] - first[k], middle);
                        *to = (-0.5 * a * (1.0 - a)).mul_add(slopes, *to);
                    }
                }
            }
        });
}

/// Flux through the left end while `f` streams, per unit of time.
pub(super) fn left_exchange(
    config: &LineConfig,
    shifts: &[Shift],
    nodes: &[Node],
    f: &[f64],
) -> FaceFlux {
    let cells = config.space.nx() as isize;
    let size = config.grid.cells() / config.grid.n();
    let scale = config.grid.volume() * config.space.step(0) / config.dt;
    let mut flux = FaceFlux::default();
    for (jx, shift) in shifts.iter().enumerate() {
        let (whole, a) = (shift.courant.whole as isize, shift.courant.fraction);
        for k in 0..size {
            let at = |place| plane(config, f, jx, shift.forward, place)[k];
            let amount = if shift.forward {
                shift.courant.distance() * at(-1)
            } else {
                // The last cells before the end, and the part of the next that reaches it.
                let p = cells - 1 - whole;
                let slope = match config.scheme {
                    Scheme::Upwind => 0.0,
                    Scheme::VanLeer => van_leer(2.0, at(p) - at(p - 1), at(p + 1) - at(p)),
                };
                let whole: f64 = (0..whole).map(|m| at(cells - 1 - m)).sum();
                -(whole + a * at(p) + 0.5 * a * (1.0 - a) * slope)
            };
            flux += nodes[jx * size + k].carries(amount * scale);
        }
    }
    flux
}
