//! Thousands of integrals with closed forms, each in many ways: what is OK must be right, but for what no sample can show.
//!
//! The quick tests take some hundred draws. `cargo test --test suite longman_campaign -- --ignored` takes thousands, prints what it finds for each kind, and
//! admits the odds that docs/longman.md tells; `RAREFY_SEED` draws others.

use std::collections::BTreeMap;

use rarefy::Precision;
use rarefy::compute::Resolved;
use rarefy::longman::{Boundaries, Integral, Settings, Status, Task};
use rayon::prelude::*;

use super::longman::rows;
use super::longman_draws::{Draw, KINDS, Wave, draw};
use crate::support;

/// How the integral of a draw is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Form {
    /// Amplitude times oscillator.
    Amplitude,
    /// The whole integrand, from zero to zero.
    Whole,
    /// The whole integrand between points beside the zeros.
    Shifted,
}

fn task(draw: &Draw, form: Form) -> Option<Task> {
    let oscillator = match draw.wave {
        Wave::Cos => "cos",
        Wave::Sin => "sin",
        Wave::J0 => "bessel:0",
    };
    let half_period = draw.half_period();
    let shift = match form {
        Form::Amplitude => {
            let frequency = format!("{:e}", draw.w);
            let task = Task::oscillating(&draw.amplitude, oscillator, &frequency, &[]);
            return Some(task.unwrap());
        }
        Form::Whole => 0.0,
        Form::Shifted => 0.3,
    };
    let boundaries = Boundaries::HalfPeriod {
        first: Some(draw.first_zero() + shift * half_period),
        half_period,
    };
    Some(Task::whole(&draw.whole()?, boundaries, &[]).unwrap())
}

fn ways() -> Vec<(Settings, Precision)> {
    let with = |rtol: f64, areas: Option<usize>, gauss: usize| Settings {
        rtol,
        areas,
        gauss,
        ..Settings::default()
    };
    let mut ways: Vec<(Settings, Precision)> = [
        with(1e-10, None, 7),
        with(1e-3, None, 7),
        with(1e-6, None, 7),
        with(1e-8, Some(24), 7),
        with(1e-10, Some(48), 7),
        with(1e-5, None, 4),
        with(1e-7, None, 15),
    ]
    .map(|settings| (settings, Precision::F64))
    .to_vec();
    ways.push((with(1e-5, None, 7), Precision::F32));
    ways
}

/// Spikes narrower than this part of a half period lie between all samples, or all but.
const UNSEEN: f64 = 0.02;

/// Whether a result is wrong and OK, though its samples could show that.
fn wrong(draw: &Draw, found: &Integral, rtol: f64, slack: f64) -> bool {
    if found.status != Status::Ok || draw.kind == "spike" && draw.width < UNSEEN {
        return false;
    }
    let tolerance = rtol * found.value.abs();
    match draw.exact {
        Some(exact) => (found.value - exact).abs() > rtol * exact.abs() + draw.slack,
        None => draw.harm > slack * tolerance,
    }
}

/// Counts of the results of one kind.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    results: usize,
    ok: usize,
    wrong: usize,
}

/// A draw in one form, and for each way its result and whether that is wrong with OK.
type Judged = (Form, Draw, Vec<(Integral, bool)>);

