//! The gas in one cell of space, by the sides of its corners and where the wall crosses its edges.
//!
//! The gas lies between the open parts of the faces and the triangles from the facet's point to the wall's line on each face. Seen from that point, which is in
//! the cell, its volume is a sum of pyramids over the open parts, none of them negative.

use super::FACES;
use crate::flow::space::area_and_centroid;
use crate::flow::volume::vector::plus;

/// The corners of a cell that are gas, as bits of a byte: corner `x + 2 y + 4 z`, with 0 or 1 for its lower or upper side along each axis.
pub(super) type Signs = u8;

/// A part of a face, or a facet, smaller than this share of the face has no digits in a difference.
const NO_DIGITS: f64 = 1e-13;

/// Corners of a face from the lowest on, anticlockwise as seen from the upper side of its axis.
fn face(axis: usize, side: usize) -> [usize; 4] {
    let [a, b] = [1 << ((axis + 1) % 3), 1 << ((axis + 2) % 3)];
    [0, a, a + b, b].map(|corner| corner + (side << axis))
}

/// Gas corners of which one must become solid before the wall in the cell is one facet.
pub(super) fn ambiguous(gas: Signs) -> Option<Signs> {
    if gas == 0 || gas == Signs::MAX {
        return None;
    }
    for k in 0..FACES {
        let bits = face(k / 2, k % 2).map(|corner| 1 << corner);
        let is_gas = bits.map(|bit: Signs| gas & bit != 0);
        if is_gas[0] == is_gas[2] && is_gas[1] == is_gas[3] && is_gas[0] != is_gas[1] {
            return Some(gas & bits.iter().fold(0, |all, bit| all | bit));
        }
    }
    (!is_connected(gas) || !is_connected(!gas)).then_some(gas)
}

/// Whether some corners are connected along edges.
fn is_connected(corners: Signs) -> bool {
    let mut reached = corners & corners.wrapping_neg();
    loop {
        let across =
            |shift: u8, lower: Signs| (reached & lower) << shift | (reached & !lower) >> shift;
        let next = corners & (reached | across(1, 0x55) | across(2, 0x33) | across(4, 0x0f));
        if next == reached {
            return reached == corners;
        }
        reached = next;
    }
}

/// The form of the gas, from the lower corner of the cell.
pub(super) struct Form {
    widths: [f64; 3],
    pub(super) volume: f64,
    pub(super) centroid: [f64; 3],
    /// Open areas of the faces.
    pub(super) open: [f64; FACES],
    /// Centroids of the open parts of the faces.
    pub(super) middles: [[f64; 3]; FACES],
    /// Mean of the crossings.
    pub(super) point: [f64; 3],
    /// The crossings in order round the wall's normal into the gas.
    pub(super) line: Vec<[f64; 3]>,
}

impl Form {
    /// The gas of a cell of which some corners are gas; `share` is the place of the crossing on the edge along an axis from a lower corner.
    pub(super) fn new(gas: Signs, widths: [f64; 3], share: impl Fn(usize, usize) -> f64) -> Self {
        let is_gas = |corner: usize| gas >> corner & 1 == 1;
        let place = |corner: usize| {
            let [x, y, z] = widths;
            [
                (corner & 1) as f64 * x,
                (corner >> 1 & 1) as f64 * y,
                (corner >> 2) as f64 * z,
            ]
        };
        // Crossings by the lower corner of their edge and its axis, and those that follow them on the wall's line.
        let mut crossings = [None; 24];
        let mut next = [usize::MAX; 24];
        let mut form = Self {
            widths,
            volume: 0.0,
            centroid: [0.0; 3],
            open: [0.0; FACES],
            middles: [[0.0; 3]; FACES],
            point: [0.0; 3],
            line: Vec::with_capacity(6),
        };
        for k in 0..FACES {
            let corners = face(k / 2, k % 2);
            let mut polygon = Vec::with_capacity(5);
            let [mut leave, mut enter] = [usize::MAX; 2];
            for (n, &corner) in corners.iter().enumerate() {
                let other = corners[(n + 1) % 4];
                if is_gas(corner) {
                    polygon.push(place(corner));
                }
                if is_gas(corner) == is_gas(other) {
                    continue;
                }
                let (low, axis) = (corner & other, (corner ^ other).trailing_zeros() as usize);
                let slot = 3 * low + axis;
                let crossing = *crossings[slot].get_or_insert_with(|| {
                    let mut point = place(low);
                    point[axis] = share(low, axis) * widths[axis];
                    point
                });
                polygon.push(crossing);
                *(if is_gas(corner) {
                    &mut leave
                } else {
                    &mut enter
                }) = slot;
            }
            form.open_face(k, &polygon);
            // Lower faces are seen from within.
            match (leave, k % 2) {
                (usize::MAX, _) => {}
                (_, 0) => next[enter] = leave,
                _ => next[leave] = enter,
            }
        }
        form.trace(&crossings, &next);
        form.fill();
        form
    }

