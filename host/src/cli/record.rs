//! Which options a `run.json` asks for.
//!
//! A record names all that a run used, for its readers. Some of it follows from the rest, and as an option it would contradict that.

use std::path::Path;

use serde_json::{Map, Value};

use super::names::RECORD;
use crate::error::{Error, Result};

/// Version of the form of records, which docs/files.md describes; only this one is read.
pub(super) const FORMAT: u64 = 2;

/// Flags that make no sense without steps in time.
pub(super) const OF_TIME: [&str; 4] = ["dt", "no_correction", "save_every", "save_f"];

/// Key of the option whose list of values makes a sweep.
pub(super) const SWEEP: &str = "sweep";

/// The record in a folder; null where there is none.
pub(super) fn record_in(folder: &Path) -> Value {
    let bytes = std::fs::read(folder.join(RECORD)).ok();
    let record = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    record.unwrap_or_default()
}

/// The record in the bytes of a file; one of another form is refused.
pub(super) fn parsed(path: &Path, bytes: &[u8]) -> Result<Value> {
    let record: Value = serde_json::from_slice(bytes).map_err(|error| {
        let line = error.line();
        Error::file(
            path,
            format!("the record is damaged or cut short at line {line}"),
        )
    })?;
    let format = &record["format"];
    if record["command"].is_string() && *format != FORMAT {
        return Err(Error::file(
            path,
            format!("a record of format {format}; this rarefy reads format {FORMAT}"),
        ));
    }
    Ok(record)
}

/// The parameters of a record that are options of the same run.
pub(super) fn options(parameters: &Map<String, Value>) -> Map<String, Value> {
    let mut options = parameters.clone();
    options.retain(|key, value| key != SWEEP && !value.is_null());
    let text = |key: &str| parameters.get(key).and_then(Value::as_str);
    let on = |key: &str| parameters.get(key).and_then(Value::as_bool) == Some(true);
    let mut remove = |keys: &[&str]| {
        for key in keys {
            options.remove(*key);
        }
    };
    if on("steady") {
        for key in OF_TIME {
            remove(&[&key.replace('_', "-")]);
        }
    }
    // The domain follows from pascals, kelvins and metres.
    if parameters.get("size").is_some_and(|size| !size.is_null()) {
        remove(&["length", "delta"]);
    }
    // A box belongs to the midpoint rule alone.
    if text("quadrature").is_some_and(|rule| rule != "midpoint") {
        remove(&["vmax"]);
    }
    // The correction of the collision integral says the same.
    if parameters.contains_key("correction") {
        remove(&["no-correction"]);
    }
    if text("model") == Some("bgk") {
        remove(&["prandtl"]);
    }
    // Results of the linearised equation are per unit of what drives the plates, of a gas at its reference temperature.
    if on("linear") {
        remove(&["u", "temperature-difference", "molecules"]);
    }
    options
}

#[cfg(test)]
mod tests {
    use serde_json::json;

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
            of(json!({"steady": true, "in-time": false, "dt": 0.1, "scheme": "diamond"})),
            "in-time scheme steady"
        );
        let si = json!({"gas": "argon", "size": 1e-6, "length": 7.0, "molecules": "vhs:0.81"});
        assert_eq!(of(si), "gas molecules size");
        assert_eq!(
            of(json!({"linear": true, "u": 1.0, "molecules": "vhs:0.74"})),
            "linear"
        );
        assert_eq!(
            of(json!({"vmax": 4.5, "quadrature": "polar"})),
            "quadrature"
        );
        assert_eq!(
            of(json!({"vmax": 4.5, "quadrature": "midpoint"})),
            "quadrature vmax"
        );
        let record = json!({"sigma-t": 1.0, "no-correction": true, "correction": "none"});
        assert_eq!(of(record), "correction sigma-t");
        assert_eq!(
            of(json!({"delta": "0.1,1", "sweep": "delta", "model": "bgk", "prandtl": 1.0})),
            "delta model"
        );
    }
}
