//! `rarefy collide`: one evaluation of the collision integral.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::json;

use super::common::{Common, Failure, Operator, OperatorArgs, finite};
use super::output::{self, Transaction};
use super::plot::{COLOURS, Curve, Figure, Panel, Scale, Stroke};
use super::report::Report;
use super::{distribution, npy};
use crate::collision::{
    Correction, CorrectionStatus, Evaluation, Moments, Scattering, VelocityGrid, collide,
};
use crate::error::Result;

const EXAMPLES: &str = "\
Examples:
  rarefy collide --input f.npy --vmax 6.5 --output q.npy    the integral alone
  rarefy collide --input f.npy --vmax 6.5 --out integral    with its parts, a table and a plot";

/// Evaluate the collision integral of a distribution once
///
/// Writes I(f, f) = gain - f nu, corrected for conservation, and prints the moments of f and the residuals of the integral.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct CollideArgs {
    /// Distribution f[ix][iy][iz], an .npy array of shape (N, N, N)
    #[arg(long, value_name = "FILE", required = true)]
    input: Option<PathBuf>,
    /// Upper bound of the velocity box
    #[arg(long, value_name = "V", required = true, value_parser = finite, allow_negative_numbers = true)]
    vmax: Option<f64>,
    /// Lower bound of the velocity box [default: minus the upper]
    #[arg(long, value_name = "V", value_parser = finite, allow_negative_numbers = true)]
    vmin: Option<f64>,
    /// Molecules: hard-sphere, maxwell, or vhs:OMEGA with viscosity exponent OMEGA from 0.5 to 1
    #[arg(long, default_value = "hard-sphere")]
    model: Scattering,
    #[command(flatten)]
    operator: OperatorArgs,
    /// Where to write the collision integral; needed unless there is --out [default: q.npy in --out]
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Where to write the gain, the inverse collision integral [default: gain.npy in --out]
    #[arg(long, value_name = "FILE")]
    gain: Option<PathBuf>,
    /// Where to write the collision frequency [default: nu.npy in --out]
    #[arg(long, value_name = "FILE")]
    frequency: Option<PathBuf>,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Serialize)]
struct Parameters {
    input: String,
    #[serde(flatten)]
    operator: Operator,
}

/// Runs the evaluation.
pub(super) fn run(args: &CollideArgs) -> std::result::Result<(), Failure> {
    let common = &args.common;
    let begun = Instant::now();
    let missing = |name: &str| Failure::Usage(format!("--{name} is needed"));
    let input = args.input.as_ref().ok_or_else(|| missing("input"))?;
    let vmax = args.vmax.ok_or_else(|| missing("vmax"))?;
    if args.output.is_none() && common.out.is_none() {
        return Err(missing("output FILE (or --out DIR)"));
    }
    let vmin = args.vmin.unwrap_or(-vmax);
    VelocityGrid::new(VelocityGrid::MIN_N, vmin, vmax)?;
    let cube = distribution::read(
        input,
        VelocityGrid::MIN_N..=VelocityGrid::MAX_N,
        args.operator.order,
    )?;
    let grid = VelocityGrid::new(cube.n, vmin, vmax)?;
    let f = cube.values;
    let parameters = Parameters {
        input: input.display().to_string(),
        operator: Operator::new(&grid, args.model, &args.operator, common),
    };

    let mut files = Transaction::default();
    if let Some(folder) = &common.out {
        files.folder(folder)?;
    }
    let place = |given: &Option<PathBuf>, name: &str| {
        given
            .clone()
            .or_else(|| common.out.as_ref().map(|folder| folder.join(name)))
    };
    let places = [
        place(&args.output, "q.npy"),
        place(&args.gain, "gain.npy"),
        place(&args.frequency, "nu.npy"),
    ];
    for path in places.iter().flatten() {
        files.file(path)?;
    }

    let mut report = Report::new("collide", &parameters, begun);
    if let Some(warning) = distribution::boundary_warning(&grid, &f) {
        report.warn(warning);
    }
    let started = Instant::now();
    let (evaluation, machine) = collide(&parameters.operator.config(cube.n)?, &f)?;
    let spent = started.elapsed();
    report.time("evaluation", spent);
    if evaluation.correction.status == CorrectionStatus::Singular {
        report.warn(
            "no conservative correction exists, too few cells carry f: the integral is uncorrected"
                .into(),
        );
    }

    let n = grid.n();
    let arrays = [&evaluation.rate, &evaluation.gain, &evaluation.frequency];
    for (path, values) in places.iter().zip(arrays) {
        if let Some(path) = path {
            report.stage(
                &mut files,
                path,
                &npy::encode(&[n, n, n], values, common.precision),
            )?;
        }
    }
    let outcome = Outcome {
        grid,
        moments: Moments::of(&grid, &f),
        f: &f,
        evaluation: &evaluation,
        machine,
    };
    outcome.report(&mut report);
    if let Some(folder) = &common.out {
        report.stage(
            &mut files,
            &folder.join("cross_sections.csv"),
            &outcome.table()?,
        )?;
        report.stage(
            &mut files,
            &folder.join("cross_section_x.png"),
            &outcome.plot().png()?,
        )?;
    }
    report.finish(files, common.out.as_deref(), common, |total| {
        outcome.summary(&parameters, spent, total)
    })
}

