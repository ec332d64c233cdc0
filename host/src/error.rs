//! The one error type of the library.

use std::path::PathBuf;

use rarefy_simt::Error as MachineError;

/// A result whose error is rarefy's own.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The fault and its remedy, in one line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The caller's input is not acceptable; the text says what is wrong and what would be right.
    #[error("{0}")]
    Input(String),
    /// A file or folder could not be read or written.
    #[error("{path}: {reason}")]
    File {
        /// The file or folder.
        path: PathBuf,
        /// The objection of the system or of the file's format, and the remedy where there is one.
        reason: String,
    },
    /// The machine that runs kernels refused or failed: too little memory, no device, an error of the driver, a fault of a kernel.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// The computation cannot go on: the state became unusable in a way that only running it shows.
    #[error("{0}")]
    Numerical(String),
}

impl Error {
    /// An [`Error::Input`] with this text.
    pub fn input(text: impl Into<String>) -> Self {
        Self::Input(text.into())
    }

    /// An [`Error::File`] for this path.
    pub fn file(path: impl Into<PathBuf>, reason: impl ToString) -> Self {
        Self::File {
            path: path.into(),
            reason: reason.to_string(),
        }
    }

    /// Whether the caller can mend this by giving other input: exit code 2 of the command.
    pub fn is_input(&self) -> bool {
        match self {
            Self::Input(_) | Self::File { .. } => true,
            Self::Machine(error) => error.is_input(),
            Self::Numerical(_) => false,
        }
    }
}
