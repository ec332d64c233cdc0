//! `rarefy collide`: one evaluation of the collision integral.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::json;

use super::failure::Failure;
use super::operator::{Choice, OperatorArgs, Taken};
use super::options::{Common, without_effect};
use super::output;
use super::plot::{COLOURS, Curve, Figure, Panel, Stroke};
use super::report::Report;
use super::summary::Summary;
use super::text::shown_if;
use super::{distribution, npy};
use crate::collision::{
    CollisionOperator, Correction, CorrectionStatus, Evaluation, Moments, Scattering, VelocityGrid,
};
use crate::compute::{Devices, Precision};
use crate::error::Result;

const EXAMPLES: &str = "\
Examples:
  rarefy collide --input f.npy --vmax 6.5 --output q.npy    the integral alone
  rarefy collide --input f.npy --vmax 6.5 --out integral    with its parts, a table and a plot
  rarefy collide --input cells.npy --vmax 6.5 --out batch   of many distributions at once, shape (B, N, N, N)";

/// Evaluate the collision integral of a distribution once
///
/// Writes I(f, f) = gain - f nu, by default with the balanced correction, and prints the moments of f and the residuals of the integral.
/// Of an array of shape (B, N, N, N) it evaluates all B distributions together, and writes arrays of that shape.
#[derive(Clone, Debug, Serialize, clap::Args)]
#[serde(rename_all = "kebab-case")]
#[command(after_help = EXAMPLES)]
pub(super) struct CollideArgs {
    /// Distribution f[ix][iy][iz], an .npy array of shape (N, N, N); or B of them, of shape (B, N, N, N)
    #[arg(long, value_name = "FILE", required = true)]
    #[serde(serialize_with = "shown_if")]
    input: Option<PathBuf>,
    #[command(flatten)]
    #[serde(flatten)]
    operator: OperatorArgs,
    /// Where to write the collision integral; NAME_grid_v.npy beside it has the velocities; needed unless there is --out [default: q.npy in --out]
    #[arg(long, value_name = "FILE")]
    #[serde(serialize_with = "shown_if")]
    output: Option<PathBuf>,
    /// Where to write the gain, the inverse collision integral [default: gain.npy in --out]
    #[arg(long, value_name = "FILE")]
    #[serde(serialize_with = "shown_if")]
    gain: Option<PathBuf>,
    /// Where to write the collision frequency [default: nu.npy in --out]
    #[arg(long, value_name = "FILE")]
    #[serde(serialize_with = "shown_if")]
    frequency: Option<PathBuf>,
    #[command(flatten)]
    #[serde(flatten)]
    common: Common,
}

/// Where the integral, the gain and the frequency go, each checked.
fn places(args: &CollideArgs, report: &mut Report) -> Result<[Option<PathBuf>; 3]> {
    let place = |given: &Option<PathBuf>, name: &str| {
        given
            .clone()
            .or_else(|| args.common.out.as_ref().map(|folder| folder.join(name)))
    };
    let places = [
        place(&args.output, "q.npy"),
        place(&args.gain, "gain.npy"),
        place(&args.frequency, "nu.npy"),
    ];
    for path in places.iter().flatten() {
        report.claim(path)?;
    }
    Ok(places)
}

/// Where the velocities of the cells go: into the folder, and beside an integral with a name of its own.
fn grids(args: &CollideArgs, report: &mut Report) -> Result<Vec<PathBuf>> {
    let folder = &args.common.out;
    let inside = folder.iter().map(|folder| folder.join("grid_v.npy"));
    // A device, such as /dev/null, has no place beside it.
    let files = args
        .output
        .iter()
        .filter(|path| path.is_file() || !path.exists());
    let beside = files.filter_map(|path| {
        let stem = path.file_stem()?.to_str()?;
        Some(path.with_file_name(format!("{stem}_grid_v.npy")))
    });
    let paths: Vec<PathBuf> = inside.chain(beside).collect();
    for path in &paths {
        report.claim(path)?;
    }
    Ok(paths)
}

