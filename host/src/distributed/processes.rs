//! Ranks that are processes: their devices exchange by NCCL, and all else goes through rank 0 by TCP.

use std::any::Any;
use std::fmt;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use rarefy_simt::Error as MachineError;

use super::meeting::Meeting;
use super::place::variable;
use super::watch::{Guard, Watch};
use super::{Place, Transport, wrong_length};
use crate::error::{Error, Result};
use crate::gpu::{self, Communicator, Device};
use crate::memory_plan::host_memory;

/// Time within which NCCL connects the devices.
const PATIENCE: Duration = Duration::from_secs(120);

/// Time that the watch needs to see the end of a rank, whose connections break at the same time.
const COURTESY: Duration = Duration::from_secs(2);

/// The variable by which NCCL allows several ranks on one device.
const SHARING: &str = "NCCL_MULTI_RANK_GPU_ENABLE";

/// Ranks that are processes of one or several hosts. Devices exchange messages by NCCL; fields and decisions go through rank 0 by TCP.
///
/// When a rank ends early, all others end their processes with one line.
pub struct Processes {
    rank: usize,
    ranks: usize,
    local_rank: usize,
    /// Rank 0 has one to each other rank, which have one to it.
    connections: Mutex<Vec<TcpStream>>,
    polled: OnceLock<Guard>,
    devices: OnceLock<Arc<Communicator>>,
    watch: Watch,
}

impl fmt::Debug for Processes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Processes")
            .field("rank", &self.rank)
            .field("ranks", &self.ranks)
            .field("devices", &self.devices.get())
            .finish_non_exhaustive()
    }
}

impl Processes {
    /// Whether this process has a GPU, and NCCL for its messages.
    ///
    /// # Errors
    /// The reason why not.
    pub fn check() -> Result<()> {
        gpu::choices()?;
        Communicator::library()?;
        Ok(())
    }

    /// Connects this process with the others of its launcher, as the environment describes them.
    ///
    /// Rank 0 listens at `MASTER_ADDR` and `MASTER_PORT`, or where the launcher says: the first host of a step of Slurm, or this host where all ranks are on it.
    /// Each rank proves that it has the secret of `RAREFY_SECRET`, else of the file that `RAREFY_SECRET_FILE` names, else of `rarefy.secret` in the
    /// folder of the process. On the loopback interface alone ranks may go without.
    ///
    /// # Errors
    /// An address that is unknown; ranks of several hosts without a secret, or with two; ranks that do not come within two minutes.
    pub fn start(place: &Place) -> Result<Self> {
        let Place { rank, ranks, .. } = *place;
        if rank >= ranks {
            return Err(Error::invalid(
                "rank",
                format!("{rank} of {ranks} by {}", place.launcher),
                "ranks that count from 0",
            ));
        }
        let meeting = Meeting::of(place, variable)?;
        Self::connected([rank, ranks], place.local[0].unwrap_or(rank), &meeting)
    }

    fn connected(ranks: [usize; 2], local_rank: usize, meeting: &Meeting) -> Result<Self> {
        let lines = meeting.lines(ranks)?.into_iter();
        let (messages, watched) = lines.map(|line| (line.messages, line.watch)).unzip();
        let [rank, ranks] = ranks;
        Ok(Self {
            rank,
            ranks,
            local_rank,
            connections: Mutex::new(messages),
            polled: OnceLock::new(),
            devices: OnceLock::new(),
            watch: Watch::new(rank, watched)?,
        })
    }

    /// Uses the connections. An error comes after the watch has had time to end the process.
    fn carry<R>(&self, work: impl FnOnce(&[TcpStream]) -> io::Result<R>) -> Result<R> {
        let connections: MutexGuard<'_, Vec<TcpStream>> =
            (self.connections.lock()).unwrap_or_else(PoisonError::into_inner);
        work(&connections).map_err(|why| {
            thread::sleep(COURTESY);
            Error::Numerical(format!("rank {} lost another rank: {why}", self.rank))
        })
    }

