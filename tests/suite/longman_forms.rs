//! Integrals between other limits than 0 and infinity, of the frequency 0, of complex amplitudes, and of amplitudes that have a proof in another form.
//!
//! Truths are closed forms; numbers without a formula are those of mpmath 1.3 with 30 digits (`quad`, `quadosc`, `e1`).

use std::f64::consts::PI;

use rarefy::Backend;
use rarefy::longman::{Integral, Status, Task, Unproven};

const INFINITY: f64 = f64::INFINITY;

/// The integral of an amplitude times an oscillator between two limits.
pub(crate) fn integral(
    amplitude: &str,
    oscillator: &str,
    frequency: f64,
    limits: (f64, f64),
) -> Integral {
    let task = Task::complex(amplitude, oscillator, "frequency", &["frequency"]).unwrap();
    let integrals = task.integrals().column("frequency", vec![frequency]);
    let integrals = integrals.lower(vec![limits.0]).upper(vec![limits.1]);
    integrals.compute(Backend::Cpu).integrate().unwrap()[0]
}

/// Asserts that a value is right within its error, and has ten digits.
#[track_caller]
pub(crate) fn has_value(found: &Integral, right: f64, what: &str) {
    assert_eq!(found.status, Status::Ok, "{what} {found:?}");
    let off = (found.value - right).abs();
    assert!(
        off <= found.error + 2e-16 * right.abs(),
        "{what} {found:?} {right}"
    );
    assert!(found.error <= 1e-10 * right.abs(), "{what} {found:?}");
}

#[test]
fn the_frequency_zero_is_the_integral_without_oscillation() {
    let all = (0.0, INFINITY);
    for (amplitude, oscillator, right) in [
        ("exp(-x)", "cos", 1.0),
        ("exp(-x)", "bessel:0", 1.0),
        ("1/(1+x^2)", "cos", PI / 2.0),
        ("exp(-x)/sqrt(x)", "bessel:0", PI.sqrt()),
        ("x^(-0.3)/(1+x)", "cos", PI / (0.7 * PI).sin()),
        ("exp(-x)", "sin", 0.0),
        ("1/(1+x)", "sin", 0.0),
        ("exp(-x)", "bessel:2", 0.0),
    ] {
        has_value(&integral(amplitude, oscillator, 0.0, all), right, amplitude);
    }
    for amplitude in ["1/(1+x)", "1", "x^(-1.5)*exp(-x)", "exp(x)"] {
        let found = integral(amplitude, "cos", 0.0, all);
        assert_ne!(found.status, Status::Ok, "{amplitude}");
        assert!(
            found.value.is_nan() && found.reason().is_some(),
            "{amplitude}"
        );
    }
    // Of a wave without an end nothing is known.
    let found = integral("sin(x^2)", "cos", 0.0, all);
    assert_eq!(found.status, Status::NotConverged);
    assert_eq!(found.unproven, Some(Unproven::Range));
}

#[test]
fn limits_may_be_below_zero_and_finite() {
    let (e, inf) = (1f64.exp(), INFINITY);
    for (amplitude, oscillator, frequency, limits, right) in [
        ("exp(-x^2)", "cos", 2.0, (-inf, inf), PI.sqrt() / e),
        ("exp(-x^2)", "sin", 2.0, (-inf, inf), 0.0),
        ("x/(1+x^2)", "sin", 1.0, (-inf, inf), PI / e),
        ("exp(-abs(x))", "cos", 1.0, (-inf, inf), 1.0),
        ("1", "cos", 1.0, (0.0, 1.0), 1f64.sin()),
        ("1", "cos", 1.0, (1.0, 0.0), -1f64.sin()),
        ("1", "sin", 1.0, (-1.0, 2.0), 1f64.cos() - 2f64.cos()),
        ("1", "bessel:1", 1.0, (-2.0, 3.0), 0.483_942_734_043_169_1),
        ("x^(-0.5)", "cos", 0.0, (0.0, 4.0), 4.0),
        (
            "exp(-x)",
            "cos",
            2.0,
            (-1.0, inf),
            (e / 5.0) * (2f64.cos() + 2.0 * 2f64.sin()),
        ),
        (
            "1/(1+x)",
            "cos",
            3000.0,
            (1.0, 50.0),
            -3.003_221_584_676_802_8e-5,
        ),
        ("exp(-x)", "cos", 1.0, (2.0, 2.0), 0.0),
    ] {
        has_value(
            &integral(amplitude, oscillator, frequency, limits),
            right,
            amplitude,
        );
    }
    for (amplitude, limits) in [("1/(x-1)", (0.0, 3.0)), ("1/x", (-1.0, 2.0))] {
        let found = integral(amplitude, "cos", 1.0, limits);
        assert_ne!(found.status, Status::Ok, "{amplitude}");
    }
    for (oscillator, limits) in [
        ("cos", (f64::NAN, 1.0)),
        ("cos", (INFINITY, INFINITY)),
        ("bessel:0.5", (-1.0, 1.0)),
    ] {
        let found = integral("1", oscillator, 1.0, limits);
        assert_eq!(found.status, Status::InvalidArgument, "{oscillator}");
    }
}

