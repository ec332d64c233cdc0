//! `rarefy isotropic` and `rarefy market` as their users meet them.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::command::{
    data, done, doubles, folder, interrupted, listing, npy, object, refused, text,
};

fn write_vector(folder: &Path, name: &str, values: &[f64]) {
    let shape = format!("({},)", values.len());
    fs::write(
        folder.join(name),
        npy("<f8", false, &shape, doubles(values)),
    )
    .unwrap();
}

fn cases(name: &str) -> Value {
    let all = [
        ("rates", include_str!("../data/isotropic/rates.json")),
        ("evolve", include_str!("../data/isotropic/evolve.json")),
        ("voucher", include_str!("../data/isotropic/voucher.json")),
    ];
    let (_, text) = all.into_iter().find(|(n, _)| *n == name).unwrap();
    serde_json::from_str(text).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    let list = value.as_array().unwrap().iter();
    list.map(|v| v.as_f64().unwrap()).collect()
}

fn assert_close(found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    let largest = expected.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
    for (a, b) in found.iter().zip(expected) {
        assert!((a - b).abs() <= tolerance * largest, "{a} instead of {b}");
    }
}

#[test]
fn rates_are_written_as_arrays() {
    let dir = folder();
    for case in cases("rates").as_array().unwrap() {
        write_vector(dir.path(), "f.npy", &numbers(&case["f"]));
        let (emax, theta) = (case["Emax"].to_string(), case["theta"].to_string());
        let mut arguments = vec![
            "isotropic",
            "--rates-only",
            "--init",
            "f.npy",
            "--emax",
            &emax,
            "--theta",
            &theta,
            "--backend",
            "cpu",
            "--out",
            "rates",
            "--quiet",
            "--overwrite",
        ];
        done(dir.path(), &arguments);
        let read = |name: &str| data(&dir.path().join("rates").join(name));
        assert_close(&read("gain.npy"), &numbers(&case["N"]), 1e-13);
        assert_close(&read("frequency.npy"), &numbers(&case["nu"]), 1e-13);
        let (gain, nu, f) = (read("gain.npy"), read("frequency.npy"), numbers(&case["f"]));
        for (i, rate) in read("rate.npy").iter().enumerate() {
            assert!((rate - (gain[i] - nu[i] * f[i])).abs() < 1e-15);
        }
        arguments.push("--no-correction");
        done(dir.path(), &arguments);
        assert_close(&read("gain.npy"), &numbers(&case["N_uncorrected"]), 1e-13);
        assert_close(
            &read("frequency.npy"),
            &numbers(&case["nu_uncorrected"]),
            1e-13,
        );
    }
}

#[test]
fn a_run_writes_the_last_state_and_the_moments() {
    let dir = folder();
    let all = cases("evolve");
    let case = &all[0];
    write_vector(dir.path(), "f0.npy", &numbers(&case["f0"]));
    let arguments = [
        "isotropic",
        "--init",
        "f0.npy",
        "--cells",
        "64",
        "--emax",
        "16",
        "--theta",
        "0",
        "--integrator",
        "euler",
        "--dt",
        "0.1",
        "--steps",
        "50",
        "--backend",
        "cpu",
        "--out",
        "run",
    ];
    let output = done(dir.path(), &arguments);
    assert!(text(&output.stdout).starts_with("Relaxation from f0.npy on 64 cells"));
    let run = dir.path().join("run");
    assert_close(&data(&run.join("f_final.npy")), &numbers(&case["f"]), 1e-11);
    let table = fs::read_to_string(run.join("moments.csv")).unwrap();
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines[0], "t,n,e,m2,m3,H");
    assert_eq!(lines.len(), 52);
    let last: Vec<f64> = lines[51].split(',').map(|v| v.parse().unwrap()).collect();
    let moments = &case["moments"];
    for (value, key) in last[1..].iter().zip(["n", "e", "m2", "m3", "H"]) {
        let expected = moments[key].as_f64().unwrap();
        assert!((value / expected - 1.0).abs() < 1e-12, "{key}: {value}");
    }
    for name in [
        "distribution.png",
        "moments.png",
        "distribution.csv",
        "f_initial.npy",
        "run.json",
    ] {
        assert!(run.join(name).is_file(), "{name}");
    }
    // The report runs it again, to the same bits.
    let object: Value = serde_json::from_slice(&fs::read(run.join("run.json")).unwrap()).unwrap();
    assert!(object["conservation"]["number"].as_f64().unwrap() < 1e-13);
    done(
        dir.path(),
        &[
            "isotropic",
            "--config",
            "run/run.json",
            "--out",
            "again",
            "--quiet",
        ],
    );
    let bytes = |folder: &str| fs::read(dir.path().join(folder).join("f_final.npy")).unwrap();
    assert_eq!(bytes("run"), bytes("again"));
}

