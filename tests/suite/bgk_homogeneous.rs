//! Homogeneous relaxation by the models: exact solutions on all machines, and the command.

use rarefy::bgk::{Checkpoint, Gas, Homogeneous, HomogeneousStart, Model, Simulation, Species};
use rarefy::{Backend, Compute, Precision};
use serde_json::Value;

use crate::bgk_rotation::gas;
use crate::command::{done, folder, number, printed, rarefy, refused, text};

/// The time Z in which rotation relaxes.
const Z: f64 = 2.667;

/// Matrix A of the gas of the specification's tables, and its eigenvalues.
const MATRIX: [[f64; 2]; 2] = [[0.7916510, -0.1874766], [-0.0749906, 0.9061367]];

const MACHINES: [Backend; 3] = [Backend::Cpu, Backend::Reference, Backend::Emulator];

/// Rates that do not depend on the temperature.
fn maxwell(gas: Gas) -> Gas {
    Gas { omega: 1.0, ..gas }
}

/// The temperatures 2 of translation and 1/2 of rotation.
const APART: HomogeneousStart = HomogeneousStart::Temperatures {
    translational: 2.0,
    rotational: 0.5,
};

/// Unequal beams, from which heat flows.
fn beams() -> HomogeneousStart {
    HomogeneousStart::Beams {
        speed: 1.2,
        share: 0.3,
    }
}

/// The numbers of a run now: T, T_t, T_r, P_xx, q and q_r.
fn now(run: &mut Simulation) -> [f64; 6] {
    let found = Homogeneous::moments(run).unwrap();
    let rotation = found.rotation.unwrap_or_default();
    [
        found.moments.temperature,
        found.translational(),
        rotation.temperature_rotational,
        found.moments.pressure[0],
        found.moments.heat_flux[0],
        rotation.heat_flux_rotational[0],
    ]
}

#[test]
fn temperatures_follow_landau_and_teller() {
    for backend in MACHINES {
        let case = Homogeneous::new(maxwell(gas(Z)), APART).unwrap();
        for steps in [1_u32, 4, 30] {
            let mut run = case.begin(3.0 / f64::from(steps), backend).unwrap();
            let before = now(&mut run);
            assert!((before[1] - 2.0).abs() < 1e-12 && (before[2] - 0.5).abs() < 1e-12);
            run.advance(u64::from(steps)).unwrap();
            let [t, own, other, pxx, q, _] = now(&mut run);
            let left = (-3.0 / Z).exp();
            assert!((own - (1.4 + 0.6 * left)).abs() < 1e-12, "{backend}: {own}");
            assert!(
                (other - (1.4 - 0.9 * left)).abs() < 1e-12,
                "{backend}: {other}"
            );
            assert!((own - 1.594819).abs() < 1e-6 && (other - 1.107772).abs() < 1e-6);
            assert!((t - 1.4).abs() < 1e-12, "{backend}: {t}");
            assert!(
                (pxx - 0.5 * own).abs() < 1e-12 && q.abs() < 1e-12,
                "{pxx} {q}"
            );
        }
    }
}

