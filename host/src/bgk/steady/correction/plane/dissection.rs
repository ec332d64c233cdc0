//! Sparse elimination on a rectangle of cells by nested dissection.
//!
//! The matrix is a sum of small dense matrices, one a cell, over unknowns at the cell's vertices and, if asked for, one in the cell (a pressure).
//! The rectangle is halved along its longer side until the parts are small. Each part eliminates the unknowns that no other part shares, and
//! leaves a dense matrix of those that it shares to the next larger part. For `N^2` cells this takes of the order of `N^3` operations and
//! `N^2 log N` numbers.
//!
//! **Pressures.** A part with the velocity given on its whole border determines the pressure only up to two modes, the constant and the
//! checkerboard. So each part passes the pressures of two cells side by side, one of each colour, on to the next larger part. Rows are
//! interchanged among the unknowns that a part eliminates (partial pivoting).
//!
//! **Source.** A. George, SIAM J. Numer. Anal. 10 (1973) 345; the fronts: I. S. Duff and J. K. Reid, ACM Trans. Math. Softw. 9 (1983) 302.

use nalgebra::{DMatrixView, DMatrixViewMut};
use rayon::prelude::*;

/// Cells along the side of a part that is not divided further.
const LEAF: usize = 5;

/// Cells from which on both halves of a part are factored at the same time.
const TOGETHER: usize = 200;

/// Fronts from which on both halves of a part are solved at the same time.
const TOGETHER_SOLVED: usize = 32;

/// Columns that are eliminated at a time.
const PANEL: usize = 32;

/// Columns of a front that are updated by one task.
const STRIP: usize = 96;

/// Most unknowns of a cell: two at each vertex and one in the cell.
pub(super) const MOST: usize = 9;

/// The matrix of a cell: row after row, of which the first few rows and columns count.
pub(super) type Element = [[f64; MOST]; MOST];

/// Where the unknowns are: `of_vertex` at each vertex, row of vertices after row, then the pressures of the cells.
#[derive(Clone, Debug)]
pub(super) struct Unknowns {
    pub(super) nx: usize,
    pub(super) ny: usize,
    pub(super) of_vertex: usize,
    pub(super) pressure: bool,
    /// Unknowns whose value is zero; they and their equations are left out.
    pub(super) fixed: Vec<bool>,
}

impl Unknowns {
    /// Unknowns of which none is fixed.
    pub(super) fn new(nx: usize, ny: usize, of_vertex: usize, pressure: bool) -> Self {
        let count = of_vertex * (nx + 1) * (ny + 1) + if pressure { nx * ny } else { 0 };
        Self {
            nx,
            ny,
            of_vertex,
            pressure,
            fixed: vec![false; count],
        }
    }

    /// First unknown of a vertex.
    pub(super) fn vertex(&self, i: usize, j: usize) -> usize {
        self.of_vertex * (j * (self.nx + 1) + i)
    }

    /// The unknown of a cell.
    pub(super) fn cell(&self, i: usize, j: usize) -> usize {
        self.of_vertex * (self.nx + 1) * (self.ny + 1) + j * self.nx + i
    }

