//! The paper's figures: its errors computed here, its times as the bench printed them.

use rarefy_kernels::Real;
use serde::Serialize;

use super::table::cells;
use crate::cli::output::{self, columns};
use crate::cli::plot::{COLOURS, Curve, Figure, Panel, Scale, Stroke, sequence};
use crate::compute::Resolved;
use crate::emulator::Emulator;
use crate::error::Result;
use crate::longman::paper::{FixedBatch, Form, Functions, PaperRule, Start};
use crate::machine::Machine;

/// Areas of Fig. 11, and Gauss nodes that are enough for roundoff to show.
const MOST_AREAS: usize = 20;
const NODES: usize = 16;

/// The paper's integral: lambda and omega of eq. (5).
const LAMBDA: f64 = 0.5;
const OMEGA: f64 = 10.0;

/// The paper's numbers (section 5): seconds for so many integrals with N = 16 on a GTX 280, and on one core of an Athlon X2.
const PAPER_COUNT: f64 = 50_000.0;
const PAPER_GPU: [f64; 2] = [6.508e-3, 40.848e-3];
const PAPER_CPU: [f64; 2] = [5.780, 2.243];

/// Errors of the tail for one number of areas.
#[derive(Clone, Copy, Debug)]
struct Errors {
    areas: usize,
    /// The bound of eq. (10).
    bound: f64,
    hardware: f64,
    software: f64,
    double: f64,
}

/// Fig. 11: the integral from the first zero on, in three precisions, by the paper's kernel.
pub(super) struct Precisions(Vec<Errors>);

impl Precisions {
    /// By the kernels of a machine; of the emulator where there is none.
    pub(super) fn new(machine: &Resolved) -> Result<Self> {
        match machine {
            Resolved::Cuda(device) => Self::on(device),
            _ => Self::on(&Emulator::default()),
        }
    }

    fn on<M: Machine>(machine: &M) -> Result<Self> {
        let errors = (1..=MOST_AREAS).map(|areas| {
            let rule = PaperRule {
                areas,
                nodes: NODES,
                start: Start::FirstZero,
                ..PaperRule::default()
            };
            // The bound needs one area more than there are terms.
            let table = PaperRule {
                areas: areas + 1,
                ..rule
            }
            .table(LAMBDA, OMEGA)?;
            let exact = rule.exact(LAMBDA, OMEGA);
            Ok(Errors {
                areas,
                bound: table.remainder_bound(areas).unwrap_or(f64::NAN),
                hardware: (tail::<M, f32>(machine, &rule, Functions::Hardware)? - exact).abs(),
                software: (tail::<M, f32>(machine, &rule, Functions::Software)? - exact).abs(),
                double: (tail::<M, f64>(machine, &rule, Functions::Software)? - exact).abs(),
            })
        });
        Ok(Self(errors.collect::<Result<_>>()?))
    }

    pub(super) fn table(&self) -> Result<Vec<u8>> {
        columns!(&self.0, |e| [
            ("areas", e.areas),
            ("bound", e.bound),
            ("f32_hardware", e.hardware),
            ("f32_software", e.software),
            ("f64", e.double),
        ])
    }

    pub(super) fn figure(&self) -> Figure {
        let curve = |label: &str, i: usize, stroke, of: fn(&Errors) -> f64| {
            Curve::new(
                label,
                self.0.iter().map(|e| (e.areas as f64, of(e))),
                COLOURS[i],
            )
            .stroke(stroke)
        };
        Figure {
            title: "Figure 11: exp(-x/2) cos(10x) from its first zero on, by N areas".into(),
            panels: vec![
                Panel::new(
                    "areas N",
                    "absolute error",
                    vec![
                        curve("bound, eq. (10)", 3, Stroke::Dashed, |e| e.bound),
                        curve("f32, hardware", 1, Stroke::Dotted, |e| e.hardware),
                        curve("f32, software", 2, Stroke::Dotted, |e| e.software),
                        curve("f64", 0, Stroke::Dotted, |e| e.double),
                    ],
                )
                .legend("error")
                .scale(Scale::Logarithmic),
            ],
        }
    }
}