/// Stresses decay at the rate 1, both heat fluxes by the matrix A.
#[test]
fn beams_relax_at_the_rates_of_the_model() {
    let [[tt, tr], [rt, rr]] = MATRIX;
    let (mean, apart) = (
        0.5 * (tt + rr),
        (0.25 * (tt - rr) * (tt - rr) + tr * rt).sqrt(),
    );
    for backend in MACHINES {
        let case = Homogeneous::new(maxwell(gas(Z)), beams()).unwrap();
        let mut run = case.begin(0.4, backend).unwrap();
        let first = now(&mut run);
        // The second beam has the velocity -1.2 * 3/7.
        let (a, b) = (1.2_f64, -1.2_f64 * 3.0 / 7.0);
        let variance = 0.3 * a * a + 0.7 * b * b;
        let heat = 0.5 * (0.3 * a.powi(3) + 0.7 * b.powi(3));
        assert!(
            (first[1] - (1.0 + variance / 1.5)).abs() < 1e-12,
            "{first:?}"
        );
        assert!((first[3] - (0.5 + variance)).abs() < 1e-11, "{first:?}");
        assert!(
            (first[4] - heat).abs() < 1e-11 && first[5].abs() < 1e-11,
            "{first:?}"
        );
        let mut samples = Vec::new();
        for _ in 0..6 {
            let time = run.time();
            let [_, own, other, pxx, q, q_r] = now(&mut run);
            let stress = (pxx - 0.5 * own) / (first[3] - 0.5 * first[1]);
            assert!(
                (stress - (-time).exp()).abs() < 1e-11,
                "{backend}: {stress}"
            );
            let left = (own - other) / (first[1] - first[2]);
            assert!(
                (left - (-time / Z).exp()).abs() < 1e-11,
                "{backend}: {left}"
            );
            samples.push([q - q_r, q_r]);
            run.advance(1).unwrap();
        }
        // Along the left eigenvectors of A each flux decays at one eigenvalue.
        for eigenvalue in [mean - apart, mean + apart] {
            let along = |[q_t, q_r]: [f64; 2]| rt * q_t + (eigenvalue - tt) * q_r;
            for (k, sample) in samples.iter().enumerate() {
                let expected = along(samples[0]) * (-0.4 * k as f64 * eigenvalue).exp();
                let found = along(*sample);
                // The matrix has seven digits.
                assert!(
                    (found - expected).abs() < 1e-6 * heat,
                    "{backend}: {found} {expected}"
                );
            }
        }
    }
}

/// Of single atoms every step is exact, whatever the exponent of the viscosity.
#[test]
fn single_atoms_keep_their_temperature() {
    for (model, prandtl) in [(Model::Bgk, 1.0), (Model::Shakhov, 2.0 / 3.0)] {
        let gas = Gas {
            model,
            ..Gas::default()
        };
        for backend in MACHINES {
            let case = Homogeneous::new(gas, beams()).unwrap();
            let mut run = case.begin(0.7, backend).unwrap();
            let first = now(&mut run);
            run.advance(3).unwrap();
            let last = now(&mut run);
            let tau = 2.1 * first[0].powf(0.26);
            assert!((last[0] - first[0]).abs() < 1e-13, "{last:?}");
            let stress = (last[3] - 0.5 * last[0]) / (first[3] - 0.5 * first[0]);
            assert!((stress - (-tau).exp()).abs() < 1e-11, "{stress}");
            let heat = last[4] / first[4];
            assert!((heat - (-prandtl * tau).exp()).abs() < 1e-11, "{heat}");
            let mut exact = case.exact();
            let exact = exact.at(2.1).moments;
            assert!((exact.pressure[0] - last[3]).abs() < 1e-11);
            assert!((exact.heat_flux[0] - last[4]).abs() < 1e-11);
        }
    }
    assert!(Homogeneous::new(Gas::default(), APART).is_err());
}

/// The exact moments of a gas whose rates depend on the temperature are the limit of short steps.
#[test]
fn steps_approach_the_exact_moments() {
    let nitrogen = Gas {
        rotation: Species::Nitrogen.rotation(),
        ..gas(Z)
    };
    for (gas, order) in [(gas(Z), 2), (nitrogen, 1)] {
        let case = Homogeneous::new(gas, APART).unwrap();
        let exact = case.exact().at(2.0);
        let errors = [10_u32, 20, 40].map(|steps| {
            let mut run = case.begin(2.0 / f64::from(steps), Backend::Cpu).unwrap();
            run.advance(u64::from(steps)).unwrap();
            (now(&mut run)[1] - exact.translational()).abs()
        });
        let least = 2_f64.powi(order);
        for pair in errors.windows(2) {
            let ratio = pair[0] / pair[1];
            assert!(
                (0.9 * least..1.1 * least).contains(&ratio),
                "{order}: {errors:?}"
            );
        }
    }
    // Of rates that are the same at all temperatures they have closed forms.
    let case = Homogeneous::new(maxwell(gas(Z)), APART).unwrap();
    let mut exact = case.exact();
    for time in [0.5, 3.0, 20.0] {
        let own = exact.at(time).translational();
        assert!(
            (own - (1.4 + 0.6 * (-time / Z).exp())).abs() < 1e-12,
            "{own}"
        );
    }
}

