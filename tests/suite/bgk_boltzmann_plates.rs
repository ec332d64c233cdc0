//! The steady gas between plates, by sweeps around a model's relaxation and around the collision integral.

use rarefy::Backend;
use rarefy::bgk::boltzmann::{GapCollisions, PlatesConfig, cross_section};
use rarefy::bgk::steady::plates::Drive;
use rarefy::bgk::{Axis, Gas, VelocitySpace};
use rarefy::collision::{CorrectionMethod, OperatorConfig, Scattering, VelocityGrid};
use rarefy::run::Ending;

/// Velocities on which the linear problems of the tables are accurate.
fn gauss() -> VelocitySpace {
    let axes = vec![Axis::half_range(16, 2).unwrap(), Axis::hermite(8).unwrap()];
    VelocitySpace::new(axes, 2).unwrap()
}

/// With a model's relaxation the steady solver around an integral finds what that of the models does.
#[test]
fn sweeps_around_an_integral_find_the_flows_of_the_models() {
    for (delta, pi) in [(0.1, 0.522325), (1.0, 0.338925), (10.0, 0.083112)] {
        let model = GapCollisions::Model(Gas::default(), gauss());
        let config = PlatesConfig::new(delta, Drive::Couette(0.001), model);
        let solution = config.solver().unwrap().solve().unwrap();
        assert_eq!(solution.status, Ending::Steady, "delta {delta}");
        assert!(
            solution.residuals.len() <= 40,
            "{}",
            solution.residuals.len()
        );
        let [left, right, ..] = &solution.exchange;
        let found = (left[0].shear - right[0].shear) / 0.001;
        assert!((found / pi - 1.0).abs() < 1e-3, "delta {delta}: {found}");
    }
    for (delta, q) in [(1.0, 0.361563), (10.0, 0.09918)] {
        let model = GapCollisions::Model(Gas::default(), gauss());
        let config = PlatesConfig::new(delta, Drive::Fourier(0.001), model);
        let solution = config.solver().unwrap().solve().unwrap();
        assert_eq!(solution.status, Ending::Steady, "delta {delta}");
        let [left, right, ..] = &solution.exchange;
        let found = (right[0].heat - left[0].heat) / 0.001;
        assert!((found / q - 1.0).abs() < 1e-3, "delta {delta}: {found}");
    }
}

/// A force along the plates: `delta/6 + 1.01619 + ...` in thick gas, a minimum of the flow rate near delta = 1.
#[test]
fn the_flow_rate_has_its_limits_and_knudsens_minimum() {
    let of = |delta: f64| {
        let model = GapCollisions::Model(Gas::default(), gauss());
        let mut config = PlatesConfig::new(delta, Drive::Couette(0.0), model);
        config.force = 1e-4 / delta;
        config.cells = 100;
        let mut plates = config.solver().unwrap();
        let solution = plates.solve().unwrap();
        assert_eq!(solution.status, Ending::Steady, "delta {delta}");
        plates.flow_rate().unwrap()
    };
    let [thin, least, more, thick] = [0.1, 1.0, 3.0, 100.0].map(of);
    assert!(thin > least && least < more, "{thin}, {least}, {more}");
    let limit = 100.0 / 6.0 + 1.01619;
    assert!((thick - limit).abs() < 0.02, "{thick}, {limit}");
}

/// Cells of a channel are those of parabolas: a few give the flow rate of thick gas.
#[test]
fn few_cells_give_the_flow_rate_of_thick_gas() {
    let delta = 1000.0;
    let model = GapCollisions::Model(Gas::default(), gauss());
    let mut config = PlatesConfig::new(delta, Drive::Couette(0.0), model);
    config.force = 1e-4 / (delta * delta);
    config.cells = 60;
    let mut plates = config.solver().unwrap();
    let solution = plates.solve().unwrap();
    assert_eq!(solution.status, Ending::Steady);
    let found = plates.flow_rate().unwrap();
    let expected = delta / 6.0 + 1.01619;
    // The means of faces alone are off by 6e-4.
    assert!((found / expected - 1.0).abs() < 3e-5, "{found}, {expected}");
}

