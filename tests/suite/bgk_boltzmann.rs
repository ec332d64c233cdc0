//! Shock waves by the Boltzmann equation, steady runs that are interrupted, and the commands that compare with known results.

use std::path::Path;

use rarefy::bgk::boltzmann::{Flow, FlowConfig, Initial, ShockWave, Stepping, cross_section};
use rarefy::bgk::{
    Boundaries, Boundary, DiscreteMaxwellian, Moments, Scheme, ShockPoint, Space, State,
};
use rarefy::collision::{
    CorrectionMethod, Method, OperatorConfig, Order, Scattering, VelocityGrid,
};
use rarefy::{Backend, Precision};
use serde_json::Value;

use crate::command::{done, object, refused, unconverged};
use crate::support;

/// A small line between two Maxwellians, with cells that molecules cross more than one of in a step.
fn line(scheme: Scheme, order: Order, scattering: Scattering) -> FlowConfig {
    let stream = Boundary::Inflow(State::REST);
    let mut config = FlowConfig {
        space: Space::line(4, [-0.5, 0.3]).unwrap(),
        operator: OperatorConfig {
            scattering,
            sigma_t: cross_section(scattering),
            order,
            correction: match order {
                Order::Fourth => CorrectionMethod::Balanced,
                _ => CorrectionMethod::Paper,
            },
            compute: Backend::Reference.into(),
            ..OperatorConfig::new(VelocityGrid::new(7, -3.6, 3.6).unwrap())
        },
        drift: 0.4,
        boundaries: Boundaries::line(stream, stream),
        incoming: Default::default(),
        scheme,
        stepping: Stepping::Split,
        dt: 0.08,
        initial: Initial::States(Vec::new()),
    };
    assert_eq!(config.operator.method, Method::Fast);
    let velocity = config.velocity_space().unwrap();
    let volume = config.operator.grid.volume();
    let of = |density, u, temperature| -> Vec<f64> {
        let state = State::along_x(density, u, temperature);
        let maxwellian = DiscreteMaxwellian::new(&velocity, state, true).unwrap();
        let f = maxwellian.populations(&velocity);
        f.iter().map(|f| f / volume).collect()
    };
    let none = Vec::new();
    config.incoming = [of(1.0, 1.0, 1.2), of(1.4, 0.6, 1.5), none.clone(), none];
    let cells = (0..4).flat_map(|i| of(1.0 + 0.08 * f64::from(i), 1.0 - 0.07 * f64::from(i), 1.2));
    config.initial = Initial::Distributions(cells.collect());
    config
}

/// The distributions of all cells at the start.
fn start(config: &FlowConfig) -> Vec<f64> {
    config.distributions(0..config.space.cells()).unwrap()
}

fn after(config: &FlowConfig, steps: u64) -> Vec<f64> {
    let mut line = Flow::new(config.clone()).unwrap();
    line.advance(steps).unwrap();
    line.state().unwrap()
}

#[test]
fn every_backend_takes_the_same_steps() {
    for (scheme, order, scattering) in [
        (Scheme::VanLeer, Order::Fourth, Scattering::HardSphere),
        (
            Scheme::Upwind,
            Order::Second,
            Scattering::Vhs { omega: 0.74 },
        ),
    ] {
        let config = line(scheme, order, scattering);
        let mut backends = vec![Backend::Cpu, Backend::Emulator];
        if support::device().is_some() {
            backends.push(Backend::Cuda);
        }
        for backend in backends {
            // The emulator is slow.
            let steps = if backend == Backend::Emulator { 1 } else { 3 };
            let expected = after(&config, steps);
            let largest = expected.iter().copied().fold(0.0, f64::max);
            for (precision, tolerance) in [(Precision::F64, 1e-13), (Precision::F32, 1e-6)] {
                let mut config = config.clone();
                config.operator.compute.backend = backend;
                config.operator.compute.precision = precision;
                let found = after(&config, steps);
                let worst = found
                    .iter()
                    .zip(&expected)
                    .fold(0.0, |worst: f64, (a, b)| worst.max((a - b).abs()));
                assert!(
                    worst <= tolerance * largest,
                    "{scheme:?}, {backend}, {precision}: off by {worst:e}"
                );
                // The emulator's threads run in one order.
                if backend != Backend::Emulator {
                    assert_eq!(
                        found,
                        after(&config, steps),
                        "{backend}, {precision}: other bits"
                    );
                }
            }
        }
    }
}

