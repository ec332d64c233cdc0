//! The paper's method on machines: its figure of errors, and the two forms of its kernel.

use rarefy::emulator::{Emulator, ThreadOrder};
use rarefy::longman::paper::{
    FixedBatch, Form, Functions, PaperRule, Start, Wave, integrate_on_cpu,
};
use rarefy::machine::Machine;
use rarefy_kernels::Real;

use crate::support;

const EMULATORS: [ThreadOrder; 3] = [
    ThreadOrder::Ascending,
    ThreadOrder::Descending,
    ThreadOrder::Random(3),
];

fn values<M: Machine, T: Real>(
    machine: &M,
    rule: &PaperRule,
    form: Form,
    functions: Functions,
    (lambda, omega): (&[f64], &[f64]),
) -> Vec<f64> {
    let mut batch = FixedBatch::<M, T>::new(machine, rule, lambda, omega).expect("a batch");
    batch.launch(machine, form, functions).expect("a launch");
    let values = batch.values(machine).expect("the values");
    values.into_iter().map(T::to_f64).collect()
}

/// Reproducible parameters: lambda in 10^[-2, 0.3], omega in 10^[0, 2].
fn parameters(count: usize) -> (Vec<f64>, Vec<f64>) {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut uniform = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    (0..count)
        .map(|_| {
            let lambda = 10f64.powf(-2.0 + 2.3 * uniform());
            // Exact in single precision, so that both precisions have the same integral.
            let omega = 10f64.powf(2.0 * uniform());
            (f64::from(lambda as f32), f64::from(omega as f32))
        })
        .unzip()
}

/// Fig. 11: error of the tail at lambda = 0.5, omega = 10 against the number of areas, beside the specification of each precision.
fn figure_11<M: Machine>(machine: &M) {
    let case: (&[f64], &[f64]) = (&[0.5], &[10.0]);
    for form in [Form::Table, Form::Warp] {
        for (areas, double, single) in [
            (2, 4.9e-4, 4.9e-4),
            (4, 2.6e-6, 2.6e-6),
            (6, 1.4e-8, 1.5e-8),
            (8, 7.2e-11, 3.0e-8),
            (12, 2.0e-15, 3.0e-8),
            (16, 4e-17, 3.0e-8),
            (64, 1e-16, 3.0e-8),
        ] {
            let rule = |nodes| PaperRule {
                areas,
                nodes,
                start: Start::FirstZero,
                ..PaperRule::default()
            };
            let exact = rule(16).exact(0.5, 10.0);
            let error = |value: f64| (value - exact).abs();
            let found =
                error(values::<M, f64>(machine, &rule(16), form, Functions::Software, case)[0]);
            assert!(
                (found - double).abs() < 0.05 * double + 1.2e-16,
                "{form:?}, f64, {areas} areas: {found:e}, expected {double:e}"
            );
            // Below the first digits it is roundoff, of which the size is known only: a few units of 0.092 at most.
            for functions in [Functions::Software, Functions::Hardware] {
                let found = error(values::<M, f32>(machine, &rule(8), form, functions, case)[0]);
                assert!(
                    (found - single).abs() < 0.05 * single + 4.5e-8,
                    "{form:?}, f32 {functions:?}, {areas} areas: {found:e}, expected {single:e}"
                );
            }
        }
        // Few nodes: the error of the quadrature, which the bound of eq. (10) does not see.
        for (nodes, expected) in [(4, 6.8e-7), (6, 2.0e-11)] {
            let rule = PaperRule {
                nodes,
                areas: 16,
                start: Start::FirstZero,
                ..PaperRule::default()
            };
            let value = values::<M, f64>(machine, &rule, form, Functions::Software, case)[0];
            let error = (value - rule.exact(0.5, 10.0)).abs();
            assert!(
                (error / expected - 1.0).abs() < 0.05,
                "{nodes} nodes: {error:e}"
            );
        }
    }
}

#[test]
fn figure_11_comes_out_in_three_precisions() {
    figure_11(&Emulator::default());
    if let Some(device) = support::device() {
        figure_11(&device);
    }
}

