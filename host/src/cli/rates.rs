//! `rarefy rates`: relaxation rates, viscosity and errors of the discrete collision operator against exact values.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::{Duration, Instant};

use plotters::style::RGBColor;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::failure::Failure;
use super::operator::CORRECTIONS;
use super::options::Common;
use super::output::{self, Transaction};
use super::plot::{COLOURS, Curve, Figure, Panel, Scale, Stroke};
use super::progress::Progress;
use super::report::{Report, written_to};
use super::text::name_of;
use super::timings::Timings;
use super::values::{cells, named, order};
use crate::collision::transport::{
    self, BKW_K, ERRORS_HALF_WIDTH, Flux, RATES_HALF_WIDTH, Study, observed_order,
};
use crate::collision::{
    CollisionOperator, CorrectionMethod, Method, OperatorConfig, Order, Scattering, VelocityGrid,
};
use crate::compute::{Backend, Compute, Precision};
use crate::error::{Error, Result};

const EXAMPLES: &str = "\
Examples:
  rarefy rates --grid 16                                both orders, all corrections
  rarefy rates --convergence 12,16,20,24 --out rates    tables and plots against the number of cells
  rarefy rates --grid 24 --order 4 --model maxwell      one order, other molecules
  rarefy rates --convergence 12,16,20,24 --method all   the spectral method beside both orders";

/// Compare relaxation rates, viscosity and errors of the discrete collision operator with exact values
///
/// Decay rates of shear stress and heat flux and the viscosity are those of the linearised operator at density and temperature 1, with each
/// correction; errors are at the exact solution of Bobylev, Krook and Wu (pseudo-Maxwell molecules) and
/// at the Maxwellian.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct RatesArgs {
    /// Cells along an axis, 3 to 64 [default: 20, unless there is --convergence]
    #[arg(long, value_name = "N1", value_parser = cells)]
    grid: Option<usize>,
    /// Several numbers of cells, as 12,16,20,24, for tables and plots of convergence
    #[arg(long, value_name = "LIST")]
    convergence: Option<Sizes>,
    /// Order of the gain's coefficients [default: both]
    #[arg(long, value_parser = order())]
    order: Option<Order>,
    /// What makes the integral conservative [default: all three]
    #[arg(long, value_parser = named::<CorrectionMethod>(&CORRECTIONS))]
    correction: Option<CorrectionMethod>,
    /// Molecules: hard-sphere, maxwell, vhs:OMEGA with viscosity exponent OMEGA from 0.5 to 1, or vss:OMEGA,ALPHA for the spectral method
    #[arg(long, default_value = "hard-sphere")]
    model: Scattering,
    /// How the integral is computed: by sums over the nodes, which agree to roundoff, by the spectral method, or by sums and spectrally side by side
    #[arg(long, default_value = "fast", value_parser = named::<Methods>(&["direct", "fast", "spectral", "all"]))]
    method: Methods,
    /// What the collision bench printed: draws its times against the number of cells too, timings.png in --out
    #[arg(long, value_name = "FILE")]
    timings: Option<PathBuf>,
    #[command(flatten)]
    common: Common,
}

/// The methods that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Methods {
    Direct,
    Fast,
    Spectral,
    All,
}

impl Methods {
    /// The method of the sums, and whether there is the spectral one.
    fn parts(self) -> (Option<Method>, bool) {
        match self {
            Self::Direct => (Some(Method::Direct), false),
            Self::Fast => (Some(Method::Fast), false),
            Self::Spectral => (None, true),
            Self::All => (Some(Method::Fast), true),
        }
    }
}

/// The corrections, in the order of the tables.
const VARIANTS: [CorrectionMethod; 3] = [
    CorrectionMethod::None,
    CorrectionMethod::Paper,
    CorrectionMethod::Balanced,
];

/// A list of numbers of cells.
#[derive(Clone, Debug, PartialEq)]
struct Sizes(Vec<usize>);

impl FromStr for Sizes {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let sizes: std::result::Result<Vec<usize>, String> =
            text.split(',').map(|size| cells(size.trim())).collect();
        let mut sizes = sizes.map_err(|why| {
            Error::input(format!(
                "a list such as 12,16,20,24 is needed, and in it {why}"
            ))
        })?;
        sizes.sort_unstable();
        sizes.dedup();
        Ok(Self(sizes))
    }
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sizes: Vec<_> = self.0.iter().map(usize::to_string).collect();
        f.write_str(&sizes.join(","))
    }
}