#[test]
fn a_run_goes_on_from_its_checkpoint_to_the_same_bits() {
    let mut config = line(Scheme::VanLeer, Order::Fourth, Scattering::HardSphere);
    config.operator.compute.backend = Backend::Cpu;
    let mut whole = Flow::new(config).unwrap();
    whole.advance(2).unwrap();
    let text = serde_json::to_string(&whole.checkpoint().unwrap()).unwrap();
    let mut resumed = Flow::resume(serde_json::from_str(&text).unwrap()).unwrap();
    assert_eq!(resumed.steps_taken(), 2);
    whole.advance(1).unwrap();
    resumed.advance(1).unwrap();
    assert_eq!(whole.state().unwrap(), resumed.state().unwrap());

    let mut short = whole.checkpoint().unwrap();
    short.distributions.pop();
    let message = Flow::resume(short).unwrap_err().to_string();
    assert!(message.contains("another problem"), "{message}");
}

/// A puff of gas in a near vacuum, watched until its first molecules reach the ends: neither streaming nor collisions lose anything.
#[test]
fn mass_momentum_and_energy_are_kept_to_roundoff() {
    let mut config = line(Scheme::VanLeer, Order::Second, Scattering::HardSphere);
    config.operator.compute.backend = Backend::Cpu;
    let middle = config.distributions(1..3).unwrap();
    let nodes = config.operator.grid.cells();
    config.space = Space::line(6, [0.0, 6.0]).unwrap();
    let mut initial = middle.repeat(3);
    for end in &mut config.incoming {
        end.iter_mut().for_each(|f| *f *= 1e-20);
    }
    for cell in [0, 1, 4, 5] {
        initial[cell * nodes..][..nodes].copy_from_slice(&config.incoming[0]);
    }
    config.initial = Initial::Distributions(initial);
    let velocity = config.velocity_space().unwrap();
    let content = |f: &[f64]| -> [f64; 3] {
        let mut sum = [0.0; 3];
        for f in f.chunks_exact(nodes) {
            let m = Moments::of(&velocity, |node| config.operator.grid.volume() * f[node]);
            let (n, u) = (m.density, m.velocity[0]);
            sum[0] += n;
            sum[1] += n * u;
            sum[2] += n * (0.5 * u * u + 0.75 * m.temperature);
        }
        sum
    };
    let (start, end) = (content(&start(&config)), content(&after(&config, 2)));
    for (start, end) in start.iter().zip(end) {
        assert!((end / start - 1.0).abs() < 1e-13, "{start} became {end}");
    }
}

#[test]
fn a_wave_stands_between_streams_of_equal_fluxes() {
    let wave = ShockWave {
        cells: 12,
        velocities: 14,
        method: Method::Fast,
        correction: CorrectionMethod::Balanced,
        compute: Backend::Cpu.into(),
        ..ShockWave::new(1.4).unwrap()
    };
    let (config, found) = wave.line().unwrap();
    let velocity = config.velocity_space().unwrap();
    let nodes = config.operator.grid.cells();
    let points: Vec<[f64; 3]> = start(&config)
        .chunks_exact(nodes)
        .chain(config.incoming[..2].iter().map(|end| &end[..]))
        .map(|f| {
            let m = Moments::of(&velocity, |node| config.operator.grid.volume() * f[node]);
            ShockPoint::new(0.0, &m).fluxes()
        })
        .collect();
    for point in &points {
        for (flux, first) in point.iter().zip(points[0]) {
            assert!((flux / first - 1.0).abs() < 1e-11, "{point:?}");
        }
    }
    // Close to Rankine and Hugoniot's state, which holds for Maxwellians.
    let exact = wave.mach.downstream();
    assert!((found.downstream.density / exact.density - 1.0).abs() < 1e-3);
    assert!((found.downstream.temperature / exact.temperature - 1.0).abs() < 1e-3);
    // The stream itself is steady.
    let mut steady = config.clone();
    steady.space = Space::line(4, [0.0, 1.0]).unwrap();
    steady.dt = config.dt.min(0.05);
    steady.incoming[1] = config.incoming[0].clone();
    steady.initial = Initial::Distributions(config.incoming[0].repeat(4));
    let f = after(&steady, 5);
    let largest = f.iter().copied().fold(0.0, f64::max);
    for (now, before) in f.iter().zip(start(&steady)) {
        assert!((now - before).abs() < 1e-10 * largest);
    }
}