/// Warns of the first of the distributions with these warnings, and how many there are of `items`.
fn warn(report: &mut Report, items: Option<usize>, warnings: Vec<(usize, String)>) {
    if let Some(warning) = gathered(items, warnings) {
        report.warn(warning);
    }
}

/// The first text, with the number of distributions that have one.
fn gathered(items: Option<usize>, texts: Vec<(usize, String)>) -> Option<String> {
    let count = texts.len();
    let (item, text) = texts.into_iter().next()?;
    Some(match items {
        None => text,
        Some(all) => {
            format!("{count} of {all} distributions, the first is number {item}: {text}")
        }
    })
}

/// A warning of a box that an array was hardly made for. The numbers of an array say nothing of its box; density and temperature in it do.
fn unlikely(grid: &VelocityGrid, f: &[f64]) -> Option<String> {
    const USUAL: std::ops::RangeInclusive<f64> = 1e-4..=1e4;
    let Moments {
        density,
        temperature,
        ..
    } = Moments::of(grid, f);
    let odd = |x: f64| x > 0.0 && !USUAL.contains(&x);
    (odd(density) || odd(temperature)).then(|| {
        format!(
            "density {density:.3e} and temperature {temperature:.3e} in the box [{}, {}] are far from 1: are --vmax and --vmin those of the array?",
            grid.min(),
            grid.max()
        )
    })
}

/// Runs the evaluation.
pub(super) fn run(args: &CollideArgs) -> std::result::Result<(), Failure> {
    let common = &args.common;
    let begun = Instant::now();
    let missing = |name: &str| Failure::Usage(format!("--{name} is needed"));
    let input = args.input.as_ref().ok_or_else(|| missing("input"))?;
    let vmax = args.operator.vmax.ok_or_else(|| missing("vmax"))?;
    if args.output.is_none() && common.out.is_none() {
        return Err(missing("output FILE (or --out DIR)"));
    }
    // A box that is none is refused before the file is opened.
    args.operator.grid(VelocityGrid::MIN_N, vmax)?;
    let cube = distribution::read(
        input,
        VelocityGrid::MIN_N..=VelocityGrid::MAX_N,
        args.operator.tolerated_negative(Choice::Fast),
        true,
    )?;
    let grid = args.operator.grid(cube.n, vmax)?;
    let (items, f) = (cube.items, cube.values);
    if items.is_none() {
        let several = common
            .devices
            .is_some_and(|devices| devices != Devices::Number(1));
        without_effect("a single distribution", &[("devices", several)])?;
    }
    let each = || f.chunks_exact(grid.cells());
    let ways = ways(&args.operator, &grid, each())?;
    let full = CollideArgs {
        // Distributions that are computed in several ways are so again by the flags that were given.
        operator: match &ways[..] {
            [way] => way.operator.clone(),
            _ => args.operator.clone(),
        },
        ..args.clone()
    };

    let mut report = Report::new("collide", &full, common, begun);
    report.set("method", methods(&ways));
    report.reads(input);
    report.open_given()?;
    common.open_ahead();
    let places = places(args, &mut report)?;
    let grids = grids(args, &mut report)?;
    let boundary = each().enumerate();
    let boundary = boundary.flat_map(|(k, f)| grid.warnings(f).into_iter().map(move |w| (k, w)));
    warn(&mut report, items, boundary.collect());
    let started = Instant::now();
    let (evaluations, machine) = evaluate(&ways, &f, &grid, items.is_some(), common)?;
    let spent = started.elapsed();
    // Those of the grid have been said.
    let defects = evaluations.iter().zip(each()).enumerate();
    let defects = defects.flat_map(|(k, (evaluation, f))| {
        let said = grid.warnings(f).len();
        let rest = evaluation.warnings.iter().skip(said).cloned();
        rest.map(move |warning| (k, warning)).collect::<Vec<_>>()
    });
    let is_unconserved = |k: usize| evaluations[k].correction.status == CorrectionStatus::Singular;
    let (unconserved, defects): (Vec<_>, Vec<_>) = defects.partition(|(k, _)| is_unconserved(*k));
    warn(&mut report, items, defects);
    if let Some(why) = gathered(items, unconserved) {
        report.not_converged(why);
    }
    report.time("evaluation", spent);

    let n = grid.n();
    let shape: Vec<usize> = items.into_iter().chain([n, n, n]).collect();
    let parts: [fn(&Evaluation) -> &[f64]; 3] = [|e| &e.rate, |e| &e.gain, |e| &e.frequency];
    for (path, part) in places.iter().zip(parts) {
        if let Some(path) = path {
            let values: Vec<f64> = evaluations.iter().flat_map(part).copied().collect();
            npy::check_range(&path.display().to_string(), &values, common.precision)?;
            let bytes = npy::encode(&shape, &values, common.precision);
            report.stage(path, &bytes)?;
        }
    }
    for path in &grids {
        let bytes = npy::encode(&[n], &distribution::centres(&grid), Precision::F64);
        report.stage(path, &bytes)?;
    }
    // After all that may refuse the array, whose error is one line.
    let odd = each()
        .enumerate()
        .filter_map(|(k, f)| Some((k, unlikely(&grid, f)?)));
    warn(&mut report, items, odd.collect());
    let outcome = Outcome {
        grid,
        items,
        each: each()
            .zip(&evaluations)
            .map(|(f, evaluation)| Item {
                grid,
                moments: Moments::of(&grid, f),
                f,
                evaluation,
            })
            .collect(),
        machine,
    };
    outcome.report(&mut report);
    report.write(|out| {
        out.put("cross_sections.csv", &outcome.table()?)?;
        out.plot("cross_section_x.png", outcome.plot());
        Ok(())
    })?;
    report.finish(|total| {
        let what = outcome.what(&input.display().to_string());
        let heading = heading(&ways, &what, &grid, common, &outcome.machine);
        outcome.summary(heading, spent, total)
    })
}

