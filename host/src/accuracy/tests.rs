//! Estimates of synthetic sequences whose errors are known.

use std::convert::Infallible;

use super::{Axis, Finding, Quantity, reach, repeats, verify, warning};

type Found = Result<Option<Vec<Quantity>>, Infallible>;

fn verified(axes: &[Axis], grid: &[usize], floor: f64, value: &dyn Fn(&[usize]) -> f64) -> Finding {
    let mut solve = |grid: &[usize]| -> Found { Ok(Some(vec![Quantity::new("v", value(grid))])) };
    let Ok(base) = solve(grid);
    let Ok(found) = verify(axes, grid, base.unwrap_or_default(), floor, &mut solve);
    found.into_iter().next().expect("a finding")
}

fn cells(shares: &[f64]) -> Axis {
    Axis {
        shares: shares.to_vec(),
        ..Axis::new("cells", 2.0, 2..=10_000)
    }
}

#[test]
fn an_error_of_the_known_order_is_estimated_with_the_safety_factor() {
    for (shares, count) in [
        (&[0.5][..], 40),
        (&[0.5, 0.25], 40),
        (&[0.7], 30),
        (&[0.5], 4),
    ] {
        let of = |grid: &[usize]| 2.0 + 3.0 / (grid[0] as f64).powi(2);
        let found = verified(&[cells(shares)], &[count], 0.0, &of);
        let truth = 3.0 / (count as f64).powi(2);
        assert!((found.error.total / truth - 1.25).abs() < 1e-6, "{found}");
        assert_eq!(found.error.parts.len(), 1);
    }
}

#[test]
fn two_repeats_show_a_lower_order_but_no_higher_one() {
    let of = |order: f64| move |grid: &[usize]| 2.0 + (grid[0] as f64).powf(-order);
    let axis = [cells(&[0.5, 0.25])];
    let first = verified(&axis, &[64], 0.0, &of(1.0));
    assert!((first.error.total * 64.0 - 1.25).abs() < 1e-9, "{first}");
    let fourth = verified(&axis, &[64], 0.0, &of(4.0));
    let truth = 64_f64.powi(-4);
    // The difference of the finest two, over 2^2 - 1.
    assert!((fourth.error.total / truth - 1.25 * 15.0 / 3.0).abs() < 1e-6);
    // One that does not converge keeps a finite estimate above its differences.
    let stuck = verified(&axis, &[64], 0.0, &|grid: &[usize]| -(grid[0] as f64).ln());
    assert!(stuck.error.total > 2.0 * 2_f64.ln());
}

#[test]
fn a_value_that_crosses_the_truth_by_chance_is_not_believed() {
    // The first repeat agrees with the run, the second does not.
    let of = |grid: &[usize]| match grid[0] {
        40 | 20 => 1.0,
        _ => 1.3,
    };
    let found = verified(&[cells(&[0.5, 0.25])], &[40], 0.0, &of);
    assert!((found.error.total - 1.25 * 0.3 / 15.0).abs() < 1e-12);
}

#[test]
fn second_order_of_layers_is_not_believed() {
    let axes = [Axis {
        in_layers: 1.0,
        ..cells(&[0.5, 0.25])
    }];
    for (in_layers, factor) in [(false, 1.0), (true, 3.0)] {
        let mut solve = |grid: &[usize]| -> Found {
            let value = (grid[0] as f64).powi(-2);
            Ok(Some(vec![Quantity::new("v", value).in_layers(in_layers)]))
        };
        let Ok(base) = solve(&[40]);
        let Ok(found) = verify(&axes, &[40], base.unwrap_or_default(), 0.0, &mut solve);
        let error = found[0].error.total;
        assert!((error * 1600.0 - 1.25 * factor).abs() < 1e-9, "{error}");
    }
}

