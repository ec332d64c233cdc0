//! The negative part of the equilibrium of a flow, and the warnings of a gas beyond its model.

use super::case::GasOf;
use super::findings::{Fields, Findings};
use crate::bgk::Model;
use crate::bgk::negative::{Heated, NegativeEquilibrium};

/// Adds the negative shares of the equilibrium to findings, and the warnings of a gas beyond its model.
pub(in crate::flow) fn judge(findings: &mut Findings, gas: &GasOf) {
    let beyond = gas.beyond_rotation(findings.fields.temperatures());
    findings.warnings.extend(beyond);
    findings.negative_equilibrium = largest(gas, &findings.fields);
    let warning = findings.negative_equilibrium;
    let warning = warning.and_then(|negative| negative.warning("model = \"bgk\""));
    findings.warnings.extend(warning);
}

/// The largest shares of a nonlinear flow; none of the linearised equation and of BGK, whose equilibrium is positive.
fn largest(gas: &GasOf, fields: &Fields) -> Option<NegativeEquilibrium> {
    if gas.linear || gas.model == Model::Bgk {
        return None;
    }
    let cells = (0..fields.gas.len()).filter(|&cell| fields.gas[cell] > 0.0);
    let heated = cells.map(|cell| {
        let at = |of: &Vec<f64>| of.get(cell).copied().unwrap_or(0.0);
        Heated {
            density: at(&fields.density),
            temperatures: [
                &fields.temperature,
                &fields.temperature_translational,
                &fields.temperature_rotational,
            ]
            .map(at),
            heat: [&fields.heat_x, &fields.heat_y, &fields.heat_z].map(at),
            rotational: fields.heat_rotational.each_ref().map(at),
        }
    });
    let (prandtl, rotation) = (gas.prandtl, gas.rotation.as_ref());
    Some(NegativeEquilibrium::largest(prandtl, rotation, heated))
}