/// A way in which the integral is computed, the reason for it, and the distributions that take it.
struct Way {
    operator: OperatorArgs,
    taken: Taken,
    items: Vec<usize>,
}

/// The ways that distributions take. Each is chosen by one distribution alone, so its integral is that of a batch of one.
fn ways<'a>(
    given: &OperatorArgs,
    grid: &VelocityGrid,
    each: impl Iterator<Item = &'a [f64]>,
) -> Result<Vec<Way>> {
    let usual = (Scattering::HardSphere, Choice::Fast);
    let mut ways: Vec<Way> = Vec::new();
    for (item, f) in each.enumerate() {
        let (operator, taken) = given.resolved(grid, usual, f)?;
        match ways.iter_mut().find(|way| way.operator == operator) {
            Some(way) => way.items.push(item),
            None => ways.push(Way {
                operator,
                taken,
                items: vec![item],
            }),
        }
    }
    Ok(ways)
}

/// The entry `method`: of a batch that is computed in several ways a list, with an entry for each distribution.
fn methods(ways: &[Way]) -> serde_json::Value {
    if let [way] = ways {
        return json!(way.taken);
    }
    let mut each: Vec<(usize, &Taken)> = (ways.iter())
        .flat_map(|way| way.items.iter().map(|&item| (item, &way.taken)))
        .collect();
    each.sort_by_key(|(item, _)| *item);
    json!(each.iter().map(|(_, taken)| taken).collect::<Vec<_>>())
}

