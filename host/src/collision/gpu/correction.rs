//! The conservative correction: `conserve`, and before it, where one block would take long, the steps by several blocks.

use rarefy_kernels::Real;
use rarefy_kernels::collision::{self as kernels, GridShape, REDUCE_THREADS, SHARE_THREADS};

use crate::error::Result;
use crate::machine::{Grid, Machine};

/// Cells from which on several blocks share a distribution. Below, one block is done before four more kernels have started.
const SHARED_FROM: u32 = 4096;
/// The most blocks that share a distribution, a cell for each of their threads up to there: each sums the words of all others.
const MOST_BLOCKS: u32 = 128;

/// Intermediate results of the steps.
pub(super) struct Correction<M: Machine> {
    shape: GridShape,
    items: u32,
    /// Blocks that share a distribution, 0 for one that does all.
    blocks: u32,
    /// Blocks that take these shares one after the other in the last of the two steps of one solution.
    sharing: u32,
    factor: f64,
    corrected: bool,
    /// Whether defects are so small that one solution is right to roundoff.
    at_once: bool,
    weights: M::Buffer<f64>,
    moments: M::Buffer<f64>,
    residuals: M::Buffer<f64>,
    state: M::Buffer<f64>,
    deltas: M::Buffer<f64>,
    ends: M::Buffer<f64>,
}

/// Input and output of the correction, for all distributions.
pub(super) struct Sums<'a, M: Machine, T: Real> {
    pub(super) f: &'a M::Buffer<f64>,
    pub(super) gain: &'a M::Buffer<T>,
    pub(super) frequency: &'a M::Buffer<T>,
    pub(super) scales: &'a M::Buffer<f64>,
    pub(super) rate: &'a mut M::Buffer<f64>,
    pub(super) summary: &'a mut M::Buffer<f64>,
}

/// How blocks share the sums over a distribution in the corrections of few launches.
#[derive(Clone, Copy, Debug)]
pub(super) enum SumsBy {
    /// Many, so that one distribution takes little time.
    ManyBlocks,
    /// Few, whose threads have several cells each, so that many distributions take little time: sums over the threads take longer than those of a thread.
    FewBlocks,
}

impl SumsBy {
    /// Blocks for so many cells, of which a thread has `least` where many blocks share them.
    pub(super) fn blocks(self, cells: u32, least: u32) -> u32 {
        let each = match self {
            Self::ManyBlocks => least,
            Self::FewBlocks => 4,
        };
        cells.div_ceil(each * SHARE_THREADS).min(MOST_BLOCKS)
    }
}

/// Blocks of each of so many distributions, at most `blocks`, that together fill a machine: what every block computes for itself is then computed few times.
pub(super) fn sharing<M: Machine>(machine: &M, items: usize, blocks: u32) -> u32 {
    /// Blocks that hide each other's latency on a multiprocessor.
    const RESIDENT: u32 = 8;
    let items = u32::try_from(items).unwrap_or(u32::MAX);
    let full = RESIDENT * machine.multiprocessors().count;
    (full / items.max(1)).clamp(1, blocks)
}

impl<M: Machine> Correction<M> {
    /// For `items` distributions; the rate is `factor` times the lattice operator. One solution does `at_once` where the defects of conservation are small.
    pub(super) fn new(
        machine: &M,
        shape: GridShape,
        items: usize,
        factor: f64,
        (corrected, at_once): (bool, bool),
        sums: SumsBy,
    ) -> Result<Self> {
        let at_once = at_once && corrected;
        let blocks = if at_once {
            sums.blocks(shape.cells, 2)
        } else if shape.cells >= SHARED_FROM {
            shape.cells.div_ceil(SHARE_THREADS).min(MOST_BLOCKS)
        } else {
            0
        };
        let parts = |words: u32| machine.allocate(items * (blocks.max(1) * words) as usize);
        Ok(Self {
            shape,
            items: items as u32,
            blocks,
            sharing: sharing(machine, items, blocks.max(1)),
            factor,
            corrected,
            at_once,
            weights: parts(if at_once {
                kernels::INVARIANT_WORDS
            } else {
                kernels::WEIGHT_WORDS
            })?,
            moments: parts(kernels::MOMENT_WORDS)?,
            residuals: parts(kernels::RESIDUAL_WORDS)?,
            ends: parts(kernels::END_WORDS)?,
            state: machine.allocate(items * kernels::STATE_WORDS as usize)?,
            deltas: machine.allocate(items * 5)?,
        })
    }

    /// The blocks of the steps that several share, if there are several.
    fn shared_grid(&self) -> Option<Grid> {
        (self.blocks > 0).then(|| Grid {
            blocks: self.items * self.blocks,
            threads: SHARE_THREADS,
        })
    }

