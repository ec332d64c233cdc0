//! Populations near a face, relaxed once ahead of the pass, and the part of them that leaves.

use super::super::equilibrium::Heat;
use super::super::layout::{FlowShape, axis, entry, row};
use super::super::sweep::limited;
use crate::math::Real;
use crate::memory::{In, InOut};
use crate::simt::Simt;

/// Tables that can be read.
pub(crate) trait Tables<T: Real>: Copy {
    fn at<S: Simt>(self, t: &S, shape: &FlowShape, row: u32, column: u32) -> T;
    fn heat<S: Simt>(self, t: &S, shape: &FlowShape, column: u32, vx: T) -> Heat<T>;
}

impl<T: Real> Tables<T> for In<'_, T> {
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[track_caller]
    fn at<S: Simt>(self, t: &S, shape: &FlowShape, row: u32, column: u32) -> T {
        entry(t, self, shape, row, column)
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[track_caller]
    fn heat<S: Simt>(self, t: &S, shape: &FlowShape, column: u32, vx: T) -> Heat<T> {
        Heat::of(|k| self.at(t, shape, k, column), vx)
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
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[track_caller]
    fn heat<S: Simt>(self, t: &S, shape: &FlowShape, column: u32, vx: T) -> Heat<T> {
        Heat::of(|k| self.at(t, shape, k, column), vx)
    }
}

/// The relaxed population of a node at a column of the tables and a place of its plane.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
#[allow(clippy::too_many_arguments, reason = "what a population depends on")]
#[track_caller]
pub(crate) fn relaxed<S: Simt, T: Real>(
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
    let [value] = nodes.relaxed(t, f, tables, axes, shape, [jx, jy], column, place);
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
    pub(super) fn relaxed<S: Simt, T: Real>(
        self,
        t: &S,
        f: impl Fn([u32; 3], u32) -> T,
        tables: impl Tables<T>,
        axes: In<'_, T>,
        shape: &FlowShape,
        [jx, jy]: [u32; 2],
        column: u32,
        place: u32,
    ) -> [T; K] {
        let mut values = [T::ZERO; K];
        let mut k = 0;
        while k < K {
            values[k] = f([jx, jy, self.0[k]], place);
            k += 1;
        }
        self.relaxation(t, values, tables, axes, shape, [jx, jy], column)
    }

    /// What a column of the tables makes of their values `f`.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[allow(clippy::too_many_arguments, reason = "what a population depends on")]
    #[track_caller]
    pub(super) fn relaxation<S: Simt, T: Real>(
        self,
        t: &S,
        f: [T; K],
        tables: impl Tables<T>,
        axes: In<'_, T>,
        shape: &FlowShape,
        [jx, jy]: [u32; 2],
        column: u32,
    ) -> [T; K] {
        let at = |row: u32| tables.at(t, shape, row, column);
        let of = |e: u32| axes.get(t, e as usize);
        let keep = at(row::KEEP);
        let mut constant = at(row::X + jx) * at(shape.row_y() + jy);
        let mut slope = T::ZERO;
        if shape.shakhov != 0 {
            let heat = tables.heat(t, shape, column, of(shape.axis_x(jx) + axis::VELOCITY));
            let (alpha, beta) = heat.at(of(shape.axis_y(jy) + axis::VELOCITY));
            slope = beta * constant;
            if shape.integrated > 0 {
                slope *= at(shape.row_m() + 1);
            }
            constant *= alpha;
        }
        let mut values = f;
        let mut k = 0;
        while k < K {
            let m = self.0[k];
            let share = if shape.shakhov != 0 {
                slope.mul_add(of(shape.axis_m(m) + axis::FRACTION), constant)
            } else {
                constant
            };
            values[k] = keep.mul_add(f[k], share * at(shape.row_m() + m));
            k += 1;
        }
        values
    }
}

/// What leaves through an end, with `at(d)` the cell at the distance d from it: the last cell itself has no slope.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub(super) fn outflow<T: Real, const K: usize>(
    at: impl Fn(u32) -> [T; K],
    whole: u32,
    fraction: T,
    sloped: bool,
) -> [T; K] {
    let here = at(whole);
    let mut out = here;
    let mut k = 0;
    while k < K {
        out[k] *= fraction;
        k += 1;
    }
    if sloped && whole > 0 {
        let (beyond, next) = (at(whole + 1), at(whole - 1));
        let mut k = 0;
        while k < K {
            let (before, after) = (here[k] - beyond[k], next[k] - here[k]);
            out[k] += fraction * (T::ONE - fraction) * limited(before, after);
            k += 1;
        }
    }
    let mut d = 0;
    while d < whole {
        let all = at(d);
        let mut k = 0;
        while k < K {
            out[k] += all[k];
            k += 1;
        }
        d += 1;
    }
    out
}
