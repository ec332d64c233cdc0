//! Molecules that rotate, between plates and in shock waves: the specification's tables, limits, and all ways to compute them.

use rarefy::bgk::boltzmann::{GapCollisions, PlatesConfig};
use rarefy::bgk::steady::plates::{Drive, Resolution, plates};
use rarefy::bgk::steady::{
    Closure, Nodes, Solution, SteadyConfig, SteadyProblem, SteadySolver, channel,
};
use rarefy::bgk::{
    Axis, Boundaries, Boundary, Cavity, Gas, Mach, Model, Moments, RotatingMoments, Rotation,
    RotationalCollisions, Shock, ShockProfile, Species, State, VelocitySpace,
};
use rarefy::run::Ending;
use rarefy::{Backend, Precision};

use crate::command::{folder, number, printed, refused, unconverged};

/// The gas of the tables: d = 2, relaxation in the time Z = `z`, and internal energy that diffuses at the rate 1.26.
pub(crate) fn gas(z: f64) -> Gas {
    let x = 0.6 / z;
    let [[tt, tr], [rt, rr]] = [
        [2.0 / 3.0 + 5.0 / 9.0 * x, -5.0 / 6.0 * x],
        [-x / 3.0, 1.0 / 1.26 + 0.5 * x],
    ];
    let determinant = tt * rr - tr * rt;
    let [f_t, f_r] = [
        (5.0 * rr - 2.0 * tr) / (3.0 * determinant),
        (2.0 * tt - 5.0 * rt) / (2.0 * determinant),
    ];
    Gas {
        model: Model::Polyatomic,
        rotation: Some(Rotation {
            collisions: RotationalCollisions::Constant(z / (0.15 * std::f64::consts::PI)),
            prandtl: 7.0 / (3.0 * f_t + 2.0 * f_r),
            ..Rotation::default()
        }),
        ..Gas::default()
    }
}

/// Molecules whose rotation never relaxes: the others are those of Shakhov's model.
pub(crate) fn frozen() -> Gas {
    Gas {
        rotation: Some(Rotation {
            collisions: RotationalCollisions::Constant(1e9),
            eucken: Some([2.5, 1.3]),
            ..Rotation::default()
        }),
        ..gas(1.0)
    }
}

pub(crate) fn shakhov() -> Gas {
    Gas {
        model: Model::Shakhov,
        ..Gas::default()
    }
}

fn config(backend: Backend) -> SteadyConfig {
    SteadyConfig {
        compute: backend.into(),
        ..SteadyConfig::default()
    }
}

fn between(
    delta: f64,
    drive: Drive,
    gas: Gas,
    accommodation: f64,
    linear: bool,
    config: &SteadyConfig,
) -> Solution {
    let resolution = Resolution::of(drive, linear);
    let problem = plates(delta, drive, gas, accommodation, resolution, linear).unwrap();
    let found = SteadySolver::new(problem, config).unwrap().solve().unwrap();
    assert!(
        found.status.is_done(),
        "delta {delta}, {drive:?}: {found:?}"
    );
    found
}

/// Q or Pi per unit of the drive.
fn flux(found: &Solution, drive: Drive) -> f64 {
    let [left, right] = [found.exchange[0][0], found.exchange[1][0]];
    match drive {
        Drive::Fourier(dt) => (right.heat - left.heat) / dt,
        Drive::Couette(u) => (left.shear - right.shear) / u,
        _ => f64::NAN,
    }
}

#[test]
fn linearised_fluxes_are_those_of_the_table() {
    let (heat, shear) = (Drive::Fourier(1.0), Drive::Couette(1.0));
    for (delta, drive, z, expected, iterations) in [
        (0.01, heat, 2.667, 0.84075834, 6),
        (0.1, heat, 2.667, 0.79895295, 8),
        (1.0, heat, 2.667, 0.58087250, 10),
        (10.0, heat, 2.667, 0.18221983, 12),
        (100.0, heat, 2.667, 0.02359882, 13),
        (1e4, heat, 2.667, 2.43911e-4, 16),
        (0.01, shear, 2.667, 0.55933647, 4),
        (1.0, shear, 2.667, 0.33886056, 9),
        (10.0, shear, 2.667, 0.08309438, 13),
        (100.0, shear, 2.667, 0.00980056, 15),
        (1.0, heat, 300.0, 0.58233412, 11),
        (100.0, heat, 300.0, 0.02418202, 13),
        (1000.0, heat, 300.0, 0.00249536, 14),
    ] {
        let found = between(delta, drive, gas(z), 1.0, true, &config(Backend::Cpu));
        let value = flux(&found, drive);
        // The last digit of the table.
        let tolerance = f64::max(1e-8, 1e-6 * expected);
        assert!((value - expected).abs() < tolerance, "{delta}: {value}");
        let count = found.residuals.len();
        assert!(count <= iterations, "{delta}: {count} iterations");
    }
}