    /// Sums that do not need the gain.
    pub(super) fn prepare<T: Real>(
        &mut self,
        machine: &M,
        f: &M::Buffer<f64>,
        frequency: &M::Buffer<T>,
        scales: &M::Buffer<f64>,
    ) -> Result<()> {
        let Some(grid) = self.shared_grid().filter(|_| !self.at_once) else {
            return Ok(());
        };
        let weights = kernels::sum_weights {
            f,
            frequency,
            scales,
            parts: &mut self.weights,
            shape: self.shape,
            blocks: self.blocks,
        };
        Ok(machine.launch(grid, weights)?)
    }

    /// The rest, after [`prepare`](Self::prepare).
    pub(super) fn apply<T: Real>(&mut self, machine: &M, sums: Sums<'_, M, T>) -> Result<()> {
        let Sums {
            f,
            gain,
            frequency,
            scales,
            rate,
            summary,
        } = sums;
        let (shape, blocks, factor) = (self.shape, self.blocks, self.factor);
        if let (Some(grid), true) = (self.shared_grid(), self.at_once) {
            let sum = kernels::sum_invariants {
                f,
                gain,
                frequency,
                scales,
                parts: &mut self.weights,
                shape,
                blocks,
            };
            machine.launch(grid, sum)?;
            let solve = kernels::solve_and_apply {
                f,
                gain,
                frequency,
                scales,
                invariants: &self.weights,
                rate: &mut *rate,
                state: &mut self.state,
                deltas: &mut self.deltas,
                parts: &mut self.ends,
                shape,
                factor,
                blocks,
                sharing: self.sharing,
            };
            let grid = Grid {
                blocks: self.items * self.sharing,
                ..grid
            };
            machine.launch(grid, solve)?;
        } else if let Some(grid) = self.shared_grid() {
            let moments = kernels::sum_moments {
                f,
                gain,
                frequency,
                scales,
                weights: &self.weights,
                parts: &mut self.moments,
                shape,
                blocks,
            };
            machine.launch(grid, moments)?;
            let residuals = kernels::sum_residuals {
                f,
                gain,
                frequency,
                scales,
                weights: &self.weights,
                moments: &self.moments,
                state: &mut self.state,
                parts: &mut self.residuals,
                shape,
                corrected: u32::from(self.corrected),
                blocks,
            };
            machine.launch(grid, residuals)?;
            let apply = kernels::apply_correction {
                f,
                gain,
                frequency,
                scales,
                state: &self.state,
                residuals: &self.residuals,
                rate,
                deltas: &mut self.deltas,
                parts: &mut self.ends,
                shape,
                factor,
                blocks,
            };
            machine.launch(grid, apply)?;
        }
        let conserve = kernels::conserve {
            f,
            gain,
            frequency,
            scales,
            state: &self.state,
            deltas: &self.deltas,
            ends: &self.ends,
            rate,
            summary,
            shape,
            factor,
            corrected: u32::from(self.corrected),
            blocks,
        };
        let grid = Grid {
            blocks: self.items,
            threads: REDUCE_THREADS,
        };
        Ok(machine.launch(grid, conserve)?)
    }
}

#[cfg(test)]
mod tests {
    use rarefy_kernels::collision::summary;

    use super::*;
    use crate::collision::correction::correct;
    use crate::collision::{CorrectionStatus, VelocityGrid};
    use crate::emulator::{Emulator, ThreadOrder};

    /// Rate and summary of some distributions, with so many blocks for each.
    fn run(
        order: ThreadOrder,
        (blocks, corrected, at_once): (u32, bool, bool),
        grid: &VelocityGrid,
        [f, gain, frequency]: [&[f64]; 3],
    ) -> (Vec<f64>, Vec<f64>) {
        let machine = Emulator::new(order);
        let shape = GridShape {
            min: grid.min(),
            spacing: grid.spacing(),
            n: grid.n() as u32,
            cells: grid.cells() as u32,
        };
        let items = f.len() / grid.cells();
        // Buffers as for many cells.
        let many = GridShape {
            cells: SHARED_FROM,
            ..shape
        };
        let mut correction = Correction::new(
            &machine,
            many,
            items,
            0.25,
            (corrected, at_once),
            SumsBy::ManyBlocks,
        )
        .expect("a correction");
        assert!(blocks <= correction.blocks);
        (correction.shape, correction.blocks) = (shape, blocks);
        let upload = |values: &[f64]| machine.upload(values).expect("memory");
        let mut rate = machine.allocate::<f64>(f.len()).expect("memory");
        let mut summary = machine
            .allocate::<f64>(items * summary::LEN)
            .expect("memory");
        let sums = Sums::<Emulator, f64> {
            f: &upload(f),
            gain: &upload(gain),
            frequency: &upload(frequency),
            scales: &upload(&vec![1.0; items]),
            rate: &mut rate,
            summary: &mut summary,
        };
        correction
            .prepare(&machine, sums.f, sums.frequency, sums.scales)
            .expect("no fault");
        correction.apply(&machine, sums).expect("no fault");
        let mut results = (vec![0.0; f.len()], vec![0.0; items * summary::LEN]);
        machine.read(&rate, &mut results.0).expect("the rate");
        machine.read(&summary, &mut results.1).expect("the summary");
        results
    }

