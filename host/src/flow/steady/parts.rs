//! A sweep whose velocities are divided among devices, as in space: sums are added in the order of the devices.

use super::engine::Sweeps;
use super::sweep::{Inflow, Input, Sweep, Swept};
use crate::compute::{Precision, on_each};
use crate::error::Result;
use crate::flow::nodes::Nodes;
use crate::flow::share::{Part, Share, parts};
use crate::machine::Machine;

/// The devices in their order.
struct Parts(Vec<Part<Nodes, dyn Sweeps>>);

/// The engine of one machine or of several.
///
/// # Errors
/// No machine; those of [`super::device::new`].
pub(super) fn over<M: Machine + 'static>(
    machines: Vec<M>,
    precision: Precision,
    sweep: &Sweep<'_>,
    input: &Input,
) -> Result<Box<dyn Sweeps>> {
    let machines = match <[M; 1]>::try_from(machines) {
        Ok([machine]) => return super::device::new(machine, precision, sweep, &input.sides),
        Err(machines) => machines,
    };
    let divided = sweep.nodes.divided(machines.len());
    let parts = parts(machines, divided, |machine, nodes, share| {
        let sides = &of_share(input, share).sides;
        super::device::new(machine, precision, &of_nodes(sweep, nodes), sides)
    })?;
    Ok(Box::new(Parts(parts)))
}

/// The sweep of some of the velocities.
fn of_nodes<'a>(sweep: &Sweep<'a>, nodes: &'a Nodes) -> Sweep<'a> {
    Sweep {
        nodes,
        stages: sweep.stages.clone(),
        ..*sweep
    }
}

/// The input of some of the velocities.
fn of_share(input: &Input, share: &Share) -> Input {
    Input {
        cells: input.cells.clone(),
        segments: input.segments.clone(),
        mirrored: share.own(&input.mirrored),
        sides: input.sides.each_ref().map(|side| match side {
            Inflow::Wall {
                faces,
                accommodation,
                mirrored,
            } => Inflow::Wall {
                faces: faces.clone(),
                accommodation: *accommodation,
                mirrored: share.own(mirrored),
            },
            Inflow::Values(values) => Inflow::Values(share.own(values)),
            Inflow::Closed { jump, values } => Inflow::Closed {
                jump: *jump,
                values: share.own(values),
            },
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
            all.add(&found.cells, &found.segments, &found.sides);
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
