//! Outlines of bodies: closed curves from a first point on, for arc lengths, extents and drawings.

use super::body::{Body, Shape};
use super::level::{Level, Place};

/// Corners of the polygon of an ellipse.
const CORNERS: usize = 720;
/// Points on each of the two sides of an aerofoil.
const STATIONS: usize = 80;

/// A closed curve.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Outline {
    /// A circle from its rightmost point, anticlockwise: centre and radius.
    Circle([f64; 2], f64),
    /// A polygon from its first corner, in the sense of its corners.
    Polygon(Vec<[f64; 2]>),
    /// The curves of a wall that is known by its distance.
    Level(Level),
}

impl Outline {
    /// Least and greatest coordinates.
    pub(super) fn bounds(&self) -> [[f64; 2]; 2] {
        match self {
            Self::Circle([x, y], r) => [[x - r, y - r], [x + r, y + r]],
            Self::Polygon(points) => {
                let mut bounds = [[f64::INFINITY; 2], [f64::NEG_INFINITY; 2]];
                for point in points {
                    for axis in 0..2 {
                        bounds[0][axis] = bounds[0][axis].min(point[axis]);
                        bounds[1][axis] = bounds[1][axis].max(point[axis]);
                    }
                }
                bounds
            }
            Self::Level(level) => level.bounds(),
        }
    }

    /// Curves that it has.
    pub(super) fn curves(&self) -> usize {
        match self {
            Self::Level(level) => level.curves(),
            _ => 1,
        }
    }

    /// The length of the one closed curve that it is.
    pub(super) fn girth(&self) -> Option<f64> {
        match self {
            Self::Circle(_, radius) => Some(std::f64::consts::TAU * radius),
            Self::Polygon(points) => {
                let long = |(a, b): ([f64; 2], [f64; 2])| (b[0] - a[0]).hypot(b[1] - a[1]);
                Some(edges(points).map(long).sum())
            }
            Self::Level(_) => None,
        }
    }

    /// The place on it next to a point.
    pub(super) fn place(&self, point: [f64; 2]) -> Place {
        match self {
            Self::Level(level) => level.place(point),
            _ => {
                let (arc, away) = self.arc(point);
                Place {
                    curve: 0,
                    arc,
                    away,
                }
            }
        }
    }

    /// Arc length from the first point to the point of the curve next to this one, and the distance to it.
    fn arc(&self, [x, y]: [f64; 2]) -> (f64, f64) {
        match self {
            Self::Level(level) => {
                let place = level.place([x, y]);
                (place.arc, place.away)
            }
            Self::Circle([cx, cy], radius) => {
                let (dx, dy) = (x - cx, y - cy);
                let angle = dy.atan2(dx).rem_euclid(std::f64::consts::TAU);
                (radius * angle, (dx.hypot(dy) - radius).abs())
            }
            Self::Polygon(points) => {
                let (mut best, mut begin) = ((0.0, f64::INFINITY), 0.0);
                for (a, b) in edges(points) {
                    let (ex, ey) = (b[0] - a[0], b[1] - a[1]);
                    let long = ex.hypot(ey);
                    let share = ((x - a[0]) * ex + (y - a[1]) * ey) / (long * long);
                    let share = if long > 0.0 {
                        share.clamp(0.0, 1.0)
                    } else {
                        0.0
                    };
                    let away = (x - a[0] - share * ex).hypot(y - a[1] - share * ey);
                    if away < best.1 {
                        best = (begin + share * long, away);
                    }
                    begin += long;
                }
                best
            }
        }
    }
}

/// Edges of a closed polygon.
pub(super) fn edges(points: &[[f64; 2]]) -> impl Iterator<Item = ([f64; 2], [f64; 2])> + '_ {
    let next = points.iter().cycle().skip(1);
    points.iter().copied().zip(next.copied())
}

/// The least rectangle, as least and greatest coordinates, around others; infinite and inside out around none.
pub(super) fn enclosing(all: impl Iterator<Item = [[f64; 2]; 2]>) -> [[f64; 2]; 2] {
    let none = [[f64::INFINITY; 2], [f64::NEG_INFINITY; 2]];
    all.fold(none, |[low, high], [a, b]| {
        [
            [low[0].min(a[0]), low[1].min(a[1])],
            [high[0].max(b[0]), high[1].max(b[1])],
        ]
    })
}

impl Body {
    /// The curves of the outline: one, or that of each circle or part.
    pub(super) fn outlines(&self) -> Vec<Outline> {
        self.shape.outlines()
    }

    /// The point about which angles are taken: the centre, or the mean of corners or of centres.
    pub(super) fn centre(&self) -> [f64; 2] {
        self.shape.centre()
    }

