//! Records and case files of version 0.2 keep their meaning: `tests/data/records-0.2` has those that its command wrote and read.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::command::{done, folder};
use crate::support;

/// Files of the folder with this ending.
fn stored(ending: &str) -> Vec<PathBuf> {
    let folder = support::in_repository("tests/data").join("records-0.2");
    let entries = fs::read_dir(folder).unwrap();
    let files = entries.map(|entry| entry.unwrap().path());
    files
        .filter(|file| file.extension().is_some_and(|found| found == ending))
        .collect()
}

fn read(file: &Path) -> Value {
    serde_json::from_slice(&fs::read(file).unwrap()).unwrap()
}

fn schema() -> Value {
    serde_json::from_str(include_str!("../../docs/schemas/run.schema.json")).unwrap()
}

fn is_of(value: &Value, kind: &str) -> bool {
    match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "null" => value.is_null(),
        _ => panic!("{kind}: a type that docs/schemas/run.schema.json did not have"),
    }
}

/// The first place at which a value differs from a schema of the words that docs/schemas/run.schema.json has.
fn fault(schema: &Value, value: &Value, place: &str) -> Option<String> {
    let kinds = match &schema["type"] {
        Value::String(kind) => vec![kind.as_str()],
        kinds => kinds
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect(),
    };
    if !kinds.is_empty() && !kinds.iter().any(|kind| is_of(value, kind)) {
        return Some(format!("{place}: {value}; expected {kinds:?}"));
    }
    let fixed = &schema["const"];
    if !fixed.is_null() && fixed != value {
        return Some(format!("{place}: {value}; expected {fixed}"));
    }
    if let Some(forms) = schema["anyOf"].as_array()
        && forms.iter().all(|form| fault(form, value, place).is_some())
    {
        return Some(format!("{place}: {value}; expected one of {forms:?}"));
    }
    let needed = schema["required"].as_array().into_iter().flatten();
    for key in needed.filter_map(Value::as_str) {
        if value.is_object() && value.get(key).is_none() {
            return Some(format!("{place}.{key} is missing"));
        }
    }
    for (key, item) in value.as_object().into_iter().flatten() {
        let own = schema["properties"].get(key);
        let form = own.unwrap_or(&schema["additionalProperties"]);
        if form.is_object()
            && let Some(fault) = fault(form, item, &format!("{place}.{key}"))
        {
            return Some(fault);
        }
    }
    let items = value.as_array().into_iter().flatten();
    items
        .filter(|_| schema["items"].is_object())
        .find_map(|item| fault(&schema["items"], item, &format!("{place}[]")))
}

#[test]
fn records_of_0_2_have_the_form_of_the_schema() {
    let schema = schema();
    let records = stored("json");
    assert!(records.len() > 30, "{}", records.len());
    let mut commands = BTreeSet::new();
    for file in &records {
        let record = read(file);
        let name = file.display();
        assert_eq!(fault(&schema, &record, "record"), None, "{name}");
        assert_eq!(record["version"], "0.2.0", "{name}");
        let command = record["command"].as_str().unwrap();
        commands.insert(command.to_owned());
    }
    for command in [
        "relax",
        "collide",
        "rates",
        "isotropic",
        "market",
        "shock",
        "cavity",
        "couette",
        "fourier",
        "poiseuille",
        "flow",
        "tube",
        "longman",
        "sum",
        "dot",
        "dft",
        "paper digits",
        "paper frontier",
        "paper timings",
    ] {
        assert!(commands.contains(command), "{command} has no stored record");
    }
    // Faults are found.
    let whole = read(&records[0]);
    for (key, wrong) in [
        ("format", json!(3)),
        ("warnings", json!([1])),
        ("timings", json!({ "total_s": "1" })),
        ("result", json!({ "discretisation_error": 1 })),
        (
            "result",
            json!({ "discretisation_error": { "Pi": { "cells": 1 } } }),
        ),
        ("units", json!("pa")),
    ] {
        let mut record = whole.clone();
        record[key] = wrong;
        assert!(fault(&schema, &record, "record").is_some(), "{key}");
        record.as_object_mut().unwrap().remove(key);
        assert!(fault(&schema, &record, "record").is_some(), "no {key}");
    }
}

/// The first key of a record of 0.2 that a record lacks, or that has another type there. Null is any type.
fn lost(old: &Value, new: &Value, place: &str) -> Option<String> {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => old.iter().find_map(|(key, value)| {
            let place = format!("{place}.{key}");
            match new.get(key) {
                None => Some(format!("{place} is missing")),
                Some(other) => lost(value, other, &place),
            }
        }),
        (Value::Array(old), Value::Array(new)) => {
            let mut pairs = old.iter().zip(new);
            pairs.find_map(|(old, new)| lost(old, new, &format!("{place}[]")))
        }
        (Value::Null, _) | (_, Value::Null) => None,
        (old, new)
            if (old.is_number(), old.is_string(), old.is_boolean())
                != (new.is_number(), new.is_string(), new.is_boolean()) =>
        {
            Some(format!("{place}: {new}; was {old}"))
        }
        _ => None,
    }
}

#[test]
fn records_of_0_2_repeat_their_runs_and_find_all_keys_again() {
    let dir = folder();
    let data = support::in_repository("examples/data");
    let place = dir.path().join("examples/data");
    fs::create_dir_all(&place).unwrap();
    for file in ["params.csv", "x.npy", "y.npy", "ledger.txt"] {
        fs::copy(data.join(file), place.join(file)).unwrap();
    }
    for name in [
        "relax-model",
        "isotropic-rates",
        "market-plain",
        "shock-air",
        "shock-in-time",
        "cavity-in-time",
        "couette-gas",
        "couette-plain",
        "fourier",
        "tube-rectangle",
        "longman",
        "longman-complex",
        "longman-table",
        "sum-ledger",
        "dot",
    ] {
        let file = support::in_repository("tests/data").join(format!("records-0.2/{name}.json"));
        let old = read(&file);
        let mut words: Vec<&str> = old["command"].as_str().unwrap().split(' ').collect();
        let file = file.display().to_string();
        words.extend(["--config", &file, "--json"]);
        let found = done(dir.path(), &words);
        let new: Value = serde_json::from_slice(&found.stdout).unwrap();
        assert_eq!(lost(&old, &new, "record"), None, "{name}");
        assert_eq!(fault(&schema(), &new, "record"), None, "{name}");
    }
    // Keys that go, and types that change, are found.
    let old = json!({ "a": { "b": [1.0] } });
    assert!(lost(&old, &json!({ "a": {} }), "record").is_some());
    assert!(lost(&old, &json!({ "a": { "b": ["1"] } }), "record").is_some());
    assert!(lost(&old, &json!({ "a": { "b": [2, 3], "c": 1 } }), "record").is_none());
}

#[test]
fn case_files_of_0_2_are_read() {
    let dir = folder();
    let cases = stored("toml");
    assert_eq!(cases.len(), 4);
    for case in cases {
        let case = case.display().to_string();
        let found = done(
            dir.path(),
            &["flow", &case, "--no-verify", "--backend", "cpu", "--json"],
        );
        let record: Value = serde_json::from_slice(&found.stdout).unwrap();
        assert_eq!(record["status"], "converged", "{case}");
        assert_eq!(fault(&schema(), &record, "record"), None, "{case}");
    }
}
