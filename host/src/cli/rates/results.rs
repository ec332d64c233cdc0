//! Results of the measurements: record, tables, plots, summary.

use std::time::Duration;

use plotters::style::RGBColor;
use serde::Serialize;
use serde_json::json;

use crate::cli::output::columns;
use crate::cli::plot::{COLOURS, Curve, Figure, Panel, Scale, Stroke};
use crate::cli::report::{Output, Report};
use crate::cli::text::name_of;
use crate::cli::verify::Verified;
use crate::collision::transport::{
    BKW_K, ERRORS_HALF_WIDTH, RATES_HALF_WIDTH, Study, observed_order,
};
use crate::collision::{CorrectionMethod, Order, Scattering};
use crate::compute::Precision;
use crate::error::Result;

/// Results without discretisation.
#[derive(Debug, Serialize)]
pub(super) struct Exact {
    pub(super) shear: f64,
    pub(super) heat: f64,
    /// Unknown for variable hard spheres between the limits.
    pub(super) viscosity: Option<f64>,
    pub(super) fourth_rate: f64,
}

pub(super) struct Outcome {
    pub(super) model: Scattering,
    pub(super) machine: String,
    pub(super) precision: Precision,
    pub(super) exact: Exact,
    /// Grids in ascending order within each variant of the operator.
    pub(super) studies: Vec<Study>,
    pub(super) errors: Vec<Verified>,
    pub(super) convergence: bool,
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
    pub(super) fn report(&self, report: &mut Report) {
        report.set("machine", &self.machine);
        report.set(
            "boxes",
            json!({ "rates": RATES_HALF_WIDTH, "errors": ERRORS_HALF_WIDTH }),
        );
        report.set("exact", &self.exact);
        let studies = self.studies.iter().zip(&self.errors);
        let studies = studies.map(|(study, errors)| {
            let mut study = json!(study);
            study["discretisation_error"] = errors.errors();
            study
        });
        report.set("studies", studies.collect::<Vec<_>>());
    }

    pub(super) fn write(&self, out: &mut Output) -> Result<()> {
        out.put("rates.csv", &self.rates_table()?)?;
        out.put("errors.csv", &self.errors_table()?)?;
        if self.convergence {
            out.plot("errors.png", self.errors_plot());
            out.plot("rates.png", self.rates_plot());
            out.plot("viscosity.png", self.viscosity_plot());
        }
        Ok(())
    }

    fn rates_table(&self) -> Result<Vec<u8>> {
        let exact = &self.exact;
        columns!(&self.studies, |s| [
            ("n", s.n),
            ("h", 2.0 * RATES_HALF_WIDTH / s.n as f64),
            ("order", s.order),
            ("corrected", s.corrected),
            ("shear_rate", s.shear),
            ("heat_rate", s.heat),
            ("viscosity", s.viscosity.value),
            ("shear_error", s.shear / exact.shear - 1.0),
            ("heat_error", s.heat / exact.heat - 1.0),
            (
                "viscosity_error",
                exact.viscosity.map(|exact| s.viscosity.value / exact - 1.0)
            ),
            ("viscosity_residual", s.viscosity.residual),
            ("method", s.method),
            ("correction", s.correction),
        ])
    }

    fn errors_table(&self) -> Result<Vec<u8>> {
        columns!(&self.studies, |s| [
            ("n", s.n),
            ("h", 2.0 * ERRORS_HALF_WIDTH / s.n as f64),
            ("order", s.order),
            ("corrected", s.corrected),
            ("bkw_error", s.bkw.relative),
            ("bkw_fourth_rate", s.bkw.fourth_rate),
            ("equilibrium_error", s.equilibrium),
            ("method", s.method),
            ("correction", s.correction),
        ])
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

    pub(super) fn summary(&self, total: Duration) -> String {
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
