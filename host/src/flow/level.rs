//! A wall as the zero of a signed distance that is known at the points of a square grid, bilinear between them.
//!
//! Its curves, for arc lengths and extents, are the straight pieces of each cell of that grid (marching squares; the value in the middle
//! parts the two pieces of a saddle). The solid is on the left of a curve.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The gas beyond the samples along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Beyond {
    /// Gas all around.
    Gas,
    /// The same as at the border.
    Same,
    /// The samples again.
    Again,
}

/// The point of a curve next to a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Place {
    /// The curve.
    pub(super) curve: usize,
    /// Arc length from its first point.
    pub(super) arc: f64,
    /// Distance from the point.
    pub(super) away: f64,
}

/// The points of a square or cubic grid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Grid<const N: usize> {
    /// The first one.
    pub(super) origin: [f64; N],
    pub(super) spacing: f64,
    pub(super) count: [usize; N],
    pub(super) beyond: [Beyond; N],
}

impl<const N: usize> Grid<N> {
    /// A point in the grid's own units.
    pub(super) fn own(&self, point: [f64; N]) -> [f64; N] {
        std::array::from_fn(|k| (point[k] - self.origin[k]) / self.spacing)
    }

    /// The two samples around a coordinate, the share of the second, and the distance beyond the samples.
    pub(super) fn around(&self, axis: usize, u: f64) -> (usize, usize, f64, f64) {
        let count = self.count[axis];
        if self.beyond[axis] == Beyond::Again {
            let wrapped = u.rem_euclid(count as f64);
            let low = (wrapped as usize).min(count - 1);
            return (low, (low + 1) % count, wrapped - low as f64, 0.0);
        }
        let inside = u.clamp(0.0, (count - 1) as f64);
        let low = (inside as usize).min(count - 2);
        let outside = match self.beyond[axis] {
            Beyond::Gas => (u - inside).abs(),
            _ => 0.0,
        };
        (low, low + 1, inside - low as f64, outside)
    }

    /// Cells between the points along an axis.
    fn cells(&self, axis: usize) -> usize {
        self.count[axis] - usize::from(self.beyond[axis] != Beyond::Again)
    }
}

/// The wall.
#[derive(Clone)]
pub(super) struct Level(Arc<Inner>);

struct Inner {
    grid: Grid<2>,
    phi: Vec<f64>,
    pieces: Vec<Piece>,
    /// The first piece of each cell that has any, and how many it has.
    by_cell: HashMap<[usize; 2], (usize, usize)>,
    curves: usize,
    bounds: [[f64; 2]; 2],
    centre: [f64; 2],
}

/// A piece of a curve in a cell, from the cell's lower corner in units of the spacing.
struct Piece {
    ends: [[f64; 2]; 2],
    curve: usize,
    arc: f64,
}

impl Level {
    /// The wall of these distances; none without solid, or without gas.
    pub(super) fn new(grid: Grid<2>, phi: Vec<f64>) -> Option<Self> {
        let [nx, _] = grid.count;
        let solid = |k: &usize| phi[*k] < 0.0;
        let inside: Vec<usize> = (0..phi.len()).filter(solid).collect();
        if inside.is_empty() || inside.len() == phi.len() {
            return None;
        }
        let mut bounds = [[f64::INFINITY; 2], [f64::NEG_INFINITY; 2]];
        let mut sum = [0.0; 2];
        for &k in &inside {
            for (axis, at) in [k % nx, k / nx].into_iter().enumerate() {
                let x = grid.origin[axis] + grid.spacing * at as f64;
                bounds[0][axis] = bounds[0][axis].min(x - 0.5 * grid.spacing);
                bounds[1][axis] = bounds[1][axis].max(x + 0.5 * grid.spacing);
                sum[axis] += x;
            }
        }
        let mut inner = Inner {
            grid,
            phi,
            pieces: Vec::new(),
            by_cell: HashMap::new(),
            curves: 0,
            bounds,
            centre: sum.map(|sum| sum / inside.len() as f64),
        };
        inner.find_curves();
        Some(Self(Arc::new(inner)))
    }

    /// Whether it was made of this grid.
    pub(super) fn suits(&self, grid: &Grid<2>) -> bool {
        self.0.grid == *grid
    }

    /// Curves of the wall.
    pub(super) fn curves(&self) -> usize {
        self.0.curves
    }

    /// Least and greatest coordinates of the solid.
    pub(super) fn bounds(&self) -> [[f64; 2]; 2] {
        self.0.bounds
    }

    /// Centroid of the solid.
    pub(super) fn centre(&self) -> [f64; 2] {
        self.0.centre
    }

