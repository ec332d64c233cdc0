//! Times that the signed_digit bench printed, drawn as the paper draws its own.

use serde::Serialize;

use super::table::cells;
use crate::cli::output;
use crate::cli::plot::{COLOURS, Curve, Figure, Panel, Scale, Stroke, sequence};
use crate::error::Result;

const SCALAR: &str = "digit by digit, one core";
const GMP: &str = "rug (GMP), one core";

/// A row of the bench's tables, with a time for each k.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Time {
    /// `sum` or `dot`.
    operation: String,
    digits: u32,
    k: u64,
    method: String,
    milliseconds: f64,
}

/// The times of sums and dot products of integers.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Times(Vec<Time>);

impl Times {
    /// `None` without any time.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut times = Vec::new();
        let mut counts: Vec<Option<u64>> = Vec::new();
        for line in text.lines() {
            let Some(cells) = cells(line) else {
                continue;
            };
            let mut cells = cells.into_iter();
            let name = cells.next().unwrap_or_default();
            if name.is_empty() {
                // A count is written as 1e4.
                let count = |cell: &str| cell.parse::<f64>().ok().map(|count| count as u64);
                counts = cells.map(count).collect();
                continue;
            }
            let Some((operation, digits, method)) = row(name) else {
                continue;
            };
            for (cell, k) in cells.zip(&counts) {
                if let (Ok(milliseconds), Some(k)) = (cell.parse::<f64>(), *k)
                    && milliseconds > 0.0
                {
                    times.push(Time {
                        operation: operation.into(),
                        digits,
                        method: method.into(),
                        k,
                        milliseconds,
                    });
                }
            }
        }
        (!times.is_empty()).then_some(Self(times))
    }

    /// All times.
    pub(super) fn table(&self) -> Result<Vec<u8>> {
        output::records(&self.0)
    }

    fn get(&self, like: &Time, method: &str) -> Option<f64> {
        let same = |time: &&Time| {
            (&time.operation, time.digits, time.k, time.method.as_str())
                == (&like.operation, like.digits, like.k, method)
        };
        self.0.iter().find(same).map(|time| time.milliseconds)
    }

    /// How many times faster one method is than another, for each number of digits and of numbers: digits, k and ratio.
    fn ratios(&self, operation: &str, slow: &str, fast: &str) -> Vec<(u32, u64, f64)> {
        let of = self
            .0
            .iter()
            .filter(|time| time.operation == operation && time.method == fast);
        of.filter_map(|time| {
            let slow = self.get(time, slow)?;
            Some((time.digits, time.k, slow / time.milliseconds))
        })
        .collect()
    }

    /// A curve over the digits for each k.
    fn over_digits(&self, slow: &str, fast: &str, label: &str, stroke: Stroke) -> Vec<Curve> {
        let ratios = self.ratios("sum", slow, fast);
        let mut counts: Vec<u64> = ratios.iter().map(|(_, k, _)| *k).collect();
        counts.sort_unstable();
        counts.dedup();
        let curve = |(i, &k): (usize, &u64)| {
            Curve::new(
                format!("{label}{}", in_words(k)),
                ratios
                    .iter()
                    .filter(|ratio| ratio.1 == k)
                    .map(|(digits, _, ratio)| (f64::from(*digits), *ratio)),
                sequence(i, counts.len()),
            )
            .stroke(stroke)
        };
        counts.iter().enumerate().map(curve).collect()
    }

    /// The figures for which there are times, by the names of their files.
    pub(super) fn figures(&self) -> Vec<(&'static str, Figure)> {
        let over_digits = |y: &str, legend: &str, curves: Vec<Curve>| {
            Panel::new("digits of a number", y, curves)
                .legend(legend)
                .scale(Scale::Logarithmic)
        };
        let paper = "T_{CPU} / T_{GPU}";
        let second = |rows: &str, stroke| {
            let method = format!("second method, rows by {rows}, GPU, with copies");
            self.over_digits(SCALAR, &method, "", stroke)
        };
        let figures = [
            (
                "figure_5.png",
                "Figure 5: sums by the first method, digit by digit, copies included",
                vec![over_digits(
                    paper,
                    "numbers k",
                    self.over_digits(SCALAR, "first method, GPU, with copies", "", Stroke::Dotted),
                )],
            ),
            (
                "figure_6.png",
                "Figure 6: sums by the second method, digit by digit, copies included",
                vec![
                    over_digits(paper, "k, rows by column", second("column", Stroke::Dotted)),
                    over_digits(paper, "k, rows by place", second("place", Stroke::Dotted)),
                ],
            ),
            (
                "figure_7.png",
                "Figure 7: dot products of k pairs of 50 digits, copies included",
                vec![self.dots()],
            ),
            (
                "packed.png",
                "Sums of packed integers on the GPU against one thread of GMP",
                vec![
                    over_digits(
                        "T_{GMP} / T_{GPU}",
                        "k, resident",
                        self.over_digits(GMP, "packed, GPU, resident", "", Stroke::Dotted),
                    ),
                    over_digits(
                        "T_{GMP} / T_{GPU}",
                        "k, with upload",
                        self.over_digits(GMP, "packed, GPU, with upload", "", Stroke::Dotted),
                    ),
                ],
            ),
        ];
        figures
            .into_iter()
            .filter(|(_, _, panels)| panels.iter().all(|panel| !panel.curves.is_empty()))
            .map(|(name, title, panels)| {
                let title = title.into();
                (name, Figure { title, panels })
            })
            .collect()
    }

    /// Dot products of the paper's 50 digits over the number of pairs.
    fn dots(&self) -> Panel {
        let drawn = [
            (
                SCALAR,
                "partial products of digits, GPU, with copies",
                "digits / digits",
            ),
            (SCALAR, "packed, GPU, with upload", "digits / packed"),
            (GMP, "packed, GPU, with upload", "GMP / packed"),
            (GMP, "packed, GPU, resident", "GMP / resident"),
        ];
        let curves = drawn
            .iter()
            .zip(COLOURS)
            .filter_map(|((slow, fast, label), colour)| {
                let mut points: Vec<_> = self
                    .ratios("dot", slow, fast)
                    .into_iter()
                    .filter(|(digits, ..)| *digits == 50)
                    .map(|(_, k, ratio)| (k as f64, ratio))
                    .collect();
                points.sort_by(|a, b| a.0.total_cmp(&b.0));
                (!points.is_empty())
                    .then(|| Curve::new(*label, points, colour).stroke(Stroke::Dotted))
            });
        Panel::new("pairs k", "T_{CPU} / T_{GPU}", curves.collect())
            .legend("one core / GPU")
            .scale(Scale::Logarithmic)
    }
}

