//! The reading of a case file: refusals are one line with line and column.

use std::ops::Range;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::keys;
use crate::cli::text::reason;
use crate::error::{Error, Result};
use crate::flow::Case;

/// Bytes of a case file beyond which it is something else.
const MOST: u64 = 64 << 20;

/// Reads a case file. `change` alters the case before it is resolved.
pub(super) fn read(path: &Path, change: impl FnOnce(&mut Case)) -> Result<Case> {
    let size = std::fs::metadata(path).map_err(|e| Error::file(path, reason(&e)))?;
    if size.len() > MOST {
        let mib = size.len() >> 20;
        return Err(Error::file(
            path,
            format!(
                "a case file of {mib} MiB; expected at most {} MiB",
                MOST >> 20
            ),
        ));
    }
    let text = std::fs::read_to_string(path).map_err(|e| Error::file(path, reason(&e)))?;
    // An absolute path is right for the case file among the results too.
    let whole = std::path::absolute(path).map_err(|e| Error::file(path, reason(&e)))?;
    let folder = whole.parent().unwrap_or(&whole).to_owned();
    let change = |case: &mut Case| {
        change(case);
        case.relative_to(&folder);
    };
    parsed(&text, change).map_err(|refusal| Error::file(path, line(&text, refusal)))
}

/// A refusal with its line and column.
pub(super) fn line(text: &str, (place, what): Refusal) -> String {
    let place = place.map(|place| located(text, place.start));
    format!("{}{what}", place.unwrap_or_default())
}

/// A place in the text, if one is known, and the fault in words.
pub(super) type Refusal = (Option<Range<usize>>, String);

/// The case that a text holds, resolved.
pub(super) fn parsed(
    text: &str,
    change: impl FnOnce(&mut Case),
) -> std::result::Result<Case, Refusal> {
    let by_toml = |error: toml::de::Error| (error.span(), error.message().to_owned());
    let document = DeTable::parse(text).map_err(by_toml)?;
    keys::check(document.get_ref()).map_err(|(place, what)| (Some(place), what))?;
    let mut case: Case = toml::from_str(text).map_err(by_toml)?;
    change(&mut case);
    case.resolve().map_err(|error| {
        let place = match &error {
            Error::Input { field, .. } => place_of(document.get_ref(), field),
            _ => None,
        };
        (place, error.to_string())
    })
}

/// `line 3, column 5: `.
fn located(text: &str, at: usize) -> String {
    let before = text.get(..at).unwrap_or(text);
    let line = 1 + before.matches('\n').count();
    let begin = before.rfind('\n').map_or(0, |end| end + 1);
    let column = 1 + before[begin..].chars().count();
    format!("line {line}, column {column}: ")
}

