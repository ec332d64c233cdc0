//! Sweeps: a flow at several Mach numbers or rarefactions, a run for each in a folder of its own, with one table and one plot of all.

mod case;

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::parser::ValueSource;
use clap::{ArgMatches, FromArgMatches};
use serde_json::{Map, Value, json};

use super::config::Layered;
use super::failure::Failure;
use super::options::Common;
use super::plot::{COLOURS, Curve, Figure, Panel, Scale, Stroke};
use super::record::{SWEEP, record_in};
use super::report::{Output, Report, in_case};
use super::summary::Summary;
use super::swept::{List, value_of};
use super::text::{quoted, reason, seven, short};
use super::{interrupt, streams};
use crate::error::{Error, Result};
use case::{Case, Way};

/// How a case ended.
struct Ended {
    value: f64,
    /// Its folder below that of the sweep.
    folder: String,
    /// The exit code of its run alone.
    code: u8,
    /// Its record, if it has one.
    record: Value,
}

impl Ended {
    fn number(&self, key: &str) -> Option<f64> {
        self.record["result"][key].as_f64()
    }

    /// The estimated error of a result.
    fn error(&self, key: &str) -> Value {
        self.record["result"]["discretisation_error"][key]["total"].clone()
    }

    fn status(&self) -> &str {
        self.record["status"].as_str().unwrap_or("failed")
    }
}

/// Work on the arguments of a command.
type Work<'a, T> = &'a dyn Fn(&ArgMatches) -> std::result::Result<T, Failure>;

/// The work of a sweep.
pub(super) struct Works<'a> {
    /// Readies the process for the first case.
    pub(super) prepare: Work<'a, ()>,
    /// Checks a case, and returns its parameters in full.
    pub(super) check: Work<'a, Value>,
    /// Runs a case.
    pub(super) execute: Work<'a, ()>,
}

/// Runs all cases of a list; those that have ended are kept where the sweep `goes_on`.
pub(super) fn run(
    list: &List,
    layers: &Layered,
    goes_on: bool,
    works: &Works,
) -> std::result::Result<(), Failure> {
    let started = Instant::now();
    list.check()?;
    let mut arguments = layers.arguments.iter();
    if let Some(argument) = arguments.find(|argument| argument.to_str().is_none()) {
        return Err(Failure::Usage(format!(
            "'{}' is not UTF-8, as the arguments of a sweep must be; give another name",
            argument.to_string_lossy()
        )));
    }
    let cases: Vec<Case> = (list.values.iter())
        .map(|text| Case::new(list, text, layers))
        .collect();
    // Bad arguments of any case are refused before the first one runs.
    let parsed: std::result::Result<Vec<ArgMatches>, Failure> =
        cases.iter().map(|case| case.layers.matches()).collect();
    let parsed = parsed?;
    let Some((first, given)) = (parsed.first()).and_then(|all| Some((all, all.subcommand()?.1)))
    else {
        return Ok(());
    };
    if matches!(given.try_get_one::<PathBuf>("resume"), Ok(Some(_))) {
        return Err(Failure::Usage(format!(
            "--resume goes on with one run: --{} takes one value with it; a sweep goes on with --resume and its run.json alone",
            list.option
        )));
    }
    (works.prepare)(first)?;
    let checked = cases.iter().zip(&parsed);
    let checked = checked
        .map(|(case, parsed)| (works.check)(parsed).map_err(|failure| case.failure(&failure)));
    let full = checked.collect::<std::result::Result<Vec<Value>, Failure>>()?;
    let common = with_out(layers, given)?;
    let parameters = parameters(list, layers, given, &full);
    let mut report = Report::new(list.command, &parameters, &common, started);
    // These can be resumed one by one, so each has its place.
    let needed = ["shock", "cavity"].contains(&list.command);
    let folder = report.open_sweep(goes_on, needed)?;
    // Without a folder the records of the cases pass through one that does not stay.
    let (_passing, below) = match folder {
        Some(folder) => (None, folder),
        None => {
            let passing = tempfile::tempdir().map_err(|error| {
                Error::file(
                    std::env::temp_dir(),
                    format!("no folder: {}", reason(&error)),
                )
            })?;
            let below = passing.path().to_path_buf();
            (Some(passing), below)
        }
    };
    let way = Way {
        quiet: common.json,
        goes_on,
    };
    let mut sweep = Sweep {
        list,
        ended: Vec::new(),
    };
    let kept = cases.iter().zip(&full);
    let kept = kept.map(|(case, full)| match goes_on {
        true => case.kept(list.command, &below, full),
        false => Ok(None),
    });
    let mut kept: Vec<Option<u8>> = kept.collect::<Result<_>>()?;
    for (case, kept) in cases.iter().zip(&mut kept) {
        if kept.is_some()
            && let Some(file) = case.lacks(&below)
        {
            let (name, file) = (&case.name, file.display());
            report.warn(format!("{name}: {file} is missing; the case runs anew"));
            *kept = None;
        }
    }
    // A process that is killed in its first case goes on from here.
    sweep.note(&cases, &mut report);
    let execute =
        |case: &Case, arguments: &ArgMatches| in_case(&case.name, || (works.execute)(arguments));
    for (k, case) in cases.iter().enumerate() {
        let left = &cases[k..];
        let place = below.join(&case.folder);
        let code = match kept[k] {
            Some(code) => code,
            None if interrupt::asked() => {
                let after = format!("after {k} of {} cases", cases.len());
                return Err(sweep.stopped(left, after, &mut report));
            }
            None => match execute(case, &case.arguments(&place, way)?) {
                Ok(()) => 0,
                Err(Failure::Interrupted { after, .. }) => {
                    let after = format!("in {} {after}", case.name);
                    return Err(sweep.stopped(left, after, &mut report));
                }
                // The files of the rest are waited for, if there are any.
                Err(Failure::StdoutClosed) if report.folder().is_some() => 0,
                Err(stop @ Failure::StdoutClosed) => return Err(stop),
                Err(failure) => {
                    let (code, line) = case.failure(&failure).code_and_line();
                    // Refused before anything was computed.
                    if sweep.ended.is_empty() && code == 2 {
                        report.take_back_progress();
                        return Err(failure);
                    }
                    streams::say(&line);
                    code
                }
            },
        };
        let record = record_in(&place);
        report.keep_warnings_of(&case.name, &record);
        sweep.ended.push(Ended {
            value: case.value,
            folder: case.folder.clone(),
            code,
            record,
        });
        sweep.note(&cases[k + 1..], &mut report);
    }
    sweep.finish(report)
}