    /// The distance at a point.
    pub(super) fn distance(&self, point: [f64; 2]) -> f64 {
        let Inner { grid, phi, .. } = &*self.0;
        let [u, v] = grid.own(point);
        let (i, ii, s, x) = grid.around(0, u);
        let (j, jj, t, y) = grid.around(1, v);
        let at = |i: usize, j: usize| phi[j * grid.count[0] + i];
        let low = at(i, j) + s * (at(ii, j) - at(i, j));
        let high = at(i, jj) + s * (at(ii, jj) - at(i, jj));
        low + t * (high - low) + grid.spacing * x.hypot(y)
    }

    /// The place on the curves next to a point; infinitely far where none is within a cell or so.
    pub(super) fn place(&self, point: [f64; 2]) -> Place {
        let Inner {
            grid,
            pieces,
            by_cell,
            ..
        } = &*self.0;
        let own = grid.own(point);
        let cell = own.map(|u| u.floor());
        let mut best = Place {
            curve: 0,
            arc: 0.0,
            away: f64::INFINITY,
        };
        for (a, b) in (0..9).map(|k| (f64::from(k % 3 - 1), f64::from(k / 3 - 1))) {
            let corner = [cell[0] + a, cell[1] + b];
            let wrapped = [0, 1].map(|k| match grid.beyond[k] {
                Beyond::Again => corner[k].rem_euclid(grid.count[k] as f64),
                _ => corner[k],
            });
            if wrapped[0] < 0.0 || wrapped[1] < 0.0 {
                continue;
            }
            let Some(&(first, count)) = by_cell.get(&wrapped.map(|u| u as usize)) else {
                continue;
            };
            let local = [own[0] - corner[0], own[1] - corner[1]];
            for piece in &pieces[first..first + count] {
                let [p, q] = piece.ends;
                let (ex, ey) = (q[0] - p[0], q[1] - p[1]);
                let long = ex.hypot(ey).max(f64::MIN_POSITIVE);
                let along = (local[0] - p[0]) * ex + (local[1] - p[1]) * ey;
                let share = (along / (long * long)).clamp(0.0, 1.0);
                let away = (local[0] - p[0] - share * ex).hypot(local[1] - p[1] - share * ey);
                if grid.spacing * away < best.away {
                    best = Place {
                        curve: piece.curve,
                        arc: piece.arc + grid.spacing * share * long,
                        away: grid.spacing * away,
                    };
                }
            }
        }
        best
    }
}

impl PartialEq for Level {
    fn eq(&self, other: &Self) -> bool {
        self.0.grid == other.0.grid && self.0.phi == other.0.phi
    }
}

impl std::fmt::Debug for Level {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [nx, ny] = self.0.grid.count;
        write!(f, "Level[{ny}][{nx}]")
    }
}

impl Inner {
    /// Pieces of all cells, and their places on the curves.
    fn find_curves(&mut self) {
        let [nx, ny] = self.grid.count;
        // By the edge of the grid at which it begins: a piece and the edge at which it ends.
        let mut next: HashMap<usize, (usize, usize)> = HashMap::new();
        for j in 0..self.grid.cells(1) {
            for i in 0..self.grid.cells(0) {
                let corners = [(i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)]
                    .map(|(i, j)| (j % ny) * nx + i % nx);
                let values = corners.map(|k| self.phi[k]);
                let solid = values.map(|value| value < 0.0);
                if solid == [solid[0]; 4] {
                    continue;
                }
                // Edges south, east, north, west by the point that they begin at, and their crossings.
                let edges = [
                    2 * corners[0],
                    2 * corners[1] + 1,
                    2 * corners[3],
                    2 * corners[0] + 1,
                ];
                let crossing = |k: usize| {
                    let (a, b) = (values[k], values[(k + 1) % 4]);
                    let t = a / (a - b);
                    [[t, 0.0], [1.0, t], [1.0 - t, 1.0], [0.0, 1.0 - t]][k]
                };
                // Anticlockwise around the cell: into the solid, and out of it.
                let crossed = |from: bool| {
                    (0..4).filter(move |&k| solid[k] == from && solid[(k + 1) % 4] != from)
                };
                let outs: Vec<usize> = crossed(true).collect();
                let ins: Vec<usize> = crossed(false).collect();
                let middle: f64 = values.iter().sum();
                let first = self.pieces.len();
                for &out in &outs {
                    // The solid is on the left: a piece begins where the cell's border leaves the solid.
                    let step = |k: &&usize| match middle < 0.0 {
                        // Joined solid: the next crossing; parted: the one before.
                        true => (**k + 4 - out) % 4,
                        false => (out + 4 - **k) % 4,
                    };
                    let Some(&end) = ins.iter().min_by_key(step) else {
                        continue;
                    };
                    next.insert(edges[out], (self.pieces.len(), edges[end]));
                    self.pieces.push(Piece {
                        ends: [crossing(out), crossing(end)],
                        curve: usize::MAX,
                        arc: 0.0,
                    });
                }
                self.by_cell
                    .insert([i, j], (first, self.pieces.len() - first));
            }
        }
        self.chain(&next);
    }

