//! Populations as they are and in 16 bits: which kernels take them, and what these are given besides.

use std::marker::PhantomData;

use rarefy_kernels::bgk_flow::{self as kernels, FACE_ROW_THREADS, FACE_THREADS, Faces, FlowShape};
use rarefy_kernels::bgk_line::{self, LINE_THREADS};
use rarefy_kernels::bgk_march::{self, March};
use rarefy_kernels::bgk_plane::{self, PLANE_THREADS};
use rarefy_kernels::{Element, Real, WARP, bgk_faces_16, bgk_line_16, bgk_plane_16};

use super::super::storage::{decoded, nearest};
use crate::error::Result;
use crate::machine::{Grid, Machine};

/// How the kernels are given populations.
pub(in crate::bgk) trait Stored: Send + Sized + 'static {
    /// The arithmetic.
    type Real: Real;
    /// What memory holds.
    type Word: Element + Default;
    /// Populations in a word.
    const IN_A_WORD: usize;
    /// Whether it holds deviations from the tables of the step before.
    const DEVIATIONS: bool = Self::IN_A_WORD > 1;

    /// Fills a buffer with the Maxwellians of the tables.
    fn fill<M: Machine>(
        machine: &M,
        tables: &M::Buffer<Self::Real>,
        f: &mut M::Buffer<Self::Word>,
        shape: FlowShape,
    ) -> Result<()>;
    /// The populations of words in order; `of` knows what each deviates from, and its scale.
    fn populations(words: Vec<Self::Word>, of: &Of<'_>) -> Vec<f64>;
    /// The same back.
    fn words(populations: &[f64], of: &Of<'_>) -> Vec<Self::Word>;
    /// The pass: `[two dimensions, slopes, Shakhov]`.
    fn pass<M: Machine>(
        machine: &M,
        kind: [bool; 3],
        blocks: u32,
        arguments: Arguments<'_, M, Self>,
    ) -> Result<()>;
    /// What leaves through the left and right faces.
    fn faces_along_x<M: Machine>(
        machine: &M,
        f: Kept<'_, M, Self>,
        arguments: FaceArguments<'_, M, Self>,
    ) -> Result<()>;
    /// What leaves through the bottom and top faces, by chunks.
    fn faces_along_y<M: Machine>(
        machine: &M,
        f: Kept<'_, M, Self>,
        blocks: u32,
        arguments: RowArguments<'_, M, Self>,
    ) -> Result<()>;
}

/// Populations `[jx][jy][m][place]`, `in_a_word` a word, in the order in which the kernels have them: `[jx][jy][place / 32][m][place % 32]`, and the zeros
/// behind them.
pub(in crate::bgk) fn laid_out<W: Copy + Default>(
    shape: &FlowShape,
    words: &[W],
    in_a_word: usize,
) -> Vec<W> {
    let (tiles, nodes) = (shape.plane() / WARP, shape.count_m);
    let mut words = exchanged(words, [nodes, tiles], in_a_word);
    words.resize(shape.populations() / in_a_word, W::default());
    words
}

/// The same back.
pub(in crate::bgk) fn gathered<W: Copy>(
    shape: &FlowShape,
    words: &[W],
    in_a_word: usize,
) -> Vec<W> {
    let (tiles, nodes) = (shape.plane() / WARP, shape.count_m);
    exchanged(words, [tiles, nodes], in_a_word)
}

/// The runs of a warp's cells of each pair (v_x, v_y), by columns in place of by rows.
fn exchanged<W: Copy>(words: &[W], counts: [u32; 2], in_a_word: usize) -> Vec<W> {
    let [rows, columns] = counts.map(|count| count as usize);
    let run = WARP as usize / in_a_word;
    let mut turned = Vec::with_capacity(words.len() + run);
    for pair in words.chunks_exact(rows * columns * run) {
        for column in 0..columns {
            for row in 0..rows {
                turned.extend_from_slice(&pair[(row * columns + column) * run..][..run]);
            }
        }
    }
    turned
}

/// What the population at a place of a buffer, laid in order, deviates from, and its scale.
type Of<'a> = dyn Fn(usize) -> (f64, [f32; 2]) + 'a;

/// Populations, and what they are decoded with.
pub(in crate::bgk) struct Kept<'a, M: Machine, P: Stored> {
    pub(super) f: &'a M::Buffer<P::Word>,
    /// The tables of the step before.
    pub(super) before: &'a M::Buffer<P::Real>,
    pub(super) scales: &'a M::Buffer<P::Real>,
}

/// Arguments of the pass.
pub(in crate::bgk) struct Arguments<'a, M: Machine, P: Stored> {
    pub(super) kept: Kept<'a, M, P>,
    pub(super) clock: &'a M::Buffer<u32>,
    pub(super) tables: &'a M::Buffer<P::Real>,
    pub(super) axes: &'a M::Buffer<P::Real>,
    pub(super) next: &'a mut M::Buffer<P::Word>,
    pub(super) partial: &'a mut M::Buffer<P::Real>,
    pub(super) shape: FlowShape,
    pub(super) groups: u32,
    /// 1 where it takes up the last tiles first.
    pub(super) turned: u32,
    /// How blocks share the work where the pass is one of [`bgk_march`].
    pub(super) march: Option<March>,
}

