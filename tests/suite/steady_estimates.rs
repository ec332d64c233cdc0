//! Estimates of the error of steady flows, against the laws of thick gas.

use rarefy::bgk::steady::plates::{Drive, Resolution, plates};
use rarefy::bgk::steady::{SteadyConfig, solve};
use rarefy::bgk::{Gas, Model};
use rarefy::run::Ending;
use rarefy::{Backend, Compute, Precision};

/// Flux over that of a gas without slip or jump, and the estimate of its error.
fn between(drive: Drive, delta: f64, linear: bool, model: Model, precision: Precision) -> [f64; 2] {
    let compute = Compute::new(Backend::Cpu).with_precision(precision);
    between_on(compute, drive, delta, linear, model)
}

fn between_on(compute: Compute, drive: Drive, delta: f64, linear: bool, model: Model) -> [f64; 2] {
    let gas = Gas {
        model,
        ..Gas::default()
    };
    let case = plates(delta, drive, gas, 1.0, Resolution::default(), linear).unwrap();
    let config = SteadyConfig {
        compute,
        ..SteadyConfig::default()
    };
    let found = solve(&case, &config).unwrap();
    assert!(
        matches!(found.status, Ending::Steady | Ending::AtRoundoff),
        "{drive:?}, {delta}: {:?}",
        found.status
    );
    let [left, right, ..] = &found.exchange;
    let flux = match drive {
        Drive::Couette(u) => (left[0].shear - right[0].shear) / u,
        Drive::Fourier(dt) => (right[0].heat - left[0].heat) / (1.25 * dt),
        _ => f64::NAN,
    };
    [flux * delta, found.error_estimate]
}

/// Roundoff of the fluxes grows with delta and with the smallness of the drive, and all faces may have it alike.
#[test]
fn estimates_cover_the_error_of_thick_gas() {
    let (omega, drive) = (Gas::default().omega, 0.02_f64);
    // Dissipation warms the gas by u^2/10 in the middle; conductivity varies by the powers of the temperature.
    let warmer = 1.0 + omega * drive.powi(2) / 15.0;
    let hotter = 1.0 + omega * (omega - 1.0) * drive.powi(2) / 24.0;
    let (double, single) = (Precision::F64, Precision::F32);
    for (delta, linear, precision) in [
        (1e5, false, double),
        (1e6, false, double),
        (1e7, false, double),
        (1e8, false, double),
        (1e7, true, double),
        (1e9, true, double),
        (1e3, true, single),
        (1e3, false, single),
    ] {
        let strength = if linear { 1.0 } else { drive };
        for (drive, law, coefficient) in [
            (Drive::Couette(strength), warmer, 1.01619),
            (Drive::Fourier(strength), hotter, 1.30272),
        ] {
            let law = if linear { 1.0 } else { law };
            let expected = law / (1.0 + 2.0 * coefficient / delta);
            let [found, estimate] = between(drive, delta, linear, Model::Bgk, precision);
            // Slip of unresolved Knudsen layers, and heat of second order.
            let known = 0.5 / delta + 1e-9;
            let error = (found / expected - 1.0).abs();
            assert!(
                error <= estimate + known,
                "{drive:?}, {delta}, {precision:?}: {error} for {estimate}"
            );
            assert!(estimate < 1e-2, "{drive:?}, {delta}: {estimate}");
        }
    }
}

/// The kernels find interior fluxes from the cells. In f32 too they end in thick gas of the linearised equation.
#[test]
fn kernels_in_f32_end_in_thick_gas_of_the_linearised_equation() {
    let kernels = Compute::new(Backend::Emulator).with_precision(Precision::F32);
    for (delta, most) in [(100.0, 1e-4), (300.0, 3e-4), (1000.0, 3e-3)] {
        for drive in [Drive::Couette(1.0), Drive::Fourier(1.0)] {
            let [expected, _] = between(drive, delta, true, Model::Bgk, Precision::F64);
            let [found, estimate] = between_on(kernels, drive, delta, true, Model::Bgk);
            let error = (found / expected - 1.0).abs();
            assert!(
                error <= estimate && estimate < most,
                "{drive:?}, {delta}: {error} for {estimate}"
            );
        }
    }
}

/// Shakhov gas takes its fluxes from a heat flux along the plates, too, and settles later.
#[test]
fn estimates_cover_the_error_of_thick_shakhov_gas() {
    let drive = 0.02_f64;
    let law = 1.0 + Gas::default().omega * drive.powi(2) / 15.0 * (2.0 / 3.0);
    for delta in [1e7, 1e8] {
        let [found, estimate] = between(
            Drive::Couette(drive),
            delta,
            false,
            Model::Shakhov,
            Precision::F64,
        );
        let error = (found / law - 1.0).abs();
        assert!(error <= estimate, "{delta}: {error} for {estimate}");
        assert!(estimate < 1e-2, "{delta}: {estimate}");
    }
}