/// Heat, its part of rotation at both plates, temperatures beside the hot plate and in the middle.
#[test]
fn nonlinear_plates_are_those_of_the_table() {
    let drive = Drive::Fourier(2.0 / 3.0);
    for (delta, expected) in [
        (0.1, 0.25548493),
        (1.0, 0.18719411),
        (5.0, 0.09519982),
        (10.0, 0.05992873),
    ] {
        let found = between(delta, drive, gas(2.667), 1.0, false, &config(Backend::Cpu));
        let heat = flux(&found, drive) / 3.0;
        assert!((heat / expected - 1.0).abs() < 1e-6, "{delta}: {heat}");
        let count = found.residuals.len();
        assert!(count <= 15, "{delta}: {count} iterations");
        let (first, last) = (found.rotation[0], found.rotation[199]);
        if delta == 1.0 {
            let heats = [first, last].map(|m| m.heat_flux_rotational[0]);
            assert!((heats[0] - 0.059894).abs() < 1e-6, "{heats:?}");
            assert!((heats[1] - 0.059746).abs() < 1e-6, "{heats:?}");
        }
        if delta == 5.0 {
            assert!((first.temperature_translational - 1.22332).abs() < 1e-5);
            assert!((first.temperature_rotational - 1.23163).abs() < 1e-5);
        }
        // The heat flux of the cells is that of the plates.
        let cell = found.cells[100].heat_flux[0];
        assert!((cell / heat - 1.0).abs() < 1e-6, "{cell} {heat}");
    }
    let drive = Drive::Couette(1.0);
    for (delta, expected) in [(1.0, 0.3453707), (5.0, 0.1464599)] {
        let found = between(delta, drive, gas(2.667), 1.0, false, &config(Backend::Cpu));
        assert!((flux(&found, drive) - expected).abs() < 1e-7);
        if delta == 1.0 {
            let middle = found.rotation[100];
            assert!((middle.temperature_translational - 1.12291).abs() < 1e-5);
            assert!((middle.temperature_rotational - 1.03142).abs() < 1e-5);
        }
    }
}

/// Without collisions each plate emits `(1 + d/4)` times the energy of single atoms.
#[test]
fn thin_gas_carries_the_energy_of_the_plates() {
    for freedom in [0.5, 2.0, 3.4] {
        let mut own = gas(2.667);
        if let Some(rotation) = &mut own.rotation {
            rotation.freedom = freedom;
        }
        let ratio = 0.5_f64;
        let drive = Drive::Fourier(2.0 * (1.0 - ratio) / (1.0 + ratio));
        let found = between(1e-5, drive, own, 1.0, false, &config(Backend::Cpu));
        let [hot, cold] = [4.0 / 3.0, 2.0 / 3.0_f64].map(f64::sqrt);
        let exact = (1.0 + 0.25 * freedom) * hot * cold / (hot + cold) * (hot * hot - cold * cold)
            / std::f64::consts::PI.sqrt();
        let heat = found.exchange[1][0].heat;
        assert!(
            (heat / exact - 1.0).abs() < 1e-4,
            "{freedom}: {heat} {exact}"
        );
    }
}

/// Plates that mirror some molecules mirror their internal energy too; the reference and the kernels have the same flow as the vectors of a CPU.
#[test]
fn all_machines_and_both_precisions_agree() {
    let cases = [
        (1.0, Drive::Fourier(2.0 / 3.0), 0.5, false),
        (20.0, Drive::Couette(1.5), 0.3, false),
        (3.0, Drive::Fourier(1.0), 0.4, true),
    ];
    for (delta, drive, accommodation, linear) in cases {
        let of = |config: &SteadyConfig| {
            between(delta, drive, gas(2.667), accommodation, linear, config)
        };
        let found = of(&config(Backend::Cpu));
        let a = flux(&found, drive);
        for backend in [Backend::Reference, Backend::Emulator] {
            let other = of(&config(backend));
            let b = flux(&other, drive);
            assert!((a / b - 1.0).abs() < 1e-10, "{backend:?} {delta}: {a} {b}");
            for (a, b) in found.rotation.iter().zip(&other.rotation) {
                let off = a.temperature_rotational - b.temperature_rotational;
                assert!(off.abs() < 1e-9, "{backend:?} {delta}: {off}");
            }
        }
        for backend in [Backend::Cpu, Backend::Emulator] {
            let mut single = config(backend);
            single.compute.precision = Precision::F32;
            let value = flux(&of(&single), drive);
            assert!(
                (value / a - 1.0).abs() < 1e-4,
                "{backend:?} {delta}: {value} {a}"
            );
        }
    }
}