/// The measurement in full, by the names of the flags.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
struct Parameters {
    #[serde(skip_serializing_if = "Option::is_none")]
    grid: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    convergence: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    order: Option<Order>,
    #[serde(skip_serializing_if = "Option::is_none")]
    correction: Option<CorrectionMethod>,
    model: Scattering,
    method: Methods,
    #[serde(skip_serializing_if = "Option::is_none")]
    timings: Option<String>,
    backend: Backend,
    precision: Precision,
}

/// Measures on grids of all sizes, with coefficients of one order or of both, the spectral method, and one correction or all.
fn studies(
    base: &OperatorConfig,
    sizes: &[usize],
    methods: Methods,
    (order, correction): (Option<Order>, Option<CorrectionMethod>),
    quiet: bool,
    report: &mut Report,
) -> Result<Vec<Study>> {
    let corrections = correction.map_or(VARIANTS.to_vec(), |correction| vec![correction]);
    let orders = order.map_or(vec![Order::Second, Order::Fourth], |order| vec![order]);
    let (nodal, spectral) = methods.parts();
    let sums = nodal.map(|method| orders.into_iter().map(move |order| (method, order)));
    let transforms = spectral.then_some((Method::Spectral, Order::Fourth));
    let variants: Vec<(Method, Order, CorrectionMethod)> = sums
        .into_iter()
        .flatten()
        .chain(transforms)
        .flat_map(|(method, order)| {
            corrections
                .iter()
                .map(move |&correction| (method, order, correction))
        })
        .collect();

    // Work grows about as the square of the number of cells.
    let work = |n: usize| (n as f64).powi(6);
    let total = sizes.iter().map(|&n| work(n)).sum::<f64>() * variants.len() as f64;
    let mut progress = Progress::new("rates", quiet);
    let mut done = 0.0;
    let mut studies = Vec::new();
    for &(method, order, correction) in &variants {
        let name = match method {
            Method::Spectral => "spectral".into(),
            _ => format!("order {order}"),
        };
        for &n in sizes {
            progress.update(done / total, || format!("{n}^3 velocities, {name}"));
            let config = OperatorConfig {
                method,
                order,
                correction,
                ..base.clone()
            };
            let study = Study::of(&config, n)?;
            // One line a grid, whatever is measured on it.
            if (method, order, correction) == variants[0]
                && let Some(warning) = study.warning()
            {
                report.warn(warning);
            }
            studies.push(study);
            done += work(n);
        }
    }
    progress.finish();
    Ok(studies)
}

/// Runs the measurements.
pub(super) fn run(args: &RatesArgs) -> std::result::Result<(), Failure> {
    let common = &args.common;
    let started = Instant::now();
    let mut sizes = args.convergence.clone().map_or(vec![], |sizes| sizes.0);
    let grid = args.grid.or(if sizes.is_empty() { Some(20) } else { None });
    sizes.extend(grid);
    sizes.sort_unstable();
    sizes.dedup();
    let parameters = Parameters {
        grid,
        convergence: args.convergence.as_ref().map(Sizes::to_string),
        order: args.order,
        correction: args.correction,
        model: args.model,
        method: args.method,
        timings: args.timings.as_ref().map(|path| path.display().to_string()),
        backend: common.backend,
        precision: common.precision,
    };
    let timings = match (&args.timings, &common.out) {
        (Some(path), Some(_)) => Some(Timings::read(path)?),
        (Some(_), None) => {
            return Err(Failure::Usage(
                "--timings draws a plot: --out DIR is needed".into(),
            ));
        }
        (None, _) => None,
    };
    if args.order.is_some() && args.method == Methods::Spectral {
        return Err(Failure::Usage(
            "--order belongs to the sums over the nodes; the spectral method has none".into(),
        ));
    }
    let mut files = Transaction::default();
    let folder = common.results_folder(&mut files, "rates")?;
    let mut report = Report::new("rates", &parameters, started);

    let largest = sizes.last().copied().unwrap_or(VelocityGrid::MIN_N);
    let base = OperatorConfig {
        scattering: args.model,
        method: args.method.parts().0.unwrap_or(Method::Spectral),
        compute: Compute::new(common.backend).with_precision(common.precision),
        ..OperatorConfig::paper(VelocityGrid::new(
            largest,
            -RATES_HALF_WIDTH,
            RATES_HALF_WIDTH,
        )?)
    };
    let machine = CollisionOperator::new(base.clone())?.device();
    let studies = studies(
        &base,
        &sizes,
        args.method,
        (args.order, args.correction),
        common.quiet,
        &mut report,
    )?;
    report.time("studies", started.elapsed());

    let outcome = Outcome {
        model: args.model,
        machine,
        precision: common.precision,
        exact: Exact {
            shear: transport::exact_decay_rate(args.model, 1.0, Flux::Shear),
            heat: transport::exact_decay_rate(args.model, 1.0, Flux::Heat),
            viscosity: transport::exact_viscosity(args.model, 1.0),
            fourth_rate: 5.0 * (1.0 - BKW_K).powi(2),
        },
        studies,
        convergence: sizes.len() > 1,
    };
    outcome.report(&mut report);
    if let Some(folder) = &folder {
        outcome.stage(&mut report, &mut files, folder)?;
        if let Some(timings) = &timings {
            let plot = timings.plot().png()?;
            report.stage(&mut files, &folder.join("timings.png"), &plot)?;
        }
    }
    report.finish(files, folder.as_deref(), common, |total, folder| {
        outcome.summary(total) + &written_to(folder)
    })
}

