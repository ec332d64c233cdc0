//! How fast the fields of a run change between samples.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// The fields when the residual of a run was last looked at: the next one is reckoned from them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Looked {
    /// Steps that had been taken.
    pub step: u64,
    /// Density, both components of the mean velocity, and temperature, of each cell.
    pub fields: [Vec<f64>; 4],
}

/// How fast the fields of a run change between samples.
#[derive(Debug, Default)]
pub(in crate::bgk) struct Change {
    known: Option<Looked>,
}

impl Change {
    /// The last look.
    pub(in crate::bgk) fn looked(&self) -> Option<&Looked> {
        self.known.as_ref()
    }

    /// Takes up a look that was kept.
    pub(in crate::bgk) fn resume(looked: Option<Looked>, step: u64, cells: usize) -> Result<Self> {
        if let Some(looked) = &looked {
            let fits = looked.fields.iter().all(|field| field.len() == cells);
            let finite = looked
                .fields
                .iter()
                .flatten()
                .all(|value| value.is_finite());
            if !(fits && finite && looked.step <= step) {
                return Err(Error::invalid(
                    "checkpoint",
                    format!(
                        "fields of step {}, from which its residual follows",
                        looked.step
                    ),
                    format!("finite fields of {cells} cells at step {step} or before"),
                ));
            }
        }
        Ok(Self { known: looked })
    }

    /// The [residual](super::Simulation::residual) of n, u_x, u_y and T after `step` steps of `dt`.
    pub(in crate::bgk) fn residual(
        &mut self,
        fields: [Vec<f64>; 4],
        step: u64,
        dt: f64,
    ) -> Result<f64> {
        let finite = fields.iter().flatten().all(|value| value.is_finite());
        if !finite
            || fields[0]
                .iter()
                .chain(&fields[3])
                .any(|&value| value <= 0.0)
        {
            return Err(Error::Numerical(format!(
                "the gas is no longer in a state after step {step} at time {}: a density or temperature is not positive or not finite",
                step as f64 * dt
            )));
        }
        let residual = match &self.known {
            Some(Looked {
                step: before,
                fields: known,
            }) if *before < step => {
                let time = (step - before) as f64 * dt;
                let change = |parts: &[usize]| {
                    let (mut difference, mut size) = (0.0, 0.0);
                    for &part in parts {
                        for (new, old) in fields[part].iter().zip(&known[part]) {
                            difference += (new - old) * (new - old);
                            size += new * new;
                        }
                    }
                    if size > 0.0 {
                        (difference / size).sqrt() / time
                    } else {
                        0.0
                    }
                };
                change(&[0]).max(change(&[1, 2])).max(change(&[3]))
            }
            _ => f64::INFINITY,
        };
        self.known = Some(Looked { step, fields });
        Ok(residual)
    }
}
