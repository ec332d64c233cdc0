//! The collision frequency, by the sum or by a convolution, whichever is faster.

use rarefy_kernels::collision::{self as kernels, ConvolutionShape};
use rarefy_kernels::{Real, WARP};

use super::values::{CELL_THREADS, convert};
use crate::collision::coefficients::frequency_coefficients;
use crate::collision::waves::{FrequencyWay, Waves};
use crate::collision::{Method, OperatorConfig};
use crate::error::Result;
use crate::machine::{Grid, Limits, Machine};

/// Least and most threads of a block of the collision frequency.
const FEWEST_THREADS: u32 = 128;
const MOST_THREADS: u32 = 512;
/// Most columns of a block of the convolution's second kernel.
const MOST_COLUMNS: u32 = 8;
/// Blocks for each multiprocessor that the convolution's second kernel should have.
const PLENTY: u32 = 3;

/// The way that the fast method takes, the faster one; the direct method is the paper's, whose frequency is the sum.
///
/// The convolution is the faster one at each size and precision, where a block's shared memory holds its planes.
pub(super) fn way(config: &OperatorConfig, limits: &Limits) -> FrequencyWay {
    let shape = shape(config.grid.n());
    let planes = (2 * shape.half_row() + shape.row() + shape.stride()) * shape.row();
    let bytes = planes as usize * 8 + WARP as usize * (8 + 4);
    if config.method == Method::Fast && bytes <= limits.shared_bytes_per_block {
        FrequencyWay::Convolution
    } else {
        FrequencyWay::Sum
    }
}

fn shape(n: usize) -> ConvolutionShape {
    ConvolutionShape {
        n: n as u32,
        columns: 0,
    }
}

/// The collision frequency of some distributions on a machine.
pub(super) enum Frequency<M: Machine, T: Real> {
    Sum(Box<Sum<M, T>>),
    Convolution(Box<Convolution<M>>),
}

impl<M: Machine, T: Real> Frequency<M, T> {
    pub(super) fn new(
        machine: &M,
        config: &OperatorConfig,
        items: usize,
        way: FrequencyWay,
    ) -> Result<Self> {
        let (n, gamma) = (config.grid.n(), config.scattering.gamma());
        Ok(match way {
            FrequencyWay::Sum => Self::Sum(Box::new(Sum::new(machine, n, gamma, items)?)),
            FrequencyWay::Convolution => {
                Self::Convolution(Box::new(Convolution::new(machine, n, gamma, items)?))
            }
        })
    }

    /// Bytes that one distribution more takes.
    pub(super) fn bytes_per_item(n: usize, way: FrequencyWay) -> u64 {
        match way {
            FrequencyWay::Sum => n.pow(4) as u64 * size_of::<T>() as u64,
            FrequencyWay::Convolution => u64::from(shape(n).spectrum()) * size_of::<f64>() as u64,
        }
    }

    pub(super) fn frequency(
        &mut self,
        machine: &M,
        f: &M::Buffer<T>,
        frequency: &mut M::Buffer<T>,
    ) -> Result<()> {
        match self {
            Self::Sum(sum) => sum.frequency(machine, f, frequency),
            Self::Convolution(convolution) => convolution.frequency(machine, f, frequency),
        }
    }
}

/// The sum over all pairs of cells, in parts like the gain.
pub(super) struct Sum<M: Machine, T: Real> {
    n: u32,
    items: u32,
    b: M::Buffer<T>,
    parts: M::Buffer<T>,
    first: M::Buffer<u32>,
}

impl<M: Machine, T: Real> Sum<M, T> {
    fn new(machine: &M, n: usize, gamma: f64, items: usize) -> Result<Self> {
        let first: Vec<u32> = (0..=items * n).map(|row| (row * n) as u32).collect();
        Ok(Self {
            n: n as u32,
            items: items as u32,
            b: machine.upload(&convert::<T>(&frequency_coefficients(n, gamma)))?,
            parts: machine.allocate(items * n.pow(4))?,
            first: machine.upload(&first)?,
        })
    }

    fn frequency(
        &mut self,
        machine: &M,
        f: &M::Buffer<T>,
        frequency: &mut M::Buffer<T>,
    ) -> Result<()> {
        let (n, items) = (self.n, self.items);
        // One for each column of cells: the planes of a large grid fill the shared memory of a multiprocessor, and no other block hides the waiting.
        let columns = n.div_ceil(kernels::FREQUENCY_ROWS as u32) * n;
        let threads = columns
            .next_multiple_of(WARP)
            .clamp(FEWEST_THREADS, MOST_THREADS);
        machine.launch(
            Grid {
                blocks: items * n * n,
                threads,
            },
            kernels::collision_frequency {
                f,
                b: &self.b,
                buffer: &mut self.parts,
                n,
            },
        )?;
        Ok(machine.launch(
            Grid::per_item((items * n * n * n) as usize, CELL_THREADS),
            kernels::collect {
                buffer: &self.parts,
                first: &self.first,
                out: frequency,
                plane: n * n,
            },
        )?)
    }
}

/// The convolution. Its arithmetic is f64 for distributions of either type.
pub(super) struct Convolution<M: Machine> {
    shape: ConvolutionShape,
    items: u32,
    b: M::Buffer<f64>,
    forward: M::Buffer<f64>,
    back: M::Buffer<f64>,
    table: M::Buffer<f64>,
    spectrum: M::Buffer<f64>,
    peaks: M::Buffer<u32>,
}

