//! A fault of a kernel, as the emulator finds it: its kind, and where it happened.

use std::fmt;
use std::panic::Location;

/// A fault of a kernel, found by the emulator.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.line())]
#[non_exhaustive]
pub struct Fault {
    /// The kind of the fault.
    pub kind: FaultKind,
    /// Entry point of the kernel; empty where no kernel ran.
    pub kernel: &'static str,
    /// Block in which it happened.
    pub block: u32,
    /// Thread of that block.
    pub thread: u32,
    /// Memory concerned, for a fault of an access.
    pub memory: Option<Memory>,
    /// Element concerned, for a fault of an access.
    pub index: Option<usize>,
    /// Line of the kernel, where it is known.
    pub location: Option<&'static Location<'static>>,
    /// The other thread of a race, of a copy, of a barrier, or of an exchange.
    pub other: Option<OtherThread>,
}

/// The kind of a kernel's fault.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FaultKind {
    /// An access past the end of a view.
    OutOfBounds {
        /// The access of the thread.
        access: Access,
        /// Elements in the view.
        len: usize,
    },
    /// One access to several elements that begins where such an access cannot: not at a multiple of its own size.
    Misaligned {
        /// The access of the thread.
        access: Access,
        /// Elements of the access.
        count: usize,
    },
    /// A read of unwritten memory.
    Unwritten,
    /// Two threads touch one element, nothing orders them, at least one writes, and not both are atomic.
    Race {
        /// The access of the thread.
        access: Access,
        /// The earlier access of the other thread.
        other: Access,
    },
    /// An access to an element of shared memory that an asynchronous copy is to write, which the other thread, perhaps the same one,
    /// has started and not yet waited for.
    CopyUnderWay {
        /// The access of the thread.
        access: Access,
    },
    /// The other thread, perhaps the same one, changed an element of global memory after this thread had started to copy it and before it had
    /// waited for the copy.
    CopySource {
        /// The access of the other thread.
        access: Access,
    },
    /// The thread leaves the kernel with a copy that it has not waited for, so that no thread can use the copied data.
    CopyAbandoned,
    /// A block barrier that the other thread does not reach.
    Barrier {
        /// The activity of the other thread instead.
        instead: Activity,
    },
    /// A warp barrier, ballot or shuffle in which another lane of the warp does not take part.
    WarpOperation {
        /// The operation in which the thread waits.
        operation: Activity,
        /// The activity of the other lane instead.
        instead: Activity,
    },
    /// A shuffle from a lane that does not exist or takes no part.
    InactiveLane {
        /// The lane named as source.
        source: u32,
    },
    /// An access to memory that does not belong to an emulator.
    ForeignMemory,
    /// An array of shared memory that is not aligned, reaches past what the launch reserved, or overlaps a different array.
    SharedLayout {
        /// First byte of the array.
        offset: usize,
        /// Bytes of the array.
        bytes: usize,
        /// Bytes that the launch reserved.
        reserved: usize,
    },
    /// The kernel panicked with this message.
    Panic(String),
    /// The host copied unwritten elements.
    UnwrittenCopy,
}

/// The access of a thread to an element of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Access {
    /// It reads.
    Read,
    /// It writes.
    Write,
    /// It adds in one indivisible step.
    Atomic,
}

/// The activity of a thread while others wait for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Activity {
    /// It has left the kernel.
    Exited,
    /// It waits at a block barrier.
    Barrier,
    /// It waits at a warp barrier.
    WarpBarrier,
    /// It waits in a shuffle.
    Shuffle,
    /// It waits in a ballot.
    Ballot,
}

/// Which memory an access concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Memory {
    /// The view of global memory at this position, from 0, among the views that the kernel declares.
    Global {
        /// Position; unknown for memory that is not an argument.
        view: Option<usize>,
    },
    /// The array of the block's shared memory that starts at this byte.
    Shared {
        /// First byte.
        offset: usize,
    },
}

/// The second thread that a fault is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct OtherThread {
    /// Its block.
    pub block: u32,
    /// Its index in the block.
    pub thread: u32,
    /// Where it waits, if it does; where it started a copy or changed what is copied, if known.
    pub location: Option<&'static Location<'static>>,
}