/// The paper's integral by the table of differences.
fn tail<M: Machine, T: Real>(machine: &M, rule: &PaperRule, functions: Functions) -> Result<f64> {
    let mut batch = FixedBatch::<M, T>::new(machine, rule, &[LAMBDA], &[OMEGA])?;
    batch.launch(machine, Form::Table, functions)?;
    let values = batch.values(machine)?;
    Ok(values.first().map_or(f64::NAN, |value| value.to_f64()))
}

/// A time of the bench's table.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Time {
    method: String,
    areas: u32,
    integrals: u64,
    microseconds: f64,
}

/// The times of M integrals.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Times(Vec<Time>);

impl Times {
    /// `None` without any time.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut times = Vec::new();
        let mut counts: Option<Vec<u64>> = None;
        for line in text.lines() {
            let Some(cells) = cells(line) else {
                counts = None;
                continue;
            };
            if let ["", "N", rest @ ..] = &cells[..] {
                let count = |cell: &&str| cell.strip_prefix("M = ")?.parse().ok();
                counts = rest.iter().map(count).collect();
            } else if let (Some(counts), [method, areas, rest @ ..]) = (&counts, &cells[..])
                && let Ok(areas) = areas.parse()
            {
                let known = rest.iter().zip(counts);
                times.extend(known.filter_map(|(cell, &integrals)| {
                    let microseconds: f64 = cell.parse().ok()?;
                    (microseconds > 0.0).then(|| Time {
                        method: (*method).to_owned(),
                        areas,
                        integrals,
                        microseconds,
                    })
                }));
            }
        }
        (!times.is_empty()).then_some(Self(times))
    }

    pub(super) fn table(&self) -> Result<Vec<u8>> {
        output::records(&self.0)
    }

    /// Time of M integrals, or of one of them, in seconds against M.
    fn over_counts(&self, method: &str, areas: u32, each: bool) -> Vec<(f64, f64)> {
        let of = |t: &&Time| t.method == method && t.areas == areas;
        let point = |t: &Time| {
            let count = t.integrals as f64;
            let share = if each { count } else { 1.0 };
            (count, t.microseconds * 1e-6 / share)
        };
        self.0.iter().filter(of).map(point).collect()
    }

    /// The figures for which there are times, by the names of their files.
    pub(super) fn figures(&self) -> Vec<(&'static str, Figure)> {
        [
            ("figure_7_8.png", self.of_counts()),
            ("figure_9.png", self.of_areas()),
            ("figure_10_12_13.png", self.of_precisions()),
        ]
        .into_iter()
        .filter(|(_, figure)| figure.panels.iter().all(|panel| !panel.curves.is_empty()))
        .collect()
    }

    /// Figs. 7 and 8: N = 16 in single precision, from one integral on.
    fn of_counts(&self) -> Figure {
        let drawn = [
            ("table f32 hardware", "table"),
            ("table f32 hardware with transfers", "table, copies"),
            ("warp f32 hardware", "shuffles"),
            ("warp f32 hardware with transfers", "shuffles, copies"),
        ];
        let mut curves = self.curves(&drawn, 16, false);
        add_paper(&mut curves, "paper, Fig. 8", 4, PAPER_GPU[0]);
        Figure {
            title: "Figures 7 and 8: time of M integrals, N = 16, f32 with hardware functions"
                .into(),
            panels: vec![panel("time (s)", "GPU", curves)],
        }
    }

    /// Fig. 9: one to five integrals of 8 to 32 areas.
    fn of_areas(&self) -> Figure {
        let areas = [8, 16, 24, 32];
        let curves = |method: &str| {
            let each = areas.iter().enumerate().map(|(i, &n)| {
                Curve::new(
                    format!("N = {n}"),
                    self.over_counts(method, n, true)
                        .into_iter()
                        .filter(|(count, _)| *count <= 5.0),
                    sequence(i, areas.len()),
                )
                .stroke(Stroke::Dotted)
            });
            each.filter(|curve| !curve.points.is_empty()).collect()
        };
        Figure {
            title: "Figure 9: time of one of M integrals".into(),
            panels: vec![
                panel("time / M (s)", "one core, f64", curves("one core f64")),
                panel(
                    "time / M (s)",
                    "GPU, f32, copies",
                    curves("warp f32 hardware with transfers"),
                ),
            ],
        }
    }

    /// Figs. 10, 12 and 13: CPU and GPU in both precisions.
    fn of_precisions(&self) -> Figure {
        let drawn = [
            ("one core f64", "one core, f64"),
            ("warp f64 with transfers", "GPU, f64"),
            ("warp f32 with transfers", "GPU, f32"),
            ("warp f32 hardware with transfers", "GPU, f32, SFU"),
        ];
        let mut curves = self.curves(&drawn, 16, true);
        for (label, colour, seconds) in [
            ("paper, CPU, f32", 4, PAPER_CPU[0]),
            ("paper, CPU, f64", 0, PAPER_CPU[1]),
            ("paper, GPU, f64", 1, PAPER_GPU[1]),
            ("paper, GPU, f32", 3, PAPER_GPU[0]),
        ] {
            add_paper(&mut curves, label, colour, seconds / PAPER_COUNT);
        }
        Figure {
            title: "Figures 10, 12 and 13: time of one of M integrals, N = 16, copies included"
                .into(),
            panels: vec![panel("time / M (s)", "", curves)],
        }
    }

    fn curves(&self, drawn: &[(&str, &str)], areas: u32, each: bool) -> Vec<Curve> {
        let curves = drawn.iter().zip(COLOURS).map(|((method, label), colour)| {
            Curve::new(*label, self.over_counts(method, areas, each), colour).stroke(Stroke::Dotted)
        });
        curves.filter(|curve| !curve.points.is_empty()).collect()
    }
}