/// A weak drive of the nonlinear equation is that of the linearised one, with partial accommodation and in dense gas.
#[test]
fn weak_drives_are_linear() {
    for (delta, accommodation) in [(0.5, 0.5), (50.0, 0.05), (200.0, 1.0)] {
        let own = config(Backend::Cpu);
        let weak = Drive::Fourier(1e-3);
        let nonlinear = between(delta, weak, gas(30.0), accommodation, false, &own);
        let unit = Drive::Fourier(1.0);
        let linear = between(delta, unit, gas(30.0), accommodation, true, &own);
        let [a, b] = [flux(&nonlinear, weak), flux(&linear, unit)];
        assert!((a / b - 1.0).abs() < 2e-6, "{delta}: {a} {b}");
    }
}

#[test]
fn frozen_rotation_leaves_shakhovs_gas() {
    let own = config(Backend::Cpu);
    let drive = Drive::Couette(1.0);
    let [a, b] = [frozen(), shakhov()].map(|gas| {
        let found = between(2.0, drive, gas, 1.0, false, &own);
        flux(&found, drive)
    });
    assert!((a / b - 1.0).abs() < 1e-7, "{a} {b}");
}

/// The flow along a channel under a fall of the pressure, its flow rate, and the work of the force.
fn channel_flow(delta: f64, fall: Option<f64>, gas: Gas) -> (Solution, f64, f64) {
    let fall = fall.unwrap_or(channel::gradient(delta));
    let force = 0.5 * fall / delta;
    let resolution = channel::resolution(delta, force, gas).unwrap();
    let velocity = channel::velocities(delta, force, gas, resolution).unwrap();
    let config = PlatesConfig {
        force,
        cells: resolution.cells,
        tolerance: 1e-9,
        ..PlatesConfig::new(
            delta,
            Drive::Couette(0.0),
            GapCollisions::Model(gas, velocity),
        )
    };
    let mut solver = config.solver().unwrap();
    let found = solver.solve().unwrap();
    assert!(found.status.is_done(), "delta {delta}: {found:?}");
    let widths = &solver.problem().widths[0];
    let work: f64 = (found.cells.iter().zip(widths))
        .map(|(m, width)| width * force * m.density * m.velocity[1])
        .sum();
    (found, solver.flow_rate().unwrap(), work)
}

/// Flow rates of an independent program, within the error of its velocities.
#[test]
fn flow_rates_along_a_channel_are_those_of_the_table() {
    for (delta, expected) in [(0.1, 2.03693), (1.0, 1.54768), (10.0, 2.77510)] {
        let (found, rate, _) = channel_flow(delta, None, gas(2.667));
        assert!((rate / expected - 1.0).abs() < 3e-4, "{delta}: {rate}");
        let count = found.residuals.len();
        assert!(count <= 16, "{delta}: {count} iterations");
    }
    for delta in [0.3, 3.0] {
        let [a, b] = [frozen(), shakhov()].map(|gas| channel_flow(delta, None, gas).1);
        assert!((a / b - 1.0).abs() < 1e-7, "{delta}: {a} {b}");
    }
}

