//! Which options a `run.json` asks for.
//!
//! A record names all that a run used, for its readers. Some of it follows from the rest, and as an option it would contradict that.

use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::names::RECORD;
use crate::bgk::Species;
use crate::error::{Error, Result};

/// Flags that make no sense without steps in time.
pub(super) const OF_TIME: [&str; 5] = ["dt", "no_correction", "storage", "save_every", "save_f"];

/// Key of the option whose list of values makes a sweep.
pub(super) const SWEEP: &str = "sweep";

/// The record in a folder; null where there is none.
pub(super) fn record_in(folder: &Path) -> Value {
    let bytes = std::fs::read(folder.join(RECORD)).ok();
    let record = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    record.unwrap_or_default()
}

/// The record in the bytes of a file.
pub(super) fn parsed(path: &Path, bytes: &[u8]) -> Result<Value> {
    serde_json::from_slice(bytes).map_err(|error| {
        let line = error.line();
        Error::file(
            path,
            format!("the record is damaged or cut short at line {line}"),
        )
    })
}

/// The parameters of a record that are options of the same run.
pub(super) fn options(parameters: &Map<String, Value>) -> Map<String, Value> {
    let mut options = parameters.clone();
    // Sweeps are younger than the options that early records lack.
    let sweep = options.remove(SWEEP).is_some();
    let text = |key: &str| parameters.get(key).and_then(Value::as_str);
    let on = |key: &str| parameters.get(key).and_then(Value::as_bool) == Some(true);
    options.retain(|_, value| !value.is_null());
    let mut added = Vec::new();
    let mut remove = |keys: &[&str]| {
        for key in keys {
            options.remove(*key);
        }
    };
    if on("steady") {
        for key in OF_TIME {
            remove(&[&key.replace('_', "-")]);
        }
        // Records of earlier versions call diamond differences so.
        if text("scheme") == Some("vanleer") {
            remove(&["scheme"]);
        }
    }
    // The domain and the gas follow from pascals, kelvins and metres.
    if parameters.get("size").is_some_and(|size| !size.is_null()) {
        remove(&["length", "delta"]);
        let species = parameters.get("gas").map(Species::deserialize);
        if let Some(Ok(species)) = species
            && parameters.get("omega").and_then(Value::as_f64) == Some(species.omega())
        {
            remove(&["omega"]);
        }
    }
    // Molecules have an exponent of the viscosity.
    if parameters.contains_key("molecules") {
        remove(&["omega"]);
    }
    // A box belongs to the midpoint rule alone.
    if text("quadrature").is_some_and(|rule| rule != "midpoint") {
        remove(&["vmax"]);
    }
    // Early records of the collision integral have no correction, since only the paper's existed, and no order.
    let integral = parameters.contains_key("sigma-t");
    if integral && parameters.contains_key("correction") {
        remove(&["no-correction"]);
    }
    if integral && !parameters.contains_key("order") && text("method") != Some("spectral") {
        added.push(("order", json!(2)));
    }
    if (integral && !on("no-correction") || text("collision") == Some("boltzmann"))
        && !parameters.contains_key("correction")
    {
        added.push(("correction", json!("paper")));
    }
    if text("model") == Some("bgk") {
        remove(&["prandtl"]);
    }
    // Results of the linearised equation are per unit of what drives the plates.
    if on("linear") {
        remove(&["u", "temperature-difference"]);
        remove(&["omega"]);
    }
    if sweep {
        added.clear();
    }
    options.extend(
        added
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value)),
    );
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_from_other_options_is_left_out() {
        let of = |record: Value| {
            let options = options(record.as_object().expect("an object"));
            let mut keys: Vec<_> = options.keys().cloned().collect();
            keys.sort();
            keys.join(" ")
        };
        assert_eq!(
            of(json!({"mach": 3, "dt": 0.1, "timings": null})),
            "dt mach"
        );
        assert_eq!(
            of(json!({"steady": true, "dt": 0.1, "no-correction": false, "storage": "full"})),
            "steady"
        );
        assert_eq!(of(json!({"steady": true, "scheme": "vanleer"})), "steady");
        assert_eq!(
            of(json!({"steady": true, "scheme": "upwind"})),
            "scheme steady"
        );
        assert_eq!(
            of(json!({"steady": false, "scheme": "vanleer"})),
            "scheme steady"
        );
        let si = json!({"gas": "argon", "size": 1e-6, "length": 7.0, "omega": 0.81});
        assert_eq!(of(si), "gas size");
        let si = json!({"gas": "argon", "size": 1e-6, "length": 7.0, "omega": 0.5});
        assert_eq!(of(si), "gas omega size");
        assert_eq!(
            of(json!({"vmax": 4.5, "quadrature": "polar"})),
            "quadrature"
        );
        assert_eq!(
            of(json!({"vmax": 4.5, "quadrature": "midpoint"})),
            "quadrature vmax"
        );
        let record = json!({"sigma-t": 1.0, "no-correction": true, "correction": "none"});
        assert_eq!(of(record), "correction order sigma-t");
    }

    #[test]
    fn old_records_of_the_integral_have_the_papers_scheme() {
        let of = |record: Value| Value::Object(options(record.as_object().expect("an object")));
        assert_eq!(
            of(json!({"sigma-t": 1.0, "no-correction": false})),
            json!({"sigma-t": 1.0, "no-correction": false, "order": 2, "correction": "paper"})
        );
        let spectral = json!({"sigma-t": 1.0, "method": "spectral", "correction": "paper"});
        assert_eq!(of(spectral.clone()), spectral);
        let without = json!({"sigma-t": 1.0, "no-correction": true, "order": 4});
        assert_eq!(of(without.clone()), without);
        assert_eq!(
            of(json!({"collision": "boltzmann", "order": 4})),
            json!({"collision": "boltzmann", "order": 4, "correction": "paper"})
        );
        let model = json!({"collision": "model", "no-correction": false});
        assert_eq!(of(model.clone()), model);
    }
}
