//! Outcomes of machines on many integrals, against closed forms: nothing wrong may be OK.

use std::f64::consts::PI;

use rarefy::Precision;
use rarefy::compute::Resolved;
use rarefy::emulator::{Emulator, ThreadOrder};
use rarefy::longman::expression::Program;
use rarefy::longman::gpu::batch::{Amplitude, Batch, BatchConfig, Interpret, Oscillation, Outcome};
use rarefy::longman::special::bessel_k;
use rarefy::longman::{Boundaries, Integral, Oscillator, Settings, Task};
use rarefy::machine::Machine;
use rarefy_kernels::longman::Status;

use crate::longman::{of_function, rows};
use crate::support;

/// The integrand of the example `own_integrand`, by a link, for that is a package of its own and this one must hold all that its tests need.
#[allow(unreachable_pub, reason = "it is a library where it stands")]
mod ring;

/// Reproducible numbers in (0, 1).
struct Uniform(u64);

impl Uniform {
    fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
    /// 10^exponent, rounded to single precision so that both precisions have the same integral.
    fn decades(&mut self, from: f64, to: f64) -> f64 {
        f64::from(10f64.powf(from + (to - from) * self.next()) as f32)
    }
}

/// A family with random parameters: frequency, parameters, exact value.
type Draw = fn(&mut Uniform) -> (f64, Vec<f64>, f64);

struct Family {
    name: &'static str,
    oscillation: Oscillation,
    amplitude: Amplitude<'static>,
    expression: &'static str,
    names: &'static [&'static str],
    draw: Draw,
    /// Least share that the device must find OK itself in double precision; exponentially small integrals have condition numbers that
    /// forbid it.
    decided: f64,
}

fn families() -> Vec<Family> {
    vec![
        Family {
            name: "damped cos",
            oscillation: Oscillation::Cos,
            amplitude: Amplitude::Damped,
            expression: "exp(-l*x)",
            names: &["l"],
            draw: |u| {
                let (l, w) = (u.decades(-2.0, 0.3), u.decades(0.0, 2.0));
                (w, vec![l], l / (l * l + w * w))
            },
            decided: 0.5,
        },
        Family {
            name: "damped sin",
            oscillation: Oscillation::Sin,
            amplitude: Amplitude::Damped,
            expression: "exp(-l*x)",
            names: &["l"],
            draw: |u| {
                let (l, w) = (u.decades(-3.0, 0.3), u.decades(-0.3, 2.0));
                (w, vec![l], w / (l * l + w * w))
            },
            decided: 0.9,
        },
        Family {
            name: "damped J0",
            oscillation: Oscillation::Bessel(0.0),
            amplitude: Amplitude::PowerDamped,
            expression: "x^m*exp(-l*x)",
            names: &["m", "l"],
            draw: |u| {
                let (l, b) = (u.decades(-2.0, 0.0), u.decades(-0.3, 1.0));
                (b, vec![0.0, l], 1.0 / l.hypot(b))
            },
            decided: 0.9,
        },
        Family {
            name: "x^(-1/2) cos",
            oscillation: Oscillation::Cos,
            amplitude: Amplitude::PowerDamped,
            expression: "x^m*exp(-l*x)",
            names: &["m", "l"],
            draw: |u| {
                let w = u.decades(-1.0, 2.0);
                (w, vec![-0.5, 0.0], (PI / (2.0 * w)).sqrt())
            },
            decided: 0.9,
        },
        Family {
            name: "Sommerfeld",
            oscillation: Oscillation::Bessel(0.0),
            amplitude: Amplitude::Sommerfeld,
            expression: "x*exp(-z*sqrt(x^2+k^2))/sqrt(x^2+k^2)",
            names: &["k", "z"],
            draw: |u| {
                let (k, z, rho) = (u.decades(-1.0, 0.5), 0.5 * u.next(), u.decades(-0.3, 0.7));
                let z = f64::from(z as f32);
                let r = rho.hypot(z);
                (rho, vec![k, z], (-k * r).exp() / r)
            },
            decided: 0.2,
        },
        Family {
            name: "Lorentzian",
            oscillation: Oscillation::Cos,
            amplitude: Amplitude::Rational,
            expression: "x^m/(x^2+p^2)",
            names: &["p", "m"],
            draw: |u| {
                let (p, w) = (u.decades(-0.5, 0.5), u.decades(-0.5, 0.5));
                (w, vec![p, 0.0], PI * (-p * w).exp() / (2.0 * p))
            },
            decided: 0.2,
        },
        Family {
            name: "Hankel transform K0",
            oscillation: Oscillation::Bessel(0.0),
            amplitude: Amplitude::Rational,
            expression: "x^m/(x^2+p^2)",
            names: &["p", "m"],
            draw: |u| {
                let (p, xi) = (u.decades(-0.3, 0.3), u.decades(-0.3, 0.3));
                (xi, vec![p, 1.0], bessel_k(0.0, p * xi))
            },
            decided: 0.2,
        },
    ]
}