/// A number of the paper's beside what was measured, if anything was: a short dashed line.
fn add_paper(curves: &mut Vec<Curve>, label: &str, colour: usize, seconds: f64) {
    if !curves.is_empty() {
        curves.push(
            Curve::new(
                label,
                vec![(PAPER_COUNT / 2.0, seconds), (PAPER_COUNT * 2.0, seconds)],
                COLOURS[colour],
            )
            .stroke(Stroke::Dashed),
        );
    }
}

fn panel(y: &str, legend: &str, curves: Vec<Curve>) -> Panel {
    Panel::new("integrals M", y, curves)
        .legend(legend)
        .scale(Scale::Logarithmic)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_bench_printed_is_read_and_drawn() {
        let text = "| | us |\n|---|---|\n| GSL | 16 |\n\n| | N | M = 1 | M = 50000 |\n|---|---|---|---|\n\
                    | one core f64 | 16 | 2.20 | 25287.04 |\n| warp f32 hardware | 8 | | 6.73 |\n\n| other | 16 | 1 |\n";
        let times = Times::parse(text).expect("times");
        assert_eq!(times.0.len(), 3);
        let [(_, one), (count, many)] = times.over_counts("one core f64", 16, true)[..] else {
            panic!("two times");
        };
        assert!((one - 2.2e-6).abs() < 1e-18 && (many * count - 0.025_287_04).abs() < 1e-12);
        let names: Vec<_> = times.figures().iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["figure_10_12_13.png"]);
        for wrong in ["", "| | N | M = x |\n|---|---|---|\n| a | 8 | 1 |\n"] {
            assert_eq!(Times::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn figure_11_has_the_errors_of_three_precisions() {
        let found = Precisions::new(&Resolved::Cpu).expect("errors");
        let at = |areas: usize| found.0[areas - 1];
        assert!((at(6).bound / 2.5e-8 - 1.0).abs() < 0.05);
        assert!((at(6).double / 1.4e-8 - 1.0).abs() < 0.05);
        assert!(at(16).double < 2e-16);
        for single in [at(16).hardware, at(16).software] {
            assert!(single > 1e-9 && single < 1e-7, "{single:e}");
        }
        assert_eq!(found.figure().panels[0].curves.len(), 4);
    }
}
