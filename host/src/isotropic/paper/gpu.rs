//! The stored forms on a machine: tables and launches.

use rarefy_kernels::Real;
use rarefy_kernels::isotropic::{self as kernels, STORED_THREADS};

use super::tables::{CompactTable, FullTable};
use crate::error::Result;
use crate::isotropic::Storage;
use crate::isotropic::coefficients::Counts;
use crate::isotropic::gpu::{ITEM_THREADS, Work, gather};
use crate::machine::{Grid, Machine};

/// Every coefficient, or one of each set of equal ones.
pub(in crate::isotropic) enum Stored<M: Machine, T: Real> {
    Full(Full<M, T>),
    Compact(Compact<M, T>),
}

impl<M: Machine, T: Real> Stored<M, T> {
    /// Bytes of tables and buffers on a machine.
    pub(in crate::isotropic) fn bytes(storage: Storage, cells: usize) -> u64 {
        let counts = Counts::of(cells);
        let coefficients = match storage {
            Storage::Compact => counts.reciprocal + counts.reciprocal / 4 + 64 * 1024,
            _ => counts.full,
        };
        coefficients * size_of::<T>() as u64 + (cells * cells * 8) as u64
    }

    /// The tables on a machine, and how many coefficients they have.
    pub(in crate::isotropic) fn new(
        machine: &M,
        storage: Storage,
        (cells, theta, corrected): (usize, f64, bool),
    ) -> Result<(Self, usize)> {
        Ok(match storage {
            Storage::Compact => {
                let (compact, len) = Compact::new(machine, cells, theta)?;
                (Self::Compact(compact), len)
            }
            _ => {
                let (full, len) = Full::new(machine, cells, theta, corrected)?;
                (Self::Full(full), len)
            }
        })
    }

    pub(in crate::isotropic) fn flows(
        &mut self,
        work: &Work<'_, M, T>,
        flux: &mut M::Buffer<f64>,
    ) -> Result<()> {
        match self {
            Self::Full(full) => full.flows(work, flux),
            Self::Compact(compact) => compact.flows(work, flux, 0),
        }
    }

    pub(in crate::isotropic) fn frequencies(
        &mut self,
        work: &Work<'_, M, T>,
        flux: &mut M::Buffer<f64>,
        frequency: &mut M::Buffer<f64>,
    ) -> Result<()> {
        match self {
            Self::Full(full) => full.frequencies(work, flux, frequency),
            Self::Compact(compact) => compact.flows(work, frequency, 1),
        }
    }
}

/// All jumps of a cell, stored.
pub(in crate::isotropic) struct Full<M: Machine, T: Real> {
    table: M::Buffer<T>,
    starts: M::Buffer<u64>,
    more: M::Buffer<f64>,
}

impl<M: Machine, T: Real> Full<M, T> {
    /// The tables on a machine, and how many coefficients they have.
    pub(in crate::isotropic) fn new(
        machine: &M,
        cells: usize,
        theta: f64,
        corrected: bool,
    ) -> Result<(Self, usize)> {
        let host = FullTable::<T>::new(cells, theta, corrected);
        let full = Self {
            table: machine.upload(&host.values)?,
            starts: machine.upload(&host.starts)?,
            more: machine.allocate(3 * cells)?,
        };
        Ok((full, host.values.len()))
    }

    pub(in crate::isotropic) fn flows(
        &mut self,
        work: &Work<'_, M, T>,
        flux: &mut M::Buffer<f64>,
    ) -> Result<()> {
        work.each_state(|base| self.flows_of(work, flux, base, 0))
    }

    /// The flows of the state that begins at `base`, if `detailed` with its frequencies.
    fn flows_of(
        &mut self,
        work: &Work<'_, M, T>,
        flux: &mut M::Buffer<f64>,
        base: u32,
        detailed: u32,
    ) -> Result<()> {
        Ok(work.machine.launch(
            Grid {
                blocks: work.cells,
                threads: STORED_THREADS,
            },
            kernels::full_flows {
                table: &self.table,
                starts: &self.starts,
                f: work.f,
                flux,
                more: &mut self.more,
                cells: work.cells,
                base,
                detailed,
            },
        )?)
    }

    pub(in crate::isotropic) fn frequencies(
        &mut self,
        work: &Work<'_, M, T>,
        flux: &mut M::Buffer<f64>,
        frequency: &mut M::Buffer<f64>,
    ) -> Result<()> {
        work.each_state(|base| {
            self.flows_of(work, flux, base, 1)?;
            Ok(work.machine.launch(
                Grid::per_item(work.cells as usize, ITEM_THREADS),
                kernels::place_values {
                    values: &self.more,
                    out: &mut *frequency,
                    count: work.cells,
                    base,
                },
            )?)
        })
    }
}

/// Jumps with reciprocity, stored once for both partners.
pub(in crate::isotropic) struct Compact<M: Machine, T: Real> {
    table: M::Buffer<T>,
    starts: M::Buffer<u64>,
    partners: M::Buffer<f64>,
}

impl<M: Machine, T: Real> Compact<M, T> {
    /// The tables on a machine, and how many coefficients they have.
    fn new(machine: &M, cells: usize, theta: f64) -> Result<(Self, usize)> {
        let host = CompactTable::<T>::new(cells, theta);
        let compact = Self {
            table: machine.upload(&host.values)?,
            starts: machine.upload(&host.starts)?,
            partners: machine.allocate(cells * cells)?,
        };
        Ok((compact, host.values.len()))
    }

    /// The flows, or the `frequencies`.
    fn flows(
        &mut self,
        work: &Work<'_, M, T>,
        out: &mut M::Buffer<f64>,
        frequencies: u32,
    ) -> Result<()> {
        let cells = work.cells;
        work.each_state(|base| {
            work.machine.launch(
                Grid {
                    blocks: 2 * cells - 1,
                    threads: STORED_THREADS,
                },
                kernels::compact_flows {
                    table: &self.table,
                    starts: &self.starts,
                    f: work.f,
                    flows: &mut self.partners,
                    cells,
                    base,
                    frequencies,
                },
            )?;
            gather(work, &self.partners, out, base, frequencies)
        })
    }
}
