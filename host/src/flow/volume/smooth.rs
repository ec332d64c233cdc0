//! Values on walls, averaged over neighbouring facets: slivers of cells have facets with few digits.

use std::collections::HashMap;

use crate::flow::FacetPoint;

/// Radius of an average in the root of the mean area of a facet.
const RADIUS: f64 = 1.5;
/// Cosine of the largest angle between the normals of neighbours: an edge of a body parts two sides.
const ALIKE: f64 = 0.7;

/// Pressure, shear and heat on each facet: means by area over the facets of its body within about a cell.
pub fn smoothed(facets: &[FacetPoint]) -> Vec<FacetPoint> {
    let area: f64 = facets.iter().map(|facet| facet.area).sum();
    let radius = RADIUS * (area / facets.len().max(1) as f64).sqrt();
    if radius <= 0.0 {
        return facets.to_vec();
    }
    let place = |point: [f64; 3]| point.map(|x| (x / radius).floor() as i64);
    let mut boxes: HashMap<[i64; 3], Vec<usize>> = HashMap::new();
    for (at, facet) in facets.iter().enumerate() {
        boxes.entry(place(facet.point)).or_default().push(at);
    }
    let around = |centre: [i64; 3]| {
        let steps = (0..27).map(move |k: i64| {
            [
                centre[0] + k % 3 - 1,
                centre[1] + k / 3 % 3 - 1,
                centre[2] + k / 9 - 1,
            ]
        });
        steps.filter_map(|place| boxes.get(&place)).flatten()
    };
    let mean = |facet: &FacetPoint| {
        let mut sum = FacetPoint::default();
        for &other in around(place(facet.point)) {
            let other = &facets[other];
            let pairs = || (0..3).map(|k| (facet.point[k] - other.point[k]).powi(2));
            let cosine: f64 = (0..3).map(|k| facet.normal[k] * other.normal[k]).sum();
            let near = pairs().sum::<f64>() <= radius * radius;
            if near && other.body == facet.body && cosine > ALIKE {
                sum.area += other.area;
                sum.pressure += other.area * other.pressure;
                sum.heat += other.area * other.heat;
                (0..3).for_each(|k| sum.shear[k] += other.area * other.shear[k]);
            }
        }
        FacetPoint {
            pressure: sum.pressure / sum.area,
            shear: sum.shear.map(|part| part / sum.area),
            heat: sum.heat / sum.area,
            ..facet.clone()
        }
    };
    facets.iter().map(mean).collect()
}