    /// The unknowns of a cell in the order of its matrix: south-west, south-east, north-west, north-east, pressure.
    pub(super) fn of_cell(&self, i: usize, j: usize) -> impl Iterator<Item = usize> + '_ {
        let vertices = [(i, j), (i + 1, j), (i, j + 1), (i + 1, j + 1)];
        let vertices = vertices
            .into_iter()
            .flat_map(move |(i, j)| (0..self.of_vertex).map(move |d| self.vertex(i, j) + d));
        vertices.chain(self.pressure.then(|| self.cell(i, j)))
    }

    /// Bytes of the factors, and the most that factoring takes beside them. An upper bound, close for large rectangles.
    pub(super) fn bytes(&self) -> (u64, u64) {
        let (entries, _, most) = self.entries(Part::all(self));
        (4 * entries, 8 * most)
    }

    /// Numbers in the factors of a part, its shared unknowns, and the most numbers at work while it is factored.
    fn entries(&self, part: Part) -> (u64, u64, u64) {
        let of_vertex = self.of_vertex as u64;
        let extra = if self.pressure { 2 } else { 0 };
        let shared =
            of_vertex * part.shared_vertices(self) + if part.is_all(self) { 0 } else { extra };
        let (children, most, together) = match part.halves() {
            None => {
                let [w, h] = [part.width(), part.height()].map(|n| n as u64);
                let cells = if self.pressure { w * h } else { 0 };
                (0, 0, of_vertex * (w + 1) * (h + 1) + cells)
            }
            Some((a, b)) => {
                let (a, b) = (self.entries(a), self.entries(b));
                let [sa, sb] = [a.1, b.1];
                // The vertices of the dividing line belong to both halves.
                let along = of_vertex * (part.width().min(part.height()) as u64 + 1);
                let most = (a.2 + b.2).max(sa * sa + sb * sb);
                (a.0 + b.0, most, (sa + sb - along.min(sb)).max(shared))
            }
        };
        let own = together * together - shared * shared;
        (children + own, shared, most.max(2 * together * together))
    }
}

/// A rectangle of cells: first and last but one column and row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    x: [usize; 2],
    y: [usize; 2],
}

impl Part {
    fn all(unknowns: &Unknowns) -> Self {
        Self {
            x: [0, unknowns.nx],
            y: [0, unknowns.ny],
        }
    }

    fn is_all(&self, unknowns: &Unknowns) -> bool {
        *self == Self::all(unknowns)
    }

    fn width(&self) -> usize {
        self.x[1] - self.x[0]
    }

    fn height(&self) -> usize {
        self.y[1] - self.y[0]
    }

    /// Two halves, unless the part is small.
    fn halves(&self) -> Option<(Self, Self)> {
        if self.width().max(self.height()) <= LEAF {
            return None;
        }
        let (mut a, mut b) = (*self, *self);
        if self.width() >= self.height() {
            let middle = (self.x[0] + self.x[1]) / 2;
            (a.x[1], b.x[0]) = (middle, middle);
        } else {
            let middle = (self.y[0] + self.y[1]) / 2;
            (a.y[1], b.y[0]) = (middle, middle);
        }
        Some((a, b))
    }

    /// Whether another part has this vertex too.
    fn shares(&self, unknowns: &Unknowns, i: usize, j: usize) -> bool {
        (i == self.x[0] && i > 0)
            || (i == self.x[1] && i < unknowns.nx)
            || (j == self.y[0] && j > 0)
            || (j == self.y[1] && j < unknowns.ny)
    }

    /// Number of vertices that other parts have too.
    fn shared_vertices(&self, unknowns: &Unknowns) -> u64 {
        let [w, h] = [self.width() + 1, self.height() + 1];
        let columns = usize::from(self.x[0] > 0) + usize::from(self.x[1] < unknowns.nx);
        let rows = usize::from(self.y[0] > 0) + usize::from(self.y[1] < unknowns.ny);
        (columns * h + rows * w - columns * rows) as u64
    }

    /// Whether an unknown waits for the next larger part.
    fn passes_on(&self, unknowns: &Unknowns, unknown: usize) -> bool {
        let first = unknowns.cell(0, 0);
        if unknown < first {
            let vertex = unknown / unknowns.of_vertex;
            let across = unknowns.nx + 1;
            return self.shares(unknowns, vertex % across, vertex / across);
        }
        if self.is_all(unknowns) {
            return false;
        }
        let corner = unknowns.cell(self.x[0], self.y[0]);
        unknown == corner || unknown == corner + 1
    }
}

/// The unknowns that a part eliminates.
struct Front {
    /// Their numbers, ascending.
    own: Vec<u32>,
    /// The place among them of each equation, in the order of elimination.
    order: Vec<u32>,
    /// Places of the shared unknowns in the next larger part: among its own unknowns, then among its shared ones.
    places: Vec<u32>,
    /// Fronts of the first half; those of the second half follow, then this one. None in a part that is not divided.
    first: usize,
    /// Both factors of the eliminated block and the rows of the shared unknowns, column after column.
    lower: Vec<f32>,
    /// The columns of the shared unknowns in the eliminated rows, column after column.
    upper: Vec<f32>,
}

