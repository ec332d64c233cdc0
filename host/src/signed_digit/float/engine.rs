//! Sums of the host's data on a machine of choice.

use super::accumulator::ExactAccumulator;
use super::format::Float;
use super::machine::MachineAccumulator;
use super::reference;
use crate::compute::{Compute, Pool, Resolved, describe_all, on_each, shares};
use crate::emulator::Emulator;
use crate::error::Result;
use crate::gpu::Device;
use crate::machine::{DeviceMemory, Machine};
use crate::memory_plan::{bytes_of, check_device};
use crate::signed_digit::limb::same_length;

/// Exact sums and dot products of data in the host's memory, or mapped into it, on the backend of choice.
///
/// On a GPU, data that do not fit into its memory are streamed through it in pieces. Several devices take a part of the data each. Every backend and number
/// of devices returns the same accumulator, to the bit.
///
/// ```
/// use rarefy::Backend;
/// use rarefy::signed_digit::float::ExactEngine;
///
/// let engine = ExactEngine::new(Backend::Emulator)?;
/// let x = [0.1_f32; 1000];
/// let sum = engine.sum(&x)?;
/// assert_eq!((sum.round::<f64>(), sum.round::<f32>()), (100.00000149011612, 100.0));
/// # Ok::<(), rarefy::Error>(())
/// ```
pub struct ExactEngine {
    /// Devices that share the numbers.
    pub(super) places: Vec<Place>,
    pub(super) pool: Pool,
    name: String,
    piece_bytes: u64,
}

pub(super) enum Place {
    Cuda(Device),
    Emulator(Emulator),
    Cpu,
    Reference,
}

/// Bytes of a piece of data on a GPU at most. Long enough that launches cost nothing, short enough to find room for.
const PIECE_BYTES: u64 = 1 << 30;

/// Where a piece of the data is on a machine: the first vector, and the second if there is one.
type Buffers<M, T> = (
    <M as DeviceMemory>::Buffer<T>,
    Option<<M as DeviceMemory>::Buffer<T>>,
);

/// The operation on the data.
#[derive(Clone, Copy)]
pub(super) enum Operation<'a, T> {
    Sum,
    Magnitudes,
    Squares,
    Products(&'a [T]),
}

impl ExactEngine {
    /// Opens a machine. The numbers have a type of their own: the precision has no effect.
    ///
    /// # Errors
    /// A backend, a number of threads or of devices that is not there.
    pub fn new(compute: impl Into<Compute>) -> Result<Self> {
        let compute = compute.into();
        let machines = compute.resolve_all()?;
        let pool = compute.pool()?;
        Ok(Self {
            name: pool.run(|| describe_all(&machines)),
            pool,
            places: machines
                .into_iter()
                .map(|machine| match machine {
                    Resolved::Cuda(device) => Place::Cuda(device),
                    Resolved::Emulator => Place::Emulator(Emulator::default()),
                    Resolved::Cpu => Place::Cpu,
                    Resolved::Reference => Place::Reference,
                })
                .collect(),
            piece_bytes: PIECE_BYTES,
        })
    }

    /// The same with another size of the pieces in which data go through a GPU's memory.
    #[must_use]
    pub fn with_piece_bytes(mut self, bytes: u64) -> Self {
        self.piece_bytes = bytes;
        self
    }

    /// The device in words, for example `CPU, 2 threads`.
    pub fn device(&self) -> String {
        self.name.clone()
    }

    /// The exact sum of a slice.
    ///
    /// # Errors
    /// A fault of the device, or too little memory there.
    pub fn sum<T: Float>(&self, x: &[T]) -> Result<ExactAccumulator> {
        self.run(x, Operation::Sum)
    }

    /// The exact sum of the magnitudes of a slice.
    ///
    /// # Errors
    /// A fault of the device, or too little memory there.
    pub fn magnitude_sum<T: Float>(&self, x: &[T]) -> Result<ExactAccumulator> {
        self.run(x, Operation::Magnitudes)
    }

    /// The exact sum of the squares of a slice; its [`sqrt`](super::ExactValue::sqrt) is the norm.
    ///
    /// # Errors
    /// A fault of the device, or too little memory there.
    pub fn sum_of_squares<T: Float>(&self, x: &[T]) -> Result<ExactAccumulator> {
        self.run(x, Operation::Squares)
    }

    /// The exact dot product of two slices of one length.
    ///
    /// # Errors
    /// Slices of different lengths; a fault of the device, or too little memory there.
    pub fn dot<T: Float>(&self, x: &[T], y: &[T]) -> Result<ExactAccumulator> {
        same_length(x.len(), y.len())?;
        self.run(x, Operation::Products(y))
    }