/// What the measurements would be without discretisation.
#[derive(Debug, Serialize)]
struct Exact {
    shear: f64,
    heat: f64,
    /// Unknown for variable hard spheres between the limits.
    viscosity: Option<f64>,
    fourth_rate: f64,
}

struct Outcome {
    model: Scattering,
    machine: String,
    precision: Precision,
    exact: Exact,
    /// Grids in ascending order within each variant of the operator.
    studies: Vec<Study>,
    convergence: bool,
}

/// The order of a study's sums, or the other method.
fn kind(study: &Study) -> String {
    match study.order {
        Some(order) => order.to_string(),
        None => "spectral".into(),
    }
}

/// A measure of a study, and where it is exactly known the value there.
type Measure = fn(&Study) -> f64;

impl Outcome {
    fn report(&self, report: &mut Report) {
        report.set("machine", &self.machine);
        report.set(
            "boxes",
            json!({ "rates": RATES_HALF_WIDTH, "errors": ERRORS_HALF_WIDTH }),
        );
        report.set("exact", &self.exact);
        report.set("studies", &self.studies);
    }

    fn stage(&self, report: &mut Report, files: &mut Transaction, folder: &Path) -> Result<()> {
        report.stage(files, &folder.join("rates.csv"), &self.rates_table()?)?;
        report.stage(files, &folder.join("errors.csv"), &self.errors_table()?)?;
        if self.convergence {
            report.stage(
                files,
                &folder.join("errors.png"),
                &self.errors_plot().png()?,
            )?;
            report.stage(files, &folder.join("rates.png"), &self.rates_plot().png()?)?;
            report.stage(
                files,
                &folder.join("viscosity.png"),
                &self.viscosity_plot().png()?,
            )?;
        }
        Ok(())
    }

    fn rates_table(&self) -> Result<Vec<u8>> {
        let columns = [
            "n",
            "h",
            "order",
            "corrected",
            "shear_rate",
            "heat_rate",
            "viscosity",
            "shear_error",
            "heat_error",
            "viscosity_error",
            "viscosity_residual",
            "method",
            "correction",
        ];
        let rows = self.studies.iter().map(|s| {
            let viscosity = s.viscosity;
            (
                s.n,
                2.0 * RATES_HALF_WIDTH / s.n as f64,
                s.order,
                s.corrected,
                s.shear,
                s.heat,
                viscosity.value,
                s.shear / self.exact.shear - 1.0,
                s.heat / self.exact.heat - 1.0,
                self.exact
                    .viscosity
                    .map(|exact| viscosity.value / exact - 1.0),
                viscosity.residual,
                s.method,
                s.correction,
            )
        });
        output::table(&columns, rows)
    }

