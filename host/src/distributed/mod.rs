//! One computation on several ranks: processes or threads, each of which owns a part of space.
//!
//! A [`Part`] is the cells of a rank, and the ghosts that it keeps of its neighbours' cells. A [`Transport`] carries bytes between ranks. Flows in time
//! run over ranks by [`Simulation::over`](crate::bgk::Simulation::over) and [`Flow::over`](crate::bgk::boltzmann::Flow::over). Populations are those of one rank, to the bit; on GPUs those of large planes to
//! roundoff.
//!
//! ```
//! use std::sync::Arc;
//! use rarefy::Backend;
//! use rarefy::bgk::{Axis, Boundaries, Boundary, Gas, Problem, Simulation, SimulationConfig, Space, State, VelocitySpace};
//! use rarefy::distributed::Threads;
//!
//! let (left, right) = (State::along_x(1.0, 0.0, 1.0), State::along_x(0.125, 0.0, 0.8));
//! let problem = Problem::new(
//!     Space::line(100, [-10.0, 10.0])?,
//!     VelocitySpace::new(vec![Axis::uniform(28, -5.0, 5.0)?], 1)?,
//!     Gas::default(),
//!     Boundaries::line(Boundary::Inflow(left), Boundary::Inflow(right)),
//!     |x, _| if x < 0.0 { left } else { right },
//! )?;
//! let mut config = SimulationConfig::new(problem, 0.05);
//! config.compute.backend = Backend::Cpu;
//! // Two ranks, each a thread: all of them make the same calls, and all have the results.
//! let run = |transport| {
//!     let mut simulation = Simulation::over(config.clone(), Arc::new(transport))?;
//!     simulation.advance(40)?;
//!     simulation.states()
//! };
//! let results: Vec<_> = std::thread::scope(|scope| {
//!     let ranks = Threads::all(2).into_iter().map(|rank| scope.spawn(|| run(rank)));
//!     ranks.collect::<Vec<_>>().into_iter().map(|rank| rank.join().unwrap()).collect()
//! });
//! let alone = run(Threads::all(1).remove(0))?;
//! for states in results {
//!     assert_eq!(states?, alone);
//! }
//! # Ok::<(), rarefy::Error>(())
//! ```

mod greeting;
mod hosts;
mod machines;
mod meeting;
mod messages;
#[cfg(feature = "mpi")]
mod mpi;
mod part;
mod place;
mod processes;
mod secret;
mod team;
mod threads;
mod watch;
mod wire;

#[cfg(feature = "cli")]
pub(crate) use greeting::read_greeting;
pub(crate) use machines::{machines, no_reference};
#[cfg(feature = "cli")]
pub(crate) use meeting::read_variables;
pub(crate) use messages::{Messages, swap_values};
#[cfg(feature = "mpi")]
pub use mpi::Mpi;
pub use part::Part;
pub use place::Place;
pub use processes::Processes;
pub(crate) use team::Team;
pub use threads::Threads;
pub(crate) use wire::{Reader, put, values};

use std::any::Any;

use crate::error::{Error, Result};
use crate::gpu::{Device, quit};

/// Carries bytes between the ranks of one computation.
///
/// All ranks make the same calls in the same order. An error ends the computation: a rank that has failed drops its transport, and the others then fail too.
pub trait Transport: Send + Sync {
    /// The number of this rank, from 0 on.
    fn rank(&self) -> usize;
    /// How many ranks there are.
    fn ranks(&self) -> usize;
    /// The connection in words, such as `Open MPI v4.1.4`.
    fn describe(&self) -> String {
        "a transport of the program".to_owned()
    }
    /// The number of this rank among those of its host. It chooses the device.
    fn local_rank(&self) -> usize {
        self.rank()
    }
    /// Sends `out[0]` to the neighbour at the low side and `out[1]` to the one at the high side, and receives what these send: `into[0]` from the low one,
    /// `into[1]` from the high one. One rank may be both neighbours; nothing goes to a side without one.
    ///
    /// # Errors
    /// A neighbour that is no longer there, or sends another number of bytes.
    fn swap(
        &self,
        neighbours: [Option<usize>; 2],
        out: [&[u8]; 2],
        into: [&mut [u8]; 2],
    ) -> Result<()>;
    /// Whether the ranks are threads of one process, which can [`hand`](Self::hand) each other objects.
    fn in_one_process(&self) -> bool {
        false
    }
    /// Connects the devices of ranks that are processes, where the transport can. All ranks call it before the first exchange; none has a device on a rank
    /// that computes without one, or failed to open it.
    ///
    /// # Errors
    /// Devices that cannot be connected; a rank that is no longer there.
    fn connect(&self, device: Option<&Device>) -> Result<()> {
        let _ = device;
        Ok(())
    }
    /// The link between the connected devices, as [`Machine::exchange`](crate::machine::Machine::exchange) takes it.
    fn link(&self) -> Option<&dyn Any> {
        None
    }
    /// The same as [`swap`](Self::swap) with objects: devices of one process copy from each other's memory.
    ///
    /// # Errors
    /// A neighbour that is no longer there, or sends bytes; ranks of several processes.
    fn hand(
        &self,
        neighbours: [Option<usize>; 2],
        out: [Option<Parcel>; 2],
    ) -> Result<[Option<Parcel>; 2]> {
        let _ = (neighbours, out);
        Err(Error::invalid(
            "objects",
            "handed between processes",
            "bytes",
        ))
    }
    /// The bytes that each rank hands over, in the order of the ranks, for all of them.
    ///
    /// # Errors
    /// A rank that is no longer there.
    fn gather(&self, own: &[u8]) -> Result<Vec<Vec<u8>>>;
    /// Whether all ranks say yes.
    ///
    /// # Errors
    /// As [`gather`](Self::gather).
    fn agree(&self, yes: bool) -> Result<bool> {
        let all = self.gather(&[u8::from(yes)])?;
        Ok(all.iter().all(|answer| answer.as_slice() == [1]))
    }
    /// Waits until all ranks have come here.
    ///
    /// # Errors
    /// As [`gather`](Self::gather).
    fn barrier(&self) -> Result<()> {
        self.gather(&[]).map(drop)
    }
    /// Ends the processes of all ranks with this exit code, those that wait for this one too.
    fn abort(&self, code: u8) -> ! {
        quit(code)
    }
}

/// The error of a message whose length is another than expected.
fn wrong_length(from: usize, bytes: usize, rank: usize, expected: usize) -> Error {
    Error::Numerical(format!(
        "rank {from} sent {bytes} bytes where rank {rank} expects {expected}: all ranks must run the same case"
    ))
}

/// An object that a rank hands to another of the same process.
pub type Parcel = Box<dyn Any + Send>;

/// The only rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Alone;

impl Transport for Alone {
    fn describe(&self) -> String {
        "one process".to_owned()
    }
    fn rank(&self) -> usize {
        0
    }
    fn ranks(&self) -> usize {
        1
    }
    fn swap(&self, _: [Option<usize>; 2], _: [&[u8]; 2], _: [&mut [u8]; 2]) -> Result<()> {
        Ok(())
    }
    fn gather(&self, own: &[u8]) -> Result<Vec<Vec<u8>>> {
        Ok(vec![own.to_vec()])
    }
}
