//! Integrals that came with status OK and were wrong, or whose estimate was too small: peaks in late areas and heads, constants below slow decays and
//! beside special functions, whole integrands whose areas cancel, boxes below the tolerance.

use rarefy::compute::Resolved;
use rarefy::longman::{Boundaries, Settings, Status, Task};
use rarefy::{Compute, Precision};
use serde_json::Value;

use super::longman::{data, rows};

/// A case of `hidden.json`.
struct Case(Value);

impl Case {
    fn text(&self, name: &str) -> Option<&str> {
        self.0[name].as_str()
    }

    /// Names and values of the parameters.
    fn parameters(&self) -> Vec<(&str, f64)> {
        let all = self.0["parameters"].as_object();
        let all = all.into_iter().flatten();
        all.map(|(name, value)| (name.as_str(), value.as_f64().unwrap()))
            .collect()
    }

    fn task(&self) -> Task {
        let parameters = self.parameters();
        let known: Vec<&str> = parameters.iter().map(|(name, _)| *name).collect();
        if let Some(integrand) = self.text("integrand") {
            let boundaries = Boundaries::HalfPeriod {
                first: self.0["first-zero"].as_f64(),
                half_period: self.0["half-period"].as_f64().unwrap(),
            };
            return Task::whole(integrand, boundaries, &known).unwrap();
        }
        let [amplitude, oscillator, frequency] =
            ["amplitude", "oscillator", "frequency"].map(|name| self.text(name).unwrap());
        Task::oscillating(amplitude, oscillator, frequency, &known).unwrap()
    }

    fn precision(&self) -> Precision {
        match self.text("precision") {
            Some("f32") => Precision::F32,
            _ => Precision::F64,
        }
    }
}

#[test]
fn what_hid_is_right_or_not_believed() {
    let cases: Vec<Value> = serde_json::from_str(&data("hidden.json")).unwrap();
    let (mut right, mut convergent, mut wrong) = (0, 0, Vec::new());
    for case in cases.into_iter().map(Case) {
        let task = case.task();
        let rtol = case.0["rtol"].as_f64().unwrap();
        let settings = Settings {
            rtol,
            ..Settings::default()
        };
        let parameters = case.parameters();
        let values: Vec<f64> = task
            .parameters()
            .iter()
            .map(|name| {
                parameters
                    .iter()
                    .find(|(known, _)| known == name)
                    .unwrap()
                    .1
            })
            .collect();
        let exact: Option<f64> = case.text("exact").map(|text| text.parse().unwrap());
        convergent += 2 * usize::from(exact.is_some());
        for machine in [Resolved::Cpu, Resolved::Emulator] {
            let found = rows(
                &task,
                &machine,
                &[0.0],
                &values,
                &settings,
                case.precision(),
            )[0];
            let what = format!("{} {}: {found:?}", machine.describe(), case.0);
            match exact {
                Some(exact) => {
                    let error = (found.value - exact).abs();
                    let slack = 4.0 * f64::EPSILON * exact.abs();
                    let most = found.error.min(rtol * exact.abs()) + slack;
                    if found.status != Status::Ok {
                        continue;
                    }
                    if error <= most {
                        right += 1;
                    } else {
                        wrong.push(what);
                    }
                }
                None if found.status == Status::Ok => wrong.push(what),
                None => {}
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(20 * right >= 19 * convergent, "{right} of {convergent}");
}

/// A value whose proof fails has no estimate: it may be anything.
#[test]
fn without_a_proof_there_is_no_estimate() {
    // A pole of a residue below the tolerance, far beyond the areas.
    let task = Task::oscillating("1/(1+x)+1e-4/(x-5000)", "sin", "1", &[]).unwrap();
    let found = task.integrals().compute(Compute::default()).integrate();
    let found = found.unwrap()[0];
    assert_eq!(found.status, Status::NotConverged, "{found:?}");
    assert_eq!(found.error, f64::INFINITY, "{found:?}");
    assert!(serde_json::to_value(found).unwrap()["error"].is_null());
}
