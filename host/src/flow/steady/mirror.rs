//! Molecules that a curved wall mirrors, with images along the wall.
//!
//! The image of a direction lies between two directions of its ring. The molecules that arrive from these at one place on a curved wall come from other angles to the wall, and near
//! a shadow from another body. So each of the two is taken where the wall has turned by as much as it is off: there it meets the wall at the angle of the image.
//! Values along the wall are smooth, those across angles need not be. Each ring keeps its flux as in [`super::reflection`].

use std::f64::consts::{PI, TAU};

use super::reflection::Balance;
use crate::flow::gas::Gas;
use crate::flow::nodes::Nodes;
use crate::flow::problem::Problem;
use crate::flow::space::{Segment, Space};

/// Way along the wall, in widths of the segment's cell.
const FARTHEST: f64 = 8.0;

/// Turn between two neighbours beyond which they meet at a corner.
const CORNER: f64 = 0.4;

/// Gap between the ends of neighbours, in widths of a cell.
const GAP: f64 = 1e-6;

/// The image of one segment: for each node that leaves, where it comes from.
#[derive(Clone, Debug)]
pub(super) struct Mirror {
    normal: [f64; 2],
    /// The first part of each node of each ring, and one end more.
    first: Vec<usize>,
    parts: Vec<Part>,
}

/// A share of the value of a node at a segment, by its place among those with images.
#[derive(Clone, Copy, Debug)]
struct Part {
    place: usize,
    node: usize,
    share: f64,
}

/// The mirrors of the segments with images; none at walls along axes, whose images are nodes, and without rings.
pub(super) fn all(problem: &Problem) -> Vec<Option<Mirror>> {
    let loose = problem.loose();
    let needed = |s: usize| {
        let [nx, ny] = problem.space.segments[s].normal.map(f64::abs);
        let on_axis = (ny < 1e-12 && problem.nodes.is_symmetric(0))
            || (nx < 1e-12 && problem.nodes.is_symmetric(1));
        problem.reflection[s].kernel().is_none() && !on_axis && !problem.nodes.rings.is_empty()
    };
    if !loose.iter().any(|&s| needed(s)) {
        return vec![None; loose.len()];
    }
    let chain = Chain::new(&problem.space);
    let build = |&s: &usize| needed(s).then(|| Mirror::new(problem, &chain, s));
    loose.iter().map(build).collect()
}

impl Mirror {
    fn new(problem: &Problem, chain: &Chain, s: usize) -> Self {
        let nodes = &problem.nodes;
        let normal = problem.space.segments[s].normal;
        let wall = normal[1].atan2(normal[0]);
        let speed = |m: usize, n: [f64; 2]| nodes.vx[m] * n[0] + nodes.vy[m] * n[1];
        let mut mirror = Self {
            normal,
            first: vec![0],
            parts: Vec::new(),
        };
        for ring in &nodes.rings {
            let size = ring.angles.len();
            for (k, &m) in ring.nodes.iter().enumerate() {
                if speed(m, normal) >= 0.0 {
                    let angle = (2.0 * wall + PI - ring.angles[k]).rem_euclid(TAU);
                    let after = ring.angles.partition_point(|a| *a <= angle);
                    let before = (after + size - 1) % size;
                    let after = after % size;
                    let width = (ring.angles[after] - ring.angles[before]).rem_euclid(TAU);
                    let share = (angle - ring.angles[before]).rem_euclid(TAU) / width;
                    for (node, share, off) in [
                        (before, 1.0 - share, -share * width),
                        (after, share, (1.0 - share) * width),
                    ] {
                        for (at, along) in chain.turned(problem, s, off) {
                            let node = ring.nodes[node];
                            let arrives = speed(node, problem.space.segments[at].normal) < 0.0;
                            if let (true, Some(place)) = (arrives, problem.accommodation[at].1) {
                                mirror.parts.push(Part {
                                    place,
                                    node,
                                    share: share * along,
                                });
                            }
                        }
                    }
                }
                mirror.first.push(mirror.parts.len());
            }
        }
        mirror
    }

    /// The image of what arrives at this segment; `arrived` has all with images.
    pub(super) fn image(&self, gas: &Gas, nodes: &Nodes, here: usize, arrived: &[f64]) -> Vec<f64> {
        let count = nodes.len();
        let mut image = vec![0.0; 2 * count];
        let speed = |m: usize| nodes.vx[m] * self.normal[0] + nodes.vy[m] * self.normal[1];
        for q in 0..2 {
            let mut at = 0;
            for ring in &nodes.rings {
                let mut balance = Balance::default();
                for &m in &ring.nodes {
                    let parts = &self.parts[self.first[at]..self.first[at + 1]];
                    at += 1;
                    let normal_speed = speed(m);
                    if normal_speed < 0.0 {
                        let value = arrived[(2 * here + q) * count + m];
                        balance.arrives(-nodes.weight[m] * normal_speed, value);
                        continue;
                    }
                    let (mut sum, mut total) = (0.0, 0.0);
                    for part in parts {
                        let value = arrived[(2 * part.place + q) * count + part.node];
                        sum += part.share * value;
                        total += part.share;
                    }
                    let mean = if total > 0.0 { sum / total } else { 0.0 };
                    image[q * count + m] = mean;
                    balance.leaves(nodes.weight[m] * normal_speed, mean);
                }
                let leaving = ring.nodes.iter().filter(|&&m| speed(m) >= 0.0);
                for &m in leaving {
                    balance.correct(gas, &mut image[q * count + m]);
                }
            }
        }
        image
    }
}

/// Neighbours of segments along their walls.
struct Chain {
    /// The neighbours against and along (-n_y, n_x).
    beside: Vec<[Option<usize>; 2]>,
}

