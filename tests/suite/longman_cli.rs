//! `rarefy longman` as its users meet it.

use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::Value;

use crate::command::{self, rarefy, text};
use crate::longman::{airy_zeros, cases};

fn longman<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    [&["longman"], arguments].concat()
}

#[track_caller]
fn done(folder: &Path, arguments: &[&str]) -> Output {
    command::done(folder, &longman(arguments))
}

#[track_caller]
fn refused(folder: &Path, arguments: &[&str], why: &str) {
    command::refused(folder, &longman(arguments), why);
}

/// value, error, status, accelerator, condition.
fn results(path: &Path) -> Vec<(f64, f64, String, String, f64)> {
    let mut reader = csv::Reader::from_path(path).unwrap();
    let header = reader.headers().unwrap().clone();
    let own: Vec<&str> = header.iter().take(7).collect();
    assert_eq!(
        own,
        [
            "value",
            "error",
            "status",
            "accelerator",
            "condition",
            "proof",
            "examined"
        ]
    );
    let number = |text: &str| text.parse().unwrap_or(f64::NAN);
    reader
        .records()
        .map(|row| {
            let row = row.unwrap();
            let text = |i: usize| row[i].to_owned();
            (
                number(&row[0]),
                number(&row[1]),
                text(2),
                text(3),
                number(&row[4]),
            )
        })
        .collect()
}

#[test]
fn the_case_of_the_paper() {
    let dir = tempfile::tempdir().unwrap();
    let arguments = [
        "--family",
        "damped-cos",
        "--lambda",
        "0.5",
        "--omega",
        "10",
        "--areas",
        "16",
        "--gauss",
        "8",
        "--backend",
        "cpu",
        "--json",
    ];
    let output = done(dir.path(), &arguments);
    let object: Value = serde_json::from_slice(&output.stdout).unwrap();
    let value = object["result"]["value"].as_f64().unwrap();
    assert!((value - 0.004_987_531_172_069_825).abs() < 1e-15);
    assert_eq!(object["result"]["status"], "OK");
    assert_eq!(object["statuses"]["OK"], 1);
    assert_eq!(object["parameters"]["gauss"], 8);
}

#[test]
fn a_table_of_parameters_gives_a_row_for_each() {
    let dir = tempfile::tempdir().unwrap();
    let rows = "xi,p,other,a\n2,1,x,0\n0.1,1,,0\n0,1,,0\nNaN,1,,0\n2,one,,0\n2,1,,1.5\n2\n-2,1,,0\n2,1,,nan\n";
    fs::write(dir.path().join("params.csv"), rows).unwrap();
    for backend in ["cpu", "reference", "emulator"] {
        let arguments = [
            "--amplitude",
            "x/(x^2+p^2)",
            "--oscillator",
            "bessel:0",
            "--frequency",
            "xi",
            "--input",
            "params.csv",
            "--output",
            "results.csv",
            "--quiet",
            "--backend",
            backend,
        ];
        let output = done(dir.path(), &arguments);
        assert!(output.stdout.is_empty());
        assert!(
            text(&output.stderr).contains(
                "3 cells of the input are no numbers, the first 'one' in line 6, column p"
            )
        );
        let results = results(&dir.path().join("results.csv"));
        let status: Vec<&str> = results.iter().map(|r| r.2.as_str()).collect();
        let invalid = "INVALID_ARGUMENT";
        // The frequency 0: the integral of x/(x^2 + 1).
        let diverges = "PREMISE_VIOLATED";
        assert_eq!(
            status,
            [
                "OK", "OK", diverges, invalid, invalid, "OK", invalid, invalid, invalid
            ]
        );
        for (row, right) in [(0, 0.113_893_872_749_533_44), (1, 2.427_069_024_702_017)] {
            let (value, error, ..) = results[row];
            assert!((value - right).abs() <= error, "{backend}: {value} {right}");
            assert!(error < 1e-10 * right);
        }
    }
}

