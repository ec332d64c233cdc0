//! Flows between walls by the Boltzmann equation, and flow along a channel, as commands.

use std::fs;

use crate::command::{folder, number, object, printed as run, rarefy, refused};

#[test]
fn plates_by_the_collision_integral() {
    let folder = folder();
    let at = folder.path();
    let small = "--collision boltzmann --velocities 12 --sphere 7 --cells 16 --backend cpu --until-residual 1e-4";
    // Slip and jump of hard spheres by Ohwada, Sone and Aoki, Phys. Fluids A 1 (1989) 1588, and Sone, Ohwada and Aoki, ibid. 363; half-range sums are off by some percent on this grid.
    // Molecules that fly along a channel are few on a coarse grid: G is 1.439 with 16 nodes, 1.484 with 24, and 1.51 in the limit.
    for (name, key, near, off) in [
        ("couette", "Pi", 1.016034 / (1.0 + 2.0 * 0.8 * 1.2540), 0.06),
        ("fourier", "Q", 1.922284 / (1.0 + 2.0 * 0.8 * 2.4001), 0.06),
        ("poiseuille", "G", 1.51, 0.12),
    ] {
        let found = run(at, &format!("{name} --delta 1 {small} --out {name}"));
        println!("{name}: {}", found["result"]);
        assert_eq!(found["status"], "converged");
        assert_eq!(found["parameters"]["collision"], "boltzmann");
        assert_eq!(found["parameters"]["method"], "spectral");
        assert_eq!(found["parameters"]["molecules"], "hard-sphere");
        assert_eq!(found["parameters"]["velocities"], "12");
        let value = number(&found["result"][key]);
        assert!((value / near - 1.0).abs() < off, "{name}: {value}");
        let table = fs::read_to_string(at.join(name).join("profile.csv")).unwrap();
        assert!(table.starts_with("x,density,velocity,temperature,pxx,pxy,heat_flux"));
        assert_eq!(table.lines().count(), 17);
        for file in ["residuals.csv", "profile.png", "residuals.png", "run.json"] {
            assert!(at.join(name).join(file).exists(), "{file}");
        }
        let again = run(at, &format!("{name} --config {name}/run.json"));
        assert_eq!(found["result"], again["result"]);
        assert_eq!(found["parameters"], again["parameters"]);
    }
    let soft = run(
        at,
        &format!("couette --delta 1 {small} --molecules vss:0.81,1.4"),
    );
    assert_eq!(soft["parameters"]["molecules"], "vss:0.81,1.4");
}

/// The flow rate of the models: its limit in thick gas, more for Shakhov's than for BGK in thin gas, and the mean velocity in SI units.
#[test]
fn channels_by_the_models() {
    let folder = folder();
    let at = folder.path();
    let thick = run(
        at,
        "poiseuille --delta 100 --backend cpu --gradient 0.001 --out thick",
    );
    let result = &thick["result"];
    assert_eq!(thick["status"], "converged");
    let expected = 100.0 / 6.0 + 1.01619;
    assert!((number(&result["G"]) - expected).abs() < 0.02, "{result}");
    assert_eq!(thick["parameters"]["gradient"], 0.001);
    let thin = ["bgk", "shakhov"].map(|model| {
        let line = format!("poiseuille --delta 0.1 --cells 60 --backend cpu --model {model}");
        number(&run(at, &line)["result"]["G"])
    });
    println!("thin: {thin:?}");
    assert!((thin[0] - 2.03).abs() < 0.02, "{thin:?}");
    let si = run(
        at,
        "poiseuille --gas argon --pressure 100 --temperature 300 --size 1e-3 --cells 60 --backend cpu",
    );
    let speed = (2.0_f64 * 8.314462618 / 0.039948 * 300.0).sqrt();
    // In thick gas the default gradient is less than 0.01.
    let gradient = number(&si["parameters"]["gradient"]);
    assert!((0.007..0.009).contains(&gradient), "{gradient}");
    let expected = 0.5 * gradient * number(&si["result"]["G"]) * speed;
    let found = number(&si["result"]["mean_velocity_m_s"]);
    assert!((found / expected - 1.0).abs() < 1e-3, "{found}, {expected}");
}

