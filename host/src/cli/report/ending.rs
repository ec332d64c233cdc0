//! The words in which a run ends.

use std::path::Path;

use crate::error::Error;

/// The last line of a summary.
pub(super) fn written_to(folder: &Path) -> String {
    format!(
        "\n  written to    {}: report.html, run.json, plots, tables, arrays",
        folder.display()
    )
}

/// The error of a run of whose files some could not be written: the first of them and how many more, whether others are, and the command
/// that goes on from the last checkpoint.
pub(super) fn incomplete(
    unwritten: Vec<Error>,
    written: usize,
    again: Option<&str>,
) -> Option<Error> {
    let others = match unwritten.len() {
        0 | 1 => String::new(),
        2 => "; nor could another file be written".into(),
        count => format!("; nor could {} other files be written", count - 1),
    };
    let kept = match written {
        0 => "",
        _ => "; the other results are written",
    };
    let again = again.map_or(String::new(), from_the_last);
    match unwritten.into_iter().next()? {
        Error::File { path, reason } => {
            let reason = format!("{reason}{others}{kept}{again}");
            Some(Error::File { path, reason })
        }
        other => Some(other),
    }
}

/// Addition to an error: the command that continues.
pub(super) fn from_the_last(again: &str) -> String {
    format!("; from the last checkpoint goes on: {again}")
}
