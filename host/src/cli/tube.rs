//! `rarefy tube`: flow along an infinite tube of circular section, a slit or a rectangular duct.

mod duct;
mod row;

use std::time::Instant;

use serde::Serialize;
use serde_json::json;

use super::failure::Failure;
use super::flow::ConductionArgs;
use super::options::Common;
use super::output::columns;
use super::plot::{COLOURS, Curve, Figure, Panel, Stroke};
use super::report::Report;
use super::rotation::recorded;
use super::summary::Summary;
use super::text::short;
use super::values::{named, positive};
use super::verify::VerifyArgs;
use crate::bgk::{Model, Rotation, Species};
use crate::error::Error;
use crate::flow::{Duct, DuctSection};
use row::Row;

const EXAMPLES: &str = "\
Examples:
  rarefy tube --delta 1                        G_P and G_T with their errors
  rarefy tube --delta 0.01,0.1,1,10,100        a table and a plot over the rarefaction
  rarefy tube --delta 1 --model bgk --accommodation 0.8
  rarefy tube --delta 10 --model polyatomic --z-rot 5.5 --prandtl 0.72
  rarefy tube --delta 10 --gas air --temperature 293.15
  rarefy tube --delta 1 --accuracy 1e-8        on points that have it
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
    #[arg(long, value_name = "S", default_value = "circle", value_parser = section)]
    section: DuctSection,
    /// Rarefaction parameter, or a list of them: the radius, or the smaller side, over l0, up to 300
    #[arg(long, value_name = "D,...", required = true, value_delimiter = ',', value_parser = rarefaction)]
    delta: Vec<f64>,
    /// Relaxation model [default: shakhov; polyatomic with a --gas whose molecules rotate]
    #[arg(long, value_parser = named::<Model>(&["bgk", "shakhov", "polyatomic"]))]
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<Model>,
    /// Gas, for the rotation of its molecules at --temperature
    #[arg(long, value_parser = named::<Species>(&Species::NAMES), requires = "temperature")]
    #[serde(skip_serializing_if = "Option::is_none")]
    gas: Option<Species>,
    /// With --gas: temperature in K
    #[arg(long, value_name = "K", value_parser = positive, requires = "gas")]
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[command(flatten)]
    #[serde(flatten)]
    conduction: ConductionArgs,
    /// Share of the molecules that the wall emits diffusely, above 0 and at most 1; 1e-6 at least for a circle, 0.01 for a slit or a rectangle
    #[arg(long, value_name = "A", default_value = "1", value_parser = share)]
    accommodation: f64,
    #[command(flatten)]
    #[serde(flatten)]
    verify: VerifyArgs,
    #[command(flatten)]
    #[serde(flatten)]
    common: Common,
}

fn section(text: &str) -> Result<DuctSection, String> {
    text.parse().map_err(|_| {
        "circle, slit or rectangle:RATIO is needed, with the longer side over the smaller one from 1 to 100".into()
    })
}

/// The name of a section in a title.
fn written(section: DuctSection) -> String {
    match section {
        DuctSection::Circle => "tube".into(),
        DuctSection::Slit => "slit".into(),
        DuctSection::Rectangle { ratio } => format!("duct of sides 1:{}", short(ratio)),
    }
}

fn rarefaction(text: &str) -> Result<f64, String> {
    let [thin, thick] = Duct::RAREFACTIONS;
    match positive(text) {
        Ok(number) if (thin..=thick).contains(&number) => Ok(number),
        _ => Err(format!(
            "a number from {thin:e} to {thick} is needed; thicker gas has G_P = delta/4 + 1.02 in a circle, delta/6 + 1.02 in a slit"
        )),
    }
}

fn share(text: &str) -> Result<f64, String> {
    match positive(text) {
        Ok(number) if number <= 1.0 => Ok(number),
        _ => Err("a share above 0 and at most 1 is needed".into()),
    }
}

impl TubeArgs {
    fn model(&self) -> Model {
        self.model.unwrap_or(match self.gas {
            Some(gas) if gas.rotation().is_some() => Model::Polyatomic,
            _ => Model::Shakhov,
        })
    }

    /// The rotation of the molecules.
    fn rotation(&self) -> Result<Option<Rotation>, Failure> {
        let given = self.conduction.rotation(self.gas, self.temperature);
        let rotation = given.rotation(self.model())?;
        match (&rotation, self.conduction.prandtl) {
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
}

/// Runs the command.
pub(super) fn run(args: &TubeArgs) -> Result<(), Failure> {
    let started = Instant::now();
    let args = &TubeArgs {
        model: Some(args.model()),
        ..args.clone()
    };
    if args.common.devices.is_some() {
        return Err(Failure::Usage(
            "--devices: a tube takes one machine; leave it out".into(),
        ));
    }
    let mut report = Report::new("tube", args, &args.common, started);
    report.open()?;
    report.watch_for_signals();
    let rotation = args.rotation()?;
    let begun = Instant::now();
    let mut rows = Vec::new();
    for &delta in &args.delta {
        let duct = Duct {
            model: args.model(),
            rotation,
            accommodation: args.accommodation,
            ..Duct::new(args.section, delta)
        };
        rows.push(duct::row(duct, &args.verify, &args.common, &mut report)?);
    }
    let spent = begun.elapsed();
    let mut result = json!({ "tube": rows.iter().map(Row::record).collect::<Vec<_>>() });
    if let Some(rotation) = &rotation {
        result["rotation"] = recorded(rotation);
    }
    report.set("result", result);
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
    report.finish(|total| summary(args, &rows).wall_time(total, "the solutions", spent))
}

fn figure(args: &TubeArgs, rows: &[Row]) -> Figure {
    let names = [
        "G_P, by a fall of the pressure",
        "G_T, by a fall of the temperature",
    ];
    let across = match args.section {
        DuctSection::Circle => "δ, radius over l_0",
        _ => "δ, smaller side over l_0",
    };
    let panels = names.into_iter().enumerate().map(|(k, name)| {
        let points = rows.iter().map(|row| (row.delta, row.by[k].value));
        let curve = Curve::new("", points, COLOURS[k]).stroke(Stroke::Dotted);
        Panel::new(across, name, vec![curve]).logarithmic_across()
    });
    Figure {
        title: format!("Flow along a {}, {}", written(args.section), title(args)),
        panels: panels.collect(),
    }
}

fn title(args: &TubeArgs) -> String {
    let model = args.model().written();
    format!("{model}, accommodation {}", short(args.accommodation))
}

fn summary(args: &TubeArgs, rows: &[Row]) -> Summary {
    let summary = Summary::new(format!(
        "Flow along an infinite {}, {}",
        written(args.section),
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
