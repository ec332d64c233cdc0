//! Steady flows of the BGK wing: backends against the reference, and all of them against published and converged values.

use rarefy::bgk::steady::plates::{Drive, Resolution, plates};
use rarefy::bgk::steady::{
    Closure, Nodes, Solution, SteadyConfig, SteadyProblem, SteadySolver, solve,
};
use rarefy::bgk::{
    Axis, Boundaries, Boundary, Gas, Model, Problem, Shock, ShockProfile, Space, State,
    VelocitySpace, Wall,
};
use rarefy::run::Ending;
use rarefy::{Backend, Compute, Precision};

use crate::command::{done, folder, refused, unconverged};
use crate::support;

/// Where the kernels can run: always in the emulator, and on a GPU if there is one.
fn machines() -> Vec<Backend> {
    let mut machines = vec![Backend::Cpu, Backend::Emulator];
    if support::device().is_some() {
        machines.push(Backend::Cuda);
    }
    machines
}

fn on_cpu() -> SteadyConfig {
    SteadyConfig {
        compute: Backend::Cpu.into(),
        ..SteadyConfig::default()
    }
}

fn gas(model: Model) -> Gas {
    Gas {
        model,
        ..Gas::default()
    }
}

fn wall(temperature: f64, velocity: [f64; 2], accommodation: f64) -> Boundary {
    Boundary::Wall(Wall {
        temperature,
        velocity,
        accommodation,
    })
}

/// All numbers of a solution in one list.
fn numbers(solution: &Solution) -> Vec<f64> {
    let mut all = Vec::new();
    for m in &solution.cells {
        all.extend([m.density, m.temperature]);
        all.extend(m.velocity);
        all.extend(m.pressure);
        all.extend(m.heat_flux);
    }
    for e in solution.exchange.iter().flatten() {
        all.extend([
            e.mass,
            e.pressure,
            e.shear,
            e.heat,
            e.density,
            e.velocity,
            e.temperature,
        ]);
    }
    all
}

/// The state after a few iterations is the same on all backends.
fn agree(what: &str, case: &SteadyProblem, closure: Closure) {
    let run = |backend, precision| {
        let config = SteadyConfig {
            closure,
            iterations: 4,
            rtol: Some(1e-14),
            compute: Compute::new(backend).with_precision(precision),
            ..SteadyConfig::default()
        };
        solve(case, &config).unwrap_or_else(|error| panic!("{what}, {backend}: {error}"))
    };
    let expected = numbers(&run(Backend::Reference, Precision::F64));
    assert!(expected.iter().all(|value| value.is_finite()), "{what}");
    for backend in machines() {
        let mut last = Vec::new();
        for (precision, tolerance) in [(Precision::F64, 2e-12), (Precision::F32, 3e-5)] {
            last = numbers(&run(backend, precision));
            let off = last.iter().zip(&expected).fold(0.0_f64, |most, (a, b)| {
                most.max((a - b).abs() / (1.0 + b.abs()))
            });
            assert!(
                off < tolerance,
                "{what}, {backend}, {precision}: off by {off:e}"
            );
        }
        // Both precisions are one text, so one of them is run twice.
        let again = numbers(&run(backend, Precision::F32));
        assert!(again == last, "{what}, {backend}: two runs differ");
    }
}

fn line(nx: usize, nv: usize, model: Model, boundaries: Boundaries) -> SteadyProblem {
    let velocity = VelocitySpace::new(vec![Axis::uniform(nv, -5.0, 5.0).unwrap()], 1).unwrap();
    let space = Space::line(nx, [-1.0, 1.5]).unwrap();
    let problem = Problem::new(space, velocity, gas(model), boundaries, |x, _| {
        State::along_x(1.0 + 0.1 * (3.0 * x).sin(), 0.05 * x, 1.0 + 0.1 * x)
    });
    SteadyProblem::from(&problem.unwrap())
}

#[test]
fn a_line_is_the_same_on_all_backends() {
    for (model, linear, closure, nx) in [
        (Model::Bgk, false, Closure::Diamond, 300),
        (Model::Shakhov, false, Closure::Upwind, 9),
        (Model::Bgk, true, Closure::Upwind, 9),
        (Model::Shakhov, true, Closure::Diamond, 20),
    ] {
        for (k, boundaries) in [
            Boundaries::line(wall(1.1, [0.0; 2], 1.0), wall(0.9, [0.0; 2], 1.0)),
            Boundaries::line(wall(1.1, [0.0; 2], 0.6), Boundary::Specular),
            Boundaries::line(Boundary::Periodic, Boundary::Periodic),
            Boundaries::line(
                Boundary::Inflow(State::along_x(1.0, 0.2, 1.0)),
                Boundary::Inflow(State::along_x(1.2, 0.1, 1.1)),
            ),
        ]
        .into_iter()
        .enumerate()
        {
            // Two tiles of cells once are enough.
            let cells = if k == 1 { nx } else { nx.min(20) };
            let mut case = line(cells, 14, model, boundaries);
            case.linear = linear;
            agree(
                &format!("{model:?}, linear {linear}, boundaries {k}"),
                &case,
                closure,
            );
        }
    }
}