/// The transform of exp(-x) is (1 + k^2)^(-3/2).
#[test]
fn a_range_of_frequencies_makes_a_table() {
    let dir = tempfile::tempdir().unwrap();
    let table = |range: &str| {
        let arguments = [
            "--amplitude",
            "x*exp(-p*x)",
            "--oscillator",
            "bessel:0",
            "--frequency-range",
            range,
            "--param",
            "p=1",
            "--output",
            "results.csv",
            "--quiet",
            "--backend",
            "cpu",
        ];
        done(dir.path(), &arguments);
        fs::read_to_string(dir.path().join("results.csv")).unwrap()
    };
    for (range, frequencies) in [
        ("0.01:10:log:4", vec![0.01, 0.1, 1.0, 10.0]),
        ("1:3:linear:3", vec![1.0, 2.0, 3.0]),
    ] {
        let text = table(range);
        let (header, rows) = text.split_once('\n').unwrap();
        assert!(header.ends_with("lower,p,frequency"), "{header}");
        let rows: Vec<Vec<&str>> = rows.lines().map(|row| row.split(',').collect()).collect();
        assert_eq!(rows.len(), frequencies.len());
        for (row, k) in rows.iter().zip(frequencies) {
            let number = |place: usize| row[place].parse::<f64>().unwrap();
            assert!((number(row.len() - 1) / k - 1.0).abs() < 1e-14, "{row:?}");
            let exact = (1.0 + k * k).powf(-1.5);
            assert!(
                (number(0) - exact).abs() <= number(1).max(1e-14 * exact),
                "{row:?}"
            );
            assert_eq!(row[2], "OK", "{row:?}");
        }
    }
    for (range, why) in [
        ("1:3:linear", "LOW:HIGH:SPACING:N"),
        ("0:3:log:5", "positive"),
        ("3:1:log:5", "the lower one"),
        ("1:3:cubic:5", "log or linear"),
        ("1:3:log:1", "from 2"),
    ] {
        let arguments = ["--amplitude", "exp(-x)", "--oscillator", "cos"];
        let arguments = [&arguments[..], &["--frequency-range", range]].concat();
        refused(dir.path(), &arguments, why);
    }
}

#[test]
fn orders_and_frequencies_may_be_parameters() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("params.csv"), "w,n\n1,0\n2,1\n1,10\n").unwrap();
    let arguments = [
        "--amplitude",
        "c",
        "--oscillator",
        "bessel:n",
        "--frequency",
        "w",
        "--param",
        "c=2",
        "--input",
        "params.csv",
        "--out",
        "out",
        "--backend",
        "cpu",
    ];
    done(dir.path(), &arguments);
    let results = results(&dir.path().join("out/results.csv"));
    for (row, right) in [2.0, 1.0, 2.0].into_iter().enumerate() {
        assert!((results[row].0 - right).abs() <= results[row].1);
        assert_eq!(results[row].2, "OK");
    }
    let run = fs::read_to_string(dir.path().join("out/run.json")).unwrap();
    let run: Value = serde_json::from_str(&run).unwrap();
    assert_eq!(run["integrals"], 3);
    assert!(dir.path().join("out/errors.png").exists());
    // The run can be repeated from its own record.
    let again = ["--config", "out/run.json", "--output", "again.csv"];
    done(dir.path(), &again);
    let bytes = |name: &str| fs::read(dir.path().join(name)).unwrap();
    assert_eq!(bytes("again.csv"), bytes("out/results.csv"));
}

