//! Molecules that rotate, as the kernels have them.

use rarefy_kernels::bgk::rotating::Rotating;

use crate::bgk::Rotation;

/// The numbers of a gas that its relaxation needs.
pub(super) fn rotating(rotation: &Rotation) -> Rotating {
    // The matrix is linear in 1/Z.
    let at = |rate: f64| {
        let [[tt, tr], [rt, rr]] = rotation.matrix(1.0 / rate);
        [tt, tr, rt, rr]
    };
    let (matrix, other) = (at(0.0), at(1.0));
    Rotating {
        freedom: rotation.freedom,
        rates: rotation.rates_of_relaxation(),
        fastest: 1.0 / rotation.least_relaxation(),
        matrix,
        growth: [0, 1, 2, 3].map(|k| other[k] - matrix[k]),
    }
}

#[cfg(test)]
mod tests {
    use super::super::MachineEngine;
    use super::*;
    use crate::bgk::transient::engine::{Engine, StepPlan};
    use crate::bgk::transient::rotating::Internal;
    use crate::bgk::{
        Axis, Boundaries, Boundary, Gas, Model, Problem, RotationalCollisions, Scheme, Space,
        Species, State, VelocitySpace, Wall,
    };
    use crate::emulator::{Emulator, ThreadOrder};
    use rarefy_kernels::Real;

    /// Lines and planes of nitrogen between walls, mirrors and open ends, with lanes of several cells and of one.
    fn problems() -> Vec<Problem> {
        let gas = Gas {
            model: Model::Polyatomic,
            rotation: Species::Nitrogen.rotation(),
            frequency: 3.0,
            ..Gas::default()
        };
        let axes = [8, 9].map(|n| Axis::uniform(n, -4.2, 4.2).expect("an axis"));
        let stirred = |x: f64, y: f64| State {
            density: 1.0 + 0.1 * (4.0 * x + 3.0 * y).sin(),
            velocity: [0.2 * (3.0 * x).cos(), 0.1 * (5.0 * x - y).sin()],
            temperature: 1.0 + 0.1 * (2.0 * x - 6.0 * y).cos(),
        };
        let wall = |speed: f64, accommodation| {
            Boundary::Wall(Wall {
                accommodation,
                ..Wall::diffuse(1.2).moving([speed, 0.0])
            })
        };
        let open = Boundary::Inflow(State::along_x(1.0, -0.3, 1.2));
        let mut all = Vec::new();
        for (cells, ends) in [
            (40, [wall(0.0, 1.0), open]),
            (37, [wall(0.0, 0.4), Boundary::Specular]),
        ] {
            let velocity = VelocitySpace::new(axes[..1].to_vec(), 1).expect("velocities");
            let space = Space::line(cells, [0.0, 1.0]).expect("cells");
            let ends = Boundaries::line(ends[0], ends[1]);
            all.push(Problem::new(space, velocity, gas, ends, |x, _| {
                let state = stirred(x, 0.0);
                State::along_x(state.density, state.velocity[0], state.temperature)
            }));
        }
        for (cells, ends) in [
            (
                [12, 11],
                [wall(0.0, 1.0), open, wall(0.0, 1.0), wall(0.5, 1.0)],
            ),
            (
                [13, 7],
                [
                    Boundary::Specular,
                    wall(0.0, 0.4),
                    wall(0.1, 0.4),
                    Boundary::Specular,
                ],
            ),
            (
                [12, 10],
                [
                    Boundary::Periodic,
                    Boundary::Periodic,
                    wall(0.0, 1.0),
                    wall(0.2, 0.6),
                ],
            ),
        ] {
            let velocity = VelocitySpace::new(axes.to_vec(), 2).expect("velocities");
            let space = Space::rectangle(cells, [0.0, 1.0], [0.0, 1.0]).expect("cells");
            let [left, right, bottom, top] = ends;
            let ends = Boundaries {
                left,
                right,
                bottom,
                top,
            };
            all.push(Problem::new(space, velocity, gas, ends, stirred));
        }
        let with_energy = |problem: crate::error::Result<Problem>| {
            let problem = problem.expect("a problem");
            let velocity = problem.velocity.clone().with_internal_energy(2.0);
            Problem {
                velocity: velocity.expect("reduced velocities"),
                ..problem
            }
        };
        all.into_iter().map(with_energy).collect()
    }

    /// Populations, internal energy and fluxes after three steps with the threads of a block in an order, in bits.
    fn after<T: Real + Default>(problem: &Problem, plan: StepPlan, order: ThreadOrder) -> Vec<u64> {
        let machine = Emulator::new(order);
        let engine = MachineEngine::<_, T>::new(machine, String::new(), problem.clone(), plan);
        let mut engine = engine.expect("an engine");
        engine.advance(3).expect("three steps");
        let populations = engine.save().expect("populations").populations;
        let internal = engine.internal().expect("internal energy");
        let fluxes = engine.fluxes().expect("fluxes");
        let fluxes = fluxes.iter().flat_map(|flux| flux.numbers());
        let internal = internal.iter().flat_map(Internal::numbers);
        let all = populations.into_iter().chain(internal).chain(fluxes);
        all.map(f64::to_bits).collect()
    }

    fn order_of_threads_does_not_matter<T: Real + Default>() {
        for (k, problem) in problems().iter().enumerate() {
            // The fastest molecules fly less than a cell, or over several.
            for (scheme, dt) in [
                (Scheme::VanLeer, 0.005),
                (Scheme::Upwind, 0.005),
                (Scheme::VanLeer, 0.06),
            ] {
                let plan = StepPlan {
                    dt,
                    scheme,
                    relaxed: false,
                };
                let usual = after::<T>(problem, plan, ThreadOrder::Ascending);
                for order in [
                    ThreadOrder::Descending,
                    ThreadOrder::Random(5),
                    ThreadOrder::Random(7),
                ] {
                    let found = after::<T>(problem, plan, order);
                    assert!(found == usual, "{k}, {scheme:?}, {dt}, {order:?}");
                }
            }
        }
    }

    #[test]
    fn threads_in_any_order_have_the_same_bits() {
        order_of_threads_does_not_matter::<f64>();
        order_of_threads_does_not_matter::<f32>();
    }

    #[test]
    fn rates_and_matrices_are_those_of_the_gas() {
        let given = [
            RotationalCollisions::Constant(5.5),
            RotationalCollisions::NITROGEN,
            RotationalCollisions::Air,
        ];
        for (collisions, eucken) in given.into_iter().zip([None, None, Some([2.3, 1.4])]) {
            let rotation = Rotation {
                freedom: 2.3,
                collisions,
                eucken,
                kelvin: 320.0,
                ..Rotation::default()
            };
            let of = rotating(&rotation);
            for temperature in [0.05_f64, 0.6, 1.0, 7.5] {
                let root = 1.0 / temperature.sqrt();
                let [a, b, c] = of.rates;
                let rate = (a + root * (b + root * c)).min(of.fastest);
                let z = rotation.relaxation_of(temperature);
                assert!((rate * z - 1.0).abs() < 1e-14, "{rotation:?} {temperature}");
                let expected = rotation.matrix(z);
                for (k, expected) in expected.as_flattened().iter().enumerate() {
                    let found = of.matrix[k] + rate * of.growth[k];
                    assert!((found - expected).abs() < 1e-14, "{rotation:?}: {found}");
                }
            }
        }
    }
}
