//! The one error type of the library.

use std::path::PathBuf;

use rarefy_simt::Error as MachineError;

/// A result whose error is rarefy's own.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The fault and its remedy, in one line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A value that the caller gave is not acceptable.
    #[error("{field}: {value}; expected {expected}")]
    Input {
        /// The field of the configuration, or the argument, such as `dt`.
        field: String,
        /// The value that was given.
        value: String,
        /// Which values are right, and where it helps why.
        expected: String,
    },
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
    /// The work ended before, as its caller asked.
    #[error("the work was stopped")]
    Stopped,
}

impl Error {
    /// An [`Error::Input`]: the field, its value, and which values are right.
    ///
    /// ```
    /// use rarefy::Error;
    ///
    /// let error = Error::invalid("dt", -0.1, "a positive time step");
    /// assert_eq!(error.to_string(), "dt: -0.1; expected a positive time step");
    /// assert!(matches!(error, Error::Input { field, .. } if field == "dt"));
    /// ```
    pub fn invalid(
        field: impl Into<String>,
        value: impl ToString,
        expected: impl Into<String>,
    ) -> Self {
        Self::Input {
            field: field.into(),
            value: readable(value.to_string()),
            expected: expected.into(),
        }
    }

    /// The same error of a part, such as one distribution of a batch: the name of the part precedes the field's.
    pub(crate) fn within(self, part: &str) -> Self {
        match self {
            Self::Input {
                field,
                value,
                expected,
            } => Self::invalid(format!("{part}: {field}"), value, expected),
            other => other,
        }
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
            Self::Input { .. } | Self::File { .. } => true,
            Self::Machine(error) => error.is_input(),
            Self::Numerical(_) | Self::Stopped => false,
        }
    }
}

/// A system error without its number.
#[cfg(feature = "files")]
pub(crate) fn reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => first.to_lowercase().chain(chars).collect(),
        None => text.to_string(),
    }
}

/// A number of more digits than its precision has, such as 1e300, by its exponent.
fn readable(value: String) -> String {
    match value.parse::<f64>() {
        Ok(number) if value.len() > LONGEST && number.is_finite() => format!("{number:e}"),
        _ => value,
    }
}

/// Characters of an f64 with all of its digits.
const LONGEST: usize = 24;

#[cfg(test)]
mod tests {
    use super::Error;

    #[test]
    fn parts_precede_fields() {
        let error = Error::invalid("density", -1, "a positive density").within("left wall");
        assert_eq!(
            error.to_string(),
            "left wall: density: -1; expected a positive density"
        );
        let other = Error::Numerical("the gas is gone".into()).within("left wall");
        assert_eq!(other.to_string(), "the gas is gone");
    }

    #[test]
    fn long_numbers_have_exponents() {
        let shown = |value: f64| Error::invalid("dt", value, "a time step").to_string();
        assert_eq!(shown(1e300), "dt: 1e300; expected a time step");
        assert_eq!(shown(-2.5e-200), "dt: -2.5e-200; expected a time step");
        assert_eq!(
            shown(0.1 + 0.2),
            "dt: 0.30000000000000004; expected a time step"
        );
    }
}
