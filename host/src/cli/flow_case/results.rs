//! Results of a flow past bodies: the record, fields for VTK, tables, summary.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::{facets, surface};
use crate::accuracy::Estimate;
use crate::bgk::Units;
use crate::cli::appended::Volume;
use crate::cli::output::columns;
use crate::cli::report::Output;
use crate::cli::rotation::recorded;
use crate::cli::summary::Summary;
use crate::cli::text::short;
use crate::cli::verify::Verified;
use crate::cli::vti::{Image, Rectilinear};
use crate::error::{Error, Result};
use crate::flow::{
    Case, ErrorsByKey, FacetPoint, Findings, Flux, ResultErrors, Segment, Side, along_outlines,
    smoothed,
};

/// Key of the errors of an object's numbers.
const ERRORS: &str = "discretisation_error";
/// Widths of cells that differ by less than this share are one.
const UNIFORM: f64 = 1e-9;

/// A solved case.
pub(super) struct Outcome {
    pub(super) case: Case,
    pub(super) found: Findings,
    pub(super) segments: Vec<Segment>,
    /// Facets with means over their neighbours.
    pub(super) facets: Vec<FacetPoint>,
    /// Units of the case in SI units.
    pub(super) units: Option<Units>,
    verified: Verified,
    errors: Option<ResultErrors>,
}

impl Outcome {
    pub(super) fn new(case: Case, found: Findings, verified: Verified) -> Result<Self> {
        let units = case.gas.si.map(|si| si.units()).transpose()?;
        let errors = ResultErrors::new(&case, &found, verified.findings());
        let segments = along_outlines(&case, &found.surface);
        let facets = smoothed(&found.facets);
        Ok(Self {
            case,
            found,
            segments,
            facets,
            units,
            verified,
            errors,
        })
    }

    /// `result` of the record.
    pub(super) fn result(&self) -> Value {
        let found = &self.found;
        let bodies = found.bodies.iter().enumerate().map(|(at, loads)| {
            let mut body = json!(loads);
            let mut factors = Vec::new();
            if let Some([force, power, long]) = self.scales() {
                for (key, from, factor) in self.load_keys(force, power, long) {
                    if let Some(value) = body[from].as_f64() {
                        body[key] = json!(factor * value);
                        factors.push((key, from, factor));
                    }
                }
            }
            let errors = self.errors.as_ref().map(|errors| &errors.bodies[at]);
            body[ERRORS] = in_units(errors, &factors);
            body
        });
        let whole = self.errors.as_ref().map(|errors| &errors.whole);
        let mut result = json!({
            "bodies": bodies.collect::<Vec<_>>(),
            "sides": self.sides(),
            "mass_flow": found.mass_flow(),
            "energy_flow": found.energy_flow(),
            "passages": self.passages(),
            "cells": found.cells,
            "nodes": found.nodes,
            "iterations": found.iterations,
            "change": found.change,
            "balance": self.flux(&found.balance),
            ERRORS: in_units(whole, &self.through()),
        });
        for (key, from, factor) in self.through() {
            let value = result[from].as_f64().unwrap_or(f64::NAN);
            result[key] = json!(factor * value);
        }
        if let Some(accuracy) = self.verified.accuracy() {
            result["accuracy"] = accuracy;
        }
        if let Some(negative) = &found.negative_equilibrium {
            result["negative_equilibrium"] = json!(negative);
        }
        if let Some(rotation) = &self.case.gas.rotation {
            result["rotation"] = recorded(rotation);
        }
        result
    }

    /// Keys of loads in SI units with those of the case, and the factors between them: of a whole body, in a plane of a metre of span.
    fn load_keys(
        &self,
        force: f64,
        power: f64,
        long: f64,
    ) -> Vec<(&'static str, &'static str, f64)> {
        match self.case.is_whole() {
            false => vec![
                ("force_x_n_m", "force_x", force),
                ("force_y_n_m", "force_y", force),
                ("moment_n", "moment", force * long),
                ("heat_w_m", "heat", power),
            ],
            true => vec![
                ("force_x_n", "force_x", force),
                ("force_y_n", "force_y", force),
                ("force_z_n", "force_z", force),
                ("moment_n_m", "moment", force * long),
                ("moment_x_n_m", "moment_x", force * long),
                ("moment_y_n_m", "moment_y", force * long),
                ("heat_w", "heat", power),
                ("area_m2", "area", long * long),
                ("frontal_area_m2", "frontal_area", long * long),
            ],
        }
    }

