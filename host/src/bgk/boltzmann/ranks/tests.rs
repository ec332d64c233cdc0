//! Parts against the whole: the same bits on any number of ranks.

use super::super::config::maxwellian;
use super::super::{Checkpoint, Flow, Initial, Look, Stepping};
use super::*;
use crate::bgk::{Boundaries, CheckpointPart, Space, State, Wall};
use crate::collision::VelocityGrid;
use crate::compute::{Backend, Compute, Devices, Precision};
use crate::distributed::Threads;

fn wave(x: f64, y: f64) -> State {
    State {
        density: 1.0 + 0.2 * (3.0 * x + 2.0 * y).sin(),
        velocity: [0.2 * (5.0 * y).cos(), 0.1 * (4.0 * x).sin()],
        temperature: 1.0 + 0.1 * (4.0 * x - 3.0 * y).cos(),
    }
}

fn config(space: Space, boundaries: Boundaries, dt: f64) -> FlowConfig {
    let grid = VelocityGrid::new(6, -3.0, 3.0).expect("a grid");
    FlowConfig::new(space, grid, boundaries, dt, wave).expect("a flow")
}

/// Flows with all kinds of faces and starts, and the most ranks of each. On the first line the fastest molecules fly further than a cell.
fn cases() -> [(FlowConfig, usize); 5] {
    let wall = |t: f64, along| Boundary::Wall(Wall::diffuse(t).moving(along));
    let ends = Boundaries::line(wall(1.0, [0.0, 0.0]), wall(1.2, [0.0, 0.3]));
    let ring = Boundaries::line(Boundary::Periodic, Boundary::Periodic);
    let line = |cells| Space::line(cells, [0.0, 1.0]).expect("cells");
    let box_of_walls = Boundaries {
        left: wall(1.0, [0.0, 0.0]),
        right: Boundary::Specular,
        bottom: wall(0.9, [0.0, 0.0]),
        top: wall(1.0, [0.4, 0.0]),
    };
    let plane = Space::rectangle([4, 9], [0.0, 1.0], [0.0, 2.0]).expect("cells");
    let long = config(line(16), ends, 0.04);
    let mut upwind = config(line(13), ring, 0.04);
    upwind.scheme = Scheme::Upwind;
    upwind.initial = Initial::Distributions(upwind.made(0..13).expect("a start"));
    let square = config(plane, box_of_walls, 0.02);
    let mut penalised = config(line(12), ends, 0.02);
    penalised.stepping = Stepping::Penalised;
    let states = [State::REST, State::along_x(1.4, 0.1, 1.1)];
    let [left, right] = states.map(Boundary::Inflow);
    let mut streams = config(line(12), Boundaries::line(left, right), 0.02);
    let velocity = streams.velocity_space().expect("velocities");
    for (incoming, state) in streams.incoming.iter_mut().zip(states) {
        *incoming = maxwellian(&streams.operator.grid, &velocity, state).expect("a stream");
    }
    streams.initial = Initial::Shares((0..12).map(|i| f64::from(i) / 11.0).collect());
    [
        (long, 3),
        (upwind, 3),
        (square, 2),
        (penalised, 2),
        (streams, 2),
    ]
}

/// Distributions after some steps on so many emulators.
fn after(mut config: FlowConfig, devices: usize) -> Vec<f64> {
    config.operator.compute = Compute::new(Backend::Emulator)
        .with_precision(Precision::F32)
        .with_devices(Devices::Number(devices));
    let mut flow = Flow::new(config).expect("a flow");
    flow.advance(1).expect("a step");
    let kept = flow.checkpoint().expect("a checkpoint");
    flow.advance(1).expect("a step");
    let state = flow.state().expect("distributions");
    let mut resumed = Flow::resume(kept).expect("a resumed flow");
    resumed.advance(1).expect("a step");
    assert_eq!(resumed.state().expect("distributions"), state);
    state
}

#[test]
fn devices_have_the_bits_of_one() {
    for (config, most) in cases() {
        let alone = after(config.clone(), 1);
        for devices in 2..=most {
            assert!(after(config.clone(), devices) == alone, "{devices} devices");
        }
    }
}

