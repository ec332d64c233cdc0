//! Ducts against closed forms, known tables and series.

use super::kernels::Kernels;
use super::{Duct, DuctSection};
use crate::accuracy::{Errors, Repeatable, Unwatched};
use crate::bgk::{Model, Rotation, RotationalCollisions};
use crate::flow::{Drive, Machine, Tube};

fn duct(section: &str, delta: f64) -> Duct {
    Duct {
        section: section.parse().unwrap(),
        model: Model::Bgk,
        rotation: None,
        delta,
        accommodation: 1.0,
        grid: None,
    }
}

fn close(found: f64, expected: f64, tolerance: f64) {
    let off = (found / expected - 1.0).abs();
    assert!(off < tolerance, "{found} {expected} {off:e}");
}

/// Abramowitz' functions T_0 to T_5, by mpmath's quadrature of `v^n exp(-v^2 - x/v)`.
#[test]
fn kernels_are_abramowitz_functions() {
    let kernels = Kernels::new();
    for (x, [t0, t1, t2, t3, t4, t5]) in [
        (
            1e-6,
            [
                0.88621297576481,
                0.4999991137803,
                0.44311296272682,
                0.49999955688679,
                0.66466969408979,
                0.99999933533006,
            ],
        ),
        (
            0.01,
            [
                0.83874584847672,
                0.49139999085345,
                0.43815684455956,
                0.49559372009583,
                0.65969226679361,
                0.99337822441446,
            ],
        ),
        (
            1.0,
            [
                0.15004596450516,
                0.14656338138598,
                0.16848734838335,
                0.22158636363856,
                0.32601271326801,
                0.52741640146879,
            ],
        ),
        (
            10.0,
            [
                1.5726917263304e-4,
                2.8371851916959e-4,
                5.3808696422559e-4,
                1.0700643823348e-3,
                2.2257230421864e-3,
                4.8305635857976e-3,
            ],
        ),
        (
            40.0,
            [
                2.5628287737953e-10,
                7.111651723621e-10,
                2.0161544850996e-9,
                5.8368227199526e-9,
                1.7247535174891e-8,
                5.1996735141898e-8,
            ],
        ),
    ] {
        let expected = [
            t0,
            t2 - t0,
            t4 - 2.0 * t2 + t0,
            t1,
            t3 - t1,
            t5 - 2.0 * t3 + t1,
        ];
        for (found, expected) in kernels.at(x).into_iter().zip(expected) {
            assert!((found - expected).abs() < 1e-10, "{x}: {found} {expected}");
        }
    }
}

/// Means of the inverse distance over both points of a rectangle, in closed form by mpmath.
#[test]
fn free_molecules_have_the_mean_inverse_distance() {
    for (section, expected) in [
        ("rectangle:1", 0.838726942518),
        ("rectangle:2", 1.15245265371),
        ("rectangle:5", 1.61786350676),
        ("rectangle:100", 3.27322854148),
    ] {
        let found = duct(section, 1e-9).solve().unwrap();
        close(found.g_p, expected, 1e-6);
        close(found.g_t, 0.5 * expected, 1e-6);
    }
}

/// Sums over the images of a section in its walls, in closed form by mpmath. Rays that are followed at random agree: 2.17287 +- 0.00046 and 1.59944 +- 0.00031.
/// At delta = 1e-9 collisions leave 2e-7 of the way to a wall, and 3e-6 of one that mirrors make a hundred times as long.
#[test]
fn mirrors_show_images_of_the_section() {
    for (section, accommodation, expected, tolerance) in [
        ("rectangle:1", 0.8, 1.16063384734, 3e-7),
        ("rectangle:1", 0.5, 2.17324877606, 3e-7),
        ("rectangle:1", 0.1, 13.3733973688, 3e-7),
        ("rectangle:2", 0.8, 1.59943669449, 3e-7),
        ("rectangle:100", 0.9, 3.9165012535, 5e-7),
        ("rectangle:100", 0.1, 56.9419913681, 4e-6),
    ] {
        let duct = Duct {
            accommodation,
            ..duct(section, 1e-9)
        };
        close(duct.solve().unwrap().g_p, expected, tolerance);
    }
}

/// Without collisions chords of a disc decide: G_P = 8/(3 sqrt(pi)) (2 - A)/A with the share A. Collisions at delta = 1e-9 leave a few 1e-8 of it.
#[test]
fn free_molecules_in_a_circle_follow_chords() {
    let exact = 8.0 / (3.0 * std::f64::consts::PI.sqrt());
    for (accommodation, tolerance) in [(1.0, 3e-8), (0.5, 1e-7), (0.1, 5e-7), (0.01, 5e-6)] {
        let duct = Duct {
            accommodation,
            ..duct("circle", 1e-9)
        };
        let found = duct.solve().unwrap();
        let expected = exact * (2.0 - accommodation) / accommodation;
        close(found.g_p, expected, tolerance);
        close(found.g_t, 0.5 * expected, 10.0 * tolerance);
    }
}

