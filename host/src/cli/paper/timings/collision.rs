//! Times of the collision bench, drawn against the number of cells.

use super::table::cells;
use crate::cli::plot::{COLOURS, Curve, Figure, Panel, Scale, Stroke};

/// Rows of the bench's table that are drawn, and what the legend calls them.
const DRAWN: [(&str, &str); 6] = [
    ("one core direct f64", "direct, one core"),
    ("cpu direct f64", "direct, CPU"),
    ("cuda direct f64", "direct, GPU"),
    ("cpu fast f64", "fast, CPU"),
    ("cuda fast f64", "fast, GPU"),
    ("cuda fast f32", "fast, GPU, f32"),
];

/// Milliseconds for one evaluation: the first table that the bench prints.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Times {
    sizes: Vec<u32>,
    rows: Vec<(String, Vec<Option<f64>>)>,
}

impl Times {
    /// `None` if there is no table with one of the rows that are drawn.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines().skip_while(|line| !line.starts_with("| |"));
        let sizes: Option<Vec<u32>> = cells(lines.next()?)?
            .iter()
            .skip(1)
            .map(|size| size.strip_suffix("^3")?.parse().ok())
            .collect();
        let sizes = sizes?;
        let rows: Vec<_> = lines
            .skip(1)
            .map_while(cells)
            .map(|cells| {
                let times = cells.iter().skip(1).map(|time| time.parse().ok());
                (cells[0].to_owned(), times.collect())
            })
            .collect();
        let drawn = |(name, _): &(String, Vec<_>)| DRAWN.iter().any(|(row, _)| row == name);
        (!sizes.is_empty() && rows.iter().any(drawn)).then_some(Self { sizes, rows })
    }

    /// The figure: a curve for each algorithm and machine.
    pub(super) fn plot(&self) -> Figure {
        let curves = DRAWN
            .iter()
            .zip(COLOURS)
            .filter_map(|((row, label), colour)| {
                let (_, times) = self.rows.iter().find(|(name, _)| name == row)?;
                let points = self.sizes.iter().zip(times);
                Some(
                    Curve::new(
                        *label,
                        points.filter_map(|(&n, time)| Some((f64::from(n), (*time)?))),
                        colour,
                    )
                    .stroke(Stroke::Dotted),
                )
            })
            .collect();
        Figure {
            title: "Time of one collision integral".into(),
            panels: vec![
                Panel::new(
                    "cells along an axis N",
                    "time of one evaluation (ms)",
                    curves,
                )
                .legend("f64, but for the last")
                .scale(Scale::Logarithmic),
            ],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_the_bench_is_read() {
        let text = "One evaluation, milliseconds\n\n| | 12^3 | 16^3 |\n|---|---|---|\n\
                    | cuda fast f32 | 0.0794 | 0.1441 |\n| cpu direct f64 | 14.6310 | |\n\nSpeedups\n";
        let times = Times::parse(text).expect("a table");
        assert_eq!(times.sizes, [12, 16]);
        assert_eq!(
            times.rows[1],
            ("cpu direct f64".into(), vec![Some(14.631), None])
        );
        let figure = times.plot();
        let labels: Vec<_> = figure.panels[0].curves.iter().map(|c| &c.label).collect();
        assert_eq!(labels, ["direct, CPU", "fast, GPU, f32"]);
        assert_eq!(figure.panels[0].curves[0].points, [(12.0, 14.631)]);
        for wrong in ["", "| | 12^3 |\n|---|---|\n| other | 1.0 |\n", "| | x |\n"] {
            assert_eq!(Times::parse(wrong), None, "{wrong}");
        }
    }
}