#[test]
fn whole_integrands_have_zeros_or_a_half_period() {
    let dir = tempfile::tempdir().unwrap();
    let zeros: Vec<String> = (0..65)
        .map(|k| {
            (std::f64::consts::PI * (f64::from(k) + 0.5))
                .cbrt()
                .to_string()
        })
        .collect();
    fs::write(dir.path().join("zeros.txt"), zeros.join("\n")).unwrap();
    for (arguments, right) in [
        // Gamma(4/3) cos(pi/6)
        (
            ["--integrand", "cos(x^3)", "--zeros-file", "zeros.txt"],
            0.773_342_942_077_989_8,
        ),
        (
            [
                "--integrand",
                "exp(-x)*sin(x)",
                "--half-period",
                "3.141592653589793",
            ],
            0.5,
        ),
    ] {
        let output = done(
            dir.path(),
            &[&arguments[..], &["--output", "r.csv", "--backend", "cpu"]].concat(),
        );
        let (value, error, status, ..) = results(&dir.path().join("r.csv")).remove(0);
        assert!((value - right).abs() <= error, "{value} {right} {error}");
        assert_eq!(status, "OK", "{}", text(&output.stdout));
    }
    for (arguments, right) in [
        (
            ["--integrand", "abs(cos(x))", "--half-period", "3.14159"],
            "PREMISE_VIOLATED",
        ),
        (
            ["--integrand", "cos(x)", "--half-period", "-1"],
            "INVALID_ARGUMENT",
        ),
        (["--integrand", "1/0*x", "--half-period", "1"], "NOT_FINITE"),
    ] {
        let options = ["--output", "r.csv", "--backend", "cpu"];
        let arguments = [&["longman"], &arguments[..], &options].concat();
        let output = rarefy(dir.path(), &arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
        assert_eq!(
            results(&dir.path().join("r.csv"))[0].2,
            right,
            "{arguments:?}"
        );
    }
    fs::write(dir.path().join("zeros.txt"), "3 2 1 4 5 6 7 8 9 10").unwrap();
    let unsorted = [
        "--integrand",
        "cos(x)",
        "--zeros-file",
        "zeros.txt",
        "--output",
        "r.csv",
        "--backend",
        "cpu",
    ];
    let output = rarefy(dir.path(), &[&["longman"], &unsorted[..]].concat())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert_eq!(results(&dir.path().join("r.csv"))[0].2, "INVALID_ARGUMENT");
}

#[test]
fn transforms_take_the_users_function() {
    let dir = tempfile::tempdir().unwrap();
    for (arguments, right) in [
        (
            vec![
                "--family",
                "hankel",
                "--amplitude",
                "exp(-x)",
                "--nu",
                "0",
                "--xi",
                "2",
            ],
            0.089_442_719_099_991_59,
        ),
        (
            vec![
                "--family",
                "double-fourier",
                "--amplitude",
                "(1+x^2+y^2)^(-1.5)",
                "--xi",
                "0.5",
                "--eta",
                "2",
            ],
            0.127_256_211_318_593_65,
        ),
    ] {
        done(
            dir.path(),
            &[&arguments[..], &["--output", "r.csv", "--backend", "cpu"]].concat(),
        );
        let (value, error, status, ..) = results(&dir.path().join("r.csv")).remove(0);
        assert!((value - right).abs() <= error, "{value} {right} {error}");
        assert_eq!(status, "OK", "{arguments:?} {error}");
    }
}

#[test]
fn wrong_usage_is_refused_in_one_line() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("p.csv"), "p,xi\n1,2\n").unwrap();
    fs::write(dir.path().join("empty.csv"), "").unwrap();
    fs::write(dir.path().join("twice.csv"), "p,p\n1,2\n").unwrap();
    fs::write(dir.path().join("words.txt"), "1 2 three").unwrap();
    let general = [
        "--oscillator",
        "bessel:0",
        "--frequency",
        "xi",
        "--amplitude",
    ];
    let with = |more: &[&'static str]| [&general[..], more].concat();
    for (arguments, why) in [
        (vec![], "an integrand is needed"),
        (
            with(&["x/(x^2+q^2)", "--input", "p.csv"]),
            "p.csv: no column for the parameter q; the columns are p, xi",
        ),
        (with(&["x/(x^2+p^2", "--input", "p.csv"]), "character 11"),
        (
            with(&["p", "--input", "none.csv"]),
            "none.csv: no such file",
        ),
        (
            with(&["p", "--input", "empty.csv"]),
            "empty.csv: an empty file",
        ),
        (
            with(&["p", "--input", "twice.csv"]),
            "two columns are named 'p'",
        ),
        (
            with(&["p", "--xi", "1"]),
            "no value for the parameter p; give --param p=VALUE",
        ),
        (
            with(&["1", "--xi", "1", "--param", "q=1"]),
            "the integrand has no parameter 'q'; it has xi",
        ),
        (
            with(&["1", "--xi", "1", "--param", "q"]),
            "is not of the form NAME=VALUE",
        ),
        (
            with(&["1", "--xi", "1", "--areas", "7"]),
            "'--areas <N>': a whole number from 8 to 64 is needed",
        ),
        (
            with(&["1", "--xi", "1", "--areas", "-1"]),
            "'--areas <N>': a whole number from 8 to 64 is needed",
        ),
        (
            with(&["1", "--xi", "1", "--gauss", "1"]),
            "'--gauss <G>': a whole number from 2 to 64 is needed",
        ),
        (
            with(&["1", "--xi", "1", "--rtol=-1"]),
            "--rtol: -1; expected a number of at least 0",
        ),
        (
            vec![
                "--amplitude",
                "1",
                "--oscillator",
                "tan",
                "--frequency",
                "1",
            ],
            "'tan'; expected cos, sin or bessel:NU",
        ),
        (
            vec![
                "--amplitude",
                "1",
                "--oscillator",
                "bessel:-3",
                "--frequency",
                "1",
            ],
            "above -1",
        ),
        (
            vec!["--amplitude", "1", "--oscillator", "cos"],
            "--frequency, a number or a parameter, is needed",
        ),
        (
            vec![
                "--amplitude",
                "1",
                "--oscillator",
                "cos",
                "--frequency",
                "x",
            ],
            "depends on x",
        ),
        (
            vec!["--family", "damped-cos", "--half-period", "3"],
            "--half-period belongs to --integrand",
        ),
        (
            vec!["--integrand", "cos(x)"],
            "--integrand needs --zeros-file FILE or --half-period H",
        ),
        (
            vec!["--integrand", "cos(x)", "--zeros-file", "words.txt"],
            "line 1: 'three' is no number",
        ),
        (
            vec!["--family", "cosine"],
            "there is no family 'cosine'; families are damped-cos",
        ),
        (
            vec!["--family", "hankel", "--nu", "0", "--xi", "1"],
            "needs a function f as amplitude",
        ),
        (
            vec!["--family", "damped-cos", "--lambda", "one", "--omega", "1"],
            "a number is needed",
        ),
        (
            with(&["exp(-x)", "--xi", "1", "--beyond", "9"]),
            "--beyond has no effect with an integrand that is not sampled beyond its areas",
        ),
        (
            with(&["exp(-x)", "--xi", "1", "--interpolation", "chebyshev"]),
            "--interpolation has no effect with an integrand without --samples",
        ),
    ] {
        refused(dir.path(), &arguments, why);
    }
    // No rows are no error: there are as many results.
    fs::write(dir.path().join("none.csv"), "p,xi\n").unwrap();
    let output = done(
        dir.path(),
        &with(&[
            "p",
            "--input",
            "none.csv",
            "--output",
            "r.csv",
            "--backend",
            "cpu",
        ]),
    );
    assert!(text(&output.stderr).contains("the input has no rows"));
    assert!(results(&dir.path().join("r.csv")).is_empty());
}