struct Outcome<'a> {
    grid: VelocityGrid,
    moments: Moments,
    f: &'a [f64],
    evaluation: &'a Evaluation,
    machine: String,
}

impl Outcome<'_> {
    /// f, gain, loss and integral along x and y through the middle of the box.
    fn sections(&self) -> [(&'static str, [Vec<f64>; 2]); 4] {
        let Evaluation { gain, rate, .. } = self.evaluation;
        // The loss that was subtracted, with its correction.
        let loss: Vec<f64> = gain
            .iter()
            .zip(rate)
            .map(|(gain, rate)| gain - rate)
            .collect();
        let of = |values: &[f64]| distribution::cross_sections(&self.grid, values);
        [
            ("f", of(self.f)),
            ("gain", of(gain)),
            ("loss", of(&loss)),
            ("I", of(rate)),
        ]
    }

    fn report(&self, report: &mut Report) {
        report.set("machine", &self.machine);
        report.set("grid", self.grid);
        report.set("moments", self.moments);
        report.set(
            "rates",
            json!({
                "gain": self.integral(&self.evaluation.gain),
                "loss": self.loss(),
                "largest_frequency": largest(&self.evaluation.frequency),
            }),
        );
        report.set("conservation", self.evaluation.correction);
    }

    fn integral(&self, values: &[f64]) -> f64 {
        values.iter().sum::<f64>() * self.grid.volume()
    }

    fn loss(&self) -> f64 {
        let pairs = self.f.iter().zip(&self.evaluation.frequency);
        pairs.map(|(f, nu)| f * nu).sum::<f64>() * self.grid.volume()
    }

    fn table(&self) -> Result<Vec<u8>> {
        let sections = self.sections();
        let rows = ["x", "y"].into_iter().enumerate().flat_map(|(axis, name)| {
            let sections = &sections;
            (0..self.grid.n()).map(move |i| {
                let values = sections.each_ref().map(|(_, section)| section[axis][i]);
                (name, self.grid.centre(i), values)
            })
        });
        output::table(&["axis", "xi", "f", "gain", "loss", "I"], rows)
    }

    fn plot(&self) -> Figure {
        let sections = self.sections();
        let curve = |which: usize, colour: usize| Curve {
            label: sections[which].0.into(),
            points: sections[which].1[0]
                .iter()
                .enumerate()
                .map(|(i, &value)| (self.grid.centre(i), value))
                .collect(),
            colour: COLOURS[colour],
            stroke: Stroke::Dotted,
        };
        let panel = |y: &str, curves| Panel {
            x: "velocity ξ_x (dimensionless)".into(),
            y: distribution::section_label(&self.grid, y),
            reach: Some((self.grid.min(), self.grid.max())),
            legend: String::new(),
            scale: Scale::Linear,
            curves,
        };
        Figure {
            title: format!(
                "Collision integral along ξ_x, {}³ velocities",
                self.grid.n()
            ),
            panels: vec![
                panel("distribution f", vec![curve(0, 2)]),
                panel(
                    "rates of change",
                    vec![curve(1, 0), curve(2, 1), curve(3, 3)],
                ),
            ],
        }
    }

    fn summary(&self, p: &Parameters, spent: Duration, total: Duration) -> String {
        let m = &self.moments;
        let list = |values: &[f64]| {
            let values: Vec<_> = values.iter().map(|v| format!("{v:.6e}")).collect();
            values.join("  ")
        };
        let Correction {
            status,
            delta,
            residuals,
            largest_step,
        } = &self.evaluation.correction;
        let status = match status {
            CorrectionStatus::Loss => "of the loss, as in the paper",
            CorrectionStatus::LossAndGain => {
                "of loss and gain: the loss alone could not restore conservation"
            }
            CorrectionStatus::Singular => "none exists: too few cells carry f",
            CorrectionStatus::Off => "off",
        };
        [
            p.operator.summary(
                &format!("Collision integral of {}", p.input),
                self.grid.n(),
                &self.machine,
            ),
            format!("  density       {:.10}", m.density),
            format!("  velocity      {}", list(&m.velocity)),
            format!("  temperature   {:.10}", m.temperature),
            format!("  pressure      {}", list(&m.pressure)),
            format!("  heat flux     {}", list(&m.heat_flux)),
            format!("  H             {:.10}", m.entropy),
            format!(
                "  gain, loss    {:.10}  {:.10}",
                self.integral(&self.evaluation.gain),
                self.loss()
            ),
            format!("  correction    {status}"),
            format!("  coefficients  {}", list(delta)),
            format!("  residuals     {}", list(residuals)),
            format!("  largest step  {largest_step:.6}"),
            format!(
                "  wall time     {:.3} s, of which the integral {:.3} s",
                total.as_secs_f64(),
                spent.as_secs_f64()
            ),
        ]
        .join("\n")
    }
}

fn largest(values: &[f64]) -> f64 {
    values.iter().copied().fold(0.0, f64::max)
}
