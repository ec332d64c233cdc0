//! `rarefy paper frontier`: the error of each method against the time that an evaluation takes.

use std::time::{Duration, Instant};

use plotters::style::RGBColor;
use serde::Serialize;

use crate::cli::failure::Failure;
use crate::cli::options::Common;
use crate::cli::plot::{COLOURS, Curve, Figure, Panel, Scale, Stroke};
use crate::cli::progress::Progress;
use crate::cli::rates::Grids;
use crate::cli::report::{Output, Report};
use crate::cli::text::name_of;
use crate::collision::transport::{Flux, RATES_HALF_WIDTH, decay_rate, exact_decay_rate};
use crate::collision::{
    CollisionOperator, CorrectionMethod, Method, OperatorConfig, Order, Part, Scattering, Spectral,
    VelocityGrid, initial,
};
use crate::compute::{Compute, Precision};
use crate::error::Result;

const EXAMPLES: &str = "\
Examples:
  rarefy paper frontier --grid 16                                      on one grid
  rarefy paper frontier --convergence 12,16,20 --precision f32 --out frontier    table and plot";

/// Measure the time and the error of an evaluation by all methods of the collision integral, for hard spheres
///
/// Errors are of the integral of two beams and of the decay rate of shear stress: frontier.csv and frontier.png.
#[derive(Clone, Debug, Serialize, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct FrontierArgs {
    #[command(flatten)]
    #[serde(flatten)]
    grids: Grids,
    #[command(flatten)]
    #[serde(flatten)]
    common: Common,
}

/// Runs the command.
pub(super) fn run(args: &FrontierArgs) -> std::result::Result<(), Failure> {
    let common = &args.common;
    let begun = Instant::now();
    let full = FrontierArgs {
        grids: args.grids.full(),
        common: common.clone(),
    };
    let mut report = Report::new("paper frontier", &full, common, begun);
    report.open()?;
    let mut progress = Progress::new("frontier", common.quiet);
    let done = |n, way: &str| progress.update(1.0, || format!("{n}^3 velocities, {way}"));
    let frontier = Frontier::measure(common.compute(), &args.grids.sizes(), done)?;
    progress.finish();
    report.set("machine", &frontier.machine);
    report.set("rows", &frontier.rows);
    report.write(|out| frontier.write(out))?;
    report.finish(|_| frontier.summary())
}

/// Half-width of the velocity box of the beams: 5 thermal speeds beyond each.
const BEAMS_HALF_WIDTH: f64 = 6.5;
/// Evaluations of a sample.
const REPETITIONS: u32 = 32;
/// Samples, of which the least counts.
const SAMPLES: usize = 5;
/// The longest that one evaluation may take to be sampled more than once.
const LONG: Duration = Duration::from_millis(50);
/// Degree of the reference: directions leave 4e-5 of the beams' integral.
const FINEST: u8 = 21;

/// A way to compute the integral.
#[derive(Clone, Copy, Debug)]
struct Way {
    label: &'static str,
    method: Method,
    order: Order,
    correction: CorrectionMethod,
    degree: Option<u8>,
    colour: RGBColor,
}

/// The ways that are compared, each with its best correction.
fn ways() -> Vec<Way> {
    let sum = |label, order, correction, colour| Way {
        label,
        method: Method::Fast,
        order,
        correction,
        degree: None,
        colour,
    };
    let spectral = |label, degree, colour| Way {
        label,
        method: Method::Spectral,
        order: Order::Fourth,
        correction: CorrectionMethod::Paper,
        degree: Some(degree),
        colour,
    };
    vec![
        sum(
            "order 2",
            Order::Second,
            CorrectionMethod::Paper,
            COLOURS[0],
        ),
        sum(
            "order 4",
            Order::Fourth,
            CorrectionMethod::Paper,
            COLOURS[1],
        ),
        sum(
            "order 4, balanced",
            Order::Fourth,
            CorrectionMethod::Balanced,
            COLOURS[3],
        ),
        spectral("spectral, degree 9", 9, RGBColor(170, 170, 170)),
        spectral("spectral, degree 11", 11, RGBColor(120, 120, 120)),
        spectral("spectral, degree 15", 15, RGBColor(70, 70, 70)),
        spectral("spectral, degree 17", 17, RGBColor(0, 0, 0)),
        Way {
            correction: CorrectionMethod::Balanced,
            ..spectral("spectral 17, balanced", 17, RGBColor(110, 50, 170))
        },
    ]
}

