//! Cut cells from a signed distance: types, volumes, open faces and wall segments.
//!
//! The normal and the length of a segment follow from the open faces, `N L = (A_E - A_W, A_N - A_S)`, so that a uniform stream stays uniform
//! and mass is conserved to roundoff whatever the cell's form is.

use rayon::prelude::*;

use super::closure::{Closure, Face};
use super::pockets;
use super::{Bodies, CellOf, FACES, Kind, PartOf, Segment, Space};
use crate::error::{Error, Result};

/// A corner of a cell nearer to a wall than this share of the least width is solid, so that no corner lies on a wall.
pub(in crate::flow) const ON_WALL: f64 = 1e-6;

/// Least distance of a crossing from the ends of its edge, in the edge's length.
pub(in crate::flow) const OFF_ENDS: f64 = 1e-9;

/// Most evaluations of the distance for one crossing.
const EVALUATIONS: usize = 60;

/// The grid of these edges with the cells that the bodies cut.
///
/// # Errors
/// A body that cuts no cell, and a domain without gas.
pub(in crate::flow) fn build(x: Vec<f64>, y: Vec<f64>, bodies: &Bodies) -> Result<Space> {
    let (nx, ny) = (x.len() - 1, y.len() - 1);
    let width = |edges: &[f64]| {
        let widths = edges.windows(2).map(|pair| pair[1] - pair[0]);
        widths.fold(f64::INFINITY, f64::min)
    };
    let least = width(&x).min(width(&y));
    let mut grid = Corners {
        bodies,
        phi: (0..(nx + 1) * (ny + 1))
            .into_par_iter()
            .map(|k| {
                let distance = bodies.distance([x[k % (nx + 1)], y[k / (nx + 1)]]);
                if distance.abs() < ON_WALL * least {
                    -ON_WALL * least
                } else {
                    distance
                }
            })
            .collect(),
        x: &x,
        y: &y,
        solid: -ON_WALL * least,
    };
    let filled = grid.fill_saddles();
    let mut cells: Vec<CellOf> = (0..nx * ny)
        .into_par_iter()
        .map(|cell| grid.cell(cell % nx, cell / nx))
        .collect();
    let hole = pockets::fill(nx, &mut cells);

    let mut space = Space {
        kind: Vec::with_capacity(nx * ny),
        volume: Vec::with_capacity(nx * ny),
        open: Vec::with_capacity(nx * ny),
        middles: Vec::with_capacity(nx * ny),
        centroid: Vec::with_capacity(nx * ny),
        segments: Vec::new(),
        first: Vec::with_capacity(nx * ny),
        closures: Vec::new(),
        warnings: Vec::new(),
        x: x.clone(),
        y: y.clone(),
    };
    let mut crowded = None;
    for (index, cell) in cells.into_iter().enumerate() {
        space.kind.push(cell.kind);
        space.volume.push(cell.volume);
        space.open.push(cell.open);
        space.middles.push(cell.middles);
        space.centroid.push(cell.centroid);
        space.first.push(match cell.segments.is_empty() {
            true => usize::MAX,
            false => space.segments.len(),
        });
        if cell.crowded && crowded.is_none() {
            crowded = Some(cell.centroid);
        }
        let closure = closure_of(&cell);
        for segment in cell.segments {
            space.segments.push(Segment {
                cell: index,
                ..segment
            });
            space.closures.push(closure.clone());
        }
    }
    if !space.kind.iter().any(|kind| *kind != Kind::Solid) {
        return Err(Error::invalid(
            "body",
            "all of the domain is solid",
            "bodies that leave gas in the domain; `hollow = true` puts the gas inside of one",
        ));
    }
    for body in 0..bodies.obstacles.len() {
        if !space.segments.iter().any(|segment| segment.body == body) {
            return Err(Error::invalid(
                format!("body {}", body + 1),
                "no cell is cut by it",
                format!(
                    "a body in the domain that is wider than its cells, which are {least} here"
                ),
            ));
        }
    }
    if let Some([a, b]) = filled {
        space.warnings.push(format!(
            "two walls pass through the cell at ({a:.4}, {b:.4}), whose gap is closed; cells of {:.2e} would resolve it",
            0.5 * least
        ));
    }
    if let Some([a, b]) = hole {
        space.warnings.push(format!(
            "a hole of a few cells at ({a:.4}, {b:.4}) is closed off from all other gas and is taken as solid; cells of {:.2e} would resolve it, a body without it needs none",
            0.25 * least
        ));
    }
    if let Some([a, b]) = crowded {
        space.warnings.push(format!(
            "the cell at ({a:.4}, {b:.4}) has several corners of bodies, of which one counts; cells of {:.2e} would part them",
            0.5 * least
        ));
    }
    Ok(space)
}