    /// The identities of all devices, unless they cannot be connected.
    fn check_devices(&self, device: Option<&Device>) -> Result<Vec<Vec<u8>>> {
        let usable = device.map(|device| Communicator::library().map(|_| device.uuid()));
        let own = match usable {
            None => vec![NO_DEVICE],
            // A driver that does not say it leaves the check to NCCL.
            Some(Ok(uuid)) => [&[DEVICE][..], &uuid.unwrap_or_default()].concat(),
            Some(Err(MachineError::Nccl { reason, .. })) => {
                [&[NO_LIBRARY][..], reason.as_bytes()].concat()
            }
            Some(Err(why)) => [&[NO_LIBRARY][..], why.to_string().as_bytes()].concat(),
        };
        let all = self.gather(&own)?;
        let kind = |of: &[u8]| of.first().copied();
        if let Some(rank) = all.iter().position(|of| kind(of) == Some(NO_LIBRARY)) {
            let why = String::from_utf8_lossy(&all[rank][1..]).into_owned();
            return Err(Error::invalid(
                "NCCL",
                format!("rank {rank}: {why}"),
                "version 2.14 or later for each rank",
            ));
        }
        if let Some(rank) = all.iter().position(|of| kind(of) != kind(&all[0])) {
            let (with, without) = match kind(&all[0]) {
                Some(DEVICE) => (0, rank),
                _ => (rank, 0),
            };
            return Err(Error::invalid(
                "backend",
                format!("a GPU on rank {with} and none on rank {without}"),
                "a GPU for each rank, or for none",
            ));
        }
        let shared = std::env::var(SHARING).is_ok_and(|value| value.trim() == "1");
        for (rank, uuid) in all.iter().enumerate() {
            let known = uuid.len() > 1 && uuid[1..].iter().any(|byte| *byte != 0);
            let other = all[..rank].iter().position(|other| other == uuid);
            if let (Some(other), true, false) = (other, known, shared) {
                return Err(Error::invalid(
                    "ranks",
                    format!("{other} and {rank} on one GPU"),
                    "a GPU for each, as NCCL needs it; start as many ranks as there are GPUs",
                ));
            }
        }
        Ok(all)
    }
}

/// First bytes of a rank on its device; the identity of the device or the reason follows.
const NO_DEVICE: u8 = 0;
const DEVICE: u8 = 1;
const NO_LIBRARY: u8 = 2;

/// Writes bytes after their number.
fn write(mut to: &TcpStream, bytes: &[u8]) -> io::Result<()> {
    to.write_all(&(bytes.len() as u64).to_le_bytes())?;
    to.write_all(bytes)
}

/// Bytes of a message for which memory is there.
const FEW: u64 = 16 << 20;

/// Reads bytes after their number, which memory must have room for.
fn read(mut from: &TcpStream) -> io::Result<Vec<u8>> {
    let mut number = [0; 8];
    from.read_exact(&mut number)?;
    let number = u64::from_le_bytes(number);
    if number > FEW
        && let Some(available) = host_memory().available
        && number > available
    {
        let line = format!("it announces {number} bytes, and {available} are available");
        return Err(io::Error::new(io::ErrorKind::InvalidData, line));
    }
    let mut bytes = Vec::new();
    from.take(number).read_to_end(&mut bytes)?;
    if bytes.len() as u64 == number {
        Ok(bytes)
    } else {
        Err(io::ErrorKind::UnexpectedEof.into())
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        drop(self.polled.take());
        if let Some(devices) = self.devices.take() {
            // All ranks of a host leave NCCL together.
            let _guard = self.watch.within(PATIENCE, "leaving NCCL");
            drop(devices);
        }
    }
}