/// Draws of a family as columns.
fn draws(family: &Family, count: usize) -> (Vec<f64>, Vec<Vec<f64>>, Vec<f64>) {
    let mut uniform = Uniform(0x2545_F491_4F6C_DD1D);
    let (mut frequencies, mut exact) = (Vec::new(), Vec::new());
    let mut columns = vec![Vec::new(); family.amplitude.parameters()];
    for _ in 0..count {
        let (frequency, parameters, value) = (family.draw)(&mut uniform);
        frequencies.push(frequency);
        exact.push(value);
        for (column, parameter) in columns.iter_mut().zip(parameters) {
            column.push(parameter);
        }
    }
    (frequencies, columns, exact)
}

/// Checks that nothing wrong is OK; returns how many are.
fn count_right(name: &str, relative: f64, outcomes: &[Option<Outcome>], exact: &[f64]) -> usize {
    let mut right = 0;
    for (k, (outcome, exact)) in outcomes.iter().zip(exact).enumerate() {
        let Some(outcome) = outcome else { continue };
        let error = (outcome.value - exact).abs();
        assert!(
            error <= outcome.error + 1e-14 * exact.abs(),
            "{name}, {k}: {outcome:?}, exact {exact:e}, error {error:e}"
        );
        assert!(outcome.condition >= 0.99, "{name}: {outcome:?}");
        if outcome.status == Status::Ok {
            right += 1;
            assert!(
                error <= relative * exact.abs() * (1.0 + relative),
                "{name}, {k}: {outcome:?}, exact {exact:e}"
            );
        } else {
            assert_eq!(outcome.status, Status::NotConverged, "{name}");
        }
    }
    right
}

fn families_are_classified<M: Machine, T: Interpret>(machine: &M, count: usize, relative: f64) {
    for family in families() {
        let (frequencies, columns, exact) = draws(&family, count);
        let config = BatchConfig {
            relative,
            ..BatchConfig::new(family.oscillation.clone())
        };
        let batch = Batch::<M, T>::new(machine, &config).expect("a batch");
        let named = batch
            .integrate(family.amplitude, &frequencies, &columns)
            .expect("outcomes");
        let right = count_right(family.name, relative, &named, &exact);
        if T::NAME == "f64" {
            assert!(
                right as f64 >= family.decided * count as f64,
                "{}: {right} of {count} are OK",
                family.name
            );
        }
        // The same amplitude, interpreted.
        let program = Program::parse(family.expression).expect("an expression");
        let columns: Vec<Vec<f64>> = program
            .parameters()
            .iter()
            .map(|name| {
                let at = family.names.iter().position(|known| known == name);
                columns[at.expect("a parameter of the family")].clone()
            })
            .collect();
        let interpreted = batch
            .integrate(Amplitude::Program(&program), &frequencies, &columns)
            .expect("outcomes");
        let right_too = count_right(family.name, relative, &interpreted, &exact);
        assert!(
            right.abs_diff(right_too) <= 1 + count / 10,
            "{}: {right} and {right_too} are OK",
            family.name
        );
    }
}