/// The mean free path is that of hard spheres, and the relaxation of stress in a uniform gas has the rate 1.
#[test]
fn the_units_are_those_of_the_models() {
    let path = 1.0 / (2f64.sqrt() * cross_section(Scattering::HardSphere));
    assert!((path - 8.0 / (5.0 * std::f64::consts::PI.sqrt())).abs() < 1e-14);
    // Maxwell molecules: the rate of stress is 1 whatever the distribution, but for the error of the grid.
    let mut config = line(Scheme::Upwind, Order::Fourth, Scattering::Maxwell);
    config.operator.compute.backend = Backend::Cpu;
    config.operator.grid = VelocityGrid::new(18, -4.5, 4.5).unwrap();
    config.space = Space::line(3, [0.0, 3.0]).unwrap();
    config.dt = 0.02;
    let velocity = config.velocity_space().unwrap();
    let volume = config.operator.grid.volume();
    let anisotropic: Vec<f64> = (0..config.operator.grid.cells())
        .map(|cell| {
            let [x, y, z] = config.operator.grid.velocity(cell);
            (-x * x / 1.3 - (y * y + z * z) / 0.85).exp()
                / (1.3f64.sqrt() * 0.85 * 5.568_327_996_831_708)
        })
        .collect();
    config.incoming[0].clone_from(&anisotropic);
    config.incoming[1].clone_from(&anisotropic);
    config.initial = Initial::Distributions(anisotropic.repeat(3));
    let excess = |f: &[f64]| {
        let m = Moments::of(&velocity, |node| volume * f[node]);
        m.pressure[0] - 0.5 * m.density * m.temperature
    };
    let nodes = config.operator.grid.cells();
    // One step: streaming does not change what is uniform.
    let f = after(&config, 1);
    let rate = -(excess(&f[nodes..2 * nodes]) / excess(&anisotropic)).ln() / config.dt;
    assert!((rate - 1.0).abs() < 0.03, "rate {rate}");
}

fn run(folder: &Path, line: &str) -> Value {
    let mut arguments: Vec<&str> = line.split_whitespace().collect();
    arguments.extend(["--json", "--quiet"]);
    object(&done(folder, &arguments))
}

#[test]
fn rarefy_shock_solves_the_boltzmann_equation_and_goes_on_to_the_same_bits() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let case = "shock --mach 1.4 --collision boltzmann --velocities 14 --cells 8 --length 30 --backend cpu";
    let whole = run(folder, &format!("{case} --steps 3 --out whole"));
    run(
        folder,
        &format!("{case} --steps 1 --checkpoint-every 1 --out part"),
    );
    let rest = run(
        folder,
        "shock --resume part/checkpoint.rarefy --steps 3 --out rest",
    );
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    assert_eq!(whole["result"], rest["result"]);
    for file in ["profile.csv", "history.csv"] {
        assert_eq!(
            read(&format!("whole/{file}")),
            read(&format!("rest/{file}")),
            "{file}"
        );
    }
    assert!(
        read("whole/profile.csv").starts_with("x,density,velocity,temperature,pxx,heat_flux\n")
    );
    assert!(whole["boltzmann"]["mott_smith_thickness"].as_f64().unwrap() > 6.0);
    assert_eq!(whole["parameters"]["collision"], "boltzmann");
    assert_eq!(whole["parameters"]["method"], "spectral");
    assert_eq!(whole["parameters"]["correction"], "paper");
    assert_eq!(whole["method"]["taken"], "spectral");
    assert!(whole["parameters"]["dt"].as_f64().unwrap() > 0.0);
    assert!(
        whole["conservation"]["flux_spread"]["mass"]
            .as_f64()
            .unwrap()
            < 0.02
    );
    for file in ["profile.png", "history.csv", "run.json"] {
        assert!(folder.join("whole").join(file).exists(), "{file}");
    }
}

/// Thickness and heat flux of a wave of hard spheres by an independent program, for the same velocities, directions and cells.
#[test]
fn a_weak_shock_has_the_published_thickness_on_a_gpu() {
    if support::device().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let wave = run(
        folder.path(),
        "shock --mach 1.5 --collision boltzmann --velocities 16 --sphere 11 --cells 100 --length 40 --upstream 22 --in-time --until-residual 1e-5 --precision f32 --backend cuda",
    );
    let near = |value: &Value, known: f64, share: f64| {
        let found = value.as_f64().unwrap();
        assert!((found / known - 1.0).abs() < share, "{found} for {known}");
    };
    near(&wave["result"]["thickness"], 5.902, 0.01);
    near(&wave["result"]["least_heat_flux"], -0.0993, 0.01);
}

#[test]
fn flags_of_the_sums_and_coarse_grids_take_the_sums() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let shock =
        "shock --mach 1.4 --collision boltzmann --cells 8 --length 30 --backend cpu --steps 1";
    let relax = "relax --backend cpu --steps 1";
    for (line, method, because) in [
        (
            format!("{shock} --velocities 10"),
            "fast",
            "alternate from cell to cell",
        ),
        (
            format!("{shock} --velocities 10 --order 2"),
            "fast",
            "chosen",
        ),
        (format!("{relax} --grid 14"), "spectral", "is smooth"),
        (
            format!("{relax} --grid 12 --correction paper"),
            "fast",
            "chosen",
        ),
        (format!("{relax} --grid 12 --order 2"), "fast", "chosen"),
        (format!("{relax} --grid 8"), "fast", "cells are"),
        (
            format!("{relax} --grid 8 --sphere 11"),
            "spectral",
            "chosen",
        ),
    ] {
        let object = run(folder, &line);
        let order = &object["parameters"]["order"];
        assert_eq!(object["parameters"]["method"], method, "{line}");
        assert_eq!(object["method"]["taken"], method, "{line}");
        assert_eq!(order.is_null(), method == "spectral", "{line}");
        let found = object["method"]["because"].as_str().unwrap();
        assert!(found.contains(because), "{line}: {found}");
    }
}

