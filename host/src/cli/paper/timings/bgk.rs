//! Times that the bgk bench printed, drawn as Frezzotti, Ghiroldi and Gibelli (2009) draw theirs.

use std::collections::BTreeMap;

use super::table::cells;
use crate::cli::output;
use crate::cli::plot::{COLOURS, Curve, Figure, Panel, Scale, Stroke};
use crate::error::Result;

/// Columns of the bench's table that are kept, by what their titles contain, and what they are called in `figures.csv`.
const COLUMNS: [(&str, &str); 6] = [
    ("(fig. 2)", "streaming_speedup"),
    ("(fig. 3)", "collision_speedup"),
    ("GPU: streaming", "streaming_percent"),
    ("(fig. 5)", "step_speedup"),
    ("(fig. 7)", "separate_ns"),
    ("fused", "fused_ns"),
];

/// Measurements of the bench on a line, for one velocity grid and one number of cells.
#[derive(Clone, Debug, PartialEq)]
struct Row {
    velocities: String,
    cells: f64,
    values: [f64; 6],
}

/// The times of the paper's figures.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Times {
    line: Vec<Row>,
    /// Cells along a side of the cavity, and ns for a phase-space cell.
    plane: Vec<(f64, f64)>,
}

impl Times {
    /// `None` without any time.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut times = Self::default();
        let mut columns: Option<Vec<usize>> = None;
        let mut plane = false;
        for line in text.lines() {
            let Some(cells) = cells(line) else {
                plane = line.contains("two dimensions") || (plane && line.trim().is_empty());
                continue;
            };
            if cells.first() == Some(&"velocities") {
                columns = COLUMNS
                    .iter()
                    .map(|(title, _)| {
                        let named = |cell: &&str| match *title {
                            "fused" => *cell == "fused",
                            title => cell.contains(title),
                        };
                        cells.iter().position(named)
                    })
                    .collect();
                continue;
            }
            let number = |cell: &&str| cell.trim_end_matches('%').parse::<f64>().ok();
            let side = |cell: &&str| cell.strip_suffix("^2")?.parse::<f64>().ok();
            if plane {
                if let (Some(n), Some(ns)) =
                    (cells.first().and_then(side), cells.get(1).and_then(number))
                {
                    times.plane.push((n, ns));
                }
            } else if let Some(columns) = &columns
                && cells[0].ends_with("^3")
                && let Some(count) = cells.get(1).and_then(number)
            {
                let values: Option<Vec<f64>> = columns
                    .iter()
                    .map(|&k| cells.get(k).and_then(number))
                    .collect();
                if let Some(Ok(mut values)) = values.map(<[f64; 6]>::try_from) {
                    // The table has rounded percents.
                    values[2] *= 100.0 / values[4];
                    times.line.push(Row {
                        velocities: cells[0].to_owned(),
                        cells: count,
                        values,
                    });
                }
            }
        }
        (!times.line.is_empty()).then_some(times)
    }

    /// All of it as tables: names of files and their contents.
    pub(super) fn tables(&self) -> Result<Vec<(&'static str, Vec<u8>)>> {
        let mut names = vec!["velocities", "cells"];
        names.extend(COLUMNS.iter().map(|(_, name)| *name));
        let rows = self
            .line
            .iter()
            .map(|row| (&row.velocities, row.cells, row.values));
        Ok(vec![
            ("figures_line.csv", output::table(&names, rows)?),
            (
                "figures_plane.csv",
                output::table(&["cells_along_a_side", "fused_ns"], &self.plane)?,
            ),
        ])
    }

    /// The figures: names of files and their contents.
    pub(super) fn figures(&self) -> Vec<(&'static str, Figure)> {
        let speedups = "time of one core over that of the GPU";
        let grids = |column: usize, what: &str, stroke, first: usize| -> Vec<Curve> {
            let mut curves: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
            for row in &self.line {
                let points = curves.entry(&row.velocities).or_default();
                points.push((row.cells, row.values[column]));
            }
            let named = curves.into_iter().enumerate();
            named
                .map(|(k, (grid, points))| {
                    Curve::new(
                        format!("{what}{}", grid.replace("^3", "³")),
                        points,
                        COLOURS[(first + k) % COLOURS.len()],
                    )
                    .stroke(stroke)
                })
                .collect()
        };
        let panel = |x: &str, y: &str, scale, curves| {
            Panel::new(x, y, curves).legend("velocities").scale(scale)
        };
        let cells = "cells in space";
        let one = |title: &str, y: &str, scale, curves| Figure {
            title: title.into(),
            panels: vec![panel(cells, y, scale, curves)],
        };
        let dots = Stroke::Dotted;
        let log = Scale::Logarithmic;
        let mut both = grids(4, "two kernels, ", dots, 0);
        both.extend(grids(5, "fused pass, ", dots, 2));
        let mut last = vec![panel(
            cells,
            "ns for a phase-space cell and step",
            log,
            both,
        )];
        if !self.plane.is_empty() {
            last.push(panel(
                "cells along a side of the cavity",
                "ns for a phase-space cell and step",
                log,
                vec![Curve::new("fused pass, 20³", self.plane.clone(), COLOURS[3]).stroke(dots)],
            ));
        }
        vec![
            (
                "figure_2.png",
                one(
                    "Figure 2: speedup of streaming, f32",
                    speedups,
                    log,
                    grids(0, "", dots, 0),
                ),
            ),
            (
                "figure_3.png",
                one(
                    "Figure 3: speedup of the collision kernel, f32",
                    speedups,
                    log,
                    grids(1, "", dots, 0),
                ),
            ),
            (
                "figure_4.png",
                one(
                    "Figure 4: share of streaming in the GPU's time of a step",
                    "streaming (%)",
                    Scale::Linear,
                    grids(2, "", dots, 0),
                ),
            ),
            (
                "figure_5.png",
                one(
                    "Figure 5: speedup of the whole step, f32",
                    speedups,
                    log,
                    grids(3, "", dots, 0),
                ),
            ),
            (
                "figure_7.png",
                Figure {
                    title: "Figure 7: time of a phase-space cell on the GPU, f32".into(),
                    panels: last,
                },
            ),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_of_the_bench_are_read() {
        let text = "Figures 2 to 5 and 7\n\n| velocities | cells | one core: streaming | step (fig. 5) | speedup: streaming (fig. 2) | \
                    collision (fig. 3) | GPU: streaming | GPU step (fig. 7) | fused | separate over fused |\n|---|---|\n\
                    | 12^3 | 128 | 1.1 | 3 | 43 | 2 | 1.15 | 2.3 | 0.07 | 30.4 |\n| 12^3 | 512 | 1.1 |\n\n\
                    Figure 7, two dimensions: the fused pass\n\n| cells | ns |\n|---|---|\n| 16^2 | 0.05 |\n";
        let times = Times::parse(text).expect("tables");
        assert_eq!(
            times.line,
            [Row {
                velocities: "12^3".into(),
                cells: 128.0,
                values: [43.0, 2.0, 50.0, 3.0, 2.3, 0.07],
            }]
        );
        assert_eq!(times.plane, [(16.0, 0.05)]);
        assert_eq!(times.figures().len(), 5);
        for wrong in [
            "",
            "| 12^3 | 128 | 1 |\n",
            "Figure 7, two dimensions\n| 16^2 | 0.05 |\n",
        ] {
            assert_eq!(Times::parse(wrong), None, "{wrong}");
        }
    }
}
