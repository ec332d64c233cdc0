//! Ranks that are processes, connected by MPI.

use std::sync::{Mutex, MutexGuard, PoisonError};

use ::mpi::Threading;
use ::mpi::environment::{Universe, initialize_with_threading, library_version};
use ::mpi::request::scope;
use ::mpi::topology::SimpleCommunicator;
use ::mpi::traits::{
    Communicator, CommunicatorCollectives, Destination, Equivalence, Root, Source,
};

use super::{Place, Transport};
use crate::error::{Error, Result};

/// Most bytes of one call: MPI counts in 32 bits.
const CHUNK: usize = 1 << 30;

/// Ranks that are processes, started by `mpirun` or `srun` and connected by MPI.
///
/// An error of MPI ends all processes. MPI ends when the value is dropped.
pub struct Mpi {
    rank: usize,
    ranks: usize,
    local_rank: usize,
    /// One call at a time, from any thread.
    universe: Mutex<Universe>,
}

impl std::fmt::Debug for Mpi {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mpi")
            .field("rank", &self.rank)
            .field("ranks", &self.ranks)
            .finish_non_exhaustive()
    }
}

impl Mpi {
    /// Starts MPI in this process.
    ///
    /// # Errors
    /// MPI that was started before; a library that allows calls from the main thread alone; a launcher whose ranks this MPI does not know.
    pub fn start() -> Result<Self> {
        let started = initialize_with_threading(Threading::Serialized);
        let Some((universe, threading)) = started else {
            return Err(Error::invalid(
                "MPI",
                "started before",
                "one start a process",
            ));
        };
        if !matches!(threading, Threading::Serialized | Threading::Multiple) {
            return Err(Error::invalid(
                "MPI",
                "a library that takes calls of the main thread alone",
                "one built with support for threads",
            ));
        }
        let world = universe.world();
        let (rank, ranks) = (world.rank(), world.size());
        let local_rank = world.split_shared(rank).rank();
        let started = Self {
            rank: rank as usize,
            ranks: ranks as usize,
            local_rank: local_rank as usize,
            universe: Mutex::new(universe),
        };
        match Place::from_environment()? {
            Some(place) if place.ranks != started.ranks => Err(Error::invalid(
                "ranks",
                format!("{} by {}", place.ranks, place.launcher),
                format!(
                    "{}, which MPI knows: start them with the launcher of {}, or with 'srun --mpi=pmix'",
                    started.ranks,
                    Self::library()
                ),
            )),
            _ => Ok(started),
        }
    }

    /// The library's name and version, such as `Open MPI v4.1.4`.
    pub fn library() -> String {
        let text = library_version().unwrap_or_default();
        let end = text.find([',', '\n', '\0']).unwrap_or(text.len());
        let words: Vec<&str> = text[..end].split_whitespace().collect();
        words.join(" ")
    }

    fn world(&self) -> (MutexGuard<'_, Universe>, SimpleCommunicator) {
        let universe = self.universe.lock().unwrap_or_else(PoisonError::into_inner);
        let world = universe.world();
        (universe, world)
    }
}

impl Transport for Mpi {
    fn describe(&self) -> String {
        Self::library()
    }

    fn rank(&self) -> usize {
        self.rank
    }

    fn ranks(&self) -> usize {
        self.ranks
    }

    fn local_rank(&self) -> usize {
        self.local_rank
    }

    fn swap(
        &self,
        neighbours: [Option<usize>; 2],
        out: [&[u8]; 2],
        into: [&mut [u8]; 2],
    ) -> Result<()> {
        let (_one_call, world) = self.world();
        let process = |rank: usize| world.process_at_rank(rank as i32);
        scope(|scope| {
            let mut sent = Vec::new();
            for (side, out) in out.into_iter().enumerate() {
                let Some(rank) = neighbours[side] else {
                    continue;
                };
                // One rank may be both neighbours: the tag is the side to which a message flies.
                for chunk in out.chunks(CHUNK) {
                    sent.push(process(rank).immediate_send_with_tag(scope, chunk, side as i32));
                }
            }
            let mut wrong = None;
            for (side, into) in into.into_iter().enumerate() {
                let Some(rank) = neighbours[side] else {
                    continue;
                };
                for chunk in into.chunks_mut(CHUNK) {
                    let tag = 1 - side as i32;
                    let (message, status) = process(rank).matched_probe_with_tag(tag);
                    let bytes = status.count(u8::equivalent_datatype()) as usize;
                    if bytes == chunk.len() {
                        message.matched_receive_into(chunk);
                    } else {
                        message.matched_receive_into(&mut vec![0_u8; bytes][..]);
                        wrong.get_or_insert((rank, bytes, chunk.len()));
                    }
                }
            }
            for request in sent {
                request.wait();
            }
            match wrong {
                None => Ok(()),
                Some((rank, bytes, expected)) => {
                    Err(super::wrong_length(rank, bytes, self.rank, expected))
                }
            }
        })
    }

    fn gather(&self, own: &[u8]) -> Result<Vec<Vec<u8>>> {
        let (_one_call, world) = self.world();
        let mut lengths = vec![0_u64; self.ranks];
        world.all_gather_into(&(own.len() as u64), &mut lengths[..]);
        let mut all: Vec<Vec<u8>> =
            (lengths.iter().map(|&bytes| vec![0; bytes as usize])).collect();
        all[self.rank].copy_from_slice(own);
        for (rank, bytes) in all.iter_mut().enumerate() {
            for chunk in bytes.chunks_mut(CHUNK) {
                world.process_at_rank(rank as i32).broadcast_into(chunk);
            }
        }
        Ok(all)
    }

    fn abort(&self, code: u8) -> ! {
        // Another thread may be waiting within MPI for ever.
        SimpleCommunicator::world().abort(i32::from(code))
    }
}