    /// Bounds of each curve of the outline; of solids in space those of the whole.
    pub(super) fn parts(&self) -> Vec<[[f64; 2]; 2]> {
        match self.shape.is_plane() {
            true => self.outlines().iter().map(Outline::bounds).collect(),
            false => vec![self.bounds()],
        }
    }

    /// Least and greatest coordinates.
    pub(super) fn bounds(&self) -> [[f64; 2]; 2] {
        self.shape.bounds()
    }
}

impl Shape {
    /// The curves of the outline: one, or that of each circle or part.
    pub(super) fn outlines(&self) -> Vec<Outline> {
        match self {
            Shape::Circle { centre, radius } => vec![Outline::Circle(*centre, *radius)],
            Shape::Circles { circles, more, .. } => {
                let circle = |&[x, y, radius]: &[f64; 3]| Outline::Circle([x, y], radius);
                circles.iter().chain(more).map(circle).collect()
            }
            Shape::Ellipse {
                centre,
                axes,
                angle,
            } => vec![Outline::Polygon(ellipse(*centre, *axes, *angle))],
            Shape::Rectangle {
                centre,
                size,
                angle,
            } => {
                let corners = [[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]];
                let place = |[x, y]: [f64; 2]| [x * size[0], y * size[1]];
                let points = corners.map(|corner| turned(place(corner), *centre, *angle));
                vec![Outline::Polygon(points.to_vec())]
            }
            Shape::Polygon { points } => vec![Outline::Polygon(points.clone())],
            Shape::Naca {
                code,
                chord,
                centre,
                incidence,
            } => {
                let place =
                    |[x, y]: [f64; 2]| turned([chord * (x - 0.5), chord * y], *centre, -incidence);
                let points = aerofoil(code).unwrap_or_default();
                vec![Outline::Polygon(points.into_iter().map(place).collect())]
            }
            Shape::Mask(raster) | Shape::Distance(raster) => {
                raster.level.iter().cloned().map(Outline::Level).collect()
            }
            Shape::Outline(section) => {
                let curves = section.curves.iter().cloned();
                curves.map(Outline::Polygon).collect()
            }
            Shape::Union { of } | Shape::Difference { of } => {
                of.iter().flat_map(Self::outlines).collect()
            }
            // A surface in space has none.
            Shape::Sphere { .. }
            | Shape::Box { .. }
            | Shape::Cylinder { .. }
            | Shape::Cone { .. }
            | Shape::Stl(_)
            | Shape::Voxels(_) => Vec::new(),
        }
    }

    /// The centre, or the mean of corners or of centres.
    pub(super) fn centre(&self) -> [f64; 2] {
        fn mean<const N: usize>(points: &[[f64; N]]) -> [f64; 2] {
            let sum = |axis: usize| points.iter().map(|point| point[axis]).sum::<f64>();
            [0, 1].map(|axis| sum(axis) / points.len() as f64)
        }
        match self {
            Shape::Circle { centre, .. }
            | Shape::Ellipse { centre, .. }
            | Shape::Rectangle { centre, .. }
            | Shape::Naca { centre, .. } => *centre,
            Shape::Polygon { points } => mean(points),
            Shape::Circles { circles, more, .. } => mean(&[&circles[..], more].concat()),
            Shape::Mask(raster) | Shape::Distance(raster) => {
                raster.level.as_ref().map_or([0.0; 2], Level::centre)
            }
            Shape::Outline(section) => mean(&section.curves.concat()),
            Shape::Union { of } | Shape::Difference { of } => {
                of.first().map_or([0.0; 2], Self::centre)
            }
            Shape::Sphere { .. }
            | Shape::Box { .. }
            | Shape::Cylinder { .. }
            | Shape::Cone { .. }
            | Shape::Stl(_)
            | Shape::Voxels(_) => {
                let [x, y, _] = self.centre_in_space();
                [x, y]
            }
        }
    }

    /// Least and greatest coordinates along x and y; of a difference those of the first part.
    pub(super) fn bounds(&self) -> [[f64; 2]; 2] {
        match self {
            Shape::Difference { of } => of.first().map(Self::bounds).unwrap_or_default(),
            Shape::Union { of } => enclosing(of.iter().map(Self::bounds)),
            _ if self.is_plane() => enclosing(self.outlines().iter().map(Outline::bounds)),
            _ => self.bounds_in_space().map(|[x, y, _]| [x, y]),
        }
    }
}

/// A point about the origin, turned by degrees and moved to a centre.
fn turned([x, y]: [f64; 2], centre: [f64; 2], degrees: f64) -> [f64; 2] {
    let (sin, cos) = sin_cos(degrees);
    [centre[0] + cos * x - sin * y, centre[1] + sin * x + cos * y]
}

