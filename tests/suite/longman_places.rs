//! Integrals with singularities, kinks and steps inside the range.
//!
//! Truths are closed forms in incomplete gamma functions and integrals of Mehler and Sonine, evaluated by mpmath 1.4 with 40 digits, as in
//! `scripts/longman-places.py`; those of two places by its quadrature.

use std::f64::consts::PI;

use rarefy::longman::{Integral, Proof, Status, Task, Unproven};

use super::longman_forms::{self, integral};

const INFINITY: f64 = f64::INFINITY;

/// Asserts that a value is right, and that it is proven.
#[track_caller]
fn has_value(found: &Integral, right: f64, what: &str) {
    longman_forms::has_value(found, right, what);
    assert_eq!(found.proof, Proof::Monotone, "{what} {found:?}");
}

#[test]
fn singularities_inside_the_range_are_integrated() {
    let all = (0.0, INFINITY);
    for (amplitude, oscillator, frequency, right) in [
        ("abs(x-1)^(-0.5)", "cos", 2.0, -0.823_144_353_629_975_4),
        (
            "abs(x-1)^(-0.5)*exp(-x)",
            "sin",
            2.0,
            1.036_934_042_598_620_7,
        ),
        (
            "abs(x-1)^(-0.999)*exp(-x)",
            "cos",
            2.0,
            -305.423_067_016_873_6,
        ),
        (
            "sqrt(abs(1-x))*exp(-x)",
            "cos",
            2.0,
            0.238_896_029_635_018_47,
        ),
        // At a zero of the oscillator.
        (
            "abs(x-0.7853981633974483)^(-0.5)*exp(-x)",
            "cos",
            2.0,
            0.280_135_021_634_250_74,
        ),
        // The place 1/3 is rounded.
        (
            "abs(3*x-1)^(-0.5)*exp(-x)",
            "cos",
            2.0,
            0.647_076_997_447_464_6,
        ),
        ("ln(abs(x-1))*exp(-x)", "cos", 2.0, 0.150_385_151_383_229_5),
        (
            "ln(abs(x^2-4))*exp(-x)",
            "sin",
            2.0,
            0.639_241_552_707_899_5,
        ),
        (
            "ln(abs(x^2-2))*exp(-x)",
            "cos",
            2.0,
            0.445_692_917_912_785_9,
        ),
        ("1/sqrt(abs(x^2-1))", "cos", 3.0, -1.000_443_267_016_500_3),
        (
            "x/sqrt(abs(x^2-1))",
            "bessel:0",
            3.0,
            -0.282_957_496_180_192_8,
        ),
        // Two places that nearly coincide.
        (
            "abs(x-1)^(-0.5)*abs(x-1.0000001)^(-0.4)*exp(-x)",
            "cos",
            2.0,
            -1.888_517_535_291_583_6,
        ),
    ] {
        let found = integral(amplitude, oscillator, frequency, all);
        has_value(&found, right, amplitude);
    }
}

/// At the lower limit, at the upper one, and a hair beyond them.
#[test]
fn singularities_at_limits_are_integrated() {
    let amplitude = "abs(x-1)^(-0.5)";
    for (lower, right) in [
        (1.0, -1.174_644_394_387_893_5),
        (1.0 + 1e-9, -1.174_618_074_949_875_1),
        (1.0 - 1e-9, -1.174_670_713_824_374_3),
    ] {
        let found = integral(amplitude, "cos", 2.0, (lower, INFINITY));
        has_value(&found, right, &format!("{amplitude} from {lower}"));
    }
    let right = -0.408_488_655_535_789_15;
    let found = integral("1/sqrt(1-x^2)", "cos", 3.0, (0.0, 1.0));
    has_value(&found, right, "pi/2 J_0(3)");
    let found = integral("1/sqrt(1-x^2)", "cos", 3.0, (-1.0, 1.0));
    has_value(&found, 2.0 * right, "pi J_0(3)");
    let amplitude = "abs(x+1)^(-0.5)*exp(-x^2)";
    let found = integral(amplitude, "exp", 2.0, (-INFINITY, INFINITY));
    has_value(&found, 0.497_079_174_385_858_6, amplitude);
    let imaginary = found.imaginary.unwrap();
    assert!((imaginary.value + 0.774_154_945_953_617_4).abs() <= imaginary.error);
}