#[test]
fn single_precision_keeps_the_energy_to_its_roundoff() {
    for backend in [Backend::Cpu, Backend::Emulator] {
        let compute = Compute::new(backend).with_precision(Precision::F32);
        let case = Homogeneous::new(gas(Z), APART).unwrap();
        let mut run = case.begin(0.1, compute).unwrap();
        run.advance(30).unwrap();
        let [t, ..] = now(&mut run);
        assert!((t / 1.4 - 1.0).abs() < 3e-6, "{backend}: {t}");
    }
}

/// Rotation that has lost more energy than it had is no state, on kernels too, which go on with it.
#[test]
fn a_temperature_of_rotation_below_zero_is_reported() {
    let case = Homogeneous::new(gas(Z), APART).unwrap();
    for backend in MACHINES {
        let mut start: Checkpoint = case.begin(1e-3, backend).unwrap().checkpoint().unwrap();
        start.extra.clear();
        // The last of three functions of a node is the internal energy.
        for (place, f) in start.populations.iter_mut().enumerate() {
            *f *= if place / 3 % 3 == 2 { -1.0 } else { 1.0 };
        }
        let mut run = Simulation::resume(start).unwrap();
        let ended = run.advance(1).and_then(|()| run.residual().map(|_| ()));
        let error = ended.unwrap_err().to_string();
        let why = match backend {
            Backend::Emulator => "a density or temperature is not positive",
            _ => "a temperature of rotation of",
        };
        assert!(error.contains(why), "{backend}: {error}");
    }
}

/// A column of the table of a run.
fn column(dir: &std::path::Path, name: &str) -> Vec<f64> {
    let table = std::fs::read_to_string(dir.join("history.csv")).unwrap();
    let mut lines = table.lines();
    let place = lines
        .next()
        .unwrap()
        .split(',')
        .position(|head| head == name);
    let place = place.unwrap_or_else(|| panic!("no column {name}"));
    let of = |line: &str| line.split(',').nth(place).unwrap().parse().unwrap();
    lines.map(of).collect()
}

#[test]
fn the_command_has_the_numbers_of_landau_and_teller() {
    let dir = folder();
    let line = "relax --model polyatomic --molecules maxwell --z-rot 5.659549917 --init temperatures:2,0.5 --until 3 --quiet --out run";
    for backend in ["cpu", "reference", "emulator"] {
        let line = format!("{line}-{backend} --backend {backend}");
        done(dir.path(), &line.split_whitespace().collect::<Vec<_>>());
        let run = dir.path().join(format!("run-{backend}"));
        let own = column(&run, "temperature_translational");
        let other = column(&run, "temperature_rotational");
        let whole = column(&run, "temperature");
        assert!((own[0] - 2.0).abs() < 1e-12 && (other[0] - 0.5).abs() < 1e-12);
        assert!((own[own.len() - 1] - 1.594819).abs() < 1e-6);
        assert!((other[other.len() - 1] - 1.107772).abs() < 1e-6);
        assert!(whole.iter().all(|t| (t - 1.4).abs() < 1e-12));
        let exact = column(&run, "temperature_translational_exact");
        assert!(own.iter().zip(&exact).all(|(a, b)| (a - b).abs() < 1e-11));
        let record = std::fs::read_to_string(run.join("run.json")).unwrap();
        let record: Value = serde_json::from_str(&record).unwrap();
        let result = &record["result"];
        assert!((number(&result["final"]["temperature_rotational"]) - 1.107772).abs() < 1e-6);
        let error = &result["discretisation_error"]["temperature_rotational"]["exact"];
        assert!(number(error) < 1e-11);
        assert!(number(&record["conservation"]["drift"]["energy"]) < 1e-13);
        assert!(run.join("moments.svg").exists() && run.join("report.html").exists());
    }
}