#[test]
fn json_is_alone_and_all_backends_agree() {
    let dir = folder();
    let mut found = Vec::new();
    for backend in ["reference", "cpu", "emulator"] {
        for storage in ["pairs", "compact", "full"] {
            let output = done(
                dir.path(),
                &[
                    "isotropic",
                    "--cells",
                    "24",
                    "--emax",
                    "12",
                    "--theta",
                    "1",
                    "--init",
                    "two-temperature:0.5,1.5",
                    "--steps",
                    "3",
                    "--backend",
                    backend,
                    "--storage",
                    storage,
                    "--json",
                    "--quiet",
                ],
            );
            let object = object(&output);
            found.push(object["result"]["final"]["entropy"].as_f64().unwrap());
        }
    }
    for value in &found {
        assert!((value / found[0] - 1.0).abs() < 1e-12, "{found:?}");
    }
}

#[test]
fn the_exact_solution_and_the_spectrum_are_reported() {
    let dir = folder();
    let output = done(
        dir.path(),
        &[
            "isotropic",
            "--cells",
            "120",
            "--emax",
            "30",
            "--init",
            "bkw:0.6",
            "--until",
            "6",
            "--dt",
            "0.2",
            "--integrator",
            "rk4",
            "--spectrum",
            "2",
            "--backend",
            "cpu",
            "--json",
        ],
    );
    let result = &object(&output)["result"];
    let error = result["exact_l1_error"].as_f64().unwrap();
    assert!((error / 7.6457e-3 - 1.0).abs() < 1e-4, "{error}");
    let rates = numbers(&result["decay_rates"]);
    assert_eq!(rates.len(), 4);
    assert!((rates[2] - 4.0 / 15.0).abs() < 3e-3, "{rates:?}");
}

#[test]
fn what_cannot_be_computed_is_refused() {
    let dir = folder();
    write_vector(dir.path(), "good.npy", &[0.1, 0.2, 0.1, 0.05]);
    write_vector(dir.path(), "negative.npy", &[0.1, -0.2, 0.1, 0.05]);
    write_vector(dir.path(), "nan.npy", &[0.1, f64::NAN, 0.1, 0.05]);
    write_vector(dir.path(), "zero.npy", &[0.0; 4]);
    let cube = npy("<f8", false, "(2, 2, 2)", doubles(&[1.0; 8]));
    fs::write(dir.path().join("cube.npy"), cube).unwrap();
    let with = |more: &[&'static str], why: &str| {
        refused(
            dir.path(),
            &[&["isotropic", "--backend", "cpu"], more].concat(),
            why,
        );
    };
    for option in ["--dt", "--steps", "--until", "--every", "--spectrum"] {
        let why = format!("{option} has no effect with --rates-only");
        with(&["--rates-only", option, "1"], &why);
    }
    with(
        &["--rates-only", "--integrator", "euler"],
        "--integrator has no effect with --rates-only",
    );
    with(
        &["--molecules", "hard-sphere", "--storage", "full"],
        "--storage has no effect with --molecules",
    );
    with(&["--cells", "0"], "a whole number from 2 to 16384");
    with(&["--cells", "-3"], "a whole number from 2 to 16384");
    with(&["--emax", "0"], "a positive finite number");
    with(&["--emax", "-1"], "a positive finite number");
    with(&["--emax", "nan"], "a positive finite number");
    with(
        &["--theta", "-0.5"],
        "--theta: -0.5; expected a finite exponent of at least 0",
    );
    with(
        &["--theta", "200"],
        "--theta: 200; expected an exponent up to ",
    );
    with(&["--theta", "nan"], "a finite number");
    with(&["--init", "bkw:0.5"], "0.6 <= K0 < 1");
    with(&["--init", "delta:-1"], "positive finite energy");
    with(&["--init", "delta:99"], "below E_max");
    with(
        &["--init", "two-temperature:1"],
        "two positive finite temperatures",
    );
    with(&["--init", "nonsense"], "two-temperature");
    with(&["--init", "good.npy"], "give the largest with --emax");
    with(
        &["--init", "good.npy", "--emax", "4", "--cells", "8"],
        "has the shape (4,); (8,) is needed",
    );
    with(&["--init", "negative.npy", "--emax", "4"], "negative");
    with(
        &[
            "--init",
            "negative.npy",
            "--emax",
            "4",
            "--rates-only",
            "--out",
            "new",
        ],
        "negative",
    );
    with(&["--init", "nan.npy", "--emax", "4"], "non-finite");
    with(&["--init", "zero.npy", "--emax", "4"], "zero everywhere");
    with(
        &["--init", "cube.npy", "--emax", "4"],
        "has the shape (2, 2, 2)",
    );
    with(&["--init", "missing.npy", "--emax", "4"], "missing.npy");
    with(
        &["--dt", "5"],
        "beyond positivity: this distribution allows at most",
    );
    with(&["--dt", "0"], "a positive finite number");
    with(
        &["--until", "1", "--dt", "1e-300"],
        "at most 1e12 steps away",
    );
    with(
        &["--molecules", "maxwell", "--no-correction"],
        "--no-correction",
    );
    with(&["--steps", "5", "--until", "2"], "cannot be used with");
}