/// Sine and cosine of degrees, exact for multiples of 90.
pub(super) fn sin_cos(degrees: f64) -> (f64, f64) {
    let quarter = degrees / 90.0;
    if quarter != quarter.round() {
        return degrees.to_radians().sin_cos();
    }
    match (quarter as i64).rem_euclid(4) {
        0 => (0.0, 1.0),
        1 => (1.0, 0.0),
        2 => (0.0, -1.0),
        _ => (-1.0, 0.0),
    }
}

/// Points of an ellipse from the end of its first axis, anticlockwise.
fn ellipse(centre: [f64; 2], axes: [f64; 2], angle: f64) -> Vec<[f64; 2]> {
    let point = |k: usize| {
        let (sin, cos) = (std::f64::consts::TAU * k as f64 / CORNERS as f64).sin_cos();
        turned([0.5 * axes[0] * cos, 0.5 * axes[1] * sin], centre, angle)
    };
    (0..CORNERS).map(point).collect()
}

/// An aerofoil of the NACA four-digit series with a closed trailing edge, of chord 1 from 0, from the trailing edge over the upper side to the nose and back;
/// none without four digits, without thickness, or with camber at no place.
pub(super) fn aerofoil(code: &str) -> Option<Vec<[f64; 2]>> {
    let digits: Vec<u32> = code
        .chars()
        .map(|c| c.to_digit(10))
        .collect::<Option<_>>()?;
    let [m, p, t, u] = digits[..] else {
        return None;
    };
    let (camber, place) = (f64::from(m) / 100.0, f64::from(p) / 10.0);
    let thickness = f64::from(10 * t + u) / 100.0;
    if thickness == 0.0 || (m > 0) != (p > 0) {
        return None;
    }
    let half = |x: f64| {
        let series = 0.2969 * x.sqrt() + x * (-0.1260 + x * (-0.3516 + x * (0.2843 - 0.1036 * x)));
        5.0 * thickness * series
    };
    let middle = |x: f64| match place {
        0.0 => 0.0,
        p if x < p => camber / (p * p) * (2.0 * p * x - x * x),
        p => camber / (1.0 - p).powi(2) * (1.0 - 2.0 * p + 2.0 * p * x - x * x),
    };
    // Closer at both ends.
    let station =
        |k: usize| 0.5 * (1.0 - (std::f64::consts::PI * k as f64 / (STATIONS - 1) as f64).cos());
    let upper = (0..STATIONS).rev().map(station);
    let lower = (1..STATIONS - 1).map(station);
    let upper = upper.map(|x| [x, middle(x) + half(x)]);
    Some(
        upper
            .chain(lower.map(|x| [x, middle(x) - half(x)]))
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(text: &str) -> Body {
        serde_json::from_str(text).expect("a body")
    }

    #[test]
    fn arcs_begin_at_the_first_point() {
        let circle = body(r#"{"shape": "circle", "centre": [1, 0], "radius": 2}"#);
        let (arc, away) = circle.outlines()[0].arc([1.0, 2.5]);
        assert!((arc - std::f64::consts::PI).abs() < 1e-14 && (away - 0.5).abs() < 1e-14);
        let square = body(r#"{"shape": "rectangle", "size": [2, 4]}"#);
        assert_eq!(square.bounds(), [[-1.0, -2.0], [1.0, 2.0]]);
        assert_eq!(square.outlines()[0].arc([1.25, 1.0]), (5.0, 0.25));
        assert_eq!(square.outlines()[0].arc([-1.0, -1.0]), (11.0, 0.0));
        let turned = body(r#"{"shape": "rectangle", "size": [2, 4], "angle": 90}"#);
        assert!((turned.bounds()[1][0] - 2.0).abs() < 1e-14);
    }

    #[test]
    fn aerofoils_are_thick_where_the_series_says() {
        let points = aerofoil("0012").expect("a code");
        let widest = points.iter().map(|p| p[1]).fold(0.0, f64::max);
        assert!((widest - 0.06).abs() < 2e-5, "{widest}");
        // The line of camber of 2412 rises to 2% at 40%.
        let cambered = aerofoil("2412").expect("a code");
        let count = cambered.len();
        let between = |k: usize| 0.5 * (cambered[k][1] + cambered[count - k][1]);
        let highest = (1..STATIONS - 1).map(between).fold(0.0, f64::max);
        assert!((highest - 0.02).abs() < 1e-5, "{highest}");
        for wrong in ["012", "00120", "001x", "0000", "2012", "0412"] {
            assert!(aerofoil(wrong).is_none(), "{wrong}");
        }
    }
}