    /// Keys of the flows through the domain in SI units, and the factors from those of the case.
    fn through(&self) -> Vec<(&'static str, &'static str, f64)> {
        let (Some(mass), Some([_, power, _])) = (self.mass_unit(), self.scales()) else {
            return Vec::new();
        };
        match self.case.is_whole() {
            false => vec![
                ("mass_flow_kg_s_m", "mass_flow", mass),
                ("energy_flow_w_m", "energy_flow", power),
            ],
            true => vec![
                ("mass_flow_kg_s", "mass_flow", mass),
                ("energy_flow_w", "energy_flow", power),
            ],
        }
    }

    /// Unit of a mass flow: of a unit of span in kg/(s m), of whole bodies in kg/s.
    fn mass_unit(&self) -> Option<f64> {
        let (units, si) = (self.units?, self.case.gas.si?);
        Some(units.density_kg_m3 * units.velocity_m_s * self.across(si.length))
    }

    /// The unit of what walls and sides sum up: a length in a plane, else its square.
    fn across(&self, length: f64) -> f64 {
        match self.case.is_whole() {
            true => length * length,
            false => length,
        }
    }

    /// Passages between sides, with conductance and throughput in SI units, in a plane of a metre of span.
    fn passages(&self) -> Vec<Value> {
        let passages = self.found.passages.iter().enumerate();
        passages
            .map(|(at, passage)| {
                let mut value = json!(passage);
                let factors = self.passage_keys();
                for (key, from, factor) in &factors {
                    if let Some(number) = value[from].as_f64() {
                        value[key] = json!(factor * number);
                    }
                }
                let errors = self.errors.as_ref().map(|errors| &errors.passages[at]);
                value[ERRORS] = in_units(errors, &factors);
                if let Some(errors) = value[ERRORS].as_object().cloned() {
                    // A passage without an opening has no transmission.
                    let of_numbers = errors.into_iter().filter(|(key, _)| value[key].is_f64());
                    value[ERRORS] = of_numbers.collect();
                }
                value
            })
            .collect()
    }

    /// Keys of passages in SI units with those of the case, and the factors between them.
    fn passage_keys(&self) -> Vec<(&'static str, &'static str, f64)> {
        let (Some(units), Some([.., long])) = (&self.units, self.scales()) else {
            return Vec::new();
        };
        // Throughput over pressure: n0 k T0 is p0, half of the unit rho0 v0^2 of pressures.
        let metric = units.velocity_m_s * self.across(long);
        let throughput = 0.5 * units.pressure_pa * units.velocity_m_s * long * long;
        let mut keys = match self.case.is_whole() {
            true => vec![
                ("conductance_m3_s", "conductance", metric),
                ("conductance_l_s", "conductance", 1e3 * metric),
                ("flow_pa_m3_s", "flow", throughput),
            ],
            false => vec![("conductance_m2_s", "conductance", metric)],
        };
        keys.push(("permeability_m2", "permeability", long * long));
        keys
    }

    /// Units of forces and powers, of whole bodies in N and W, of a unit of span in N/m and W/m, and of lengths in m.
    fn scales(&self) -> Option<[f64; 3]> {
        let (units, si) = (self.units?, self.case.gas.si?);
        Some([
            units.pressure_pa * self.across(si.length),
            units.heat_flux_w_m2 * self.across(si.length),
            si.length,
        ])
    }

    /// Keys of flows out of the domain in SI units, and the factors from those of the case.
    fn outwards(&self) -> Vec<(&'static str, &'static str, f64)> {
        let (Some(mass), Some([force, power, _])) = (self.mass_unit(), self.scales()) else {
            return Vec::new();
        };
        match self.case.is_whole() {
            false => vec![
                ("mass_kg_s_m", "mass", mass),
                ("momentum_x_n_m", "momentum_x", force),
                ("momentum_y_n_m", "momentum_y", force),
                ("energy_w_m", "energy", power),
            ],
            true => vec![
                ("mass_kg_s", "mass", mass),
                ("momentum_x_n", "momentum_x", force),
                ("momentum_y_n", "momentum_y", force),
                ("momentum_z_n", "momentum_z", force),
                ("energy_w", "energy", power),
            ],
        }
    }