/// Factors of a matrix; single precision is enough for a correction.
pub(super) struct Factors {
    /// Those of each part behind those of its halves.
    fronts: Vec<Front>,
    count: usize,
}

/// A dense matrix of the unknowns that a part shares, column after column.
struct Remainder {
    unknowns: Vec<u32>,
    values: Vec<f64>,
}

impl Factors {
    /// Factors a matrix given by the matrices of its cells; `None` if it is singular.
    pub(super) fn new(
        unknowns: &Unknowns,
        element: &(impl Fn(usize, usize) -> Element + Sync),
    ) -> Option<Self> {
        let (fronts, _) = factor(unknowns, element, Part::all(unknowns))?;
        Some(Self {
            fronts,
            count: unknowns.fixed.len(),
        })
    }

    /// Bytes that the factors take.
    #[cfg(test)]
    fn bytes(&self) -> u64 {
        let len = |front: &Front| 4 * (front.lower.len() + front.upper.len()) as u64;
        self.fronts.iter().map(len).sum()
    }

    /// Solves for a right side; unknowns that are fixed get zero.
    pub(super) fn solve(&self, right: &[f64]) -> Vec<f64> {
        let mut values = vec![Vec::new(); self.fronts.len()];
        forward(&self.fronts, &mut values, right);
        backward(&self.fronts, &mut values, &[]);
        let mut solution = vec![0.0; self.count];
        for (front, values) in self.fronts.iter().zip(&values) {
            for (&unknown, value) in front.own.iter().zip(values) {
                solution[unknown as usize] = *value;
            }
        }
        solution
    }
}

/// Runs two tasks of a part, at the same time where it has many fronts.
fn both<A: Send, B: Send>(
    fronts: &[Front],
    first: impl FnOnce() -> A + Send,
    second: impl FnOnce() -> B + Send,
) -> (A, B) {
    if fronts.len() < TOGETHER_SOLVED {
        return (first(), second());
    }
    rayon::join(first, second)
}

/// Solves with the lower factor of a part. `values` gets the results, front by front.
///
/// Returns the right sides of the unknowns that the part shares, as far as they come from its own.
fn forward(fronts: &[Front], values: &mut [Vec<f64>], right: &[f64]) -> Vec<f64> {
    let (Some((front, halves)), Some((result, values))) =
        (fronts.split_last(), values.split_last_mut())
    else {
        return Vec::new();
    };
    let count = front.own.len();
    let mut sides: Vec<f64> = front.own.iter().map(|&u| right[u as usize]).collect();
    sides.resize(count + front.places.len(), 0.0);
    if front.first > 0 {
        let (a, b) = halves.split_at(front.first);
        let (of_a, of_b) = values.split_at_mut(front.first);
        let (from_a, from_b) = both(
            fronts,
            || forward(a, of_a, right),
            || forward(b, of_b, right),
        );
        for (half, from) in [(a, from_a), (b, from_b)] {
            let places = half.last().map_or(&[][..], |front| &front.places);
            for (&place, value) in places.iter().zip(from) {
                sides[place as usize] += value;
            }
        }
    }
    let mut beyond = sides.split_off(count);
    let mut own: Vec<f64> = front.order.iter().map(|&k| sides[k as usize]).collect();
    let len = count + beyond.len();
    for (k, column) in front.lower.chunks_exact(len.max(1)).enumerate() {
        let value = own[k];
        for (own, l) in own[k + 1..].iter_mut().zip(&column[k + 1..count]) {
            *own -= f64::from(*l) * value;
        }
        for (beyond, l) in beyond.iter_mut().zip(&column[count..]) {
            *beyond -= f64::from(*l) * value;
        }
    }
    *result = own;
    beyond
}