/// Fluxes of thick gas, and states that a weak force hardly changes, have more roundoff than the tolerance.
#[test]
fn roundoff_ends_flows_along_a_channel() {
    for (delta, fall, accuracy) in [(1e6_f64, 1e-7, 1e-3), (1e8, 1e-9, 1e-2), (1.0, 1e-6, 3e-3)] {
        let model = GapCollisions::Model(Gas::default(), gauss());
        let mut config = PlatesConfig::new(delta, Drive::Couette(0.0), model);
        config.force = 0.5 * fall / delta;
        config.tolerance = 1e-9;
        config.iterations = 1000;
        let mut plates = config.solver().unwrap();
        let solution = plates.solve().unwrap();
        assert_eq!(solution.status, Ending::AtRoundoff, "delta {delta}");
        assert!(solution.error_estimate > 1e-9 && solution.error_estimate < accuracy);
        let known = if delta > 1.0 {
            delta / 6.0 + 1.01619
        } else {
            1.53868
        };
        let found = plates.flow_rate().unwrap();
        assert!(
            (found / known - 1.0).abs() < accuracy,
            "delta {delta}: {found}"
        );
    }
}

/// Slip and jump of hard spheres: k0 = -1.2540 and d1 = 2.4001, with the viscosity and the conductivity gamma1 = 1.270042 and gamma2 = 1.922284, in units of (sqrt(pi)/2) mean free paths,
/// which are 0.8 l0. T. Ohwada, Y. Sone and K. Aoki, Phys. Fluids A 1 (1989) 1588; Y. Sone, T. Ohwada and K. Aoki, Phys. Fluids A 1 (1989) 363.
#[test]
fn hard_spheres_slip_and_jump_as_published() {
    let delta = 10.0;
    let stress = 0.8 * 1.270042 / (delta + 2.0 * 0.8 * 1.2540);
    let heat = 1.25 * 0.8 * 1.922284 / (delta + 2.0 * 0.8 * 2.4001);
    for (drive, expected) in [(Drive::Couette(0.02), stress), (Drive::Fourier(0.02), heat)] {
        let operator = OperatorConfig {
            sigma_t: cross_section(Scattering::HardSphere),
            correction: CorrectionMethod::Balanced,
            compute: Backend::Cpu.into(),
            ..OperatorConfig::spectral(VelocityGrid::new(16, -4.0, 4.0).unwrap())
        };
        let mut config = PlatesConfig::new(delta, drive, GapCollisions::Integral(operator));
        config.cells = 40;
        let solution = config.solver().unwrap().solve().unwrap();
        assert_eq!(solution.status, Ending::Steady);
        let [left, right, ..] = &solution.exchange;
        let found = match drive {
            Drive::Couette(u) => (left[0].shear - right[0].shear) / u,
            Drive::Fourier(dt) => (right[0].heat - left[0].heat) / dt,
            _ => f64::NAN,
        };
        assert!(
            (found / expected - 1.0).abs() < 0.003,
            "{drive:?}: {found}, {expected}"
        );
    }
}