/// One method on one grid.
#[derive(Clone, Debug, Serialize)]
struct Row {
    #[serde(skip)]
    way: usize,
    method: Method,
    order: Option<Order>,
    degree: Option<u8>,
    correction: CorrectionMethod,
    n: usize,
    /// Of an evaluation.
    milliseconds: f64,
    /// Of the integral of two beams, relative L2.
    beams_error: f64,
    /// Of the decay rate of shear stress, relative.
    shear_error: f64,
}

/// Errors of hard spheres against times, on grids of several sizes.
#[derive(Debug)]
struct Frontier {
    machine: String,
    precision: Precision,
    rows: Vec<Row>,
}

impl Frontier {
    /// Measures all methods on grids of these sizes; `progress` hears of each.
    fn measure(
        compute: Compute,
        sizes: &[usize],
        mut progress: impl FnMut(usize, &str),
    ) -> Result<Self> {
        let mut rows = Vec::new();
        let mut machine = String::new();
        for &n in sizes {
            let exact = beams_of(compute, n)?;
            for (index, way) in ways().iter().enumerate() {
                progress(n, way.label);
                let on = |half_width: f64| -> Result<OperatorConfig> {
                    let grid = VelocityGrid::new(n, -half_width, half_width)?;
                    Ok(OperatorConfig {
                        method: way.method,
                        order: way.order,
                        correction: way.correction,
                        spectral: Spectral {
                            degree: way.degree,
                            ..Spectral::default()
                        },
                        compute,
                        ..OperatorConfig::paper(grid)
                    })
                };
                let config = on(BEAMS_HALF_WIDTH)?;
                let f = initial::TwoMaxwellians::default().sample(&config.grid);
                let mut operator = CollisionOperator::new(config)?;
                let rate = operator.evaluate(&f)?.rate;
                let time = time_of(&mut operator)?;
                machine = operator.device();
                let shear = decay_rate(&on(RATES_HALF_WIDTH)?, Flux::Shear)?;
                let exact_shear = exact_decay_rate(Scattering::HardSphere, 1.0, Flux::Shear);
                rows.push(Row {
                    way: index,
                    method: way.method,
                    order: (way.method != Method::Spectral).then_some(way.order),
                    degree: way.degree,
                    correction: way.correction,
                    n,
                    milliseconds: 1e3 * time.as_secs_f64(),
                    beams_error: distance(&rate, &exact),
                    shear_error: (shear / exact_shear - 1.0).abs(),
                });
            }
        }
        Ok(Self {
            machine,
            precision: compute.precision,
            rows,
        })
    }

    /// Table and figure.
    fn write(&self, out: &mut Output) -> Result<()> {
        out.records("frontier.csv", &self.rows)?;
        out.plot("frontier.png", self.plot());
        Ok(())
    }

    fn panel(&self, y: &str, error: impl Fn(&Row) -> f64) -> Panel {
        let curves = ways().into_iter().enumerate().map(|(index, way)| {
            let rows = self.rows.iter().filter(|row| row.way == index);
            let points = rows.map(|row| (row.milliseconds, error(row)));
            Curve::new(way.label, points, way.colour).stroke(Stroke::Dotted)
        });
        Panel::new("time of one evaluation (ms)", y, curves.collect()).scale(Scale::Logarithmic)
    }

    /// The figure: a curve for each method, a dot for each grid.
    fn plot(&self) -> Figure {
        // The title has no room for versions, which run.json has.
        let machine = self.machine.split(" (").next().unwrap_or_default();
        let mut sizes: Vec<usize> = self.rows.iter().map(|row| row.n).collect();
        sizes.dedup();
        let sizes: Vec<String> = sizes.iter().map(usize::to_string).collect();
        Figure {
            title: format!(
                "Collision integral of hard spheres, N = {}, {}, {machine}",
                sizes.join(", "),
                name_of(&self.precision)
            ),
            panels: vec![
                self.panel("relative L_2 error of the integral of two beams", |row| {
                    row.beams_error
                }),
                self.panel("relative error of the decay rate of shear stress", |row| {
                    row.shear_error
                }),
            ],
        }
    }