#[test]
fn families_get_right_values_or_none() {
    families_are_classified::<_, f64>(&Emulator::default(), 400, 1e-10);
    families_are_classified::<_, f32>(&Emulator::new(ThreadOrder::Random(5)), 200, 1e-4);
    if let Some(device) = support::device() {
        families_are_classified::<_, f64>(&device, 20_000, 1e-10);
        families_are_classified::<_, f32>(&device, 20_000, 1e-4);
    }
}

fn hopeless_integrals_stay_undecided<M: Machine>(machine: &M) {
    let ask = |oscillation: Oscillation, expression: &str| {
        let config = BatchConfig::new(oscillation);
        let batch = Batch::<M, f64>::new(machine, &config).expect("a batch");
        let program = Program::parse(expression).expect("an expression");
        batch
            .integrate(Amplitude::Program(&program), &[1.0], &[])
            .expect("outcomes")[0]
    };
    let uniform = |start: f64, first: f64, step: f64| Oscillation::Boundaries {
        start,
        at: (0..=24).map(|k| first + f64::from(k) * step).collect(),
    };
    for (oscillation, expression) in [
        // Divergent, with an analytic continuation that Euler's sum would find.
        (Oscillation::Cos, "exp(0.1*x)"),
        (Oscillation::Cos, "x"),
        // Of constant amplitude.
        (Oscillation::Sin, "1"),
        (Oscillation::Cos, "1+0*x"),
        // Not alternating.
        (uniform(0.0, 0.5 * PI, PI), "abs(cos(x))"),
        (uniform(0.0, 0.5 * PI, 2.0 * PI), "exp(-0.01*x)*cos(x)"),
        (Oscillation::Cos, "cos(x)"),
        // A pole, and what is not a number.
        (Oscillation::Cos, "1/(x-3)"),
        (Oscillation::Sin, "sqrt(2-x)"),
        (Oscillation::Sin, "0/0+0*x"),
        // A head that no quadrature resolves.
        (Oscillation::Cos, "x^(-0.97)"),
        (Oscillation::Cos, "1/x"),
        // A constant below a slow decay.
        (Oscillation::Cos, "1e-3+(1+x)^(-0.1)"),
        (Oscillation::Sin, "1e-4+1/(1+x)"),
        (Oscillation::Bessel(0.0), "sqrt(x)*(1e-3+1/(1+x))"),
        // A step inside an area.
        (Oscillation::Cos, "exp(-x)*(1+0.01*sign(x-4))"),
    ] {
        let outcome = ask(oscillation.clone(), expression);
        assert_eq!(outcome, None, "{oscillation:?} {expression}");
    }
    // In their place: the same questions with an answer.
    let outcome = ask(uniform(0.0, 0.5 * PI, PI), "exp(-0.1*x)*cos(x)").expect("an answer");
    assert_eq!(outcome.status, Status::Ok);
    assert!((outcome.value - 0.1 / 1.01).abs() < outcome.error);
    // From 1 on: (1 - i)^-1 e^(-(1-i)) = ...
    let exact = (-1f64).exp() * 0.5 * (1f64.cos() - 1f64.sin());
    let outcome = ask(uniform(1.0, 0.5 * PI, PI), "exp(-x)*cos(x)").expect("an answer");
    assert!((outcome.value - exact).abs() < outcome.error && outcome.status == Status::Ok);
}

#[test]
fn hopeless_integrals_are_left_to_the_cpu() {
    hopeless_integrals_stay_undecided(&Emulator::default());
    if let Some(device) = support::device() {
        hopeless_integrals_stay_undecided(&device);
    }
}