    /// Flows out of the domain, in SI units too where the case is in these.
    fn flux(&self, flux: &Flux) -> Value {
        let mut object = json!(flux);
        for (key, from, factor) in self.outwards() {
            if let Some(value) = object[from].as_f64() {
                object[key] = json!(factor * value);
            }
        }
        object
    }

    /// The sides by their names; the halves of a split one, `top.left` and `top.right`, are within it.
    fn sides(&self) -> Value {
        let mut sides = Map::new();
        for (at, (name, flux)) in self.found.sides.iter().enumerate() {
            let mut flux = self.flux(flux);
            let errors = self.errors.as_ref().map(|errors| &errors.sides[at]);
            flux[ERRORS] = in_units(errors, &self.outwards());
            match name.split_once(['.', ' ', '_']) {
                None => {
                    sides.insert(name.clone(), flux);
                }
                Some((side, half)) => {
                    let whole = sides.entry(side).or_insert_with(|| json!({}));
                    whole[half] = flux;
                }
            }
        }
        Value::Object(sides)
    }

    /// Writes tables and fields.
    pub(super) fn write(&self, out: &mut Output) -> Result<()> {
        let case = toml::to_string_pretty(&self.case)
            .map_err(|e| Error::Numerical(format!("the case could not be written: {e}")))?;
        out.put("case.toml", case.as_bytes())?;
        let history = (1..).zip(&self.found.history);
        let history = columns!(history, |(iteration, change)| [
            ("iteration", iteration),
            ("change", change)
        ]);
        out.put("history.csv", &history?)?;
        let wanted = self.case.output;
        if wanted.surface && !self.segments.is_empty() {
            out.put("surface.csv", &surface::table(&self.case, &self.segments)?)?;
            out.put("walls.vtp", &surface::lines(&self.segments))?;
        }
        if wanted.surface && !self.facets.is_empty() {
            out.put(
                "surface.csv",
                &facets::table(&self.case, &self.found.facets, &self.facets)?,
            )?;
            out.put(
                "walls.vtp",
                &facets::polygons(&self.found.facets, &self.facets)?,
            )?;
        }
        if wanted.fields {
            self.write_fields(out, None)?;
            if let Some(units) = &self.units {
                self.write_fields(out, Some(units))?;
            }
        }
        Ok(())
    }