#[test]
fn complex_integrals_have_two_parts() {
    let all = (0.0, INFINITY);
    for (amplitude, oscillator, frequency, real, imaginary) in [
        // exp(3) E_1(3)
        ("1/(x+i)", "exp", 3.0, 0.262_083_740_255_318_5, 0.0),
        ("exp(-x)", "exp", 2.0, 0.2, 0.4),
        ("exp(-x)", "exp", -2.0, 0.2, -0.4),
        ("exp(-(1+2*i)*x)", "exp", 1.0, 0.5, -0.5),
        ("i*exp(-x)", "sin", 2.0, 0.0, 0.4),
        ("exp(-(1+i)*x)", "bessel:0", 0.0, 0.5, -0.5),
    ] {
        let found = integral(amplitude, oscillator, frequency, all);
        assert_eq!(found.status, Status::Ok, "{amplitude} {found:?}");
        let part = found.imaginary.unwrap();
        assert!(
            (found.value - real).abs() <= found.error + 1e-16,
            "{amplitude} {found:?}"
        );
        assert!(
            (part.value - imaginary).abs() <= part.error + 1e-16,
            "{amplitude} {part:?}"
        );
        assert!(found.error.max(part.error) <= 1e-10 * real.hypot(imaginary));
    }
    // A name that has a value is a parameter.
    let task = Task::complex("exp(-i*x)", "cos", "1", &["i"]).unwrap();
    assert_eq!(task.parameters(), ["i"]);
    let found = task.integrals().column("i", &[2.0]).integrate().unwrap()[0];
    assert_eq!(found.imaginary, None);
    has_value(&found, 0.4, "exp(-i*x)");
}

#[test]
fn products_of_oscillations_are_sums_of_frequencies() {
    let all = (0.0, INFINITY);
    for (amplitude, oscillator, frequency, right) in [
        (
            "cos(0.5*x)/(x^2+1)",
            "cos",
            1.0,
            PI / 4.0 * ((-0.5_f64).exp() + (-1.5_f64).exp()),
        ),
        ("sin(x)/x", "sin", 3.0, 0.5 * 2f64.ln()),
        ("sin(x)/x", "cos", 0.0, PI / 2.0),
        ("sin(x)/x", "cos", 1.0, PI / 4.0),
        ("(sin(x)/x)^2", "cos", 0.0, PI / 2.0),
        ("(sin(x)/x)^2", "cos", 1.0, PI / 4.0),
    ] {
        has_value(
            &integral(amplitude, oscillator, frequency, all),
            right,
            amplitude,
        );
    }
    // The zero frequency of the product has no integral.
    for amplitude in ["cos(x)", "cos(x)/(1+x)", "cos(x)/sqrt(1+x)"] {
        assert_ne!(
            integral(amplitude, "cos", 1.0, all).status,
            Status::Ok,
            "{amplitude}"
        );
    }
}