    /// Area and centroid of the open part of a face.
    fn open_face(&mut self, k: usize, polygon: &[[f64; 3]]) {
        let axis = k / 2;
        let [a, b] = [(axis + 1) % 3, (axis + 2) % 3];
        let whole = self.widths[a] * self.widths[b];
        let flat: Vec<[f64; 2]> = polygon.iter().map(|p| [p[a], p[b]]).collect();
        let (area, [u, v]) = match flat.len() {
            0 => (0.0, [0.5 * self.widths[a], 0.5 * self.widths[b]]),
            _ => area_and_centroid(&flat),
        };
        let is_whole = whole - area < NO_DIGITS * whole;
        self.open[k] = if is_whole { whole } else { area };
        let middle = &mut self.middles[k];
        (middle[a], middle[b]) = (u, v);
        middle[axis] = (k % 2) as f64 * self.widths[axis];
    }

    /// Follows the wall's line from face to face.
    fn trace(&mut self, crossings: &[Option<[f64; 3]>; 24], next: &[usize; 24]) {
        let first = next.iter().position(|next| *next != usize::MAX);
        let mut at = first.unwrap_or_default();
        while let Some(crossing) = crossings[at]
            && self.line.len() < 12
        {
            self.line.push(crossing);
            at = next[at];
            if at == usize::MAX || Some(at) == first {
                break;
            }
        }
        let share = 1.0 / self.line.len().max(1) as f64;
        let sum = |sum, p: &[f64; 3]| plus(sum, share, *p);
        self.point = self.line.iter().fold([0.0; 3], sum);
    }

    /// Volume and centroid from the pyramids between the point and the open faces.
    fn fill(&mut self) {
        let mut moment = [0.0; 3];
        for k in 0..FACES {
            let axis = k / 2;
            let height = (self.middles[k][axis] - self.point[axis]).abs();
            let pyramid = self.open[k] * height / 3.0;
            self.volume += pyramid;
            for (d, moment) in moment.iter_mut().enumerate() {
                *moment += pyramid * 0.75 * (self.middles[k][d] - self.point[d]);
            }
        }
        self.centroid = plus(self.point, 1.0 / self.volume, moment);
    }

    /// The facet's area times its normal into the gas. A wall that cuts off next to nothing of a cell has none.
    pub(super) fn facet(&self) -> Option<[f64; 3]> {
        let vector = [0, 1, 2].map(|axis| self.open[2 * axis + 1] - self.open[2 * axis]);
        let [x, y, z] = self.widths;
        let faces = [y * z, z * x, x * y];
        let is_nothing = (0..3).all(|axis| vector[axis].abs() < NO_DIGITS * faces[axis]);
        let is_full = 2.0 * self.volume > x * y * z;
        (!(is_nothing && is_full)).then_some(vector)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_facet_remains_after_few_corners() {
        for gas in 0..=Signs::MAX {
            let mut left = gas;
            while let Some(candidates) = ambiguous(left) {
                assert!(candidates != 0 && candidates & left == candidates);
                left &= left - 1;
            }
            if left == 0 || left == Signs::MAX {
                continue;
            }
            // Half the edge on each crossing: the line is closed and meets all crossings.
            let form = Form::new(left, [1.0, 2.0, 0.5], |_, _| 0.5);
            let edges = (0..8).flat_map(|low| (0..3).map(move |axis| (low, low | 1 << axis)));
            let crossed = edges.filter(|(a, b)| a != b && (left >> a ^ left >> b) & 1 == 1);
            assert_eq!(form.line.len(), crossed.count(), "{left:08b}");
            assert!(form.volume > 0.0 && form.volume < 1.0);
            // The line's own area vector is the facet's.
            let mut twice = [0.0; 3];
            for (k, a) in form.line.iter().enumerate() {
                let b = form.line[(k + 1) % form.line.len()];
                twice = plus(twice, 1.0, crate::flow::volume::vector::cross(*a, b));
            }
            let facet = form.facet().expect("a facet");
            for axis in 0..3 {
                let off = 0.5 * twice[axis] - facet[axis];
                assert!(off.abs() < 1e-14, "{left:08b} {axis}: {off}");
            }
        }
    }
}