/// Solves with the upper factor of a part for the results of [`forward`], given the unknowns that the part shares.
fn backward(fronts: &[Front], values: &mut [Vec<f64>], shared: &[f64]) {
    let (Some((front, halves)), Some((own, values))) =
        (fronts.split_last(), values.split_last_mut())
    else {
        return;
    };
    let count = own.len();
    for (value, column) in shared.iter().zip(front.upper.chunks_exact(count.max(1))) {
        for (own, u) in own.iter_mut().zip(column) {
            *own -= f64::from(*u) * value;
        }
    }
    let len = (count + shared.len()).max(1);
    for (k, column) in front.lower.chunks_exact(len).enumerate().rev() {
        let value = own[k] / f64::from(column[k]);
        own[k] = value;
        for (own, u) in own[..k].iter_mut().zip(&column[..k]) {
            *own -= f64::from(*u) * value;
        }
    }
    if front.first > 0 {
        let (a, b) = halves.split_at(front.first);
        let (of_a, of_b) = values.split_at_mut(front.first);
        let given = |half: &[Front]| -> Vec<f64> {
            let places = half.last().map_or(&[][..], |front| &front.places);
            let at = |&place: &u32| match (place as usize).checked_sub(count) {
                None => own[place as usize],
                Some(place) => shared[place],
            };
            places.iter().map(at).collect()
        };
        let (to_a, to_b) = (given(a), given(b));
        both(
            fronts,
            || backward(a, of_a, &to_a),
            || backward(b, of_b, &to_b),
        );
    }
}

/// The fronts of a part, from small to large, and the matrix that remains.
fn factor(
    unknowns: &Unknowns,
    element: &(impl Fn(usize, usize) -> Element + Sync),
    part: Part,
) -> Option<(Vec<Front>, Remainder)> {
    let (mut fronts, first, pieces) = match part.halves() {
        None => (Vec::new(), 0, leaves(unknowns, element, part)),
        Some((a, b)) => {
            let [first, second] = [a, b].map(|part| move || factor(unknowns, element, part));
            let (first, second) = if part.width() * part.height() >= TOGETHER {
                rayon::join(first, second)
            } else {
                (first(), second())
            };
            let ((mut fronts, first), (more, second)) = (first?, second?);
            let count = fronts.len();
            fronts.extend(more);
            (fronts, count, vec![first, second])
        }
    };
    // Eliminated unknowns first, each group in ascending order.
    let mut all: Vec<u32> = pieces.iter().flat_map(|p| &p.unknowns).copied().collect();
    all.sort_unstable();
    all.dedup();
    let (shared, own): (Vec<u32>, Vec<u32>) =
        (all.into_iter()).partition(|&u| part.passes_on(unknowns, u as usize));
    let (count, len) = (own.len(), own.len() + shared.len());
    let place = |unknown: u32| match own.binary_search(&unknown) {
        Ok(at) => at,
        Err(_) => count + shared.partition_point(|&s| s < unknown),
    };
    let mut values = vec![0.0; len * len];
    for (half, piece) in pieces.into_iter().enumerate() {
        let places: Vec<usize> = piece.unknowns.iter().map(|&u| place(u)).collect();
        if first > 0 {
            let root = if half == 0 { first } else { fronts.len() } - 1;
            fronts[root].places = places.iter().map(|&place| place as u32).collect();
        }
        let columns = piece.values.chunks_exact(places.len().max(1));
        for (&column, piece) in places.iter().zip(columns) {
            for (&row, value) in places.iter().zip(piece) {
                values[column * len + row] += value;
            }
        }
    }
    let mut order: Vec<u32> = (0..count as u32).collect();
    eliminate(&mut values, len, &mut order)?;
    let narrow = |values: &[f64]| values.iter().map(|&v| v as f32).collect();
    let upper = values[count * len..].chunks_exact(len.max(1));
    let front = Front {
        own,
        order,
        places: Vec::new(),
        first,
        lower: narrow(&values[..count * len]),
        upper: upper
            .clone()
            .flat_map(|c| c[..count].iter().map(|&v| v as f32))
            .collect(),
    };
    let remainder = Remainder {
        unknowns: shared,
        values: upper.flat_map(|c| &c[count..]).copied().collect(),
    };
    fronts.push(front);
    Some((fronts, remainder))
}

