//! A sweep of all velocities round an axis in upwind order; no distribution is stored.
//!
//! Lanes are eight pairs of a velocity along the axis and a speed across. They visit all rings angle by angle: first the direction straight to the axis, in which the equation is that
//! of a plane, then the angles inwards and those outwards. Between two angles each ring keeps one value a lane.
//! At the axis all angles are one direction, so that the value that arrives there straight starts all outward ones.

#![allow(
    clippy::needless_range_loop,
    reason = "a lane index runs over several arrays at once, which the compiler makes vectors of"
)]

use rayon::prelude::*;

use rarefy_kernels::flow::ring::cell;
use rarefy_kernels::flow::volume::cell as of_space;
use rarefy_kernels::flow::volume::gas as kernels;

use crate::error::{Error, Result};
use crate::flow::rings::Rings;
use crate::flow::space::Kind;
use crate::flow::turn::Turn;
use crate::flow::volume::FREQUENCY;
use crate::flow::volume::sweep::{
    Found, Inflow, Input, NOTHING, SIDES, Sweep, Swept, TASKS, Velocities, add, add_image,
};
use crate::maxwellian::lanes::{Job, LANES, Lanes, on_widest};

/// Sweeps once.
///
/// # Errors
/// A space without rings.
pub(in crate::flow) fn run(sweep: &Sweep<'_>, input: &Input) -> Result<Swept> {
    let (Some(rings), Some(turn)) = (&sweep.space.rings, &sweep.nodes.turn) else {
        return Err(Error::Numerical(
            "a sweep of rings without rings".to_owned(),
        ));
    };
    let round = Round {
        sweep,
        input,
        rings,
        turn,
        rows: sweep.space.edges[1].len() - 1,
    };
    Ok(round.run())
}

/// Signs along the axis that are swept together: a mirror across the axis wants both, first the one that leaves through it.
pub(super) fn families(mirrors: [bool; SIDES]) -> &'static [&'static [usize]] {
    match mirrors {
        [true, ..] => &[&[1, 0]],
        [_, true, ..] => &[&[0, 1]],
        _ => &[&[0], &[1]],
    }
}

/// A sweep round an axis.
struct Round<'a> {
    sweep: &'a Sweep<'a>,
    input: &'a Input,
    rings: &'a Rings,
    turn: &'a Turn,
    /// Rings along the radius.
    rows: usize,
}

impl Round<'_> {
    fn run(&self) -> Swept {
        let mut swept = self.sweep.empty();
        let first = self.sweep.nodes.first;
        let eight = LANES * self.turn.len();
        let units: Vec<(&[usize], usize)> = families(self.sweep.mirrors)
            .iter()
            .flat_map(|family| {
                let len = first[family[0] + 1] - first[family[0]];
                (0..len).step_by(eight).map(move |at| (*family, at))
            })
            .collect();
        let parts = TASKS.min(units.len());
        // Rounds bound the memory: each task has sums of all cells.
        let round = rayon::current_num_threads().max(1);
        for begin in (0..parts).step_by(round) {
            let end = (begin + round).min(parts);
            let found: Vec<Found> = (begin..end)
                .into_par_iter()
                .map(|part| {
                    let range = part * units.len() / parts..(part + 1) * units.len() / parts;
                    let mut found = Found::new(self.sweep);
                    for (family, at) in &units[range] {
                        let mut image = Vec::new();
                        for &side in *family {
                            self.eight(side, first[side] + at, &mut image, &mut found);
                        }
                    }
                    found
                })
                .collect();
            for found in found {
                found.add_to(&mut swept, self.sweep.nodes.len());
            }
        }
        swept
    }

    fn eight(&self, side: usize, first: usize, image: &mut Vec<Lanes<f64>>, found: &mut Found) {
        macro_rules! march {
            ($linear:literal) => {
                on_widest(March::<$linear> {
                    round: self,
                    side,
                    first,
                    image,
                    found,
                })
            };
        }
        match self.sweep.linear {
            true => march!(true),
            false => march!(false),
        }
    }
}

