//! Extents and centres of bodies in space.

use crate::flow::{Body, Shape};

impl Body {
    /// Least and greatest coordinates; infinite along z for shapes of the plane.
    pub(in crate::flow) fn bounds_in_space(&self) -> [[f64; 3]; 2] {
        self.shape.bounds_in_space()
    }
}

impl Shape {
    /// Whether it is one of the plane, which goes on along z without end.
    pub(in crate::flow) fn is_plane(&self) -> bool {
        match self {
            Self::Union { of } | Self::Difference { of } => of.iter().all(Self::is_plane),
            Self::Circle { .. }
            | Self::Ellipse { .. }
            | Self::Rectangle { .. }
            | Self::Polygon { .. }
            | Self::Naca { .. }
            | Self::Circles { .. }
            | Self::Mask(_)
            | Self::Distance(_)
            | Self::Outline(_) => true,
            Self::Sphere { .. }
            | Self::Box { .. }
            | Self::Cylinder { .. }
            | Self::Cone { .. }
            | Self::Stl(_)
            | Self::Voxels(_) => false,
        }
    }

    /// Least and greatest coordinates; of a difference those of the first part.
    pub(in crate::flow) fn bounds_in_space(&self) -> [[f64; 3]; 2] {
        let none = [[f64::INFINITY; 3], [f64::NEG_INFINITY; 3]];
        match self {
            Self::Union { of } => of.iter().map(Self::bounds_in_space).fold(none, enclosing),
            Self::Difference { of } => of.first().map_or(none, Self::bounds_in_space),
            Self::Sphere { centre, radius } => about(*centre, [*radius; 3]),
            Self::Box {
                centre,
                size,
                angle,
            } => {
                let (sin, cos) = crate::flow::outline::sin_cos(*angle);
                let [a, b, c] = size.map(|side| 0.5 * side);
                let [sin, cos] = [sin.abs(), cos.abs()];
                about(*centre, [cos * a + sin * b, sin * a + cos * b, c])
            }
            Self::Cylinder { ends, radius } => of_discs(*ends, [*radius; 2]),
            Self::Cone { ends, radii } => of_discs(*ends, *radii),
            Self::Stl(stl) => stl
                .surface
                .as_ref()
                .map_or(none, |surface| surface.bounds()),
            Self::Voxels(voxels) => voxels.wall.as_ref().map_or(none, |wall| wall.bounds()),
            _ => {
                let [[left, bottom], [right, top]] = self.bounds();
                [
                    [left, bottom, f64::NEG_INFINITY],
                    [right, top, f64::INFINITY],
                ]
            }
        }
    }

    /// The point that moments refer to: the centre or centroid, of cones the middle of their axis; at z = 0 for shapes of the plane.
    pub(in crate::flow) fn centre_in_space(&self) -> [f64; 3] {
        match self {
            Self::Sphere { centre, .. } | Self::Box { centre, .. } => *centre,
            Self::Cylinder { ends: [a, b], .. } | Self::Cone { ends: [a, b], .. } => {
                [0, 1, 2].map(|k| 0.5 * (a[k] + b[k]))
            }
            Self::Stl(stl) => stl.surface.as_ref().map_or([0.0; 3], |of| of.centre()),
            Self::Voxels(voxels) => voxels.wall.as_ref().map_or([0.0; 3], |of| of.centre()),
            Self::Union { of } | Self::Difference { of } if !self.is_plane() => {
                of.first().map_or([0.0; 3], Self::centre_in_space)
            }
            _ => {
                let [x, y] = self.centre();
                [x, y, 0.0]
            }
        }
    }
}

/// The extents about a centre.
fn about(centre: [f64; 3], half: [f64; 3]) -> [[f64; 3]; 2] {
    [-1.0, 1.0].map(|side| super::vector::plus(centre, side, half))
}

/// The extents of two discs across the line of their middles.
fn of_discs(ends: [[f64; 3]; 2], radii: [f64; 2]) -> [[f64; 3]; 2] {
    let axis = super::vector::minus(ends[1], ends[0]);
    let length = super::vector::norm(axis);
    // The extent of a disc along an axis is its radius times the sine of the angle between both.
    let sines = [0, 1, 2].map(|k| {
        let [a, b] = [axis[(k + 1) % 3], axis[(k + 2) % 3]];
        a.hypot(b) / length
    });
    let of_disc = |k: usize| about(ends[k], sines.map(|sine| radii[k] * sine));
    enclosing(of_disc(0), of_disc(1))
}

/// The extents of two.
fn enclosing(a: [[f64; 3]; 2], b: [[f64; 3]; 2]) -> [[f64; 3]; 2] {
    [
        [0, 1, 2].map(|k| a[0][k].min(b[0][k])),
        [0, 1, 2].map(|k| a[1][k].max(b[1][k])),
    ]
}

#[cfg(test)]
mod tests {
    use crate::flow::Body;

    fn body(text: &str) -> Body {
        toml::from_str(text).expect("a body")
    }

    #[test]
    fn extents_are_those_of_the_solids() {
        let cases = [
            ("shape = \"sphere\"\nradius = 0.5", [[-0.5; 3], [0.5; 3]]),
            (
                "shape = \"box\"\nsize = [1.0, 2.0, 3.0]\nangle = 90.0",
                [[-1.0, -0.5, -1.5], [1.0, 0.5, 1.5]],
            ),
            (
                "shape = \"cone\"\nends = [[0.0, 0.0, 0.0], [2.0, 0.0, 0.0]]\nradii = [0.5, 0.0]",
                [[0.0, -0.5, -0.5], [2.0, 0.5, 0.5]],
            ),
            (
                "shape = \"cylinder\"\nends = [[0.0, 0.0, 0.0], [3.0, 4.0, 0.0]]\nradius = 1.0",
                [[-0.8, -0.6, -1.0], [3.8, 4.6, 1.0]],
            ),
        ];
        for (text, bounds) in cases {
            let found = body(text).bounds_in_space();
            let pairs = found.iter().flatten().zip(bounds.iter().flatten());
            assert!(
                pairs.clone().all(|(a, b)| (a - b).abs() < 1e-14),
                "{text}: {found:?}"
            );
            assert!(!body(text).shape.is_plane());
        }
        let circle = body("shape = \"circle\"\nradius = 1.0");
        assert_eq!(circle.bounds_in_space()[1], [1.0, 1.0, f64::INFINITY]);
        assert!(circle.shape.is_plane());
    }
}
