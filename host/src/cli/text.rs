//! Names, numbers and system errors as texts.

use std::path::{Path, PathBuf};

use serde::{Serialize, Serializer};
use serde_json::Value;

/// Makes records and checkpoints keep values of these types as the texts that flags have for them.
macro_rules! kept_as_text {
    ($($name:ty),*) => {$(
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
                to.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
                let text = String::deserialize(from)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    )*};
}
pub(super) use crate::error::reason;
pub(super) use kept_as_text;

/// Texts of an initial state that was checked when the run began. The file of one may be gone since.
macro_rules! text_or_file {
    ($init:ty) => {
        impl From<$init> for String {
            fn from(init: $init) -> Self {
                init.to_string()
            }
        }

        impl From<String> for $init {
            fn from(text: String) -> Self {
                text.parse()
                    .unwrap_or_else(|_| Self::File(PathBuf::from(text)))
            }
        }
    };
}
pub(super) use text_or_file;

/// A path as an argument for a shell.
pub(super) fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    // Else it would be an option.
    let text = if text.starts_with('-') {
        format!("./{text}")
    } else {
        text
    };
    let plain = |c: char| c.is_alphanumeric() || "/._-+=:,@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text;
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// The name under which `value` is serialised.
pub(super) fn name_of(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(name)) => name,
        Ok(other) => other.to_string(),
        Err(error) => error.to_string(),
    }
}

/// A number as texts and titles show it: six significant digits, and a power of ten where it is far from 1.
pub(super) fn short(number: f64) -> String {
    let rounded: f64 = format!("{number:.5e}").parse().unwrap_or(number);
    if rounded == 0.0 || (1e-4..1e7).contains(&rounded.abs()) {
        format!("{rounded}")
    } else {
        format!("{rounded:e}")
    }
}

/// A number to so many decimals. A zero has no sign.
pub(super) fn fixed(number: f64, decimals: usize) -> String {
    let text = format!("{number:.decimals$}");
    match text.strip_prefix('-') {
        Some(size) if size.parse() == Ok(0.0) => size.to_owned(),
        _ => text,
    }
}

/// A number to seven digits, and to seven decimals at least.
pub(super) fn seven(number: f64) -> String {
    // Less than the last of twenty decimals is zero.
    let decimals = if number.abs() < 1e-20 {
        7.0
    } else {
        (6.0 - number.abs().log10().floor()).clamp(7.0, 20.0)
    };
    fixed(number, decimals as usize)
}

/// The name of a file in a record, whatever its bytes.
pub(super) fn shown<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}

/// The same of a file that may not be given.
pub(super) fn shown_if<S: Serializer>(
    path: &Option<PathBuf>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match path {
        Some(path) => shown(path, serializer),
        None => serializer.serialize_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_texts_are_short() {
        for (number, text) in [
            (1.0, "1"),
            (0.0, "0"),
            (-2.5, "-2.5"),
            (19.999_999_999_999_996, "20"),
            (15.748_031_496, "15.748"),
            (1e24, "1e24"),
            (1.234_567_8e-9, "1.23457e-9"),
            (f64::INFINITY, "inf"),
        ] {
            assert_eq!(short(number), text);
        }
    }

    #[test]
    fn paths_are_quoted_where_a_shell_needs_it() {
        for (path, text) in [
            ("out/checkpoint.rarefy", "out/checkpoint.rarefy"),
            ("my runs/a.rarefy", "'my runs/a.rarefy'"),
            ("it's/$HOME", "'it'\\''s/$HOME'"),
            ("-n/a", "./-n/a"),
            ("r\u{e9}sum\u{e9}", "r\u{e9}sum\u{e9}"),
            ("", "''"),
        ] {
            assert_eq!(quoted(Path::new(path)), text);
        }
    }

    #[test]
    fn a_zero_has_no_sign() {
        for (number, text) in [
            (-5.2e-24, "0.000"),
            (-0.0, "0.000"),
            (-0.0006, "-0.001"),
            (f64::NEG_INFINITY, "-inf"),
        ] {
            assert_eq!(fixed(number, 3), text);
        }
        assert_eq!(seven(-5.2e-24), "0.0000000");
        assert_eq!(seven(-2.820_948_3e-7), "-0.0000002820948");
    }
}
