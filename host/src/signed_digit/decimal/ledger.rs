//! Columns of amounts in tables of text, whole or by groups.

use std::borrow::Cow;
use std::collections::HashMap;

use super::Decimal;
use super::notation::{Amounts, Field, Notation};
use super::quotes::{check_quotes, named_delimiter};
use super::text::shown;
use crate::error::{Error, Result};
use crate::signed_digit::lines::all_lines;

/// The column that is taken of a table without being named.
const USUAL: &str = "amount";

/// Delimiters that a table may have unless one is given.
const DELIMITERS: [u8; 4] = *b";\t|,";

/// A text of amounts: a number a line, or a table of separated values (RFC 4180), with quotes around fields that have the delimiter or an end of line.
///
/// Numbers may have thousands, currencies, parentheses and trailing signs; see [`Notation`]. A blank field holds no number.
///
/// ```
/// use rarefy::signed_digit::decimal::{self, Ledger};
///
/// let text = b"account;amount\ncash;1.234,50\nbank;(0,10)\ncash;0,20 \xe2\x82\xac\n";
/// let ledger = Ledger { by: Some("account".into()), ..Ledger::default() };
/// let entries = ledger.read(text)?;
/// assert_eq!(entries[0].group.as_deref(), Some("cash"));
/// let sum = decimal::sum(&entries[0].numbers, &rarefy::Backend::Cpu.resolve()?)?;
/// assert_eq!(sum.to_string(), "1234.7");
/// # Ok::<(), rarefy::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    /// How its numbers are written.
    pub notation: Notation,
    /// An ASCII character between fields; by default the one of `;`, tab, `|` and `,` that makes most fields of the first line.
    pub delimiter: Option<u8>,
    /// Names of columns, or their positions from 1 on; by default the column `amount`, or the only one.
    pub columns: Vec<String>,
    /// Name or position of a column whose values are groups of rows.
    pub by: Option<String>,
}

/// The amounts of a column, or of a group of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry {
    /// Value of the column of groups.
    pub group: Option<String>,
    /// Name of the column; of a table without names its position.
    pub column: Option<String>,
    /// Sign or code of the currency, if the amounts have one.
    pub currency: Option<String>,
    /// The amounts.
    pub numbers: Vec<Decimal>,
    /// The line of each.
    pub lines: Vec<u64>,
}

/// A table as it is read: the place of each row, and its fields.
type Rows = Vec<(u64, csv::ByteRecord)>;

impl Ledger {
    /// Whether a text begins with a line of names of which one is `amount`, or with a line such as `sep=;` that names its delimiter.
    pub fn is_recognised(text: &[u8]) -> bool {
        if named_delimiter(text).is_some() {
            return true;
        }
        let head = first_line(text);
        let delimiter = likely_delimiter(head);
        fields_of(head, delimiter).iter().any(is_usual)
    }

    /// The amounts, by groups in the order of their first rows, and in each by columns in the order of their names here.
    ///
    /// # Errors
    /// A column that is not there; rows of different lengths; a field that is no number, or that has two readings; several currencies among the amounts of
    /// one entry.
    pub fn read(&self, text: &[u8]) -> Result<Vec<Entry>> {
        self.notation.check()?;
        let is_plain = self.columns.is_empty() && self.by.is_none() && self.delimiter.is_none();
        if is_plain && !Self::is_recognised(text) {
            return self.lines(text);
        }
        let named = named_delimiter(text);
        let mut text = Cow::Borrowed(text);
        if let Some((_, line)) = named {
            // Blank lines are no rows, and count as lines.
            text.to_mut()[..line].fill(b' ');
        }
        let named = self.delimiter.or(named.map(|(delimiter, _)| delimiter));
        let delimiter = named.unwrap_or_else(|| likely_delimiter(first_line(&text)));
        check_quotes(&text, delimiter)?;
        let mut rows = rows(&text, delimiter)?;
        let first = rows.first().map(|(_, row)| row.clone()).unwrap_or_default();
        let (columns, by, names) = self.places(&first)?;
        if names {
            rows.remove(0);
        }
        let mut groups = HashMap::new();
        let mut of_rows = Vec::with_capacity(rows.len());
        let mut entries: Vec<Entry> = Vec::new();
        let name = |place: usize| match names {
            true => text_of(&first[place]),
            false => (place + 1).to_string(),
        };
        let mut open = |group: Option<String>| {
            entries.extend(columns.iter().map(|&place| Entry {
                group: group.clone(),
                column: Some(name(place)),
                ..Entry::default()
            }));
        };
        match by {
            None => open(None),
            Some(by) => {
                for (_, row) in &rows {
                    let next = groups.len();
                    let group = *groups.entry(text_of(&row[by])).or_insert_with_key(|group| {
                        open(Some(group.clone()));
                        next
                    });
                    of_rows.push(group);
                }
            }
        }
        for (k, &place) in columns.iter().enumerate() {
            let (mut fields, mut targets) = (Vec::new(), Vec::new());
            for (i, (line, row)) in rows.iter().enumerate() {
                if !row[place].trim_ascii().is_empty() {
                    let (line, text) = (*line, &row[place]);
                    fields.push(Field { line, text });
                    targets.push(of_rows.get(i).map_or(0, |group| group * columns.len()) + k);
                }
            }
            let amounts = self.notation.read(&fields, false)?;
            for ((amount, field), target) in amounts.into_iter().zip(&fields).zip(targets) {
                entries[target].add(amount, field)?;
            }
        }
        Ok(entries)
    }