#[test]
fn axes_add_up_and_repeat_on_the_coarser_grid_where_they_may() {
    let velocities = Axis {
        on_coarser: true,
        shares: vec![0.7, 0.5],
        step: 2,
        ..Axis::new("velocities", 2.0, 4..=64)
    };
    let mut grids = Vec::new();
    let mut solve = |grid: &[usize]| -> Found {
        grids.push(grid.to_vec());
        let [n, m] = [grid[0] as f64, grid[1] as f64];
        let value = 1.0 + 0.5 / (n * n) - 2.0 / (m * m);
        Ok(Some(vec![Quantity::new("v", value)]))
    };
    let Ok(base) = solve(&[40, 20]);
    let axes = [cells(&[0.5, 0.25]), velocities];
    let Ok(found) = verify(&axes, &[40, 20], base.unwrap_or_default(), 1e-9, &mut solve);
    assert_eq!(grids, [[40, 20], [20, 20], [10, 20], [20, 14], [20, 10]]);
    assert_eq!(repeats(&axes, &[40, 20]), grids[1..]);
    assert_eq!(repeats(&axes, &[6, 20]), [[12, 20], [6, 14], [6, 10]]);
    let error = &found[0].error;
    let names: Vec<&str> = error.parts.iter().map(|part| part.0).collect();
    assert_eq!(names, ["cells", "velocities", "iteration"]);
    assert!((error.parts[0].1 / (1.25 * 0.5 / 1600.0) - 1.0).abs() < 1e-6);
    assert!((error.parts[1].1 / (1.25 * 2.0 / 400.0) - 1.0).abs() < 1e-6);
    let sum: f64 = error.parts.iter().map(|part| part.1).sum();
    assert_eq!(error.total, sum);
    let json = serde_json::to_value(error).expect("an object");
    assert_eq!(json["total"], sum);
    assert_eq!(json["velocities"], error.parts[1].1);
}

#[test]
fn an_error_without_a_repeat_is_unknown_and_a_finer_one_serves_for_a_coarser() {
    let solve = |fails: fn(usize) -> bool| {
        let mut solve = |grid: &[usize]| -> Found {
            let value = 1.0 + 1.0 / (grid[0] * grid[0]) as f64;
            Ok((!fails(grid[0])).then(|| vec![Quantity::new("v", value)]))
        };
        let Ok(base) = solve(&[16]);
        let Ok(found) = verify(
            &[cells(&[0.5])],
            &[16],
            base.expect("a base"),
            0.0,
            &mut solve,
        );
        found[0].clone()
    };
    let unknown = solve(|count| count != 16);
    assert!(unknown.error.total.is_infinite());
    assert_eq!(
        unknown.to_string(),
        "v 1.003906, error unknown (cells unknown)"
    );
    let json = serde_json::to_value(&unknown.error).expect("an object");
    assert_eq!(json["total"], serde_json::Value::Null);
    let text = warning(&[unknown]).expect("a warning");
    assert!(text.contains("v by an unknown amount"), "{text}");
    let finer = solve(|count| count < 16);
    assert!((finer.error.total * 256.0 - 1.25).abs() < 1e-9);
}

#[test]
fn values_have_the_digits_of_their_error() {
    let text = |name: &str, value: f64, cells: f64, velocities: f64| {
        Finding {
            quantity: Quantity::new(name, value),
            error: super::Estimate {
                total: cells + velocities,
                parts: vec![("cells", cells), ("velocities", velocities)],
            },
        }
        .to_string()
    };
    assert_eq!(
        text("Pi", 0.338_925_1, 1e-5, 1.9e-4),
        "Pi 0.3389 +- 0.0002 (cells 1e-5, velocities 2e-4)"
    );
    assert_eq!(
        text("G", 0.1045, 0.06, 0.035),
        "G 0.1 +- 0.1 (cells 6e-2, velocities 4e-2)"
    );
    assert_eq!(
        text("Q", 1.245_140_3e-4, 2.1e-10, 0.0),
        "Q 1.245140e-4 +- 3e-10 (cells 3e-10, velocities 0)"
    );
    assert_eq!(
        text("T", 5321.4, 30.0, 8.0),
        "T 5321 +- 40 (cells 3e1, velocities 8e0)"
    );
}

#[test]
fn a_warning_names_the_worst_and_its_axis() {
    let finding = |name: &str, cells: f64, velocities: f64| Finding {
        quantity: Quantity::new(name, 2.0),
        error: super::Estimate {
            total: cells + velocities,
            parts: vec![("cells", cells), ("velocities", velocities)],
        },
    };
    assert_eq!(warning(&[finding("D", 0.009, 0.01)]), None);
    let mut aside = finding("D", 0.9, 0.0);
    aside.quantity = aside.quantity.aside();
    assert_eq!(warning(&[aside]), None);
    let found = [
        finding("D", 0.04, 0.0),
        finding("G", 0.02, 0.3),
        finding("H", 0.0, 0.0),
    ];
    let text = warning(&found).expect("a warning");
    assert!(text.contains("G by 16%, D by 2.0%"), "{text}");
    assert!(text.contains("that of the velocities"), "{text}");
}

