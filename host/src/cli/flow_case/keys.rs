//! The keys of a case file, and the refusal of all others with the nearest known one.
//!
//! Serde names unknown keys too, but neither those of bodies nor the one that was meant.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::cli::config::similar;

/// A fault, by its place in the text and in words.
pub(super) type Fault = (Range<usize>, String);

/// Keys of the tables that have one form, by their places.
pub(super) const TABLES: [(&str, &[&str]); 7] = [
    (
        "",
        &[
            "gas",
            "domain",
            "velocities",
            "sides",
            "body",
            "start",
            "solver",
            "output",
        ],
    ),
    (
        "gas",
        &[
            "model",
            "delta",
            "omega",
            "prandtl",
            "internal_dof",
            "z_rot",
            "eucken",
            "linear",
            "gas",
            "pressure",
            "temperature",
            "length",
        ],
    ),
    (
        "domain",
        &["x", "y", "z", "symmetry", "h", "core", "growth", "largest"],
    ),
    (
        "sides",
        &["left", "right", "bottom", "top", "back", "front"],
    ),
    ("start", &["density", "velocity", "temperature"]),
    (
        "solver",
        &["tolerance", "depth", "iterations", "acceleration"],
    ),
    ("output", &["surface", "fields", "plots"]),
];

/// Keys of each kind of velocities.
pub(super) const VELOCITIES: [(&str, &[&str]); 4] = [
    (
        "polar",
        &["kind", "angles", "speeds", "temperature", "graded"],
    ),
    ("uniform", &["kind", "step", "reach", "angles"]),
    ("gauss", &["kind", "points", "temperature"]),
    (
        "axis",
        &["kind", "angles", "speeds", "axial", "temperature"],
    ),
];

/// Keys of each kind of side.
pub(super) const SIDES: [(&str, &[&str]); 9] = [
    (
        "stream",
        &[
            "kind",
            "speed_ratio",
            "mach",
            "angle",
            "elevation",
            "density",
            "temperature",
        ],
    ),
    ("reservoir", &["kind", "density", "pressure", "temperature"]),
    ("split", &["kind", "at", "left", "right"]),
    ("outlet", &["kind", "pressure"]),
    ("inflow", &["kind", "mass_flow", "temperature"]),
    ("vacuum", &["kind"]),
    ("mirror", &["kind"]),
    ("periodic", &["kind", "jump", "jump_temperature", "factor"]),
    (
        "wall",
        &["kind", "temperature", "velocity", "accommodation"],
    ),
];

/// Keys of the two halves of a split side.
pub(super) const HALF: [&str; 3] = ["density", "pressure", "temperature"];

/// Keys that every body has.
pub(super) const BODY: [&str; 8] = [
    "name",
    "shape",
    "hollow",
    "temperature",
    "velocity",
    "rotation",
    "speed",
    "accommodation",
];

/// Further keys of each shape.
pub(super) const SHAPES: [(&str, &[&str]); 17] = [
    ("circle", &["centre", "radius"]),
    ("ellipse", &["centre", "axes", "angle"]),
    ("rectangle", &["centre", "size", "angle"]),
    ("polygon", &["points"]),
    ("naca", &["code", "chord", "centre", "incidence"]),
    ("circles", &["circles", "file"]),
    ("mask", &["file", "array", "origin", "spacing"]),
    ("distance", &["file", "origin", "spacing"]),
    ("outline", &["file", "scale", "z", "origin"]),
    ("sphere", &["centre", "radius"]),
    ("box", &["centre", "size", "angle"]),
    ("cylinder", &["ends", "radius"]),
    ("cone", &["ends", "radii"]),
    ("stl", &["file", "scale", "origin"]),
    ("voxels", &["file", "array", "origin", "spacing"]),
    ("union", &["of"]),
    ("difference", &["of"]),
];