/// The options of all commands, with the folder of the sweep.
fn with_out(layers: &Layered, given: &ArgMatches) -> std::result::Result<Common, Failure> {
    let mut common = Common::from_arg_matches(given).map_err(|error| Failure::usage(&error))?;
    common.out = value_of(&layers.arguments, "out").map(PathBuf::from);
    common.json = layers.arguments.iter().any(|a| a == "--json");
    Ok(common)
}

/// The options of the sweep: those that all cases have alike, `full` being theirs, and as it was given one that suits each case in its own way.
fn parameters(
    list: &List,
    layers: &Layered,
    given: &ArgMatches,
    full: &[Value],
) -> Map<String, Value> {
    let first = full.first().and_then(Value::as_object);
    let mut parameters = first.cloned().unwrap_or_default();
    parameters.retain(|key, value| full.iter().all(|case| case.get(key) == Some(value)));
    let sub = layers.subcommand(list.command);
    for arg in sub.into_iter().flat_map(clap::Command::get_arguments) {
        let id = arg.get_id().as_str();
        let key = id.replace('_', "-");
        let differs = full.iter().any(|case| case.get(&key).is_some());
        if given.value_source(id) != Some(ValueSource::CommandLine)
            || parameters.contains_key(&key)
            // Records keep it as delta.
            || id == "kn"
            || !differs
        {
            continue;
        }
        let raw = given.get_raw(id).and_then(|mut values| values.next_back());
        let text = raw.map(|raw| raw.to_string_lossy().into_owned());
        parameters.insert(key, json!(text));
    }
    parameters.insert(list.option.into(), json!(list.values.join(",")));
    parameters.insert(SWEEP.into(), json!(list.option));
    parameters
}

/// All cases of a list.
struct Sweep<'a> {
    list: &'a List,
    ended: Vec<Ended>,
}