#[test]
fn steady_runs_go_on_to_the_same_bits() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for (name, case, file) in [
        (
            "shock",
            "shock --mach 2 --steady --cells 300 --backend cpu",
            "profile.csv",
        ),
        (
            "cavity",
            "cavity --delta 1 --cells 12 --steady --linear --backend cpu",
            "vertical.csv",
        ),
    ] {
        let whole = run(folder, &format!("{case} --out whole --overwrite"));
        unconverged(
            folder,
            &format!("{case} --steps 8 --checkpoint-every 4 --out part --overwrite"),
        );
        let rest = run(
            folder,
            &format!("{name} --resume part/checkpoint.rarefy --steps 3000 --out rest --overwrite"),
        );
        assert_eq!(whole["result"], rest["result"], "{name}");
        assert_eq!(whole["steady"]["iterations"], rest["steady"]["iterations"]);
        let read = |place: &str| std::fs::read_to_string(folder.join(place).join(file)).unwrap();
        assert_eq!(read("whole"), read("rest"), "{name}");
    }
}

#[test]
fn known_results_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let report = run(
        folder.path(),
        "paper validate --quick --backend cpu --out out",
    );
    let near = |row: &Value, found: &str, known: &str, share: f64| {
        let [found, known] = [found, known].map(|key| row[key].as_f64().unwrap());
        assert!((found / known - 1.0).abs() < share, "{row}");
    };
    let rows = |key: &str| report[key].as_array().unwrap().clone();
    assert_eq!(rows("plates").len(), 3);
    for row in rows("plates") {
        near(&row, "stress", "known_stress", 1e-4);
        near(&row, "heat_flux", "known_heat_flux", 1e-4);
    }
    assert_eq!(rows("cavities").len(), 3);
    for row in rows("cavities") {
        near(&row, "drag", "known_drag", 0.005);
        near(&row, "flow", "known_flow", 0.005);
    }
    assert_eq!(rows("shocks").len(), 4);
    for row in rows("shocks") {
        near(&row, "thickness", "known_thickness", 0.01);
        assert!(row["largest_difference"].as_f64().unwrap() < 0.002, "{row}");
    }
    assert_eq!(rows("centre_lines").len(), 24);
    for file in [
        "plates.csv",
        "cavities.csv",
        "centre_lines.csv",
        "shocks.csv",
        "profiles.csv",
        "centre_lines.png",
        "shocks.png",
    ] {
        assert!(folder.path().join("out").join(file).exists(), "{file}");
    }
}

#[test]
fn bad_input_is_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    unconverged(
        folder,
        "cavity --cells 8 --steady --linear --steps 2 --checkpoint-every 1 --backend cpu --out saved",
    );
    std::fs::write(folder.join("empty.txt"), "no table\n").unwrap();
    for (line, why) in [
        ("shock --order 4", "--collision boltzmann"),
        ("shock --correction paper", "--collision boltzmann"),
        ("shock --collision boltzmann --order 3", "2 or 4"),
        ("shock --collision boltzmann --reduced", "leave it out"),
        (
            "shock --collision boltzmann --steady --scheme vanleer",
            "diamond",
        ),
        (
            "shock --collision boltzmann --model shakhov",
            "leave it out",
        ),
        (
            "shock --collision boltzmann --molecules vhs:0.4",
            "0.5 to 1",
        ),
        ("shock --collision boltzmann --velocities 8x9x9", "cubic"),
        ("shock --collision boltzmann --velocities 65", "3 to 64"),
        (
            "shock --collision boltzmann --mach 3 --velocities 8",
            "too coarse",
        ),
        ("shock --collision boltzmann --vmax 2", "too narrow"),
        (
            "shock --collision boltzmann --mach 1.4 --velocities 14 --dt 0.3 --length 40",
            "negative populations",
        ),
        (
            "paper timings empty.txt --out figures",
            "cargo bench --bench NAME",
        ),
        (
            "cavity --resume saved/checkpoint.rarefy --delta 2",
            "as the checkpoint's run has",
        ),
    ] {
        let arguments: Vec<&str> = line.split_whitespace().collect();
        refused(folder, &arguments, why);
    }
}