/// Refuses the first key that no case file has there.
pub(super) fn check(document: &DeTable) -> Result<(), Fault> {
    for (place, keys) in TABLES {
        let table = match place {
            "" => Some(document),
            place => table_in(document, place),
        };
        let name = match place {
            "" => "a case file".to_owned(),
            place => format!("[{place}]"),
        };
        if let Some(table) = table {
            known(table, keys, &name)?;
        }
    }
    if let Some(velocities) = table_in(document, "velocities") {
        if velocities.contains_key("kind") {
            of_kind(velocities, ("kind", &VELOCITIES), &[], "[velocities]")?;
        } else {
            // The other keys say which kind it is.
            let keys = VELOCITIES.iter().flat_map(|(_, keys)| *keys).copied();
            known(velocities, &keys.collect::<Vec<_>>(), "[velocities]")?;
        }
    }
    let sides = table_in(document, "sides").into_iter().flatten();
    for (name, side) in sides {
        let Some(side) = side.get_ref().as_table() else {
            continue;
        };
        let name = format!("side {}", name.get_ref());
        of_kind(side, ("kind", &SIDES), &[], &name)?;
        if text_in(side, "kind").is_some_and(|kind| kind.get_ref() == "split") {
            for half in ["left", "right"] {
                if let Some(table) = table_in(side, half) {
                    known(table, &HALF, &format!("{half} of {name}"))?;
                }
            }
        }
    }
    let bodies = document.get("body");
    let bodies = bodies.and_then(|bodies| bodies.get_ref().as_array());
    for (k, body) in bodies.into_iter().flatten().enumerate() {
        if let Some(body) = body.get_ref().as_table() {
            let name = format!("body {}", k + 1);
            of_kind(body, ("shape", &SHAPES), &BODY, &name)?;
            parts(body, &name)?;
        }
    }
    Ok(())
}

/// Refuses unknown keys of the parts of a shape.
fn parts(shape: &DeTable, name: &str) -> Result<(), Fault> {
    let of = shape.get("of").and_then(|of| of.get_ref().as_array());
    for (k, part) in of.into_iter().flatten().enumerate() {
        if let Some(part) = part.get_ref().as_table() {
            let name = format!("part {} of {name}", k + 1);
            of_kind(part, ("shape", &SHAPES), &["shape"], &name)?;
            parts(part, &name)?;
        }
    }
    Ok(())
}

fn table_in<'a, 'i>(table: &'a DeTable<'i>, key: &str) -> Option<&'a DeTable<'i>> {
    table.get(key)?.get_ref().as_table()
}

/// A text in a table, with its place.
fn text_in(table: &DeTable, key: &str) -> Option<Spanned<String>> {
    let value = table.get(key)?;
    match value.get_ref() {
        DeValue::String(text) => Some(Spanned::new(value.span(), text.to_string())),
        _ => None,
    }
}

fn known(table: &DeTable, keys: &[&str], place: &str) -> Result<(), Fault> {
    let unknown = |key: &&Spanned<_>| {
        let key: &str = key_of(key);
        !keys.contains(&key)
    };
    match table.keys().find(unknown) {
        None => Ok(()),
        Some(key) => {
            let word = key_of(key);
            let hint = similar(word, keys.iter().copied())
                .unwrap_or_else(|| format!("; its keys are {}", keys.join(", ")));
            Err((key.span(), format!("unknown key '{word}' in {place}{hint}")))
        }
    }
}

fn key_of<'a>(key: &'a Spanned<toml::de::DeString<'_>>) -> &'a str {
    key.get_ref()
}

/// The same of a table whose keys depend on its kind, which is the value of a key.
fn of_kind(
    table: &DeTable,
    (tag, kinds): (&str, &[(&str, &[&str])]),
    common: &[&str],
    place: &str,
) -> Result<(), Fault> {
    // Serde says that one is missing.
    let Some(kind) = text_in(table, tag) else {
        return Ok(());
    };
    let word = kind.get_ref().as_str();
    let Some((_, keys)) = kinds.iter().find(|(name, _)| *name == word) else {
        let names: Vec<&str> = kinds.iter().map(|(name, _)| *name).collect();
        let hint = similar(word, names.iter().copied())
            .unwrap_or_else(|| format!("; there are {}", names.join(", ")));
        let text = format!("unknown {tag} '{word}' of {place}{hint}");
        return Err((kind.span(), text));
    };
    let keys: Vec<&str> = common.iter().chain(*keys).copied().collect();
    let name = match place {
        "[velocities]" => place.to_owned(),
        _ => format!("{place}, of {tag} '{word}'"),
    };
    known(table, &keys, &name)
}