/// All that a strong force does leaves through the plates, as heat of translation and of rotation. Friction heats translation first.
#[test]
fn the_work_of_a_force_leaves_through_the_plates() {
    for (delta, fall) in [(1.0, 1.5), (10.0, 1.5), (3.0, 0.5)] {
        let (found, _, work) = channel_flow(delta, Some(fall), gas(2.667));
        let heat = found.exchange[0][0].heat + found.exchange[1][0].heat;
        assert!((heat / work - 1.0).abs() < 1e-8, "{delta}: {heat} {work}");
        for (m, own) in found.cells.iter().zip(&found.rotation) {
            let [t, t_r] = [own.temperature_translational, own.temperature_rotational];
            assert!(t > t_r && t_r > 1.0, "{delta}: {t} {t_r}");
            let mean = (3.0 * t + 2.0 * t_r) / 5.0;
            assert!((m.temperature - mean).abs() < 1e-12);
        }
        // Both halves of the channel are alike.
        let (first, last) = (found.rotation[0], found.rotation[199]);
        let [a, b] = [first, last].map(|m| m.heat_flux_rotational[0]);
        assert!((a + b).abs() < 1e-7 * a.abs(), "{delta}: {a} {b}");
    }
}

/// A cavity of 16 cells along a side, whose bottom has a temperature; the linearised one without a speed of its lid.
fn cavity_of(
    delta: f64,
    lid: Option<f64>,
    bottom: f64,
    accommodation: f64,
    gas: Gas,
) -> (Cavity, SteadyProblem) {
    let cavity = Cavity {
        lid: lid.unwrap_or(1.0),
        gas,
        accommodation,
        ..Cavity::new(delta, 16, &[8, 8]).unwrap()
    };
    let mut problem = SteadyProblem::from(&cavity.problem().unwrap());
    problem.nodes = Nodes::polar(8, 6).unwrap();
    problem.linear = lid.is_none();
    if let Boundary::Wall(wall) = &mut problem.boundaries.bottom {
        wall.temperature = bottom;
    }
    (cavity, problem)
}

/// The flow, and its drag and flow rate.
fn driven(cavity: &Cavity, problem: &SteadyProblem, config: &SteadyConfig) -> (Solution, [f64; 2]) {
    let mut solver = SteadySolver::new(problem, config).unwrap();
    let found = solver.solve().unwrap();
    assert!(found.status.is_done(), "{cavity:?}: {:?}", found.status);
    let results = cavity.results(&found.cells, &found.received()[3]);
    (found, [results.drag_wall, results.flow])
}

/// Thin and dense gas, slow and fast lids, and walls of one temperature or two: molecules whose rotation never relaxes have the drag and the flow rate of Shakhov's, in as many iterations.
#[test]
fn frozen_rotation_leaves_shakhovs_cavity() {
    for (delta, lid, bottom, accommodation) in [
        (1.0, None, 1.0, 1.0),
        (100.0, None, 1.0, 0.5),
        (10.0, Some(0.3), 1.0, 0.7),
        (100.0, Some(0.2), 2.0, 1.0),
    ] {
        let [(a, own), (b, shakhov)] = [frozen(), shakhov()].map(|gas| {
            let (cavity, problem) = cavity_of(delta, lid, bottom, accommodation, gas);
            let (found, values) = driven(&cavity, &problem, &config(Backend::Cpu));
            (values, found.residuals.len())
        });
        for (a, b) in a.into_iter().zip(b) {
            assert!((a / b - 1.0).abs() < 1e-6, "{delta}: {a} {b}");
        }
        assert!(own <= shakhov + 2, "{delta}: {own} {shakhov} iterations");
    }
}

/// Both kinds of energy leave through the walls as they come in, and no mass does, whatever the gas; the reference and the kernels have the same flow.
#[test]
fn cavities_conserve_energy_and_converge() {
    for (delta, lid, bottom, accommodation, z, most) in [
        (0.1, Some(0.3), 1.5, 1.0, 2.667, 40),
        (10.0, None, 1.0, 1.0, 2.667, 22),
        (30.0, Some(0.3), 1.5, 0.3, 2.667, 55),
        (100.0, None, 1.0, 1.0, 300.0, 28),
        (1000.0, None, 1.0, 1.0, 300.0, 36),
        (100.0, Some(0.2), 2.0, 1.0, 2.667, 36),
    ] {
        let (cavity, problem) = cavity_of(delta, lid, bottom, accommodation, gas(z));
        let (found, values) = driven(&cavity, &problem, &config(Backend::Cpu));
        let faces = || found.exchange.iter().flatten();
        let heat: f64 = faces().map(|e| e.heat).sum();
        let size: f64 = faces().map(|e| e.heat.abs()).sum();
        assert!(heat.abs() < 1e-7 * size, "{delta}: {heat} of {size}");
        assert!(faces().all(|e| e.mass.abs() < 1e-8 * size), "{delta}");
        let count = found.residuals.len();
        assert!(count <= most, "{delta}: {count} iterations");
        for (m, own) in found.cells.iter().zip(&found.rotation) {
            let [t, t_r] = [own.temperature_translational, own.temperature_rotational];
            assert!((m.temperature - (3.0 * t + 2.0 * t_r) / 5.0).abs() < 1e-12);
        }
        let others: &[_] = match delta {
            30.0 => &[Backend::Reference, Backend::Emulator],
            10.0 => &[Backend::Emulator],
            _ => &[],
        };
        for &backend in others {
            let (_, other) = driven(&cavity, &problem, &config(backend));
            for (a, b) in values.into_iter().zip(other) {
                assert!((a / b - 1.0).abs() < 1e-10, "{backend:?} {delta}: {a} {b}");
            }
        }
    }
}