#[test]
fn the_voucher_market_runs_on_the_clock_of_its_turnover() {
    let dir = folder();
    let arguments = [
        "market",
        "--scenario",
        "voucher",
        "--cells",
        "256",
        "--days",
        "100,250",
        "--backend",
        "cpu",
        "--out",
        "out",
    ];
    done(dir.path(), &arguments);
    let out = dir.path().join("out");
    let object: Value = serde_json::from_slice(&fs::read(out.join("run.json")).unwrap()).unwrap();
    let table = fs::read_to_string(out.join("distribution.csv")).unwrap();
    let table: Vec<Vec<f64>> = (table.lines().skip(1))
        .map(|line| line.split(',').map(|x| x.parse().unwrap()).collect())
        .collect();
    let rows = object["result"]["rows"].as_array().unwrap();
    let reference = cases("voucher");
    for (row, expected) in rows[1..].iter().zip(reference["rows"].as_array().unwrap()) {
        let value = |of: &Value, key: &str| of[key].as_f64().unwrap();
        // Half of the mean lies at three quarters of the cell from 7 to 8 / 15.5, whose centre is below it.
        let day = value(row, "day");
        let cell = |line: &&Vec<f64>| line[0] == day && (line[1] - 7.5 / 15.5).abs() < 1e-9;
        let density = table.iter().find(cell).unwrap()[3];
        let below = value(expected, "P_below_0p5") - 0.25 * density / 15.5;
        for (name, expected, tolerance) in [
            ("day", value(expected, "day"), 1e-12),
            ("t", value(expected, "t"), 1e-6),
            ("m2", value(expected, "m2"), 1e-6),
            ("p_below_half", below, 1e-6),
            ("volume_rate", value(expected, "vol_rate"), 1e-6),
        ] {
            let found = value(row, name);
            assert!(
                (found / expected - 1.0).abs() < tolerance,
                "{name}: {found} instead of {expected}"
            );
        }
    }
    assert!((object["grid"]["emax"].as_f64().unwrap() - 256.0 / 15.5).abs() < 1e-12);
}

#[test]
fn a_histogram_of_incomes_relaxes() {
    let dir = folder();
    fs::write(
        dir.path().join("income.csv"),
        include_str!("../data/isotropic/income_standin.csv"),
    )
    .unwrap();
    let arguments = [
        "market",
        "--input",
        "income.csv",
        "--mode",
        "money",
        "--cells",
        "160",
        "--times",
        "1,30",
        "--dt",
        "0.1",
        "--backend",
        "cpu",
        "--out",
        "out",
    ];
    let output = done(dir.path(), &arguments);
    assert!(text(&output.stdout).contains("mean 0.86"));
    let out = dir.path().join("out");
    let object: Value = serde_json::from_slice(&fs::read(out.join("run.json")).unwrap()).unwrap();
    let rows = object["result"]["rows"].as_array().unwrap();
    let gini = |k: usize| rows[k]["gini"].as_f64().unwrap();
    assert!((gini(0) - 0.361).abs() < 2e-3, "{}", gini(0));
    assert!((gini(2) - 0.5).abs() < 2e-3, "{}", gini(2));
    assert!(
        object["result"]["mean_shift_of_cell_centres"]
            .as_f64()
            .unwrap()
            .abs()
            < 1e-3
    );
    let header = |name: &str| {
        let text = fs::read_to_string(out.join(name)).unwrap();
        text.lines().next().unwrap().to_owned()
    };
    assert_eq!(header("distribution.csv"), "t,E,f,P");
    assert_eq!(header("lorenz.csv"), "t,agents,wealth");
    assert_eq!(header("inequality.csv"), "t,time,volume,gini");
    let p: f64 = data(&out.join("p_final.npy")).iter().sum();
    assert!((p - 1.0).abs() < 1e-12);
    for name in [
        "distribution_f.png",
        "distribution_P.png",
        "inequality.png",
        "f_final.npy",
    ] {
        assert!(out.join(name).is_file(), "{name}");
    }
}

