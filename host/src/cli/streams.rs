//! Standard output, which may close, and standard error.

use std::io::{self, ErrorKind, Write};

use super::failure::Failure;

/// Prints on standard output.
pub(super) fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    let newline = if text.ends_with('\n') { "" } else { "\n" };
    match write!(out, "{text}{newline}").and_then(|()| out.flush()) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(Failure::StdoutClosed),
        Err(error) => Err(Failure::Stdout(error)),
    }
}

/// Prints a line on standard error; where that is closed, nobody is there to be told.
pub(super) fn say(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}