/// Narrow peaks in the head: two of the sums that show its error agree by accident for one in a few hundred of them.
fn heads_are_classified<M: Machine, T: Interpret>(machine: &M, count: usize, relative: f64) {
    let mut uniform = Uniform(0x1234_5678_9ABC_DEF1);
    let (mut frequencies, mut columns, mut exact) = (Vec::new(), vec![Vec::new(); 2], Vec::new());
    for _ in 0..count {
        let (p, w) = (uniform.decades(-3.0, 0.5), uniform.decades(-1.0, 0.0));
        frequencies.push(w);
        columns[0].push(p);
        columns[1].push(0.0);
        exact.push(PI * (-p * w).exp() / (2.0 * p));
    }
    let config = BatchConfig {
        relative,
        ..BatchConfig::new(Oscillation::Cos)
    };
    let batch = Batch::<M, T>::new(machine, &config).expect("a batch");
    let outcomes = batch
        .integrate(Amplitude::Rational, &frequencies, &columns)
        .expect("outcomes");
    let right = count_right("narrow peaks", relative, &outcomes, &exact);
    assert!(right > count / 4, "{right} of {count} are OK");
}

#[test]
fn heads_with_narrow_peaks_are_seen_for_what_they_are() {
    heads_are_classified::<_, f64>(&Emulator::default(), 3000, 1e-10);
    heads_are_classified::<_, f32>(&Emulator::default(), 3000, 1e-4);
    if let Some(device) = support::device() {
        heads_are_classified::<_, f64>(&device, 100_000, 1e-10);
        heads_are_classified::<_, f32>(&device, 100_000, 1e-4);
    }
}

fn chunks_do_not_show<M: Machine>(machine: &M) {
    let family = &families()[0];
    let (mut frequencies, mut columns, _) = draws(family, 300);
    // Bad rows among good ones.
    frequencies[7] = -1.0;
    frequencies[130] = f64::NAN;
    frequencies[131] = 0.0;
    columns[0][132] = f64::NAN;
    columns[0][133] = f64::NEG_INFINITY;
    let config = BatchConfig::new(Oscillation::Cos);
    let ask = |batch: Batch<'_, M, f64>| {
        batch
            .integrate(Amplitude::Damped, &frequencies, &columns)
            .expect("outcomes")
    };
    let whole = ask(Batch::new(machine, &config).expect("a batch"));
    for bad in [7, 130, 131, 132, 133] {
        assert_eq!(whole[bad], None, "{bad}");
    }
    for chunk in [1000, 128, 101] {
        let parts = ask(Batch::new(machine, &config)
            .expect("a batch")
            .with_chunk(chunk));
        assert!(whole == parts, "chunks of {chunk}");
    }
    let none = Batch::<M, f64>::new(machine, &config)
        .expect("a batch")
        .integrate(Amplitude::Damped, &[], &[vec![]])
        .expect("no integral, no outcome");
    assert!(none.is_empty());
}

#[test]
fn chunks_and_bad_rows_do_not_change_the_others() {
    chunks_do_not_show(&Emulator::default());
    if let Some(device) = support::device() {
        chunks_do_not_show(&device);
    }
}

#[test]
fn an_integrand_of_ones_own_is_classified_too() {
    let machine = Emulator::default();
    let rho: Vec<f64> = (1..=70).map(|i| 0.5 + 0.05 * f64::from(i)).collect();
    let columns = [vec![0.3; rho.len()], vec![0.7; rho.len()]];
    let config = BatchConfig::new(Oscillation::Bessel(0.0));
    let batch = Batch::<_, f64>::new(&machine, &config).expect("a batch");
    let outcomes = batch
        .integrate_with(&rho, &columns, |grid, a| {
            Ok(machine.launch(
                grid,
                ring::integrate_ring {
                    head: a.head,
                    nodes: a.nodes,
                    rows: a.rows,
                    frequencies: a.frequencies,
                    parameters: a.parameters,
                    values: a.values,
                    errors: a.errors,
                    conditions: a.conditions,
                    codes: a.codes,
                    rule: a.rule,
                },
            )?)
        })
        .expect("outcomes");
    let mut decided = 0;
    for (rho, outcome) in rho.iter().zip(&outcomes) {
        let Some(outcome) = outcome else { continue };
        let g = |x: f64| x * (-0.3 * x).exp() / (x + 0.7);
        let right = of_function(g, Oscillator::BesselJ(0.0), *rho, 0.0, &Settings::default());
        assert!(
            (outcome.value - right.value).abs() <= outcome.error + right.error,
            "{rho}: {outcome:?} {right:?}"
        );
        decided += usize::from(outcome.status == Status::Ok);
    }
    assert!(decided > 60, "{decided}");
}