/// Between mirrors a rectangle has the flow of a line, along x and along y. With diamond differences two mirrors that face each other pass patterns on, so that these have one row.
#[test]
fn a_rectangle_between_mirrors_is_a_line() {
    for (delta, linear, accommodation, closure, rows) in [
        (1.0, true, 1.0, Closure::Diamond, 1),
        (1.0, true, 1.0, Closure::Upwind, 2),
        (10.0, false, 0.6, Closure::Upwind, 2),
    ] {
        let drive = Drive::Fourier(if linear { 1.0 } else { 2.0 / 3.0 });
        let resolution = Resolution {
            cells: 24,
            ..Resolution::of(drive, linear)
        };
        let own = gas(2.667);
        let line = plates(delta, drive, own, accommodation, resolution, linear).unwrap();
        let own_config = SteadyConfig {
            closure,
            ..config(Backend::Cpu)
        };
        let solved = |problem: &SteadyProblem| {
            let mut solver = SteadySolver::new(problem, &own_config).unwrap();
            let found = solver.solve().unwrap();
            assert!(found.status.is_done(), "{delta}: {:?}", found.status);
            found
        };
        let expected = solved(&line);
        // Rays end in rows so thick.
        let beside = vec![5.0; rows];
        let walls = line.boundaries;
        let normal = Axis::half_range(resolution.normal, 2).unwrap();
        // The gas between hot and cold walls is no polynomial at the temperature 1.
        let across = Axis::hermite(if linear { 6 } else { 20 }).unwrap();
        for turned in [false, true] {
            let mut widths = [line.widths[0].clone(), beside.clone()];
            let mut axes = vec![normal.clone(), across.clone()];
            let mut boundaries = Boundaries {
                bottom: Boundary::Specular,
                top: Boundary::Specular,
                ..walls
            };
            if turned {
                widths.reverse();
                axes.reverse();
                boundaries = Boundaries {
                    left: Boundary::Specular,
                    right: Boundary::Specular,
                    bottom: walls.left,
                    top: walls.right,
                };
            }
            let problem = SteadyProblem {
                dimensions: 2,
                widths,
                origin: [0.0; 2],
                nodes: Nodes::of(&VelocitySpace::new(axes, 2).unwrap()),
                boundaries,
                initial: vec![State::REST; 24 * rows],
                ..line.clone()
            };
            let found = solved(&problem);
            let side = if turned { 2 } else { 0 };
            for (k, wall) in [0, 1].into_iter().zip(side..) {
                let e = expected.exchange[k][0];
                for face in &found.exchange[wall] {
                    assert!(
                        (face.heat / e.heat - 1.0).abs() < 1e-6,
                        "{delta}: {face:?} {e:?}"
                    );
                    assert!((face.temperature - e.temperature).abs() < 1e-6, "{delta}");
                }
            }
            for (cell, own) in found.rotation.iter().enumerate() {
                let m = expected.rotation[if turned { cell / rows } else { cell % 24 }];
                let off = own.temperature_rotational - m.temperature_rotational;
                assert!(off.abs() < 1e-6, "{delta}: {off}");
                let heat = own.heat_flux_rotational[usize::from(turned)];
                let off = heat - m.heat_flux_rotational[0];
                assert!(off.abs() < 1e-6, "{delta}: {off}");
            }
        }
    }
}

