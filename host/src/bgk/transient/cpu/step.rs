//! Relaxation and shift along x of a node's populations in a row of cells.

use std::ops::Range;

use rarefy_kernels::Real;

use super::face::Face;
use super::layout::Layout;
use super::rows::{RowShift, add_along, heat_factors, multiply, relax, relax_shakhov};
use super::tables::Tables;

/// Data shared by all chunks of a step.
#[derive(Clone, Copy)]
pub(super) struct Step<'a, T> {
    pub(super) layout: &'a Layout<T>,
    pub(super) tables: &'a Tables<T>,
}

/// Work space of the rows of a task.
pub(super) struct Scratch<T> {
    /// A row with room for `pad` cells beyond its ends.
    pub(super) row: Vec<T>,
    pad: usize,
    pub(super) passes: Vec<T>,
    /// Multiplier of the innermost factor at a pair (j_x, j_y), the Shakhov model's factor, and the first part of that of E.
    product: Vec<T>,
    factors: [Vec<T>; 3],
}

impl<T: Real> Scratch<T> {
    /// For rows of so many cells.
    pub(super) fn new(layout: &Layout<T>, cells: usize, pad: usize) -> Self {
        let row = |there: bool| vec![T::ZERO; if there { cells } else { 0 }];
        Self {
            row: vec![T::ZERO; cells + 2 * pad],
            pad,
            passes: vec![T::ZERO; cells + 1],
            product: vec![T::ZERO; cells],
            factors: [layout.shakhov, layout.shakhov, layout.rotates].map(row),
        }
    }

    /// For the rows of the layout.
    pub(super) fn of_rows(layout: &Layout<T>) -> Self {
        Self::new(layout, layout.nx, layout.pad[0])
    }
}

impl<T: Real> Step<'_, T> {
    /// The populations of a node in the cells, relaxed, of a pair that is [prepared](Self::prepare) there, into the middle of the scratch row.
    #[inline(always)]
    pub(super) fn relax(
        &self,
        node: usize,
        cells: Range<usize>,
        f: &[T],
        scratch: &mut Scratch<T>,
    ) {
        let (layout, tables) = (self.layout, self.tables);
        let m = layout.nodes[node].m;
        let out = &mut scratch.row[scratch.pad..][..cells.len()];
        let (keep, inner) = (&tables.keep()[cells.clone()], &tables.inner(m)[cells]);
        if layout.shakhov {
            let [alpha, beta, of_internal] = &scratch.factors;
            let is_internal = layout.rotates && m + 1 == layout.shape[2];
            let alpha = if is_internal { of_internal } else { alpha };
            let s = layout.heat_argument[m];
            relax_shakhov(out, f, keep, &scratch.product, inner, alpha, beta, s);
        } else {
            relax(out, f, keep, &scratch.product, inner);
        }
    }

    /// Makes ready what the nodes of a pair (j_x, j_y) share in the cells.
    #[inline(always)]
    pub(super) fn prepare(
        &self,
        [jx, jy]: [usize; 2],
        cells: Range<usize>,
        scratch: &mut Scratch<T>,
    ) {
        let (layout, tables) = (self.layout, self.tables);
        let range = cells.clone();
        multiply(
            &mut scratch.product,
            &tables.x(jx)[range.clone()],
            &tables.y(jy)[range.clone()],
        );
        if layout.shakhov {
            let velocity = &layout.problem.velocity;
            let v = [velocity.x().nodes()[jx], velocity.y_nodes()[jy]].map(T::from_f64);
            let unresolved = velocity
                .is_reduced()
                .then(|| &tables.inner(1)[cells.clone()]);
            let heat = tables.heat().map(|row| &row[cells.clone()]);
            let [alpha, beta, of_internal] = &mut scratch.factors;
            heat_factors(alpha, beta, heat, v, unresolved);
            if layout.rotates {
                let g = tables.internal().map(|row| &row[cells.clone()]);
                add_along(of_internal, alpha, g, [heat[6], heat[7]], v);
            }
        }
    }

    /// The shift along x of a pair's rows.
    pub(super) fn shift_x(&self, jx: usize, faces: &[Face<T>]) -> RowShift<T> {
        let layout = self.layout;
        let courant = layout.courant[0][jx];
        RowShift {
            n: layout.nx,
            pad: layout.pad[0],
            forward: layout.problem.velocity.x().nodes()[jx] > 0.0,
            whole: courant.whole,
            fraction: T::from_f64(courant.fraction),
            sloped: [layout.sloped(), faces[0].sloped(), faces[1].sloped()],
        }
    }

    /// The populations of a node in a row of cells, relaxed and shifted along x, of a pair that is [prepared](Self::prepare) there.
    #[inline(always)]
    #[allow(
        clippy::too_many_arguments,
        reason = "a row, where it lies, and where it goes"
    )]
    pub(super) fn shifted(
        &self,
        along_x: &RowShift<T>,
        faces: &[Face<T>],
        node: usize,
        iy: usize,
        f: &[T],
        scratch: &mut Scratch<T>,
        out: &mut [T],
    ) {
        let layout = self.layout;
        self.relax(node, iy * layout.nx..(iy + 1) * layout.nx, f, scratch);
        for (side, face) in faces.iter().enumerate() {
            face.fill(layout, node, iy, side, &mut scratch.row);
        }
        along_x.run(&scratch.row, &mut scratch.passes, out);
    }
}