    /// Follows the pieces from edge to edge: open curves first from their ends, then closed ones from their lowest cell.
    fn chain(&mut self, next: &HashMap<usize, (usize, usize)>) {
        let ends: HashSet<usize> = next.values().map(|&(_, end)| end).collect();
        let mut begins = vec![0; self.pieces.len()];
        for (&edge, &(piece, _)) in next {
            begins[piece] = edge;
        }
        for open in [true, false] {
            for (first, &begin) in begins.iter().enumerate() {
                if self.pieces[first].curve != usize::MAX || (open && ends.contains(&begin)) {
                    continue;
                }
                let (mut edge, mut arc) = (begin, 0.0);
                while let Some(&(at, end)) = next.get(&edge) {
                    let piece = &mut self.pieces[at];
                    if piece.curve != usize::MAX {
                        break;
                    }
                    (piece.curve, piece.arc) = (self.curves, arc);
                    let [p, q] = piece.ends;
                    arc += self.grid.spacing * (q[0] - p[0]).hypot(q[1] - p[1]);
                    edge = end;
                }
                self.curves += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circles(beyond: Beyond, centres: &[[f64; 2]]) -> Level {
        let grid = Grid {
            origin: [0.0, 0.0],
            spacing: 0.1,
            count: [40, 30],
            beyond: [beyond; 2],
        };
        let shifts = [-1.0, 0.0, 1.0];
        let phi = (0..1200).map(|k| {
            let p = [0.1 * f64::from(k % 40), 0.1 * f64::from(k / 40)];
            let mut least = f64::INFINITY;
            for c in centres {
                for (a, b) in (0..9).map(|k| (shifts[k % 3], shifts[k / 3])) {
                    let away = (p[0] - c[0] + 4.0 * a).hypot(p[1] - c[1] + 3.0 * b);
                    least = least.min(away - 0.5);
                }
            }
            least
        });
        Level::new(grid, phi.collect()).expect("a wall")
    }

    #[test]
    fn curves_have_the_length_of_their_circles() {
        let level = circles(Beyond::Gas, &[[1.0, 1.2], [2.9, 1.7]]);
        assert_eq!(level.curves(), 2);
        // The lowest point of the first circle begins the first curve.
        for (angle, arc) in [(0.0_f64, 0.25), (0.5, 0.5), (1.0, 0.75)] {
            let turn = std::f64::consts::PI * angle;
            let at = [1.0 + 0.5 * turn.cos(), 1.2 + 0.5 * turn.sin()];
            let place = level.place(at);
            assert_eq!(place.curve, 0);
            assert!(place.away < 2e-3, "{place:?}");
            let expected = arc * std::f64::consts::PI;
            assert!((place.arc - expected).abs() < 0.12, "{place:?} {expected}");
            assert!(level.distance(at).abs() < 3e-3);
        }
        assert!((level.distance([4.9, 1.0]) - 1.0).abs() < 1.1);
        assert!(level.distance([1.0, 1.2]) < -0.4);
    }

    #[test]
    fn a_circle_across_the_border_is_one_curve_of_periodic_samples() {
        let level = circles(Beyond::Again, &[[0.0, 0.0]]);
        assert_eq!(level.curves(), 1);
        let arcs: Vec<f64> = (0..100)
            .map(|k| {
                let (sin, cos) = (0.062_831_853 * (f64::from(k) + 0.5)).sin_cos();
                let place = level.place([0.5 * cos, 0.5 * sin]);
                // Chords of 0.14 in a circle of 0.5.
                assert!(place.away < 8e-3, "{place:?}");
                place.arc
            })
            .collect();
        let longest = arcs.iter().copied().fold(0.0, f64::max);
        assert!((longest - std::f64::consts::PI).abs() < 0.05, "{longest}");
        assert!(level.distance([4.0, 3.0]) < -0.4);
        let same = circles(Beyond::Same, &[[0.0, 0.0]]);
        // A quarter at each corner of the samples.
        assert_eq!(same.curves(), 4);
        assert!(same.distance([-9.0, -9.0]) < 0.0);
    }
}
