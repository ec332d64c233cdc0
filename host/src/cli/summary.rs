//! The summary that a command prints: a title, and a row for each thing said.

use std::fmt::{self, Display};
use std::time::Duration;

/// A title and labelled rows.
#[derive(Clone, Debug)]
pub(super) struct Summary(String);

impl Summary {
    /// A summary under this title.
    pub(super) fn new(title: impl Into<String>) -> Self {
        Self(title.into())
    }

    /// The same with another row.
    pub(super) fn row(mut self, label: &str, text: impl Display) -> Self {
        self.0.push_str(&format!("\n  {label:<13} {text}"));
        self
    }

    /// The same with a line of a table.
    pub(super) fn line(mut self, text: impl Display) -> Self {
        self.0.push_str(&format!("\n  {text}"));
        self
    }

    /// The same with the time that all took, and its main part.
    pub(super) fn wall_time(self, total: Duration, part: &str, spent: Duration) -> Self {
        let (total, spent) = (total.as_secs_f64(), spent.as_secs_f64());
        self.row(
            "wall time",
            format!("{total:.3} s, of which {part} {spent:.3} s"),
        )
    }

    /// The same with a row, if there is something to say.
    pub(super) fn row_if(self, label: &str, text: Option<impl Display>) -> Self {
        match text {
            Some(text) => self.row(label, text),
            None => self,
        }
    }
}

impl Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
