//! The schema of case files (JSON Schema, draft 2020-12), by which editors complete and check them.
//!
//! It has the keys that [`keys`] knows. The values of a key are a form that its name decides.

use serde_json::{Map, Value, json};

use super::keys::{BODY, HALF, SHAPES, SIDES, TABLES, VELOCITIES};
use crate::bgk::Species;

/// The schema.
pub(super) fn schema() -> Value {
    let of_one_form = TABLES
        .iter()
        .filter(|(place, _)| !place.is_empty() && *place != "sides");
    let mut properties: Map<String, Value> = of_one_form
        .map(|(place, keys)| ((*place).to_owned(), table(place, keys, &[])))
        .collect();
    // The other keys of velocities say which kind it is.
    let kinds = VELOCITIES.iter().map(|(kind, keys)| {
        let kinds = [("kind", json!({ "const": kind }))];
        table("velocities", keys, &kinds)
    });
    properties.insert("velocities".into(), json!({ "anyOf": list(kinds) }));
    properties.insert("sides".into(), sides());
    let body = json!({ "type": "array", "items": shapes(&BODY, false) });
    properties.insert("body".into(), body);
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Case of rarefy flow",
        "type": "object",
        "required": ["gas", "sides"],
        "additionalProperties": false,
        "properties": properties,
        "$defs": { "shape": shapes(&["shape"], true) },
    })
}

fn list(values: impl Iterator<Item = Value>) -> Value {
    Value::Array(values.collect())
}

/// A table with these keys alone; `given` are values that some of them have, and which are needed where the table is tagged by them.
fn table(place: &str, keys: &[&str], given: &[(&str, Value)]) -> Value {
    let properties: Map<String, Value> = keys
        .iter()
        .map(|&key| {
            let own = given.iter().find(|(name, _)| *name == key);
            let value = own.map_or_else(|| form(place, key), |(_, value)| value.clone());
            (key.to_owned(), value)
        })
        .collect();
    json!({ "type": "object", "additionalProperties": false, "properties": properties })
}

/// A table whose kind a key names.
fn of_kind(place: &str, tag: &str, kind: &str, keys: &[&str]) -> Value {
    let mut table = table(place, keys, &[(tag, json!({ "const": kind }))]);
    table["required"] = json!([tag]);
    table
}

fn sides() -> Value {
    let kinds = SIDES.iter().map(|(kind, keys)| {
        let mut side = of_kind("side", "kind", kind, keys);
        if *kind == "split" {
            for half in ["left", "right"] {
                side["properties"][half] = table("side", &HALF, &[]);
            }
        }
        side
    });
    let side = json!({ "anyOf": list(kinds) });
    let names = TABLES.iter().find(|(place, _)| *place == "sides");
    let names = names.map_or(&[][..], |(_, names)| names);
    let properties: Map<String, Value> = names
        .iter()
        .map(|name| ((*name).to_owned(), side.clone()))
        .collect();
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["left", "right", "top"],
        "properties": properties,
    })
}

/// All shapes, each with these keys beside its own. A part of another shape has no name and no wall.
fn shapes(beside: &[&str], is_part: bool) -> Value {
    let place = if is_part { "part" } else { "body" };
    let kinds = SHAPES.iter().map(|(shape, own)| {
        let keys: Vec<&str> = beside.iter().chain(*own).copied().collect();
        of_kind(place, "shape", shape, &keys)
    });
    json!({ "anyOf": list(kinds) })
}

/// Values of a key at a place.
fn form(place: &str, key: &str) -> Value {
    let number = || json!({ "type": "number" });
    let numbers = |least: usize, most: usize| json!({ "type": "array", "items": { "type": "number" }, "minItems": least, "maxItems": most });
    let rows =
        |least: usize, most: usize| json!({ "type": "array", "items": numbers(least, most) });
    // A value, or a table of places and values along a wall.
    let along = || json!({ "anyOf": [number(), rows(2, 2)] });
    match (place, key) {
        ("gas", "model") => json!({ "enum": ["bgk", "shakhov", "polyatomic"] }),
        ("gas", "gas") => json!({ "enum": Species::NAMES }),
        ("gas", "z_rot") => json!({ "type": ["number", "string"] }),
        ("gas", "eucken") | ("domain", "x" | "y" | "z") | (_, "radii") => numbers(2, 2),
        ("domain", "core") => rows(2, 2),
        ("domain", "symmetry") => json!({ "enum": ["axis"] }),
        ("solver", "acceleration") => json!({ "enum": ["auto", "none"] }),
        ("solver", "depth" | "iterations")
        | ("velocities", "angles" | "speeds" | "axial" | "points") => {
            json!({ "type": "integer" })
        }
        ("output", _) | (_, "linear" | "graded" | "hollow") => json!({ "type": "boolean" }),
        (_, "name" | "file" | "array" | "code") => json!({ "type": "string" }),
        ("side" | "body", "accommodation") => json!({
            "anyOf": [number(), {
                "type": "object",
                "additionalProperties": false,
                "properties": { "tangential": number(), "normal": number() },
            }],
        }),
        ("side", "temperature" | "velocity") | ("body", "temperature" | "speed") => along(),
        ("body" | "start", "velocity") | (_, "centre" | "size" | "origin") => numbers(2, 3),
        (_, "axes") => numbers(2, 2),
        (_, "points") => rows(2, 2),
        (_, "circles") => rows(3, 3),
        (_, "ends") => {
            json!({ "type": "array", "items": numbers(3, 3), "minItems": 2, "maxItems": 2 })
        }
        (_, "of") => json!({ "type": "array", "items": { "$ref": "#/$defs/shape" } }),
        _ => number(),
    }
}