/// The march of eight pairs through all angles and rings.
struct March<'a, const LINEAR: bool> {
    round: &'a Round<'a>,
    /// 0 for v_x > 0, 1 for v_x < 0.
    side: usize,
    /// The first node.
    first: usize,
    /// Outflow of the other sign through a mirror across the axis, `[angle][row]`, the direction straight to the axis first.
    image: &'a mut Vec<Lanes<f64>>,
    found: &'a mut Found,
}

impl<const LINEAR: bool> Job for March<'_, LINEAR> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let Self {
            round,
            side,
            first,
            image,
            found,
        } = self;
        let (sweep, space, rings, turn) = (round.sweep, round.sweep.space, round.rings, round.turn);
        let [nx, nr, _] = space.counts();
        let (from, to) = (side, 1 - side);
        let old = std::mem::take(image);
        let keeps = sweep.mirrors[to];
        if keeps {
            *image = vec![NOTHING; (turn.len() + 1) * nr];
        }
        let mut saved = vec![NOTHING; 2 * nx];
        // Values between two angles, and of what arrives straight at the axis.
        let mut between = vec![NOTHING; space.len()];
        let mut centre = vec![NOTHING; nx];
        let mut to_row = vec![NOTHING; nx];
        for step in 0..=turn.len() {
            let is_straight = step == 0;
            let angle = step.saturating_sub(1);
            let node = first + angle * LANES;
            let mut velocity = Velocities::new(sweep.nodes, node);
            let mut speed = NOTHING;
            for l in 0..LANES {
                let [_, y, z] = velocity.at(l);
                speed[l] = (y * y + z * z).sqrt();
            }
            if is_straight {
                for l in 0..LANES {
                    velocity.v[1][l] = -speed[l];
                    velocity.v[2][l] = 0.0;
                }
            }
            let inwards = is_straight || turn.cosine[angle] < 0.0;
            let (below, above) = if inwards { (3, 2) } else { (2, 3) };
            let octant = side + if inwards { 2 } else { 0 };
            // Fluxes between the angles over speed and area.
            let [into_turn, out_turn] = match is_straight {
                true => [0.0; 2],
                false => [0, 1].map(|k: usize| turn.edge[angle + k] / turn.weight[angle]),
            };
            let incoming = Incoming {
                round,
                velocity: &velocity,
                node,
                image: &old,
                step,
            };
            let mut out = vec![NOTHING; if sweep.kept[to] { nr } else { 0 }];
            let mut arrived = vec![NOTHING; sweep.partial.facets.len()];
            for x in 0..nx {
                to_row[x] = match !inwards && rings.has_axis {
                    true => centre[x],
                    false => incoming.through::<LINEAR, FUSED>(below, x),
                };
                if !is_straight {
                    cross::<FUSED>(found, &velocity, (below, x), true, &to_row[x]);
                }
            }
            let jump = match &round.input.sides[0] {
                Inflow::Closed(jump) => {
                    let mut values = velocity.equilibrium::<LINEAR, FUSED>(jump);
                    let sign = 1.0 - 2.0 * side as f64;
                    for l in 0..LANES {
                        values[l] *= sign;
                    }
                    Some(values)
                }
                _ => None,
            };
            for along in 0..nr {
                let r = if inwards { nr - 1 - along } else { along };
                let mut going = incoming.through::<LINEAR, FUSED>(from, r);
                let mut without = NOTHING;
                let passes = if jump.is_some() { 3 } else { 1 };
                if jump.is_some() {
                    saved[..nx].copy_from_slice(&to_row);
                }
                for pass in 0..passes {
                    let is_last = pass + 1 == passes;
                    if let (Some(jump), 1..) = (&jump, pass) {
                        to_row.copy_from_slice(&saved[..nx]);
                        if pass == 1 {
                            without = going;
                            going = [1.0; LANES];
                        } else {
                            // The outflow is affine in the inflow: `out = without + slope in`.
                            for l in 0..LANES {
                                let slope = going[l] - without[l];
                                going[l] = (without[l] + jump[l]) / (1.0 - slope);
                            }
                        }
                    }
                    let counts = is_last && !is_straight;
                    if counts {
                        cross::<FUSED>(found, &velocity, (from, r), true, &going);
                    }
                    for place in 0..nx {
                        let x = if side == 0 { place } else { nx - 1 - place };
                        let k = r * nx + x;
                        if space.kind[k] == Kind::Solid {
                            (going, to_row[x], between[k]) = (NOTHING, NOTHING, NOTHING);
                            continue;
                        }
                        let c = &round.input.cells[k];
                        let local = velocity.equilibrium::<LINEAR, FUSED>(c);
                        let inflow = [going, to_row[x], between[k]];
                        let open = match is_straight {
                            true => rings.open[k],
                            false => {
                                let open = &space.open[k];
                                [open[0], open[1], open[2], open[3]]
                            }
                        };
                        let volume = match is_straight {
                            true => rings.area[k],
                            false => space.volume[k],
                        };
                        let ring = Ring {
                            nu: c[FREQUENCY] * volume,
                            along: [open[from], open[to]],
                            across: [open[below], open[above]],
                            turn: [rings.area[k] * into_turn, rings.area[k] * out_turn],
                        };
                        let f;
                        let next;
                        if space.kind[k] == Kind::Full {
                            [f, going, to_row[x], next] =
                                ring.full::<LINEAR, FUSED>(&velocity, &speed, &local, &inflow);
                        } else {
                            let s = space.facet[k] as usize;
                            let facet = &space.facets[s];
                            let wall = match is_straight {
                                true => rings.walls[s],
                                false => [0, 1].map(|k: usize| facet.area * facet.normal[k]),
                            };
                            let mut emitted =
                                velocity.equilibrium::<LINEAR, FUSED>(&round.input.facets[s]);
                            let mirrored = sweep.partial.place_of(s);
                            if let Some(place) = mirrored {
                                let at = place * sweep.nodes.len() + node;
                                let share = sweep.partial.share[s];
                                add_image(&mut emitted, share, &round.input.images[at..]);
                            }
                            let inflow = [inflow[0], inflow[1], inflow[2], emitted];
                            let closures = &space.closures[s].0[octant];
                            let arriving;
                            [f, going, to_row[x], next, arriving] = ring.cut::<LINEAR, FUSED>(
                                &velocity, &speed, wall, closures, &local, &inflow,
                            );
                            if counts {
                                let mut moments =
                                    velocity.arriving::<FUSED>(&arriving, facet.normal);
                                moments[3] = 0.0;
                                add(&mut found.facets[s], moments);
                                if let Some(place) = mirrored {
                                    arrived[place] = arriving;
                                }
                            }
                        }
                        if is_last {
                            between[k] = if is_straight { f } else { next };
                        }
                        if counts {
                            let about = kernels::about::<f64, LINEAR>(c);
                            let mut sums = velocity.sums::<FUSED>(about, &f, &local);
                            // The half turn has no swirl.
                            (sums[3], sums[7]) = (0.0, 0.0);
                            add(&mut found.cells[k], sums);
                        }
                    }
                }
                if !is_straight {
                    cross::<FUSED>(found, &velocity, (to, r), false, &going);
                    if let Some(value) = out.get_mut(r) {
                        *value = going;
                    }
                }
                if keeps {
                    image[step * nr + r] = going;
                }
            }
            if is_straight {
                centre.copy_from_slice(&to_row);
                continue;
            }
            for x in 0..nx {
                cross::<FUSED>(found, &velocity, (above, x), false, &to_row[x]);
            }
            if sweep.kept[above] {
                found.left.push((node, above, to_row.clone()));
            }
            if !out.is_empty() {
                found.left.push((node, to, out));
            }
            if !arrived.is_empty() {
                found.arrived.push((node, arrived));
            }
        }
    }
}

