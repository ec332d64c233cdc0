//! Elements of the equations of Stokes and Fourier: cells with fields that are bilinear between their vertices, and the edges of the gas.

use std::f64::consts::PI;

use crate::bgk::rotation::Matrix;
use crate::flow::correction::{Entry, Place};
use crate::flow::face::Border;
use crate::flow::problem::Problem;
use crate::flow::space::Space;

/// Penalty of the velocity into a wall.
const PENALTY: f64 = 10.0;

/// Stiffness of hourglass modes over that of the others.
const HOURGLASS: f64 = 1e-3;

/// Compressibility that keeps the factors regular.
const REGULAR: f64 = 1e-7;

/// A cell's part of the equations: its vertices, and gradient, value and hourglass mode of what they carry.
pub(super) struct Element {
    pub(super) vertices: [usize; 4],
    pub(super) gradient: [[f64; 4]; 2],
    pub(super) value: [f64; 4],
    pub(super) hourglass: [f64; 4],
    pub(super) volume: f64,
}

/// A segment or an open face of a side.
pub(super) struct Edge {
    /// Its cell among those with gas.
    pub(super) cell: usize,
    pub(super) vertices: [usize; 4],
    pub(super) value: [f64; 4],
    pub(super) length: f64,
    pub(super) normal: [f64; 2],
    pub(super) open: bool,
    /// alpha/(2 - alpha) of its accommodation.
    pub(super) hold: f64,
    pub(super) place: Place,
}

/// Shape functions of the corners at a point of the unit square.
fn shapes([x, y]: [f64; 2]) -> [f64; 4] {
    [(1.0 - x) * (1.0 - y), x * (1.0 - y), (1.0 - x) * y, x * y]
}

/// A point in the unit square of a cell.
fn within(space: &Space, cell: usize, point: [f64; 2]) -> [f64; 2] {
    let (i, j) = (cell % space.nx(), cell / space.nx());
    let [dx, dy] = space.widths(i, j);
    [(point[0] - space.x[i]) / dx, (point[1] - space.y[j]) / dy]
}

/// The element of a cell.
pub(super) fn element(space: &Space, cell: usize, vertices: [usize; 4]) -> Element {
    let [dx, dy] = space.widths(cell % space.nx(), cell / space.nx());
    let slope = |signs: [f64; 4], width: f64| signs.map(|sign| 0.5 * sign / width);
    Element {
        vertices,
        gradient: [
            slope([-1.0, 1.0, -1.0, 1.0], dx),
            slope([-1.0, -1.0, 1.0, 1.0], dy),
        ],
        value: shapes(within(space, cell, space.centroid[cell])),
        hourglass: slope([1.0, -1.0, -1.0, 1.0], (dx * dy).sqrt()),
        volume: space.volume[cell],
    }
}

/// Segments and faces of sides, and the velocities that sides fix.
pub(super) fn edges(
    problem: &Problem,
    number: &[usize],
    of_cell: &[[usize; 4]],
    vertices: usize,
) -> (Vec<Edge>, [Vec<bool>; 2]) {
    let space = &problem.space;
    let mut edges = Vec::new();
    for (s, segment) in space.segments.iter().enumerate() {
        let cell = number[segment.cell];
        edges.push(Edge {
            cell,
            vertices: of_cell[cell],
            value: shapes(within(space, segment.cell, segment.point)),
            length: segment.length,
            normal: segment.normal,
            open: false,
            hold: hold(problem.reflection[s].grip()),
            place: Place::Body(s),
        });
    }
    let mut fixed = [vec![false; vertices], vec![false; vertices]];
    for side in 0..4 {
        // Middle of the side in the unit square, and the two corners on it.
        let middle = [[0.0, 0.5], [1.0, 0.5], [0.5, 0.0], [0.5, 1.0]][side];
        let value = shapes(middle);
        let border = &problem.borders[side];
        let is_passed = matches!(border, Border::Mirror | Border::Periodic(_));
        for (face, cell) in space.border(side).into_iter().enumerate() {
            if !space.is_gas(cell) {
                continue;
            }
            let number = number[cell];
            if matches!(
                border,
                Border::Mirror | Border::Wall(_) | Border::Inflow(..)
            ) {
                for (&vertex, value) in of_cell[number].iter().zip(value) {
                    fixed[side / 2][vertex] |= value > 0.0;
                }
            }
            edges.push(Edge {
                cell: number,
                vertices: of_cell[number],
                value,
                // Mirrors and periodic sides have lagged inflow alone.
                length: if is_passed {
                    0.0
                } else {
                    space.open[cell][side]
                },
                normal: [[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]][side],
                open: matches!(border, Border::Given(_) | Border::Outlet(_)),
                hold: match border {
                    Border::Wall(wall) => hold(wall.accommodation.grip()),
                    _ => 1.0,
                },
                place: Place::Side(side, face),
            });
        }
    }
    (edges, fixed)
}

/// The hold of a wall on the gas, by its accommodation.
fn hold(grip: f64) -> f64 {
    grip / (2.0 - grip)
}