#[test]
fn full_velocity_space_agrees_with_the_reduced_one() {
    let boundaries = Boundaries::line(wall(1.0, [0.0; 2], 1.0), wall(1.3, [0.0; 2], 1.0));
    let axis = |n| Axis::uniform(n, -4.6, 4.6).unwrap();
    let space = Space::line(12, [0.0, 2.0]).unwrap();
    let solution = |axes: Vec<Axis>, model| {
        let velocity = VelocitySpace::new(axes, 1).unwrap();
        let problem = Problem::uniform(space, velocity, gas(model), boundaries, State::REST);
        let case = SteadyProblem::from(&problem.unwrap());
        let found = solve(&case, &on_cpu()).unwrap();
        assert_eq!(found.status, Ending::Steady);
        found
    };
    for model in [Model::Bgk, Model::Shakhov] {
        let reduced = solution(vec![axis(16)], model);
        let full = solution(vec![axis(16), axis(14), axis(14)], model);
        for (a, b) in reduced.cells.iter().zip(&full.cells) {
            assert!((a.density - b.density).abs() < 1e-6);
            assert!((a.temperature - b.temperature).abs() < 1e-6);
            assert!((a.heat_flux[0] - b.heat_flux[0]).abs() < 1e-6);
            assert!((a.pressure[0] - b.pressure[0]).abs() < 1e-6);
            assert!((a.pressure[1] - b.pressure[1]).abs() < 1e-6);
        }
    }
    // The full space on the kernels too, where a block owns several nodes.
    let velocity = VelocitySpace::new(vec![axis(8), axis(8), axis(8)], 1).unwrap();
    let problem = Problem::uniform(
        space,
        velocity,
        gas(Model::Shakhov),
        boundaries,
        State::REST,
    );
    agree(
        "full space",
        &SteadyProblem::from(&problem.unwrap()),
        Closure::Diamond,
    );
}

/// A rectangle with a different condition at each side.
fn rectangle(nx: usize, ny: usize, model: Model, linear: bool, kind: usize) -> SteadyProblem {
    let boundaries = match kind {
        0 => Boundaries {
            left: wall(1.0, [0.0; 2], 1.0),
            right: wall(1.1, [0.0, -0.1], 1.0),
            bottom: wall(0.9, [0.0; 2], 1.0),
            top: wall(1.0, [0.3, 0.0], 1.0),
        },
        1 => Boundaries {
            left: Boundary::Specular,
            right: wall(1.1, [0.0; 2], 0.7),
            bottom: wall(0.9, [0.1, 0.0], 0.4),
            top: Boundary::Specular,
        },
        _ => Boundaries {
            left: Boundary::Inflow(State::along_x(1.0, 0.2, 1.0)),
            right: Boundary::Inflow(State::along_x(0.9, 0.2, 1.0)),
            bottom: Boundary::Periodic,
            top: Boundary::Periodic,
        },
    };
    let velocity = if kind == 2 {
        let axis = Axis::uniform(10, -4.6, 4.6).unwrap();
        VelocitySpace::new(vec![axis.clone(), axis.clone(), axis], 2).unwrap()
    } else {
        let axis = Axis::half_range(5, 1).unwrap();
        VelocitySpace::new(vec![axis.clone(), axis], 2).unwrap()
    };
    let space = Space::rectangle([nx, ny], [0.0, 1.0], [0.0, 2.0]).unwrap();
    let problem = Problem::new(space, velocity, gas(model), boundaries, |x, y| State {
        density: 1.0 + 0.1 * x * y,
        velocity: [0.1 * y, -0.05 * x],
        temperature: 1.0 + 0.1 * (x - y),
    });
    let mut case = SteadyProblem::from(&problem.unwrap());
    case.linear = linear;
    case
}

#[test]
fn a_rectangle_is_the_same_on_all_backends() {
    for (nx, ny, model, linear, closure, kind) in [
        (7, 5, Model::Bgk, false, Closure::Diamond, 0),
        (3, 34, Model::Shakhov, true, Closure::Upwind, 0),
        (5, 6, Model::Shakhov, false, Closure::Diamond, 1),
        (9, 1, Model::Bgk, true, Closure::Diamond, 1),
        (4, 5, Model::Bgk, false, Closure::Upwind, 2),
    ] {
        let case = rectangle(nx, ny, model, linear, kind);
        agree(
            &format!("{nx} x {ny}, {model:?}, linear {linear}, sides {kind}"),
            &case,
            closure,
        );
    }
}

