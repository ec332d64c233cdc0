//! Populations near a face, relaxed once ahead of the pass, and the part of them that leaves.

use super::super::equilibrium::{Drift, Heat};
use super::super::layout::{FUNCTIONS, FlowShape, axis, entry, row};
use super::super::sweep::limited;
use crate::Pack;
use crate::math::Real;
use crate::memory::{In, InOut};
use crate::simt::Simt;

/// Tables that can be read.
pub(crate) trait Tables<T: Real>: Copy {
    fn at<S: Simt>(self, t: &S, shape: &FlowShape, row: u32, column: u32) -> T;
}

impl<T: Real> Tables<T> for In<'_, T> {
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[track_caller]
    fn at<S: Simt>(self, t: &S, shape: &FlowShape, row: u32, column: u32) -> T {
        entry(t, self, shape, row, column)
    }
}

/// The tables of a kernel that writes the columns of faces and reads those of cells.
#[derive(Clone, Copy)]
pub(super) struct InOutTables<'a, T: Real>(pub(super) InOut<'a, T>);

impl<T: Real> Tables<T> for InOutTables<'_, T> {
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[track_caller]
    fn at<S: Simt>(self, t: &S, shape: &FlowShape, row: u32, column: u32) -> T {
        self.0
            .get(t, row as usize * shape.columns() as usize + column as usize)
    }
}

/// The relaxed population of a node at a column of the tables and a place of its plane.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
#[allow(clippy::too_many_arguments, reason = "what a population depends on")]
#[track_caller]
pub(crate) fn relaxed<S: Simt, T: Real, const ROTATES: bool>(
    t: &S,
    f: impl Fn([u32; 3], u32) -> T,
    tables: impl Tables<T>,
    axes: In<'_, T>,
    shape: &FlowShape,
    [jx, jy, m]: [u32; 3],
    column: u32,
    place: u32,
) -> T {
    let nodes = Inner([m]);
    let Pack([value]) =
        nodes.relaxed::<_, _, ROTATES>(t, f, tables, axes, shape, [jx, jy], column, place);
    value
}

/// Some nodes of the innermost axis.
#[derive(Clone, Copy)]
pub(super) struct Inner<const K: usize>(pub(super) [u32; K]);

impl<const K: usize> Inner<K> {
    /// Their relaxed populations.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[allow(clippy::too_many_arguments, reason = "what a population depends on")]
    #[track_caller]
    pub(super) fn relaxed<S: Simt, T: Real, const ROTATES: bool>(
        self,
        t: &S,
        f: impl Fn([u32; 3], u32) -> T,
        tables: impl Tables<T>,
        axes: In<'_, T>,
        shape: &FlowShape,
        [jx, jy]: [u32; 2],
        column: u32,
        place: u32,
    ) -> Pack<T, K> {
        let values = Pack::from_fn(|k| f([jx, jy, self.0[k]], place));
        self.relaxation::<_, _, ROTATES>(t, values, tables, axes, shape, [jx, jy], column)
    }

    /// Their values `f` after relaxation towards the equilibrium of a column of the tables.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[allow(clippy::too_many_arguments, reason = "what a population depends on")]
    #[track_caller]
    pub(super) fn relaxation<S: Simt, T: Real, const ROTATES: bool>(
        self,
        t: &S,
        f: Pack<T, K>,
        tables: impl Tables<T>,
        axes: In<'_, T>,
        shape: &FlowShape,
        [jx, jy]: [u32; 2],
        column: u32,
    ) -> Pack<T, K> {
        let at = |row: u32| tables.at(t, shape, row, column);
        let of = |e: u32| axes.get(t, e as usize);
        let decay = at(row::DECAY);
        let mut constant = at(row::X + jx) * at(shape.row_y() + jy);
        let (mut slope, mut drift) = (T::ZERO, T::ZERO);
        if shape.shakhov != 0 {
            let vx = of(shape.axis_x(jx) + axis::VELOCITY);
            let heat = Heat::of(|row| Pack([at(row)]), Pack([vx]));
            let (Pack([alpha]), Pack([beta])) = heat.at(of(shape.axis_y(jy) + axis::VELOCITY));
            slope = beta * constant;
            if shape.integrated > 0 {
                slope *= at(shape.row_m() + 1);
            }
            if ROTATES {
                let of_flux = Drift::of(shape.row_internal(), |row| Pack([at(row)]), Pack([vx]));
                let Pack([factor]) = of_flux.at(of(shape.axis_y(jy) + axis::VELOCITY));
                drift = factor * constant;
            }
            constant *= alpha;
        }
        Pack::from_fn(|k| {
            let m = self.0[k];
            let share = if shape.shakhov != 0 {
                slope.mul_add(of(shape.axis_m(m) + axis::FRACTION), constant)
            } else {
                constant
            };
            let relaxed = decay.mul_add(f[k], share * at(shape.row_m() + m));
            // The last function is the internal energy.
            if ROTATES && m + 1 == FUNCTIONS as u32 {
                relaxed + drift
            } else {
                relaxed
            }
        })
    }
}

/// The outflow through an end. `at(d)` is the cell at the distance d from the end; the last cell has no slope.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub(super) fn outflow<T: Real, const K: usize>(
    at: impl Fn(u32) -> Pack<T, K>,
    whole: u32,
    fraction: T,
    sloped: bool,
) -> Pack<T, K> {
    let here = at(whole);
    let mut out = here * fraction;
    if sloped && whole > 0 {
        let (before, after) = (here - at(whole + 1), at(whole - 1) - here);
        out += before.zip(after, limited) * (fraction * (T::ONE - fraction));
    }
    for d in 0..whole {
        out += at(d);
    }
    out
}