/// With `saving` the CPU and the kernels give the same market.
#[test]
fn agents_who_save_trade_on_every_machine() {
    let dir = folder();
    let rows = |backend: &str| {
        let arguments = [
            "market",
            "--scenario",
            "voucher",
            "--mode",
            "saving:0.5",
            "--cells",
            "48",
            "--emax",
            "8",
            "--times",
            "0.4,1",
            "--dt",
            "0.2",
            "--backend",
            backend,
            "--json",
        ];
        let object = object(&done(dir.path(), &arguments));
        assert_eq!(object["parameters"]["backend"], backend);
        object["result"]["rows"].as_array().unwrap().clone()
    };
    let (expected, found) = (rows("cpu"), rows("emulator"));
    assert_eq!((expected.len(), found.len()), (3, 3));
    for (a, b) in expected.iter().zip(&found) {
        for name in [
            "t",
            "volume",
            "m2",
            "p_below_half",
            "gini",
            "total_variation",
        ] {
            let (a, b) = (a[name].as_f64().unwrap(), b[name].as_f64().unwrap());
            assert!((a - b).abs() < 1e-12, "{name}: {b} instead of {a}");
        }
    }
}

#[test]
fn markets_that_are_none_are_refused() {
    let dir = folder();
    let histogram = |rows: &str, why: &str| {
        fs::write(dir.path().join("h.csv"), format!("x_lo,x_hi,share\n{rows}")).unwrap();
        refused(
            dir.path(),
            &["market", "--input", "h.csv", "--backend", "cpu"],
            why,
        );
    };
    histogram("0,1,0.5\n1.5,2,0.5\n", "there is a gap between 1 and 1.5");
    histogram("0,1,0.5\n0.5,2,0.5\n", "overlaps the bin before");
    histogram("0,1,0.5\n1,2,-0.5\n", "the share -0.5 is negative");
    histogram("0,1,0\n1,2,0\n", "no mass");
    histogram("", "no bins");
    histogram("0,1,nan\n", "must be finite");
    histogram("-1,1,1\n", "negative");
    histogram("1,1,1\n", "must be above x_lo");
    histogram("0,1,many\n", "line 2: 'many' is not a number");
    histogram("0,1\n", "h.csv");
    histogram(
        "0,1,0.99\n1,100,0\n100,101,0.01\n",
        "expected a larger --emax",
    );
    fs::write(dir.path().join("h.csv"), "a,b,c\n0,1,1\n").unwrap();
    refused(
        dir.path(),
        &["market", "--input", "h.csv"],
        "x_lo,x_hi,share",
    );
    for (arguments, why) in [
        (
            &["market"][..],
            "--scenario voucher or --input FILE is needed",
        ),
        (&["market", "--scenario", "tulips"], "voucher"),
        (
            &["market", "--scenario", "voucher", "--mode", "saving:1"],
            "0 <= LAMBDA < 1",
        ),
        (
            &["market", "--scenario", "voucher", "--mode", "gamma:0"],
            "above 0",
        ),
        (
            &["market", "--scenario", "voucher", "--mode", "barter"],
            "money",
        ),
        (
            &["market", "--scenario", "voucher", "--days", "5,4"],
            "rising",
        ),
        (
            &["market", "--scenario", "voucher", "--dt", "1e-300"],
            "at most 1e7 steps away: t = 20.0005 is 2.0e301 steps of 1e-300 away",
        ),
        (
            &["market", "--scenario", "voucher", "--times", "1,1e300"],
            "at most 1e7 steps away",
        ),
        (
            &["market", "--scenario", "voucher", "--emax", "0.5"],
            "expected wealth 1 within",
        ),
        (
            &[
                "market",
                "--scenario",
                "voucher",
                "--dt",
                "50",
                "--backend",
                "cpu",
            ],
            "beyond positivity",
        ),
    ] {
        refused(dir.path(), arguments, why);
    }
}