impl Fault {
    fn line(&self) -> String {
        use fmt::Write;

        let Self {
            kind,
            kernel,
            block,
            thread,
            ..
        } = self;
        let index = self.index.unwrap_or_default();
        if let FaultKind::UnwrittenCopy = kind {
            return format!("element {index} is copied to the host, but nothing wrote it");
        }

        let mut line = format!("kernel {kernel}, block {block}, thread {thread}: ");
        let memory = match self.memory {
            Some(Memory::Global { view: Some(view) }) => format!("of view {view}"),
            Some(Memory::Global { view: None }) => "of global memory".into(),
            Some(Memory::Shared { offset }) => format!("of the shared array at byte {offset}"),
            None => String::new(),
        };
        let other = match self.other {
            Some(o) if o.block == *block => format!("thread {}", o.thread),
            Some(o) => format!("thread {} of block {}", o.thread, o.block),
            None => "no other thread".into(),
        };
        let own = self
            .other
            .is_some_and(|o| (o.block, o.thread) == (*block, *thread));
        // Writing to a string cannot fail.
        let _ = match kind {
            FaultKind::OutOfBounds { access, len } => {
                write!(line, "{access} element {index} {memory}, which has {len}")
            }
            FaultKind::Misaligned { access, count } => write!(
                line,
                "{access} {count} elements at once from element {index} {memory} on, which does not lie at a multiple of their size"
            ),
            FaultKind::Unwritten => {
                write!(line, "reads element {index} {memory}, which nobody wrote")
            }
            FaultKind::Race {
                access,
                other: before,
            } => write!(
                line,
                "race: {access} element {index} {memory}; {other} {before} it too, with no barrier between them"
            ),
            FaultKind::CopyUnderWay { access } => write!(
                line,
                "{access} element {index} {memory} before {} for its copy there",
                if own {
                    "it has waited".into()
                } else {
                    format!("{other} has waited")
                }
            ),
            FaultKind::CopySource { access } => write!(
                line,
                "copies element {index} {memory}, and {} it before it has waited for the copy",
                if own {
                    format!("itself {access}")
                } else {
                    format!("{other} {access}")
                }
            ),
            FaultKind::CopyAbandoned => write!(
                line,
                "leaves the kernel before it has waited for its copy to element {index} {memory}"
            ),
            FaultKind::Barrier { instead } => {
                write!(
                    line,
                    "waits at a block barrier that {other} does not reach: it {instead}"
                )
            }
            FaultKind::WarpOperation { operation, instead } => {
                write!(
                    line,
                    "{operation} in which {other} of the warp takes no part: it {instead}"
                )
            }
            FaultKind::InactiveLane { source } => {
                write!(line, "shuffles from lane {source}, which is not active")
            }
            FaultKind::ForeignMemory => {
                write!(
                    line,
                    "uses element {index} of memory that is not the emulator's"
                )
            }
            FaultKind::SharedLayout {
                offset,
                bytes,
                reserved,
            } => write!(
                line,
                "asks for {bytes} bytes of shared memory at byte {offset}: not aligned, past the {reserved} bytes of the launch, \
                 or overlapping another array"
            ),
            FaultKind::Panic(message) => write!(line, "panics: {}", message.replace('\n', " ")),
            FaultKind::UnwrittenCopy => Ok(()),
        };
        if let Some(location) = self.location {
            let _ = write!(line, " ({location})");
        }
        if let Some(location) = self.other.and_then(|other| other.location) {
            let what = match kind {
                FaultKind::CopyUnderWay { .. } => "the copy",
                FaultKind::CopySource { .. } => "the change",
                _ => "the other",
            };
            let _ = write!(line, " ({what} at {location})");
        }
        line
    }
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "reads",
            Self::Write => "writes",
            Self::Atomic => "adds atomically to",
        })
    }
}

impl fmt::Display for Activity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Exited => "has left the kernel",
            Self::Barrier => "waits at a block barrier",
            Self::WarpBarrier => "waits at a warp barrier",
            Self::Shuffle => "waits in a shuffle",
            Self::Ballot => "waits in a ballot",
        })
    }
}