/// The linear closure of a cell with one segment.
fn closure_of(cell: &CellOf) -> Closure {
    let (Kind::Cut, [segment]) = (cell.kind, cell.segments.as_slice()) else {
        return Closure::default();
    };
    let from = |p: [f64; 2]| [p[0] - cell.centroid[0], p[1] - cell.centroid[1]];
    let faces = std::array::from_fn(|k| Face {
        middle: from(cell.middles[k]),
        length: cell.open[k],
    });
    let wall = Face {
        middle: from(segment.point),
        length: segment.length,
    };
    Closure::new(faces, wall)
}

/// Signed distances at the corners of the cells.
struct Corners<'a> {
    bodies: &'a Bodies,
    phi: Vec<f64>,
    x: &'a [f64],
    y: &'a [f64],
    /// The distance of a corner that is made solid.
    solid: f64,
}

impl Corners<'_> {
    /// Numbers of the corners of a cell: south west, south east, north east, north west.
    fn of_cell(&self, i: usize, j: usize) -> [usize; 4] {
        let row = self.x.len();
        let first = j * row + i;
        [first, first + 1, first + row + 1, first + row]
    }

    fn point(&self, corner: usize) -> [f64; 2] {
        [self.x[corner % self.x.len()], self.y[corner / self.x.len()]]
    }

    /// Makes solid the gas corner nearest to the wall of each cell with gas at two opposite corners alone. Returns the middle of the first one.
    fn fill_saddles(&mut self) -> Option<[f64; 2]> {
        let mut first = None;
        loop {
            let mut changed = false;
            for j in 0..self.y.len() - 1 {
                for i in 0..self.x.len() - 1 {
                    let corners = self.of_cell(i, j);
                    let gas = corners.map(|k| self.phi[k] > 0.0);
                    if gas[0] != gas[2] || gas[1] != gas[3] || gas[0] == gas[1] {
                        continue;
                    }
                    let nearest = corners
                        .into_iter()
                        .filter(|&k| self.phi[k] > 0.0)
                        .min_by(|&a, &b| self.phi[a].total_cmp(&self.phi[b]));
                    if let Some(corner) = nearest {
                        first.get_or_insert([
                            0.5 * (self.x[i] + self.x[i + 1]),
                            0.5 * (self.y[j] + self.y[j + 1]),
                        ]);
                        self.phi[corner] = self.solid;
                        changed = true;
                    }
                }
            }
            if !changed {
                return first;
            }
        }
    }

    /// Where the wall crosses an edge of the grid: the same point for both cells of the edge.
    fn crossing(&self, a: usize, b: usize) -> [f64; 2] {
        let (a, b) = (a.min(b), a.max(b));
        let (p, q) = (self.point(a), self.point(b));
        let at = |t: f64| [p[0] + t * (q[0] - p[0]), p[1] + t * (q[1] - p[1])];
        at(root([self.phi[a], self.phi[b]], |t| {
            self.bodies.distance(at(t))
        }))
    }

    fn cell(&self, i: usize, j: usize) -> CellOf {
        let corners = self.of_cell(i, j);
        let points = corners.map(|k| self.point(k));
        let gas = corners.map(|k| self.phi[k] > 0.0);
        let [dx, dy] = [self.x[i + 1] - self.x[i], self.y[j + 1] - self.y[j]];
        let middle = |a: [f64; 2], b: [f64; 2]| [0.5 * (a[0] + b[0]), 0.5 * (a[1] + b[1])];
        // West, east, south, north as pairs of corners.
        let middles = [(3, 0), (1, 2), (0, 1), (2, 3)].map(|(a, b)| middle(points[a], points[b]));
        let mut cell = CellOf {
            kind: Kind::Full,
            volume: dx * dy,
            open: [dy, dy, dx, dx],
            middles,
            centroid: middle(points[0], points[2]),
            segments: Vec::new(),
            crowded: false,
        };
        if gas.iter().all(|&gas| gas) {
            return cell;
        }
        if !gas.iter().any(|&gas| gas) {
            cell.kind = Kind::Solid;
            cell.volume = 0.0;
            cell.open = [0.0; FACES];
            return cell;
        }
        // The polygon of the gas, anticlockwise; the wall goes from `leave` to `enter`.
        let mut polygon = Vec::with_capacity(6);
        let (mut leave, mut enter) = ([0.0; 2], [0.0; 2]);
        let mut behind_leave = 0;
        for k in 0..4 {
            let next = (k + 1) % 4;
            // The sides in the order of the corners: south, east, north, west.
            let face = [2, 1, 3, 0][k];
            if gas[k] {
                polygon.push(points[k]);
            }
            if gas[k] != gas[next] {
                let crossing = self.crossing(corners[k], corners[next]);
                polygon.push(crossing);
                let end = if gas[k] { points[k] } else { points[next] };
                cell.open[face] = (crossing[0] - end[0]).hypot(crossing[1] - end[1]);
                cell.middles[face] = middle(crossing, end);
                if gas[k] {
                    leave = crossing;
                    behind_leave = polygon.len();
                } else {
                    enter = crossing;
                }
            } else if !gas[k] {
                cell.open[face] = 0.0;
            }
        }
        let [lower, upper] = [points[0], points[2]];
        let (corner, crowded) = self.corner([lower, upper], [leave, enter]);
        cell.crowded = crowded;
        if let Some(corner) = corner {
            polygon.insert(behind_leave, corner);
        }
        (cell.volume, cell.centroid) = area_and_centroid(&polygon);
        let piece = |a: [f64; 2], b: [f64; 2]| {
            let length = (b[0] - a[0]).hypot(b[1] - a[1]);
            let point = middle(a, b);
            Segment {
                cell: 0,
                length,
                normal: [(a[1] - b[1]) / length, (b[0] - a[0]) / length],
                point,
                body: self.bodies.nearest(point).body,
            }
        };
        match corner {
            Some(corner) if cell.volume > 0.0 => {
                cell.kind = Kind::Corner;
                cell.segments = vec![piece(leave, corner), piece(corner, enter)];
            }
            _ => {
                cell.kind = Kind::Cut;
                let whole = [cell.open[1] - cell.open[0], cell.open[3] - cell.open[2]];
                let length = whole[0].hypot(whole[1]);
                cell.segments = vec![Segment {
                    length,
                    normal: whole.map(|part| part / length),
                    ..piece(leave, enter)
                }];
            }
        }
        cell
    }

    /// The corner of a body, or the meeting point of two, in a cut cell, and whether others were left out.
    fn corner(
        &self,
        [lower, upper]: [[f64; 2]; 2],
        [leave, enter]: [[f64; 2]; 2],
    ) -> (Option<[f64; 2]>, bool) {
        let size = (upper[0] - lower[0]).min(upper[1] - lower[1]);
        let margin = 1e-6 * size;
        let inside =
            |p: &[f64; 2]| (0..2).all(|k| p[k] > lower[k] + margin && p[k] < upper[k] - margin);
        let mut found: Vec<[f64; 2]> = Vec::new();
        for obstacle in &self.bodies.obstacles {
            for &corner in obstacle.corners() {
                let images = self.bodies.shifts.iter();
                let images = images.map(|[a, b]| [corner[0] + a, corner[1] + b]);
                // A corner inside of another body is no corner of the gas.
                found.extend(images.filter(|p| {
                    inside(p) && self.bodies.distance(*p).abs() < 1e-9 * size.max(1.0)
                }));
            }
        }
        let parts = [leave, enter].map(|p| self.bodies.nearest(p));
        if parts[0] != parts[1]
            && let Some(meeting) = self.meeting(parts, [leave, enter])
            && inside(&meeting)
        {
            found.push(meeting);
        }
        // The one farthest from the chord matters most.
        let chord = [enter[0] - leave[0], enter[1] - leave[1]];
        let off =
            |p: &[f64; 2]| (chord[0] * (p[1] - leave[1]) - chord[1] * (p[0] - leave[0])).abs();
        let crowded = found.len() > 1;
        let corner = found.into_iter().max_by(|a, b| off(a).total_cmp(&off(b)));
        // A corner on the chord leaves one segment.
        let straight = 1e-9 * size * chord[0].hypot(chord[1]);
        (corner.filter(|p| off(p) > straight), crowded)
    }

    /// Where the walls of two bodies, or of two parts of one, meet, by Newton's method from the middle of the crossings.
    fn meeting(&self, parts: [PartOf; 2], [a, b]: [[f64; 2]; 2]) -> Option<[f64; 2]> {
        let mut p = [0.5 * (a[0] + b[0]), 0.5 * (a[1] + b[1])];
        let size = (b[0] - a[0]).hypot(b[1] - a[1]);
        let step = 1e-6 * size;
        for _ in 0..30 {
            let f = parts.map(|part| self.bodies.distance_of_part(part, p));
            if f[0].abs().max(f[1].abs()) < 1e-12 * size.max(1.0) {
                return Some(p);
            }
            let slope = parts.map(|part| {
                [0, 1].map(|k| {
                    let (mut low, mut high) = (p, p);
                    low[k] -= step;
                    high[k] += step;
                    let f = |p| self.bodies.distance_of_part(part, p);
                    (f(high) - f(low)) / (2.0 * step)
                })
            });
            let determinant = slope[0][0] * slope[1][1] - slope[0][1] * slope[1][0];
            if determinant.abs() < 1e-3 {
                return None;
            }
            p[0] -= (f[0] * slope[1][1] - f[1] * slope[0][1]) / determinant;
            p[1] -= (slope[0][0] * f[1] - slope[1][0] * f[0]) / determinant;
        }
        None
    }
}