#[test]
fn kinks_and_steps_are_integrated() {
    for (amplitude, oscillator, frequency, right) in [
        ("abs(x-1)*exp(-x)", "cos", 2.0, 0.249_698_262_405_250_4),
        ("max(0,1-x)", "cos", 2.0, 0.354_036_709_136_785_6),
        ("min(x,1)*exp(-x)", "sin", 2.0, 0.224_636_118_016_587_68),
        ("floor(x)*exp(-x)", "cos", 2.0, -0.132_839_150_604_608_76),
        ("sign(x-1)*exp(-x)", "cos", 2.0, -0.528_846_209_661_100_3),
        // A zero of another function.
        ("min(1,(x/2)^(-1.5))", "cos", 1.0, 0.135_884_367_618_418_42),
    ] {
        let found = integral(amplitude, oscillator, frequency, (0.0, INFINITY));
        has_value(&found, right, amplitude);
    }
}

/// A place far out, with a phase of two thousand.
#[test]
fn a_place_far_out_costs_digits_and_no_more() {
    let task = Task::oscillating("abs(x-1000)^(-0.5)", "cos", "2", &[]).unwrap();
    let found = task.integrals().tolerance(1e-8).integrate().unwrap()[0];
    let off = (found.value + 0.651_309_045_699_142_5).abs();
    assert_eq!(found.status, Status::Ok, "{found:?}");
    assert!(off <= found.error, "{found:?}");
    // Beyond all that can be followed there is no value, rather than a wrong one.
    for place in ["1e6", "1e9", "1e15"] {
        let amplitude = format!("abs(x-{place})^(-0.5)");
        let found = integral(&amplitude, "cos", 2.0, (0.0, INFINITY));
        assert_ne!(found.status, Status::Ok, "{amplitude} {found:?}");
    }
}

#[test]
fn divergent_singularities_are_named() {
    for (amplitude, oscillator, limits, at, power) in [
        ("1/(x-1)", "cos", (0.0, INFINITY), 1.0, 1.0),
        ("1/(x-1)", "cos", (0.0, 3.0), 1.0, 1.0),
        ("abs(x-2)^(-1.5)*exp(-x)", "sin", (0.0, INFINITY), 2.0, 1.5),
        ("exp(-x)/(x^2-4)", "bessel:1", (0.0, INFINITY), 2.0, 1.0),
        ("exp(-x^2)/(x+3)^2", "cos", (-INFINITY, INFINITY), -3.0, 2.0),
    ] {
        let found = integral(amplitude, oscillator, 1.0, limits);
        assert_ne!(found.status, Status::Ok, "{amplitude} {found:?}");
        let Some(Unproven::Singular { place, exponent }) = found.unproven else {
            panic!("{amplitude} {found:?}");
        };
        assert_eq!((place, exponent), (at, power), "{amplitude}");
        let reason = found.reason().unwrap();
        let words = format!("d^-{power}, d the distance from x = {at}:");
        assert!(reason.contains(&words), "{reason}");
    }
}

/// The places 1/3, sqrt 2 and 0.1 +- 6e-10 are rounded, so that what lies between them and a limit, or each other, is not known. By quadrature between the exact
/// places the fourth is 5.6195, and the last 6.0008.
#[test]
fn rounded_places_next_to_limits_or_each_other_are_not_ok() {
    let third = 1.0 / 3.0;
    for (amplitude, lower) in [
        ("abs(3*x-1)^(-0.9)*exp(-x)", third),
        ("abs(3*x-1)^(-0.5)*exp(-x)", third),
        ("abs(x^2-2)^(-0.5)*exp(-x)", 2f64.sqrt()),
        (
            "abs(3*x-1)^(-0.5)*abs(x-0.3333333333333333)^(-0.4)*exp(-x)",
            0.0,
        ),
        (
            "abs(x^2-2)^(-0.5)*abs(x-1.4142135623730951)^(-0.4)*exp(-x)",
            0.0,
        ),
        ("abs(x^2-0.2*x+0.01)^(-0.4)*exp(-x)", 0.0),
    ] {
        let found = integral(amplitude, "cos", 2.0, (lower, INFINITY));
        assert_ne!(found.status, Status::Ok, "{amplitude} {found:?}");
    }
    // To the tolerance that the rounding leaves there is a value.
    let task = Task::oscillating("abs(3*x-1)^(-0.5)*exp(-x)", "cos", "2", &[]).unwrap();
    let integrals = task.integrals().lower(vec![third]).tolerance(1e-6);
    let found = integrals.integrate().unwrap()[0];
    assert_eq!(found.status, Status::Ok, "{found:?}");
    let off = (found.value - 0.168_396_010_953_043).abs();
    assert!(off <= found.error, "{found:?} {off}");
}