/// Every public case by the command, in both precisions: right, or honest.
#[test]
fn every_public_case_by_the_command() {
    let dir = tempfile::tempdir().unwrap();
    let text_of = |numbers: Vec<f64>| {
        let lines: Vec<String> = numbers.iter().map(f64::to_string).collect();
        lines.join("\n")
    };
    let zeros = (0..70).map(|k| ((f64::from(k) + 0.5) * std::f64::consts::PI).sqrt());
    fs::write(dir.path().join("squares.txt"), text_of(zeros.collect())).unwrap();
    fs::write(dir.path().join("airy.txt"), text_of(airy_zeros(70))).unwrap();
    let pi = std::f64::consts::PI.to_string();
    for case in cases() {
        let nu = match &case.parameters.get("nu") {
            Some(Value::String(nu)) => nu.clone(),
            Some(nu) => nu.to_string(),
            None => "0".into(),
        };
        let bessel = format!("bessel:{nu}");
        let oscillating = |amplitude: &str, oscillator: &str, frequency: &str| {
            [
                "--amplitude",
                amplitude,
                "--oscillator",
                oscillator,
                "--frequency",
                frequency,
            ]
            .map(str::to_owned)
            .to_vec()
        };
        let whole = |integrand: &str, more: [&str; 2]| {
            ["--integrand", integrand, more[0], more[1]]
                .map(str::to_owned)
                .to_vec()
        };
        let mut arguments = match case.family.as_str() {
            "exp(-l*x)*cos(w*x)" => oscillating("exp(-l*x)", "cos", "w"),
            "exp(-x)*cos(0*x)" => oscillating("exp(-l*x)", "cos", "w"),
            "exp(-l*x)*sin(w*x)" => oscillating("exp(-l*x)", "sin", "w"),
            "x^(-p)*cos(w*x)" => oscillating("x^(-p)", "cos", "w"),
            "x^(-p)*sin(w*x)" => oscillating("x^(-p)", "sin", "w"),
            "x^mu*exp(-l*x)*J_nu(b*x)" => oscillating("x^mu*exp(-l*x)", &bessel, "b"),
            "x*exp(-p*x)*J_0(xi*x)" => oscillating("x*exp(-p*x)", &bessel, "xi"),
            "x*exp(-p*x^2)*J_0(xi*x)" => oscillating("x*exp(-p*x^2)", &bessel, "xi"),
            "x/(x^2+p^2)*J_0(xi*x)" => oscillating("x/(x^2+p^2)", &bessel, "xi"),
            "x/sqrt(x^2+p^2)*J_0(xi*x)" => oscillating("x/sqrt(x^2+p^2)", &bessel, "xi"),
            "exp(-p*x)*J_1(xi*x)" => oscillating("exp(-p*x)", &bessel, "xi"),
            "x^2/(x^2+p^2)*J_1(xi*x)" => oscillating("x^2/(x^2+p^2)", &bessel, "xi"),
            "x/u*exp(-u*z)*J_0(rho*x), u=sqrt(x^2+k^2)" => {
                oscillating("x/sqrt(x^2+k^2)*exp(-sqrt(x^2+k^2)*z)", &bessel, "rho")
            }
            "cos(w*x)/(x^2+p^2)" => oscillating("1/(x^2+p^2)", "cos", "w"),
            "x*sin(w*x)/(x^2+p^2)" => oscillating("x/(x^2+p^2)", "sin", "w"),
            "sin(x)*ln(1+1/x)" => oscillating("log1p(1/x)", "sin", "1"),
            "J_0(x), a=5" => oscillating("1", &bessel, "1"),
            "cos(x)" => oscillating("1", "cos", "w"),
            "exp(0.1*x)*cos(x)" => oscillating("exp(0.1*x)", "cos", "w"),
            "cos(x^2)" => whole("cos(x^2)", ["--zeros-file", "squares.txt"]),
            "Ai(-x)" => whole("airy(-x)", ["--zeros-file", "airy.txt"]),
            "(sin(x)/x)^2, boundaries k*pi" => whole("(sin(x)/x)^2", ["--half-period", &pi]),
            "exp(-0.01*x), boundaries k*pi" => whole("exp(-0.01*x)", ["--half-period", &pi]),
            family if family.starts_with("(1/(2*pi)) double") => [
                "--family",
                "double-fourier",
                "--amplitude",
                "(1+x^2+y^2)^(-1.5)",
            ]
            .map(str::to_owned)
            .to_vec(),
            family => panic!("{}: no integrand for {family}", case.id),
        };
        for (name, value) in &case.parameters {
            let value = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            if name != "nu" {
                arguments.extend(["--param".to_owned(), format!("{name}={value}")]);
            }
        }
        arguments.extend(["--lower".to_owned(), case.lower.to_string()]);
        for (precision, rtol) in [("f64", 1e-10), ("f32", 1e-5)] {
            let mut arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            arguments.extend([
                "--backend",
                "cpu",
                "--precision",
                precision,
                "--output",
                "r.csv",
            ]);
            let output = command::rarefy(dir.path(), &longman(&arguments))
                .output()
                .unwrap();
            let (value, error, status, ..) = results(&dir.path().join("r.csv")).remove(0);
            let code = i32::from(status != "OK");
            assert_eq!(output.status.code(), Some(code), "{}", case.id);
            let what = format!("{} {precision}: {value} {error} {status}", case.id);
            // A closure has no frequency 0; an expression has the integral of exp(-x).
            let exact = match case.id.as_str() {
                "flag-omega0" => Some(1.0),
                _ => case.exact,
            };
            match (exact, status.as_str()) {
                (Some(exact), "OK") => {
                    assert!(
                        (value - exact).abs() <= error.min(rtol * exact.abs()),
                        "{what}"
                    )
                }
                (Some(exact), "NOT_CONVERGED") => {
                    // Small differences of large areas.
                    assert!(
                        ["expcos-3", "hankel-1"].contains(&case.id.as_str()),
                        "{what}"
                    );
                    assert!((value - exact).abs() <= error, "{what}");
                }
                (None, status) => assert_eq!(status, case.expect, "{what}"),
                _ => panic!("{what}"),
            }
        }
    }
}

