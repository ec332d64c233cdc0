//! Results of a shock wave: record, tables, plots, summary.

use serde_json::{Map, Value, json};

use super::parameters::ShockArgs;
use crate::bgk::{RotatingMoments, ShockPoint, ShockProfile, mean_free_path};
use crate::cli::flow::{Counts, Outcome};
use crate::cli::known::{self, Point};
use crate::cli::output::{self, Quantity};
use crate::cli::plot::{COLOURS, Curve, Figure, Panel, Stroke};
use crate::cli::report::Output;
use crate::cli::rotation::{self, Rotates, recorded};
use crate::cli::summary::Summary;
use crate::cli::text::{fixed, short};
use crate::cli::verify::Verified;
use crate::collision::Scattering;
use crate::error::Result;

/// A cell of the profile: its moments, and what it has of rotation.
type Row<'a> = (&'a ShockPoint, RotatingMoments);

impl Rotates for Row<'_> {
    fn rotating(&self) -> &RotatingMoments {
        &self.1
    }
}

/// Names of the fluxes that are constant along the wave.
const FLUXES: [&str; 3] = ["mass", "momentum", "energy"];

/// The results of a run.
pub(in crate::cli) struct Found {
    pub(super) profile: ShockProfile,
    /// Rotation of the cells; empty where the molecules do not rotate.
    pub(super) rotation: Vec<RotatingMoments>,
    /// Mass, momentum and energy through the faces: the mean.
    pub(super) fluxes: [f64; 3],
    /// The spread relative to it.
    pub(super) spread: [f64; 3],
}

impl Outcome<ShockArgs> {
    /// Adds the errors of results that are the thickness or an extreme in other units.
    pub(super) fn derive(&self, errors: &mut Verified) {
        let thickness = self.found.profile.thickness();
        let path = self.mean_free_path();
        errors.derive("thickness_mean_free_paths", "thickness", path.recip());
        errors.derive("inverse_thickness", "thickness", path / thickness.powi(2));
        if let Some(units) = &self.units {
            let mach = self.flow.mach_of_gas();
            let [before, after] = [mach.upstream(), mach.downstream()].map(|s| s.temperature);
            errors.derive("thickness_m", "thickness", units.length_m);
            errors.derive(
                "least_heat_flux_w_m2",
                "least_heat_flux",
                units.heat_flux_w_m2,
            );
            let kelvin = (after - before) * units.temperature_k;
            errors.derive("largest_temperature_k", "largest_temperature", kelvin);
        }
    }

    /// The mean free path upstream of the gas itself, in l0.
    fn mean_free_path(&self) -> f64 {
        mean_free_path(self.flow.shared.gas.scattering())
    }

    /// Results and conservation in the record.
    pub(super) fn record(&self) -> (Value, Value) {
        let Found {
            profile,
            fluxes,
            spread,
            ..
        } = &self.found;
        let named = |values: &[f64; 3]| -> Map<String, Value> {
            let pairs = FLUXES.iter().zip(values);
            pairs
                .map(|(name, value)| ((*name).to_owned(), json!(value)))
                .collect()
        };
        let (exact, pointwise) = profile.fluxes();
        let extremes = profile.extremes();
        let thickness = profile.thickness();
        let mach = self.flow.mach_of_gas();
        let mut result = json!({
            "thickness": thickness,
            "mean_free_path": self.mean_free_path(),
            "thickness_mean_free_paths": thickness / self.mean_free_path(),
            "inverse_thickness": self.mean_free_path() / thickness,
            "thickness_hard_sphere_paths": thickness / mean_free_path(Scattering::HardSphere),
            "midpoint": profile.midpoint,
            "least_heat_flux": extremes.least_heat_flux,
            "largest_temperature": extremes.largest_temperature,
            "upstream": mach.upstream(),
            "downstream": mach.downstream(),
        });
        if let Some(rotation) = self.flow.shared.gas.gas().rotating() {
            result["rotation"] = recorded(&rotation);
        }
        if let Some(units) = &self.units {
            result["thickness_m"] = json!(thickness * units.length_m);
            result["least_heat_flux_w_m2"] = json!(extremes.least_heat_flux * units.heat_flux_w_m2);
            let [before, after] = [mach.upstream(), mach.downstream()].map(|s| s.temperature);
            let largest = before + extremes.largest_temperature * (after - before);
            result["largest_temperature_k"] = json!(largest * units.temperature_k);
        }
        let conservation = json!({
            "exact_fluxes": named(&exact),
            "fluxes": named(fluxes),
            "flux_spread": named(spread),
            "pointwise_flux_spread": named(&pointwise),
        });
        (result, conservation)
    }

    /// Writes tables and plots.
    pub(super) fn write(&self, out: &mut Output) -> Result<()> {
        out.put("profile.csv", &self.profile_table()?)?;
        out.plot("profile.png", self.plot());
        Ok(())
    }

    /// The profile in the units of the solver, and beside it in SI units where the case was in these.
    fn profile_table(&self) -> Result<Vec<u8>> {
        let mut quantities: Vec<Quantity<Row>> = vec![
            ("x", |p| p.0.x, Some(("x_m", |u| u.length_m))),
            (
                "density",
                |p| p.0.density,
                Some(("density_kg_m3", |u| u.density_kg_m3)),
            ),
            (
                "velocity",
                |p| p.0.velocity,
                Some(("velocity_m_s", |u| u.velocity_m_s)),
            ),
            (
                "temperature",
                |p| p.0.temperature,
                Some(("temperature_k", |u| u.temperature_k)),
            ),
            ("pxx", |p| p.0.pxx, Some(("pxx_pa", |u| u.pressure_pa))),
            (
                "heat_flux",
                |p| p.0.heat_flux,
                Some(("heat_flux_w_m2", |u| u.heat_flux_w_m2)),
            ),
        ];
        let rotating = &self.found.rotation;
        if !rotating.is_empty() {
            quantities.extend(rotation::columns());
        }
        let points = self.found.profile.points.iter().enumerate();
        let rows = points.map(|(cell, p)| (p, rotating.get(cell).copied().unwrap_or_default()));
        output::profile(&quantities, rows, self.units.as_ref())
    }