    /// The numbers of a text with one a line.
    fn lines(&self, text: &[u8]) -> Result<Vec<Entry>> {
        let lines = all_lines(text).zip(1..);
        let fields: Vec<Field<'_>> = lines
            .filter(|(text, _)| !text.trim_ascii().is_empty())
            .map(|(text, line)| Field { line, text })
            .collect();
        let mut entry = Entry::default();
        for (amount, field) in self.notation.read(&fields, true)?.into_iter().zip(&fields) {
            entry.add(amount, field)?;
        }
        Ok(vec![entry])
    }

    /// Places of the columns and of the groups in the first row, and whether this has names.
    fn places(&self, first: &csv::ByteRecord) -> Result<(Vec<usize>, Option<usize>, bool)> {
        let position = |name: &str| {
            let position = name.parse::<usize>().ok()?.checked_sub(1);
            position.filter(|&place| place < first.len())
        };
        let place = |name: &String| {
            let named = |field: &[u8]| text_of(field) == name.trim();
            check_name(first, &named)?;
            let found = first.iter().position(named).or_else(|| position(name));
            found.ok_or_else(|| {
                let names: Vec<String> = first.iter().map(text_of).collect();
                let expected = format!(
                    "a column of the first line: {}; or its position, 1 to {}",
                    names.join(", "),
                    first.len()
                );
                Error::invalid("column", format!("`{name}`"), expected)
            })
        };
        let columns: Vec<usize> = match self.columns.as_slice() {
            [] => vec![usual(first)?],
            columns => columns.iter().map(place).collect::<Result<_>>()?,
        };
        let by = self.by.as_ref().map(place).transpose()?;
        let named = self.columns.iter().chain(&self.by);
        let by_name = named.into_iter().any(|name| position(name).is_none());
        let is_name = |field: &[u8]| !field.iter().any(u8::is_ascii_digit) && !field.is_empty();
        let names = by_name
            || first.iter().any(is_usual)
            || columns.iter().all(|&place| is_name(&first[place]));
        Ok((columns, by, names))
    }
}

impl Entry {
    fn add(&mut self, (number, currency): Amounts, field: &Field<'_>) -> Result<()> {
        if let Some(currency) = currency {
            match &self.currency {
                Some(other) if *other != currency => {
                    return Err(Error::invalid(
                        format!("line {}", field.line),
                        format!("`{}`", shown(field.text)),
                        format!("{other} as above, or groups by a column of currencies"),
                    ));
                }
                Some(_) => {}
                None => self.currency = Some(currency),
            }
        }
        self.numbers.push(number);
        self.lines.push(field.line);
        Ok(())
    }
}

/// The column `amount`, or the only one.
fn usual(first: &csv::ByteRecord) -> Result<usize> {
    check_name(first, &is_usual)?;
    if let Some(place) = first.iter().position(is_usual) {
        return Ok(place);
    }
    if first.len() <= 1 {
        return Ok(0);
    }
    let names: Vec<String> = first.iter().map(text_of).collect();
    Err(Error::invalid(
        "column",
        "none given",
        format!("one of {}, or a position", names.join(", ")),
    ))
}

