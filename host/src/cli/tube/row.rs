//! A row of the table of tubes.

use serde_json::{Value, json};

/// A coefficient with the error of its discretisation.
#[derive(Clone, Copy)]
pub(super) struct Coefficient {
    pub(super) value: f64,
    pub(super) error: Option<f64>,
}

impl Coefficient {
    pub(super) fn text(&self) -> String {
        match self.error {
            Some(error) => format!("{:.6} ± {error:.1e}", self.value),
            None => format!("{:.6}", self.value),
        }
    }
}

/// G_P and G_T at a rarefaction.
pub(super) struct Row {
    pub(super) delta: f64,
    pub(super) by: [Coefficient; 2],
    pub(super) iterations: [usize; 2],
}

impl Row {
    pub(super) fn record(&self) -> Value {
        let [pressure, temperature] = &self.by;
        json!({
            "delta": self.delta,
            "g_p": pressure.value,
            "g_t": temperature.value,
            "iterations": self.iterations,
            "discretisation_error": { "g_p": pressure.error, "g_t": temperature.error },
        })
    }
}