    /// The fields of the cells: an image where all cells are squares of one size, else a rectilinear grid.
    fn write_fields(&self, out: &mut Output, units: Option<&Units>) -> Result<()> {
        let fields = &self.found.fields;
        let long = match (units, self.case.gas.si) {
            (Some(_), Some(si)) => si.length,
            _ => 1.0,
        };
        let edges = [&fields.x, &fields.y, &fields.z];
        let edges = edges.map(|edges| edges.iter().map(|x| long * x).collect::<Vec<f64>>());
        let scaled = |values: &[f64], unit: f64| values.iter().map(|v| unit * v).collect();
        let unit = |of: fn(&Units) -> f64| units.map_or(1.0, of);
        let vector = |[x, y, z]: [&[f64]; 3], unit: f64| -> Vec<[f64; 3]> {
            let pairs = x.iter().zip(y).enumerate();
            let z = |at: usize| z.get(at).copied().unwrap_or(0.0);
            let each = pairs.map(|(at, (x, y))| [unit * x, unit * y, unit * z(at)]);
            each.collect()
        };
        // p0 is half of rho0 v0^2.
        let pressure = match units {
            Some(units) => 0.5 * units.pressure_pa,
            None => 1.0,
        };
        let mut scalars = vec![
            ("gas", fields.gas.clone()),
            (
                "density",
                scaled(&fields.density, unit(|u| u.density_kg_m3)),
            ),
            (
                "temperature",
                scaled(&fields.temperature, unit(|u| u.temperature_k)),
            ),
            ("pressure", scaled(&self.pressure(), pressure)),
        ];
        let mut vectors = vec![
            (
                "velocity",
                vector(
                    [&fields.velocity_x, &fields.velocity_y, &fields.velocity_z],
                    unit(|u| u.velocity_m_s),
                ),
            ),
            (
                "heat_flux",
                vector(
                    [&fields.heat_x, &fields.heat_y, &fields.heat_z],
                    unit(|u| u.heat_flux_w_m2),
                ),
            ),
        ];
        if self.case.gas.rotation.is_some() {
            let kelvin = unit(|u| u.temperature_k);
            let [x, y, z] = &fields.heat_rotational;
            scalars.extend([
                (
                    "temperature_translational",
                    scaled(&fields.temperature_translational, kelvin),
                ),
                (
                    "temperature_rotational",
                    scaled(&fields.temperature_rotational, kelvin),
                ),
            ]);
            vectors.push((
                "heat_flux_rotational",
                vector([x, y, z], unit(|u| u.heat_flux_w_m2)),
            ));
        }
        let end = if units.is_some() { "_si" } else { "" };
        if self.case.is_in_space() {
            let volume = Volume {
                edges: [&edges[0], &edges[1], &edges[2]],
                scalars,
                vectors,
            };
            return match [0, 1, 2].map(|axis: usize| spacing(&edges[axis])) {
                [Some(dx), Some(dy), Some(dz)] => {
                    out.put(&format!("flow{end}.vti"), &volume.image([dx, dy, dz])?)
                }
                _ => out.put(&format!("flow{end}.vtr"), &volume.rectilinear()?),
            };
        }
        match [spacing(&edges[0]), spacing(&edges[1])] {
            [Some(dx), Some(dy)] => {
                let image = Image {
                    cells: [edges[0].len() - 1, edges[1].len() - 1],
                    origin: [edges[0][0], edges[1][0]],
                    spacing: [dx, dy],
                    scalars,
                    vectors,
                };
                out.put(&format!("flow{end}.vti"), &image.encode())
            }
            _ => {
                let grid = Rectilinear {
                    edges: [&edges[0], &edges[1]],
                    scalars,
                    vectors,
                };
                out.put(&format!("flow{end}.vtr"), &grid.encode())
            }
        }
    }

    /// Pressure over p0; its deviation in linearised cases.
    fn pressure(&self) -> Vec<f64> {
        let fields = &self.found.fields;
        let pairs = fields.density.iter().zip(&fields.temperature);
        let linear = self.case.gas.linear;
        pairs
            .map(|(n, t)| if linear { n + t } else { n * t })
            .collect()
    }

    /// The flow in a few words, for titles.
    pub(super) fn named(&self) -> String {
        let gas = &self.case.gas;
        let model = gas.model.written();
        let linear = if gas.linear { ", linearised" } else { "" };
        let round = if self.case.is_round() {
            ", round an axis"
        } else {
            ""
        };
        format!(
            "δ = {}, {model}{linear}{round}, {} cells, {} velocities",
            short(gas.delta),
            self.found.cells,
            self.found.nodes
        )
    }

