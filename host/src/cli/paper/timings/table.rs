//! Output of a bench: lines of text, and tables in Markdown.

use std::fs;
use std::path::Path;

use crate::cli::text::reason;
use crate::error::{Error, Result};

/// The text of a file.
pub(super) fn text(path: &Path) -> Result<String> {
    fs::read_to_string(path).map_err(|e| Error::file(path, reason(&e)))
}

/// The cells of a row of a table; `None` for another line.
pub(super) fn cells(line: &str) -> Option<Vec<&str>> {
    let inner = line.trim().strip_prefix('|')?;
    let inner = inner.strip_suffix('|').unwrap_or(inner);
    Some(inner.split('|').map(str::trim).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_taken_apart() {
        assert_eq!(cells("| a | 1e4 |  |"), Some(vec!["a", "1e4", ""]));
        assert_eq!(cells("  | | 12^3 |\r"), Some(vec!["", "12^3"]));
        assert_eq!(cells("| cut o"), Some(vec!["cut o"]));
        assert_eq!(cells("|"), Some(vec![""]));
        assert_eq!(cells("a | b"), None);
    }
}
