//! Results of a cavity: record, fields, plots, summary.

use plotters::style::RGBColor;
use serde_json::{Value, json};

use super::parameters::CavityArgs;
use crate::bgk::{Cavity, CavityResults, FaceFlux, Model, Moments, RotatingMoments, Space, Units};
use crate::cli::contour::contour;
use crate::cli::flow::{Counts, Outcome, image};
use crate::cli::known;
use crate::cli::output;
use crate::cli::plot::{COLOURS, Curve, Figure, Map, Panel, Stroke, round_levels};
use crate::cli::report::Output;
use crate::cli::rotation::{self, recorded};
use crate::cli::summary::Summary;
use crate::cli::text::{fixed, short};
use crate::cli::vti::Image;
use crate::error::Result;

/// The results of a run.
pub(in crate::cli) struct Found {
    pub(super) cavity: Cavity,
    pub(super) results: CavityResults,
    pub(super) moments: Vec<Moments>,
    /// Rotation of the cells; empty where the molecules do not rotate.
    pub(super) rotation: Vec<RotatingMoments>,
    pub(super) fluxes: [FaceFlux; 4],
}

impl Outcome<CavityArgs> {
    /// Results and conservation in the record.
    pub(super) fn record(&self) -> (Value, Value) {
        let CavityResults {
            drag_wall,
            drag_cell,
            flow,
            centre,
        } = self.found.results;
        let mut result = json!({
            "D": drag_wall,
            "D_wall": drag_wall,
            "D_cell": drag_cell,
            "G": flow,
            "vortex_centre": centre / self.found.cavity.delta,
        });
        if let Some(rotation) = self.found.cavity.gas.rotating() {
            result["rotation"] = recorded(&rotation);
        }
        let moments = &self.found.moments;
        let mass = moments.iter().map(|m| m.density).sum::<f64>() / moments.len() as f64;
        let [left, right, bottom, top] = self.found.fluxes;
        let conservation = json!({
            "mass_drift": mass - 1.0,
            "walls": { "left": left, "right": right, "bottom": bottom, "top": top },
        });
        (result, conservation)
    }

    /// Writes fields, tables and plots.
    pub(super) fn write(&self, out: &mut Output) -> Result<()> {
        self.write_fields(out, "fields.vti", None)?;
        if let Some(units) = &self.units {
            self.write_fields(out, "fields_si.vti", Some(units))?;
        }
        let cavity = &self.found.cavity;
        let vertical = self.centre_line(cavity.vertical(&self.found.moments));
        let horizontal = self.centre_line(cavity.horizontal(&self.found.moments));
        out.put("vertical.csv", &self.line_table(["y", "ux"], &vertical)?)?;
        out.put(
            "horizontal.csv",
            &self.line_table(["x", "uy"], &horizontal)?,
        )?;
        out.plot("profiles.png", self.profile_plot(&vertical, &horizontal));
        out.plot("streamlines.png", self.streamline_plot());
        out.plot("temperature.png", self.temperature_plot());
        Ok(())
    }

    /// The fields as arrays, and for VTK.
    fn write_fields(&self, out: &mut Output, vti: &str, units: Option<&Units>) -> Result<()> {
        let n = self.found.cavity.cells;
        let precision = self.flow.shared.common.precision;
        let fields = self.fields(units)?;
        for (name, values) in &fields.scalars {
            out.array(&format!("{name}.npy"), &[n, n], values, precision)?;
        }
        for (name, values) in &fields.vectors {
            let flat: Vec<f64> = values.iter().flat_map(|[x, y, _]| [*x, *y]).collect();
            out.array(&format!("{name}.npy"), &[n, n, 2], &flat, precision)?;
        }
        let [name_x, name_y] = if units.is_some() {
            ["grid_x_m.npy", "grid_y_m.npy"]
        } else {
            ["grid_x.npy", "grid_y.npy"]
        };
        let centres = |axis: usize| -> Vec<f64> {
            let place = |i: usize| fields.origin[axis] + (i as f64 + 0.5) * fields.spacing[axis];
            (0..n).map(place).collect()
        };
        out.grid(name_x, &centres(0))?;
        out.grid(name_y, &centres(1))?;
        out.put(vti, &fields.encode())
    }