#[test]
fn plates_give_the_converged_values() {
    let data: serde_json::Value =
        serde_json::from_str(include_str!("../data/bgk/lin1d_public.json")).unwrap();
    for row in data.as_array().unwrap() {
        let value = |key: &str| row[key].as_f64().unwrap();
        let delta = value("delta");
        let gas = gas(Model::Bgk);
        let resolution = Resolution::default();
        let couette = plates(delta, Drive::Couette(1.0), gas, 1.0, resolution, true).unwrap();
        let couette = solve(&couette, &on_cpu()).unwrap();
        let fourier = plates(delta, Drive::Fourier(1.0), gas, 1.0, resolution, true).unwrap();
        let fourier = solve(&fourier, &on_cpu()).unwrap();
        assert_eq!(
            (couette.status, fourier.status),
            (Ending::Steady, Ending::Steady)
        );
        // Twice: stresses are in units of rho0 v0^2, the table's in p0.
        let (low, high) = (couette.exchange[0][0], couette.exchange[1][0]);
        assert!(
            (2.0 * low.shear - value("P")).abs() < 3e-7 + value("P_err"),
            "{delta}"
        );
        assert!(
            (2.0 * high.shear + value("P")).abs() < 3e-7 + value("P_err"),
            "{delta}"
        );
        assert!((high.velocity - value("u_wall")).abs() < 1e-5, "{delta}");
        let (hot, cold) = (fourier.exchange[0][0], fourier.exchange[1][0]);
        assert!(
            (2.0 * cold.heat - value("q")).abs() < 3e-7 + value("q_err"),
            "{delta}"
        );
        assert!(
            (2.0 * hot.heat + value("q")).abs() < 3e-7 + value("q_err"),
            "{delta}"
        );
        assert!(
            (hot.temperature - value("tau_wall")).abs() < 1e-5,
            "{delta}"
        );
        // The flux is the same everywhere.
        for m in &couette.cells {
            assert!((2.0 * m.pressure[2] + value("P")).abs() < 1e-6);
        }
        for m in &fourier.cells {
            assert!((2.0 * m.heat_flux[0] - value("q")).abs() < 1e-6);
        }
    }
}

#[test]
fn the_nonlinear_equation_has_the_linear_limit_and_free_molecular_flow() {
    let resolution = Resolution {
        cells: 60,
        ..Resolution::default()
    };
    let gas = gas(Model::Shakhov);
    for drive in [Drive::Couette, Drive::Fourier] {
        let strength = 1e-3;
        let full = solve(
            plates(2.0, drive(strength), gas, 0.8, resolution, false).unwrap(),
            &on_cpu(),
        );
        let linear = solve(
            plates(2.0, drive(1.0), gas, 0.8, resolution, true).unwrap(),
            &on_cpu(),
        );
        let (full, linear) = (full.unwrap().exchange[1][0], linear.unwrap().exchange[1][0]);
        assert!((full.shear / strength - linear.shear).abs() < 1e-6);
        assert!((full.heat / strength - linear.heat).abs() < 1e-6);
    }
    // n1 sqrt T1 = n2 sqrt T2, n1 + n2 = 2, q = (1/sqrt(pi)) n1 sqrt(T1) (T1 - T2) / 2 in these units.
    let (hot, cold) = (1.5_f64, 0.5_f64);
    let n1 = 2.0 / (1.0 + (hot / cold).sqrt());
    let flux = n1 * hot.sqrt() * (hot - cold) / (2.0 * std::f64::consts::PI.sqrt());
    let thin = plates(1e-5, Drive::Fourier(1.0), gas, 1.0, resolution, false).unwrap();
    let thin = solve(&thin, &on_cpu()).unwrap();
    assert!(
        (thin.exchange[1][0].heat / flux - 1.0).abs() < 1e-4,
        "{}",
        thin.exchange[1][0].heat
    );
    let thin = plates(1e-6, Drive::Couette(1.0), gas, 1.0, resolution, true).unwrap();
    let thin = solve(&thin, &on_cpu()).unwrap();
    let exact = rarefy::bgk::steady::plates::free_molecular();
    assert!((-2.0 * thin.exchange[1][0].shear - exact).abs() < 1e-5);
}

#[test]
fn equilibrium_stays() {
    let mut case = rectangle(6, 5, Model::Shakhov, false, 0);
    let rest = wall(1.0, [0.0; 2], 1.0);
    case.boundaries = Boundaries {
        left: rest,
        right: wall(1.0, [0.0; 2], 0.5),
        bottom: Boundary::Specular,
        top: rest,
    };
    case.initial = vec![State::REST; 30];
    let found = solve(&case, &on_cpu()).unwrap();
    assert_eq!(found.status, Ending::Steady);
    for m in &found.cells {
        assert!((m.density - 1.0).abs() < 1e-8 && (m.temperature - 1.0).abs() < 1e-8);
        assert!(m.velocity.iter().all(|u| u.abs() < 1e-8));
    }
}

/// The lid-driven cavity, linearised, on polar velocities.
fn cavity(delta: f64, n: usize, angles: usize, speeds: usize) -> SteadyProblem {
    let still = wall(1.0, [0.0; 2], 1.0);
    SteadyProblem {
        dimensions: 2,
        widths: [vec![delta / n as f64; n], vec![delta / n as f64; n]],
        origin: [0.0; 2],
        nodes: Nodes::polar(angles, speeds).unwrap(),
        gas: gas(Model::Bgk),
        boundaries: Boundaries {
            left: still,
            right: still,
            bottom: still,
            top: wall(1.0, [1.0, 0.0], 1.0),
        },
        incoming: Default::default(),
        initial: vec![State::REST; n * n],
        linear: true,
        integral: None,
        force: 0.0,
    }
}