    fn title(&self) -> String {
        let p = &self.flow;
        format!(
            "Shock wave at Ma = {}, {}, {} cells × {} velocities",
            short(f64::from(p.mach)),
            p.collisions.name(&p.shared.gas),
            p.cells(),
            Counts(p.counts().to_vec()).in_title()
        )
    }

    /// The converged profile of this wave within the region that is shown, if there is one.
    fn known(&self, reach: f64) -> Vec<Point> {
        let flow = &self.flow;
        let mut known = if flow.collisions.is_boltzmann() {
            Vec::new()
        } else {
            known::shock(flow.mach.into(), &flow.shared.gas.gas())
        };
        known.retain(|p| p.x > -reach && p.x < 0.7 * reach);
        known
    }

    /// The profiles between the ends of the region in which something changes.
    fn plot(&self) -> Figure {
        let mach = self.flow.mach_of_gas();
        let (before, after) = (mach.upstream(), mach.downstream());
        let reach = 4.0 * self.found.profile.thickness();
        let is_shown = |p: &ShockPoint| p.x > -reach && p.x < 0.7 * reach;
        let points = || self.found.profile.points.iter();
        let shown: Vec<_> = points().filter(|p| is_shown(p)).collect();
        // Heat fluxes and positions of a case in SI units are in these.
        let (long, warm) = match &self.units {
            Some(units) => (units.length_m, units.heat_flux_w_m2),
            None => (1.0, 1.0),
        };
        let (x_label, q_label) = match &self.units {
            Some(_) => (
                "position x in m, from the density's midpoint",
                "heat flux q in W/m²",
            ),
            None => (
                "position x / l_0, from the density's midpoint",
                "q / (ρ_1 v_0³)",
            ),
        };
        let share = |of: &dyn Fn(&ShockPoint) -> f64, a: f64, b: f64| {
            shown
                .iter()
                .map(|p| (long * p.x, (of(p) - a) / (b - a)))
                .collect::<Vec<_>>()
        };
        let curve = |label: &str, colour: usize, points| Curve::new(label, points, COLOURS[colour]);
        let panel = |y: &str, curves| Panel::new(x_label, y, curves);
        let q = shown
            .iter()
            .map(|p| (long * p.x, warm * p.heat_flux))
            .collect();
        let known = self.known(reach);
        let dots = |label: &str, colour: usize, of: &dyn Fn(&Point) -> f64| {
            let points = known.iter().map(|p| (long * p.x, of(p)));
            (!known.is_empty())
                .then(|| Curve::new(label, points, COLOURS[colour]).stroke(Stroke::Points))
        };
        let mut jumps = vec![
            curve(
                "density",
                0,
                share(&|p| p.density, before.density, after.density),
            ),
            curve(
                "velocity",
                2,
                share(&|p| p.velocity, before.velocity[0], after.velocity[0]),
            ),
            curve(
                "temperature",
                1,
                share(&|p| p.temperature, before.temperature, after.temperature),
            ),
        ];
        let (places, rotating): (Vec<f64>, Vec<_>) = points()
            .zip(&self.found.rotation)
            .filter(|(p, _)| is_shown(p))
            .map(|(p, m)| (long * p.x, *m))
            .unzip();
        let [cold, hot] = [before.temperature, after.temperature];
        jumps.extend(rotation::curves(&places, &rotating, |t| {
            (t - cold) / (hot - cold)
        }));
        jumps.extend(dots("density, converged", 0, &|p| p.density));
        jumps.extend(dots("temperature, converged", 1, &|p| p.temperature));
        let mut heat = vec![curve("heat flux", 3, q)];
        heat.extend(dots("heat flux, converged", 3, &|p| warm * p.heat_flux));
        Figure {
            title: self.title(),
            panels: vec![panel("share of the jump", jumps), panel(q_label, heat)],
        }
    }

    /// The summary up to the time that it took.
    pub(super) fn found_in_words(&self) -> Summary {
        let thickness = self.found.profile.thickness();
        let path = self.mean_free_path();
        let spread = self.found.spread.iter().fold(0.0, |a: f64, b| a.max(*b));
        let [before, after] = self.flow.sides();
        let summary = Summary::new(self.title()).row(
            "domain",
            format!("{} l0 upstream, {} downstream", short(before), short(after)),
        );
        let si = self.units.as_ref().map(|units| {
            format!(
                "thickness {} m, l0 = {} m, T1 = {} K",
                short(thickness * units.length_m),
                short(units.length_m),
                short(units.temperature_k)
            )
        });
        self.on_the_way(summary)
            .row(
                "thickness",
                format!(
                    "{thickness:.4} l0 = {:.4} mean free paths of {} l0; 1/thickness {:.4}",
                    thickness / path,
                    fixed(path, 4),
                    path / thickness
                ),
            )
            .row_if("in SI units", si)
            .row("fluxes", format!("constant to {spread:.1e}"))
    }
}