    #[test]
    fn several_blocks_correct_as_one_does_and_as_the_host() {
        let grid = VelocityGrid::new(7, -4.0, 5.0).expect("a grid");
        let cells = grid.cells();
        let wave = |a: f64| move |k: usize| 1.5 + (a * k as f64).sin();
        // An ordinary distribution, one on a plane, one of a single cell.
        let f: Vec<f64> = (0..cells)
            .map(wave(0.7))
            .chain((0..cells).map(|k| if k / 49 == 2 { wave(1.1)(k) } else { 0.0 }))
            .chain((0..cells).map(|k| if k == 171 { 2.0 } else { 0.0 }))
            .collect();
        let gain: Vec<f64> = (0..2 * cells)
            .map(wave(1.3))
            .chain((0..cells).map(|k| if k == 171 { 2.0 } else { 0.0 }))
            .collect();
        let frequency: Vec<f64> = (0..3 * cells).map(wave(0.3)).collect();
        let sums = [&f[..], &gain, &frequency];
        let one = run(ThreadOrder::Ascending, (0, true, false), &grid, sums);
        let several = run(ThreadOrder::Ascending, (3, true, false), &grid, sums);
        let at_once = run(ThreadOrder::Ascending, (3, true, true), &grid, sums);
        for order in [ThreadOrder::Descending, ThreadOrder::Random(5)] {
            assert!(
                run(order, (3, true, false), &grid, sums) == several,
                "{order:?}"
            );
            assert!(
                run(order, (3, true, true), &grid, sums) == at_once,
                "{order:?}"
            );
        }
        let [alone, shared] = [0, 3].map(|blocks| {
            let order = ThreadOrder::Random(6);
            run(order, (blocks, false, false), &grid, sums)
        });
        assert!(alone.0 == shared.0, "uncorrected rates");
        for (a, b) in alone.1.iter().zip(&shared.1) {
            assert!((a - b).abs() <= 1e-13 * a.abs(), "uncorrected: {a} and {b}");
        }
        for summary in alone.1.chunks(summary::LEN) {
            assert_eq!(summary[summary::STATUS], 3.0);
            assert_eq!(summary[summary::DELTA..][..5], [0.0; 5]);
        }
        for (item, status) in [
            CorrectionStatus::Loss,
            CorrectionStatus::LossAndGain,
            CorrectionStatus::Singular,
        ]
        .into_iter()
        .enumerate()
        {
            let range = item * cells..(item + 1) * cells;
            let mut expected = vec![0.0; cells];
            let host = correct(
                &grid,
                &f[range.clone()],
                &gain[range.clone()],
                &frequency[range.clone()],
                &mut expected,
            );
            assert_eq!(host.status, status);
            let largest = expected.iter().fold(0.0_f64, |most, v| most.max(v.abs()));
            for (name, (rate, summary)) in [
                ("one block", &one),
                ("three blocks", &several),
                ("three blocks at once", &at_once),
            ] {
                let summary = &summary[item * summary::LEN..][..summary::LEN];
                assert_eq!(summary[summary::STATUS], item as f64, "{name}");
                for (value, expected) in rate[range.clone()].iter().zip(&expected) {
                    let error = (value / 0.25 - expected).abs();
                    assert!(error <= 1e-13 * largest, "{name}, {status:?}: {error:e}");
                }
                for (k, delta) in host.delta.iter().enumerate() {
                    assert!(
                        (summary[summary::DELTA + k] - delta).abs() < 1e-12,
                        "{name}"
                    );
                    if item < 2 {
                        assert!(summary[summary::RESIDUALS + k] < 1e-15, "{name}");
                    }
                }
                // Per unit of time of the factor.
                let outflow = summary[summary::OUTFLOW] / 0.25;
                if host.largest_step > 0.0 && host.largest_step.is_finite() {
                    assert!((outflow * host.largest_step - 1.0).abs() < 1e-12, "{name}");
                }
            }
        }
    }
}