    /// The summary.
    pub(super) fn summary(&self, total: Duration, spent: Duration) -> Summary {
        let found = &self.found;
        let title = match self.speed() {
            Some(speed) => format!("Flow at S = {}, {}", short(speed), self.named()),
            None => format!("Flow, {}", self.named()),
        };
        let mut summary = Summary::new(title).row(
            "iteration",
            format!(
                "{} after {} iterations, change {:.1e}",
                found.status, found.iterations, found.change
            ),
        );
        for loads in &found.bodies {
            let number = |value: f64| format!("{value:.6}");
            // All round an axis nothing is left across it.
            let across = |value: f64| (!self.case.is_round()).then_some(value);
            let components = [Some(loads.force_x), across(loads.force_y), loads.force_z];
            let moment = [loads.moment_x, loads.moment_y, across(loads.moment)];
            let listed = |values: [Option<f64>; 3]| {
                let values = values.into_iter().flatten().map(number);
                values.collect::<Vec<_>>().join(", ")
            };
            let mut text = format!("force {}", listed(components));
            if moment.iter().any(Option::is_some) {
                text.push_str(&format!("; moment {}", listed(moment)));
            }
            text.push_str(&format!("; heat {}", number(loads.heat)));
            let coefficients = [
                ("C_D", loads.drag_coefficient),
                ("C_L", loads.lift_coefficient),
                ("C_S", loads.side_coefficient),
                ("C_H", loads.heat_coefficient),
            ];
            for (name, value) in coefficients {
                if let Some(value) = value {
                    text.push_str(&format!("; {name} = {value:.4}"));
                }
            }
            summary = summary.row(&loads.name, text);
            if let [Some(drag), Some(heat), Some(newton)] = [
                loads.drag_free_molecular,
                loads.heat_free_molecular,
                loads.drag_newtonian,
            ] {
                let limits = format!(
                    "without collisions C_D = {drag:.4}, C_H = {heat:.4}; by Newton's law C_D = {newton:.4}"
                );
                summary = summary.row("", limits);
            }
            if let Some([force, power, _]) = self.scales() {
                let forces = components.into_iter().flatten();
                let forces: Vec<String> = forces.map(|part| short(force * part)).collect();
                let (of_force, of_power) = match self.case.is_whole() {
                    true => ("N", "W"),
                    false => ("N/m", "W/m"),
                };
                let text = format!(
                    "force {} {of_force}; heat {} {of_power}",
                    forces.join(", "),
                    short(power * loads.heat)
                );
                summary = summary.row("", text);
            }
        }
        for (name, flux) in &found.sides {
            summary = summary.row(
                name,
                format!("mass {:.6}, energy {:.6} out", flux.mass, flux.energy),
            );
        }
        for passage in &found.passages {
            let parts = [
                ("conductance", passage.conductance),
                ("transmission", passage.transmission),
                ("opening", passage.opening),
                ("mobility", passage.mobility),
                ("permeability", passage.permeability),
            ];
            let parts = parts.into_iter().filter_map(|(name, value)| {
                let value = value?;
                Some(format!("; {name} {}", short(value)))
            });
            let text: String = parts.collect();
            summary = summary.row(
                format!("along {}", passage.along).as_str(),
                format!("mass {:.6}{text}", passage.flow),
            );
        }
        let balance = &found.balance;
        self.verified
            .rows(summary)
            .row("balance", {
                let momenta = [
                    Some(balance.momentum_x),
                    Some(balance.momentum_y),
                    balance.momentum_z,
                ];
                let momenta = momenta.into_iter().flatten();
                let momenta: Vec<String> = momenta.map(|part| format!("{part:.1e}")).collect();
                format!(
                    "mass {:.1e}, momentum {}, energy {:.1e}",
                    balance.mass,
                    momenta.join(", "),
                    balance.energy
                )
            })
            .wall_time(total, "the iteration", spent)
    }

    /// Speed ratio of the first stream.
    fn speed(&self) -> Option<f64> {
        let sides = self.case.named_sides();
        sides.into_iter().find_map(|(_, side)| match side {
            Side::Stream(stream) => stream.speed_ratio,
            _ => None,
        })
    }
}

/// Errors by key, with those of values in SI units; null where there are none.
fn in_units(errors: Option<&ErrorsByKey>, factors: &[(&'static str, &'static str, f64)]) -> Value {
    let Some(errors) = errors else {
        return Value::Null;
    };
    let mut all = errors.clone();
    for (key, from, factor) in factors {
        let found = errors.0.iter().find(|(key, _)| key == from);
        all.0
            .extend(found.map(|(_, error)| (*key, scaled(error, factor.abs()))));
    }
    json!(all)
}

fn scaled(error: &Estimate, factor: f64) -> Estimate {
    let parts = error.parts.iter();
    Estimate {
        total: factor * error.total,
        parts: parts.map(|(axis, part)| (*axis, factor * part)).collect(),
    }
}

/// The width of cells of one width.
fn spacing(edges: &[f64]) -> Option<f64> {
    let (first, last) = (edges.first()?, edges.last()?);
    let width = (last - first) / (edges.len() - 1) as f64;
    let even = |ends: &[f64]| (ends[1] - ends[0] - width).abs() <= UNIFORM * width;
    edges.windows(2).all(even).then_some(width)
}