/// The deepest place that the words of a field lead to, such as `sides.left: mach` or `body 2: radius`.
fn place_of(document: &DeTable, field: &str) -> Option<Range<usize>> {
    let mut place: Option<&Spanned<DeValue>> = None;
    let mut table = Some(document);
    let mut words = field.split(['.', ' ', ':']).filter(|word| !word.is_empty());
    while let Some(word) = words.next() {
        let Some(next) = table.and_then(|table| table.get(word)) else {
            break;
        };
        place = Some(next);
        table = next.get_ref().as_table();
        if let Some(items) = next.get_ref().as_array() {
            let at = words.next().and_then(|word| word.parse::<usize>().ok());
            let item = at.and_then(|at| items.get(at.checked_sub(1)?));
            place = item.or(place);
            table = item.and_then(|item| item.get_ref().as_table());
        }
    }
    place.map(Spanned::span)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::{Value, json};

    use super::super::keys::{BODY, HALF, SHAPES, SIDES, TABLES, VELOCITIES};
    use super::*;

    const GOOD: &str = "\
[gas]
delta = 1
[domain]
x = [-2, 2]
y = [0, 2]
h = 0.1
[sides]
left = { kind = \"stream\", mach = 2 }
right = { kind = \"vacuum\" }
bottom = { kind = \"mirror\" }
top = { kind = \"reservoir\" }
[[body]]
shape = \"circle\"
radius = 0.5
";

    fn refusal(text: &str) -> String {
        line(text, parsed(text, |_| {}).expect_err(text))
    }

    #[test]
    fn refusals_have_line_and_column() {
        assert!(parsed(GOOD, |_| {}).is_ok());
        for (from, to, line) in [
            (
                "radius = 0.5",
                "raduis = 0.5",
                "line 14, column 1: unknown key 'raduis' in body 1, of shape 'circle'; did you mean 'radius'?",
            ),
            (
                "\"circle\"",
                "\"circel\"",
                "line 13, column 9: unknown shape 'circel' of body 1; did you mean 'circle'?",
            ),
            (
                "\"vacuum\"",
                "\"void\"",
                "line 9, column 18: unknown kind 'void' of side right; there are stream, reservoir, split,",
            ),
            (
                "h = 0.1",
                "hh = 0.1",
                "line 6, column 1: unknown key 'hh' in [domain]; did you mean 'h'?",
            ),
            (
                "radius = 0.5",
                "",
                "line 12, column 1: missing field `radius`",
            ),
            (
                "y = [0, 2]",
                "",
                "line 3, column 1: domain.y: none; expected its end at the bottom side",
            ),
            (
                "h = 0.1",
                "h = \"a\"",
                "line 6, column 5: invalid type: string \"a\", expected f64",
            ),
            (
                "h = 0.1",
                "h = 9",
                "line 6, column 5: domain.h: 9; expected cells smaller than the domain",
            ),
            (
                "mach = 2",
                "mach = -2",
                "line 8, column 34: sides.left: mach: -2; expected a speed",
            ),
            (
                ", mach = 2",
                "",
                "line 8, column 8: sides.left: speed_ratio: none; expected speed_ratio or mach",
            ),
            (
                "radius = 0.5",
                "radius = -1",
                "line 14, column 10: body 1: radius: -1; expected a positive number",
            ),
            (
                "[gas]",
                "[gaz]",
                "line 1, column 2: unknown key 'gaz' in a case file; did you mean 'gas'?",
            ),
            (
                "delta = 1",
                "",
                "line 1, column 1: gas.delta: none; expected delta, or gas, pressure",
            ),
            (
                "delta = 1",
                "gas = \"argon\"",
                "line 1, column 1: gas: gas without pressure, temperature, length; expected",
            ),
            ("delta = 1", "delta = ", "line 2, column 9: "),
        ] {
            let text = GOOD.replacen(from, to, 1);
            let found = refusal(&text);
            assert!(found.starts_with(line), "{to}: {found}");
        }
    }

    /// Every case of this kind in full, so that serde shows all keys.
    fn in_full() -> Vec<Value> {
        let side = |value: Value| {
            let names = ["left", "right", "bottom", "top", "back", "front"];
            Value::Object(
                names
                    .map(|name| (name.to_owned(), value.clone()))
                    .into_iter()
                    .collect(),
            )
        };
        let state = json!({ "density": 1, "temperature": 1 });
        let sides = [
            json!({ "kind": "stream", "speed_ratio": 1, "mach": 1, "angle": 1, "elevation": 1, "density": 1, "temperature": 1 }),
            json!({ "kind": "reservoir", "density": 1, "pressure": 1, "temperature": 1 }),
            json!({ "kind": "split", "at": 0, "left": state, "right": state }),
            json!({ "kind": "outlet", "pressure": 1 }),
            json!({ "kind": "inflow", "mass_flow": 1, "temperature": 1 }),
            json!({ "kind": "vacuum" }),
            json!({ "kind": "mirror" }),
            json!({ "kind": "periodic", "jump": 1, "jump_temperature": 1, "factor": 2 }),
            json!({ "kind": "wall", "temperature": 1, "velocity": 1 }),
        ];
        let shapes = [
            json!({ "shape": "circle", "radius": 1 }),
            json!({ "shape": "ellipse", "axes": [1, 1] }),
            json!({ "shape": "rectangle", "size": [1, 1] }),
            json!({ "shape": "polygon", "points": [] }),
            json!({ "shape": "naca", "code": "0012" }),
            json!({ "shape": "circles", "circles": [], "file": "a" }),
            json!({ "shape": "mask", "file": "a", "array": "b", "origin": [0, 0], "spacing": 1 }),
            json!({ "shape": "distance", "file": "a", "origin": [0, 0], "spacing": 1 }),
            json!({ "shape": "outline", "file": "a", "z": 1 }),
            json!({ "shape": "sphere", "radius": 1 }),
            json!({ "shape": "box", "size": [1, 1, 1] }),
            json!({ "shape": "cylinder", "ends": [[0, 0, 0], [1, 0, 0]], "radius": 1 }),
            json!({ "shape": "cone", "ends": [[0, 0, 0], [1, 0, 0]], "radii": [1, 0] }),
            json!({ "shape": "stl", "file": "a" }),
            json!({ "shape": "voxels", "file": "a", "array": "b", "origin": [0, 0, 0], "spacing": 1 }),
            json!({ "shape": "union", "of": [] }),
            json!({ "shape": "difference", "of": [] }),
        ];
        let bodies: Vec<Value> = shapes
            .into_iter()
            .map(|mut body| {
                for (key, value) in [
                    ("name", json!("a")),
                    ("temperature", json!(1)),
                    ("velocity", json!([0, 0])),
                    ("rotation", json!(0)),
                    ("speed", json!([[0, 1], [1, 2]])),
                ] {
                    body[key] = value;
                }
                body
            })
            .collect();
        let gases = [
            json!({ "delta": 1, "prandtl": 0.7 }),
            json!({ "gas": "argon", "pressure": 1, "temperature": 300, "length": 1 }),
            json!({ "model": "polyatomic", "delta": 1, "eucken": [2.3, 1.4] }),
        ];
        let velocities = [
            json!({ "kind": "polar" }),
            json!({ "kind": "uniform", "angles": 8 }),
            json!({ "kind": "gauss" }),
            json!({ "kind": "axis" }),
        ];
        (0..9)
            .map(|k| {
                json!({
                    "gas": gases[k % 3],
                    "domain": { "x": [0, 1], "y": [0, 1], "z": [0, 1], "symmetry": "axis", "h": 0.1, "core": [[0, 1], [0, 1]], "largest": 1 },
                    "velocities": velocities[k % 4],
                    "sides": side(sides[k].clone()),
                    "body": bodies,
                    "start": { "density": 1, "velocity": [0, 0], "temperature": 1 },
                })
            })
            .collect()
    }

    /// The tables of keys have all keys that serde writes, and no other.
    #[test]
    fn tables_of_keys_are_those_of_the_case() {
        let mut seen = std::collections::BTreeMap::<String, BTreeSet<String>>::new();
        let mut note = |place: String, value: &Value| {
            let keys = value.as_object().expect("an object").keys().cloned();
            seen.entry(place).or_default().extend(keys);
        };
        let tag = |value: &Value, key: &str| value[key].as_str().expect("a tag").to_owned();
        for value in in_full() {
            let case: Case = serde_json::from_value(value).expect("a case");
            let value = serde_json::to_value(&case).expect("a value");
            note(String::new(), &value);
            for place in ["gas", "domain", "sides", "start", "solver", "output"] {
                note(place.into(), &value[place]);
            }
            let velocities = &value["velocities"];
            note(
                format!("velocities {}", tag(velocities, "kind")),
                velocities,
            );
            let side = &value["sides"]["left"];
            note(format!("side {}", tag(side, "kind")), side);
            if tag(side, "kind") == "split" {
                // A half with its pressure is the reservoir's.
                note("half".into(), &side["left"]);
                note("half".into(), &json!({ "pressure": 1 }));
            }
            for body in value["body"].as_array().expect("bodies") {
                note(format!("body {}", tag(body, "shape")), body);
            }
        }
        let mut listed: Vec<(String, Vec<&str>)> = Vec::new();
        listed.extend(TABLES.map(|(place, keys)| (place.to_owned(), keys.to_vec())));
        listed.extend(VELOCITIES.map(|(kind, keys)| (format!("velocities {kind}"), keys.to_vec())));
        listed.extend(SIDES.map(|(kind, keys)| (format!("side {kind}"), keys.to_vec())));
        listed.push(("half".into(), HALF.to_vec()));
        listed.extend(SHAPES.map(|(shape, keys)| {
            (
                format!("body {shape}"),
                BODY.iter().chain(keys).copied().collect(),
            )
        }));
        let listed = listed.into_iter().map(|(place, keys)| {
            (
                place,
                keys.into_iter().map(str::to_owned).collect::<BTreeSet<_>>(),
            )
        });
        assert_eq!(seen, listed.collect());
    }

    /// The reference of keys in the chapter has every key in the row of its table.
    #[test]
    fn the_chapter_lists_the_keys() {
        let page = include_str!("../../../../docs/flow.md");
        let (_, reference) = page.split_once("## Case file").expect("a section");
        let (reference, _) = reference.split_once("\n## ").expect("a next section");
        let row = |name: &str| {
            let begin = format!("| {name} |");
            let row = reference.lines().find(|line| line.starts_with(&begin));
            row.unwrap_or_else(|| panic!("no row of {name}")).to_owned()
        };
        let check = |name: &str, keys: &[&str]| {
            let row = row(name);
            let found: BTreeSet<&str> = row.split('`').skip(1).step_by(2).collect();
            for key in keys {
                assert!(found.contains(key), "{name}: `{key}` is missing");
            }
        };
        for (place, keys) in TABLES
            .into_iter()
            .filter(|table| !["", "sides"].contains(&table.0))
        {
            check(&format!("`[{place}]`"), keys);
        }
        let own = |keys: &[&'static str]| -> Vec<&'static str> {
            keys.iter().copied().filter(|key| *key != "kind").collect()
        };
        for (kind, keys) in VELOCITIES.iter().chain(&SIDES) {
            check(&format!("`{kind}`"), &own(keys));
        }
        for (shape, keys) in SHAPES {
            check(&format!("`{shape}`"), keys);
        }
        check("`[[body]]`", &BODY);
    }
}