fn both_forms_agree<M: Machine, T: Real>(machine: &M, functions: Functions) {
    let (lambda, omega) = parameters(21);
    for areas in [1, 2, 7, 8, 9, 16, 24, 31, 32, 33, 50, 64] {
        let rule = PaperRule {
            areas,
            nodes: if areas == 16 { 8 } else { 4 },
            panels: 2,
            ..PaperRule::default()
        };
        let run = |form| {
            let mut batch =
                FixedBatch::<M, T>::new(machine, &rule, &lambda, &omega).expect("a batch");
            batch.keep_columns(machine).expect("memory for the columns");
            batch.launch(machine, form, functions).expect("a launch");
            let values = batch.values(machine).expect("the values");
            (values, batch.columns(machine).expect("the columns"))
        };
        let (table, table_columns) = run(Form::Table);
        let (warp, warp_columns) = run(Form::Warp);
        assert!(
            table_columns == warp_columns,
            "{} {functions:?}, {areas} areas: the columns differ",
            T::NAME
        );
        for (k, (table, warp)) in table.iter().zip(&warp).enumerate() {
            let (a, b) = (table.to_f64(), warp.to_f64());
            // Only the head is summed in another order.
            let scale = 2.0 / omega[k];
            assert!(
                (a - b).abs() < 5.0 * T::EPSILON.to_f64() * scale,
                "{areas}: {a:e} {b:e}"
            );
        }
        // Without the columns the tail is their linear form.
        let mut batch = FixedBatch::<M, T>::new(machine, &rule, &lambda, &omega).expect("a batch");
        batch
            .launch(machine, Form::Warp, functions)
            .expect("a launch");
        let linear = batch.values(machine).expect("the values");
        for (k, (table, linear)) in table.iter().zip(&linear).enumerate() {
            let (a, b) = (table.to_f64(), linear.to_f64());
            let scale = 2.0 / omega[k];
            assert!(
                (a - b).abs() < 16.0 * T::EPSILON.to_f64() * scale,
                "{areas}, linear: {a:e} {b:e}"
            );
        }
    }
}

#[test]
fn differences_by_shuffles_are_those_of_the_table_to_the_bit() {
    for order in EMULATORS {
        both_forms_agree::<_, f64>(&Emulator::new(order), Functions::Software);
    }
    both_forms_agree::<_, f32>(&Emulator::default(), Functions::Software);
    both_forms_agree::<_, f32>(&Emulator::default(), Functions::Hardware);
    if let Some(device) = support::device() {
        both_forms_agree::<_, f64>(&device, Functions::Software);
        both_forms_agree::<_, f32>(&device, Functions::Software);
        both_forms_agree::<_, f32>(&device, Functions::Hardware);
    }
}

fn many_integrals<M: Machine>(machine: &M, count: usize) {
    let (lambda, omega) = parameters(count);
    for wave in [Wave::Cos, Wave::Sin] {
        let rule = PaperRule {
            areas: 32,
            nodes: 8,
            panels: 4,
            wave,
            ..PaperRule::default()
        };
        let expected = integrate_on_cpu(&rule, &lambda, &omega, true).expect("the CPU");
        for (k, value) in expected.iter().enumerate() {
            let error = (value - rule.exact(lambda[k], omega[k])).abs();
            assert!(
                error < 4e-11 / omega[k],
                "{} {}: {error:e}",
                lambda[k],
                omega[k]
            );
        }
        let case = (&lambda[..], &omega[..]);
        for form in [Form::Table, Form::Warp] {
            let check = |found: Vec<f64>, tolerance: f64| {
                for (k, (found, expected)) in found.iter().zip(&expected).enumerate() {
                    let error = (found - expected).abs() * omega[k];
                    assert!(error < tolerance, "{form:?}, {wave:?}, {k}: {error:e}");
                }
            };
            let software = Functions::Software;
            check(
                values::<M, f64>(machine, &rule, form, software, case),
                1e-14,
            );
            // Absolute accuracy: the areas cancel, so the error is relative to them, and not to the integral.
            check(values::<M, f32>(machine, &rule, form, software, case), 6e-6);
            check(
                values::<M, f32>(machine, &rule, form, Functions::Hardware, case),
                6e-6,
            );
        }
    }
}

#[test]
fn many_integrals_agree_with_the_cpu_and_the_closed_form() {
    many_integrals(&Emulator::default(), 37);
    if let Some(device) = support::device() {
        many_integrals(&device, 50_000);
    }
}

#[test]
fn what_has_no_kernel_is_refused() {
    let machine = Emulator::default();
    let rule = PaperRule::default();
    let mut batch = FixedBatch::<_, f64>::new(&machine, &rule, &[0.5], &[10.0]).expect("a batch");
    let error = batch
        .launch(&machine, Form::Warp, Functions::Hardware)
        .expect_err("the hardware has no double precision");
    assert!(error.is_input(), "{error}");
    assert!(FixedBatch::<_, f64>::new(&machine, &rule, &[0.5], &[]).is_err());
    let large = PaperRule { areas: 65, ..rule };
    assert!(FixedBatch::<_, f32>::new(&machine, &large, &[0.5], &[1.0]).is_err());
}