impl Chain {
    fn new(space: &Space) -> Self {
        let (nx, ny) = (space.nx(), space.ny());
        let ends = |segment: &Segment| {
            let [a, b] = segment.normal;
            let half = 0.5 * segment.length;
            let [x, y] = segment.point;
            [[x + half * b, y - half * a], [x - half * b, y + half * a]]
        };
        let mut by_cell = vec![Vec::new(); space.len()];
        for (s, segment) in space.segments.iter().enumerate() {
            by_cell[segment.cell].push(s);
        }
        let beside = space.segments.iter().enumerate().map(|(s, segment)| {
            let (i, j) = (segment.cell % nx, segment.cell / nx);
            let [dx, dy] = space.widths(i, j);
            let near = GAP * dx.min(dy);
            let cells = [
                Some(segment.cell),
                (i > 0).then(|| segment.cell - 1),
                (i + 1 < nx).then(|| segment.cell + 1),
                (j > 0).then(|| segment.cell - nx),
                (j + 1 < ny).then(|| segment.cell + nx),
            ];
            let [begin, end] = ends(segment);
            let touching = |mine: [f64; 2], theirs: usize| {
                let others = cells.into_iter().flatten().flat_map(|cell| &by_cell[cell]);
                others.copied().find(|&other| {
                    let end = ends(&space.segments[other])[theirs];
                    other != s
                        && space.segments[other].body == segment.body
                        && (end[0] - mine[0]).hypot(end[1] - mine[1]) < near
                })
            };
            [touching(begin, 1), touching(end, 0)]
        });
        Self {
            beside: beside.collect(),
        }
    }

    /// Segments and their shares for the place where the wall has turned by this angle from a segment; the segment itself where there is none near.
    fn turned(&self, problem: &Problem, s: usize, angle: f64) -> [(usize, f64); 2] {
        let segments = &problem.space.segments;
        let here = [(s, 1.0), (s, 0.0)];
        let turn = |a: usize, b: usize| {
            let ([ax, ay], [bx, by]) = (segments[a].normal, segments[b].normal);
            (ax * by - ay * bx).atan2(ax * bx + ay * by)
        };
        let cell = segments[s].cell;
        let nx = problem.space.nx();
        let [dx, dy] = problem.space.widths(cell % nx, cell / nx);
        let farthest = FARTHEST * dx.max(dy);
        for side in 0..2 {
            let (mut at, mut turned, mut way) = (s, 0.0, 0.0);
            while let Some(next) = self.beside[at][side] {
                let more = turn(at, next);
                way += 0.5 * (segments[at].length + segments[next].length);
                if more.abs() > CORNER || more * angle < 0.0 || way > farthest {
                    break;
                }
                if (turned + more).abs() >= angle.abs() {
                    let share = match more == 0.0 {
                        true => 0.0,
                        false => ((angle - turned) / more).clamp(0.0, 1.0),
                    };
                    return [(at, 1.0 - share), (next, share)];
                }
                (at, turned) = (next, turned + more);
            }
        }
        here
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::Case;
    use crate::flow::steady::reflection;

    #[test]
    fn what_turns_with_the_wall_is_mirrored_at_its_angle() {
        let case: Case = toml::from_str(
            r#"
            gas = { delta = 1, linear = true }
            domain = { x = [-1, 1], y = [-1, 1], h = 0.05 }
            velocities = { angles = 48, speeds = 2 }
            sides = { left = { kind = "reservoir" }, right = { kind = "reservoir" }, bottom = { kind = "reservoir" }, top = { kind = "reservoir" } }
            body = [{ shape = "circle", radius = 0.7, accommodation = 0.5 }]
            "#,
        )
        .expect("a case");
        let case = case.resolve().expect("a case");
        let problem = Problem::new(&case, 1.0).expect("a problem");
        let nodes = &problem.nodes;
        let count = nodes.len();
        let loose = problem.loose();
        // A function of the angle to the wall alone, steep beside the directions.
        let value = |s: usize, m: usize| {
            let [nx, ny] = problem.space.segments[s].normal;
            let (across, along) = (
                nodes.vx[m] * nx + nodes.vy[m] * ny,
                nodes.vy[m] * nx - nodes.vx[m] * ny,
            );
            (9.0 * along.atan2(-across.abs())).cos()
        };
        let mut arrived = vec![0.0; 2 * count * loose.len()];
        for (place, &s) in loose.iter().enumerate() {
            for at in 0..2 * count {
                arrived[2 * place * count + at] = value(s, at % count);
            }
        }
        let mirrors = all(&problem);
        let (mut before, mut after, mut number) = (0.0, 0.0, 0.0);
        for (place, &s) in loose.iter().enumerate() {
            let Some(mirror) = &mirrors[place] else {
                continue;
            };
            let normal = problem.space.segments[s].normal;
            let new = mirror.image(&problem.gas, nodes, place, &arrived);
            let own = &arrived[2 * place * count..][..2 * count];
            let old = reflection::mirrored(&problem.gas, nodes, normal, own);
            for m in (0..count).filter(|&m| nodes.weight[m] > 0.0) {
                if nodes.vx[m] * normal[0] + nodes.vy[m] * normal[1] > 0.0 {
                    before += (old[m] - value(s, m)).abs();
                    after += (new[m] - value(s, m)).abs();
                    number += 1.0;
                }
            }
        }
        assert!(number > 1000.0);
        // Directions are 0.13 apart, segments turn by about 0.05 each.
        assert!(
            after < 0.4 * before,
            "{} {}",
            after / number,
            before / number
        );
    }
}
