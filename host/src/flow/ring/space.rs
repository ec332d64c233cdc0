//! Rings: the cells of a plane, turned round its x axis.
//!
//! Volumes, faces and walls are those of the plane, weighted by 2 pi r. The wall of a ring follows from its faces, so that a uniform gas stays uniform:
//! `N W = (A_east - A_west, A_north - A_south - 2 pi P)`, P the area of the cell in the plane.

use std::f64::consts::PI;

use crate::flow::rings::Rings;
use crate::flow::space::{self, Kind};
use crate::flow::volume::{Closure, Facet, Space};

/// A whole turn.
const TURN: f64 = 2.0 * PI;

/// Share of the faces of a ring below which its wall is roundoff.
const SLIVER: f64 = 1e-12;

/// The rings of a plane.
pub(in crate::flow) fn space_of(plane: space::Space) -> Space {
    let cells = 0..plane.len();
    let open: Vec<[f64; 6]> = cells
        .clone()
        .map(|k| {
            let weighed = |face: usize| TURN * plane.middles[k][face][1] * plane.open[k][face];
            [weighed(0), weighed(1), weighed(2), weighed(3), 0.0, 0.0]
        })
        .collect();
    let mut space = Space {
        volume: cells
            .clone()
            .map(|k| TURN * plane.centroid[k][1] * plane.volume[k])
            .collect(),
        centroid: plane.centroid.iter().map(|[x, r]| [*x, *r, 0.0]).collect(),
        facets: Vec::new(),
        facet: vec![u32::MAX; plane.len()],
        closures: Vec::new(),
        warnings: plane.warnings.clone(),
        rings: None,
        kind: plane.kind.clone(),
        edges: [plane.x.clone(), plane.y.clone(), vec![0.0, 1.0]],
        open,
    };
    let mut rings = Rings {
        area: plane.volume.iter().map(|area| TURN * area).collect(),
        open: plane
            .open
            .iter()
            .map(|open| open.map(|l| TURN * l))
            .collect(),
        walls: Vec::new(),
        lengths: Vec::new(),
        has_axis: plane.y[0] == 0.0,
    };
    for k in cells {
        let segments = &plane.segments[plane.segments_of(k)];
        if segments.is_empty() {
            continue;
        }
        space.facet[k] = space.facets.len() as u32;
        space.facets.push(facet(k, segments, &space, &rings));
        let [west, east, south, north] = rings.open[k];
        rings.walls.push([east - west, north - south]);
        rings.lengths.push(segments.iter().map(|s| s.length).sum());
        space
            .closures
            .push(closure(&plane.closures[plane.first[k]]));
    }
    // Cells with two segments have one wall, the sum of both.
    for kind in &mut space.kind {
        if *kind == Kind::Corner {
            *kind = Kind::Cut;
        }
    }
    space.rings = Some(rings);
    space
}

/// The wall of a ring, of the body whose segment is longest.
fn facet(cell: usize, segments: &[space::Segment], space: &Space, rings: &Rings) -> Facet {
    let open = space.open[cell];
    let length: f64 = segments.iter().map(|s| s.length).sum();
    let mean = |of: &dyn Fn(&space::Segment) -> f64| {
        segments.iter().map(|s| s.length * of(s)).sum::<f64>() / length
    };
    let point = [0, 1].map(|k: usize| mean(&|s| s.point[k]));
    let mut wall = [open[1] - open[0], open[3] - open[2] - rings.area[cell]];
    let faces: f64 = open.iter().sum();
    if wall[0].hypot(wall[1]) < SLIVER * faces {
        // The faces' roundoff would be the wall: at an apex on the axis it has no area.
        let area = TURN * (point[1] * length).max(f64::MIN_POSITIVE.sqrt());
        wall = [0, 1].map(|k: usize| area * mean(&|s| s.normal[k]));
    }
    let area = wall[0].hypot(wall[1]);
    let longest = segments.iter().max_by(|a, b| a.length.total_cmp(&b.length));
    Facet {
        cell,
        area,
        normal: [wall[0] / area, wall[1] / area, 0.0],
        point: [point[0], point[1], 0.0],
        body: longest.map_or(0, |segment| segment.body),
        corners: Vec::new(),
    }
}

/// The closure of the plane with the diamond between the angles in the place of z.
fn closure(plane: &space::Closure) -> Closure {
    let mut all = Box::new([[[[0.0; 4]; 4]; 2]; 8]);
    const PLACES: [usize; 3] = [0, 1, 3];
    for (quadrant, of_quadrant) in plane.0.iter().enumerate() {
        for (out, of_wall) in of_quadrant.iter().enumerate() {
            let to = &mut all[quadrant][out];
            for (row, a) in of_wall.iter().zip(PLACES) {
                for (value, b) in row.iter().zip(PLACES) {
                    to[a][b] = *value;
                }
            }
            to[2][2] = -1.0;
        }
    }
    Closure(all)
}