/// Refuses a name that several columns have.
fn check_name(first: &csv::ByteRecord, is_named: &dyn Fn(&[u8]) -> bool) -> Result<()> {
    let of_name = (1..).zip(first).filter(|(_, field)| is_named(field));
    let places: Vec<(usize, &[u8])> = of_name.collect();
    let [(_, name), _, ..] = places.as_slice() else {
        return Ok(());
    };
    let positions: Vec<String> = places.iter().map(|(place, _)| place.to_string()).collect();
    Err(Error::invalid(
        "column",
        format!("`{}`, the name of several", text_of(name)),
        format!("one of the positions {}", positions.join(", ")),
    ))
}

fn is_usual(field: &[u8]) -> bool {
    field.trim_ascii().eq_ignore_ascii_case(USUAL.as_bytes())
}

fn text_of(field: &[u8]) -> String {
    String::from_utf8_lossy(field).trim().to_owned()
}

fn first_line(text: &[u8]) -> &[u8] {
    let mut lines = all_lines(text);
    let line = lines.find(|line| !line.trim_ascii().is_empty());
    line.unwrap_or_default()
}

/// The delimiter that makes most fields; of several the first.
fn likely_delimiter(line: &[u8]) -> u8 {
    let fields = |delimiter: &&u8| fields_of(line, **delimiter).len();
    let most = DELIMITERS.iter().rev().max_by_key(fields);
    most.copied().unwrap_or(b',')
}

fn fields_of(line: &[u8], delimiter: u8) -> csv::ByteRecord {
    let mut row = csv::ByteRecord::new();
    // Bytes in memory do not fail, and every line is a row.
    let _ = reader(line, delimiter).read_byte_record(&mut row);
    row
}

fn reader(text: &[u8], delimiter: u8) -> csv::Reader<&[u8]> {
    csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(delimiter)
        .from_reader(text)
}

