//! The way from an error to an exit code.

use clap::error::ErrorKind;

use super::flags;
use super::text::reason;
use crate::error::Error;

/// Why the command did not finish.
#[derive(Debug)]
pub(super) enum Failure {
    /// The arguments are wrong.
    Usage(String),
    /// The library, or a file, refused.
    Library(Error),
    /// The run did not reach what was asked for; the text says how far it came.
    NotConverged(String),
    /// The user stopped the run `after` so much of it; `rest` tells how to go on, or that nothing is saved.
    Interrupted { after: String, rest: String },
    /// Help or version was asked for; this is it.
    Shown(String),
    /// Standard output failed in another way than by closing.
    Stdout(std::io::Error),
    /// Standard output was closed by its reader, who has seen enough.
    StdoutClosed,
    /// A failure of this rank that all ranks know of, so that all end.
    Agreed(usize, Box<Failure>),
    /// Another rank reports why it failed, with this exit code.
    Elsewhere(u8),
}

impl Failure {
    /// The refusal of clap, in one line.
    pub(super) fn usage(error: &clap::Error) -> Self {
        if matches!(
            error.kind(),
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
        ) {
            return Self::Shown(error.render().to_string());
        }
        let text = error.render().to_string();
        let body = text.strip_prefix("error: ").unwrap_or(&text);
        let end = ["\n\nUsage:", "\n\nFor more information"]
            .iter()
            .filter_map(|mark| body.find(mark))
            .min()
            .unwrap_or(body.len());
        let mut line = String::new();
        for part in body[..end].lines().map(str::trim).filter(|l| !l.is_empty()) {
            if part.starts_with("tip:") || part.starts_with('[') {
                line.push_str("; ");
            } else if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(part.strip_prefix("tip: ").unwrap_or(part));
        }
        Self::Usage(line)
    }

    /// The exit code, and the line on standard error.
    pub(super) fn code_and_line(&self) -> (u8, String) {
        let (code, text) = match self {
            Self::StdoutClosed | Self::Shown(_) => return (0, String::new()),
            Self::Elsewhere(code) => return (*code, String::new()),
            Self::Agreed(rank, failure) => return failure.code_and_line_of(*rank),
            Self::Usage(text) => (2, text.clone()),
            Self::Library(error) => {
                let code = if error.is_input() { 2 } else { 1 };
                (code, flags::named(&error.to_string()))
            }
            Self::NotConverged(text) => (1, format!("NOT CONVERGED: {text}")),
            Self::Interrupted { after, rest } => (1, format!("interrupted {after}; {rest}")),
            Self::Stdout(error) => (1, format!("standard output: {}", reason(error))),
        };
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        // Names of files and lines of text are shown as they are, but for what a terminal would not show.
        let text: String = text
            .chars()
            .map(|c| if c.is_control() { '\u{fffd}' } else { c })
            .collect();
        (code, format!("rarefy: error: {text}"))
    }
}

impl Failure {
    /// The exit code, and the line with the number of the rank; rank 0 goes without.
    pub(super) fn code_and_line_of(&self, rank: usize) -> (u8, String) {
        let (code, line) = self.code_and_line();
        match rank {
            0 => (code, line),
            _ => (
                code,
                line.replacen("error:", &format!("error: rank {rank}:"), 1),
            ),
        }
    }

    /// The same with the options of a subcommand for the fields of the library.
    pub(super) fn with_options(self, sub: Option<&clap::Command>) -> Self {
        match self {
            Self::Library(error) => Self::Library(flags::with_options(error, sub)),
            Self::Agreed(rank, failure) => Self::Agreed(rank, Box::new(failure.with_options(sub))),
            other => other,
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Library(error)
    }
}

#[cfg(test)]
mod tests {
    use rarefy_simt::Error as MachineError;

    use super::*;

    #[test]
    fn errors_have_one_line_and_a_code() {
        let memory = MachineError::Memory {
            what: "a grid of 64^3".into(),
            memory: "device memory",
            needed: 3 << 30,
            available: 1 << 30,
            remedy: "use\na smaller grid".into(),
        };
        let (code, line) = Failure::from(Error::from(memory)).code_and_line();
        assert_eq!(code, 2);
        assert_eq!(
            line,
            "rarefy: error: a grid of 64^3 needs 3.0 GiB of device memory and 1.0 GiB are available; use a smaller grid"
        );
        let (code, _) =
            Failure::from(Error::Numerical("f is no longer finite".into())).code_and_line();
        assert_eq!(code, 1);
        let (_, line) = Failure::Usage("`\0\u{1b}[2J` is\n\nno number".into()).code_and_line();
        assert_eq!(line, "rarefy: error: `\u{fffd}\u{fffd}[2J` is no number");
    }
}
