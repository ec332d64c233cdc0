//! `rarefy tube`: flow along an infinite tube of circular section, a slit or a rectangular duct.

mod duct;
mod row;

use std::time::Instant;

use serde::Serialize;
use serde_json::json;

use super::failure::Failure;
use super::flow_case::{errors, refined, report_end, solve};
use super::options::Common;
use super::output::columns;
use super::plot::{COLOURS, Curve, Figure, Panel, Stroke};
use super::report::Report;
use super::summary::Summary;
use super::text::short;
use super::values::{named, positive};
use super::verify::VerifyArgs;
use crate::bgk::rotation::RotationGiven;
use crate::bgk::{Model, Rotation, RotationalCollisions};
use crate::error::Error;
use crate::flow::{Drive, Duct, DuctSection, Grids, Machine, Tube};
use row::{Coefficient, Row};

/// Largest rarefaction parameter: the iteration for thicker gas takes too long.
const THICKEST: f64 = 300.0;

/// Largest relative error that passes without a warning.
const ADMITTED: f64 = 0.01;

const EXAMPLES: &str = "\
Examples:
  rarefy tube --delta 1                        G_P and G_T with their errors
  rarefy tube --delta 0.01,0.1,1,10,100        a table and a plot over the rarefaction
  rarefy tube --delta 1 --model bgk --accommodation 0.8
  rarefy tube --delta 10 --model polyatomic --z-rot 5.5 --prandtl 0.72
  rarefy tube --delta 1 --accuracy 1e-5        on cells and velocities that have it
  rarefy tube --section slit --delta 1         between parallel plates
  rarefy tube --section rectangle:2 --delta 0.1,1,10";

/// Compute the flow along an infinite tube by falls of pressure and temperature
///
/// For a tube of radius a the mass flow over rho0 v0 pi a^2/2 is G_P times the relative fall of the pressure over the length a, less G_T times
/// that of the temperature; both are weak. delta = a p0/(mu0 v0) is the radius over l0. Without collisions G_P is 1.50451 and G_T half of it.
/// For --section slit or rectangle:RATIO a is the smaller side, and the area that of the section. RATIO is the longer side over the smaller one.
/// Flows with ends, openings and bodies round an axis are those of `rarefy flow` with symmetry = "axis".
#[derive(Clone, Debug, Serialize, clap::Args)]
#[command(after_help = EXAMPLES)]
#[serde(rename_all = "kebab-case")]
pub(super) struct TubeArgs {
    /// Section of the tube: circle, slit, or rectangle:RATIO with a RATIO of its sides from 1 to 100
    #[arg(long, value_name = "S", default_value = "circle", value_parser = Section::parse)]
    section: Section,
    /// Rarefaction parameter, or a list of them: the radius, or the smaller side, over l0, up to 300
    #[arg(long, value_name = "D,...", required = true, value_delimiter = ',', value_parser = rarefaction)]
    delta: Vec<f64>,
    /// Relaxation model
    #[arg(long, default_value = "shakhov", value_parser = named::<Model>(&["bgk", "shakhov", "polyatomic"]))]
    model: Model,
    /// Internal degrees of freedom of molecules that rotate [default: 2]
    #[arg(long, value_name = "D", value_parser = positive)]
    internal_dof: Option<f64>,
    /// Collisions in which their rotation relaxes [default: 5.5]
    #[arg(long, value_name = "Z", value_parser = positive)]
    z_rot: Option<f64>,
    /// Their Prandtl number [default: 0.72]
    #[arg(long, value_name = "PR", value_parser = positive)]
    prandtl: Option<f64>,
    /// Share of the molecules that the wall emits diffusely, above 0 and at most 1; 0.01 at least for a slit or a rectangle
    #[arg(long, value_name = "A", default_value = "1", value_parser = share)]
    accommodation: f64,
    #[command(flatten)]
    #[serde(flatten)]
    verify: VerifyArgs,
    #[command(flatten)]
    #[serde(flatten)]
    common: Common,
}

/// The section of a tube.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(into = "String")]
enum Section {
    Circle,
    Duct(DuctSection),
}

impl Section {
    fn parse(text: &str) -> Result<Self, String> {
        match text {
            "circle" => Ok(Self::Circle),
            _ => text.parse().map(Self::Duct).map_err(|_| {
                "circle, slit or rectangle:RATIO is needed, with the longer side over the smaller one from 1 to 100".into()
            }),
        }
    }

    /// Its name in a title.
    fn written(self) -> String {
        match self {
            Self::Circle => "tube".into(),
            Self::Duct(DuctSection::Slit) => "slit".into(),
            Self::Duct(DuctSection::Rectangle { ratio }) => {
                format!("duct of sides 1:{}", short(ratio))
            }
        }
    }
}

impl From<Section> for String {
    fn from(section: Section) -> Self {
        match section {
            Section::Circle => "circle".into(),
            Section::Duct(duct) => duct.to_string(),
        }
    }
}

fn rarefaction(text: &str) -> Result<f64, String> {
    match positive(text) {
        Ok(number) if (1e-9..=THICKEST).contains(&number) => Ok(number),
        _ => Err(format!(
            "a number from 1e-9 to {THICKEST} is needed; thicker gas has G_P = delta/4 + 1.02 in a circle, delta/6 + 1.02 in a slit"
        )),
    }
}

fn share(text: &str) -> Result<f64, String> {
    match positive(text) {
        Ok(number) if number <= 1.0 => Ok(number),
        _ => Err("a share above 0 and at most 1 is needed".into()),
    }
}