fn every_row_gets_its_answer(machine: &Resolved, precision: Precision, rtol: f64) {
    let settings = Settings {
        rtol,
        ..Settings::default()
    };
    let task = Task::oscillating("exp(-l*x)", "cos", "w", &[]).expect("a task");
    assert_eq!(task.parameters(), ["l", "w"]);
    // Rows: good, from a > 0, invalid, divergent, too ill-conditioned, good.
    let lower = [0.0, 1.0, 0.0, 0.0, 0.0, 0.0];
    let values = [
        [0.5, 10.0],
        [0.5, 10.0],
        [f64::NAN, 1.0],
        [-0.1, 1.0],
        [1e-6, 3.0],
        [2.0, 1.0],
    ];
    let values = values.as_flattened();
    let found = rows(&task, machine, &lower, values, &settings, precision);
    // At 1e-3 what f32 leaves is computed in f64.
    let ill_conditioned = if rtol < 1e-6 {
        Status::NotConverged
    } else {
        Status::Ok
    };
    let right = [
        Status::Ok,
        Status::Ok,
        Status::InvalidArgument,
        Status::PremiseViolated,
        ill_conditioned,
        Status::Ok,
    ];
    assert_eq!(found.iter().map(|i| i.status).collect::<Vec<_>>(), right);
    let from_1 = (-0.5f64).exp() * (0.5 * 10f64.cos() - 10.0 * 10f64.sin()) / 100.25;
    for (row, exact) in [(0, 0.5 / 100.25), (1, from_1), (5, 0.4)] {
        let Integral { value, error, .. } = found[row];
        assert!((value - exact).abs() <= error.max(1e-15), "{row}: {value}");
    }
    // Whole integrands.
    let boundaries = Boundaries::HalfPeriod {
        first: Some(0.5 * PI),
        half_period: PI,
    };
    let task = Task::whole("exp(-l*x)*cos(x)", boundaries, &[]).expect("a task");
    let (lower, values) = ([0.0, 0.0], [0.5, -0.1]);
    let found = rows(&task, machine, &lower, &values, &settings, precision);
    let Integral { value, error, .. } = found[0];
    assert!((value - 0.4).abs() <= error, "{value} {error}");
    assert_eq!(found[0].status, Status::Ok);
    assert_eq!(found[1].status, Status::PremiseViolated);
}

#[test]
fn what_a_machine_leaves_the_cpu_answers() {
    every_row_gets_its_answer(&Resolved::Emulator, Precision::F64, 1e-10);
    every_row_gets_its_answer(&Resolved::Emulator, Precision::F32, 1e-3);
    if let Some(device) = support::device().map(Resolved::Cuda) {
        every_row_gets_its_answer(&device, Precision::F64, 1e-10);
        every_row_gets_its_answer(&device, Precision::F32, 1e-3);
    }
}

#[test]
fn configurations_out_of_range_are_refused() {
    let machine = Emulator::default();
    let good = BatchConfig::new(Oscillation::Cos);
    for bad in [
        BatchConfig {
            areas: 7,
            ..good.clone()
        },
        BatchConfig {
            areas: 65,
            ..good.clone()
        },
        BatchConfig {
            relative: f64::NAN,
            ..good.clone()
        },
        BatchConfig {
            absolute: -1.0,
            ..good.clone()
        },
        BatchConfig::new(Oscillation::Bessel(-1.0)),
        BatchConfig::new(Oscillation::Boundaries {
            start: 0.0,
            at: vec![1.0; 25],
        }),
    ] {
        let refused = Batch::<_, f64>::new(&machine, &bad).err();
        assert!(refused.is_some_and(|error| error.is_input()), "{bad:?}");
    }
    let batch = Batch::<_, f64>::new(&machine, &good).expect("a batch");
    assert!(batch.integrate(Amplitude::Damped, &[1.0], &[]).is_err());
    assert!(
        batch
            .integrate(Amplitude::Damped, &[1.0], &[vec![1.0, 2.0]])
            .is_err()
    );
}