    fn errors_table(&self) -> Result<Vec<u8>> {
        let columns = [
            "n",
            "h",
            "order",
            "corrected",
            "bkw_error",
            "bkw_fourth_rate",
            "equilibrium_error",
            "method",
            "correction",
        ];
        let rows = self.studies.iter().map(|s| {
            (
                s.n,
                2.0 * ERRORS_HALF_WIDTH / s.n as f64,
                s.order,
                s.corrected,
                s.bkw.relative,
                s.bkw.fourth_rate,
                s.equilibrium,
                s.method,
                s.correction,
            )
        });
        output::table(&columns, rows)
    }

    /// The study of the same operator on the next coarser grid.
    fn coarser(&self, of: &Study) -> Option<&Study> {
        let kind = |s: &Study| (s.method, s.order, s.correction);
        let same = |s: &&Study| kind(s) == kind(of) && s.n < of.n;
        self.studies.iter().rev().find(same)
    }

    /// One curve for each variant of the operator.
    fn curves(&self, measure: impl Fn(&Study) -> f64) -> Vec<Curve> {
        let mut curves: Vec<Curve> = Vec::new();
        for study in &self.studies {
            let label = match study.correction {
                CorrectionMethod::None => format!("{}, uncorrected", kind(study)),
                correction => format!("{}, {correction}", kind(study)),
            };
            let colour = match (study.order, study.correction) {
                (Some(Order::Second), CorrectionMethod::Paper) => COLOURS[0],
                (Some(Order::Second), CorrectionMethod::None) => COLOURS[5],
                (Some(Order::Second), CorrectionMethod::Balanced) => COLOURS[2],
                (Some(Order::Fourth), CorrectionMethod::Paper) => COLOURS[1],
                (Some(Order::Fourth), CorrectionMethod::None) => COLOURS[4],
                (Some(Order::Fourth), CorrectionMethod::Balanced) => COLOURS[3],
                (None, CorrectionMethod::Paper) => RGBColor(20, 20, 20),
                (None, CorrectionMethod::None) => RGBColor(140, 140, 140),
                (None, CorrectionMethod::Balanced) => RGBColor(110, 50, 170),
            };
            if curves.last().is_none_or(|curve| curve.label != label) {
                curves.push(Curve::new(label, Vec::new(), colour).stroke(Stroke::Dotted));
            }
            if let Some(curve) = curves.last_mut() {
                curve.points.push((study.n as f64, measure(study)));
            }
        }
        curves
    }

    /// Errors on logarithmic axes, with the slopes of orders 2 and 4 beside them.
    fn errors_panel(&self, y: &str, measure: impl Fn(&Study) -> f64) -> Panel {
        let mut curves = self.curves(measure);
        let mut guides = Vec::new();
        // Beside the spectral method there is no room for their names.
        let spectral = self.studies.iter().any(|study| study.order.is_none());
        for (order, grey) in [(Order::Second, 120), (Order::Fourth, 170)] {
            if spectral {
                break;
            }
            // Above the largest of the curves of this order.
            let slope = i32::from(u8::from(order));
            let name = order.to_string();
            let mine = curves.iter().filter(|curve| curve.label.starts_with(&name));
            let above = mine
                .flat_map(|curve| &curve.points)
                .map(|(n, error)| error * n.powi(slope))
                .fold(0.0, f64::max);
            if let (Some(first), Some(last)) = (self.studies.first(), self.studies.last())
                && above > 0.0
            {
                let at = |n: usize| (n as f64, 1.25 * above * (n as f64).powi(-slope));
                guides.push(
                    Curve::new(
                        format!("slope \u{2212}{order}"),
                        vec![at(first.n), at(last.n)],
                        RGBColor(grey, grey, grey),
                    )
                    .stroke(Stroke::Dashed),
                );
            }
        }
        curves.extend(guides);
        Panel::new("cells along an axis N", y, curves)
            .legend("order")
            .scale(Scale::Logarithmic)
    }

    fn errors_plot(&self) -> Figure {
        let exact = self.exact.shear;
        Figure {
            title: format!(
                "Errors of the discrete collision operator, {} molecules",
                self.model
            ),
            panels: vec![
                self.errors_panel(
                    &format!(
                        "relative L_2 error at the exact solution (pseudo-Maxwell, K = {BKW_K})"
                    ),
                    |s| s.bkw.relative,
                ),
                self.errors_panel(
                    "relative error of the decay rate of shear stress",
                    move |s| (s.shear / exact - 1.0).abs(),
                ),
            ],
        }
    }

