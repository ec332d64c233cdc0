//! The velocities that one of several devices sweeps.

use crate::compute::on_each;
use crate::error::{Error, Result};

/// The places of a device's velocities among all.
pub(in crate::flow) struct Share {
    nodes: Vec<usize>,
    all: usize,
}

impl Share {
    /// These nodes of so many.
    pub(in crate::flow) fn new(nodes: Vec<usize>, all: usize) -> Self {
        Self { nodes, all }
    }

    /// Values at the nodes of the device, from rows of values at all nodes.
    pub(in crate::flow) fn own(&self, rows: &[f64]) -> Vec<f64> {
        let rows = rows.chunks_exact(self.all.max(1));
        let values = rows.flat_map(|row| self.nodes.iter().map(|&node| row[node]));
        values.collect()
    }

    /// Puts values at the nodes of the device into rows of values at all nodes.
    pub(in crate::flow) fn put(&self, own: &[f64], rows: &mut [f64]) {
        let own = own.chunks_exact(self.nodes.len().max(1));
        for (row, own) in rows.chunks_exact_mut(self.all.max(1)).zip(own) {
            for (&node, value) in self.nodes.iter().zip(own) {
                row[node] = *value;
            }
        }
    }
}

/// A device with its velocities and its engine.
pub(in crate::flow) struct Part<N, E: ?Sized> {
    pub(in crate::flow) nodes: N,
    pub(in crate::flow) share: Share,
    pub(in crate::flow) engine: Box<E>,
}

/// Assigns velocities to each machine, and makes its engine.
///
/// # Errors
/// No machine; those of `make`.
pub(in crate::flow) fn parts<M: Send, N: Send, E: Send + ?Sized>(
    machines: Vec<M>,
    divided: Vec<(N, Share)>,
    make: impl Fn(M, &N, &Share) -> Result<Box<E>> + Sync,
) -> Result<Vec<Part<N, E>>> {
    if machines.is_empty() {
        return Err(Error::invalid("devices", 0, "at least 1 device"));
    }
    on_each(machines.into_iter().zip(divided), |(machine, part)| {
        let (nodes, share) = part;
        let engine = make(machine, &nodes, &share)?;
        Ok(Part {
            nodes,
            share,
            engine,
        })
    })
}
