//! Sums on a machine that runs kernels.

use std::fmt;

use rarefy_kernels::signed_digit::float::flag;

use super::accumulator::{ExactAccumulator, Special};
use super::format::Float;
use super::launch::{Launch, Shape};
use crate::error::Result;
use crate::machine::{Grid, Machine, Multiprocessors};
use crate::signed_digit::limb::same_length;

/// Blocks of a launch at most.
const MOST_BLOCKS: u32 = 1 << 13;
/// Launches after which the digits of a result are taken to the host: a block adds less than 2^39.6 to a digit, from 128 threads 2^39 of its low bits
/// and 2^38 of what is above those of the digit below.
const MOST_LAUNCHES: u32 = 1 << 10;

/// Addends of a [`MachineAccumulator`] at a time.
#[derive(Clone, Copy)]
enum Slot {
    Sum,
    Dot,
}

/// An exact sum in the memory of a machine: a GPU's, or the [emulator](crate::emulator)'s.
///
/// Buffers are added where they are; only the digits travel, at [`finish`](Self::finish).
///
/// ```
/// use rarefy::emulator::Emulator;
/// use rarefy::machine::Machine;
/// use rarefy::signed_digit::float::MachineAccumulator;
///
/// let machine = Emulator::default(); // or gpu::Device::open()?
/// let x = machine.upload(&[1e100, 1.5, -1e100])?;
/// let mut sum = MachineAccumulator::new(&machine)?;
/// sum.add(&x)?;
/// sum.add_products(&x, &x)?;
/// let sum = sum.finish()?;
/// assert_eq!(sum.round::<f64>(), 2e200);
/// # Ok::<(), rarefy::Error>(())
/// ```
#[must_use = "the sum is known when `finish` has been called"]
pub struct MachineAccumulator<'m, M: Machine> {
    machine: &'m M,
    /// Of `f32` and `f64`, sum and dot product; made when first used.
    results: [[Option<M::Buffer<u64>>; 2]; 2],
    launches: u32,
    sum: ExactAccumulator,
    multiprocessors: Multiprocessors,
    blocks: Option<u32>,
}

impl<M: Machine> fmt::Debug for MachineAccumulator<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MachineAccumulator")
            .field("count", &self.sum.count())
            .finish_non_exhaustive()
    }
}

impl<'m, M: Machine> MachineAccumulator<'m, M> {
    /// An empty sum on this machine.
    ///
    /// # Errors
    /// A machine that does not answer.
    pub fn new(machine: &'m M) -> Result<Self> {
        Ok(Self {
            machine,
            results: [[None, None], [None, None]],
            launches: 0,
            sum: ExactAccumulator::new(),
            multiprocessors: machine.multiprocessors(),
            blocks: None,
        })
    }

    /// The same with this many blocks in each launch, which changes the time but no bit of a result.
    pub fn with_blocks(mut self, blocks: u32) -> Self {
        self.blocks = Some(blocks);
        self
    }

    /// Adds the numbers of a buffer.
    ///
    /// # Errors
    /// A fault of the device.
    pub fn add<T: Float>(&mut self, x: &M::Buffer<T>) -> Result<()> {
        self.launch::<T>(T::SUM, Slot::Sum, M::len(x), |machine, grid, result| {
            T::sum(machine, grid, x, false, result)
        })
    }

    /// Adds the magnitudes of the numbers of a buffer.
    ///
    /// # Errors
    /// A fault of the device.
    pub fn add_magnitudes<T: Float>(&mut self, x: &M::Buffer<T>) -> Result<()> {
        self.launch::<T>(T::SUM, Slot::Sum, M::len(x), |machine, grid, result| {
            T::sum(machine, grid, x, true, result)
        })
    }

    /// Adds the products of the numbers of two buffers of one length, which may be the same.
    ///
    /// # Errors
    /// Buffers of different lengths; a fault of the device.
    pub fn add_products<T: Float>(&mut self, x: &M::Buffer<T>, y: &M::Buffer<T>) -> Result<()> {
        let len = M::len(x);
        same_length(len, M::len(y))?;
        self.launch::<T>(T::DOT, Slot::Dot, len, |machine, grid, result| {
            T::dot(machine, grid, x, y, result)
        })
    }

    fn launch<T: Float>(
        &mut self,
        shape: Shape,
        slot: Slot,
        len: usize,
        launch: impl FnOnce(&M, Grid, &mut M::Buffer<u64>) -> Result<()>,
    ) -> Result<()> {
        if len == 0 {
            return Ok(());
        }
        if self.launches == MOST_LAUNCHES {
            self.collect()?;
        }
        let resident = shape.resident(self.multiprocessors);
        let tiles = u32::try_from(len / shape.tile).unwrap_or(u32::MAX);
        let grid = Grid {
            blocks: self
                .blocks
                .unwrap_or(resident.min(tiles))
                .clamp(1, MOST_BLOCKS),
            threads: shape.threads,
        };
        let slot = &mut self.results[usize::from(size_of::<T>() == 8)][slot as usize];
        let result = match slot {
            Some(result) => result,
            None => slot.insert(self.machine.zeros(shape.words())?),
        };
        launch(self.machine, grid, result)?;
        self.launches += 1;
        self.sum.note(len, Special::default());
        Ok(())
    }

    /// Takes all digits to the host.
    fn collect(&mut self) -> Result<()> {
        let [[f32_sum, f32_dot], [f64_sum, f64_dot]] = &mut self.results;
        let of = [
            (f32_sum, f32::SUM),
            (f32_dot, f32::DOT),
            (f64_sum, f64::SUM),
            (f64_dot, f64::DOT),
        ];
        for (result, shape) in of {
            let layout = shape.layout;
            let Some(result) = result.take() else {
                continue;
            };
            let mut words = vec![0_u64; shape.words()];
            self.machine.read(&result, &mut words)?;
            let (digits, flags) = words.split_at(layout.digits as usize);
            let seen = |kind: u32| flags[kind as usize] != 0;
            self.sum.note(
                0,
                Special {
                    nan: seen(flag::NAN),
                    plus_infinity: seen(flag::PLUS_INFINITY),
                    minus_infinity: seen(flag::MINUS_INFINITY),
                    not_negative: seen(flag::NOT_NEGATIVE),
                },
            );
            let digits = digits.iter().map(|&digit| digit as i64);
            self.sum
                .deposit_digits(digits, layout.digit_bits, layout.unit);
        }
        self.launches = 0;
        Ok(())
    }

    /// Waits for the machine and takes the sum.
    ///
    /// # Errors
    /// A fault of the device.
    pub fn finish(mut self) -> Result<ExactAccumulator> {
        self.collect()?;
        Ok(self.sum)
    }
}