/// Thin gas moves little between plates, and roundoff is a large share of that.
#[test]
fn thin_gas_of_the_linearised_equation_ends() {
    let without_collisions = 1.0 / std::f64::consts::PI.sqrt();
    for delta in [1e-4, 1e-6, 1e-8, 1e-10] {
        let drive = Drive::Couette(1.0);
        let [found, estimate] = between(drive, delta, true, Model::Bgk, Precision::F64);
        let error = (found / delta / without_collisions - 1.0).abs();
        assert!(error < 2.0 * delta + 1e-9, "{delta}: {error}");
        assert!(estimate < 1e-4, "{delta}: {estimate}");
    }
}

/// Plates that mirror nearly all molecules exchange little, and the gas between them moves little.
#[test]
fn estimates_cover_the_error_of_plates_that_hardly_accommodate() {
    let solved = |drive: f64, accommodation: f64, linear: bool| {
        let gas = Gas {
            model: Model::Bgk,
            ..Gas::default()
        };
        let drive = Drive::Couette(drive);
        let case = plates(
            1.0,
            drive,
            gas,
            accommodation,
            Resolution::default(),
            linear,
        )
        .unwrap();
        let config = SteadyConfig {
            compute: Compute::new(Backend::Cpu),
            ..SteadyConfig::default()
        };
        let found = solve(&case, &config).unwrap();
        let [left, right, ..] = &found.exchange;
        (left[0].shear - right[0].shear, found)
    };
    let drive = 0.02;
    for accommodation in [1e-2, 1e-3, 1e-4, 1e-6, 1e-8] {
        let (of_linear, linear) = solved(1.0, accommodation, true);
        assert_eq!(linear.status, Ending::Steady, "{accommodation}");
        // Nearly the flux without collisions; the gas resists by little more than its thickness.
        let mirrored = (2.0 - accommodation) / accommodation * std::f64::consts::PI.sqrt();
        let resistance = 1.0 / of_linear - mirrored;
        let blur = 1e-9 / of_linear;
        assert!(
            (1.2 - blur..1.4 + blur).contains(&resistance),
            "{accommodation}: {resistance}"
        );
        let (flux, found) = solved(drive, accommodation, false);
        assert!(
            found.status.is_done(),
            "{accommodation}: {:?}",
            found.status
        );
        // Dissipation warms the gas by u^2/8 where only the plates cool it.
        let expected = drive * of_linear * (1.0 + drive * drive / 16.0);
        let error = (flux / expected - 1.0).abs();
        let heating = 0.1 * drive * drive * accommodation;
        assert!(
            error <= found.error_estimate + heating,
            "{accommodation}: {error} for {}",
            found.error_estimate
        );
        assert!(error < 1e-2, "{accommodation}: {error}");
    }
    // Plates that mirror all exchange nothing, and no share of that is an error.
    let (flux, found) = solved(drive, 0.0, false);
    assert_eq!(found.status, Ending::Steady);
    assert!(flux.abs() < 1e-15, "{flux}");
    assert!(found.error_estimate < 1e-8, "{}", found.error_estimate);
}

/// Between plates that mirror all nothing flows, in any arithmetic; fluxes that roundoff hides are no result.
#[test]
fn plates_that_mirror_exchange_nothing() {
    let solved = |drive: Drive, accommodation: f64, precision: Precision| {
        let resolution = Resolution::default();
        let gas = Gas::default();
        let case = plates(1.0, drive, gas, accommodation, resolution, false).unwrap();
        let config = SteadyConfig {
            compute: Compute::new(Backend::Cpu).with_precision(precision),
            ..SteadyConfig::default()
        };
        solve(&case, &config).unwrap()
    };
    for drive in [Drive::Fourier(0.1), Drive::Couette(2.0)] {
        for (precision, most) in [(Precision::F64, 1e-8), (Precision::F32, 1e-3)] {
            let found = solved(drive, 0.0, precision);
            assert!(found.status.is_done(), "{:?}", found.status);
            assert!(found.error_estimate < most, "{}", found.error_estimate);
            for plate in &found.exchange[..2] {
                assert_eq!([plate[0].heat, plate[0].shear, plate[0].mass], [0.0; 3]);
                assert!((plate[0].pressure - 0.5).abs() < 1e-4);
            }
        }
        let hidden = solved(drive, 1e-14, Precision::F64);
        assert_eq!(hidden.status, Ending::Stalled);
        assert!(hidden.flux_roundoff > 1e-2, "{}", hidden.flux_roundoff);
    }
}
