//! Many distributions in one call: the same numbers as one after the other, on every backend and from the command line.

use std::fs;

use rarefy::collision::{
    CollisionOperator, CorrectionStatus, Evaluation, Method, OperatorConfig, VelocityGrid,
    collide_batch, initial,
};
use rarefy::{Backend, Compute, Precision};

use crate::command::{doubles, npy, rarefy};
use crate::support;

fn machines() -> Vec<Backend> {
    let mut machines = vec![Backend::Reference, Backend::Cpu, Backend::Emulator];
    if support::device().is_some() {
        machines.push(Backend::Cuda);
    }
    machines
}

/// Different states whose sizes are 15 decades apart, so that no scale is shared; one of them cannot be corrected.
fn states(grid: &VelocityGrid) -> Vec<Vec<f64>> {
    let mut states: Vec<Vec<f64>> = [(0.6, 1.0), (0.8, 1e-15), (0.95, 1e-3)]
        .into_iter()
        .map(|(k, density)| {
            let state = initial::Bkw::new(k).expect("a state").sample(grid);
            state.into_iter().map(|f| density * f).collect()
        })
        .collect();
    states.push(initial::TwoMaxwellians::default().sample(grid));
    let mut lonely = vec![0.0; grid.cells()];
    lonely[grid.cells() / 2] = 3.0;
    states.insert(2, lonely);
    states
}

#[test]
fn a_batch_gives_the_bits_of_one_after_the_other() {
    for (n, method) in [(4, Method::Fast), (7, Method::Fast), (5, Method::Direct)] {
        let grid = VelocityGrid::new(n, -4.0, 5.0).expect("a grid");
        let states = states(&grid);
        for backend in machines() {
            for precision in [Precision::F32, Precision::F64] {
                let config = OperatorConfig {
                    method,
                    compute: Compute::new(backend).with_precision(precision),
                    ..OperatorConfig::paper(grid)
                };
                let mut operator = CollisionOperator::new(config).expect("an operator");
                let alone: Vec<Evaluation> = states
                    .iter()
                    .map(|f| operator.evaluate(f).expect("an evaluation"))
                    .collect();
                // Of several sizes, with the same operator.
                for count in [states.len(), 2, 1] {
                    let together = operator
                        .evaluate_batch(&states[..count].concat())
                        .expect("a batch");
                    assert!(
                        together == alone[..count],
                        "{backend}, {precision}, {method:?}, {n}^3, {count} together"
                    );
                }
                assert_eq!(alone[2].correction.status, CorrectionStatus::Singular);
                assert!(alone.iter().all(|e| e.rate.iter().all(|v| v.is_finite())));
            }
        }
    }
}

#[test]
fn many_small_grids_go_together_on_a_gpu() {
    if support::device().is_none() {
        return;
    }
    let grid = VelocityGrid::new(16, -6.5, 6.5).expect("a grid");
    let states: Vec<Vec<f64>> = (0..64)
        .map(|k| {
            let beams = initial::TwoMaxwellians {
                speed: 0.5 + 0.02 * f64::from(k),
                ..initial::TwoMaxwellians::default()
            };
            beams.sample(&grid)
        })
        .collect();
    for precision in [Precision::F32, Precision::F64] {
        let config = OperatorConfig {
            compute: Compute::new(Backend::Cuda).with_precision(precision),
            ..OperatorConfig::paper(grid)
        };
        let mut operator = CollisionOperator::new(config).expect("an operator");
        let together = operator.evaluate_batch(&states.concat()).expect("a batch");
        for k in [0, 31, 63] {
            assert!(
                together[k] == operator.evaluate(&states[k]).expect("one"),
                "{k}"
            );
        }
    }
}

