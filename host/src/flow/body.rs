//! Bodies: shapes, and the walls that they have.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::accommodation::Accommodation;
use super::along::Along;
use super::level::Level;
use super::samples::{Samples, VoxelSamples};
use super::vector::Vector;
use super::volume::{Surface, VoxelWall};

/// A body with its wall.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Body {
    /// Its name in the results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its outline.
    #[serde(flatten)]
    pub shape: Shape,
    /// The gas is inside.
    #[serde(default)]
    pub hollow: bool,
    /// Temperature of the wall: 1, or 0 in linearised cases, without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<Along>,
    /// Velocity of the wall, of which only the part along it acts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub velocity: Option<Vector>,
    /// Angular velocity of the wall about the body's centre, in space about the axis along z through it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rotation: Option<f64>,
    /// Speed of the wall along `(-n_y, n_x)`, n into the gas: anticlockwise on a solid body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed: Option<Along>,
    /// Reflection of the molecules: all are emitted anew without it.
    #[serde(default)]
    pub accommodation: Accommodation,
}

/// The outline of a body in a plane, or its surface in space.
///
/// In space a shape of the plane goes on along z without end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "shape", rename_all = "lowercase")]
pub enum Shape {
    /// A circle.
    Circle {
        /// Its centre.
        #[serde(default)]
        centre: [f64; 2],
        /// Its radius.
        radius: f64,
    },
    /// An ellipse.
    Ellipse {
        /// Its centre.
        #[serde(default)]
        centre: [f64; 2],
        /// Whole lengths of its axes.
        axes: [f64; 2],
        /// Angle by which it is turned.
        #[serde(default)]
        angle: f64,
    },
    /// A rectangle.
    Rectangle {
        /// Its centre.
        #[serde(default)]
        centre: [f64; 2],
        /// Whole lengths of its sides.
        size: [f64; 2],
        /// Angle by which it is turned.
        #[serde(default)]
        angle: f64,
    },
    /// A polygon, in either sense.
    Polygon {
        /// Its corners.
        points: Vec<[f64; 2]>,
    },
    /// An aerofoil of the NACA four-digit series, nose to the left.
    Naca {
        /// The four digits.
        code: String,
        /// Length of the chord.
        #[serde(default = "one")]
        chord: f64,
        /// Middle of the chord.
        #[serde(default)]
        centre: [f64; 2],
        /// Angle of incidence: the nose is turned upwards by it.
        #[serde(default)]
        incidence: f64,
    },
    /// The union of many circles `[x, y, radius]`, such as the grains of a porous medium.
    Circles {
        /// Centres and radii.
        #[serde(default)]
        circles: Vec<[f64; 3]>,
        /// A table of further ones, with three columns.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file: Option<PathBuf>,
        /// Those of the table, once it was read.
        #[serde(skip)]
        more: Vec<[f64; 3]>,
    },
    /// Pixels, of which those that are true or dark are solid.
    Mask(Raster),
    /// Distances from the wall at the points of a square grid, positive in the gas.
    Distance(Raster),
    /// The section of a closed surface in space, from an STL file.
    Outline(Section),
    /// A sphere in space.
    Sphere {
        /// Its centre.
        #[serde(default)]
        centre: [f64; 3],
        /// Its radius.
        radius: f64,
    },
    /// A box in space.
    Box {
        /// Its centre.
        #[serde(default)]
        centre: [f64; 3],
        /// Whole lengths of its sides.
        size: [f64; 3],
        /// Angle by which it is turned about z.
        #[serde(default)]
        angle: f64,
    },
    /// A round cylinder in space, closed at its ends.
    Cylinder {
        /// Middles of its two ends.
        ends: [[f64; 3]; 2],
        /// Its radius.
        radius: f64,
    },
    /// A round cone in space, whole or cut off, closed at its ends.
    Cone {
        /// Middles of its two ends.
        ends: [[f64; 3]; 2],
        /// Radii of its two ends, of which one may be 0.
        radii: [f64; 2],
    },
    /// A closed surface in space from an STL file.
    Stl(Stl),
    /// Voxels in space, of which those that are true are solid.
    Voxels(Voxels),
    /// All of several shapes.
    Union {
        /// The shapes.
        of: Vec<Self>,
    },
    /// The first of several shapes without the others.
    Difference {
        /// The shapes.
        of: Vec<Self>,
    },
}

/// An array of samples in the plane.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Raster {
    /// The array as `.npy`, indexed `[iy][ix]`, or of masks an image: as `.png`, whose first row is the upper one, or as `.vti` of one layer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// The array of a `.vti` file that has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub array: Option<String>,
    /// Lower left corner of the first pixel of a mask; the first point of distances. That of a `.vti` file without it, else zero.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<[f64; 2]>,
    /// Width of a pixel, or of the grid of points. That of a `.vti` file without it; with it the file's unit of length changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spacing: Option<f64>,
    /// The array, where a program has it.
    #[serde(skip)]
    pub samples: Option<Samples>,
    /// The wall that follows from it.
    #[serde(skip)]
    pub(in crate::flow) level: Option<Level>,
}

impl Raster {
    /// Samples from an origin on.
    pub fn new(samples: Samples, origin: [f64; 2], spacing: f64) -> Self {
        Self {
            file: None,
            array: None,
            origin: Some(origin),
            spacing: Some(spacing),
            samples: Some(samples),
            level: None,
        }
    }
}

/// The section of a closed surface by a plane.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Section {
    /// The surface as STL, binary or ASCII.
    pub file: PathBuf,
    /// The length of a unit of the file.
    #[serde(default = "one")]
    pub scale: f64,
    /// The plane, in units of the file; at half the height of the surface without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub z: Option<f64>,
    /// The place of the file's zero.
    #[serde(default)]
    pub origin: [f64; 2],
    /// Closed curves of the section; a point between an odd number of them is solid.
    #[serde(skip)]
    pub(in crate::flow) curves: Vec<Vec<[f64; 2]>>,
}

/// A closed surface in space.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stl {
    /// The surface as STL, binary or ASCII.
    pub file: PathBuf,
    /// The length of a unit of the file.
    #[serde(default = "one")]
    pub scale: f64,
    /// The place of the file's zero.
    #[serde(default)]
    pub origin: [f64; 3],
    /// The surface in its place, once it was read.
    #[serde(skip)]
    pub(in crate::flow) surface: Option<Surface>,
}

/// An array of voxels in space.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Voxels {
    /// The array as `.npy`, indexed `[iz][iy][ix]`, or an image of VTK as `.vti`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// The array of a `.vti` file that has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub array: Option<String>,
    /// Lower left back corner of the first voxel. That of a `.vti` file without it, else zero.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<[f64; 3]>,
    /// Width of a voxel. That of a `.vti` file without it; with it the file's unit of length changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spacing: Option<f64>,
    /// The array, where a program has it.
    #[serde(skip)]
    pub samples: Option<VoxelSamples>,
    /// The wall that follows from it.
    #[serde(skip)]
    pub(in crate::flow) wall: Option<VoxelWall>,
}

impl Voxels {
    /// Voxels from an origin on.
    pub fn new(samples: VoxelSamples, origin: [f64; 3], spacing: f64) -> Self {
        Self {
            file: None,
            array: None,
            origin: Some(origin),
            spacing: Some(spacing),
            samples: Some(samples),
            wall: None,
        }
    }
}

fn one() -> f64 {
    1.0
}