/// Both sides of an odd integrand diverge at 0: nothing cancels.
#[test]
fn an_odd_integrand_that_diverges_has_no_value() {
    let all = (-INFINITY, INFINITY);
    for amplitude in ["exp(-x^2)/x", "1/x", "1/x^3"] {
        let found = integral(amplitude, "cos", 1.0, all);
        assert_ne!(found.status, Status::Ok, "{amplitude} {found:?}");
    }
    let found = integral("x*exp(-x^2)", "cos", 1.0, all);
    assert_eq!((found.status, found.value), (Status::Ok, 0.0), "{found:?}");
}

/// Truths are incomplete beta functions with exp, elementary with cos and ln, incomplete gamma functions with max, and mpmath's quadrature of the square root of the distance in
/// the two others.
#[test]
fn zeros_of_other_functions_are_places() {
    let all = (0.0, INFINITY);
    for (amplitude, oscillator, frequency, limits, right) in [
        (
            "abs(exp(x)-2)^(-0.5)",
            "cos",
            1.0,
            all,
            1.374_669_592_529_326_7,
        ),
        (
            "ln(abs(exp(x)-2))*exp(-x/2)",
            "cos",
            2.0,
            all,
            -0.262_955_333_066_699_1,
        ),
        (
            "abs(cos(x)-0.5)^(-0.5)",
            "sin",
            1.0,
            (0.0, PI),
            3.863_703_305_156_273,
        ),
        (
            "abs(ln(x))^(-0.5)",
            "cos",
            0.0,
            (0.0, 1.0),
            1.772_453_850_905_516,
        ),
        (
            "abs(ln(x/2))^(-0.5)*x^(-3)",
            "cos",
            0.0,
            (2.0, INFINITY),
            0.313_328_534_328_875_1,
        ),
        (
            "ln(abs(x^3-2))*exp(-x)",
            "cos",
            2.0,
            all,
            0.345_969_812_653_57,
        ),
        ("max(2-x^3,0)", "cos", 2.0, all, 0.838_317_950_234_896_1),
        (
            "max(exp(-x)-x,0)",
            "cos",
            2.0,
            all,
            0.244_953_587_681_091_47,
        ),
        (
            "sqrt(max(0,2-x^2))",
            "cos",
            3.0,
            all,
            -0.113_367_126_683_915_33,
        ),
        (
            "abs(cos(x)-x/9)^(-0.5)*exp(-x)",
            "cos",
            1.0,
            all,
            0.635_941_224_807_415_2,
        ),
    ] {
        let found = integral(amplitude, oscillator, frequency, limits);
        has_value(&found, right, amplitude);
    }
}

#[test]
fn zeros_with_a_power_that_has_no_integral_are_named() {
    for (amplitude, at) in [
        ("exp(-x)/(exp(x)-2)", std::f64::consts::LN_2),
        ("abs(x^3-8)^(-1.25)", 2.0),
        ("exp(-x)/ln(x)", 1.0),
        ("exp(-x)/(cos(x)-x)^2", 0.739_085_133_215_160_6),
    ] {
        let found = integral(amplitude, "cos", 1.0, (0.0, INFINITY));
        assert_ne!(found.status, Status::Ok, "{amplitude} {found:?}");
        let Some(Unproven::Singular { place, exponent }) = found.unproven else {
            panic!("{amplitude} {found:?}");
        };
        assert!((place - at).abs() < 1e-14, "{amplitude} {place}");
        assert!(exponent >= 1.0, "{amplitude} {exponent}");
    }
}

/// Double zeros, zeros of two factors at one place, and near each other.
#[test]
fn zeros_that_are_not_simple_are_not_ok() {
    for amplitude in [
        "abs(exp(x)-1-x)^(-0.6)*exp(-x)",
        "abs(cosh(x-1)-1)^(-0.6)*exp(-x)",
        "abs(exp(x)-2)^(-0.6)*abs(exp(2*x)-4)^(-0.6)*exp(-x)",
        "abs(ln(x)-x+1)^(-0.5)*exp(-x)",
        "abs(x^3-3*x+2)^(-0.5)*exp(-x)",
    ] {
        let found = integral(amplitude, "cos", 2.0, (0.0, INFINITY));
        assert_ne!(found.status, Status::Ok, "{amplitude} {found:?}");
    }
}

#[test]
fn places_without_end_are_said_to_be_unknown() {
    for amplitude in [
        "abs(cos(x))^(-0.5)*exp(-x)",
        "exp(-x)/sin(x+1)",
        "ln(abs(sin(1/x)))*exp(-x)",
    ] {
        let found = integral(amplitude, "cos", 1.0, (0.0, INFINITY));
        assert_ne!(found.status, Status::Ok, "{amplitude} {found:?}");
        assert_eq!(found.unproven, Some(Unproven::Place), "{amplitude}");
        assert!(found.reason().unwrap().contains("infinitely many"));
    }
}