#[test]
fn help_lists_families_and_the_grammar() {
    let dir = tempfile::tempdir().unwrap();
    let output = done(dir.path(), &["--help"]);
    let help = text(&output.stdout);
    for part in [
        "damped-cos",
        "sommerfeld",
        "double-fourier",
        "besselj(nu, x)",
        "-x^2 is -(x^2)",
        "PREMISE_VIOLATED",
    ] {
        assert!(help.contains(part), "{part}");
    }
}

#[test]
fn amplitudes_may_be_samples() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: String| fs::write(dir.path().join(name), text).unwrap();
    let row = |x: f64, g: f64| format!("{x:?},{g:?}\n");
    let spline: String = (0..8000)
        .map(|i| f64::from(i) * 0.005)
        .map(|x| row(x, (-x).exp()))
        .collect();
    write("spline.csv", format!("x,g\n{spline}"));
    let nodes = rarefy::longman::sampled::Chebyshev::nodes(60, 1.5);
    let series: String = nodes.iter().map(|x| row(*x, 1.0 / (1.0 + x * x))).collect();
    write("series.txt", series.replace(',', " "));
    write("params.csv", "w\n3\n1\n0.05\n".to_owned());
    let common = [
        "--oscillator",
        "cos",
        "--frequency",
        "w",
        "--input",
        "params.csv",
        "--output",
        "r.csv",
        "--rtol",
        "1e-6",
        "--backend",
        "cpu",
    ];
    done(
        dir.path(),
        &[&["--samples", "spline.csv"], &common[..]].concat(),
    );
    let found = results(&dir.path().join("r.csv"));
    for (row, right) in [(0, 0.1), (1, 0.5)] {
        let (value, error, ref status, ..) = found[row];
        assert_eq!(status, "OK");
        assert!((value - right).abs() <= error, "{value} {error}");
    }
    // The samples end before eight half cycles.
    assert_eq!(found[2].2, "NOT_FINITE");
    let chebyshev = ["--samples", "series.txt", "--interpolation", "chebyshev"];
    done(dir.path(), &[&chebyshev, &common[..]].concat());
    let found = results(&dir.path().join("r.csv"));
    for (row, w) in [(0, 3.0), (1, 1.0), (2, 0.05)] {
        let (value, error, ref status, ..) = found[row];
        let right = 0.5 * std::f64::consts::PI * f64::exp(-w);
        assert_eq!(status, "OK");
        assert!((value - right).abs() <= error, "{value} {error}");
    }
    write("few.csv", "0,1\n1,2\n".to_owned());
    write("text.csv", "x,g\n0,1\n1,two\n".to_owned());
    for (file, how, says) in [
        ("few.csv", "cubic", "at least 4 points"),
        ("text.csv", "cubic", "line 3: '1,two' is not two numbers"),
        ("spline.csv", "chebyshev", "each with x > 0"),
        ("none.csv", "cubic", "none.csv"),
    ] {
        let samples = ["--samples", file, "--interpolation", how];
        refused(dir.path(), &[&samples, &common[..]].concat(), says);
    }
}