#[test]
fn beams_relax_to_the_same_end_by_the_models_and_the_integral() {
    let dir = folder();
    let by = |flags: &str| printed(dir.path(), &format!("relax --backend cpu {flags}"));
    let integral = by("--grid 12 --no-verify");
    for model in ["bgk", "shakhov"] {
        let record = by(&format!("--model {model}"));
        let of = |record: &Value, state: &str| {
            let moments = &record["result"][state];
            [
                number(&moments["temperature"]),
                number(&moments["pressure"][0]),
            ]
        };
        let first = of(&record, "initial");
        assert!((first[0] - 1.75).abs() < 1e-12 && (first[1] - 3.25).abs() < 1e-9);
        // The integral's grid has the start to 1e-3.
        let known = of(&integral, "initial");
        assert!((first[0] - known[0]).abs() < 1e-3 && (first[1] - known[1]).abs() < 2e-3);
        let last = of(&record, "final");
        assert!((last[0] - 1.75).abs() < 1e-12 && (last[1] - 1.75).abs() < 2e-3);
        assert!(
            record["result"]["final"]
                .get("temperature_rotational")
                .is_none()
        );
        assert!(number(&record["result"]["discretisation_error"]["pressure_xx"]["total"]) < 1e-11);
    }
    // A relaxation ends where its largest departure is a thousandth of the first.
    let record = by("--model polyatomic --until equilibrium:0.01");
    let last = &record["result"]["final"];
    let apart = number(&last["temperature_translational"]) / number(&last["temperature"]) - 1.0;
    let pressures = &record["result"]["initial"]["pressure"];
    let whole = number(&record["result"]["initial"]["temperature"]);
    let stress = (number(&pressures[0]) - number(&pressures[1])) / 1.5 / whole;
    assert!(
        apart < 0.01 * stress && apart > 0.0099 * stress,
        "{apart} {stress}"
    );
}

#[test]
fn a_gas_in_si_units_has_columns_in_them() {
    let dir = folder();
    let line = "relax --gas nitrogen --pressure 100 --temperature 300 --init temperatures:2,0.5 --until 10 --backend cpu --quiet --out run";
    done(dir.path(), &line.split_whitespace().collect::<Vec<_>>());
    let run = dir.path().join("run");
    let seconds = column(&run, "time_s");
    let times = column(&run, "time");
    // The viscosity of nitrogen at 300 K over 100 Pa.
    let unit = 1.656e-5 * (300.0_f64 / 273.0).powf(0.74) / 100.0;
    let last = times.len() - 1;
    assert!((seconds[last] / times[last] / unit - 1.0).abs() < 1e-12);
    let kelvin = column(&run, "temperature_translational_k");
    assert!((kelvin[0] - 600.0).abs() < 1e-9 && (kelvin[last] - 420.0).abs() < 15.0);
    let pascal = column(&run, "pxx_pa");
    assert!((pascal[0] - 200.0).abs() < 1e-8, "{}", pascal[0]);
    let record: Value =
        serde_json::from_str(&std::fs::read_to_string(run.join("run.json")).unwrap()).unwrap();
    assert!((number(&record["units"]["temperature_k"]) - 300.0).abs() < 1e-12);
    let error = &record["result"]["discretisation_error"]["temperature_translational"]["total"];
    assert!(number(error) < 2e-4 && number(error) > 0.0);
    // Translation at 900 K.
    let line = "relax --gas nitrogen --pressure 100 --temperature 300 --init temperatures:3,1 --until 1 --backend cpu";
    assert!(
        printed(dir.path(), line)["warnings"]
            .to_string()
            .contains("vibrate")
    );
}