/// Alternating errors go from the rotation too, and its sums stay.
#[test]
fn rotation_is_reconstructed_with_the_other_fields() {
    let (cavity, problem) = cavity_of(1.0, Some(0.3), 1.5, 1.0, gas(2.667));
    let (found, _) = driven(&cavity, &problem, &config(Backend::Cpu));
    let cells = found.reconstructed(&problem, Closure::Diamond);
    let own = found.reconstructed_rotation(&problem, Closure::Diamond);
    let energy = |cells: &[Moments], own: &[RotatingMoments]| -> f64 {
        let each = cells.iter().zip(own);
        each.map(|(m, own)| m.density * own.temperature_rotational)
            .sum()
    };
    let [before, after] = [energy(&found.cells, &found.rotation), energy(&cells, &own)];
    assert!((after / before - 1.0).abs() < 1e-12, "{before} {after}");
    let moved = found.rotation.iter().zip(&own);
    assert!(
        moved
            .map(|(a, b)| (a.temperature_rotational - b.temperature_rotational).abs())
            .fold(0.0, f64::max)
            > 1e-6
    );
    for (m, own) in cells.iter().zip(&own) {
        let [t, t_r] = [own.temperature_translational, own.temperature_rotational];
        assert!((m.temperature - (3.0 * t + 2.0 * t_r) / 5.0).abs() < 1e-12);
    }
    let line = found.reconstructed_rotation(&problem, Closure::Upwind);
    assert_eq!(line, found.rotation);
}

fn wave(mach: f64, gas: Gas, step: f64) -> (Shock, ShockProfile, Solution) {
    let sides = Shock::of(Mach::new(mach).unwrap(), gas).sides;
    wave_between(mach, gas, sides, step)
}

fn wave_between(
    mach: f64,
    gas: Gas,
    sides: [f64; 2],
    step: f64,
) -> (Shock, ShockProfile, Solution) {
    let mut shock = Shock::of(Mach::new(mach).unwrap(), gas);
    shock.sides = sides;
    shock.cells = ((shock.sides[0] + shock.sides[1]) / step).round() as usize;
    let problem = shock.problem().unwrap();
    let mut solver = SteadySolver::new(&problem, &config(Backend::Cpu)).unwrap();
    let found = solver.solve().unwrap();
    assert_eq!(found.status, Ending::Steady, "Mach {mach}");
    let profile = ShockProfile::new(shock.mach_of_gas(), &problem.space, &found.cells).unwrap();
    (shock, profile, found)
}

/// Where a temperature is half-way, and its share of the jump where the density is.
fn places(profile: &ShockProfile, share: impl Fn(usize) -> f64) -> [f64; 2] {
    let x: Vec<f64> = profile.points.iter().map(|p| p.x).collect();
    let crossing = |of: &dyn Fn(usize) -> f64| {
        let i = (1..x.len())
            .find(|&i| of(i - 1) < 0.0 && of(i) >= 0.0)
            .unwrap();
        let weight = -of(i - 1) / (of(i) - of(i - 1));
        (i, weight)
    };
    let (i, weight) = crossing(&|i| share(i) - 0.5);
    let half_way = x[i - 1] + weight * (x[i] - x[i - 1]);
    let (i, weight) = crossing(&|i| x[i]);
    [half_way, share(i - 1) + weight * (share(i) - share(i - 1))]
}

#[test]
fn shocks_are_those_of_the_table() {
    for (mach, thickness, half_way, at_middle, most, least, iterations) in [
        (
            1.5,
            6.3821,
            [-2.059, 0.184],
            [0.83532, 0.47348],
            1.0000,
            -0.0786,
            17,
        ),
        (
            3.0,
            2.5213,
            [-1.849, -0.333],
            [1.08082, 0.59951],
            1.0825,
            -2.0310,
            23,
        ),
        (
            6.0,
            2.3897,
            [-2.417, -0.637],
            [1.13309, 0.67778],
            1.1430,
            -21.131,
            24,
        ),
        (
            10.0,
            2.7901,
            [-3.051, -0.860],
            [1.14251, 0.69881],
            1.1598,
            -103.33,
            26,
        ),
    ] {
        let (shock, profile, found) = wave(mach, gas(2.667), 0.1);
        let hot = shock.mach_of_gas().downstream().temperature;
        let share = |t: f64| (t - 1.0) / (hot - 1.0);
        let own = profile.thickness();
        assert!((own / thickness - 1.0).abs() < 5e-4, "Mach {mach}: {own}");
        let of_t = |i: usize| share(found.rotation[i].temperature_translational);
        let of_r = |i: usize| share(found.rotation[i].temperature_rotational);
        for (k, [x, at]) in [places(&profile, of_t), places(&profile, of_r)]
            .iter()
            .enumerate()
        {
            assert!((x - half_way[k]).abs() < 0.005, "Mach {mach}: {x}");
            assert!((at - at_middle[k]).abs() < 5e-4, "Mach {mach}: {at}");
        }
        let largest = (0..found.cells.len()).map(of_t).fold(0.0, f64::max);
        assert!((largest - most).abs() < 5e-4, "Mach {mach}: {largest}");
        let heat = profile.extremes().least_heat_flux;
        assert!((heat / least - 1.0).abs() < 1e-3, "Mach {mach}: {heat}");
        let count = found.residuals.len();
        assert!(count <= iterations, "Mach {mach}: {count} iterations");
        let (_, spread) = profile.fluxes();
        assert!(spread.iter().all(|s| *s < 1e-5), "Mach {mach}: {spread:?}");
    }
}