impl Sweep<'_> {
    /// Records the cases that have ended, with the way to go on for a process that a signal ends at once.
    fn note(&self, left: &[Case], report: &mut Report) {
        match self.record(report) {
            Ok(Some(path)) if !left.is_empty() => {
                interrupt::goes_on_with(&self.rest(left, &path));
            }
            Ok(_) => interrupt::goes_on_with(""),
            Err(error) => report.warn(format!("the sweep could not be resumed: {error}")),
        }
    }

    fn record(&self, report: &mut Report) -> Result<Option<PathBuf>> {
        let keys = self.keys();
        let rows = self.ended.iter().map(|case| self.row(case, &keys));
        report.record_progress(json!({ "cases": rows.collect::<Vec<_>>() }))
    }

    /// The failure of an interrupted sweep.
    fn stopped(&self, left: &[Case], after: String, report: &mut Report) -> Failure {
        let rest = match self.record(report) {
            Ok(Some(path)) => self.rest(left, &path),
            Ok(None) => "nothing is saved, for there is no --out".into(),
            Err(error) => format!("it could not be saved: {error}"),
        };
        Failure::Interrupted { after, rest }
    }

    /// The cases that are left, and the command that runs them.
    fn rest(&self, left: &[Case], record: &Path) -> String {
        let values: Vec<String> = left.iter().map(|case| case.value.to_string()).collect();
        let List {
            command, option, ..
        } = self.list;
        format!(
            "{} of {} cases are left, {option} = {}; go on with: rarefy {command} --resume {}",
            left.len(),
            self.list.values.len(),
            values.join(", "),
            quoted(record)
        )
    }

    fn finish(self, mut report: Report) -> std::result::Result<(), Failure> {
        let worst = self.ended.iter().map(|case| case.code).max().unwrap_or(0);
        let keys = self.keys();
        if let Some(machine) = self
            .ended
            .iter()
            .find_map(|case| case.record.get("machine"))
        {
            report.set("machine", machine);
        }
        let rows = self.ended.iter().map(|case| self.row(case, &keys));
        report.set("result", json!({ "cases": rows.collect::<Vec<_>>() }));
        let failed: Vec<String> = (self.ended.iter())
            .filter(|case| case.code != 0)
            .map(|case| case.value.to_string())
            .collect();
        let why = format!(
            "{} of {} cases failed: {} = {}",
            failed.len(),
            self.ended.len(),
            self.list.option,
            failed.join(", ")
        );
        if worst > 0 {
            report.not_converged(why.clone());
        }
        report.write(|out| self.write(out, &keys))?;
        let finished = report.finish(|_| self.summary());
        match finished {
            Err(Failure::NotConverged(_)) if worst > 1 => Err(Failure::Usage(why)),
            other => other,
        }
    }

    /// Names of the numbers that the cases found.
    fn keys(&self) -> Vec<String> {
        let mut keys: Vec<String> = Vec::new();
        for case in &self.ended {
            let result = case.record["result"].as_object().into_iter().flatten();
            for (key, value) in result {
                if value.is_number() && !keys.contains(key) {
                    keys.push(key.clone());
                }
            }
        }
        keys
    }

    /// A case in the record.
    fn row(&self, case: &Ended, keys: &[String]) -> Map<String, Value> {
        let mut row = Map::new();
        row.insert(self.list.option.into(), json!(case.value));
        for key in keys {
            row.insert(key.clone(), case.record["result"][key].clone());
        }
        for key in self.estimated() {
            row.insert(format!("{key}_error"), case.error(&key));
        }
        row.insert("status".into(), json!(case.status()));
        row.insert("folder".into(), json!(case.folder));
        row
    }

    /// Names of the results whose errors are estimated.
    fn estimated(&self) -> Vec<String> {
        let mut keys: Vec<String> = Vec::new();
        for case in &self.ended {
            let errors = case.record["result"]["discretisation_error"].as_object();
            for (key, _) in errors.into_iter().flatten() {
                if !keys.contains(key) {
                    keys.push(key.clone());
                }
            }
        }
        keys
    }

    fn write(&self, out: &mut Output, keys: &[String]) -> Result<()> {
        let mut columns = vec![self.list.option];
        columns.extend(keys.iter().map(String::as_str));
        let estimated = self.estimated();
        let errors: Vec<String> = estimated.iter().map(|key| format!("{key}_error")).collect();
        columns.extend(errors.iter().map(String::as_str));
        columns.extend(["status", "folder"]);
        let rows = self.ended.iter().map(|case| {
            let mut row = vec![json!(case.value.to_string())];
            row.extend(keys.iter().map(|key| case.record["result"][key].clone()));
            row.extend(estimated.iter().map(|key| case.error(key)));
            row.extend([json!(case.status()), json!(case.folder)]);
            row
        });
        out.table("sweep.csv", &columns, rows)?;
        out.plot("sweep.png", self.figure());
        Ok(())
    }

    /// The main results of the command: key and label.
    fn main(&self) -> &'static [(&'static str, &'static str)] {
        match self.list.command {
            "shock" => &[
                (
                    "inverse_thickness",
                    "mean free path / thickness of the wave",
                ),
                (
                    "least_heat_flux",
                    "least heat flux q / (\u{3c1}_1 v_0\u{b3})",
                ),
            ],
            "cavity" => &[("D", "drag D"), ("G", "flow rate G")],
            "couette" => &[("Pi", "shear stress \u{3a0}")],
            "fourier" => &[("Q", "heat flux Q")],
            _ => &[("G", "flow rate G")],
        }
    }

    fn figure(&self) -> Figure {
        let x = match self.list.option {
            "mach" => "Mach number",
            "kn" => "Knudsen number",
            _ => "rarefaction parameter \u{3b4}",
        };
        let panels = self.main().iter().map(|(key, label)| {
            let points = |of: &dyn Fn(&Ended) -> Option<f64>| -> Vec<(f64, f64)> {
                let mut points: Vec<(f64, f64)> = (self.ended.iter())
                    .filter_map(|case| Some((case.value, of(case)?)))
                    .collect();
                points.sort_by(|a, b| a.0.total_cmp(&b.0));
                points
            };
            let found = points(&|case| case.number(key));
            let ends = (found.first(), found.last());
            let wide = matches!(ends, (Some(a), Some(b)) if a.0 > 0.0 && b.0 >= 8.0 * a.0);
            let positive = found.iter().all(|point| point.1 > 0.0);
            let mut curves =
                vec![Curve::new(self.model(), found, COLOURS[0]).stroke(Stroke::Dotted)];
            let known = [
                ("slip_limit", "slip limit", Stroke::Dashed),
                ("free_molecular", "collisionless", Stroke::Dashed),
                ("table", "linearised BGK, converged", Stroke::Points),
            ];
            for (k, (of, label, stroke)) in known.into_iter().enumerate() {
                let points = points(&|case| {
                    let reference = &case.record["result"]["reference"];
                    reference[of][key].as_f64()
                });
                // One point makes no line.
                if points.len() > usize::from(stroke == Stroke::Dashed) {
                    curves.push(Curve::new(label, points, COLOURS[k + 1]).stroke(stroke));
                }
            }
            let panel = Panel::new(x, *label, curves);
            match (wide, positive) {
                (true, true) => panel.scale(Scale::Logarithmic),
                (true, false) => panel.logarithmic_across(),
                (false, _) => panel,
            }
        });
        Figure {
            title: self.title(),
            panels: panels.collect(),
        }
    }

    fn title(&self) -> String {
        let flow = match self.list.command {
            "shock" => "Shock waves",
            "cavity" => "Driven cavities",
            "couette" => "Couette flow",
            "fourier" => "Heat conduction between plates",
            _ => "Poiseuille flow",
        };
        format!("{flow}, {}", self.model())
    }

    /// The collisions of the cases in words.
    fn model(&self) -> &'static str {
        let of = |key: &str| {
            let mut all = self
                .ended
                .iter()
                .map(|case| &case.record["parameters"][key]);
            all.find_map(Value::as_str)
        };
        match (of("collision"), of("model")) {
            (Some("boltzmann"), _) => "Boltzmann",
            (_, Some("shakhov")) => "Shakhov",
            (_, Some("polyatomic")) => "polyatomic",
            _ => "BGK",
        }
    }

    fn summary(&self) -> Summary {
        let title = format!("{}: {} cases", self.title(), self.ended.len());
        let main = self.main();
        let head = main.iter().map(|(key, _)| format!("{key:>20}"));
        let summary = Summary::new(title).line(format!(
            "{:>10}{}  status",
            self.list.option,
            head.collect::<String>()
        ));
        self.ended.iter().fold(summary, |summary, case| {
            let numbers = main.iter().map(|(key, _)| match case.number(key) {
                Some(number) => format!("{:>20}", seven(number)),
                None => format!("{:>20}", "-"),
            });
            summary.line(format!(
                "{:>10}{}  {}",
                short(case.value),
                numbers.collect::<String>(),
                case.status()
            ))
        })
    }
}