#[test]
fn amplitudes_that_cancel_or_overflow_have_proofs() {
    let all = (0.0, INFINITY);
    for (amplitude, oscillator, frequency, right) in [
        // Sech, by residues.
        (
            "1/cosh(3*x)",
            "cos",
            0.0147,
            PI / 6.0 / (PI * 0.0147 / 6.0).cosh(),
        ),
        (
            "cosh(x)*exp(-2*x)",
            "cos",
            0.03,
            0.5 / 1.0009 + 1.5 / 9.0009,
        ),
        ("1-tanh(x)", "sin", 1e-3, 4.112_333_983_329_837e-4),
        ("x/(x^2+1)^(m+1)", "cos", 1.0, 0.178_921_414_119_863_57),
        (
            "1/(exp((x-7.5)/0.01)+1)",
            "cos",
            0.64,
            -1.556_402_334_245_445_5,
        ),
    ] {
        let amplitude = amplitude.replace("m+1", "1.4+1");
        has_value(
            &integral(&amplitude, oscillator, frequency, all),
            right,
            &amplitude,
        );
    }
}

/// A root less 1 has an identity. Rounded constants such as sqrt(2) have none: their rounding would be a part of the amplitude.
#[test]
fn roots_less_numbers_keep_what_the_numbers_are() {
    let all = (0.0, INFINITY);
    for (amplitude, oscillator, frequency, right) in [
        ("sqrt(1+exp(-x))-1", "cos", 2.0, 0.078_241_862_275_743_38),
        ("sqrt(4+exp(-x))-2", "sin", 3.0, 0.071_687_262_891_606_16),
        (
            "1-sqrt(1+(1+x)^(-2))",
            "cos",
            1.0,
            -0.163_612_201_931_631_94,
        ),
    ] {
        let found = integral(amplitude, oscillator, frequency, all);
        has_value(&found, right, amplitude);
    }
    for amplitude in [
        "sqrt(2+exp(-x-18))-sqrt(2)",
        "1-sqrt(2+exp(-x-18))/sqrt(2)",
        "ln(x+sqrt(2)^2)-ln(x+2)",
        "sqrt(x+1)-1",
        "1-sqrt(1-tanh(x))",
    ] {
        let found = integral(amplitude, "bessel:2.5", 1.0, all);
        assert_ne!(found.status, Status::Ok, "{amplitude} {found:?}");
    }
}

/// Weber and Schafheitlin; 1/(2 nu) for J_nu^2/x; the area of the triangle of three Bessel functions; I_0(1) K_0(2) from tables (Watson, sections 13.2 to 13.53).
#[test]
fn products_of_bessel_functions_have_their_closed_forms() {
    let all = (0.0, INFINITY);
    for (amplitude, oscillator, frequency, right) in [
        ("J0(2*x)", "bessel:1", 3.0, 1.0 / 3.0),
        ("J1(3*x)*J0(2*x)", "cos", 0.0, 1.0 / 3.0),
        ("J0(x)*J1(x)", "cos", 0.0, 0.5),
        ("J1(x)^2/x", "cos", 0.0, 0.5),
        ("besselj(2.5,x)/x", "bessel:2.5", 1.0, 0.2),
        ("cos(x/2)", "bessel:0", 1.0, (4.0_f64 / 3.0).sqrt()),
        ("J0(x)*cos(x/2)", "cos", 0.0, (4.0_f64 / 3.0).sqrt()),
        ("J0(x)", "sin", 2.0, 1.0 / 3.0_f64.sqrt()),
        ("x*J0(x)^2", "bessel:0", 1.0, 2.0 / (PI * 3.0_f64.sqrt())),
        (
            "J0(x)*x/(x^2+1)",
            "bessel:0",
            2.0,
            1.266_065_877_752_008_4 * 0.113_893_872_749_533_44,
        ),
    ] {
        let found = integral(amplitude, oscillator, frequency, all);
        has_value(&found, right, amplitude);
    }
    for (amplitude, oscillator, frequency) in [
        ("J0(x)^2", "cos", 0.0),
        ("J0(x)", "bessel:0", 1.0),
        ("x*J0(x)", "bessel:0", 2.0),
        ("J0(x)", "cos", 1.0),
        ("x^(-2)*J0(x)", "bessel:0", 2.0),
    ] {
        let found = integral(amplitude, oscillator, frequency, all);
        assert_ne!(found.status, Status::Ok, "{amplitude} {found:?}");
    }
}