/// Arguments of the kernel of the left and right faces.
pub(in crate::bgk) struct FaceArguments<'a, M: Machine, P: Stored> {
    pub(super) axes: &'a M::Buffer<P::Real>,
    pub(super) emissions: &'a M::Buffer<f64>,
    pub(super) tables: &'a mut M::Buffer<P::Real>,
    pub(super) found: &'a mut M::Buffer<f64>,
    pub(super) shape: FlowShape,
    pub(super) faces: Faces,
}

/// Arguments of the kernel of the bottom and top faces.
pub(in crate::bgk) struct RowArguments<'a, M: Machine, P: Stored> {
    pub(super) axes: &'a M::Buffer<P::Real>,
    pub(super) tables: &'a M::Buffer<P::Real>,
    pub(super) partial: &'a mut M::Buffer<f64>,
    pub(super) shape: FlowShape,
    pub(super) faces: Faces,
}

/// Launches the pass of a kind.
macro_rules! by_kind {
    ($machine:ident, $kind:ident, $blocks:ident, $line:ident, $plane:ident, $arguments:tt, [$($name:ident)*]) => {
        by_kind!(@ $machine, $kind, $blocks, $line, $plane, $arguments, $($name)*)
    };
    (@ $machine:ident, $kind:ident, $blocks:ident, $line:ident, $plane:ident, $arguments:tt,
     $l0:ident $l1:ident $l2:ident $l3:ident $p0:ident $p1:ident $p2:ident $p3:ident) => {
        match $kind {
            [false, false, false] => by_kind!(# $machine, $blocks, LINE_THREADS, $line::$l0, $arguments),
            [false, true, false] => by_kind!(# $machine, $blocks, LINE_THREADS, $line::$l1, $arguments),
            [false, false, true] => by_kind!(# $machine, $blocks, LINE_THREADS, $line::$l2, $arguments),
            [false, true, true] => by_kind!(# $machine, $blocks, LINE_THREADS, $line::$l3, $arguments),
            [true, false, false] => by_kind!(# $machine, $blocks, PLANE_THREADS, $plane::$p0, $arguments),
            [true, true, false] => by_kind!(# $machine, $blocks, PLANE_THREADS, $plane::$p1, $arguments),
            [true, false, true] => by_kind!(# $machine, $blocks, PLANE_THREADS, $plane::$p2, $arguments),
            [true, true, true] => by_kind!(# $machine, $blocks, PLANE_THREADS, $plane::$p3, $arguments),
        }
    };
    (# $machine:ident, $blocks:ident, $threads:ident, $wing:ident::$kernel:ident, { $($field:ident),* }) => {
        $machine.launch(
            Grid { blocks: $blocks, threads: $threads },
            $wing::$kernel { $($field),* },
        )
    };
}

/// As they are.
pub(in crate::bgk) struct Plain<T>(PhantomData<T>);

impl<T: Real + Default> Stored for Plain<T> {
    type Real = T;
    type Word = T;
    const IN_A_WORD: usize = 1;

    fn fill<M: Machine>(
        machine: &M,
        tables: &M::Buffer<T>,
        f: &mut M::Buffer<T>,
        shape: FlowShape,
    ) -> Result<()> {
        machine.launch(
            Grid::per_item((shape.plane() * shape.count_m) as usize, 128),
            kernels::fill { tables, f, shape },
        )
    }

    fn populations(words: Vec<T>, _: &Of<'_>) -> Vec<f64> {
        words.into_iter().map(|f| f.to_f64()).collect()
    }

    fn words(populations: &[f64], _: &Of<'_>) -> Vec<T> {
        populations.iter().map(|f| T::from_f64(*f)).collect()
    }

    fn pass<M: Machine>(
        machine: &M,
        kind: [bool; 3],
        blocks: u32,
        arguments: Arguments<'_, M, Self>,
    ) -> Result<()> {
        let Arguments {
            kept: Kept { f, .. },
            tables,
            axes,
            next,
            partial,
            shape,
            groups,
            turned,
            march,
            ..
        } = arguments;
        if let Some(march) = march {
            let threads = 32 * march.warps;
            macro_rules! launch {
                ($kernel:ident) => {
                    by_kind!(
                        # machine, blocks, threads, bgk_march::$kernel,
                        { f, tables, axes, next, partial, shape, march, turned }
                    )
                };
            }
            let [_, sloped, _] = kind;
            return if sloped {
                launch!(plane_march_van_leer)
            } else {
                launch!(plane_march_upwind)
            };
        }
        by_kind!(
            machine, kind, blocks, bgk_line, bgk_plane,
            { f, tables, axes, next, partial, shape, groups, turned },
            [
                line_pass_upwind line_pass_van_leer
                line_pass_upwind_shakhov line_pass_van_leer_shakhov
                plane_pass_upwind plane_pass_van_leer
                plane_pass_upwind_shakhov plane_pass_van_leer_shakhov
            ]
        )
    }

    fn faces_along_x<M: Machine>(
        machine: &M,
        f: Kept<'_, M, Self>,
        arguments: FaceArguments<'_, M, Self>,
    ) -> Result<()> {
        let FaceArguments {
            axes,
            emissions,
            tables,
            found,
            shape,
            faces,
        } = arguments;
        machine.launch(
            Grid {
                blocks: 2 * shape.ny,
                threads: FACE_THREADS,
            },
            kernels::faces_along_x {
                f: f.f,
                axes,
                emissions,
                tables,
                found,
                shape,
                faces,
            },
        )
    }

    fn faces_along_y<M: Machine>(
        machine: &M,
        f: Kept<'_, M, Self>,
        blocks: u32,
        arguments: RowArguments<'_, M, Self>,
    ) -> Result<()> {
        let RowArguments {
            axes,
            tables,
            partial,
            shape,
            faces,
        } = arguments;
        machine.launch(
            Grid {
                blocks,
                threads: FACE_ROW_THREADS,
            },
            kernels::faces_along_y {
                f: f.f,
                axes,
                tables,
                partial,
                shape,
                faces,
            },
        )
    }
}

/// In 16 bits, two a word.
pub(in crate::bgk) struct Rounded;

impl Stored for Rounded {
    type Real = f32;
    type Word = u32;
    const IN_A_WORD: usize = 2;

    /// They do not deviate, and that is what a buffer holds at first.
    fn fill<M: Machine>(
        _: &M,
        _: &M::Buffer<f32>,
        _: &mut M::Buffer<u32>,
        _: FlowShape,
    ) -> Result<()> {
        Ok(())
    }

    fn populations(words: Vec<u32>, of: &Of<'_>) -> Vec<f64> {
        let halves = words
            .into_iter()
            .flat_map(|word| [word & 0xffff, word >> 16]);
        halves
            .enumerate()
            .map(|(at, half)| {
                let (maxwellian, scale) = of(at);
                decoded(half, maxwellian, scale)
            })
            .collect()
    }

    fn words(populations: &[f64], of: &Of<'_>) -> Vec<u32> {
        let half = |at: usize| {
            let (maxwellian, scale) = of(at);
            nearest(populations[at], maxwellian, scale)
        };
        (0..populations.len() / 2)
            .map(|k| half(2 * k) | half(2 * k + 1) << 16)
            .collect()
    }

    fn pass<M: Machine>(
        machine: &M,
        kind: [bool; 3],
        blocks: u32,
        arguments: Arguments<'_, M, Self>,
    ) -> Result<()> {
        let Arguments {
            kept: Kept { f, before, scales },
            clock,
            tables,
            axes,
            next,
            partial,
            shape,
            groups,
            turned,
            ..
        } = arguments;
        by_kind!(
            machine, kind, blocks, bgk_line_16, bgk_plane_16,
            { f, before, scales, clock, tables, axes, next, partial, shape, groups, turned },
            [
                line_pass_upwind_16 line_pass_van_leer_16
                line_pass_upwind_shakhov_16 line_pass_van_leer_shakhov_16
                plane_pass_upwind_16 plane_pass_van_leer_16
                plane_pass_upwind_shakhov_16 plane_pass_van_leer_shakhov_16
            ]
        )
    }

    fn faces_along_x<M: Machine>(
        machine: &M,
        f: Kept<'_, M, Self>,
        arguments: FaceArguments<'_, M, Self>,
    ) -> Result<()> {
        let Kept { f, before, scales } = f;
        let FaceArguments {
            axes,
            emissions,
            tables,
            found,
            shape,
            faces,
        } = arguments;
        machine.launch(
            Grid {
                blocks: 2 * shape.ny,
                threads: FACE_THREADS,
            },
            bgk_faces_16::faces_along_x_16 {
                f,
                before,
                scales,
                axes,
                emissions,
                tables,
                found,
                shape,
                faces,
            },
        )
    }

    fn faces_along_y<M: Machine>(
        machine: &M,
        f: Kept<'_, M, Self>,
        blocks: u32,
        arguments: RowArguments<'_, M, Self>,
    ) -> Result<()> {
        let Kept { f, before, scales } = f;
        let RowArguments {
            axes,
            tables,
            partial,
            shape,
            faces,
        } = arguments;
        machine.launch(
            Grid {
                blocks,
                threads: FACE_ROW_THREADS,
            },
            bgk_faces_16::faces_along_y_16 {
                f,
                before,
                scales,
                axes,
                tables,
                partial,
                shape,
                faces,
            },
        )
    }
}