    /// The fields of the cells, in SI units if these are given.
    fn fields(&self, units: Option<&Units>) -> Result<Image<'static>> {
        let side = [0.0, self.found.cavity.delta];
        let space = Space::rectangle([self.found.cavity.cells; 2], side, side)?;
        let mut fields = image(&space, &self.found.moments, units);
        rotation::add_fields(&mut fields, &self.found.rotation, units);
        Ok(fields)
    }

    /// A centre line over its share of the side.
    fn centre_line(&self, (s, u): (Vec<f64>, Vec<f64>)) -> Vec<(f64, f64)> {
        let share = s.into_iter().map(|s| s / self.found.cavity.delta);
        share.zip(u).collect()
    }

    /// A centre line as a table, with metres and metres a second where the case was in SI units.
    fn line_table(&self, [place, speed]: [&str; 2], line: &[(f64, f64)]) -> Result<Vec<u8>> {
        let Some((long, fast)) = self.scales() else {
            return output::table(&[place, speed], line);
        };
        let columns = [place, speed, &format!("{place}_m"), &format!("{speed}_m_s")];
        let rows = line.iter().map(|(s, u)| (s, u, long * s, fast * u));
        output::table(&columns, rows)
    }

    /// The side in m and the speed of the lid in m/s.
    fn scales(&self) -> Option<(f64, f64)> {
        let units = self.units.as_ref()?;
        Some((
            units.length_m * self.found.cavity.delta,
            units.velocity_m_s * self.found.cavity.lid,
        ))
    }

    fn title(&self, what: &str) -> String {
        let p = &self.flow;
        format!(
            "{what}, δ = {}, {}, {} × {} cells, {} velocities",
            short(p.delta()),
            p.collisions.name(&p.shared.gas),
            p.cells(),
            p.cells(),
            Counts(p.counts().to_vec()).in_title()
        )
    }

    /// Converged velocities on the vertical centre line, where they are known of this flow.
    fn known(&self) -> Option<Vec<(f64, f64)>> {
        let flow = &self.flow;
        // Up to this speed a flow is linear to a thousandth.
        let linear = flow.linear || flow.lid.abs() <= 0.02;
        let bgk = flow.shared.gas.model() == Model::Bgk && !flow.collisions.is_boltzmann();
        let usual = bgk && flow.accommodation == 1.0;
        known::centre_line(flow.delta()).filter(|_| linear && usual)
    }

    /// Velocities on the centre lines, in metres and metres a second where the case was in SI units.
    fn profile_plot(&self, vertical: &[(f64, f64)], horizontal: &[(f64, f64)]) -> Figure {
        let (long, fast) = self.scales().unwrap_or((1.0, 1.0));
        let [of_side, of_lid, side] = match self.units {
            Some(_) => [" in m", " in m/s", "L"],
            None => [" / δ", " / U", "δ"],
        };
        let panel = |place: &str, speed: &str, across: &str, colour: usize, line: &[(f64, f64)]| {
            let points = line.iter().map(|(s, u)| (long * s, fast * u));
            let label = format!("at {across} = {side}/2");
            let mut curves = vec![Curve::new(label, points, COLOURS[colour])];
            let known = (across == "x").then(|| self.known()).flatten();
            curves.extend(known.map(|points| {
                let points = points.into_iter().map(|(s, u)| (long * s, fast * u));
                Curve::new("converged", points, COLOURS[colour]).stroke(Stroke::Points)
            }));
            Panel::new(
                format!("{place}{of_side}"),
                format!("{speed}{of_lid}"),
                curves,
            )
            .reach((0.0, long))
        };
        Figure {
            title: self.title("Velocity on the centre lines"),
            panels: vec![
                panel("height y", "u_x", "x", 0, vertical),
                panel("position x", "u_y", "y", 1, horizontal),
            ],
        }
    }

    /// A map of a field with streamlines on it.
    fn map(&self, what: &str, legend: &str, map: Map) -> Figure {
        let (long, axis) = match self.scales() {
            Some((side, _)) => (side, "in m"),
            None => (1.0, "/ δ"),
        };
        let stream = self.stream();
        let mut curves = Vec::new();
        for (level, _) in &stream.levels {
            let lines = contour(&stream.values, &self.centres(), &self.centres(), *level);
            curves.extend(lines.into_iter().map(|points| {
                Curve::new(&stream.label, points, RGBColor(20, 20, 20)).stroke(Stroke::Thin)
            }));
        }
        // One curve names all of them.
        curves
            .iter_mut()
            .skip(1)
            .for_each(|curve| curve.label.clear());
        Figure {
            title: self.title(what),
            panels: vec![
                Panel::new(format!("x {axis}"), format!("y {axis}"), curves)
                    .over(map, (0.0, long))
                    .legend(legend),
            ],
        }
    }

    /// Centres of the cells along a side, in shares of it or in metres.
    fn centres(&self) -> Vec<f64> {
        let n = self.found.cavity.cells;
        let long = self.scales().map_or(1.0, |(side, _)| side);
        let place = |i: usize| long * (i as f64 + 0.5) / n as f64;
        (0..n).map(place).collect()
    }

    /// The stream function, the mass that flows between the bottom and a point, and round levels of it.
    fn stream(&self) -> Stream {
        let n = self.found.cavity.cells;
        let (mass, unit) = match (&self.units, self.scales()) {
            (Some(units), Some((side, lid))) => (units.density_kg_m3 * lid * side, " kg/(m s)"),
            _ => (1.0, " n_0 U δ"),
        };
        let h = mass / n as f64;
        let mut values = vec![0.0; n * n];
        for ix in 0..n {
            let mut below = 0.0;
            for iy in 0..n {
                let m = &self.found.moments[iy * n + ix];
                let flux = h * m.density * m.velocity[0] / self.found.cavity.lid;
                values[iy * n + ix] = below + 0.5 * flux;
                below += flux;
            }
        }
        let levels = streamline_levels(&values);
        let label = match &levels[..] {
            [(_, first), (_, second), ..] => format!("ψ = {first}, {second}, …{unit}"),
            [(_, only)] => format!("ψ = {only}{unit}"),
            [] => String::new(),
        };
        Stream {
            values,
            levels,
            label,
        }
    }

    /// The speed of the gas, with streamlines.
    fn streamline_plot(&self) -> Figure {
        let (scale, legend) = match &self.units {
            Some(units) => (units.velocity_m_s, "speed |u| in m/s"),
            None => (1.0 / self.found.cavity.lid.abs(), "speed |u| / U"),
        };
        let speeds = self
            .found
            .moments
            .iter()
            .map(|m| scale * m.velocity[0].hypot(m.velocity[1]));
        let map = Map::new(&self.centres(), speeds.collect(), 10.0);
        self.map("Speed and streamlines", legend, map)
    }

    fn temperature_plot(&self) -> Figure {
        let (scale, legend) = match &self.units {
            Some(units) => (units.temperature_k, "T \u{2212} T_0 in K"),
            None => (
                1.0 / self.found.cavity.lid.abs(),
                "(T/T_0 \u{2212} 1) v_0/U",
            ),
        };
        let departures = self
            .found
            .moments
            .iter()
            .map(|m| scale * (m.temperature - 1.0));
        let values: Vec<f64> = departures.collect();
        let mut sorted = values.clone();
        sorted.sort_by(f64::total_cmp);
        // Levels lie between the values that a hundredth of the cells is below or above: the corners are far out.
        let ends = [sorted[sorted.len() / 100], sorted[sorted.len() * 99 / 100]];
        let levels = round_levels(ends.into_iter(), 9.0);
        let map = Map::with_levels(&self.centres(), values, levels).signed();
        self.map("Temperature and streamlines", legend, map)
    }

    /// The summary up to the time that it took.
    pub(super) fn found_in_words(&self) -> Summary {
        let r = &self.found.results;
        let lid = format!("U = {} v0", short(self.flow.lid));
        self.on_the_way(Summary::new(self.title("Driven cavity")).row("lid", lid))
            .row(
                "drag",
                format!(
                    "D = {} at the wall, {} in the first row of cells",
                    fixed(r.drag_wall, 5),
                    fixed(r.drag_cell, 5)
                ),
            )
            .row(
                "flow rate",
                format!(
                    "G = {}, vortex centre at y/delta = {:.4}",
                    fixed(r.flow, 5),
                    r.centre / self.found.cavity.delta
                ),
            )
    }
}