/// The Laplace transform of exp(k^2 x) erfc(k sqrt x) is 1/(sqrt s (sqrt s + k)); here s = -2 i.
/// Integrals of Sonine and Gegenbauer: Watson, sections 13.47 and 13.48.
#[test]
fn oscillations_of_square_roots_have_their_closed_forms() {
    let root = "sqrt(x^2+1)";
    for (amplitude, oscillator, frequency, right) in [
        (
            format!("J0(2*{root})"),
            "cos",
            1.0,
            -0.092_697_360_766_252_17,
        ),
        (
            format!("sin(2*{root})/{root}"),
            "cos",
            1.0,
            0.596_022_055_098_541_8,
        ),
        (
            format!("cos({root})/{root}"),
            "cos",
            2.0,
            0.158_931_898_339_830_5,
        ),
        (
            format!("x*sin(2*{root})/{root}"),
            "bessel:0",
            1.0,
            -0.092_697_360_766_252_17,
        ),
        (
            format!("besselj(1.5,2*{root})*(x^2+1)^(-0.75)*x"),
            "bessel:0",
            1.0,
            0.278_435_075_893_823_4,
        ),
        (
            "besselj(2.5,3*sqrt(x^2+2.25))*(x^2+2.25)^(-1.25)*x^2".to_owned(),
            "bessel:1",
            2.0,
            -0.014_393_946_635_278_999,
        ),
    ] {
        let found = integral(&amplitude, oscillator, frequency, (0.0, INFINITY));
        has_value(&found, right, &amplitude);
    }
    // At the frequency of the root nothing oscillates far out.
    for (amplitude, oscillator) in [
        (format!("cos(2*{root})/{root}"), "cos"),
        (format!("J0(2*{root})"), "bessel:0"),
        (format!("J0(2*{root})"), "cos"),
        (format!("cos(2*{root})"), "sin"),
    ] {
        let found = integral(&amplitude, oscillator, 2.0, (0.0, INFINITY));
        assert_ne!(found.status, Status::Ok, "{amplitude} {found:?}");
    }
}

#[test]
fn exponentials_times_error_functions_are_scaled() {
    let all = (0.0, INFINITY);
    for amplitude in ["exp(x)*erfc(sqrt(x))", "erfcx(sqrt(x))"] {
        has_value(&integral(amplitude, "cos", 2.0, all), 0.1, amplitude);
        has_value(&integral(amplitude, "sin", 2.0, all), 0.3, amplitude);
    }
}

/// Forms that overflow or cancel on one side of 0, or whose Bessel functions have a negative argument there. Truths are closed forms and mpmath's quadrature with 30
/// digits.
#[test]
fn other_forms_serve_below_zero_too() {
    let (all, right) = ((-INFINITY, INFINITY), (0.0, INFINITY));
    for (amplitude, oscillator, frequency, limits, truth) in [
        ("erfcx(x)*exp(-2*x^2)", "cos", 0.0, all, PI.sqrt()),
        (
            "erfcx(x)*exp(-2*x^2)",
            "cos",
            1.0,
            all,
            1.380_388_447_043_143,
        ),
        (
            "1-sqrt(1-exp(-x))",
            "cos",
            2.0,
            right,
            0.172_547_507_398_510_97,
        ),
        (
            "J0(x)^2*exp(-x^2)",
            "cos",
            0.0,
            all,
            1.429_856_162_132_900_3,
        ),
        ("J0(x)*J1(2*x)", "sin", 0.5, all, 0.337_055_811_051_402_64),
        ("J0(x)*J1(2*x)", "cos", 0.5, all, 0.0),
    ] {
        let found = integral(amplitude, oscillator, frequency, limits);
        has_value(&found, truth, amplitude);
    }
    // A product with exp(i w x), and one whose imaginary part is 0.
    for (amplitude, real, imaginary) in [
        ("J0(x)*J1(2*x)", 0.5, 0.168_527_905_525_701_32),
        ("J0(x)", 2.0 / 3f64.sqrt(), 0.0),
    ] {
        let found = integral(amplitude, "exp", 0.5, right);
        has_value(&found, real, amplitude);
        let part = found.imaginary.unwrap();
        assert!(
            (part.value - imaginary).abs() <= part.error + 1e-16,
            "{amplitude} {part:?}"
        );
        assert!(part.error <= 1e-10, "{amplitude} {part:?}");
    }
}
