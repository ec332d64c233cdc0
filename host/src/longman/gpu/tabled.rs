//! The oscillator-table mode with nothing but sums: fixed accelerators, no verdict.
//!
//! $$ \int_0^\infty g(x)\, \mathrm{osc}(\omega x)\, dx = \frac{1}{\omega} \sum_j W_j\, g(s_j / \omega), \qquad W_j = c_k w_g h_k\, \mathrm{osc}(s_j): $$
//!
//! nodes and weights do not depend on the integral. The error is estimated by the difference between the two accelerators, of which Euler's is the
//! less exact on most amplitudes; it sees no error of the quadrature. For an estimate to rely on see [`batch`](super::batch).

use std::fmt;

use rarefy_kernels::longman as kernels;
use rarefy_kernels::{Quad, Real};
use serde::{Deserialize, Serialize};

use super::batch::Oscillation;
use super::fixed::Functions;
use super::rows;
use crate::error::{Error, Result};
use crate::longman::quadrature::GAUSS_POINTS;
use crate::machine::{Grid, Machine};
use crate::memory_plan::check_shared;

/// The amplitudes that have a kernel of this mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Tabled {
    /// `e^(-lambda x)`: parameter lambda.
    Damped,
    /// `x^mu e^(-lambda x)`: parameters mu, lambda.
    PowerDamped,
}

/// Sizes of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TableRule {
    /// The oscillation: one with a table of its own.
    pub oscillation: Oscillation,
    /// Areas, 4 to 64.
    pub areas: usize,
    /// Gauss nodes of an area and of a panel of the head.
    pub nodes: usize,
    /// Panels of the head, each four times as wide as the one before it.
    pub panels: usize,
}

impl TableRule {
    /// Evaluations of the amplitude for one integral.
    pub fn evaluations(&self) -> usize {
        (self.areas + self.panels) * self.nodes
    }
}

/// Integrals over one table in the memory of a machine.
pub struct TabledBatch<M: Machine, T: Real> {
    amplitude: Tabled,
    integrals: usize,
    count: u32,
    nodes: M::Buffer<Quad<T>>,
    frequencies: M::Buffer<T>,
    parameters: M::Buffer<T>,
    values: M::Buffer<T>,
    errors: M::Buffer<T>,
}

impl<M: Machine, T: Real> fmt::Debug for TabledBatch<M, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TabledBatch")
            .field("amplitude", &self.amplitude)
            .field("integrals", &self.integrals)
            .finish_non_exhaustive()
    }
}

impl<M: Machine, T: Real> TabledBatch<M, T> {
    /// Makes the table and moves it and the parameters to the machine. `parameters` are columns: all values of the first parameter, then of the second.
    ///
    /// # Errors
    /// No integrals, or parameters of another number; sizes or an oscillation out of range; a fault of the device.
    pub fn new(
        machine: &M,
        rule: &TableRule,
        amplitude: Tabled,
        frequencies: &[T],
        parameters: &[T],
    ) -> Result<Self> {
        let integrals = frequencies.len();
        let wanted = match amplitude {
            Tabled::Damped => 1,
            Tabled::PowerDamped => 2,
        };
        if integrals == 0 || parameters.len() != wanted * integrals {
            return Err(Error::input(format!(
                "{integrals} frequencies and {} parameters were given; give {wanted} parameters for each of at least one integral",
                parameters.len()
            )));
        }
        if !(4..=64).contains(&rule.areas)
            || !(1..=16).contains(&rule.panels)
            || !GAUSS_POINTS.contains(&rule.nodes)
        {
            return Err(Error::input(format!(
                "a table of {} areas, {} panels and {} nodes was asked for; give 4 to 64 areas, 1 to 16 panels, 2 to 64 nodes",
                rule.areas, rule.panels, rule.nodes
            )));
        }
        rule.oscillation.check(rule.areas)?;
        let table = rows::sums(&rule.oscillation, rule.areas, rule.nodes, rule.panels);
        check_shared(
            &machine.limits()?,
            "the table of nodes",
            size_of_val(&table[..]) / size_of::<f64>() * size_of::<T>(),
            "use fewer areas or nodes",
        )?;
        Ok(Self {
            amplitude,
            integrals,
            count: table.len() as u32,
            nodes: machine.upload(&rows::rounded::<T>(&table))?,
            frequencies: machine.upload(frequencies)?,
            parameters: machine.upload(parameters)?,
            values: machine.allocate(integrals)?,
            errors: machine.allocate(integrals)?,
        })
    }

    /// Computes all integrals.
    ///
    /// # Errors
    /// A fault of the device.
    pub fn launch(&mut self, machine: &M, functions: Functions) -> Result<()> {
        let grid = Grid::per_item(self.integrals, kernels::TABLE_THREADS);
        macro_rules! launch {
            ($kernel:ident) => {
                machine.launch(
                    grid,
                    kernels::$kernel {
                        nodes: &self.nodes,
                        frequencies: &self.frequencies,
                        parameters: &self.parameters,
                        values: &mut self.values,
                        errors: &mut self.errors,
                        count: self.count,
                    },
                )
            };
        }
        match (self.amplitude, functions) {
            (Tabled::Damped, Functions::Software) => launch!(tabled_damped),
            (Tabled::PowerDamped, Functions::Software) => launch!(tabled_power),
            (Tabled::Damped, Functions::Hardware) if T::NAME == "f32" => {
                launch!(tabled_damped_hardware)
            }
            (_, Functions::Hardware) => Err(Error::input(
                "hardware functions are of single precision and for the amplitude e^(-lambda x); choose software functions",
            )),
        }
    }

    /// Values and error estimates of the last launch.
    ///
    /// # Errors
    /// A fault of the device.
    pub fn results(&self, machine: &M) -> Result<(Vec<T>, Vec<T>)> {
        let (mut values, mut errors) =
            (vec![T::ZERO; self.integrals], vec![T::ZERO; self.integrals]);
        machine.read(&self.values, &mut values)?;
        machine.read(&self.errors, &mut errors)?;
        Ok((values, errors))
    }
}