#[test]
fn the_cavity_has_its_drag() {
    for (delta, drag, tolerance) in [
        (0.1, 0.6795, 0.002),
        (1.0, 0.6348, 0.001),
        (10.0, 0.41883, 0.001),
    ] {
        let config = SteadyConfig {
            rtol: Some(1e-5),
            ..on_cpu()
        };
        let found = solve(cavity(delta, 32, 24, 8), &config).unwrap();
        assert_eq!(found.status, Ending::Steady);
        let shear: f64 = found.exchange[3].iter().map(|e| e.shear).sum();
        let found = -2.0 * shear / 32.0;
        assert!(
            (found / drag - 1.0).abs() < tolerance,
            "delta {delta}: D = {found}"
        );
    }
}

/// Walls that mirror hold the energy of thin gas loosely; the correction finds it, and iterations do not grow as the inverse accommodation.
#[test]
fn thin_cavities_with_walls_that_mirror_converge() {
    let mut case = cavity(1.0, 6, 6, 4);
    case.linear = false;
    let wall = |velocity| wall(1.0, velocity, 1e-3);
    case.boundaries = Boundaries {
        left: wall([0.0; 2]),
        right: wall([0.0; 2]),
        bottom: wall([0.0; 2]),
        top: wall([0.2, 0.0]),
    };
    let found = solve(case, &on_cpu()).unwrap();
    assert_eq!(found.status, Ending::Steady);
    let count = found.residuals.len();
    // It was 1399 without the correction.
    assert!(count < 700, "{count}");
    let heat: f64 = found.exchange.iter().flatten().map(|e| e.heat).sum();
    let work: f64 = found.exchange.iter().flatten().map(|e| e.work).sum();
    // The lid works on the gas, and the walls take up as much heat.
    assert!(work < 0.0 && heat.abs() < -1e-6 * work, "{heat} {work}");
}

#[test]
fn a_flow_near_roundoff_says_so() {
    let line = "cavity --steady --delta 5 --cells 4 --velocities 6x4 --accommodation 1e-6 --quiet --backend cpu --json";
    let output = unconverged(folder().path(), line);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("near the roundoff of its gas"), "{stderr}");
}

/// Pi and Q of linearised plates, 200 graded cells and 20 graded nodes: delta, Couette and Fourier by BGK, the same by Shakhov.
const PLATES: [[f64; 5]; 5] = [
    [1e-3, 0.5636917196, 0.5637540942, 0.5636917195, 0.5638388586],
    [1.0, 0.3389250843, 0.3615622564, 0.3388203625, 0.4001426511],
    [
        1e2,
        0.009800810019,
        0.01218259098,
        0.009800391062,
        0.01804478338,
    ],
    [
        1e3,
        0.0009979717394,
        0.001246751674,
        0.0009979673953,
        0.001867700751,
    ],
    [
        1e4,
        9.997968033e-5,
        0.0001249674406,
        9.997963673e-5,
        0.000187426751,
    ],
];

/// The stress Pi or heat flux Q per unit of the drive.
fn driven(solution: &Solution, drive: Drive, strength: f64) -> f64 {
    let right = &solution.exchange[1][0];
    match drive {
        Drive::Fourier(_) => 2.0 * right.heat / strength,
        _ => -2.0 * right.shear / strength,
    }
}

#[test]
fn plates_converge_at_every_rarefaction() {
    for [delta, couette, fourier, couette_shakhov, fourier_shakhov] in PLATES {
        for (drive, model, expected) in [
            (Drive::Couette(1.0), Model::Bgk, couette),
            (Drive::Fourier(1.0), Model::Bgk, fourier),
            (Drive::Couette(1.0), Model::Shakhov, couette_shakhov),
            (Drive::Fourier(1.0), Model::Shakhov, fourier_shakhov),
        ] {
            let case = plates(delta, drive, gas(model), 1.0, Resolution::default(), true).unwrap();
            let found = solve(&case, &on_cpu()).unwrap();
            let what = format!("{drive:?}, {model:?}, delta {delta}");
            assert_eq!(found.status, Ending::Steady, "{what}");
            assert!(
                found.residuals.len() <= 25,
                "{what}: {} iterations",
                found.residuals.len()
            );
            assert!(found.flux_spread <= 1e-9, "{what}: {:e}", found.flux_spread);
            let value = driven(&found, drive, 1.0);
            assert!((value / expected - 1.0).abs() < 2e-9, "{what}: {value}");
        }
    }
}

#[test]
fn plates_converge_without_mixing_in_thick_cells() {
    // An inconsistent correction diverges here.
    for optical in [5.0, 50.0] {
        for drive in [Drive::Couette(1.0), Drive::Fourier(1.0)] {
            let cells = 40;
            let resolution = Resolution {
                cells,
                ..Resolution::default()
            };
            let mut case = plates(
                optical * cells as f64,
                drive,
                gas(Model::Bgk),
                1.0,
                resolution,
                true,
            )
            .unwrap();
            case.widths[0] = vec![optical; cells];
            let config = SteadyConfig {
                anderson_depth: 0,
                ..on_cpu()
            };
            let found = solve(&case, &config).unwrap();
            assert_eq!(found.status, Ending::Steady);
            assert!(
                found.residuals.len() <= 25,
                "{drive:?}, {optical}: {}",
                found.residuals.len()
            );
        }
    }
}

