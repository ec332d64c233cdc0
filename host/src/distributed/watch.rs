//! The end of all ranks when one ends early.
//!
//! A device that waits for a message of a rank that is gone waits for ever, and so does its process. So each rank watches a connection, which breaks when the
//! process at its other end dies, and ends its own process then.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::meeting::LOST;
use crate::error::{Error, Result};
use crate::gpu::quit;

/// The words of a connection: a rank leaves at the end of the run, or has failed and said why. An exit code follows.
const LEAVES: u8 = 0;
const FAILED: u8 = 1;

/// Time that rank 0 has for a reason that all ranks know.
const COURTESY: Duration = Duration::from_millis(500);

/// The watched connections of a rank: rank 0 has one to each other rank, which have one to it.
pub(super) struct Watch {
    shared: Arc<Shared>,
}

struct Shared {
    rank: usize,
    connections: Vec<TcpStream>,
    leaving: AtomicBool,
    /// Held by the thread that ends the process.
    ending: Mutex<()>,
}

impl Watch {
    /// Watches the connections of a rank, in the order of the ranks.
    pub(super) fn new(rank: usize, connections: Vec<TcpStream>) -> Result<Self> {
        let failed =
            |why| Error::Numerical(format!("rank {rank} cannot watch its connections: {why}"));
        let copies = connections.iter().map(TcpStream::try_clone);
        let copies: Vec<TcpStream> = copies.collect::<Result<_, _>>().map_err(failed)?;
        let shared = Arc::new(Shared {
            rank,
            connections,
            leaving: AtomicBool::new(false),
            ending: Mutex::new(()),
        });
        for (k, connection) in copies.into_iter().enumerate() {
            let other = if rank == 0 { k + 1 } else { 0 };
            let shared = shared.clone();
            let watching = move || shared.watch(connection, other);
            thread::Builder::new()
                .name(format!("watch of rank {other}"))
                .spawn(watching)
                .map_err(failed)?;
        }
        Ok(Self { shared })
    }

    /// Ends the processes of all ranks with this exit code. The reason was printed.
    pub(super) fn abort(&self, code: u8) -> ! {
        self.shared.end(code, None)
    }

    /// Ends the processes of all ranks for a reason that the others cannot learn otherwise. Ranks that have it too leave it to the first.
    pub(super) fn fail(&self, why: &str) -> ! {
        self.shared.fail(why)
    }

    /// Ends all ranks unless the guard is dropped within some time.
    pub(super) fn within(&self, patience: Duration, what: &str) -> Guard {
        let line = format!(
            "{what} has not ended within {} s; NCCL_DEBUG=WARN shows why",
            patience.as_secs()
        );
        self.spawn(move |shared, stop| {
            if stop.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) {
                shared.fail(&line);
            }
        })
    }

    /// Ends all ranks once a check that is made each second finds a fault, until the guard is dropped.
    pub(super) fn each_second(&self, check: impl Fn() -> Option<String> + Send + 'static) -> Guard {
        self.spawn(move |shared, stop| {
            while stop.recv_timeout(Duration::from_secs(1)) == Err(RecvTimeoutError::Timeout) {
                if let Some(fault) = check() {
                    shared.fail(&fault);
                }
            }
        })
    }

    fn spawn(&self, work: impl FnOnce(&Shared, Receiver<()>) + Send + 'static) -> Guard {
        let (stop, stopped) = channel();
        let shared = self.shared.clone();
        // Without a thread the run goes on unguarded.
        let thread = thread::Builder::new()
            .spawn(move || work(&shared, stopped))
            .ok();
        Guard {
            stop: Some(stop),
            thread,
        }
    }
}

/// A guard's thread ends with it.
pub(super) struct Guard {
    stop: Option<Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Whether a connection broke because the other host, or the way to it, is gone.
fn is_lost(why: &io::Error) -> bool {
    matches!(
        why.kind(),
        io::ErrorKind::TimedOut
            | io::ErrorKind::HostUnreachable
            | io::ErrorKind::NetworkUnreachable
    )
}

impl Shared {
    fn watch(&self, mut connection: TcpStream, other: usize) {
        let mut words = [0; 2];
        let read = connection.read_exact(&mut words);
        match (read, words) {
            // Only rank 0 prints results, so that only it may end early without a failure.
            (Ok(()), [FAILED, code]) if self.rank == 0 => self.end(code.max(1), None),
            (Ok(()), [FAILED, code]) => self.end(code, None),
            (Ok(()), [LEAVES, 0]) => {}
            (Ok(()), _) => self.end(1, Some(&format!("rank {other} sends unknown words"))),
            (Err(_), _) if self.leaving.load(Ordering::SeqCst) => {}
            // A host that is lost answers nothing more, and may be that of other ranks too.
            (Err(why), _) if is_lost(&why) => {
                let line = format!(
                    "rank {other} is lost: no answer from its host within {} s",
                    LOST.as_secs()
                );
                self.end(1, Some(&line))
            }
            // Of those that miss rank 0 one says so.
            (Err(_), _) if other == 0 && self.rank > 1 => self.end(1, None),
            (Err(_), _) => self.end(1, Some(&format!("rank {other} ended before the others"))),
        }
    }

    /// Ends all for a reason that rank 0 has time to say first.
    fn fail(&self, why: &str) -> ! {
        if self.rank > 0 {
            thread::sleep(COURTESY);
        }
        self.end(1, Some(why))
    }

    /// Ends this process at once, and with it the others.
    fn end(&self, code: u8, line: Option<&str>) -> ! {
        let _only = self.ending.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(line) = line {
            let rank = match self.rank {
                0 => String::new(),
                rank => format!("rank {rank}: "),
            };
            let _ = writeln!(std::io::stderr(), "rarefy: error: {rank}{line}");
        }
        self.say([FAILED, code]);
        quit(code)
    }

    fn say(&self, words: [u8; 2]) {
        for mut connection in &self.connections {
            // A rank that is gone needs no word.
            let _ = connection.write_all(&words);
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.shared.leaving.store(true, Ordering::SeqCst);
        self.shared.say([LEAVES, 0]);
        for connection in &self.shared.connections {
            let _ = connection.shutdown(Shutdown::Both);
        }
    }
}