/// Operation, digits and method of a row `sum of 50 digits: packed, one core`.
fn row(name: &str) -> Option<(&str, u32, &str)> {
    let (what, method) = name.split_once(" digits: ")?;
    let (operation, digits) = what.split_once(" of ")?;
    let known = ["sum", "dot"].contains(&operation);
    Some((operation, digits.parse().ok().filter(|_| known)?, method))
}

fn in_words(k: u64) -> String {
    let digits = k.to_string();
    let grouped: Vec<_> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(|group| String::from_utf8_lossy(group).into_owned())
        .collect();
    grouped.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "Sums of k numbers of 50 digits, milliseconds\n\n| | 1e4 | 1e5 |\n|---|---|---|\n\
        | sum of 50 digits: digit by digit, one core | 0.5 | 5.0 |\n\
        | sum of 50 digits: first method, GPU, with copies | 1.0 |  |\n\
        | cpu naive sum f64, one core | 1.0 | 2.0 |\n\n\
        Dot products of k pairs of 50 digits, milliseconds\n\n| | 1e4 |\n|---|---|\n\
        | dot of 50 digits: rug (GMP), one core | 2 |\n| dot of 50 digits: packed, GPU, resident | 0.5 |\n";

    #[test]
    fn what_the_bench_printed_is_read_and_drawn() {
        let times = Times::parse(TEXT).expect("times");
        assert_eq!(times.0.len(), 5);
        let first = "first method, GPU, with copies";
        assert_eq!(times.ratios("sum", SCALAR, first), [(50, 10_000, 0.5)]);
        let figures = times.figures();
        let names: Vec<_> = figures.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["figure_5.png", "figure_7.png"]);
        assert_eq!(figures[1].1.panels[0].curves[0].points, [(1e4, 4.0)]);
        assert_eq!(figures[0].1.panels[0].curves[0].label, "10 000");
        for wrong in [
            "",
            "| | 1e4 |\n|---|---|\n| other | 1 |\n",
            "|\n||\n| sum of x digits: y | 1 |",
        ] {
            assert_eq!(Times::parse(wrong), None, "{wrong}");
        }
    }
}