/// A stream function on the cells, with its levels and their name in a legend.
struct Stream {
    values: Vec<f64>,
    levels: Vec<(f64, String)>,
    label: String,
}

/// Round levels of the stream function between 0 and its extreme: the least value of a vortex below the lid, and of a flow that has just begun, which does
/// not return yet, the largest.
fn streamline_levels(stream: &[f64]) -> Vec<(f64, String)> {
    let further = |extreme: f64, &value: &f64| {
        if value.abs() > extreme.abs() {
            value
        } else {
            extreme
        }
    };
    let extreme = stream.iter().fold(0.0, further);
    let mut levels = round_levels([0.0, extreme].into_iter(), 8.0);
    // From the walls inwards.
    levels.sort_by(|a, b| a.0.abs().total_cmp(&b.0.abs()));
    levels
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streamlines_lie_within_the_flow_whichever_way_it_turns() {
        for (stream, extreme) in [([-0.1, -0.02, 0.003], -0.1), ([-1e-6, 0.01, 0.04], 0.04)] {
            let levels = streamline_levels(&stream);
            assert!(levels.len() > 3);
            for (level, _) in levels {
                assert_eq!(level.signum(), f64::signum(extreme));
                assert!(level.abs() < f64::abs(extreme));
                assert!((200.0 * level - (200.0 * level).round()).abs() < 1e-9);
            }
        }
        assert!(
            streamline_levels(&[0.0; 4])
                .iter()
                .all(|(level, _)| level.is_finite())
        );
    }
}