    fn run<T: Float>(&self, x: &[T], operation: Operation<'_, T>) -> Result<ExactAccumulator> {
        let parts = shares(x.len(), self.places.len());
        let sums = on_each(self.places.iter().zip(parts), |(place, part)| {
            let operation = match operation {
                Operation::Products(y) => Operation::Products(&y[part.clone()]),
                other => other,
            };
            self.run_on(place, &x[part], operation)
        })?;
        let mut sums = sums.into_iter();
        let mut sum = sums.next().unwrap_or_default();
        for other in sums {
            sum.merge(&other);
        }
        Ok(sum)
    }

    fn run_on<T: Float>(
        &self,
        place: &Place,
        x: &[T],
        operation: Operation<'_, T>,
    ) -> Result<ExactAccumulator> {
        match place {
            Place::Cuda(device) => self.on_machine(device, x, operation),
            Place::Emulator(emulator) => self.on_machine(emulator, x, operation),
            Place::Cpu => self.pool.run(|| {
                let mut sum = ExactAccumulator::new();
                match operation {
                    Operation::Sum => sum.add_slice(x),
                    Operation::Magnitudes => sum.add_magnitudes(x),
                    Operation::Squares => sum.add_squares(x),
                    Operation::Products(y) => sum.add_products(x, y)?,
                }
                Ok(sum)
            }),
            Place::Reference => match operation {
                Operation::Sum => Ok(reference::sum(x)),
                Operation::Magnitudes => Ok(reference::magnitude_sum(x)),
                Operation::Squares => reference::dot(x, x),
                Operation::Products(y) => reference::dot(x, y),
            },
        }
    }

    /// Elements of each of so many arrays of `len` elements that go to the machine at a time, at least one.
    pub(super) fn piece<M: Machine, T: Float>(
        &self,
        machine: &M,
        arrays: u64,
        len: usize,
    ) -> Result<usize> {
        // Half of what is free: other programs may want some meanwhile.
        let free = machine.limits()?.free_bytes / 2;
        let bytes = (free / arrays)
            .min(self.piece_bytes)
            .min(bytes_of::<T>(len as u64));
        let piece = (bytes / size_of::<T>() as u64) as usize;
        if piece == 0 && len > 0 {
            check_device(
                &machine.limits()?,
                "one element",
                4 * bytes_of::<T>(arrays),
                "free memory on the device, or compute on the CPU",
            )?;
        }
        Ok(piece.max(1))
    }

    /// Piece by piece through the machine's memory.
    pub(super) fn on_machine<M: Machine, T: Float>(
        &self,
        machine: &M,
        x: &[T],
        operation: Operation<'_, T>,
    ) -> Result<ExactAccumulator> {
        let mut sum = MachineAccumulator::new(machine)?;
        let arrays = if matches!(operation, Operation::Products(_)) {
            2
        } else {
            1
        };
        let piece = self.piece::<M, T>(machine, arrays, x.len())?;
        let mut buffers: Option<Buffers<M, T>> = None;
        for first in (0..x.len()).step_by(piece) {
            let range = first..(first + piece).min(x.len());
            let y = match operation {
                Operation::Products(y) => Some(&y[range.clone()]),
                _ => None,
            };
            let x = &x[range];
            // A buffer has a fixed length; all pieces but the last share one.
            let (x_buffer, y_buffer) = match buffers.take() {
                Some((mut x_buffer, mut y_buffer)) if M::len(&x_buffer) == x.len() => {
                    machine.write(&mut x_buffer, x)?;
                    if let (Some(buffer), Some(y)) = (&mut y_buffer, y) {
                        machine.write(buffer, y)?;
                    }
                    (x_buffer, y_buffer)
                }
                other => {
                    drop(other);
                    (
                        machine.upload(x)?,
                        y.map(|y| machine.upload(y)).transpose()?,
                    )
                }
            };
            match (operation, &y_buffer) {
                (Operation::Sum, _) => sum.add(&x_buffer)?,
                (Operation::Magnitudes, _) => sum.add_magnitudes(&x_buffer)?,
                (Operation::Products(_), Some(y_buffer)) => {
                    sum.add_products(&x_buffer, y_buffer)?
                }
                (Operation::Squares | Operation::Products(_), _) => {
                    sum.add_products(&x_buffer, &x_buffer)?
                }
            }
            buffers = Some((x_buffer, y_buffer));
        }
        sum.finish()
    }
}

impl std::fmt::Debug for ExactEngine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ExactEngine")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