/// The integrals of all distributions, in their order, and the machine.
fn evaluate(
    ways: &[Way],
    f: &[f64],
    grid: &VelocityGrid,
    batch: bool,
    common: &Common,
) -> Result<(Vec<Evaluation>, String)> {
    let mut found: Vec<(usize, Evaluation)> = Vec::new();
    let mut machine = String::new();
    for way in ways {
        let config = way.operator.config(grid.n(), common)?;
        let mut operator = CollisionOperator::new(config)?;
        let items = way.items.iter();
        let of = |item: &usize| &f[item * grid.cells()..][..grid.cells()];
        let evaluations = match (batch, ways.len()) {
            (false, _) => vec![operator.evaluate(f)?],
            (true, 1) => operator.evaluate_batch(f)?,
            (true, _) => {
                let part: Vec<f64> = items.flat_map(of).copied().collect();
                operator.evaluate_batch(&part)?
            }
        };
        found.extend(way.items.iter().copied().zip(evaluations));
        machine = operator.device();
    }
    found.sort_by_key(|(item, _)| *item);
    let found = found.into_iter().map(|(_, evaluation)| evaluation);
    Ok((found.collect(), machine))
}

/// The first rows of the summary, with a row for each way but the first.
fn heading(
    ways: &[Way],
    what: &str,
    grid: &VelocityGrid,
    common: &Common,
    machine: &str,
) -> Summary {
    let mut summary = Summary::new(what);
    for (k, way) in ways.iter().enumerate() {
        let Ok(config) = way.operator.config(grid.n(), common) else {
            continue;
        };
        if k == 0 {
            summary = way.operator.summary(what, &config, machine);
        }
        if ways.len() > 1 {
            summary = summary.row(
                "",
                format!("{} distributions: {}", way.items.len(), way.operator.way()),
            );
        }
    }
    summary
}

struct Outcome<'a> {
    grid: VelocityGrid,
    /// How many distributions there are, if the input has four dimensions.
    items: Option<usize>,
    each: Vec<Item<'a>>,
    machine: String,
}

/// One distribution and its collision integral.
struct Item<'a> {
    grid: VelocityGrid,
    moments: Moments,
    f: &'a [f64],
    evaluation: &'a Evaluation,
}