impl<M: Machine> Convolution<M> {
    fn new(machine: &M, n: usize, gamma: f64, items: usize) -> Result<Self> {
        let waves = Waves::new(n, gamma);
        let mut shape = waves.shape;
        // Whole sectors of 32 bytes; more columns where blocks are plenty anyway.
        shape.columns = 4;
        let blocks = PLENTY * machine.limits()?.multiprocessors.max(1);
        while shape.columns < MOST_COLUMNS
            && items as u32 * shape.half() * shape.n / shape.columns > blocks
        {
            shape.columns *= 2;
        }
        Ok(Self {
            shape,
            items: items as u32,
            b: machine.upload(&frequency_coefficients(n, gamma))?,
            forward: machine.upload(&waves.forward)?,
            back: machine.upload(&waves.back)?,
            table: machine.upload(&waves.table)?,
            spectrum: machine.allocate(items * shape.spectrum() as usize)?,
            peaks: machine.allocate(items)?,
        })
    }

    fn frequency<T: Real>(
        &mut self,
        machine: &M,
        f: &M::Buffer<T>,
        frequency: &mut M::Buffer<T>,
    ) -> Result<()> {
        let (shape, items) = (self.shape, self.items);
        // One for each column along x of half the rows.
        let columns = shape.half_row() * shape.row();
        machine.launch(
            Grid {
                blocks: items * shape.waves() * 2,
                threads: columns
                    .next_multiple_of(WARP)
                    .clamp(FEWEST_THREADS, MOST_THREADS),
            },
            kernels::convolve_waves {
                f,
                forward: &self.forward,
                back: &self.back,
                table: &self.table,
                spectrum: &mut self.spectrum,
                peaks: &mut self.peaks,
                shape,
            },
        )?;
        let groups = (shape.half() * shape.n).div_ceil(shape.columns);
        Ok(machine.launch(
            Grid {
                blocks: items * groups,
                threads: (shape.half() * shape.columns)
                    .next_multiple_of(WARP)
                    .clamp(FEWEST_THREADS, MOST_THREADS),
            },
            kernels::frequency_of_waves {
                f,
                b: &self.b,
                back: &self.back,
                spectrum: &self.spectrum,
                peaks: &self.peaks,
                frequency,
                shape,
            },
        )?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collision::waves::tests::{check, distributions};
    use crate::collision::{Scattering, VelocityGrid};
    use crate::emulator::{Emulator, ThreadOrder};

    /// Frequencies of distributions that are evaluated together.
    fn frequencies<T: Real>(
        n: usize,
        gamma: f64,
        f: &[T],
        way: FrequencyWay,
        order: ThreadOrder,
    ) -> Vec<T> {
        let machine = Emulator::new(order);
        let config = OperatorConfig {
            scattering: Scattering::Vhs {
                omega: 1.0 - gamma / 2.0,
            },
            ..OperatorConfig::paper(VelocityGrid::new(n, -1.0, 1.0).expect("a grid"))
        };
        let items = f.len() / n.pow(3);
        let mut frequency = Frequency::new(&machine, &config, items, way).expect("a plan");
        let f = machine.upload(f).expect("memory");
        let mut out = machine.allocate(f.len()).expect("memory");
        frequency
            .frequency(&machine, &f, &mut out)
            .expect("frequencies");
        let mut values = vec![T::ZERO; f.len()];
        machine.read(&out, &mut values).expect("memory");
        values
    }

    fn both_ways_are_the_sum<T: Real>(tolerance: f64) {
        let runs = [
            (3, 1.0, ThreadOrder::Ascending),
            (4, 0.0, ThreadOrder::Random(3)),
            (7, 0.5, ThreadOrder::Descending),
            (8, 1.0, ThreadOrder::Ascending),
            (10, 1.0, ThreadOrder::Random(5)),
        ];
        for (n, gamma, order) in runs {
            let f: Vec<T> = convert(&distributions(n).concat());
            for way in [FrequencyWay::Sum, FrequencyWay::Convolution] {
                let found = frequencies(n, gamma, &f, way, order);
                for (k, (f, found)) in f.chunks(n.pow(3)).zip(found.chunks(n.pow(3))).enumerate() {
                    let [f, found] =
                        [f, found].map(|all| all.iter().map(|v| v.to_f64()).collect::<Vec<_>>());
                    let what = format!("{way:?} in {}, distribution {k}", T::NAME);
                    check(n, gamma, &f, &found, tolerance, &what);
                }
            }
        }
    }

    #[test]
    fn both_ways_are_the_sum_in_f32() {
        both_ways_are_the_sum::<f32>(1e-6);
    }

    #[test]
    fn both_ways_are_the_sum_in_f64() {
        both_ways_are_the_sum::<f64>(1e-13);
    }

    #[test]
    fn larger_grids_and_batches_of_any_size_give_the_same_bits() {
        for n in [16, 20] {
            let f: Vec<f32> = convert(&distributions(n)[..2].concat());
            let together = frequencies(
                n,
                1.0,
                &f,
                FrequencyWay::Convolution,
                ThreadOrder::Ascending,
            );
            for (f, together) in f.chunks(n.pow(3)).zip(together.chunks(n.pow(3))) {
                let alone = frequencies(
                    n,
                    1.0,
                    f,
                    FrequencyWay::Convolution,
                    ThreadOrder::Descending,
                );
                assert_eq!(alone, together, "{n}^3");
                let [f, alone] =
                    [f, &alone].map(|all| all.iter().map(|v| v.to_f64()).collect::<Vec<_>>());
                check(n, 1.0, &f, &alone, 1e-6, "convolution");
            }
        }
    }
}