/// Nitrogen by Parker's formula at 300 K, and a gas whose rotation hardly relaxes.
#[test]
fn collisions_may_follow_the_temperature() {
    let nitrogen = Gas {
        rotation: Species::Nitrogen.rotation(),
        ..gas(1.0)
    };
    for (mach, thickness, late) in [(1.5, 6.515, 0.29), (3.0, 2.818, 0.01), (10.0, 3.732, 0.29)] {
        let (shock, profile, found) = wave(mach, nitrogen, 0.15);
        let own = profile.thickness();
        assert!((own / thickness - 1.0).abs() < 5e-3, "Mach {mach}: {own}");
        let hot = shock.mach_of_gas().downstream().temperature;
        let [x, _] = places(&profile, |i| {
            (found.rotation[i].temperature_rotational - 1.0) / (hot - 1.0)
        });
        assert!((x - late).abs() < 0.01, "Mach {mach}: {x}");
    }
    let (shock, _, found) = wave(3.0, gas(132.0), 0.2);
    assert!(shock.sides[1] > 100.0, "{:?}", shock.sides);
    assert!(found.residuals.len() <= 38, "{}", found.residuals.len());
}

#[test]
fn a_weakly_rotating_shock_is_shakhovs() {
    let mut slight = frozen();
    if let Some(rotation) = &mut slight.rotation {
        rotation.freedom = 1e-6;
    }
    let (_, profile, _) = wave_between(1.5, slight, [40.0, 20.0], 0.1);
    let own = profile.thickness();
    assert!((own / 6.011745 - 1.0).abs() < 1e-5, "{own}");
}

#[test]
fn upwind_differences_find_the_wave_too() {
    let shock = Shock::of(Mach::new(2.0).unwrap(), gas(2.667));
    let problem = shock.problem().unwrap();
    let own = SteadyConfig {
        closure: Closure::Upwind,
        iterations: 60,
        ..config(Backend::Cpu)
    };
    let mut solver = SteadySolver::new(&problem, &own).unwrap();
    let found = solver.solve().unwrap();
    let profile = ShockProfile::new(shock.mach_of_gas(), &problem.space, &found.cells).unwrap();
    assert!((3.5..4.5).contains(&profile.thickness()));
}

/// Z of this gas is 0.75, less than 1: the Mach 2 shock of an independent program is 3.002 l0 thick.
#[test]
fn fast_relaxation_is_the_one_that_is_asked_for() {
    let with = |collisions: f64| Gas {
        rotation: Some(Rotation {
            collisions: RotationalCollisions::Constant(collisions),
            ..Rotation::default()
        }),
        ..gas(1.0)
    };
    let (_, profile, _) = wave(2.0, with(1.6), 0.05);
    let own = profile.thickness();
    assert!((own / 3.0035 - 1.0).abs() < 2e-3, "{own}");
    // Oxygen at 100 K, by the same program.
    let cold = Gas {
        omega: 0.77,
        rotation: Species::Oxygen.rotation().map(|own| own.at(100.0)),
        ..gas(1.0)
    };
    for (difference, expected) in [(0.2, 0.384321), (0.8, 0.371147)] {
        let drive = Drive::Fourier(difference);
        let found = between(3.0, drive, cold, 1.0, false, &config(Backend::Cpu));
        let own = flux(&found, drive);
        assert!((own / expected - 1.0).abs() < 5e-5, "{difference}: {own}");
    }
}