#[test]
fn a_cavity_by_the_collision_integral() {
    let folder = folder();
    let at = folder.path();
    let small = "cavity --delta 2 --cells 5 --collision boltzmann --velocities 10 --sphere 7 --vmax 4 --lid 0.2 --backend cpu";
    let whole = run(at, &format!("{small} --steps 6 --out whole"));
    run(
        at,
        &format!("{small} --steps 3 --checkpoint-every 3 --out part"),
    );
    let rest = run(
        at,
        "cavity --resume part/checkpoint.rarefy --steps 6 --out rest",
    );
    assert_eq!(whole["result"], rest["result"]);
    assert_eq!(whole["parameters"]["quadrature"], "midpoint");
    assert_eq!(whole["parameters"]["velocities"], "10x10x10");
    let drift = number(&whole["conservation"]["mass_drift"]);
    assert!(drift.abs() < 1e-13, "{drift:e}");
    // The lid drags the gas under it along.
    let profile = fs::read_to_string(at.join("whole/vertical.csv")).unwrap();
    let top: f64 = profile
        .lines()
        .last()
        .unwrap()
        .split(',')
        .nth(1)
        .unwrap()
        .parse()
        .unwrap();
    assert!(top > 0.05, "{top}");
    for file in [
        "fields.vti",
        "profiles.png",
        "streamlines.png",
        "velocity.npy",
    ] {
        assert!(at.join("whole").join(file).exists(), "{file}");
    }
    let again = run(at, "cavity --config whole/run.json");
    assert_eq!(whole["result"], again["result"]);
}

#[test]
fn combinations_that_do_not_exist_are_refused() {
    let folder = folder();
    for (line, why) in [
        (
            "couette --delta 1 --collision boltzmann --linear",
            "leave it out",
        ),
        (
            "couette --delta 1 --collision boltzmann --model shakhov",
            "leave it out",
        ),
        (
            "couette --delta 1 --collision boltzmann --accommodation 0.9",
            "leave it out",
        ),
        (
            "fourier --delta 1 --collision boltzmann --scheme upwind",
            "leave it out",
        ),
        (
            "couette --delta 1 --collision boltzmann --velocities 20x8",
            "cubic",
        ),
        (
            "couette --delta 1 --collision boltzmann --molecules vhs:0.4",
            "0.5 to 1",
        ),
        ("couette --delta 1 --vmax 4", "--collision boltzmann"),
        (
            "couette --delta 1 --method spectral",
            "--collision boltzmann",
        ),
        (
            "couette --delta 1 --collision boltzmann --u 1e-12 --velocities 8",
            "drive",
        ),
        (
            "cavity --collision boltzmann --steady --linear",
            "leave it out",
        ),
        ("cavity --collision boltzmann --reduced", "leave it out"),
        (
            "cavity --collision boltzmann --quadrature half-range",
            "leave it out",
        ),
        ("cavity --collision boltzmann --velocities 8x9x9", "cubic"),
        (
            "cavity --cells 4 --collision boltzmann --velocities 8 --dt 0.12",
            "is stable",
        ),
        ("poiseuille --delta 1 --linear", "unexpected argument"),
        (
            "poiseuille --delta 1 --accommodation 0.5",
            "unexpected argument",
        ),
        ("poiseuille --delta 1 --precision f32", "f64"),
        ("poiseuille --delta 1 --backend emulator", "CPU"),
        ("poiseuille --delta 1 --gradient 0", "at least 1e-6"),
        ("poiseuille", "--delta"),
    ] {
        let arguments: Vec<&str> = line.split_whitespace().collect();
        refused(folder.path(), &arguments, why);
    }
}

/// The steady cavity by the collision integral has the files and results of the others; `--config` repeats it, and too few iterations are no result.
#[test]
fn a_steady_cavity_by_the_collision_integral() {
    let folder = folder();
    let at = folder.path();
    let small = "cavity --steady --collision boltzmann --delta 10 --cells 4 --velocities 8 --sphere 5 --backend cpu";
    let found = run(at, &format!("{small} --until-residual 1e-4 --out cavity"));
    assert_eq!(found["status"], "converged");
    assert_eq!(found["parameters"]["collision"], "boltzmann");
    assert_eq!(found["parameters"]["steady"], true);
    assert_eq!(found["parameters"]["velocities"], "8x8x8");
    assert_eq!(found["method"]["taken"], "spectral");
    assert!(number(&found["steady"]["iterations"]) <= 40.0);
    for key in ["D", "D_wall", "D_cell", "G", "vortex_centre"] {
        assert!(number(&found["result"][key]).is_finite(), "{key}");
    }
    for file in ["fields.vti", "vertical.csv", "history.csv", "density.npy"] {
        assert!(at.join("cavity").join(file).exists(), "{file}");
    }
    let again = run(at, "cavity --config cavity/run.json");
    assert_eq!(found["result"], again["result"]);
    let few: Vec<&str> = small.split(' ').chain(["--steps", "2", "--json"]).collect();
    let output = rarefy(at, &few).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(object(&output)["status"], "unfinished");
}

