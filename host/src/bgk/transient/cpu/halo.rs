//! The cuts of a rank's part: what it exchanges with its neighbours in a step.
//!
//! Before a step come the populations near the cuts, their cells' sums, and where ghosts take several steps the Maxwellians from which Newton's
//! method starts. In a plane the densities follow with which the walls at the left and right send back in the rows of ghosts: their owner alone knows them.

use rarefy_kernels::Real;

use super::super::engine::Node;
use super::super::parts::Cut;
use super::super::relaxation::Relaxations;
use super::face::{Face, Kind};
use super::layout::Layout;
use crate::distributed::{Reader, put};
use crate::error::Result;
use crate::maxwellian::TOGETHER;

/// State of the engine on the CPU for its cuts.
pub(super) struct Ends {
    pub(super) cut: Cut,
    /// Whether all ghosts are made unusable before they are written over.
    #[cfg(test)]
    pub(super) poisoned: bool,
}

/// The state of an engine that ghosts are part of.
pub(super) struct Ghosts<'a, T> {
    pub(super) f: &'a mut [T],
    pub(super) sums: &'a mut [f64],
    pub(super) relaxations: &'a mut [Relaxations],
}

impl Ends {
    pub(super) fn new(cut: Cut) -> Self {
        Self {
            cut,
            #[cfg(test)]
            poisoned: false,
        }
    }

    /// The rank's own cells, or the ghosts, at the distance `d` from a cut.
    fn cells<T: Real>(
        &self,
        layout: &Layout<T>,
        side: usize,
        d: usize,
        ghost: bool,
    ) -> std::ops::Range<usize> {
        let run = self.cut.run(&layout.problem);
        let place = self.cut.part.near(side, d, ghost);
        place * run..(place + 1) * run
    }

    /// How deep the populations of a node go in a message that flies to the low (0) or the high (1) side.
    fn depth(&self, node: &Node, way: usize) -> usize {
        let high = node.v[self.cut.part.direction] > 0.0;
        if high == (way == 1) {
            self.cut.depth_in
        } else {
            self.cut.depth_out
        }
    }

    /// Values of `of` at each side with a neighbour.
    fn at_sides<V: Default>(&self, of: impl Fn(usize) -> V) -> [V; 2] {
        let there = self
            .cut
            .part
            .neighbours
            .map(|neighbour| neighbour.is_some());
        [0, 1].map(|side| if there[side] { of(side) } else { V::default() })
    }

    /// Sends messages to both neighbours, and hands what they send, so many bytes, to `unpack`.
    fn swap(
        &self,
        out: &[Vec<u8>; 2],
        bytes: [usize; 2],
        mut unpack: impl FnMut(usize, &mut Reader<'_>) -> Result<()>,
    ) -> Result<()> {
        let into = self.cut.swap(out, bytes)?;
        for (side, message) in into.iter().enumerate() {
            if self.cut.part.neighbours[side].is_some() {
                unpack(side, &mut Reader::new(message))?;
            }
        }
        Ok(())
    }

    /// Before a step: brings the ghosts up to date where they are stale.
    pub(super) fn refresh<T: Real>(
        &mut self,
        layout: &Layout<T>,
        ghosts: Ghosts<'_, T>,
    ) -> Result<()> {
        if !self.cut.is_due() {
            return Ok(());
        }
        let Ghosts {
            f,
            sums,
            relaxations,
        } = ghosts;
        let cells = layout.cells();
        #[cfg(test)]
        if self.poisoned {
            self.poison(layout, f, sums);
        }
        let with_maxwellians = self.cut.cycle > 1 && !relaxations.is_empty();
        let run = self.cut.run(&layout.problem);
        let pack = |side: usize| {
            let mut bytes = Vec::new();
            for (node, f) in layout.nodes.iter().zip(f.chunks_exact(cells)) {
                for d in 0..self.depth(node, side) {
                    let here = self.cells(layout, side, d, false);
                    put(&mut bytes, f[here].iter().copied());
                }
            }
            for d in 0..self.cut.depth_in {
                let here = self.cells(layout, side, d, false);
                for row in sums.chunks_exact(cells) {
                    put(&mut bytes, row[here.clone()].iter().copied());
                }
                for cell in here.filter(|_| with_maxwellians) {
                    let m = relaxations[cell / TOGETHER]
                        .maxwellians
                        .get(cell % TOGETHER);
                    put(&mut bytes, [m.slope[0], m.slope[1], m.inverse_temperature]);
                }
            }
            bytes
        };
        let bytes = |side: usize| {
            let of_nodes: usize = (layout.nodes.iter())
                .map(|node| self.depth(node, 1 - side))
                .sum();
            let numbers = layout.sums + if with_maxwellians { 3 } else { 0 };
            run * (of_nodes * size_of::<T>() + self.cut.depth_in * numbers * size_of::<f64>())
        };
        let (out, bytes) = (self.at_sides(pack), self.at_sides(bytes));
        self.swap(&out, bytes, |side, message| {
            for (node, f) in layout.nodes.iter().zip(f.chunks_exact_mut(cells)) {
                for d in 0..self.depth(node, 1 - side) {
                    for f in &mut f[self.cells(layout, side, d, true)] {
                        *f = message.next()?;
                    }
                }
            }
            for d in 0..self.cut.depth_in {
                let here = self.cells(layout, side, d, true);
                for row in sums.chunks_exact_mut(cells) {
                    for sum in &mut row[here.clone()] {
                        *sum = message.next()?;
                    }
                }
                for cell in here.filter(|_| with_maxwellians) {
                    let all = &mut relaxations[cell / TOGETHER].maxwellians;
                    let mut m = all.get(cell % TOGETHER);
                    m.slope = [message.next()?, message.next()?];
                    m.inverse_temperature = message.next()?;
                    all.set(cell % TOGETHER, &m);
                }
            }
            Ok(())
        })
    }

    /// In a plane, after the walls at the left and right have their densities: those of the ghosts' rows.
    pub(super) fn refresh_walls<T: Real>(&self, faces: &mut [Face<T>]) -> Result<()> {
        let walls = faces.iter().filter(|face| face.kind == Kind::Wall).count();
        if self.cut.part.direction == 0 || walls == 0 {
            return Ok(());
        }
        let (depth, part) = (self.cut.depth_in, &self.cut.part);
        let out = self.at_sides(|side| {
            let mut bytes = Vec::new();
            for face in faces.iter().filter(|face| face.kind == Kind::Wall) {
                let densities = (0..depth).map(|d| face.density[part.near(side, d, false)]);
                put(&mut bytes, densities);
            }
            bytes
        });
        self.swap(
            &out,
            self.at_sides(|_| walls * depth * size_of::<T>()),
            |side, message| {
                for face in faces.iter_mut().filter(|face| face.kind == Kind::Wall) {
                    for d in 0..depth {
                        face.density[part.near(side, d, true)] = message.next()?;
                    }
                }
                Ok(())
            },
        )
    }

    #[cfg(test)]
    fn poison<T: Real>(&self, layout: &Layout<T>, f: &mut [T], sums: &mut [f64]) {
        let part = &self.cut.part;
        let cells = layout.cells();
        for side in 0..2 {
            for d in 0..part.ghosts[side] {
                for cell in self.cells(layout, side, d, true) {
                    for f in f.chunks_exact_mut(cells) {
                        f[cell] = T::from_f64(f64::NAN);
                    }
                    for row in sums.chunks_exact_mut(cells) {
                        row[cell] = f64::NAN;
                    }
                }
            }
        }
    }
}