/// Factors of the equations of the whole and of the internal energy, each of the temperatures of translation and rotation.
pub(super) struct Heat {
    /// Temperatures of a vertex: that of rotation is the second.
    pub(super) temperatures: usize,
    /// Conductivities.
    pub(super) conduction: Matrix,
    /// Internal energy that a cell gains.
    pub(super) exchange: Matrix,
    /// Energy that a wall takes, over `1/sqrt(pi)`.
    pub(super) wall: Matrix,
}

/// Equations of the temperatures of each vertex.
pub(super) fn heat_equations(elements: &[Element], edges: &[Edge], heat: &Heat) -> Vec<Entry> {
    let count = heat.temperatures;
    let mut entries = Vec::with_capacity(16 * count * count * elements.len());
    let mut add = |[row, column]: [usize; 2], factors: &Matrix, value: f64| {
        for (i, line) in factors[..count].iter().enumerate() {
            for (j, factor) in line[..count].iter().enumerate() {
                if factor * value != 0.0 {
                    let place = [count * row + i, count * column + j].map(|k| k as u32);
                    entries.push((place[0], place[1], factor * value));
                }
            }
        }
    };
    for e in elements {
        for a in 0..4 {
            for b in 0..4 {
                let slope = e.gradient[0][a] * e.gradient[0][b]
                    + e.gradient[1][a] * e.gradient[1][b]
                    + HOURGLASS * e.hourglass[a] * e.hourglass[b];
                let pair = [e.vertices[a], e.vertices[b]];
                add(pair, &heat.conduction, e.volume * slope);
                add(pair, &heat.exchange, -e.volume * e.value[a] * e.value[b]);
            }
        }
    }
    for edge in edges {
        for a in 0..4 {
            for b in 0..4 {
                let value = edge.hold * edge.length / PI.sqrt() * edge.value[a] * edge.value[b];
                add([edge.vertices[a], edge.vertices[b]], &heat.wall, value);
            }
        }
    }
    entries
}

/// Equations of the two velocities of each vertex and of the pressure of each cell.
pub(super) fn flow_equations(
    space: &Space,
    cells: &[usize],
    elements: &[Element],
    edges: &[Edge],
    fixed: &[Vec<bool>; 2],
    viscosity: f64,
) -> Vec<Entry> {
    let vertices = fixed[0].len();
    let mut entries = Vec::with_capacity(80 * elements.len());
    let mut add = |row: (usize, usize), column: (usize, usize), value: f64| {
        let is_fixed = |(vertex, axis): (usize, usize)| axis < 2 && fixed[axis][vertex];
        if value != 0.0 && !is_fixed(row) && !is_fixed(column) {
            // Pressures are of the axis 2.
            let place = |(k, axis): (usize, usize)| match axis {
                2 => 2 * vertices + k,
                _ => 2 * k + axis,
            };
            entries.push((place(row) as u32, place(column) as u32, value));
        }
    };
    for (k, e) in elements.iter().enumerate() {
        let stiffness = viscosity * e.volume;
        for (a, &row) in e.vertices.iter().enumerate() {
            for (b, &column) in e.vertices.iter().enumerate() {
                let g = |i: usize, j: usize| e.gradient[i][a] * e.gradient[j][b];
                let hourglass = HOURGLASS * e.hourglass[a] * e.hourglass[b];
                for axis in 0..2 {
                    let across = 1 - axis;
                    let own = 4.0 / 3.0 * g(axis, axis) + g(across, across) + hourglass;
                    let other = g(across, axis) - 2.0 / 3.0 * g(axis, across);
                    add((row, axis), (column, axis), stiffness * own);
                    add((row, axis), (column, across), stiffness * other);
                }
            }
            for axis in 0..2 {
                let push = e.volume * e.gradient[axis][a];
                add((row, axis), (k, 2), -push);
                add((k, 2), (row, axis), push);
            }
        }
        add((k, 2), (k, 2), REGULAR * e.volume / viscosity);
    }
    let width = |&cell: &usize| {
        let [dx, dy] = space.widths(cell % space.nx(), cell / space.nx());
        (dx * dy).sqrt()
    };
    let narrowest = cells.iter().map(width).fold(f64::INFINITY, f64::min);
    for edge in edges {
        let along = edge.hold * edge.length / PI.sqrt();
        let into = match edge.open {
            true => 2.0 * along,
            false => edge.length * PENALTY * (viscosity / narrowest + 1.0),
        };
        for (a, &row) in edge.vertices.iter().enumerate() {
            for (b, &column) in edge.vertices.iter().enumerate() {
                for i in 0..2 {
                    for j in 0..2 {
                        let normal = edge.normal[i] * edge.normal[j];
                        let same = if i == j { 1.0 } else { 0.0 };
                        let factor = along * (same - normal) + into * normal;
                        add(
                            (row, i),
                            (column, j),
                            factor * edge.value[a] * edge.value[b],
                        );
                    }
                }
            }
        }
    }
    for (axis, fixed) in fixed.iter().enumerate() {
        for (vertex, _) in fixed.iter().enumerate().filter(|(_, fixed)| **fixed) {
            let place = (2 * vertex + axis) as u32;
            entries.push((place, place, 1.0));
        }
    }
    entries
}