#[test]
fn plates_far_from_equilibrium_converge() {
    // Heat conduction at a temperature ratio of 2, and fast plates; with omega = 0.74.
    for (delta, drive, model, expected) in [
        (1.0, Drive::Fourier(2.0 / 3.0), Model::Bgk, 0.3490540127),
        (1e4, Drive::Fourier(2.0 / 3.0), Model::Shakhov, 0.0001867461),
        (100.0, Drive::Couette(0.5), Model::Bgk, 0.009926077),
    ] {
        let case = plates(delta, drive, gas(model), 1.0, Resolution::default(), false).unwrap();
        let found = solve(&case, &on_cpu()).unwrap();
        assert_eq!(found.status, Ending::Steady);
        assert!(found.residuals.len() <= 25, "{drive:?}, {delta}");
        let strength = match drive {
            Drive::Fourier(strength) | Drive::Couette(strength) => strength,
            _ => 1.0,
        };
        let value = driven(&found, drive, strength);
        assert!(
            (value / expected - 1.0).abs() < 1e-6,
            "{drive:?}, {delta}: {value}"
        );
    }
    // Hard spheres at a temperature ratio of 7. Corrections are cut on the way to the steady flow.
    let of = |cells: usize, delta: f64| {
        let hard_spheres = Gas {
            omega: 0.5,
            ..gas(Model::Bgk)
        };
        let resolution = Resolution {
            cells,
            ..Resolution::default()
        };
        let drive = Drive::Fourier(1.5);
        let case = plates(delta, drive, hard_spheres, 1.0, resolution, false).unwrap();
        let found = solve(&case, &on_cpu()).unwrap();
        assert_eq!(found.status, Ending::Steady, "{delta}");
        assert!(
            found.residuals.len() <= 25,
            "{delta}: {}",
            found.residuals.len()
        );
        driven(&found, drive, 1.5)
    };
    let [coarse, fine] = [200, 400].map(|cells| of(cells, 1000.0));
    assert!((coarse / fine - 1.0).abs() < 1e-5, "{coarse}, {fine}");
    assert!((coarse / 0.00121312068 - 1.0).abs() < 1e-8, "{coarse}");
    let thick = of(200, 1e4);
    // Fourier's law with the conductivity `(5/4) T^0.5`.
    let limit = 1.25 * (1.75_f64.powf(1.5) - 0.25_f64.powf(1.5)) / (1.5 * 1e4 * 1.5);
    assert!((thick / limit - 1.0).abs() < 1e-3, "{thick}, {limit}");
    // Plates that reflect in part.
    for (accommodation, expected) in [(0.5, 0.1523538691), (0.1, 0.0285930370)] {
        let (drive, gas) = (Drive::Couette(1.0), gas(Model::Bgk));
        let case = plates(1.0, drive, gas, accommodation, Resolution::default(), true).unwrap();
        let found = solve(&case, &on_cpu()).unwrap();
        assert_eq!(found.status, Ending::Steady);
        let value = driven(&found, drive, 1.0);
        assert!(
            (value / expected - 1.0).abs() < 1e-8,
            "{accommodation}: {value}"
        );
    }
}

#[test]
fn dense_gas_between_plates_is_the_same_on_machines() {
    let resolution = Resolution {
        cells: 24,
        normal: 8,
        tangential: 4,
    };
    for drive in [Drive::Couette(1.0), Drive::Fourier(1.0)] {
        let case = plates(300.0, drive, gas(Model::Shakhov), 1.0, resolution, true).unwrap();
        let expected = driven(&solve(&case, &on_cpu()).unwrap(), drive, 1.0);
        for backend in machines() {
            let config = SteadyConfig {
                compute: backend.into(),
                ..SteadyConfig::default()
            };
            let found = solve(&case, &config).unwrap();
            assert_eq!(found.status, Ending::Steady, "{backend}");
            assert!(found.residuals.len() <= 30);
            assert!(
                (driven(&found, drive, 1.0) / expected - 1.0).abs() < 1e-8,
                "{backend}"
            );
        }
    }
}

#[test]
fn cavities_converge_at_every_rarefaction() {
    for (delta, model) in [
        (0.1, Model::Bgk),
        (10.0, Model::Shakhov),
        (300.0, Model::Bgk),
        (1e4, Model::Shakhov),
    ] {
        let mut case = cavity(delta, 16, 6, 6);
        case.gas = gas(model);
        let found = solve(&case, &on_cpu()).unwrap();
        assert_eq!(found.status, Ending::Steady, "delta {delta}");
        assert!(
            found.residuals.len() <= 40,
            "delta {delta}: {}",
            found.residuals.len()
        );
    }
}