    /// Values over the exact ones; absolute where those are unknown.
    fn ratio_panel(&self, y: &str, exact: Option<f64>, measure: Measure) -> Panel {
        let mut curves = self.curves(|s| measure(s) / exact.unwrap_or(1.0));
        if let (Some(_), Some(first), Some(last)) =
            (exact, self.studies.first(), self.studies.last())
        {
            curves.push(
                Curve::new(
                    "exact",
                    vec![(first.n as f64, 1.0), (last.n as f64, 1.0)],
                    RGBColor(90, 90, 90),
                )
                .stroke(Stroke::Dashed),
            );
        }
        let over = if exact.is_some() { " / exact" } else { "" };
        Panel::new("cells along an axis N", format!("{y}{over}"), curves).legend("order")
    }

    fn rates_plot(&self) -> Figure {
        Figure {
            title: format!("Relaxation rates, {} molecules", self.model),
            panels: vec![
                self.ratio_panel("decay rate of shear stress", Some(self.exact.shear), |s| {
                    s.shear
                }),
                self.ratio_panel("decay rate of heat flux", Some(self.exact.heat), |s| s.heat),
            ],
        }
    }

    fn viscosity_plot(&self) -> Figure {
        Figure {
            title: format!("Viscosity, {} molecules", self.model),
            panels: vec![
                self.ratio_panel("viscosity", self.exact.viscosity, |s| s.viscosity.value),
            ],
        }
    }

    fn summary(&self, total: Duration) -> String {
        let exact = &self.exact;
        let relative = |value: f64, exact: f64| format!("{:+.2}%", 100.0 * (value / exact - 1.0));
        let head = |s: &Study, half_width: f64| {
            let correction = s.correction.to_string();
            let h = 2.0 * half_width / s.n as f64;
            format!("  {:>3}  {h:.4}  {:>8}  {correction:>10}", s.n, kind(s))
        };
        let mut lines = vec![
            format!(
                "Discrete collision operator of {} molecules, sigma_T = 1, density and temperature 1",
                self.model
            ),
            format!("  backend       {}, {}", self.machine, name_of(&self.precision)),
            String::new(),
            format!("Decay rates and viscosity in [-{RATES_HALF_WIDTH}, {RATES_HALF_WIDTH}]^3"),
            "    N       h     order  correction     shear     error      heat     error  viscosity     error".into(),
        ];
        for s in &self.studies {
            let viscosity = s.viscosity.value;
            let error = exact
                .viscosity
                .map_or("-".into(), |exact| relative(viscosity, exact));
            lines.push(format!(
                "{}  {:>8.6}  {:>8}  {:>8.6}  {:>8}  {viscosity:>9.6}  {error:>8}",
                head(s, RATES_HALF_WIDTH),
                s.shear,
                relative(s.shear, exact.shear),
                s.heat,
                relative(s.heat, exact.heat),
            ));
        }
        lines.push(format!(
            "  exact                           {:>8.6}            {:>8.6}            {:>9}",
            exact.shear,
            exact.heat,
            exact
                .viscosity
                .map_or("unknown".into(), |exact| format!("{exact:.6}"))
        ));
        lines.extend([
            String::new(),
            format!(
                "Errors in [-{ERRORS_HALF_WIDTH}, {ERRORS_HALF_WIDTH}]^3: exact solution (pseudo-Maxwell, K = {BKW_K}) and Maxwellian"
            ),
            "    N       h     order  correction  exact sol.  observed   M4 rate  Maxwellian  observed".into(),
        ]);
        for s in &self.studies {
            let observed = |measure: Measure| match self.coarser(s) {
                Some(c) => {
                    let order = observed_order((c.n, measure(c)), (s.n, measure(s)));
                    format!("{order:.2}")
                }
                None => "-".into(),
            };
            lines.push(format!(
                "{}  {:>10.4e}  {:>8}  {:>8.6}  {:>10.4e}  {:>8}",
                head(s, ERRORS_HALF_WIDTH),
                s.bkw.relative,
                observed(|s| s.bkw.relative),
                s.bkw.fourth_rate,
                s.equilibrium,
                observed(|s| s.equilibrium),
            ));
        }
        lines.extend([
            format!(
                "  exact                                    0            {:>8.6}           0",
                exact.fourth_rate
            ),
            String::new(),
            format!("  wall time     {:.3} s", total.as_secs_f64()),
        ]);
        lines.join("\n")
    }
}