/// Adds what enters or leaves through a face of a side.
#[inline(always)]
fn cross<const FUSED: bool>(
    found: &mut Found,
    velocity: &Velocities,
    (side, face): (usize, usize),
    enters: bool,
    values: &Lanes<f64>,
) {
    let mut moments = velocity.moments::<FUSED>(values, side / 2);
    // The half turn has no swirl.
    moments[3] = 0.0;
    add(&mut found.sides[side][face][usize::from(enters)], moments);
}

/// The inflow through the sides at one angle of eight pairs.
struct Incoming<'a> {
    round: &'a Round<'a>,
    velocity: &'a Velocities,
    /// The first node; for the direction straight to the axis those of the angle beside it.
    node: usize,
    image: &'a [Lanes<f64>],
    /// Place of the angle in the image.
    step: usize,
}

impl Incoming<'_> {
    #[inline(always)]
    fn through<const LINEAR: bool, const FUSED: bool>(
        &self,
        side: usize,
        face: usize,
    ) -> Lanes<f64> {
        match &self.round.input.sides[side] {
            Inflow::Mirror if side < 2 => self.image[self.step * self.round.rows + face],
            inflow => {
                let at = face * self.round.sweep.nodes.len() + self.node;
                self.velocity.inflow::<LINEAR, FUSED>(inflow, face, at)
            }
        }
    }
}