#[test]
fn shocks_from_weak_to_strong_converge() {
    for (mach, model, cells, sides, thickness, least) in [
        (1.2, Model::Bgk, 1200, [60.0, 60.0], 11.3390927, -0.01174504),
        (3.0, Model::Bgk, 600, [40.0, 20.0], 2.36905793, -1.90025517),
        (
            3.0,
            Model::Shakhov,
            600,
            [40.0, 20.0],
            2.95217273,
            -2.34664709,
        ),
        (
            8.0,
            Model::Shakhov,
            800,
            [60.0, 20.0],
            3.42027457,
            -57.775121,
        ),
    ] {
        let mut wave = Shock::new(mach).unwrap();
        let along = wave.range(wave.cut);
        wave.velocities = vec![2 * (0.5 * (along[1] - along[0]) / 0.55).ceil() as usize];
        (wave.cells, wave.sides, wave.gas) = (cells, sides, gas(model));
        let problem = wave.problem().unwrap();
        let found = solve(&problem, &on_cpu()).unwrap();
        let what = format!("Ma {mach}, {model:?}");
        assert_eq!(found.status, Ending::Steady, "{what}");
        assert!(
            found.residuals.len() <= 30,
            "{what}: {}",
            found.residuals.len()
        );
        assert!(found.flux_spread <= 1e-9);
        assert!(found.downstream_excess.unwrap().abs() < 1e-4);
        let profile = ShockProfile::new(wave.mach, &problem.space, &found.cells).unwrap();
        assert!(
            (profile.thickness() / thickness - 1.0).abs() < 1e-7,
            "{what}: {}",
            profile.thickness()
        );
        let heat = profile.extremes().least_heat_flux;
        // The least figure has seven digits.
        assert!((heat / least - 1.0).abs() < 5e-7, "{what}: {heat}");
    }
}

#[test]
fn an_iteration_that_has_not_converged_is_no_result() {
    let folder = folder();
    let at = folder.path();
    for line in [
        "couette --delta 1 --linear --iterations 2 --backend cpu --out a",
        "shock --mach 2 --steady --steps 3 --backend cpu --out b",
        "cavity --delta 1 --cells 8 --steady --steps 3 --velocities 4x4 --backend cpu --out c",
    ] {
        let output = unconverged(at, line);
        assert!(String::from_utf8_lossy(&output.stdout).contains("NOT CONVERGED"));
        let run = run_json(&at.join(line.rsplit(' ').next().unwrap()));
        assert_eq!(run["status"], "unfinished", "{line}");
        assert!(run["change"].as_f64().unwrap() > 1e-9);
    }
}

#[test]
fn energy_between_hot_plates_is_heat_and_work() {
    let folder = folder();
    let at = folder.path();
    let line = "couette --delta 10 --u 4 --cells 60 --backend cpu --out a";
    let words: Vec<&str> = line.split(' ').collect();
    done(at, &words);
    let table = std::fs::read_to_string(at.join("a/profile.csv")).unwrap();
    let mut rows = table.lines();
    let columns: Vec<&str> = rows.next().unwrap().split(',').collect();
    let place = |name: &str| columns.iter().position(|c| *c == name).unwrap();
    let (heat, work, energy) = (place("heat_flux"), place("work"), place("energy_flux"));
    let mut most = 0.0_f64;
    for row in rows {
        let row: Vec<f64> = row.split(',').map(|v| v.parse().unwrap()).collect();
        assert!((row[heat] + row[work] - row[energy]).abs() < 1e-15);
        // By symmetry as much energy goes left as right.
        assert!(row[energy].abs() < 1e-8, "{}", row[energy]);
        most = most.max(row[heat].abs());
    }
    assert!(most > 0.4, "{most}");
    let plate = &run_json(&at.join("a"))["plates"]["left"][0];
    let of = |name: &str| plate[name].as_f64().unwrap();
    assert!((of("work") + 2.0 * of("shear")).abs() < 1e-12);
    assert!(of("heat").abs() < 1e-8 && of("heat") - of("work") > 0.4);
}

/// A shock wave on uniform velocities.
fn shock(mach: f64, model: Model, cells: usize, velocities: usize) -> (SteadyProblem, State) {
    let u = mach * (5.0_f64 / 6.0).sqrt();
    let ratio = 4.0 * mach * mach / (mach * mach + 3.0);
    let t = (5.0 * mach * mach - 1.0) * (mach * mach + 3.0) / (16.0 * mach * mach);
    let (up, down) = (
        State::along_x(1.0, u, 1.0),
        State::along_x(ratio, u / ratio, t),
    );
    let reach = 4.8 * t.sqrt();
    let axis = Axis::uniform(
        velocities,
        (u - 4.8).min(u / ratio - reach),
        u.max(u / ratio) + reach,
    );
    let velocity = VelocitySpace::new(vec![axis.unwrap()], 1).unwrap();
    let space = Space::line(cells, [-45.0, 25.0]).unwrap();
    let ends = Boundaries::line(Boundary::Inflow(up), Boundary::Inflow(down));
    let start = |x: f64, _| if x < 0.0 { up } else { down };
    let problem = Problem::new(space, velocity, gas(model), ends, start).unwrap();
    (SteadyProblem::from(&problem), down)
}

