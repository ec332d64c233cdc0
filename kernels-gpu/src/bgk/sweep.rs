//! Streaming: the source of a cell's molecules, van Leer's slopes, and the shift of a lane's cells along x.

use core::ops::AddAssign;

use super::layout::face;
use crate::Pack;
use crate::math::Real;
use crate::simt::Simt;

/// The number of this block in the order of the tiles.
///
/// Every other pass reverses the order. It then starts with the populations that the pass before wrote last, which are still in the L2 cache.
#[inline(always)]
pub(crate) fn block<S: Simt>(t: &S, reversed: bool) -> u32 {
    if reversed {
        t.grid_dim().wrapping_sub(1) - t.block_idx()
    } else {
        t.block_idx()
    }
}

/// The cell, or the face, that a place along x receives its molecules from.
#[derive(Clone, Copy)]
pub(crate) struct Source {
    /// The cell along the direction.
    pub(crate) cell: u32,
    /// Whether the node is the mirrored one.
    pub(crate) mirrored: bool,
    /// 1 or 2 where the molecules come from the columns of the low or the high face, else 0. `cell` is then any cell, or the mirrored one that the
    /// columns mix in.
    pub(crate) face: u32,
}

/// The source of the place `p`, which may lie beyond the ends, for molecules that fly forward or backward.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub(crate) fn source(p: i32, n: u32, low: u32, high: u32, forward: bool) -> Source {
    let last = n as i32 - 1;
    let clamp = |p: i32| {
        let p = if p < 0 { 0 } else { p };
        (if p > last { last } else { p }) as u32
    };
    let plain = |p: i32| Source {
        cell: clamp(p),
        mirrored: false,
        face: 0,
    };
    // Of molecules that leave, only a plane of symmetry mirrors those beyond it.
    let mirrors = |kind: u32, enters: bool| kind == face::MIRROR || (kind == face::MIXED && enters);
    if p < 0 {
        if mirrors(low, forward) {
            Source {
                cell: clamp(-1 - p),
                mirrored: true,
                face: if low == face::MIXED { 1 } else { 0 },
            }
        } else if low == face::PERIODIC {
            plain(p + n as i32)
        } else if forward {
            Source {
                cell: 0,
                mirrored: false,
                face: 1,
            }
        } else {
            plain(0)
        }
    } else if p > last {
        if mirrors(high, !forward) {
            Source {
                cell: clamp(2 * last + 1 - p),
                mirrored: true,
                face: if high == face::MIXED { 2 } else { 0 },
            }
        } else if high == face::PERIODIC {
            plain(p - n as i32)
        } else if forward {
            plain(last)
        } else {
            Source {
                cell: last as u32,
                mirrored: false,
                face: 2,
            }
        }
    } else {
        plain(p)
    }
}

/// Half of van Leer's slope: `A B / (A + B)`, 0 at an extremum.
///
/// Of a cell with the population f, a fraction a passes on whose mean is `g = f + (1 - a) A B / (A + B)`; so a step leaves `f + a (g' - g)`, with g' of the
/// cell before.
#[inline(always)]
pub(crate) fn limited<T: Real>(before: T, after: T) -> T {
    let product = before * after;
    let slope = product * (before + after).hardware_reciprocal();
    if product > T::ZERO { slope } else { T::ZERO }
}

/// The streamed values of a lane's cells. `lanes` are the neighbours upstream and downstream, for a direction that the compiler does not know.
///
/// Cells that are `flat` have no slope. Neither have `mixed` cells, whose molecules come from a wall that mirrors a part of them.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
#[track_caller]
pub(crate) fn shift<S: Simt, T: Real, const W: usize, const SLOPED: bool, const DIRECTION: i32>(
    t: &S,
    post: Pack<T, W>,
    [fraction, rest]: [T; 2],
    forward: bool,
    lanes: [u32; 2],
    flat: bool,
    mixed: impl Fn(usize) -> bool,
) -> Pack<T, W> {
    let upstream = |value: T| match DIRECTION {
        0 => t.shuffle(value, lanes[0]),
        1 => t.shuffle_up(value, 1),
        _ => t.shuffle_down(value, 1),
    };
    let downstream = |value: T| match DIRECTION {
        0 => t.shuffle(value, lanes[1]),
        1 => t.shuffle_down(value, 1),
        _ => t.shuffle_up(value, 1),
    };
    // In the order in which molecules meet the cells.
    let in_order = |cells: Pack<T, W>| if forward { cells } else { cells.reversed() };
    let post = in_order(post);
    let before_first = upstream(post.last());
    if !SLOPED {
        let mix = |before: T, here: T| fraction.mul_add(before - here, here);
        return in_order(post.with_previous(before_first, mix));
    }
    let difference = post.with_previous(before_first, |before, here| here - before);
    let first = if flat { T::ZERO } else { difference.first() };
    let slope = difference.with_next(downstream(first), limited);
    let mut passes = slope.mul_add(rest, post);
    // Cells beyond a wall have no slopes; those beyond a face are the first or the last.
    if mixed(0) || mixed(W - 1) {
        passes = Pack::from_fn(|k| {
            let (here, opposite) = (mixed(k), mixed(W - 1 - k));
            if if forward { here } else { opposite } {
                post[k]
            } else {
                passes[k]
            }
        });
    }
    let enters_first = upstream(passes.last());
    let change = passes.with_previous(enters_first, |enters, leaves| enters - leaves);
    in_order(change.mul_add(fraction, post))
}

/// Takes a worker's share of `count` items in their order: `first`, `first + step` and so on. N items are read before the first of them is taken, since loads
/// take long but overlap.
#[inline(always)]
#[track_caller]
pub(crate) fn read_ahead<S: Simt, const N: usize, V: Copy>(
    t: &S,
    [first, step, count]: [u32; 3],
    read: impl Fn(u32) -> V,
    mut take: impl FnMut(u32, V),
) {
    let mut item = first;
    while item < count {
        // An item beyond the last is the last once more, so that no branch parts the reads.
        let at = |k: usize| {
            let item = item + k as u32 * step;
            if item < count { item } else { count - 1 }
        };
        let mut values = [read(item); N];
        for k in 1..N {
            values[k] = read(at(k));
        }
        // Without it the compiler moves a read to the branch that takes its value.
        t.pin_accesses();
        for k in 0..N {
            if item + (k as u32) * step < count {
                take(at(k), values[k]);
            }
        }
        item += N as u32 * step;
    }
}

/// The sum over the warps of a block, in their order.
#[inline(always)]
#[track_caller]
pub(crate) fn sum_of_warps<S: Simt, V: AddAssign>(t: &S, of: impl Fn(u32) -> V) -> V {
    let mut sum = of(0);
    // A `for` loop counts at its start; addresses of shared memory then take more instructions.
    let mut warp = 1;
    while warp < t.warps() {
        sum += of(warp);
        warp += 1;
    }
    sum
}