/// The result of one integral and the exit code.
fn result(folder: &Path, arguments: &[&str]) -> (Value, Option<i32>) {
    let arguments = [&longman(arguments)[..], &["--backend", "cpu", "--json"]].concat();
    let output = command::rarefy(folder, &arguments).output().unwrap();
    let object: Value = serde_json::from_slice(&output.stdout).unwrap();
    (object["result"].clone(), output.status.code())
}

#[test]
fn names_that_the_integrand_uses_are_parameters() {
    let dir = tempfile::tempdir().unwrap();
    let damped = |name: &str, more: &[&str]| {
        let amplitude = format!("exp(-{name}*x)");
        let arguments = [
            "--amplitude",
            &amplitude,
            "--oscillator",
            "cos",
            "--frequency",
            "1",
        ];
        result(dir.path(), &[&arguments[..], more].concat()).0["value"]
            .as_f64()
            .unwrap()
    };
    let near = |found: f64, right: f64| (found - right).abs() < 1e-12;
    assert!(near(damped("a", &["--param", "a=2"]), 0.4));
    assert!(near(damped("lower", &["--param", "lower=2"]), 0.4));
    let tail = (-2.0_f64).exp() * (2.0 * 1.0_f64.cos() - 1.0_f64.sin()) / 5.0;
    assert!(near(damped("b", &["--param", "b=2,a=1"]), tail));
    assert!(near(damped("b", &["--param", "b=2,lower=1"]), tail));
    assert!(near(damped("a", &["--param", "a=2,lower=1"]), tail));
    fs::write(dir.path().join("rows.csv"), "a,lower\n2,1\n2,0\n").unwrap();
    let arguments = [
        "--amplitude",
        "exp(-a*x)",
        "--oscillator",
        "cos",
        "--frequency",
        "1",
        "--input",
        "rows.csv",
    ];
    done(
        dir.path(),
        &[&arguments[..], &["--output", "r.csv"]].concat(),
    );
    let found = results(&dir.path().join("r.csv"));
    assert!(near(found[0].0, tail) && near(found[1].0, 0.4));
    let table = fs::read_to_string(dir.path().join("r.csv")).unwrap();
    assert!(table.lines().next().unwrap().ends_with(",examined,lower,a"));
    assert!(
        table
            .lines()
            .nth(1)
            .unwrap()
            .ends_with(",monotone,inf,1.0,2.0")
    );
    fs::remove_file(dir.path().join("r.csv")).unwrap();
    for (more, why) in [
        (["--lower", "3"], "the lower limit is given twice"),
        (["--param", "a=3"], "the parameter 'a' is given twice"),
        (["--param", "lower=3"], "the lower limit is given twice"),
    ] {
        refused(dir.path(), &[&arguments[..], &more].concat(), why);
    }
    let damped = ["--family", "damped-cos", "--omega", "1", "--param"];
    let twice = "the parameter 'lambda' is given twice";
    refused(
        dir.path(),
        &[&damped[..], &["lambda=1,lambda=2"]].concat(),
        twice,
    );
    refused(
        dir.path(),
        &[&damped[..], &["lambda=1", "--lambda", "2"]].concat(),
        twice,
    );
}