#[test]
fn a_wrong_batch_is_refused_with_the_place() {
    let grid = VelocityGrid::new(4, -4.0, 5.0).expect("a grid");
    let config = OperatorConfig {
        compute: Backend::Cpu.into(),
        ..OperatorConfig::paper(grid)
    };
    let refusal = |f: &[f64]| match collide_batch(&config, f) {
        Err(error) => error.to_string(),
        Ok(_) => panic!("a wrong batch was evaluated"),
    };
    assert!(refusal(&[]).contains("multiple of 64"));
    assert!(refusal(&[1.0; 65]).contains("multiple of 64"));
    let mut f = vec![1.0; 3 * 64];
    f[64 + 21] = -1.0;
    let text = refusal(&f);
    assert!(
        text.contains("distribution 1") && text.contains("f[1][1][1]"),
        "{text}"
    );
    f[64 + 21] = f64::NAN;
    assert!(refusal(&f).contains("not finite"));
}

/// An array of four dimensions as numpy writes it.
fn array([b, x, y, z]: [usize; 4], values: &[f64]) -> Vec<u8> {
    npy(
        "<f8",
        false,
        &format!("({b}, {x}, {y}, {z})"),
        doubles(values),
    )
}

#[test]
fn the_command_takes_arrays_of_four_dimensions() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    let grid = VelocityGrid::new(7, -5.0, 5.0).expect("a grid");
    let states = states(&grid);
    let count = states.len();
    fs::write(
        path.join("f.npy"),
        array([count, 7, 7, 7], &states.concat()),
    )
    .expect("a file");
    let arguments = [
        "collide",
        "--input",
        "f.npy",
        "--vmax",
        "5",
        "--backend",
        "cpu",
        "--out",
        "o",
        "--json",
    ];
    let output = rarefy(path, &arguments)
        .output()
        .expect("the command starts");
    // One of them cannot be corrected; the arrays of all are written.
    assert_eq!(
        output.status.code(),
        Some(1),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let run: serde_json::Value = serde_json::from_slice(&output.stdout).expect("an object");
    assert_eq!(run["status"], "unfinished");
    assert_eq!(run["items"], count);
    for key in ["moments", "rates", "conservation"] {
        assert_eq!(run[key].as_array().map(Vec::len), Some(count), "{key}");
    }
    assert_eq!(run["conservation"][2]["status"], "singular");
    let warnings = run["warnings"].to_string();
    assert!(warnings.contains("the first is number 2"), "{warnings}");

    let config = OperatorConfig {
        compute: Backend::Cpu.into(),
        ..OperatorConfig::new(grid)
    };
    let mut operator = CollisionOperator::new(config).expect("an operator");
    let expected = operator.evaluate_batch(&states.concat()).expect("a batch");
    let written = |name: &str| fs::read(path.join("o").join(name)).expect("an output");
    let parts: [fn(&Evaluation) -> &[f64]; 3] = [|e| &e.rate, |e| &e.gain, |e| &e.frequency];
    for (name, part) in ["q.npy", "gain.npy", "nu.npy"].into_iter().zip(parts) {
        let values: Vec<f64> = expected.iter().flat_map(part).copied().collect();
        let bytes = written(name);
        let header = String::from_utf8_lossy(&bytes[..128]).into_owned();
        assert!(
            header.contains(&format!("({count}, 7, 7, 7)")),
            "{name}: {header}"
        );
        let data = values.iter().flat_map(|v| v.to_le_bytes());
        assert!(bytes[128..].iter().copied().eq(data), "{name}");
    }
    let table = String::from_utf8(written("cross_sections.csv")).expect("text");
    assert_eq!(table.lines().next(), Some("item,axis,xi,f,gain,loss,I"));
    assert_eq!(table.lines().count(), 1 + count * 2 * 7);

    // Input that is no batch is refused in one line.
    for (shape, values, why) in [
        ([0, 7, 7, 7], 0, "(B, N, N, N)"),
        ([2, 7, 7, 6], 2 * 7 * 7 * 6, "(B, N, N, N)"),
        ([1 << 40, 7, 7, 7], 343, "cut short"),
    ] {
        fs::write(path.join("bad.npy"), array(shape, &vec![1.0; values])).expect("a file");
        let bad = [
            "collide", "--input", "bad.npy", "--vmax", "5", "--output", "q.npy",
        ];
        let output = rarefy(path, &bad).output().expect("the command starts");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.lines().count() == 1 && text.contains(why), "{text}");
    }
}