/// The matrices of a small part's cells.
fn leaves(
    unknowns: &Unknowns,
    element: &impl Fn(usize, usize) -> Element,
    part: Part,
) -> Vec<Remainder> {
    let mut pieces = Vec::with_capacity(part.width() * part.height());
    for j in part.y[0]..part.y[1] {
        for i in part.x[0]..part.x[1] {
            let matrix = element(i, j);
            let of_cell = unknowns.of_cell(i, j).enumerate();
            let (places, of_cell): (Vec<usize>, Vec<u32>) = of_cell
                .filter(|&(_, unknown)| !unknowns.fixed[unknown])
                .map(|(place, unknown)| (place, unknown as u32))
                .unzip();
            let columns = places.iter().flat_map(|&column| {
                let matrix = &matrix;
                places.iter().map(move |&row| matrix[row][column])
            });
            pieces.push(Remainder {
                values: columns.collect(),
                unknowns: of_cell,
            });
        }
    }
    pieces
}

/// Eliminates the first unknowns of a dense matrix, column after column, of `len` rows, and reorders `order`, their equations.
///
/// The first columns become the factors; the rest of the matrix becomes what remains of it. `None` if the eliminated block is singular.
fn eliminate(values: &mut [f64], len: usize, order: &mut [u32]) -> Option<()> {
    let count = order.len();
    for start in (0..count).step_by(PANEL) {
        let end = (start + PANEL).min(count);
        let (left, right) = values.split_at_mut(end * len);
        let (done, panel) = left.split_at_mut(start * len);
        let swaps = eliminate_panel(panel, len, start, count)?;
        for (k, &other) in (start..end).zip(&swaps) {
            order.swap(k, other);
        }
        for column in done.chunks_exact_mut(len) {
            for (k, &other) in (start..end).zip(&swaps) {
                column.swap(k, other);
            }
        }
        let panel = &*panel;
        let below = DMatrixView::from_slice(panel, len, end - start);
        let below = below.rows(end, len - end);
        right.par_chunks_mut(len * STRIP).for_each(|strip| {
            let width = strip.len() / len;
            let mut top = Vec::with_capacity((end - start) * width);
            for column in strip.chunks_exact_mut(len) {
                for (k, &other) in (start..end).zip(&swaps) {
                    column.swap(k, other);
                }
                for (k, factors) in (start..end).zip(panel.chunks_exact(len)) {
                    let value = column[k];
                    for (c, l) in column[k + 1..end].iter_mut().zip(&factors[k + 1..end]) {
                        *c -= l * value;
                    }
                }
                top.extend_from_slice(&column[start..end]);
            }
            let top = DMatrixView::from_slice(&top, end - start, width);
            let mut strip = DMatrixViewMut::from_slice(strip, len, width);
            strip.rows_mut(end, len - end).gemm(-1.0, &below, &top, 1.0);
        });
    }
    Some(())
}

