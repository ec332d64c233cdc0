//! The part of space that a rank owns.

use std::ops::Range;

use crate::error::{Error, Result};

/// The cells that a rank owns along the direction in which space is cut, and the ghosts that it keeps of its neighbours' cells.
///
/// Rank r of P owns the cells `r n / P` to `(r + 1) n / P` of n. Ghosts lie beyond its cuts; numbers of local cells begin with those at the low cut.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Part {
    /// The direction that is cut: x (0) or y (1).
    pub direction: usize,
    /// Cells that this rank owns, of all.
    pub own: Range<usize>,
    /// Ghosts beyond the low and the high end.
    pub ghosts: [usize; 2],
    /// The ranks beyond these ends.
    pub neighbours: [Option<usize>; 2],
    /// Cells of all ranks.
    pub all: usize,
}

impl Part {
    /// The part of rank `rank` of `ranks`, of `all` cells, with ghosts `depth` cells deep. In a periodic direction the last rank and the first are
    /// neighbours.
    ///
    /// # Errors
    /// Ranks that own fewer cells than the ghosts of a neighbour and two more.
    pub fn new(
        direction: usize,
        all: usize,
        [rank, ranks]: [usize; 2],
        depth: usize,
        periodic: bool,
    ) -> Result<Self> {
        let bound = |rank: usize| rank * all / ranks.max(1);
        if ranks > 1 && all / ranks < depth + 2 {
            return Err(Error::invalid(
                "ranks",
                format!("{ranks} for {all} cells along {}", ["x", "y"][direction]),
                format!(
                    "fewer ranks: each needs {} cells of its own, two more than molecules reach",
                    depth + 2
                ),
            ));
        }
        let neighbours = match ranks {
            0 | 1 => [None; 2],
            _ => [
                (periodic || rank > 0).then(|| (rank + ranks - 1) % ranks),
                (periodic || rank + 1 < ranks).then(|| (rank + 1) % ranks),
            ],
        };
        Ok(Self {
            direction,
            own: bound(rank)..bound(rank + 1),
            ghosts: neighbours.map(|neighbour| if neighbour.is_some() { depth } else { 0 }),
            neighbours,
            all,
        })
    }

    /// Whether the rank owns everything.
    pub fn is_whole(&self) -> bool {
        self.own.len() == self.all
    }

    /// Local cells: its own and ghosts.
    pub fn cells(&self) -> usize {
        self.ghosts[0] + self.own.len() + self.ghosts[1]
    }

    /// Its own cells among the local ones.
    pub fn inner(&self) -> Range<usize> {
        self.ghosts[0]..self.ghosts[0] + self.own.len()
    }

    /// The cell of all that a local one is.
    pub fn global(&self, local: usize) -> usize {
        (self.own.start + self.all + local - self.ghosts[0]) % self.all
    }

    /// The ghost (`ghost`), or the rank's own cell, at the distance `d` from the low (0) or the high (1) cut.
    pub(crate) fn near(&self, side: usize, d: usize, ghost: bool) -> usize {
        let inner = self.inner();
        match (side, ghost) {
            (0, true) => inner.start - 1 - d,
            (0, false) => inner.start + d,
            (_, true) => inner.end + d,
            (_, false) => inner.end - 1 - d,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_space_once_and_ghosts_are_the_neighbours_cells() {
        for (all, ranks, depth, periodic) in [
            (23, 1, 3, true),
            (23, 3, 4, false),
            (23, 3, 5, true),
            (8, 2, 2, true),
        ] {
            let parts: Vec<Part> = (0..ranks)
                .map(|rank| Part::new(0, all, [rank, ranks], depth, periodic).unwrap())
                .collect();
            let own: Vec<usize> = parts.iter().flat_map(|part| part.own.clone()).collect();
            assert_eq!(own, (0..all).collect::<Vec<_>>());
            for part in &parts {
                assert_eq!(part.is_whole(), ranks == 1);
                for (local, cell) in part.inner().zip(part.own.clone()) {
                    assert_eq!(part.global(local), cell);
                }
                for side in 0..2 {
                    let Some(rank) = part.neighbours[side] else {
                        assert_eq!(part.ghosts[side], 0);
                        continue;
                    };
                    let other = &parts[rank];
                    for d in 0..part.ghosts[side] {
                        let ghost = part.global(part.near(side, d, true));
                        assert_eq!(ghost, other.global(other.near(1 - side, d, false)));
                        assert!(other.own.contains(&ghost));
                    }
                }
            }
        }
    }

    #[test]
    fn a_cut_thinner_than_its_ghosts_is_refused() {
        let error = Part::new(1, 20, [0, 4], 4, false).unwrap_err();
        assert_eq!(
            error.to_string(),
            "ranks: 4 for 20 cells along y; expected fewer ranks: each needs 6 cells of its own, two more than molecules reach"
        );
    }
}