impl Transport for Processes {
    fn describe(&self) -> String {
        match self.devices.get() {
            Some(_) => Communicator::library().unwrap_or_default(),
            None => "TCP".to_owned(),
        }
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
        let number = |rank: Option<usize>| rank.map_or(u64::MAX, |rank| rank as u64).to_le_bytes();
        let own = neighbours.map(number).concat();
        let received: [Vec<u8>; 2] = self.carry(|connections| {
            if self.rank > 0 {
                let [first] = connections else {
                    return Err(io::ErrorKind::NotConnected.into());
                };
                write(first, &own)?;
                write(first, out[0])?;
                write(first, out[1])?;
                return Ok([read(first)?, read(first)?]);
            }
            // All messages, then to each rank those of its neighbours that fly towards it.
            let mut asked = vec![own];
            let mut sent = vec![out.map(<[u8]>::to_vec)];
            for connection in connections {
                asked.push(read(connection)?);
                sent.push([read(connection)?, read(connection)?]);
            }
            let of = |rank: usize, side: usize| -> &[u8] {
                let bytes = asked[rank].as_chunks::<8>().0.get(side);
                let neighbour = bytes.map(|bytes| u64::from_le_bytes(*bytes) as usize);
                let messages = neighbour.and_then(|neighbour| sent.get(neighbour));
                messages.map_or(&[], |messages| &messages[1 - side])
            };
            for (k, connection) in connections.iter().enumerate() {
                write(connection, of(k + 1, 0))?;
                write(connection, of(k + 1, 1))?;
            }
            Ok([of(0, 0).to_vec(), of(0, 1).to_vec()])
        })?;
        for (side, (into, received)) in into.into_iter().zip(received).enumerate() {
            let Some(rank) = neighbours[side] else {
                continue;
            };
            if into.len() != received.len() {
                return Err(wrong_length(rank, received.len(), self.rank, into.len()));
            }
            into.copy_from_slice(&received);
        }
        Ok(())
    }

    fn gather(&self, own: &[u8]) -> Result<Vec<Vec<u8>>> {
        self.carry(|connections| {
            if self.rank > 0 {
                let [first] = connections else {
                    return Err(io::ErrorKind::NotConnected.into());
                };
                write(first, own)?;
                return (0..self.ranks).map(|_| read(first)).collect();
            }
            let mut all = vec![own.to_vec()];
            for connection in connections {
                all.push(read(connection)?);
            }
            for connection in connections {
                for bytes in &all {
                    write(connection, bytes)?;
                }
            }
            Ok(all)
        })
    }

    fn connect(&self, device: Option<&Device>) -> Result<()> {
        if self.devices.get().is_some() {
            return Ok(());
        }
        self.check_devices(device)?;
        let Some(device) = device else {
            return Ok(());
        };
        let identity = match self.rank {
            0 => Communicator::identity().map(Vec::from),
            _ => Ok(Vec::new()),
        };
        let sent = self.gather(identity.as_deref().unwrap_or_default())?;
        identity?;
        let identity = sent
            .first()
            .and_then(|bytes| bytes.as_slice().try_into().ok());
        let identity = identity
            .ok_or_else(|| Error::Numerical("rank 0 sent no identity of NCCL".to_owned()))?;
        let guard = self.watch.within(PATIENCE, "connecting the GPUs by NCCL");
        let connected = Communicator::new(device, identity, [self.rank, self.ranks]);
        drop(guard);
        // The others may be waiting within NCCL.
        let connected = connected.unwrap_or_else(|why| self.watch.fail(&why.to_string()));
        let connected = Arc::new(connected);
        let asked = connected.clone();
        let polled = self.watch.each_second(move || {
            let fault = asked.failure().err()?;
            Some(fault.to_string())
        });
        self.devices.get_or_init(|| connected);
        self.polled.get_or_init(|| polled);
        Ok(())
    }

    fn link(&self) -> Option<&dyn Any> {
        self.devices.get().map(|link| &**link as &dyn Any)
    }

    fn abort(&self, code: u8) -> ! {
        self.watch.abort(code)
    }
}

#[cfg(test)]
mod tests {
    use super::super::meeting::tests::here;
    use super::*;

