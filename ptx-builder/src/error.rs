use std::path::{Path, PathBuf};

use crate::INSTALL_SCRIPT;
use crate::guard::Fault;

/// Faults between the kernels' sources and their PTX.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// A file is not what it should be.
    #[error("{}: {problem}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The fault.
        problem: String,
    },
    /// No compiler that can make PTX.
    #[error(
        "no device toolchain found; {INSTALL_SCRIPT} installs it.{}",
        bullets(tried)
    )]
    NoToolchain {
        /// The examined tools, and the reason why none serves.
        tried: Vec<String>,
    },
    /// No `ptxas` or other tool of the CUDA binaries.
    #[error(
        "{tool} not found in {}; {INSTALL_SCRIPT} installs it, RAREFY_{} names one elsewhere",
        places.join(", "),
        tool.to_uppercase()
    )]
    NoTool {
        /// The tool.
        tool: &'static str,
        /// Where it was looked for.
        places: Vec<String>,
    },
    /// A command failed.
    #[error("{what} failed:\n{output}")]
    Command {
        /// The purpose of the command.
        what: String,
        /// Its output.
        output: String,
    },
    /// The declared kernels are not those in the compiled crate.
    #[error(
        "the kernels that the sources declare differ from those in the compiled crate.{}{}",
        bullets(&missing.iter().map(|name| format!("declared, not compiled: {name}")).collect::<Vec<_>>()),
        bullets(&unexpected.iter().map(|name| format!("compiled, not declared: {name}")).collect::<Vec<_>>()),
    )]
    Entries {
        /// Declared, not compiled.
        missing: Vec<String>,
        /// Compiled, not declared.
        unexpected: Vec<String>,
    },
    /// The PTX contains what it must not.
    #[error("the PTX of {file} is refused:{}", bullets(&faults.iter().map(Fault::to_string).collect::<Vec<_>>()))]
    Refused {
        /// The file.
        file: String,
        /// Everything found.
        faults: Vec<Fault>,
    },
}

/// A result whose error is [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(crate) fn io(path: impl AsRef<Path>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.as_ref().to_owned();
        |source| Self::Io { path, source }
    }
    pub(crate) fn malformed(path: impl AsRef<Path>, problem: impl ToString) -> Self {
        Self::Malformed {
            path: path.as_ref().to_owned(),
            problem: problem.to_string(),
        }
    }
}

fn bullets(lines: &[String]) -> String {
    lines.iter().map(|line| format!("\n  - {line}")).collect()
}