impl Item<'_> {
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

    fn rates(&self) -> serde_json::Value {
        json!({
            "gain": self.integral(&self.evaluation.gain),
            "loss": self.loss(),
            "largest_frequency": largest(&self.evaluation.frequency),
        })
    }

    fn integral(&self, values: &[f64]) -> f64 {
        values.iter().sum::<f64>() * self.grid.volume()
    }

    fn loss(&self) -> f64 {
        let pairs = self.f.iter().zip(&self.evaluation.frequency);
        pairs.map(|(f, nu)| f * nu).sum::<f64>() * self.grid.volume()
    }

    /// Rows of the table of cross-sections: axis, velocity, f, gain, loss, I.
    fn rows(&self) -> impl Iterator<Item = (&'static str, f64, [f64; 4])> {
        let (grid, sections) = (self.grid, self.sections());
        ["x", "y"]
            .into_iter()
            .enumerate()
            .flat_map(move |(axis, name)| {
                (0..grid.n())
                    .map(|i| {
                        (
                            name,
                            grid.centre(i),
                            sections.each_ref().map(|(_, s)| s[axis][i]),
                        )
                    })
                    .collect::<Vec<_>>()
            })
    }

    fn plot(&self, which: &str) -> Figure {
        let sections = self.sections();
        let curve = |which: usize, colour: usize| {
            Curve::new(
                sections[which].0,
                sections[which].1[0]
                    .iter()
                    .enumerate()
                    .map(|(i, &value)| (self.grid.centre(i), value)),
                COLOURS[colour],
            )
            .stroke(Stroke::Dotted)
        };
        let panel = |y: &str, curves| {
            Panel::new(
                "velocity ξ_x (dimensionless)",
                distribution::section_label(&self.grid, y),
                curves,
            )
            .reach((self.grid.min(), self.grid.max()))
        };
        Figure {
            title: format!(
                "Collision integral along one axis, {}³ velocities{which}",
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

    fn summary(&self, summary: Summary) -> Summary {
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
        let gain = self.integral(&self.evaluation.gain);
        summary
            .row("density", format!("{:.10}", m.density))
            .row("velocity", list(&m.velocity))
            .row("temperature", format!("{:.10}", m.temperature))
            .row("pressure", list(&m.pressure))
            .row("heat flux", list(&m.heat_flux))
            .row("H", format!("{:.10}", m.entropy))
            .row("gain, loss", format!("{gain:.10}  {:.10}", self.loss()))
            .row("correction", in_words(*status))
            .row("coefficients", list(delta))
            .row("residuals", list(residuals))
            .row("largest step", format!("{largest_step:.6}"))
    }
}

impl Outcome<'_> {
    fn report(&self, report: &mut Report) {
        report.set("machine", &self.machine);
        report.set("grid", self.grid);
        let each = &self.each;
        match (self.items, &each[..]) {
            (None, [item]) => {
                report.set("moments", item.moments);
                report.set("rates", item.rates());
                report.set("conservation", item.evaluation.correction);
            }
            _ => {
                // The same, a list with an entry for each distribution.
                report.set("items", each.len());
                report.set(
                    "moments",
                    each.iter().map(|i| i.moments).collect::<Vec<_>>(),
                );
                report.set("rates", each.iter().map(Item::rates).collect::<Vec<_>>());
                let corrections = each.iter().map(|i| i.evaluation.correction);
                report.set("conservation", corrections.collect::<Vec<_>>());
            }
        }
    }

    fn table(&self) -> Result<Vec<u8>> {
        const COLUMNS: [&str; 7] = ["item", "axis", "xi", "f", "gain", "loss", "I"];
        match self.items {
            None => output::table(&COLUMNS[1..], self.each.iter().flat_map(Item::rows)),
            Some(_) => {
                let each = self.each.iter().enumerate();
                let rows = each.flat_map(|(k, item)| item.rows().map(move |row| (k, row)));
                output::table(&COLUMNS, rows)
            }
        }
    }

    fn plot(&self) -> Figure {
        let which = self
            .items
            .map_or(String::new(), |all| format!(", the first of {all}"));
        self.each[0].plot(&which)
    }

    fn what(&self, input: &str) -> String {
        match self.items {
            None => format!("Collision integral of {input}"),
            Some(all) => format!("Collision integrals of the {all} distributions in {input}"),
        }
    }

    fn summary(&self, heading: Summary, spent: Duration, total: Duration) -> Summary {
        let mut summary = heading;
        if self.items.is_none() {
            summary = self.each[0].summary(summary);
        } else {
            summary =
                summary.line("item  density         temperature     largest residual  correction");
            for (k, item) in self.each.iter().enumerate().take(SHOWN) {
                let correction = &item.evaluation.correction;
                summary = summary.line(format!(
                    "{k:<4}  {:<14.10}  {:<14.10}  {:<16.3e}  {}",
                    item.moments.density,
                    item.moments.temperature,
                    largest(&correction.residuals),
                    in_words(correction.status)
                ));
            }
            if self.each.len() > SHOWN {
                let more = self.each.len() - SHOWN;
                summary = summary.line(format!("... {more} more; all are in run.json"));
            }
        }
        summary.wall_time(total, "the integral", spent)
    }
}

/// Distributions of a batch that the summary shows.
const SHOWN: usize = 16;

fn in_words(status: CorrectionStatus) -> &'static str {
    match status {
        CorrectionStatus::Balanced => "balanced",
        CorrectionStatus::Loss => "of the loss, as in the paper",
        CorrectionStatus::LossAndGain => {
            "of loss and gain: the loss alone could not restore conservation"
        }
        CorrectionStatus::Singular => "none exists: too few cells carry f",
        CorrectionStatus::Off => "off",
    }
}

fn largest(values: &[f64]) -> f64 {
    values.iter().copied().fold(0.0, f64::max)
}