    /// The results of ranks that are threads of this process, connected as processes are.
    fn over<R: Send>(ranks: usize, work: impl Fn(&Processes) -> R + Sync) -> Vec<R> {
        let meeting = here(Duration::from_secs(20));
        thread::scope(|scope| {
            let each = (0..ranks).map(|rank| {
                let (meeting, work) = (&meeting, &work);
                scope.spawn(move || {
                    let rank = Processes::connected([rank, ranks], rank, meeting).unwrap();
                    let result = work(&rank);
                    rank.barrier().unwrap();
                    result
                })
            });
            let each: Vec<_> = each.collect();
            each.into_iter().map(|rank| rank.join().unwrap()).collect()
        })
    }

    #[test]
    fn ranks_gather_and_agree() {
        let results = over(3, |rank| {
            let all = rank
                .gather(&vec![rank.rank() as u8; rank.rank() * 70_000])
                .unwrap();
            assert_eq!(rank.describe(), "TCP");
            let agreed = [
                rank.agree(true).unwrap(),
                rank.agree(rank.rank() != 1).unwrap(),
            ];
            (all, agreed)
        });
        for (all, agreed) in results {
            assert_eq!(all, [vec![], vec![1; 70_000], vec![2; 140_000]]);
            assert_eq!(agreed, [true, false]);
        }
    }

    #[test]
    fn neighbours_swap_messages() {
        for (ranks, periodic) in [(2, true), (2, false), (3, true), (4, false)] {
            over(ranks, |rank| {
                let own = rank.rank();
                let low = own.checked_sub(1).or(periodic.then_some(ranks - 1));
                let high = Some(own + 1).filter(|next| *next < ranks);
                let high = high.or(periodic.then_some(0));
                // To the low side its number and 0, to the high side twice as many of its number and 1.
                let out = |rank: usize| [vec![rank as u8, 0], vec![rank as u8, 1, 1]];
                let [to_low, to_high] = out(own);
                let mut from_low = vec![9; 3];
                let mut from_high = vec![9; 2];
                rank.swap(
                    [low, high],
                    [&to_low, &to_high],
                    [&mut from_low, &mut from_high],
                )
                .unwrap();
                assert_eq!(from_low, low.map_or(vec![9; 3], |low| out(low)[1].clone()));
                assert_eq!(
                    from_high,
                    high.map_or(vec![9; 2], |high| out(high)[0].clone())
                );
            });
        }
    }

    #[test]
    fn messages_of_another_length_are_refused() {
        let errors = over(2, |rank| {
            let neighbours = [Some(1 - rank.rank()), None].map(|to| to.filter(|_| true));
            let neighbours = match rank.rank() {
                0 => [None, neighbours[0]],
                _ => neighbours,
            };
            let mut into = [vec![0; 3], vec![0; 3]];
            let [low, high] = &mut into;
            let out: &[u8] = if rank.rank() == 0 { &[1; 3] } else { &[1; 4] };
            rank.swap(neighbours, [out, out], [low, high])
                .map_err(|error| error.to_string())
        });
        assert_eq!(
            errors[0],
            Err(
                "rank 1 sent 4 bytes where rank 0 expects 3: all ranks must run the same case"
                    .to_owned()
            )
        );
        assert_eq!(errors[1], Ok(()));
    }

    #[test]
    fn ranks_without_devices_need_no_library() {
        for connected in over(2, |rank| rank.connect(None).map(|()| rank.link().is_none())) {
            assert!(connected.unwrap());
        }
    }

    #[test]
    fn lengths_beyond_the_memory_are_refused() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let mut other = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (stream, _) = listener.accept().unwrap();
        for length in [u64::MAX, 1 << 62, 1 << 50] {
            other.write_all(&length.to_le_bytes()).unwrap();
            let error = read(&stream).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData);
            let line = format!("it announces {length} bytes, and ");
            assert!(error.to_string().starts_with(&line), "{error}");
        }
        write(&other, &[7; 100]).unwrap();
        assert_eq!(read(&stream).unwrap(), [7; 100]);
    }
}