    /// The rows in words.
    fn summary(&self) -> String {
        let mut lines = vec![
            format!(
                "Hard spheres, one evaluation on {}, {}: the integral of two beams in [-{BEAMS_HALF_WIDTH}, {BEAMS_HALF_WIDTH}]^3, and the decay of shear stress",
                self.machine,
                name_of(&self.precision)
            ),
            "    N                  method          ms  beams error  shear error".into(),
        ];
        let ways = ways();
        for row in &self.rows {
            lines.push(format!(
                "  {:>3}  {:>22}  {:>10.4}  {:>11.2e}  {:>11.2e}",
                row.n, ways[row.way].label, row.milliseconds, row.beams_error, row.shear_error
            ));
        }
        lines.join("\n")
    }
}

/// The time of one evaluation, the least of some samples.
fn time_of(operator: &mut CollisionOperator) -> Result<Duration> {
    let once = operator.time_evaluations(Part::All, 1)?;
    if once > LONG {
        return Ok(once);
    }
    let mut least = once;
    for _ in 0..SAMPLES {
        let time = operator.time_evaluations(Part::All, REPETITIONS)?;
        least = least.min(time / REPETITIONS);
    }
    Ok(least)
}

/// The integral of the beams at the cell centres of a grid, by the finest rule. Three cells in the place of one, where there may be so many, resolve what the grid does not; the
/// centres of the middle ones are those of the grid.
fn beams_of(compute: Compute, n: usize) -> Result<Vec<f64>> {
    let finer = if 3 * n <= VelocityGrid::MAX_N { 3 } else { 1 };
    let fine = VelocityGrid::new(finer * n, -BEAMS_HALF_WIDTH, BEAMS_HALF_WIDTH)?;
    let config = OperatorConfig {
        spectral: Spectral {
            degree: Some(FINEST),
            ..Spectral::default()
        },
        compute: compute.with_precision(Precision::F64),
        correction: CorrectionMethod::None,
        ..OperatorConfig::spectral(fine)
    };
    let f = initial::TwoMaxwellians::default().sample(&fine);
    let rate = CollisionOperator::new(config)?.evaluate(&f)?.rate;
    let place = |i: usize| finer * i + finer / 2;
    let cells = (0..n.pow(3)).map(|cell| [cell / (n * n), cell / n % n, cell % n].map(place));
    Ok(cells.map(|[x, y, z]| rate[fine.index(x, y, z)]).collect())
}

/// Relative L2 distance.
fn distance(values: &[f64], exact: &[f64]) -> f64 {
    let square = |a: f64| a * a;
    let pairs = values.iter().zip(exact);
    let difference: f64 = pairs.map(|(a, b)| square(a - b)).sum();
    let size: f64 = exact.iter().map(|&b| square(b)).sum();
    (difference / size).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compute::Backend;

    /// Against the integral of the continuous beams, whose L2 norm is known (relative error of the sum below 1e-9).
    #[test]
    fn errors_of_the_beams_are_those_of_the_tables() {
        let frontier =
            Frontier::measure(Compute::new(Backend::Cpu), &[12], |_, _| {}).expect("a frontier");
        let error = |label: &str| {
            let index = ways().iter().position(|way| way.label == label);
            let row = frontier.rows.iter().find(|row| Some(row.way) == index);
            row.expect("a row").beams_error
        };
        for (label, expected) in [
            ("order 2", 1.2e-1),
            ("order 4", 4.5e-2),
            ("spectral, degree 9", 1.6e-2),
            ("spectral, degree 11", 6.7e-3),
            ("spectral, degree 15", 3.3e-3),
        ] {
            let found = error(label);
            assert!(
                (found / expected - 1.0).abs() < 0.06,
                "{label}: {found:e} for {expected:e}"
            );
        }
        assert!(frontier.rows.iter().all(|row| row.milliseconds > 0.0));
    }
}
