//! Values along a wall: one number, or a table of places and values.

use std::fmt;

use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::{Error, Result};

/// A value along a wall: the same everywhere, or linear between the rows `[place, value]` of a table.
///
/// Places are coordinates along a side, and arc lengths on the curves of a body. Before the first row and after the last one the value stays; on a closed curve
/// it goes on from the last row to the first.
#[derive(Clone, Debug, PartialEq)]
pub enum Along {
    /// Everywhere.
    Same(f64),
    /// By place, in rising order.
    Table(Vec<[f64; 2]>),
}

impl From<f64> for Along {
    fn from(value: f64) -> Self {
        Self::Same(value)
    }
}

impl Along {
    /// The value at a place, on a closed curve of a length or along a line.
    pub(super) fn at(&self, place: f64, girth: Option<f64>) -> f64 {
        let rows = match self {
            Self::Same(value) => return *value,
            Self::Table(rows) => rows,
        };
        let (Some(first), Some(last)) = (rows.first(), rows.last()) else {
            return 0.0;
        };
        let after = rows.partition_point(|row| row[0] <= place);
        let (a, b) = match (after, girth) {
            (k, _) if k > 0 && k < rows.len() => (rows[k - 1], rows[k]),
            (0, None) => (*first, *first),
            (_, None) => (*last, *last),
            (0, Some(girth)) => ([last[0] - girth, last[1]], *first),
            (_, Some(girth)) => (*last, [first[0] + girth, first[1]]),
        };
        let share = match b[0] - a[0] {
            apart if apart > 0.0 => ((place - a[0]) / apart).clamp(0.0, 1.0),
            _ => 0.0,
        };
        a[1] + share * (b[1] - a[1])
    }

    /// All its values.
    pub(super) fn values(&self) -> Vec<f64> {
        match self {
            Self::Same(value) => vec![*value],
            Self::Table(rows) => rows.iter().map(|row| row[1]).collect(),
        }
    }

    /// Whether it is a table.
    pub(super) fn varies(&self) -> bool {
        matches!(self, Self::Table(_))
    }

    /// Refuses tables out of order, and what `check` refuses of a value.
    ///
    /// # Errors
    /// The first fault.
    pub(super) fn check(&self, field: &str, check: impl Fn(&str, f64) -> Result<()>) -> Result<()> {
        if let Self::Table(rows) = self {
            let wrong = |value: String, expected: &str| Err(Error::invalid(field, value, expected));
            if rows.len() < 2 {
                return wrong(
                    format!("a table of {} rows", rows.len()),
                    "at least two rows [place, value]",
                );
            }
            let rises = |pair: &&[[f64; 2]]| pair[1][0] > pair[0][0];
            if let Some(pair) = rows.windows(2).find(|pair| !rises(pair)) {
                return wrong(
                    format!("a row at {} after one at {}", pair[1][0], pair[0][0]),
                    "rows [place, value] in rising order of finite places",
                );
            }
        }
        self.values()
            .into_iter()
            .try_for_each(|value| check(field, value))
    }
}

impl Serialize for Along {
    fn serialize<S: Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            Self::Same(value) => value.serialize(to),
            Self::Table(rows) => rows.serialize(to),
        }
    }
}

impl<'de> Deserialize<'de> for Along {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        struct Rows;

        impl<'de> Visitor<'de> for Rows {
            type Value = Along;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, or a table [[place, value], ...]")
            }

            fn visit_f64<E>(self, value: f64) -> std::result::Result<Along, E> {
                Ok(Along::Same(value))
            }

            fn visit_i64<E>(self, value: i64) -> std::result::Result<Along, E> {
                Ok(Along::Same(value as f64))
            }

            fn visit_u64<E>(self, value: u64) -> std::result::Result<Along, E> {
                Ok(Along::Same(value as f64))
            }

            fn visit_seq<A: SeqAccess<'de>>(
                self,
                mut rows: A,
            ) -> std::result::Result<Along, A::Error> {
                let mut table = Vec::new();
                while let Some(row) = rows.next_element()? {
                    table.push(row);
                }
                Ok(Along::Table(table))
            }
        }

        from.deserialize_any(Rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_linear_and_closed_curves_go_on() {
        let table: Along = serde_json::from_str("[[1, 10], [3, 20.0]]").expect("a table");
        for (place, line, closed) in [
            (0.0, 10.0, 12.5),
            (1.0, 10.0, 10.0),
            (2.0, 15.0, 15.0),
            (3.0, 20.0, 20.0),
            (6.0, 20.0, 12.5),
            (7.0, 20.0, 10.0),
        ] {
            assert_eq!(table.at(place, None), line);
            // Of girth 6: from 3 the values fall until 7, which is 1.
            assert!(
                (table.at(place, Some(6.0)) - closed).abs() < 1e-12,
                "{place}"
            );
        }
        let number: Along = serde_json::from_str("3").expect("a number");
        assert_eq!(number, Along::Same(3.0));
        let wrong: Along = serde_json::from_str("[[1, 1], [1, 2]]").expect("a table");
        let error = wrong
            .check("temperature", |_, _| Ok(()))
            .expect_err("falls");
        assert!(
            error
                .to_string()
                .starts_with("temperature: a row at 1 after one at 1")
        );
        assert!(serde_json::from_str::<Along>("\"a\"").is_err());
    }
}
