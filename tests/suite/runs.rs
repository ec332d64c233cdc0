//! Runs of the library, taken to their ends by its one loop.

use std::ops::ControlFlow;

use rarefy::bgk::steady::{SteadyConfig, SteadySolver};
use rarefy::bgk::{
    Axis, Boundaries, Boundary, Gas, March, Problem, Simulation, SimulationConfig, Space, State,
    VelocitySpace, Wall,
};
use rarefy::collision::{self, OperatorConfig, RelaxationConfig, Until, VelocityGrid};
use rarefy::isotropic::market::{Market, MarketConfig, Start};
use rarefy::isotropic::{self, CollisionKernel, EnergyGrid};
use rarefy::run::{Ending, Goal, Now, Run, drive, every};
use rarefy::{Backend, Precision};

/// Gas between plates, the right one hotter.
fn gap() -> Problem {
    let walls = [1.0, 1.2].map(|t| Boundary::Wall(Wall::diffuse(t)));
    let velocity = VelocitySpace::new(vec![Axis::uniform(12, -4.5, 4.5).unwrap()], 1).unwrap();
    let boundaries = Boundaries::line(walls[0], walls[1]);
    let space = Space::line(16, [0.0, 1.0]).unwrap();
    Problem::uniform(space, velocity, Gas::default(), boundaries, State::REST).unwrap()
}

fn simulation() -> Simulation {
    let mut config = SimulationConfig::new(gap(), 0.02);
    config.compute.backend = Backend::Cpu;
    Simulation::new(config).unwrap()
}

/// Observers divide a run, and leave its bits.
fn same_divided<R: Run>(mut whole: R, mut divided: R, steps: u64) {
    whole.advance(steps).unwrap();
    let mut seen = Vec::new();
    let mut observer = every(3, |_: &mut R, now: &Now| {
        seen.push(now.step);
        Ok(ControlFlow::Continue(()))
    });
    let ending = drive(&mut divided, &Goal::steps(steps), &mut observer).unwrap();
    assert_eq!(ending, Ending::Reached);
    let mut expected: Vec<u64> = (0..=steps).step_by(3).collect();
    if !steps.is_multiple_of(3) {
        expected.push(steps);
    }
    assert_eq!(seen, expected);
    assert_eq!(divided.state().unwrap(), whole.state().unwrap());
}

#[test]
fn a_run_has_the_same_bits_however_it_is_observed() {
    same_divided(simulation(), simulation(), 20);
    let march = || March::from(simulation());
    same_divided(march(), march(), 9);
    let relaxation = || {
        let grid = VelocityGrid::new(8, -6.0, 6.0).unwrap();
        let mut operator = OperatorConfig::new(grid);
        operator.compute.backend = Backend::Cpu;
        let config = RelaxationConfig::new(operator, Until::Steps(40));
        let f = collision::initial::TwoMaxwellians::default().sample(&grid);
        collision::Relaxation::new(config, f).unwrap()
    };
    same_divided(relaxation(), relaxation(), 8);
    let energies = || {
        let grid = EnergyGrid::new(32, 12.0).unwrap();
        let law = CollisionKernel::Power { theta: 0.0 };
        let mut operator = isotropic::OperatorConfig::new(grid, law);
        operator.compute.backend = Backend::Cpu;
        let config = isotropic::RelaxationConfig::new(operator);
        isotropic::Relaxation::new(config, &[isotropic::initial::bkw(&grid, 0.7)]).unwrap()
    };
    same_divided(energies(), energies(), 10);
    let market = || {
        let law = CollisionKernel::Money;
        let mut config = MarketConfig::on_grid(law, Start::Equal, 64, 12.0).unwrap();
        config.operator.compute.backend = Backend::Cpu;
        Market::new(config).unwrap()
    };
    same_divided(market(), market(), 7);
    let config = SteadyConfig {
        compute: Backend::Cpu.into(),
        ..SteadyConfig::default()
    };
    let solver = || SteadySolver::new(&gap(), &config).unwrap();
    same_divided(solver(), solver(), 4);
}

#[test]
fn runs_become_steady_by_their_residual() {
    let mut run = simulation();
    let mut goal = Goal::steady(1e-7);
    goal.every = Some(25);
    let mut residuals = Vec::new();
    let mut observer = |_: &mut Simulation, now: &Now| {
        residuals.extend(now.residual);
        Ok(ControlFlow::Continue(()))
    };
    assert_eq!(
        drive(&mut run, &goal, &mut observer).unwrap(),
        Ending::Steady
    );
    assert_eq!(residuals.len() as u64, run.steps_taken() / 25);
    assert!(residuals[0].is_infinite() && residuals.last().is_some_and(|last| *last <= 1e-7));
    // The iteration to the steady flow comes to the same temperatures.
    let config = SteadyConfig {
        compute: Backend::Cpu.into(),
        ..SteadyConfig::default()
    };
    let mut solver = SteadySolver::new(&gap(), &config).unwrap();
    let ending = drive(&mut solver, &Goal::default(), &mut ()).unwrap();
    assert_eq!(ending, Ending::Steady);
    let steady = solver.solution().unwrap();
    for (cell, state) in steady.cells.iter().zip(run.states().unwrap()) {
        assert!((cell.temperature - state.temperature).abs() < 2e-3);
    }
}

/// In f32 a relaxation cannot come as near to its equilibrium as is asked for.
#[test]
fn a_relaxation_whose_activity_no_longer_falls_is_stalled() {
    let grid = VelocityGrid::new(6, -3.0, 3.0).unwrap();
    let mut operator = OperatorConfig::new(grid);
    operator.compute.backend = Backend::Cpu;
    operator.compute.precision = Precision::F32;
    let config = RelaxationConfig::new(operator, Until::Equilibrium(1e-30));
    let f = collision::initial::TwoMaxwellians::default().sample(&grid);
    let mut run = collision::Relaxation::new(config, f).unwrap();
    let ending = drive(&mut run, &Goal::default(), &mut ()).unwrap();
    assert_eq!(ending, Ending::Stalled);
    assert!(run.is_done() && run.advance(10).unwrap() == 0);
    let least = run.history().iter();
    let least = least
        .min_by(|a, b| a.activity.total_cmp(&b.activity))
        .unwrap();
    assert_eq!(run.steps_taken() - least.step, 500);
    // A run that goes on from its checkpoint has stalled too.
    let again = collision::Relaxation::resume(run.checkpoint().unwrap()).unwrap();
    assert_eq!(again.ending(), Some(Ending::Stalled));
}