/// Eliminates the columns of a panel, which begins at row and column `start`; pivots lie above row `count`.
fn eliminate_panel(
    panel: &mut [f64],
    len: usize,
    start: usize,
    count: usize,
) -> Option<Vec<usize>> {
    let width = panel.len() / len;
    let mut swaps = Vec::with_capacity(width);
    for k in 0..width {
        let row = start + k;
        let column = &panel[k * len..(k + 1) * len];
        let mut pivot = row;
        for other in row + 1..count {
            if column[other].abs() > column[pivot].abs() {
                pivot = other;
            }
        }
        swaps.push(pivot);
        for column in panel.chunks_exact_mut(len) {
            column.swap(row, pivot);
        }
        let (left, right) = panel.split_at_mut((k + 1) * len);
        let factors = &mut left[k * len + row..];
        let inverse = 1.0 / factors[0];
        if !inverse.is_finite() {
            return None;
        }
        factors[1..].iter_mut().for_each(|l| *l *= inverse);
        for column in right.chunks_exact_mut(len) {
            let value = column[row];
            for (c, l) in column[row + 1..].iter_mut().zip(&factors[1..]) {
                *c -= l * value;
            }
        }
    }
    Some(swaps)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers between -1 and 1 that look random.
    fn noise(seed: u64) -> impl FnMut() -> f64 {
        let mut state = seed;
        move || {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
        }
    }

    /// Diagonally dominant in the vertices, with a pressure that has no diagonal.
    fn element(i: usize, j: usize) -> Element {
        let mut random = noise((1000 * i + j) as u64);
        let mut matrix = Element::default();
        for row in 0..8 {
            matrix[row][..8].fill_with(|| 0.1 * random());
            matrix[row][row] += 1.0;
            let sign = [[-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]][row / 2][row % 2];
            matrix[row][8] = sign;
            matrix[8][row] = sign;
        }
        matrix
    }

    fn with_walls(nx: usize, ny: usize) -> Unknowns {
        let mut unknowns = Unknowns::new(nx, ny, 2, true);
        for j in 0..=ny {
            for i in 0..=nx {
                let at = unknowns.vertex(i, j);
                unknowns.fixed[at] = i == 0 || i == nx;
                unknowns.fixed[at + 1] = j == 0 || j == ny;
            }
        }
        let last = unknowns.cell(nx - 1, ny - 1);
        unknowns.fixed[last] = true;
        unknowns
    }

    #[test]
    fn a_saddle_point_is_solved() {
        for [nx, ny] in [[2, 2], [3, 17], [23, 14]] {
            let unknowns = with_walls(nx, ny);
            let mut random = noise(7);
            let fixed = unknowns.fixed.iter();
            let exact: Vec<f64> = fixed
                .map(|&fixed| if fixed { 0.0 } else { random() })
                .collect();
            let mut right = vec![0.0; exact.len()];
            for j in 0..ny {
                for i in 0..nx {
                    let matrix = element(i, j);
                    let of_cell: Vec<usize> = unknowns.of_cell(i, j).collect();
                    for (row, &r) in of_cell.iter().enumerate() {
                        for (column, &c) in of_cell.iter().enumerate() {
                            right[r] += matrix[row][column] * exact[c];
                        }
                    }
                }
            }
            let factors = Factors::new(&unknowns, &element).unwrap();
            let found = factors.solve(&right);
            for (found, exact) in found.iter().zip(&exact) {
                assert!((found - exact).abs() < 1e-4, "{nx} {ny}: {found} {exact}");
            }
        }
    }

    #[test]
    fn a_singular_matrix_is_refused() {
        let mut unknowns = with_walls(6, 9);
        let last = unknowns.cell(5, 8);
        unknowns.fixed[last] = false;
        // Two pressures of a cell whose vertices are all fixed have no equation.
        for vertex in [
            unknowns.vertex(5, 8),
            unknowns.vertex(5, 9),
            unknowns.vertex(6, 8),
        ] {
            unknowns.fixed[vertex] = true;
            unknowns.fixed[vertex + 1] = true;
        }
        assert!(Factors::new(&unknowns, &element).is_none());
    }

    #[test]
    fn the_size_is_known_beforehand() {
        for [nx, ny] in [[40, 40], [90, 35]] {
            for unknowns in [with_walls(nx, ny), Unknowns::new(nx, ny, 1, false)] {
                let element = |i: usize, j: usize| {
                    if unknowns.pressure {
                        return element(i, j);
                    }
                    let mut matrix = Element::default();
                    (0..4).for_each(|k| matrix[k][k] = 1.0);
                    matrix
                };
                let bytes = Factors::new(&unknowns, &element).unwrap().bytes();
                let (expected, most) = unknowns.bytes();
                assert!(bytes <= expected, "{bytes} {expected}");
                assert!(expected < 2 * bytes && most > 0, "{bytes} {expected}");
            }
        }
    }

    #[test]
    fn the_number_of_threads_changes_no_bit() {
        let unknowns = with_walls(33, 40);
        let solve = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            pool.build().unwrap().install(|| {
                let right: Vec<f64> = (0..unknowns.fixed.len()).map(|k| k as f64).collect();
                Factors::new(&unknowns, &element).unwrap().solve(&right)
            })
        };
        assert_eq!(solve(1), solve(3));
    }
}