/// All rows of a table, of one length.
fn rows(text: &[u8], delimiter: u8) -> Result<Rows> {
    let mut rows = Rows::new();
    let mut length = None;
    for row in reader(text, delimiter).into_byte_records() {
        let row = row.map_err(|error| Error::invalid("text", error, "a table"))?;
        let start = row.position().map_or(0, |at| at.byte() as usize);
        // A position is that of the blank lines before the row.
        let rest = text.get(start..).unwrap_or_default();
        let blank = rest.iter().take_while(|c| matches!(c, b'\n' | b'\r'));
        let blank = blank.filter(|&&c| c == b'\n').count() as u64;
        let line = row.position().map_or(0, csv::Position::line) + blank;
        if row.iter().all(|field| field.trim_ascii().is_empty()) {
            continue;
        }
        let needed = *length.get_or_insert(row.len());
        if row.len() != needed {
            let by = char::from(delimiter).escape_default();
            return Err(Error::invalid(
                format!("line {line}"),
                format!("{} fields", row.len()),
                format!(
                    "{needed} by the delimiter `{by}` as in the first line; a field with that needs quotes"
                ),
            ));
        }
        rows.push((line, row));
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ledger(columns: &[&str], by: Option<&str>) -> Ledger {
        Ledger {
            columns: columns.iter().map(|&name| name.into()).collect(),
            by: by.map(str::to_owned),
            ..Ledger::default()
        }
    }

    /// Group, column and numbers of each entry.
    fn read(ledger: &Ledger, text: &str) -> Vec<String> {
        let entries = ledger.read(text.as_bytes()).unwrap();
        let shown = |entry: &Entry| {
            let numbers: Vec<String> = entry.numbers.iter().map(Decimal::to_string).collect();
            let of = [&entry.group, &entry.column].map(|name| name.clone().unwrap_or_default());
            format!("{}:{}:{}", of[0], of[1], numbers.join(" "))
        };
        entries.iter().map(shown).collect()
    }

    #[test]
    fn columns_are_taken_by_name_or_position() {
        let text = "date,\"the, account\",Amount\r\n2024-01-02,\"a \"\"b\"\"\",\"1,234.50\"\r\n\r\n2024-01-03,c,(2)\r\n";
        assert_eq!(read(&Ledger::default(), text), [":Amount:1234.5 -2"]);
        assert_eq!(
            read(&ledger(&["Amount"], None), text),
            [":Amount:1234.5 -2"]
        );
        assert_eq!(read(&ledger(&["3"], None), text), [":Amount:1234.5 -2"]);
        let by = ledger(&["Amount"], Some("the, account"));
        assert_eq!(read(&by, text), ["a \"b\":Amount:1234.5", "c:Amount:-2"]);
        assert_eq!(
            read(&ledger(&["2"], None), "1;2,5\n3;4,5\n"),
            [":2:2.5 4.5"]
        );
    }

    #[test]
    fn spreadsheets_name_their_delimiter() {
        for text in ["sep=;\r\na;amount\r\nx;1,5\r\n", "SEP=;\na;amount\nx;1,5"] {
            assert!(Ledger::is_recognised(text.as_bytes()));
            assert_eq!(read(&Ledger::default(), text), [":amount:1.5"]);
        }
        assert_eq!(
            read(&ledger(&["2"], None), "sep=\t\n1\t2\n3\t4\n"),
            [":2:2 4"]
        );
        let error = Ledger::default().read(b"sep=;\na;amount\nx;1\ny;z\n");
        assert!(error.unwrap_err().to_string().starts_with("line 4: `z`"));
    }

    /// A quote that stays open would take the rows below into its field.
    #[test]
    fn quotes_and_names_in_doubt_are_refused() {
        for (text, why) in [
            (
                "amount,a\n1,x\n2,\"y\n3,z\n",
                "line 3: a quote that is not closed",
            ),
            ("a,amount\nx,\"1\"2\n", "line 2: text behind a closed quote"),
            (
                "a,amount\n\"x\"\" \ny\"z,1\n",
                "line 3: text behind a closed quote",
            ),
            (
                "amount,b,amount\n1,2,3\n",
                "column: `amount`, the name of several; expected one of the positions 1, 3",
            ),
        ] {
            let error = Ledger::default()
                .read(text.as_bytes())
                .unwrap_err()
                .to_string();
            assert!(error.starts_with(why), "{error}");
        }
        let error = ledger(&["a"], None)
            .read(b"a,a\n1,2\n")
            .unwrap_err()
            .to_string();
        assert!(error.contains("one of the positions 1, 2"), "{error}");
        let text = "a,amount\n\"x\"\"\n,\",1\r\n\"\",\"2\"\n5\" pipe,3";
        assert_eq!(read(&Ledger::default(), text), [":amount:1 2 3"]);
    }

    #[test]
    fn several_columns_and_groups() {
        let text = "k\tdebit\tcredit\nx\t1\t\ny\t\t2.5\nx\t3\t4\n";
        assert_eq!(
            read(&ledger(&["debit", "credit"], Some("k")), text),
            ["x:debit:1 3", "x:credit:4", "y:debit:", "y:credit:2.5"]
        );
        assert_eq!(
            read(&ledger(&["credit", "debit"], None), text),
            [":credit:2.5 4", ":debit:1 3"]
        );
        assert_eq!(read(&ledger(&[], Some("k")), "k,amount\n"), [""; 0]);
    }

    #[test]
    fn faults_name_line_and_remedy() {
        let faults =
            |ledger: &Ledger, text: &str| ledger.read(text.as_bytes()).unwrap_err().to_string();
        let plain = Ledger::default();
        for (ledger, text, why) in [
            (
                &ledger(&["sum"], None),
                "a,amount\n1,2\n",
                "column: `sum`; expected a column of the first line: a, amount; or its position, 1 to 2",
            ),
            (
                &ledger(&["3"], None),
                "1,2\n",
                "column: `3`; expected a column of the first line: 1, 2; or",
            ),
            (
                &plain,
                "a,amount\n\n\nx,1,50\n",
                "line 4: 3 fields; expected 2 by the delimiter `,` as in the first line; a field with that needs quotes",
            ),
            (
                &plain,
                "a,amount\nx,\"1\n,5x\"\nx,2\n",
                "line 2: `1 ,5x`; expected a decimal number",
            ),
            (
                &plain,
                "amount\n$5\nEUR 7\n",
                "line 3: `EUR 7`; expected $ as above",
            ),
            (
                &ledger(&[], Some("a")),
                "a,b\n1,2\n",
                "column: none given; expected one of a, b, or a position",
            ),
            (
                &plain,
                "amount\n1,234\n",
                "line 2: `1,234`; expected a thousands comma for 1234",
            ),
            (&plain, "amount\n1\nTotal\n", "line 3: `Total`; expected"),
        ] {
            let error = faults(ledger, text);
            assert!(error.starts_with(why), "{error}");
        }
    }
}