#[test]
fn no_valid_result_is_a_failure_and_streams_are_files() {
    let dir = tempfile::tempdir().unwrap();
    let cosine = ["--oscillator", "cos", "--frequency", "1"];
    let bump = [&["--amplitude", "exp(-(x-150)^2)"][..], &cosine].concat();
    let (found, code) = result(dir.path(), &bump);
    let right = std::f64::consts::PI.sqrt() * (-0.25_f64).exp() * 150.0_f64.cos();
    assert!((found["value"].as_f64().unwrap() - right).abs() < 1e-12);
    assert_eq!((found["proof"].as_str(), code), (Some("monotone"), Some(0)));
    let (found, code) = result(dir.path(), &[&["--amplitude", "1"][..], &cosine].concat());
    assert_eq!(
        (found["status"].as_str(), code),
        (Some("PREMISE_VIOLATED"), Some(1))
    );
    fs::write(dir.path().join("rows.csv"), "p,lower\n1,0\n2,0\n").unwrap();
    let arguments = [
        &["longman", "--amplitude", "1/(x^2+p^2)", "--input", "-"][..],
        &cosine,
    ]
    .concat();
    let run = |more: &[&str]| {
        let input = fs::File::open(dir.path().join("rows.csv")).unwrap();
        command::rarefy(dir.path(), &[&arguments[..], more].concat())
            .stdin(input)
            .output()
            .unwrap()
    };
    let output = run(&["--output", "-"]);
    assert!(output.status.success());
    assert_eq!(text(&output.stdout).lines().count(), 3);
    let output = run(&["--json"]);
    let object: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(object["results"].as_array().unwrap().len(), 2);
    assert_eq!(object["results"][1]["p"], 2.0);
    assert_eq!(run(&["--json", "--output", "-"]).status.code(), Some(2));
}

