//! Streaming: the source of a cell's molecules, van Leer's slopes, and the shift of a lane's cells along x.

use super::layout::face;
use crate::math::Real;
use crate::simt::Simt;

/// The number of this block in the order in which tiles are taken up.
///
/// Where every other pass takes them up from the last on, the populations that the pass before wrote last come first, while they are in the L2 cache.
#[inline(always)]
pub(crate) fn block<S: Simt>(t: &S, turned: bool) -> u32 {
    if turned {
        t.grid_dim().wrapping_sub(1) - t.block_idx()
    } else {
        t.block_idx()
    }
}

/// Where the population lies that a place along x takes from.
#[derive(Clone, Copy)]
pub(crate) struct Source {
    /// The cell along the direction.
    pub(crate) cell: u32,
    /// Whether the node is the mirrored one.
    pub(crate) mirrored: bool,
    /// Whether it comes from the table's columns of the low (1) or high (2) face; then `cell` is only some cell, or the mirrored one of which the
    /// columns keep a part.
    pub(crate) face: u32,
}

/// Finds the source at the place `p`, which may lie beyond the ends, for molecules that go forward or backward.
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

/// The streamed values of cells whose lanes upstream and downstream are `lanes`, which have no slope where `flat`, and of which those that are `mixed` take from
/// a wall that mirrors a part.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
#[track_caller]
pub(crate) fn shift<S: Simt, T: Real, const W: usize, const SLOPED: bool, const DIRECTION: i32>(
    t: &S,
    post: [T; W],
    [fraction, rest]: [T; 2],
    forward: bool,
    lanes: [u32; 2],
    flat: bool,
    mixed: impl Fn(usize) -> bool,
) -> [T; W] {
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
    let turned = |values: [T; W]| {
        let mut turned = values;
        let mut k = 0;
        while k < W {
            turned[k] = if forward {
                values[k]
            } else {
                values[W - 1 - k]
            };
            k += 1;
        }
        turned
    };
    let post = turned(post);
    let mut out = [T::ZERO; W];
    let mut before = upstream(post[W - 1]);
    if SLOPED {
        let mut difference = [T::ZERO; W];
        let mut k = 0;
        while k < W {
            difference[k] = post[k] - before;
            before = post[k];
            k += 1;
        }
        let first = if flat { T::ZERO } else { difference[0] };
        let beyond = downstream(first);
        let mut passes = [T::ZERO; W];
        let mut k = 0;
        while k < W {
            let after = if k + 1 < W { difference[k + 1] } else { beyond };
            passes[k] = rest.mul_add(limited(difference[k], after), post[k]);
            k += 1;
        }
        // Those beyond a face are the first or the last.
        if mixed(0) || mixed(W - 1) {
            // Cells beyond a wall have no slopes.
            let mut k = 0;
            while k < W {
                let (here, opposite) = (mixed(k), mixed(W - 1 - k));
                if if forward { here } else { opposite } {
                    passes[k] = post[k];
                }
                k += 1;
            }
        }
        let mut enters = upstream(passes[W - 1]);
        let mut k = 0;
        while k < W {
            out[k] = fraction.mul_add(enters - passes[k], post[k]);
            enters = passes[k];
            k += 1;
        }
    } else {
        let mut k = 0;
        while k < W {
            out[k] = fraction.mul_add(before - post[k], post[k]);
            before = post[k];
            k += 1;
        }
    }
    turned(out)
}
