//! Flags about texts of numbers, and the numbers of a text.

use std::collections::BTreeSet;

use serde::Serialize;

use super::failure::Failure;
use super::numbers::Numbers;
use super::options;
use super::text::kept_as_text;
use crate::error::{Error, Result};
use crate::signed_digit::decimal::{Entry, Ledger, Mark, Notation};

/// Flags about numbers in text. Without them a line of names with `amount` makes a table, and each other text has a number a line.
#[derive(Clone, Debug, Default, Serialize, clap::Args)]
#[command(next_help_heading = "Text")]
pub(super) struct LedgerArgs {
    /// Columns of a table by name, or by position from 1 on [default: amount, or the only one]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    column: Vec<String>,
    /// Character between the fields of a table: comma, semicolon, tab, pipe, or another of ASCII [default: as in the first line]
    #[arg(long, value_name = "C", value_parser = delimiter)]
    delimiter: Option<Delimiter>,
    /// Mark before the fraction of a number: comma or point [default: as the numbers show; an ambiguous one is refused]
    #[arg(long, value_name = "MARK", value_parser = |text: &str| mark(text, &DECIMALS))]
    decimal: Option<Sign>,
    /// Mark between groups of three digits: comma, point, space or apostrophe
    #[arg(long, value_name = "MARK", value_parser = |text: &str| mark(text, &THOUSANDS))]
    thousands: Option<Sign>,
}

/// A mark by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sign(Mark);

const DECIMALS: [Mark; 2] = [Mark::Comma, Mark::Point];
const THOUSANDS: [Mark; 4] = [Mark::Comma, Mark::Point, Mark::Space, Mark::Apostrophe];

impl std::fmt::Display for Sign {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.name())
    }
}

impl std::str::FromStr for Sign {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        mark(text, &THOUSANDS)
    }
}

/// A mark by its name, or the mark itself.
fn mark(text: &str, valid: &[Mark]) -> std::result::Result<Sign, String> {
    let named = |mark: &&Mark| mark.name() == text || mark.character().to_string() == text;
    let found = valid.iter().find(named);
    found.map(|&mark| Sign(mark)).ok_or_else(|| {
        let names: Vec<&str> = valid.iter().map(|mark| mark.name()).collect();
        format!("one of {} is needed", names.join(", "))
    })
}

/// The character between the fields of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Delimiter(u8);

const DELIMITERS: [(&str, u8); 4] = [
    ("comma", b','),
    ("semicolon", b';'),
    ("tab", b'\t'),
    ("pipe", b'|'),
];

impl std::fmt::Display for Delimiter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match DELIMITERS.iter().find(|(_, c)| *c == self.0) {
            Some((name, _)) => f.write_str(name),
            None => write!(f, "{}", char::from(self.0)),
        }
    }
}

impl std::str::FromStr for Delimiter {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        delimiter(text)
    }
}

fn delimiter(text: &str) -> std::result::Result<Delimiter, String> {
    let named = DELIMITERS.iter().find(|(name, _)| *name == text);
    match (named, text.as_bytes()) {
        (Some(&(_, c)), _) => Ok(Delimiter(c)),
        (None, &[c]) if c.is_ascii() && !c.is_ascii_alphanumeric() && !b"\"\r\n".contains(&c) => {
            Ok(Delimiter(c))
        }
        _ => Err(
            "comma, semicolon, tab, pipe, or one ASCII character that is no letter, digit or quote is needed"
                .into(),
        ),
    }
}

kept_as_text!(Sign, Delimiter);

impl LedgerArgs {
    /// The reader of these flags, with groups by a column.
    pub(super) fn reader(&self, by: Option<&str>) -> Ledger {
        Ledger {
            notation: Notation {
                decimal: self.decimal.map(|sign| sign.0),
                thousands: self.thousands.map(|sign| sign.0),
            },
            delimiter: self.delimiter.map(|delimiter| delimiter.0),
            columns: self.column.clone(),
            by: by.map(str::to_owned),
        }
    }

    /// How many columns are named.
    pub(super) fn columns(&self) -> usize {
        self.column.len()
    }

    /// Refuses the flags for a file that is no text.
    pub(super) fn refuse(&self, mode: &str, by: bool) -> std::result::Result<(), Failure> {
        let given = [
            ("column", !self.column.is_empty()),
            ("delimiter", self.delimiter.is_some()),
            ("decimal", self.decimal.is_some()),
            ("thousands", self.thousands.is_some()),
            ("by", by),
        ];
        options::without_effect(mode, &given)
    }
}

/// The amounts of a text.
pub(super) fn entries(input: &Numbers, ledger: &Ledger) -> Result<Vec<Entry>> {
    let entries = ledger.read(&input.text()?);
    entries.map_err(|error| input.in_file(error))
}

/// The amounts of a text without groups and with one column.
pub(super) fn column(input: &Numbers, ledger: &Ledger) -> Result<Entry> {
    let entries = entries(input, ledger)?;
    let count = entries.len();
    let one: Result<[Entry; 1], _> = entries.try_into();
    let [entry] = one.map_err(|_| {
        Error::invalid("column", format!("{count} columns"), "one column of a text")
    })?;
    Ok(entry)
}

/// Refuses two columns of which one has a number on a line where the other has none.
pub(super) fn check_lines(x: &Entry, y: &Entry) -> Result<()> {
    if x.lines == y.lines {
        return Ok(());
    }
    let lines = |entry: &Entry| entry.lines.iter().copied().collect::<BTreeSet<u64>>();
    let (of_x, of_y) = (lines(x), lines(y));
    let line = of_x
        .symmetric_difference(&of_y)
        .next()
        .copied()
        .unwrap_or(0);
    let blank = if of_x.contains(&line) {
        "second"
    } else {
        "first"
    };
    Err(Error::invalid(
        format!("line {line}"),
        format!("blank in the {blank} text only"),
        "numbers on the same lines of both",
    ))
}