/// A decimal comma makes one cell two: no cell of such a row is known to be in its column.
#[test]
fn rows_with_more_cells_than_columns_are_invalid() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(
        dir.path().join("rows.csv"),
        "lambda,omega\n1,2\n1,5,2\n1,2,\n",
    )
    .unwrap();
    let arguments = "--family damped-cos --input rows.csv --output r.csv --backend cpu";
    let arguments: Vec<&str> = arguments.split(' ').collect();
    let output = done(dir.path(), &arguments);
    let why = "1 rows of the input have more cells than columns, the first in line 3";
    assert!(
        text(&output.stderr).contains(why),
        "{}",
        text(&output.stderr)
    );
    let found = results(&dir.path().join("r.csv"));
    let statuses: Vec<&str> = found.iter().map(|row| row.2.as_str()).collect();
    assert_eq!(statuses, ["OK", "INVALID_ARGUMENT", "OK"]);
}

#[test]
fn columns_of_no_parameter_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let rows = "id,lambda,omega,comment\n7,1,2,first\n";
    fs::write(dir.path().join("rows.csv"), rows).unwrap();
    let arguments = "--family damped-cos --input rows.csv --output r.csv --backend cpu";
    let arguments: Vec<&str> = arguments.split(' ').collect();
    let output = done(dir.path(), &arguments);
    let why = "no parameter has the name of a column; unused: id, comment";
    let said = text(&output.stderr);
    assert!(said.contains(why), "{said}");
}

/// Rows are read into memory of which nobody knows in advance how much there will be: the allocator has the last word.
#[cfg(target_os = "linux")]
#[test]
fn memory_that_ends_in_between_is_one_line() {
    let dir = tempfile::tempdir().unwrap();
    let rows = format!("lambda,omega\n{}", "1,2\n".repeat(3_000_000));
    fs::write(dir.path().join("rows.csv"), rows).unwrap();
    let arguments = "longman --family damped-cos --input rows.csv --backend cpu";
    let arguments: Vec<&str> = arguments.split(' ').collect();
    let output = command::with_memory(dir.path(), 100_000, &arguments);
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    assert!(
        stderr.starts_with("rarefy: error: memory is exhausted: "),
        "{stderr}"
    );
    assert!(stderr.contains(" MiB are available; "), "{stderr}");
}

/// The integral of exp(-x) (cos(w x) + i sin(w x)) from 0 to b is (1 - exp(z b))/(-z), z = -1 + i w.
#[test]
fn limits_are_columns_and_complex_integrals_have_two_more() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("rows.csv"), "upper,w\n1,2\n2,0\ninf,1\n").unwrap();
    let line = "--amplitude exp(-x) --oscillator exp --frequency w --input rows.csv --output r.csv --backend cpu";
    let arguments: Vec<&str> = line.split(' ').collect();
    done(dir.path(), &arguments);
    let table = fs::read_to_string(dir.path().join("r.csv")).unwrap();
    let mut lines = table.lines();
    let header = lines.next().unwrap();
    assert!(
        header.ends_with("examined,imaginary,imaginary_error,lower,upper,w"),
        "{header}"
    );
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    for (row, (b, w)) in rows
        .iter()
        .zip([(1.0_f64, 2.0_f64), (2.0, 0.0), (f64::INFINITY, 1.0)])
    {
        let decay = (-b).exp();
        let (cos, sin) = if decay > 0.0 {
            ((w * b).cos(), (w * b).sin())
        } else {
            (0.0, 0.0)
        };
        let (re, im) = (1.0 - decay * cos, -decay * sin);
        let right = [re - w * im, im + w * re].map(|part| part / (1.0 + w * w));
        let number = |place: usize| row[place].parse::<f64>().unwrap();
        assert_eq!(row[2], "OK", "{row:?}");
        assert!((number(0) - right[0]).abs() <= number(1) + 1e-15, "{row:?}");
        assert!((number(7) - right[1]).abs() <= number(8) + 1e-15, "{row:?}");
    }
    let divergent = "longman --amplitude 1/(1+x) --oscillator cos --frequency 0 --lower -0.5 --backend cpu --json";
    let arguments: Vec<&str> = divergent.split(' ').collect();
    let output = rarefy(dir.path(), &arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let object: Value = serde_json::from_slice(&output.stdout).unwrap();
    let reason = object["result"]["reason"].as_str().unwrap();
    assert!(reason.contains("diverges"), "{reason}");
}