#[test]
fn a_resumed_run_ends_on_the_same_bits() {
    let dir = folder();
    let run = |line: &str| -> Value {
        let mut arguments: Vec<&str> = line.split_whitespace().collect();
        arguments.extend(["--json", "--quiet"]);
        object(&done(dir.path(), &arguments))
    };
    let case = "isotropic --cells 48 --theta 1 --init two-temperature:1,3 --every 4 --backend cpu";
    run(&format!(
        "{case} --steps 100 --checkpoint-every 30 --out whole"
    ));
    run(&format!(
        "{case} --steps 32 --checkpoint-every 30 --out half"
    ));
    // The end may be another and be given anew; the rest comes from the file.
    let resumed = run("isotropic --resume half/checkpoint.rarefy --steps 100 --out half --every 4");
    assert_eq!(resumed["result"]["steps"], 100);
    assert_eq!(resumed["parameters"]["init"], "two-temperature:1,3,0.5");
    for file in ["f_final.npy", "f_initial.npy", "moments.csv"] {
        let read = |folder: &str| fs::read(dir.path().join(folder).join(file)).unwrap();
        assert!(read("whole") == read("half"), "{file} differs");
    }
    // A checkpoint that never falls due but at the end.
    let never = u64::MAX.to_string();
    run(&format!(
        "{case} --steps 10 --checkpoint-every {never} --out never"
    ));
    // A run that ended between two records goes on as well, by time too.
    run(&format!(
        "{case} --dt 0.01 --steps 42 --checkpoint-every 99 --out odd"
    ));
    let resumed = run("isotropic --resume odd/checkpoint.rarefy --until 0.505 --out odd");
    assert_eq!(resumed["result"]["steps"], 51);
    let table = fs::read_to_string(dir.path().join("odd/moments.csv")).unwrap();
    // As of a whole run: the end of the first part is no record.
    assert_eq!(table.lines().count(), 1 + 14);

    for (line, why) in [
        ("--resume half/checkpoint.rarefy", "at step 100"),
        ("--resume half/checkpoint.rarefy --until 0.1", "at step 100"),
        (
            "--resume half/checkpoint.rarefy --theta 0.5 --steps 200",
            "as the checkpoint's run has",
        ),
        (
            "--resume half/checkpoint.rarefy --molecules hard-sphere --steps 200",
            "as the checkpoint's run has",
        ),
        (
            "--resume half/checkpoint.rarefy --init bkw:0.7 --steps 200",
            "as the checkpoint's run has",
        ),
        (
            "--resume half/checkpoint.rarefy --rates-only",
            "cannot be used with",
        ),
        ("--resume half/moments.csv --steps 200", "not a checkpoint"),
        ("--steps 9 --checkpoint-every 3 --json", "--out"),
    ] {
        let arguments: Vec<&str> = line.split_whitespace().collect();
        refused(dir.path(), &[&["isotropic"], &arguments[..]].concat(), why);
    }
}

#[cfg(unix)]
#[test]
fn ctrl_c_between_two_records_is_obeyed_and_gone_on_with() {
    let dir = folder();
    let words = |line: &str| -> Vec<String> { line.split(' ').map(str::to_owned).collect() };
    let run = |line: &str| {
        let words = words(line);
        done(
            dir.path(),
            &words.iter().map(String::as_str).collect::<Vec<_>>(),
        )
    };
    let case = "isotropic --cells 64 --emax 18 --theta 1 --init two-temperature:1,1.2 --backend cpu --quiet";
    // The first record after the initial one is hours away.
    let endless = words(&format!(
        "{case} --every 1000000000 --steps 1000000000 --checkpoint-every 100 --out part"
    ));
    let endless: Vec<&str> = endless.iter().map(String::as_str).collect();
    let output = interrupted(dir.path(), &endless, "part/checkpoint.rarefy");
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    let after = stderr.strip_prefix("rarefy: error: interrupted after ");
    let after = after.unwrap_or_else(|| panic!("{stderr}"));
    assert!(
        after.contains("rarefy isotropic --resume part/checkpoint.rarefy"),
        "{stderr}"
    );
    assert_eq!(listing(&dir.path().join("part")).len(), 2);
    let done_before: u64 = after.split(' ').next().unwrap().parse().unwrap();
    assert!(done_before >= 100);

    let end = done_before + 57;
    run(&format!(
        "isotropic --resume part/checkpoint.rarefy --steps {end} --quiet"
    ));
    run(&format!("{case} --every {end} --steps {end} --out whole"));
    for file in ["f_final.npy", "f_initial.npy", "moments.csv"] {
        let read = |folder: &str| fs::read(dir.path().join(folder).join(file)).unwrap();
        assert!(read("whole") == read("part"), "{file} differs");
    }
    let table = fs::read_to_string(dir.path().join("part/moments.csv")).unwrap();
    assert_eq!(table.lines().count(), 3, "{table}");
}