/// The sweep over rings, whose errors are below 1e-3 here.
#[test]
fn a_circle_has_the_flow_over_rings() {
    for (delta, accommodation, model) in [
        (0.5, 1.0, Model::Bgk),
        (1.0, 0.5, Model::Shakhov),
        (5.0, 1.0, Model::Polyatomic),
    ] {
        let found = Duct {
            model,
            accommodation,
            ..duct("circle", delta)
        };
        let found = found.solve().unwrap();
        let tube = Tube {
            model,
            rotation: None,
            delta,
            accommodation,
        };
        for (drive, expected, tolerance) in [
            (Drive::Pressure, found.g_p, 1e-3),
            (Drive::Temperature, found.g_t, 6e-3),
        ] {
            let case = tube.case(drive).resolve().unwrap();
            let swept = crate::flow::solve(&case, &Machine::Cpu, &mut |_, _| true).unwrap();
            close(Tube::coefficient(drive, &swept), expected, tolerance);
        }
        close(found.g_t_by_heat, found.g_t, 1e-5);
    }
}

/// Tables of the BGK equation between plates, and the numbers of a separate program for molecules that rotate.
#[test]
fn a_slit_has_the_flow_between_plates() {
    for (delta, expected) in [(0.1, 2.0328), (1.0, 1.5387), (10.0, 2.7686)] {
        close(duct("slit", delta).solve().unwrap().g_p, expected, 1e-4);
    }
    // Z = 2.667 and S = 1.26.
    let rotation = Rotation {
        collisions: RotationalCollisions::Constant(2.667 / (0.15 * std::f64::consts::PI)),
        prandtl: 0.71723,
        ..Rotation::default()
    };
    for (delta, expected) in [(0.1, 2.03693), (1.0, 1.54768), (10.0, 2.77510)] {
        let found = Duct {
            model: Model::Polyatomic,
            rotation: Some(rotation),
            ..duct("slit", delta)
        };
        let found = found.solve().unwrap();
        close(found.g_p, expected, 1e-4);
        // Onsager's relation, with the flux of internal energy.
        close(found.g_t_by_heat, found.g_t, 1e-5);
    }
}

/// Sines of Poisson's equation, and slip of the BGK equation, 1.016191 (C. Cercignani, 1969): the rest falls like 1/delta.
#[test]
fn thick_gas_has_poiseuilles_flow_with_slip() {
    const SLIP: f64 = 1.016191;
    for (section, viscous, slip) in [
        ("circle", 0.25, 1.0),
        ("slit", 1.0 / 6.0, 1.0),
        ("rectangle:1", 0.07028850748, 0.5623080598),
        ("rectangle:2", 0.1143408386, 0.7492824247),
        ("rectangle:5", 0.1456583771, 0.8986005085),
    ] {
        let rest = [100.0, 300.0].map(|delta| {
            let found = duct(section, delta).solve().unwrap();
            close(found.g_t_by_heat, found.g_t, 1e-4);
            delta * (found.g_p - viscous * delta - SLIP * slip)
        });
        assert!(rest[0] > 0.0 && rest[0] < 2.5, "{rest:?}");
        assert!((rest[1] - rest[0]).abs() < 0.3, "{rest:?}");
    }
}

/// The error bars cover the distance from many more points.
#[test]
fn errors_cover_those_of_finer_points() {
    for (section, delta, accommodation) in [
        ("circle", 0.1, 1.0),
        ("circle", 1.0, 0.1),
        ("circle", 100.0, 0.5),
        ("slit", 0.1, 1.0),
        ("rectangle:1", 1.0, 1.0),
        ("rectangle:1", 1.0, 0.5),
        ("rectangle:3", 0.1, 0.1),
        ("rectangle:3", 30.0, 1.0),
    ] {
        let duct = Duct {
            model: Model::Shakhov,
            accommodation,
            ..duct(section, delta)
        };
        let found = duct.solve().unwrap();
        let base = (found.quantities(), found.floor());
        let errors = Errors::of_repeats(&duct, base, f64::INFINITY, &Unwatched).unwrap();
        let fine: Vec<usize> = duct.grid().iter().map(|count| count * 3 / 2).collect();
        let fine = duct.on(&fine).solve().unwrap().quantities();
        for (finding, fine) in errors.findings.iter().zip(fine) {
            let off = (finding.quantity.value - fine.value).abs();
            assert!(off < finding.error.total, "{finding} {}", fine.value);
            assert!(finding.relative() < 1e-4, "{finding}");
        }
    }
}

#[test]
fn numbers_out_of_range_are_refused() {
    for text in [
        "rectangle:0.5",
        "rectangle:101",
        "rectangle:x",
        "rectangle",
        "square",
        "",
    ] {
        assert!(text.parse::<DuctSection>().is_err(), "{text}");
    }
    let ratio = DuctSection::Rectangle { ratio: f64::NAN };
    for duct in [
        duct("slit", 0.0),
        duct("slit", 301.0),
        Duct {
            accommodation: 0.001,
            ..duct("slit", 1.0)
        },
        Duct {
            accommodation: 0.0,
            ..duct("circle", 1.0)
        },
        Duct {
            section: ratio,
            ..duct("slit", 1.0)
        },
        duct("slit", 1.0).on(&[2, 8, 16]),
    ] {
        assert!(duct.solve().is_err(), "{duct:?}");
    }
}
