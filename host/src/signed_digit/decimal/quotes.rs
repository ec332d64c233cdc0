//! Tables that say how they are to be read, or leave it in doubt.

use memchr::{memchr2, memchr3};

use crate::error::{Error, Result};
use crate::signed_digit::lines::all_lines;

/// The delimiter that a first line such as `sep=;` names, as spreadsheets write it, and the length of this line.
pub(super) fn named_delimiter(text: &[u8]) -> Option<(u8, usize)> {
    let line = all_lines(text).next()?;
    match *line.trim_ascii_end() {
        [b's' | b'S', b'e' | b'E', b'p' | b'P', b'=', delimiter]
            if delimiter.is_ascii() && !delimiter.is_ascii_alphanumeric() =>
        {
            Some((delimiter, 5))
        }
        // A tab is white space.
        _ if line.starts_with(b"sep=\t") => Some((b'\t', 5)),
        _ => None,
    }
}

/// Refuses quotes that no row can be read by without doubt: one that is open at the end, and text behind a closed one.
pub(super) fn check_quotes(text: &[u8], delimiter: u8) -> Result<()> {
    let refuse = |line: u64, value: &str| {
        Err(Error::invalid(
            format!("line {line}"),
            value,
            "quotes around a whole field, doubled within it",
        ))
    };
    let (mut line, mut rest) = (1, text);
    // At the beginning of a field.
    while !rest.is_empty() {
        if let [b'"', quoted @ ..] = rest {
            let opened = line;
            rest = quoted;
            loop {
                let Some(end) = memchr2(b'"', b'\n', rest) else {
                    return refuse(opened, "a quote that is not closed");
                };
                let found = rest[end];
                rest = &rest[end + 1..];
                match (found, rest) {
                    (b'\n', _) => line += 1,
                    (_, [b'"', more @ ..]) => rest = more,
                    _ => break,
                }
            }
            if !matches!(rest, [] | [b'\r' | b'\n', ..]) && rest[0] != delimiter {
                return refuse(line, "text behind a closed quote");
            }
        }
        let end = memchr3(delimiter, b'\n', b'\r', rest);
        let Some(end) = end else { break };
        line += u64::from(rest[end] == b'\n');
        rest = &rest[end + 1..];
    }
    Ok(())
}