/// All ways of all draws; the wrong ones as text.
fn campaign(
    seed: u64,
    count: usize,
    slack: f64,
) -> (BTreeMap<(Form, &'static str), Tally>, Vec<String>) {
    let judged: Vec<Judged> = (0..count)
        .into_par_iter()
        .flat_map_iter(|i| {
            let draw = draw(seed, i);
            [Form::Amplitude, Form::Whole, Form::Shifted]
                .into_iter()
                .filter_map(move |form| {
                    let task = task(&draw, form)?;
                    let results = ways().into_iter().map(|(settings, precision)| {
                        let lower = [draw.lower];
                        let found =
                            rows(&task, &Resolved::Cpu, &lower, &[], &settings, precision)[0];
                        (found, wrong(&draw, &found, settings.rtol, slack))
                    });
                    Some((form, draw.clone(), results.collect()))
                })
        })
        .collect();
    let mut tallies: BTreeMap<(Form, &'static str), Tally> = BTreeMap::new();
    let mut texts = Vec::new();
    for (form, draw, results) in &judged {
        let tally = tallies.entry((*form, draw.kind)).or_default();
        for (found, wrong) in results {
            tally.results += 1;
            tally.ok += usize::from(found.status == Status::Ok);
            tally.wrong += usize::from(*wrong);
            if *wrong {
                texts.push(format!("{form:?} {draw:?}: {found:?}"));
            }
        }
    }
    (tallies, texts)
}

#[test]
fn a_campaign_finds_nothing_wrong_and_believed() {
    // A constant below a power of a whole integrand shows from ten tolerances on.
    let (tallies, texts) = campaign(1, 300, 10.0);
    assert!(texts.is_empty(), "{}", texts.join("\n"));
    assert_eq!(tallies.len(), 3 * KINDS.len());
    for ((form, kind), tally) in tallies {
        if (form, kind) == (Form::Amplitude, "pole") {
            // Intervals see every pole, whatever its residue.
            assert_eq!(tally.ok, 0, "{tally:?}");
            continue;
        }
        let least = match kind {
            "smooth" => 0.85,
            "constant" | "growth" => 0.0,
            "pole" => 0.1,
            _ => 0.35,
        };
        // Right results are mostly OK: the checks do not refuse all that they cannot classify.
        assert!(
            tally.ok as f64 >= least * tally.results as f64,
            "{form:?} {kind}: {tally:?}"
        );
    }
}

/// Draws that kernels take, judged by them; the wrong ones as text, and of the smooth ones how many are OK.
fn by_kernels(machine: &Resolved, seed: u64, count: usize) -> (Vec<String>, usize, usize) {
    let mut texts = Vec::new();
    let (mut ok, mut smooth) = (0, 0);
    for i in 0..count {
        let draw = draw(seed, i);
        // Kernels take integrals from 0 on, and amplitudes without steps.
        if draw.lower > 0.0 || ["step", "step near a zero", "kink"].contains(&draw.kind) {
            continue;
        }
        let Some(task) = task(&draw, Form::Amplitude) else {
            continue;
        };
        for (rtol, precision) in [
            (1e-10, Precision::F64),
            (1e-6, Precision::F64),
            (1e-5, Precision::F32),
        ] {
            let settings = Settings {
                rtol,
                ..Settings::default()
            };
            let found = rows(&task, machine, &[0.0], &[], &settings, precision)[0];
            if draw.kind == "smooth" {
                smooth += 1;
                ok += usize::from(found.status == Status::Ok);
            }
            if wrong(&draw, &found, rtol, 1.0) {
                texts.push(format!("{precision} {rtol:e} {draw:?}: {found:?}"));
            }
        }
    }
    (texts, ok, smooth)
}

#[test]
fn kernels_believe_nothing_wrong_in_a_campaign() {
    for machine in [
        Some(Resolved::Emulator),
        support::device().map(Resolved::Cuda),
    ]
    .into_iter()
    .flatten()
    {
        let (texts, ok, smooth) = by_kernels(&machine, 2, 300);
        assert!(
            texts.is_empty(),
            "{}: {}",
            machine.describe(),
            texts.join("\n")
        );
        assert!(10 * ok > 8 * smooth, "{ok} of {smooth}");
    }
}

#[test]
#[ignore = "takes minutes"]
fn a_long_campaign_finds_next_to_nothing() {
    let seed = std::env::var("RAREFY_SEED")
        .map_or(Ok(3), |seed| seed.parse())
        .unwrap();
    let (tallies, texts) = campaign(seed, 8000, 1.0);
    for ((form, kind), tally) in &tallies {
        println!("{form:?} {kind}: {tally:?}");
    }
    println!("{}", texts.join("\n"));
    let (kernels, ..) = by_kernels(&Resolved::Emulator, seed, 8000);
    println!("by kernels: {}", kernels.join("\n"));
    assert!(kernels.len() <= 5, "{}", kernels.len());
    let results: usize = tallies.values().map(|tally| tally.results).sum();
    assert!(
        10_000 * texts.len() <= 3 * results,
        "{} of {results}",
        texts.len()
    );
}
