//! The error type of machines.

use crate::fault::Fault;

/// A result whose error is a machine's.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The reason why a machine refused or failed, and what to do about it, in one line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The caller's input is not acceptable; the text says what is wrong and what would be right.
    #[error("{0}")]
    Input(String),
    /// Data do not fit into memory.
    #[error("{what} needs {} of {memory} and {} are available; {remedy}", bytes(*.needed), bytes(*.available))]
    Memory {
        /// The data that does not fit.
        what: String,
        /// Which memory.
        memory: &'static str,
        /// Bytes needed.
        needed: u64,
        /// Bytes there are.
        available: u64,
        /// The remedy.
        remedy: String,
    },
    /// No GPU can be used; the text names the search.
    #[error("no CUDA device can be used: {0}")]
    NoDevice(String),
    /// The CUDA driver refused a call.
    #[error("CUDA driver: {action}: {reason}")]
    Driver {
        /// The action that failed.
        action: String,
        /// The driver's own words.
        reason: String,
    },
    /// NCCL cannot be used, or refused a call.
    #[error("NCCL: {action}: {reason}")]
    Nccl {
        /// The action that failed.
        action: String,
        /// NCCL's own words, or the reason why there is none.
        reason: String,
    },
    /// A device computes wrong numbers.
    #[error("the device returns other numbers than it should")]
    WrongNumbers,
    /// The emulator found a fault in a kernel.
    #[error(transparent)]
    Fault(#[from] Box<Fault>),
}

impl Error {
    /// An [`Error::Input`] with this text.
    pub fn input(text: impl Into<String>) -> Self {
        Self::Input(text.into())
    }

    /// Whether the caller can mend this by giving other input, or a machine that has what is missing.
    pub fn is_input(&self) -> bool {
        matches!(
            self,
            Self::Input(_) | Self::Memory { .. } | Self::NoDevice(_)
        )
    }
}

/// A byte count as people read it.
pub(crate) fn bytes(count: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = count as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 {
        format!("{count} B")
    } else {
        format!("{value:.1} {}", UNITS[unit])
    }
}