#[test]
fn shocks_have_their_profiles_and_constant_fluxes() {
    // N and TT at -4, -1 and 1 from the point where N = 1/2.
    for (mach, model, table) in [
        (
            1.5,
            Model::Bgk,
            [(0.03838, 0.07831), (0.30593, 0.47867), (0.68515, 0.81588)],
        ),
        (
            3.0,
            Model::Bgk,
            [(0.01301, 0.06705), (0.15314, 0.48805), (0.82247, 0.96014)],
        ),
        (
            1.5,
            Model::Shakhov,
            [(0.06778, 0.14377), (0.33935, 0.55604), (0.65943, 0.83260)],
        ),
        (
            3.0,
            Model::Shakhov,
            [(0.02098, 0.10842), (0.22157, 0.67779), (0.79203, 0.98829)],
        ),
    ] {
        let (case, down) = shock(mach, model, 700, 40);
        let config = SteadyConfig {
            rtol: Some(1e-8),
            anderson_depth: 20,
            ..on_cpu()
        };
        let mut solver = SteadySolver::new(case, &config).unwrap();
        assert_eq!(solver.solve().unwrap().status, Ending::Steady);
        let found = solver.solution().unwrap();
        let x = solver.problem().centres(0);
        let n: Vec<f64> = found
            .cells
            .iter()
            .map(|m| (m.density - 1.0) / (down.density - 1.0))
            .collect();
        let t: Vec<f64> = found
            .cells
            .iter()
            .map(|m| (m.temperature - 1.0) / (down.temperature - 1.0))
            .collect();
        let i = n.iter().position(|&n| n > 0.5).unwrap();
        let middle = x[i - 1] + (0.5 - n[i - 1]) / (n[i] - n[i - 1]) * (x[i] - x[i - 1]);
        for (place, (density, temperature)) in [-4.0, -1.0, 1.0].into_iter().zip(table) {
            let i = x.iter().position(|&x| x > middle + place).unwrap();
            let share = (middle + place - x[i - 1]) / (x[i] - x[i - 1]);
            let at = |v: &[f64]| v[i - 1] + share * (v[i] - v[i - 1]);
            let what = format!("Ma {mach}, {model:?}, x {place}");
            assert!((at(&n) - density).abs() < 1.5e-3, "{what}: N = {}", at(&n));
            assert!(
                (at(&t) - temperature).abs() < 1.5e-3,
                "{what}: TT = {}",
                at(&t)
            );
        }
        let fluxes: Vec<[f64; 3]> = (found.cells.iter())
            .map(|m| {
                let (n, u, p) = (m.density, m.velocity[0], m.pressure[0]);
                let energy = n * u * (0.5 * u * u + 0.75 * m.temperature) + u * p + m.heat_flux[0];
                [n * u, n * u * u + p, energy]
            })
            .collect();
        for k in 0..3 {
            let first = fluxes[0][k];
            let spread = fluxes
                .iter()
                .fold(0.0_f64, |most, f| most.max((f[k] / first - 1.0).abs()));
            assert!(
                spread < 1e-6,
                "Ma {mach}, {model:?}: flux {k} varies by {spread:e}"
            );
        }
    }
}

#[test]
fn what_cannot_be_solved_is_refused_in_one_line() {
    let gas = gas(Model::Bgk);
    let refused = |outcome: rarefy::Result<()>, why: &str| {
        let error = outcome.expect_err(why).to_string();
        assert!(error.contains(why) && !error.contains('\n'), "{error}");
    };
    let plates = |delta, drive, resolution| {
        plates(delta, drive, gas, 1.0, resolution, false)
            .and_then(|case| solve(&case, &on_cpu()))
            .map(drop)
    };
    let fine = Resolution::default();
    refused(
        plates(0.0, Drive::Couette(1.0), fine),
        "delta must be positive",
    );
    refused(
        plates(f64::NAN, Drive::Couette(1.0), fine),
        "delta must be positive",
    );
    refused(plates(1.0, Drive::Fourier(2.0), fine), "temperatures");
    refused(
        plates(1.0, Drive::Couette(f64::INFINITY), fine),
        "a finite velocity",
    );
    refused(
        plates(1.0, Drive::Fourier(0.5), Resolution { normal: 2, ..fine }),
        "too few",
    );
    refused(
        plates(1.0, Drive::Fourier(0.5), Resolution { cells: 2, ..fine }),
        "cells",
    );
    let mut case = line(
        8,
        18,
        Model::Bgk,
        Boundaries::line(wall(1.0, [0.0; 2], 1.0), Boundary::Specular),
    );
    case.gas.frequency = 0.0;
    refused(solve(&case, &on_cpu()).map(drop), "without collisions");
    case.gas.frequency = 1.0;
    case.initial.pop();
    refused(
        solve(&case, &on_cpu()).map(drop),
        "initial: 7 cells; expected an initial state of 8 cells",
    );
    let coarse = VelocitySpace::new(vec![Axis::uniform(4, -6.0, 6.0).unwrap()], 1).unwrap();
    let mut case = line(
        8,
        18,
        Model::Bgk,
        Boundaries::line(Boundary::Periodic, Boundary::Periodic),
    );
    case.nodes = Nodes::of(&coarse);
    refused(solve(&case, &on_cpu()).map(drop), "too coarse");
    let config = SteadyConfig {
        rtol: Some(0.0),
        ..on_cpu()
    };
    refused(solve(&case, &config).map(drop), "residual to reach");
}

/// The object in a run's run.json.
fn run_json(folder: &std::path::Path) -> serde_json::Value {
    serde_json::from_slice(&std::fs::read(folder.join("run.json")).unwrap()).unwrap()
}