fn model(grid: &[usize]) -> f64 {
    let [n, m] = [grid[0] as f64, grid[1] as f64];
    1.0 + 3.0 / (n * n) + 20.0 * (-0.5 * m).exp()
}

#[test]
fn a_grid_is_refined_until_all_quantities_have_the_accuracy() {
    let axes = [
        cells(&[0.5, 0.25]),
        Axis {
            shares: vec![0.7, 0.5],
            step: 2,
            ..Axis::new("velocities", 2.0, 4..=64)
        },
    ];
    for accuracy in [1e-2, 1e-4, 1e-6] {
        let mut grids = std::collections::HashSet::new();
        let mut solve = |grid: &[usize]| -> Found {
            assert!(grids.insert(grid.to_vec()), "{grid:?} twice");
            let second = Quantity::new("w", 5.0 * model(grid));
            Ok(Some(vec![Quantity::new("v", model(grid)), second]))
        };
        let Ok(end) = reach(&axes, &[8, 6], accuracy, 0.0, &|_| None, &mut solve);
        assert_eq!(end.obstacle, None);
        assert_eq!(end.computed, grids.len());
        assert!(
            end.findings
                .iter()
                .all(|found| found.relative() <= accuracy)
        );
        assert!((model(&end.grid) - 1.0).abs() < accuracy, "{:?}", end.grid);
        assert!(
            end.grid[0] < (12.0 / accuracy).sqrt() as usize + 8,
            "{:?}",
            end.grid
        );
    }
}

#[test]
fn a_search_ends_at_its_obstacle_with_what_it_has() {
    let axes = [cells(&[0.5]), Axis::new("velocities", 2.0, 4..=16)];
    let mut solve = |grid: &[usize]| -> Found { Ok(Some(vec![Quantity::new("v", model(grid))])) };
    let refusal = |grid: &[usize]| (grid[0] > 100).then(|| format!("{} cells", grid[0]));
    let Ok(end) = reach(&axes, &[20, 16], 1e-5, 0.0, &refusal, &mut solve);
    assert!(
        end.obstacle
            .as_ref()
            .is_some_and(|why| why.ends_with(" cells"))
    );
    assert!(end.grid[0] <= 100 && end.findings[0].relative() > 1e-5);
    let Ok(end) = reach(&axes, &[10_000, 16], 1e-5, 0.0, &|_| None, &mut solve);
    assert_eq!(
        end.obstacle.as_deref(),
        Some("velocities: at most 16 are possible")
    );
    // No grid has less than the iteration leaves.
    let Ok(end) = reach(&axes, &[20, 8], 1e-5, 1e-4, &|_| None, &mut solve);
    assert_eq!(end.obstacle.as_deref(), Some("the iteration leaves 1e-4"));
    assert!(end.findings[0].misses(1e-5));
    // A grid without a result is refined.
    let mut solve = |grid: &[usize]| -> Found {
        Ok((grid[0] >= 16).then(|| vec![Quantity::new("v", model(grid))]))
    };
    let axes = [cells(&[0.5]), Axis::new("velocities", 2.0, 4..=64)];
    let Ok(end) = reach(&axes, &[4, 16], 0.1, 0.0, &|_| None, &mut solve);
    assert_eq!(end.obstacle, None);
    assert!(end.grid[0] >= 16);
}

#[test]
fn an_error_that_changes_its_sign_is_not_small_beside_coarser_repeats() {
    // Two errors that cancel near 60 cells: a finer grid has nearly the same value.
    let of = |grid: &[usize]| {
        let h = 1.0 / grid[0] as f64;
        h - 128.0 / 3.0 * h * h
    };
    let with = |coarser_too: bool| {
        let axis = Axis {
            sure: 128,
            coarser_too,
            ..Axis::new("cells", 1.5, 2..=10_000)
        };
        verified(&[axis], &[64], 0.0, &of).error.total
    };
    let truth = of(&[64]).abs();
    assert!(with(false) < 0.01 * truth, "{} {truth}", with(false));
    assert!(with(true) > truth, "{} {truth}", with(true));
    let axis = Axis {
        sure: 128,
        coarser_too: true,
        ..Axis::new("cells", 1.5, 2..=10_000)
    };
    assert_eq!(repeats(&[axis], &[64]), [[128], [32]]);
}
