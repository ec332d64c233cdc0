//! Faults of a file in words.

/// A fault of a file.
pub(super) type Read<T> = std::result::Result<T, String>;

/// Characters of a text of the file in a message.
const SHOWN: usize = 40;

/// The beginning of a text of the file, in one line.
pub(super) fn shown(text: &str) -> String {
    line(text, SHOWN)
}

/// At most so many characters of a text, in one line.
pub(super) fn line(text: &str, most: usize) -> String {
    let plain = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    let mut short: String = plain.clone().take(most).collect();
    if plain.count() > most {
        short.push_str("...");
    }
    short
}