/// The share of an edge at which a wall crosses it, by regula falsi with Illinois' halving, away from its ends.
///
/// The distances at the ends are of two signs, and may be those of corners that were made solid.
pub(in crate::flow) fn root(ends: [f64; 2], distance: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    let [mut f_low, mut f_high] = ends;
    for _ in 0..EVALUATIONS {
        if high - low < 1e-14 {
            break;
        }
        let t = (low * f_high - high * f_low) / (f_high - f_low);
        let t = if t > low && t < high {
            t
        } else {
            0.5 * (low + high)
        };
        let f = distance(t);
        if f == 0.0 {
            (low, high) = (t, t);
        } else if (f > 0.0) == (f_low > 0.0) {
            (low, f_low) = (t, f);
            f_high *= 0.5;
        } else {
            (high, f_high) = (t, f);
            f_low *= 0.5;
        }
    }
    (0.5 * (low + high)).clamp(OFF_ENDS, 1.0 - OFF_ENDS)
}

/// Area and centroid of a polygon in anticlockwise order; the mean of the corners where the area vanishes.
pub(in crate::flow) fn area_and_centroid(polygon: &[[f64; 2]]) -> (f64, [f64; 2]) {
    let count = polygon.len();
    let origin = polygon[0];
    let (mut area, mut moment) = (0.0, [0.0; 2]);
    for k in 0..count {
        let [p, q] =
            [polygon[k], polygon[(k + 1) % count]].map(|p| [p[0] - origin[0], p[1] - origin[1]]);
        let cross = p[0] * q[1] - q[0] * p[1];
        area += 0.5 * cross;
        for d in 0..2 {
            moment[d] += (p[d] + q[d]) * cross / 6.0;
        }
    }
    if area > 0.0 {
        let centroid = [0, 1].map(|d| origin[d] + moment[d] / area);
        (area, centroid)
    } else {
        let mean = |d: usize| polygon.iter().map(|p| p[d]).sum::<f64>() / count as f64;
        (area.max(0.0), [mean(0), mean(1)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::space::Obstacle;

    fn uniform(low: f64, high: f64, cells: usize) -> Vec<f64> {
        (0..=cells)
            .map(|k| low + (high - low) * k as f64 / cells as f64)
            .collect()
    }

    fn obstacle(shape: &str, hollow: bool) -> Obstacle {
        let text = format!("{shape}\nhollow = {hollow}");
        Obstacle::new(&toml::from_str(&text).expect("a body"))
    }

    fn bodies(obstacles: Vec<Obstacle>) -> Bodies {
        Bodies {
            obstacles,
            shifts: vec![[0.0; 2]],
        }
    }

    fn circle([x, y]: [f64; 2], radius: f64) -> String {
        format!("shape = \"circle\"\ncentre = [{x:?}, {y:?}]\nradius = {radius:?}")
    }

    fn square(angle: f64) -> String {
        format!(
            "shape = \"rectangle\"\ncentre = [0.013, 0.007]\nsize = [1.0, 1.0]\nangle = {angle:?}"
        )
    }

    /// Sum of the faces' and segments' area vectors of a cell.
    fn gap(space: &Space, cell: usize) -> f64 {
        let open = space.open[cell];
        let mut sum = [open[1] - open[0], open[3] - open[2]];
        for k in space.segments_of(cell) {
            let segment = &space.segments[k];
            for (sum, normal) in sum.iter_mut().zip(segment.normal) {
                *sum -= segment.length * normal;
            }
        }
        sum[0].hypot(sum[1])
    }

    #[test]
    fn cells_about_a_circle_are_closed_and_share_faces() {
        for shift in [0.0, 1e-7, 1e-3, 0.013, 0.05] {
            let bodies = bodies(vec![obstacle(&circle([shift, 0.3 * shift], 0.5), false)]);
            let space = build(uniform(-1.0, 1.0, 40), uniform(-1.0, 1.0, 40), &bodies).unwrap();
            let mut solid = 4.0;
            for cell in 0..space.len() {
                assert!(gap(&space, cell) < 1e-14);
                solid -= space.volume[cell];
                if cell % 40 < 39 {
                    assert_eq!(space.open[cell][1], space.open[cell + 1][0]);
                }
                if cell < 39 * 40 {
                    assert_eq!(space.open[cell][3], space.open[cell + 40][2]);
                }
            }
            // Chords lose h^2/6 of the area's second derivative: about 1e-3 here.
            let area = 0.25 * std::f64::consts::PI;
            assert!((solid / area - 1.0).abs() < 3e-3, "{shift}: {solid}");
        }
    }

    #[test]
    fn corners_inside_cells_have_two_segments() {
        for hollow in [false, true] {
            let bodies = bodies(vec![obstacle(&square(0.0), hollow)]);
            let space = build(uniform(-1.0, 1.0, 30), uniform(-1.0, 1.0, 30), &bodies).unwrap();
            let corners = space.kind.iter().filter(|k| **k == Kind::Corner).count();
            assert_eq!(corners, 4, "hollow {hollow}");
            check(&space, if hollow { 1.0 } else { 3.0 }, 1e-12);
        }
    }

    #[test]
    fn lines_through_its_corners_resolve_a_turned_square() {
        let lines = obstacle(&square(30.0), false).lines();
        let axis = |k: usize| {
            crate::flow::space::edges([-1.0, 1.0], [-1.0, 1.0], 0.06, 1.0, 1.0, &lines[k])
        };
        for hollow in [false, true] {
            let bodies = bodies(vec![obstacle(&square(30.0), hollow)]);
            let space = build(axis(0), axis(1), &bodies).unwrap();
            check(&space, if hollow { 1.0 } else { 3.0 }, 1e-6);
        }
    }

    /// Closed cells, this volume of gas, and walls of length 4.
    fn check(space: &Space, volume: f64, tolerance: f64) {
        let gas: f64 = space.volume.iter().sum();
        assert!((gas - volume).abs() < tolerance, "{gas}");
        let length: f64 = space.segments.iter().map(|s| s.length).sum();
        assert!((length - 4.0).abs() < tolerance.sqrt() + 1e-12, "{length}");
        assert!((0..space.len()).all(|cell| gap(space, cell) < 1e-14));
    }

    #[test]
    fn two_bodies_meet_in_a_corner() {
        let floor = "shape = \"rectangle\"
centre = [0.0, -0.487]
size = [4.0, 1.0]";
        let bodies = bodies(vec![
            obstacle(floor, false),
            obstacle(&circle([0.021, 0.0], 0.4), false),
        ]);
        let space = build(uniform(-1.0, 1.0, 30), uniform(-1.0, 1.0, 30), &bodies).unwrap();
        let pairs = (0..space.len()).filter(|&cell| space.kind[cell] == Kind::Corner);
        let mut count = 0;
        for cell in pairs {
            let range = space.segments_of(cell);
            assert_ne!(
                space.segments[range.start].body,
                space.segments[range.start + 1].body
            );
            count += 1;
        }
        assert_eq!(count, 2);
    }

    #[test]
    fn a_body_outside_is_refused() {
        let bodies = bodies(vec![obstacle(&circle([5.0, 0.0], 0.5), false)]);
        let error = build(uniform(-1.0, 1.0, 10), uniform(-1.0, 1.0, 10), &bodies).unwrap_err();
        assert!(error.to_string().contains("no cell is cut"), "{error}");
    }
}