/// The results of a rank, and its piece of a checkpoint before the last step.
#[derive(Debug, PartialEq)]
struct Outcome {
    residuals: Vec<f64>,
    look: Look,
    state: Vec<f64>,
    head: Checkpoint,
}

fn outcome(
    config: &FlowConfig,
    transport: Arc<dyn Transport>,
) -> Result<(Outcome, CheckpointPart)> {
    let mut flow = Flow::over(config.clone(), transport)?;
    let mut residuals = vec![flow.residual()?];
    flow.advance(2)?;
    residuals.push(flow.residual()?);
    let (head, part) = (flow.checkpoint_head(), flow.checkpoint_part()?);
    flow.look()?;
    flow.advance(1)?;
    residuals.push(flow.residual()?);
    let outcome = Outcome {
        residuals,
        look: flow.look()?,
        state: flow.state()?,
        head,
    };
    Ok((outcome, part))
}

/// The last step again, from pieces of a checkpoint.
fn resumed(
    head: &Checkpoint,
    parts: &[CheckpointPart],
    transport: Arc<dyn Transport>,
) -> Result<(f64, Look, Vec<f64>)> {
    let read = |_: &[Range<usize>]| Ok(parts.to_vec());
    let mut flow = Flow::resume_parts(head.clone(), transport, read)?;
    flow.advance(1)?;
    Ok((flow.residual()?, flow.look()?, flow.state()?))
}

/// Each number of ranks has the results of one, and goes on from the pieces of the number before it.
fn compare(config: &FlowConfig, most: usize) {
    let mut alone = Threads::on_all(1, |rank| outcome(config, Arc::new(rank)));
    let (alone, part) = alone.remove(0).expect("one rank");
    let mut parts = vec![part];
    for ranks in (2..=most).chain([1]) {
        let again = Threads::on_all(ranks, |rank| resumed(&alone.head, &parts, Arc::new(rank)));
        for again in again {
            let (residual, look, state) = again.expect("a resumed flow");
            assert_eq!(Some(&residual), alone.residuals.last(), "{ranks} ranks");
            assert!(look == alone.look, "{ranks} ranks");
            assert!(state == alone.state, "{ranks} ranks");
        }
        let all = Threads::on_all(ranks, |rank| outcome(config, Arc::new(rank)));
        parts.clear();
        for rank in all {
            let (found, part) = rank.expect("a rank");
            assert_eq!(found.residuals, alone.residuals, "{ranks} ranks");
            assert!(found == alone, "{ranks} ranks");
            parts.push(part);
        }
    }
}

#[test]
fn ranks_on_the_cpu_have_the_bits_of_one() {
    for (mut config, most) in cases() {
        for precision in Precision::ALL {
            config.operator.compute = Compute::new(Backend::Cpu).with_precision(precision);
            compare(&config, most);
        }
    }
}

#[test]
fn ranks_with_kernels_have_the_bits_of_one() {
    let [_, (ring, _), (plane, most), ..] = cases();
    for mut config in [ring, plane] {
        config.operator.compute = Compute::new(Backend::Emulator).with_precision(Precision::F32);
        compare(&config, most);
    }
}

/// Whether a pass along the cut has the bits of the whole on all ranks, with ghosts of NaN from the distance `known` beyond a cut on.
fn streams_with(config: &FlowConfig, ranks: usize, known: impl Fn(usize) -> usize) -> bool {
    let stream = |pass: &Pass, f: &[f64], ghosts: &[f64]| {
        let mut to = vec![0.0; f.len()];
        pass.stream([f, ghosts], &pass.densities(f), &mut to);
        to
    };
    let direction = config.space.dimensions() - 1;
    let whole = &passes(config).expect("passes")[direction];
    let all_cells = config.made(0..config.space.cells()).expect("a start");
    let expected = stream(whole, &all_cells, &[]);
    let cuts = Threads::all(ranks).into_iter().map(|rank| {
        let cut = Cut::new(config, Arc::new(rank)).expect("a cut");
        cut.expect("several ranks")
    });
    let mut same = cuts.map(|cut| {
        let local = cut.local(config);
        let mut pass = cut.passes(&local).expect("passes").swap_remove(direction);
        let depth = cut.depth();
        let deeper = depth + 1;
        pass.lines.ghosts = deeper as u32;
        let Part { own, all, .. } = &cut.part;
        let beyond = [
            own.start + all - deeper..own.start + all,
            own.end..own.end + deeper,
        ];
        let mut ghosts = Vec::new();
        for (side, places) in beyond.into_iter().enumerate() {
            if cut.part.neighbours[side].is_none() {
                continue;
            }
            for (k, place) in places.enumerate() {
                let distance = if side == 0 { deeper - 1 - k } else { k };
                let values = &all_cells[place % all * cut.place..][..cut.place];
                match distance < known(depth) {
                    true => ghosts.extend_from_slice(values),
                    false => ghosts.extend(vec![f64::NAN; cut.place]),
                }
            }
        }
        let own = local.made(0..local.space.cells()).expect("a start");
        stream(&pass, &own, &ghosts) == expected[cut.own()]
    });
    same.all(|same| same)
}

