//! A sweep whose velocities are divided among devices. Fields and walls are those of all: each device finds the sums over its own velocities, and these are added in the order of the
//! devices. So the result does not depend on which of them is ready first. No values pass between devices within a sweep.

use super::device;
use super::engine::Sweeps;
use super::nodes::Nodes;
use super::sweep::{Inflow, Input, Sweep, Swept};
use crate::compute::{Precision, on_each};
use crate::error::Result;
use crate::flow::ring;
use crate::flow::share::{Part, Share, parts};
use crate::machine::Machine;

/// The devices in their order.
struct Parts(Vec<Part<Nodes, dyn Sweeps>>);

/// The engine of one machine or of several.
///
/// # Errors
/// No machine; those of one that cannot have the sweep.
pub(super) fn over<M: Machine + 'static>(
    machines: Vec<M>,
    precision: Precision,
    sweep: &Sweep<'_>,
    input: &Input,
) -> Result<Box<dyn Sweeps>> {
    let make = |machine: M, sweep: &Sweep<'_>, input: &Input| match &sweep.space.rings {
        Some(_) => ring::sweep_on_machine(machine, precision, sweep, input),
        None => device::new(machine, precision, sweep, &input.sides),
    };
    let machines = match <[M; 1]>::try_from(machines) {
        Ok([machine]) => return make(machine, sweep, input),
        Err(machines) => machines,
    };
    let divided = sweep.nodes.divided(machines.len());
    let parts = parts(machines, divided, |machine, nodes, share| {
        make(machine, &of_nodes(sweep, nodes), &of_share(input, share))
    })?;
    Ok(Box::new(Parts(parts)))
}

/// The sweep of some of the velocities.
fn of_nodes<'a>(sweep: &Sweep<'a>, nodes: &'a Nodes) -> Sweep<'a> {
    Sweep { nodes, ..*sweep }
}

/// The input of some of the velocities.
fn of_share(input: &Input, share: &Share) -> Input {
    Input {
        cells: input.cells.clone(),
        facets: input.facets.clone(),
        images: share.own(&input.images),
        sides: input.sides.each_ref().map(|side| match side {
            Inflow::Wall(faces, part, values) => {
                Inflow::Wall(faces.clone(), *part, share.own(values))
            }
            Inflow::Values(values) => Inflow::Values(share.own(values)),
            same => same.clone(),
        }),
        drifts: input.drifts,
    }
}

impl Sweeps for Parts {
    fn run(&mut self, sweep: &Sweep<'_>, input: &Input) -> Result<Swept> {
        let found = on_each(&mut self.0, |part| {
            let sweep = of_nodes(sweep, &part.nodes);
            part.engine.run(&sweep, &of_share(input, &part.share))
        })?;
        let mut all = sweep.empty();
        for (Part { share, .. }, found) in self.0.iter().zip(found) {
            all.add(&found.cells, &found.facets, &found.sides);
            share.put(&found.arrived, &mut all.arrived);
            for (rows, own) in all.left.iter_mut().zip(&found.left) {
                share.put(own, rows);
            }
        }
        Ok(all)
    }

    fn unit(&self) -> f64 {
        let units = self.0.iter().map(|part| part.engine.unit());
        units.fold(f64::EPSILON, f64::max)
    }
}