/// Heat conduction at a temperature ratio of 7 in thick gas: the iteration starts from the flow of the model, since it does not converge from gas at rest.
#[test]
fn thick_gas_between_hot_and_cold_plates_converges() {
    let operator = OperatorConfig {
        sigma_t: cross_section(Scattering::HardSphere),
        correction: CorrectionMethod::Balanced,
        compute: Backend::Cpu.into(),
        ..OperatorConfig::spectral(VelocityGrid::new(24, -5.292, 5.292).unwrap())
    };
    let mut config = PlatesConfig::new(
        1000.0,
        Drive::Fourier(1.5),
        GapCollisions::Integral(operator),
    );
    config.cells = 24;
    let mut solver = config.solver().unwrap();
    let warnings = solver.problem().warnings(solver.config().closure);
    let cold = "0.88 thermal speeds of the coldest gas";
    assert!(warnings.iter().any(|w| w.contains(cold)), "{warnings:?}");
    let solution = solver.solve().unwrap();
    assert_eq!(solution.status, Ending::Steady);
    let [left, right, ..] = &solution.exchange;
    let found = (right[0].heat - left[0].heat) / 1.5;
    // Fourier's law with the jump of temperature; the nodes do not resolve the cold gas, as the warning says.
    let conduction =
        1.25 * 0.8 * 1.922284 * (1.75_f64.powf(1.5) - 0.25_f64.powf(1.5)) / (1.5 * 1.5);
    let expected = conduction / (1000.0 + 2.0 * 0.8 * 2.4001);
    assert!((found / expected - 1.0).abs() < 0.05, "{found}, {expected}");
}

/// Heat conduction between temperatures 1.6 and 0.4 on too few nodes: the error is within the one that the warning names, and nodes without sense are refused.
#[test]
fn nodes_too_coarse_for_cold_gas_are_warned_of_by_their_error_or_refused() {
    let half = 4.0 * 1.6_f64.sqrt();
    let with = |nodes: usize| {
        let operator = OperatorConfig {
            sigma_t: cross_section(Scattering::HardSphere),
            correction: CorrectionMethod::Balanced,
            compute: Backend::Cpu.into(),
            ..OperatorConfig::spectral(VelocityGrid::new(nodes, -half, half).unwrap())
        };
        let collisions = GapCollisions::Integral(operator);
        let mut config = PlatesConfig::new(1.0, Drive::Fourier(1.2), collisions);
        config.cells = 12;
        config.solver()
    };
    let refused = with(12).unwrap_err().to_string();
    for part in ["1.33 thermal speeds", "30 or more"] {
        assert!(refused.contains(part), "{refused}");
    }
    let mut solver = with(18).unwrap();
    let warnings = solver.problem().warnings(solver.config().closure);
    assert!(
        warnings.iter().any(|w| w.contains("up to 19%")),
        "{warnings:?}"
    );
    let solution = solver.solve().unwrap();
    let [left, right, ..] = &solution.exchange;
    let found = (right[0].heat - left[0].heat) / 1.2;
    // 44 nodes find 0.35524.
    let error = (found / 0.355 - 1.0).abs();
    assert!((0.05..0.19).contains(&error), "{found}");
}

/// Plates by the collision integral, in few integrals from thin to thick gas.
#[test]
fn plates_converge_in_few_integrals() {
    for (delta, near) in [(0.1, 0.15), (1.0, 0.12), (30.0, 0.12)] {
        let mut operator = OperatorConfig {
            sigma_t: cross_section(Scattering::HardSphere),
            compute: Backend::Cpu.into(),
            ..OperatorConfig::spectral(VelocityGrid::new(14, -4.0, 4.0).unwrap())
        };
        operator.spectral.degree = Some(7);
        let mut config = PlatesConfig::new(
            delta,
            Drive::Couette(0.1),
            GapCollisions::Integral(operator),
        );
        config.cells = 24;
        config.tolerance = 1e-5;
        let solution = config.solver().unwrap().solve().unwrap();
        assert_eq!(solution.status, Ending::Steady, "delta {delta}");
        assert!(
            solution.residuals.len() <= 60,
            "{}",
            solution.residuals.len()
        );
        let [left, right, ..] = &solution.exchange;
        for end in [left, right] {
            assert!(end[0].mass.abs() < 1e-5, "{}", end[0].mass);
        }
        // That of a slipping gas, with the viscosity of hard spheres; half-range sums are off by 3% on this grid.
        let found = (left[0].shear - right[0].shear) / 0.1;
        let expected = 1.0 / (delta / 1.016 + 1.97);
        assert!(
            (found / expected - 1.0).abs() < near,
            "delta {delta}: {found}, {expected}"
        );
    }
}