#[test]
fn no_ghosts_are_read_but_those_that_are_sent() {
    for (config, most) in cases() {
        for ranks in 2..=most {
            assert!(streams_with(&config, ranks, |depth| depth));
            assert!(!streams_with(&config, ranks, |depth| depth - 1));
        }
    }
}

#[test]
fn ranks_that_cannot_share_a_flow_are_refused() {
    let ends = Boundaries::line(Boundary::Specular, Boundary::Specular);
    let config = config(Space::line(8, [0.0, 1.0]).expect("cells"), ends, 0.02);
    let devices = |devices| Compute::new(Backend::Emulator).with_devices(Devices::Number(devices));
    let refused = |compute: Compute, ranks: usize| {
        let mut config = config.clone();
        config.operator.compute = compute;
        let flows = Threads::on_all(ranks, |rank| Flow::over(config.clone(), Arc::new(rank)));
        let errors = flows
            .into_iter()
            .map(|flow| flow.err().map(|e| e.to_string()));
        let mut errors: Vec<String> = errors.map(|error| error.expect("a refusal")).collect();
        errors.dedup();
        assert_eq!(errors.len(), 1, "{errors:?}");
        errors.remove(0)
    };
    for (compute, ranks, expected) in [
        (devices(3), 1, "ranks: 3 for 8 cells along x; expected "),
        (
            Backend::Cpu.into(),
            3,
            "ranks: 3 for 8 cells along x; expected ",
        ),
        (devices(1), 2, "devices: 1; expected none for several ranks"),
        (
            Compute::new(Backend::Cpu).with_threads(1),
            2,
            "threads: 1; expected none for several ranks",
        ),
        (
            Backend::Reference.into(),
            2,
            "backend: reference; expected auto, cuda, cpu or emulator for several ranks",
        ),
    ] {
        let error = refused(compute, ranks);
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn pieces_of_another_run_are_refused() {
    let [(mut config, _), ..] = cases();
    config.operator.compute = Backend::Cpu.into();
    let mut flow = Flow::new(config).expect("a flow");
    let (head, part) = (
        flow.checkpoint_head(),
        flow.checkpoint_part().expect("a piece"),
    );
    let refused = |part: CheckpointPart| {
        let errors = Threads::on_all(2, |rank| {
            let read = |_: &[Range<usize>]| Ok(vec![part.clone()]);
            Flow::resume_parts(head.clone(), Arc::new(rank), read).err()
        });
        let errors: Vec<_> = errors
            .into_iter()
            .flatten()
            .map(|e| e.to_string())
            .collect();
        assert!(!errors.is_empty());
        errors.concat()
    };
    let mut later = part.clone();
    later.step = 3;
    let error = refused(later);
    assert!(
        error.contains("pieces of another problem at step 3"),
        "{error}"
    );
    let cells = part.cells.clone();
    let of_model = CheckpointPart::new(cells, part.extra.clone(), part.extra.clone(), 0);
    let error = refused(of_model.expect("a piece"));
    assert!(
        error.contains("pieces of another problem at step 0"),
        "{error}"
    );
    for value in [f64::INFINITY, -1.0] {
        let mut wrong = part.clone();
        wrong.extra[5] = value;
        let error = refused(wrong);
        let expected = "negative or not finite before the first step";
        // Each of the two ranks finds it, wherever the cell is.
        assert_eq!(error.matches(expected).count(), 2, "{error}");
    }
}