#[test]
fn runs_go_on_and_are_repeated_to_the_same_bits() {
    let dir = folder();
    let line = "relax --model polyatomic --init two-maxwellians:1.5,0.3 --backend cpu --quiet";
    let run = |more: &str| {
        let line = format!("{line} {more}");
        done(dir.path(), &line.split_whitespace().collect::<Vec<_>>());
    };
    let table = |name: &str| std::fs::read(dir.path().join(name).join("history.csv")).unwrap();
    run("--steps 40 --out whole");
    run("--steps 15 --checkpoint-every 10 --out parts");
    let go_on = "relax --resume parts/checkpoint.rarefy --steps 40 --quiet --out rest";
    done(dir.path(), &go_on.split_whitespace().collect::<Vec<_>>());
    assert!(table("rest") == table("whole"));
    let again = "relax --config whole/run.json --quiet --out again";
    done(dir.path(), &again.split_whitespace().collect::<Vec<_>>());
    assert!(table("again") == table("whole"));
    for (flags, why) in [
        ("--prandtl 0.7 --steps 60", "--prandtl: 0.7; expected 0.72"),
        ("--steps 10", "the checkpoint is at step 15"),
        (
            "--order 2 --steps 60",
            "--order: given for a relaxation model",
        ),
    ] {
        let line = format!("relax --resume parts/checkpoint.rarefy {flags}");
        refused(
            dir.path(),
            &line.split_whitespace().collect::<Vec<_>>(),
            why,
        );
    }
    // Checkpoints of both kinds are known apart.
    let integral = "relax --grid 6 --steps 2 --checkpoint-every 1 --no-verify --backend cpu --quiet --out integral";
    done(dir.path(), &integral.split_whitespace().collect::<Vec<_>>());
    let line = "relax --resume integral/checkpoint.rarefy --model bgk --steps 3";
    let why = "--model: bgk; expected none: the checkpoint is of the collision integral";
    refused(
        dir.path(),
        &line.split_whitespace().collect::<Vec<_>>(),
        why,
    );
}

#[test]
fn flags_of_the_other_kind_are_refused() {
    let dir = folder();
    for (flags, why) in [
        (
            "--model bgk --order 2",
            "--order: given for a relaxation model; expected the collision integral",
        ),
        (
            "--model bgk --sigma-t 2",
            "--sigma-t: given for a relaxation model",
        ),
        (
            "--model bgk --no-correction",
            "--no-correction: given for a relaxation model",
        ),
        (
            "--model bgk --integrator euler",
            "--integrator: given for a relaxation model",
        ),
        (
            "--model bgk --limiter",
            "--limiter: given for a relaxation model",
        ),
        (
            "--model bgk --accuracy 1e-3",
            "--accuracy: given for a relaxation model; expected --dt",
        ),
        (
            "--model bgk --init bkw:0.6",
            "--init: bkw:0.6; expected two-maxwellians[:U[,SHARE]]",
        ),
        (
            "--model bgk --prandtl 0.7",
            "--prandtl: 0.7; expected --model shakhov",
        ),
        ("--model bgk --z-rot 5", "--z-rot: a model without rotation"),
        (
            "--model bgk --init temperatures:2,1",
            "temperatures 2 and 1 of single atoms",
        ),
        (
            "--model bgk --devices 2",
            "--devices: a homogeneous gas takes one machine",
        ),
        (
            "--model bgk --gas nitrogen --pressure 1 --temperature 300",
            "a model of single atoms for nitrogen",
        ),
        (
            "--model polyatomic --gas nitrogen",
            "--pressure and --temperature are missing",
        ),
        (
            "--model polyatomic --vmax 2",
            "--grid, --vmax: 30 velocities in [-2, 2]; expected about 30 in [-",
        ),
        (
            "--model polyatomic --init temperatures:-2,1",
            "two positive temperatures",
        ),
        (
            "--model polyatomic --init two-maxwellians:1,1",
            "a share above 0 and below 1",
        ),
        (
            "--model bgk --dt 1e-6",
            "--until: equilibrium:0.001; expected an end at most",
        ),
        (
            "--gas argon --pressure 1 --temperature 300",
            "--gas: given for the collision integral; expected --model",
        ),
        (
            "--prandtl 0.7",
            "--prandtl: given for the collision integral",
        ),
        ("--z-rot 5", "--z-rot: given for the collision integral"),
        (
            "--init temperatures:2,1",
            "--init: temperatures:2,1; expected --model",
        ),
        (
            "--init two-maxwellians:1,0.3",
            "--init: two-maxwellians:1,0.3; expected --model",
        ),
    ] {
        let line = format!("relax --backend cpu {flags}");
        refused(
            dir.path(),
            &line.split_whitespace().collect::<Vec<_>>(),
            why,
        );
    }
    let help = rarefy(dir.path(), &["relax", "--help"]).output().unwrap();
    assert!(text(&help.stdout).contains("Relaxation models:"));
}
