//! Texts with one number a line, cut into parts for many tasks.

use memchr::memchr;

/// Bytes of text that one task takes.
const TASK_BYTES: usize = 1 << 18;

/// Cuts a text into parts for many tasks.
pub(crate) fn tasks(text: &[u8]) -> Vec<&[u8]> {
    cut(text, TASK_BYTES)
}

/// Cuts a text into parts that end with a line's end, of about `bytes` each.
pub(super) fn cut(text: &[u8], bytes: usize) -> Vec<&[u8]> {
    let mut parts = Vec::with_capacity(text.len() / bytes + 1);
    let mut rest = text;
    while rest.len() > bytes {
        let end = memchr(b'\n', &rest[bytes..]).map_or(rest.len(), |end| bytes + end + 1);
        let (part, after) = rest.split_at(end);
        parts.push(part);
        rest = after;
    }
    parts.push(rest);
    parts
}

/// The lines of a text that are not blank.
pub(crate) fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    all_lines(text).filter(|line| !line.trim_ascii().is_empty())
}

/// The lines of a text.
pub(super) fn all_lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let end = memchr(b'\n', text);
        rest = end.map(|end| &text[end + 1..]);
        Some(&text[..end.unwrap_or(text.len())])
    })
}