#[test]
fn commands_write_what_they_promise() {
    let folder = folder();
    let at = folder.path();
    done(
        at,
        &[
            "couette",
            "--delta",
            "1",
            "--linear",
            "--backend",
            "cpu",
            "--out",
            "c",
        ],
    );
    let run = run_json(&at.join("c"));
    assert!((run["Pi"].as_f64().unwrap() - 0.338925).abs() < 1e-6);
    assert!((run["u_wall"].as_f64().unwrap() - 0.25186).abs() < 1e-5);
    assert_eq!(run["reference"]["table"]["Pi"], 0.338925);
    assert_eq!(run["status"], "converged");
    let table = std::fs::read_to_string(at.join("c/profile.csv")).unwrap();
    assert!(table.starts_with("x,density,velocity,temperature,pxx,pxy,heat_flux\n"));
    assert_eq!(table.lines().count(), 201);
    assert!(at.join("c/profile.png").exists() && at.join("c/residuals.csv").exists());

    done(
        at,
        &[
            "fourier",
            "--delta",
            "10",
            "--backend",
            "cpu",
            "--quiet",
            "--out",
            "f",
        ],
    );
    let run = run_json(&at.join("f"));
    assert!((run["Q"].as_f64().unwrap() - 0.09918).abs() < 1e-5);
    assert!((run["tau_wall"].as_f64().unwrap() - 0.4323).abs() < 1e-4);
    assert!(run["conservation"]["flux_spread"].as_f64().unwrap() < 1e-6);
    // The parameters of a run are options of the next one.
    done(at, &["fourier", "--config", "f/run.json", "--out", "g"]);
    assert_eq!(run_json(&at.join("g"))["Q"], run["Q"]);

    done(
        at,
        &[
            "shock",
            "--mach",
            "1.5",
            "--steady",
            "--backend",
            "cpu",
            "--quiet",
            "--out",
            "s",
        ],
    );
    let run = run_json(&at.join("s"));
    assert!((run["result"]["thickness"].as_f64().unwrap() / 4.97108 - 1.0).abs() < 0.005);
    let spread = run["conservation"]["flux_spread"].as_object().unwrap();
    assert!(
        spread
            .values()
            .all(|spread| spread.as_f64().unwrap() < 1e-6)
    );

    let cavity = [
        "cavity",
        "--delta",
        "10",
        "--cells",
        "32",
        "--steady",
        "--velocities",
        "16x8",
        "--quiet",
    ];
    let mut linear = cavity.to_vec();
    linear.extend(["--backend", "cpu", "--linear", "--out", "d"]);
    done(at, &linear);
    let drag = run_json(&at.join("d"))["result"]["D"].as_f64().unwrap();
    assert!((drag / 0.41883 - 1.0).abs() < 0.002, "{drag}");
    let mut rule = cavity.to_vec();
    rule.extend([
        "--backend",
        "cpu",
        "--quadrature",
        "half-range",
        "--out",
        "e",
    ]);
    done(at, &rule);
    let drag = run_json(&at.join("e"))["result"]["D"].as_f64().unwrap();
    assert!((drag / 0.41883 - 1.0).abs() < 0.005, "{drag}");
}

#[test]
fn commands_refuse_in_one_line() {
    let folder = folder();
    let at = folder.path();
    for (arguments, why) in [
        (&["couette"][..], "--delta"),
        (&["couette", "--delta", "0"], "a positive finite number"),
        (&["couette", "--delta", "nan"], "a positive finite number"),
        (&["couette", "--delta", "1", "--u", "0"], "other than 0"),
        (
            &["couette", "--delta", "1", "--velocities", "2"],
            "from 3 to 64",
        ),
        (
            &["couette", "--delta", "1", "--accommodation", "2"],
            "between 0 and 1",
        ),
        (
            &["fourier", "--delta", "1", "--temperature-difference", "3"],
            "between -2 and 2",
        ),
        (&["fourier", "--delta", "1", "--cells", "3"], "from 4 to"),
        (
            &["fourier", "--delta", "1", "--until-residual", "2"],
            "below 1",
        ),
        (&["shock", "--steady", "--dt", "0.1"], "cannot be used with"),
        (&["shock", "--steady", "--mach", "1"], "above 1"),
        (&["shock", "--steady", "--velocities", "6"], "too coarse"),
        (&["cavity", "--steady", "--delta", "0"], "positive"),
        (&["cavity", "--linear", "--in-time"], "cannot be used with"),
        (
            &["cavity", "--steady", "--velocities", "1x1"],
            "from 2 to 1024",
        ),
        (&["cavity", "--steady", "--velocities", "8x2"], "too few"),
    ] {
        refused(at, arguments, why);
    }
}

#[test]
fn gas_beyond_the_arithmetic_is_refused() {
    let (drive, resolution) = (Drive::Couette(1.0), Resolution::default());
    let case = plates(1e20, drive, Gas::default(), 1.0, resolution, true).unwrap();
    let error = SteadySolver::new(case, &on_cpu()).err().unwrap();
    assert!(
        error.to_string().contains("mean free paths thick"),
        "{error}"
    );
}