/// The rotation of the molecules.
fn rotation(args: &TubeArgs) -> Result<Option<Rotation>, Failure> {
    let given = RotationGiven {
        freedom: args.internal_dof,
        collisions: args.z_rot.map(RotationalCollisions::Constant),
        prandtl: args.prandtl,
        ..RotationGiven::default()
    };
    let rotation = given.rotation(args.model)?;
    match (&rotation, args.prandtl) {
        (Some(rotation), _) => rotation.check()?,
        (None, Some(prandtl)) => {
            return Err(Error::invalid(
                "prandtl",
                prandtl,
                "--model polyatomic, whose molecules rotate",
            )
            .into());
        }
        (None, None) => {}
    }
    Ok(rotation)
}

/// Runs the command.
pub(super) fn run(args: &TubeArgs) -> Result<(), Failure> {
    let started = Instant::now();
    if args.common.devices.is_some() {
        return Err(Failure::Usage(
            "--devices: a tube takes one machine; leave it out".into(),
        ));
    }
    let mut report = Report::new("tube", args, &args.common, started);
    report.open()?;
    report.watch_for_signals();
    let rotation = rotation(args)?;
    let begun = Instant::now();
    let mut rows = Vec::new();
    for &delta in &args.delta {
        rows.push(match args.section {
            Section::Circle => circle(args, rotation, delta, &mut report)?,
            Section::Duct(section) => {
                let duct = Duct {
                    section,
                    model: args.model,
                    rotation,
                    delta,
                    accommodation: args.accommodation,
                    grid: None,
                };
                duct::row(duct, &args.verify, &args.common, &mut report)?
            }
        });
    }
    let spent = begun.elapsed();
    report.set(
        "result",
        json!({ "tube": rows.iter().map(Row::record).collect::<Vec<_>>() }),
    );
    report.write(|out| {
        let table = columns!(&rows, |row| [
            ("delta", row.delta),
            ("g_p", row.by[0].value),
            ("g_p_error", row.by[0].error),
            ("g_t", row.by[1].value),
            ("g_t_error", row.by[1].error)
        ]);
        out.put("tube.csv", &table?)?;
        if rows.len() > 1 {
            out.plot("tube.png", figure(args, &rows));
        }
        Ok(())
    })?;
    report.finish(|total| summary(args, &rows).wall_time(total, "the iterations", spent))
}

/// The row of a tube of circular section.
fn circle(
    args: &TubeArgs,
    rotation: Option<Rotation>,
    delta: f64,
    report: &mut Report,
) -> Result<Row, Failure> {
    let tube = Tube {
        model: args.model,
        rotation,
        delta,
        accommodation: args.accommodation,
    };
    let (pressure, first) = coefficient(args, &tube, Drive::Pressure, report)?;
    let (temperature, second) = coefficient(args, &tube, Drive::Temperature, report)?;
    Ok(Row {
        delta,
        by: [pressure, temperature],
        iterations: [first, second],
    })
}

/// Solves one flow. Returns its coefficient and the number of iterations.
fn coefficient(
    args: &TubeArgs,
    tube: &Tube,
    drive: Drive,
    report: &mut Report,
) -> Result<(Coefficient, usize), Failure> {
    let common = &args.common;
    let command = ("tube", common.quiet || common.json);
    let case = tube.case(drive);
    let (machine, described) = Machine::of(&case, common.backend, common.precision)?;
    report.set("machine", described.describe());
    let (case, search) = refined(command, &args.verify, case, &machine)?;
    let grids = Grids::new(&case, &machine)?;
    let found = solve(command, &grids)?;
    report_end(&case, &found, report)?;
    let verified = errors(
        command,
        &args.verify,
        (&grids, &found),
        search.as_ref(),
        report,
    )?;
    let value = Tube::coefficient(drive, &found);
    let flow = verified.findings().iter();
    let flow = flow.map(|finding| (finding, &finding.quantity));
    let flow = flow.filter(|(_, quantity)| quantity.name == "mass_flow");
    let error = flow
        .map(|(finding, of)| finding.error.total / of.value.abs())
        .next();
    if let Some(share) = error.filter(|share| *share > ADMITTED) {
        report.warn(format!(
            "delta {}: the discretisation leaves an error of {:.1}%; --accuracy {ADMITTED} takes finer cells and more velocities",
            short(tube.delta),
            100.0 * share
        ));
    }
    let error = error.map(|share| share * value.abs());
    Ok((Coefficient { value, error }, found.iterations))
}

fn figure(args: &TubeArgs, rows: &[Row]) -> Figure {
    let names = [
        "G_P, by a fall of the pressure",
        "G_T, by a fall of the temperature",
    ];
    let across = match args.section {
        Section::Circle => "δ, radius over l_0",
        Section::Duct(_) => "δ, smaller side over l_0",
    };
    let panels = names.into_iter().enumerate().map(|(k, name)| {
        let points = rows.iter().map(|row| (row.delta, row.by[k].value));
        let curve = Curve::new("", points, COLOURS[k]).stroke(Stroke::Dotted);
        Panel::new(across, name, vec![curve]).logarithmic_across()
    });
    Figure {
        title: format!("Flow along a {}, {}", args.section.written(), title(args)),
        panels: panels.collect(),
    }
}

fn title(args: &TubeArgs) -> String {
    let model = args.model.written();
    format!("{model}, accommodation {}", short(args.accommodation))
}

fn summary(args: &TubeArgs, rows: &[Row]) -> Summary {
    let summary = Summary::new(format!(
        "Flow along an infinite {}, {}",
        args.section.written(),
        title(args)
    ));
    rows.iter().fold(summary, |summary, row| {
        let [pressure, temperature] = row.by.map(|coefficient| coefficient.text());
        summary.row(
            &format!("delta {}", short(row.delta)),
            format!("G_P = {pressure}; G_T = {temperature}"),
        )
    })
}