/// Limits of the grids of a shock wave are those of the flags; by default cells are enough for a thickness, and velocities as many as there may be.
#[test]
fn grids_of_shock_waves_have_limits() {
    let folder = folder();
    let at = folder.path();
    let shock = "shock --collision boltzmann --steady --backend cpu";
    for (more, why) in [
        (
            "--cells 6",
            "--cells: 6; expected 7 cells or more, which the thickness needs",
        ),
        (
            "--cells 100000000",
            "--cells: 100000000; expected 1 to 16777216 cells",
        ),
        (
            "--velocities 65",
            "--velocities: 65; expected 3 to 64 cells",
        ),
        ("--mach 100", "--velocities: nodes 5.5"),
        ("--vmax 1e300", "velocity box"),
        (
            "--until-residual 1",
            "--until-residual: 1; expected a residual",
        ),
    ] {
        let line = format!("{shock} {more}");
        refused(at, &line.split(' ').collect::<Vec<_>>(), why);
    }
    let short = run(
        at,
        &format!("{shock} --mach 1.5 --length 1 --velocities 10 --sphere 5"),
    );
    assert_eq!(short["parameters"]["cells"], 7);
    assert!(number(&short["result"]["thickness"]).is_finite());
}

/// Fluxes that fall by 1e-7 of themselves in an iteration end none of 60 cells a million mean free paths wide.
#[test]
fn an_iteration_that_creeps_has_stalled() {
    let folder = folder();
    let line = "shock --collision boltzmann --steady --mach 1.5 --length 1e7 --cells 60 --velocities 10 --steps 200 --backend cpu --json";
    let words: Vec<&str> = line.split(' ').collect();
    let output = rarefy(folder.path(), &words).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(object(&output)["status"], "stalled");
}

/// The steady shock wave by the collision integral has the files and results of the others; `--config` repeats it, a list of Mach numbers makes a sweep, and a checkpoint goes on.
#[test]
fn steady_shock_waves_by_the_collision_integral() {
    let folder = folder();
    let at = folder.path();
    let small = "shock --steady --collision boltzmann --mach 1.5 --cells 20 --length 18 --upstream 9 --velocities 10 --sphere 5 --backend cpu";
    let found = run(at, &format!("{small} --out shock"));
    assert_eq!(found["status"], "converged");
    assert_eq!(found["parameters"]["steady"], true);
    assert_eq!(found["parameters"]["until-residual"], 1e-6);
    assert_eq!(found["method"]["taken"], "spectral");
    assert!(number(&found["steady"]["iterations"]) <= 25.0);
    assert!(number(&found["boltzmann"]["mott_smith_thickness"]) > 5.0);
    for key in ["thickness", "least_heat_flux", "largest_temperature"] {
        assert!(number(&found["result"][key]).is_finite(), "{key}");
    }
    for flux in ["mass", "momentum", "energy"] {
        assert!(number(&found["conservation"]["flux_spread"][flux]) < 1e-6);
    }
    let warnings = found["warnings"].to_string();
    for part in ["cells of 0.900 l0 are wide", "is coarse"] {
        assert!(warnings.contains(part), "{warnings}");
    }
    for file in ["profile.csv", "profile.png", "history.csv", "report.html"] {
        assert!(at.join("shock").join(file).exists(), "{file}");
    }
    let again = run(at, "shock --config shock/run.json");
    assert_eq!(found["result"], again["result"]);

    let saving = format!("{small} --steps 4 --checkpoint-every 3 --out few --json --quiet");
    let words: Vec<&str> = saving.split(' ').collect();
    let output = rarefy(at, &words).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(object(&output)["status"], "unfinished");
    // The checkpoint is that of the end.
    let line = "shock --resume few/checkpoint.rarefy --steps 1 --backend cpu --json";
    let words: Vec<&str> = line.split(' ').collect();
    let output = rarefy(at, &words).output().unwrap();
    assert_eq!(object(&output)["steady"]["iterations"], 4);
    let resumed = run(
        at,
        "shock --resume few/checkpoint.rarefy --steps 100 --backend cpu",
    );
    assert_eq!(resumed["result"], found["result"]);

    let sweep = run(at, &small.replace("--mach 1.5", "--mach 1.4,1.6"));
    let cases = sweep["result"]["cases"].as_array().unwrap();
    let thickness = |k: usize| number(&cases[k]["thickness"]);
    assert!(thickness(0) > number(&found["result"]["thickness"]));
    assert!(number(&found["result"]["thickness"]) > thickness(1));

    for (flags, why) in [
        ("--dt 0.1", "cannot be used with"),
        ("--save-every 2", "cannot be used with"),
        ("--reduced", "leave it out"),
    ] {
        let line = format!("{small} {flags}");
        let words: Vec<&str> = line.split(' ').collect();
        refused(at, &words, why);
    }
}

/// Advice on velocities that are too few for a cold plate is a value that the option takes.
#[test]
fn advice_on_velocities_stays_within_their_limit() {
    let folder = folder();
    for (difference, advice) in [
        ("1.9 --velocities 28", "64 nodes give 0.8 sqrt(T)"),
        ("1.99", "the limit of 64 nodes is too few in this box"),
    ] {
        let line = format!(
            "fourier --collision boltzmann --delta 1 --temperature-difference {difference} --backend cpu"
        );
        let words: Vec<&str> = line.split_whitespace().collect();
        refused(folder.path(), &words, advice);
    }
}