/// A ring as one angle sees it.
struct Ring {
    /// Frequency times volume.
    nu: f64,
    /// Open faces across the axis, of inflow and of outflow.
    along: [f64; 2],
    /// Open faces across the radius, likewise.
    across: [f64; 2],
    /// Areas times the coefficients between the angles, likewise.
    turn: [f64; 2],
}

impl Ring {
    /// A whole ring: value, and outflow along the axis, along the radius and to the next angle.
    #[inline(always)]
    fn full<const LINEAR: bool, const FUSED: bool>(
        &self,
        velocity: &Velocities,
        speed: &Lanes<f64>,
        local: &Lanes<f64>,
        inflow: &[Lanes<f64>; 3],
    ) -> [Lanes<f64>; 4] {
        let mut all = [NOTHING; 4];
        for l in 0..LANES {
            let [vx, vr, _] = velocity.at(l);
            let along = vx.abs() * self.along[0];
            let across = [vr.abs() * self.across[0], vr.abs() * self.across[1]];
            let turn = [speed[l] * self.turn[0], speed[l] * self.turn[1]];
            let into = [inflow[0][l], inflow[1][l], inflow[2][l]];
            let source = self.nu * local[l];
            let found = match LINEAR {
                true => cell::full::<f64, false, FUSED>(source, self.nu, along, across, turn, into),
                false => cell::full::<f64, true, FUSED>(source, self.nu, along, across, turn, into),
            };
            for k in 0..4 {
                all[k][l] = found[k];
            }
        }
        all
    }

    /// A ring behind a wall: as [`full`](Self::full), and arrivals at the wall. Its inflow has that of the wall at the end.
    #[inline(always)]
    fn cut<const LINEAR: bool, const FUSED: bool>(
        &self,
        velocity: &Velocities,
        speed: &Lanes<f64>,
        wall: [f64; 2],
        closures: &[[[f64; 4]; 4]; 2],
        local: &Lanes<f64>,
        inflow: &[Lanes<f64>; 4],
    ) -> [Lanes<f64>; 5] {
        let mut all = [NOTHING; 5];
        for l in 0..LANES {
            let [vx, vr, _] = velocity.at(l);
            let normal = of_space::through([vx, vr, 0.0], [wall[0], wall[1], 0.0]);
            let fluxes = |k: usize| {
                [
                    vx.abs() * self.along[k],
                    vr.abs() * self.across[k],
                    speed[l] * self.turn[k],
                ]
            };
            let ([x, r, t], [to_x, to_r, to_t]) = (fluxes(0), fluxes(1));
            let into = [x, r, t, normal.max(0.0)];
            let out = [to_x, to_r, to_t, (-normal).max(0.0)];
            let c = &closures[usize::from(normal < 0.0)];
            let values = [inflow[0][l], inflow[1][l], inflow[2][l], inflow[3][l]];
            let (nu, source) = (self.nu, self.nu * local[l]);
            let found = match LINEAR {
                true => of_space::cut::<f64, false, FUSED>(source, nu, into, out, c, values),
                false => of_space::cut::<f64, true, FUSED>(source, nu, into, out, c, values),
            };
            for k in 0..5 {
                all[k][l] = found[k];
            }
        }
        all
    }
}