/// A shock that goes on from a checkpoint is that of its gas.
#[test]
fn a_shock_that_goes_on_keeps_its_gas() {
    let folder = folder();
    let gas = "--gas nitrogen --pressure 10 --temperature 300 --mach 3 --backend cpu";
    let whole = printed(folder.path(), &format!("shock {gas} --no-verify"));
    unconverged(
        folder.path(),
        &format!("shock {gas} --steady --steps 8 --checkpoint-every 4 --no-verify --out a"),
    );
    let on = "shock --resume a/checkpoint.rarefy --until-residual 1e-9 --no-verify --out b";
    let on = printed(folder.path(), on);
    for key in ["thickness", "downstream", "rotation", "largest_temperature"] {
        let [a, b] = [&whole, &on].map(|found| &found["result"][key]);
        match (a.as_f64(), b.as_f64()) {
            (Some(a), Some(b)) => assert!((a / b - 1.0).abs() < 1e-6, "{key}: {a} {b}"),
            _ => assert_eq!(a, b, "{key}"),
        }
    }
    let found = printed(
        folder.path(),
        "shock --gas hydrogen --pressure 10 --temperature 300 --mach 3 --no-verify --backend cpu",
    );
    let warnings = found["warnings"].to_string();
    assert!(!warnings.contains("tail"), "{warnings}");
}

#[test]
fn commands_take_gases_whose_molecules_rotate() {
    let folder = folder();
    let run = |line: &str| printed(folder.path(), line);
    let nitrogen = "--gas nitrogen --pressure 100 --temperature 300 --size 1e-4 --backend cpu";
    let found = run(&format!("fourier {nitrogen}"));
    let result = &found["result"];
    let z = number(&result["rotation"]["relaxation_time"]);
    assert!((z - 2.585).abs() < 1e-3, "{z}");
    let error = number(&result["discretisation_error"]["Q"]["total"]);
    assert!(error < 1e-3 * number(&result["Q"]), "{error}");
    assert_eq!(found["parameters"]["model"], "polyatomic");
    let found = run(
        "couette --model polyatomic --internal-dof 2 --z-rot 5.5 --prandtl 0.72 --delta 1 --backend cpu",
    );
    let pi = number(&found["result"]["Pi"]);
    assert!((pi - 0.3389).abs() < 1e-4, "{pi}");
    let found = run("shock --gas air --mach 3 --pressure 10 --temperature 300 --backend cpu");
    let thickness = number(&found["result"]["thickness"]);
    assert!((2.4..3.0).contains(&thickness), "{thickness}");
    let negative = &found["negative_equilibrium"];
    let shares = ["molecules", "internal_energy"].map(|name| number(&negative[name]));
    assert!(
        shares.iter().all(|share| (0.0..0.01).contains(share)),
        "{negative}"
    );
    // Behind the shock the gas is 800 K hot.
    let warning = found["warnings"][0].as_str().unwrap();
    assert!(warning.contains("vibrate"), "{warning}");
    let found = run("shock --model polyatomic --mach 10 --backend cpu");
    let share = number(&found["negative_equilibrium"]["internal_energy"]);
    assert!((share - 0.15).abs() < 0.01, "{share}");
    let warning = found["warnings"][0].as_str().unwrap();
    assert!(
        warning.contains("internal energy is negative for 15%"),
        "{warning}"
    );
    let found = run("shock --model shakhov --mach 1.5 --backend cpu");
    assert!(number(&found["negative_equilibrium"]["molecules"]) < 1e-6);
    assert_eq!(found["warnings"], serde_json::json!([]));
    for (line, why) in [
        ("fourier --delta 1 --z-rot 5", "the model polyatomic"),
        (
            "fourier --delta 1 --model polyatomic --z-rot 1",
            "collisions",
        ),
        (
            "fourier --delta 1 --model polyatomic --z-rot parker:23,91",
            "temperature",
        ),
        (
            "fourier --delta 1 --model polyatomic --prandtl 0.3",
            "a Prandtl number from 0.56",
        ),
        (
            "fourier --gas argon --pressure 1 --temperature 300 --size 1 --model polyatomic",
            "single atoms do not rotate",
        ),
        (
            "fourier --gas air --pressure 1 --temperature 300 --size 1 --model shakhov",
            "which this gas has by itself",
        ),
        (
            "fourier --gas air --pressure 1 --temperature 300 --size 1 --collision boltzmann",
            "no molecules that rotate",
        ),
    ] {
        let arguments: Vec<&str> = line.split_whitespace().collect();
        refused(folder.path(), &arguments, why);
    }
}
