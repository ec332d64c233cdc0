//! The paper's method on a machine: one block an integral with the table of differences, or a part of a warp an integral.

use std::fmt;

use rarefy_kernels::longman as kernels;
use rarefy_kernels::{Quad, Real};
use serde::{Deserialize, Serialize};

use super::rule::{PaperRule, same_length};
use crate::error::{Error, Result};
use crate::longman::accelerate::euler_weights;
use crate::longman::quadrature::gauss;
use crate::machine::{Grid, Machine};

/// Which kernel computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// The paper's: one block an integral, the table of differences in shared memory.
    Table,
    /// A part of a warp an integral, differences by shuffles.
    Warp,
}

/// Which functions the kernels compute with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Functions {
    /// Software, to roundoff.
    Software,
    /// The special function unit, in `f32` only.
    Hardware,
}

/// Threads that fill a GPU: with so many integrals each has a thread of its own.
const MANY_THREADS: u32 = 1 << 17;

/// Lanes that share an integral, at most `most`: as few as fill a GPU.
fn lanes_for(integrals: u32, most: u32) -> u32 {
    let wanted = MANY_THREADS.div_ceil(integrals);
    wanted.next_power_of_two().min(most)
}

/// Integrals of `e^(-lambda_i x) osc(omega_i x)` in the memory of a machine.
///
/// ```
/// use rarefy::emulator::Emulator;
/// use rarefy::longman::paper::{FixedBatch, Form, Functions};
/// use rarefy::longman::paper::PaperRule;
///
/// let machine = Emulator::default();
/// let rule = PaperRule::default();
/// let mut batch = FixedBatch::<_, f64>::new(&machine, &rule, &[0.5], &[10.0])?;
/// batch.launch(&machine, Form::Warp, Functions::Software)?;
/// let value = batch.values(&machine)?[0];
/// assert!((value - 0.004_987_531_172_07).abs() < 1e-13);
/// # Ok::<(), rarefy::Error>(())
/// ```
pub struct FixedBatch<M: Machine, T: Real> {
    rule: kernels::FixedRule,
    gauss: M::Buffer<Quad<T>>,
    frequencies: M::Buffer<T>,
    parameters: M::Buffer<T>,
    values: M::Buffer<T>,
    columns: M::Buffer<T>,
}

impl<M: Machine, T: Real> fmt::Debug for FixedBatch<M, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FixedBatch")
            .field("rule", &self.rule)
            .finish_non_exhaustive()
    }
}

impl<M: Machine, T: Real> FixedBatch<M, T> {
    /// Moves the parameters to the machine.
    ///
    /// # Errors
    /// As [`PaperRule::check`]; no integrals, or lambda and omega of different numbers; a fault of the device.
    pub fn new(machine: &M, rule: &PaperRule, lambda: &[f64], omega: &[f64]) -> Result<Self> {
        let to = |values: &[f64]| -> Vec<T> { values.iter().map(|v| T::from_f64(*v)).collect() };
        same_length(lambda, omega)?;
        Self::from_columns(machine, rule, &to(lambda), &to(omega))
    }

    /// The same with parameters in the kernels' own type, which are not checked: the kernels give NaN for what is none.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn from_columns(machine: &M, rule: &PaperRule, lambda: &[T], omega: &[T]) -> Result<Self> {
        rule.check()?;
        if lambda.len() != omega.len() || lambda.is_empty() || lambda.len() > i32::MAX as usize {
            return Err(Error::invalid(
                "lambda and omega",
                format!("{} and {} values", lambda.len(), omega.len()),
                format!("one of each for every integral, 1 to {}", i32::MAX),
            ));
        }
        let points = gauss(rule.nodes);
        // The weights of Euler's sum, with its signs, follow the nodes, then the nodes of the head.
        let signs = [1.0, -1.0].into_iter().cycle();
        let weights = euler_weights(rule.areas).into_iter().zip(signs);
        let weights = weights.map(|(c, sign)| Quad([sign * c, 0.0, 0.0, 0.0].map(T::from_f64)));
        let quad = |a: f64, b: f64| Quad([a, b, 0.0, 0.0].map(T::from_f64));
        let points: Vec<(f64, f64)> = (points.nodes.iter().zip(&points.weights))
            .map(|(node, weight)| (0.5 + 0.5 * node, 0.5 * weight))
            .collect();
        let kernel_rule = rule.for_kernels(lambda.len());
        let head = (0..kernel_rule.panels).flat_map(|panel| {
            points.iter().map(move |&(node, weight)| {
                let at = kernel_rule.width * (f64::from(panel) + node);
                // To the first zero, whose sine has the sign of the head.
                let phase = std::f64::consts::PI * (kernel_rule.first - at);
                quad(at, weight * phase.sin())
            })
        });
        let areas = points.iter().map(|&(node, weight)| {
            let phase = std::f64::consts::PI * node;
            quad(node, weight * phase.sin())
        });
        let nodes: Vec<Quad<T>> = areas.chain(weights).chain(head).collect();
        Ok(Self {
            rule: kernel_rule,
            gauss: machine.upload(&nodes)?,
            frequencies: machine.upload(omega)?,
            parameters: machine.upload(lambda)?,
            values: machine.allocate(lambda.len())?,
            columns: machine.allocate(1)?,
        })
    }

    /// Has launches write the columns of differences too.
    ///
    /// # Errors
    /// Too little memory.
    pub fn keep_columns(&mut self, machine: &M) -> Result<()> {
        let len = self.rule.areas as usize * self.rule.integrals as usize;
        self.columns = machine.allocate(len)?;
        self.rule.columns = 1;
        Ok(())
    }

    /// Computes all integrals.
    ///
    /// # Errors
    /// Hardware functions in `f64`; a fault of the device.
    pub fn launch(&mut self, machine: &M, form: Form, functions: Functions) -> Result<()> {
        if functions == Functions::Hardware && T::NAME != "f32" {
            return Err(Error::invalid(
                "functions",
                "hardware",
                "software functions in f64: those of the hardware are of single precision",
            ));
        }
        let mut rule = self.rule;
        if rule.columns == 0 {
            rule.lanes = lanes_for(rule.integrals, rule.lanes);
        }
        let grid = match form {
            Form::Table => Grid {
                blocks: rule.integrals,
                threads: rule.areas.next_multiple_of(32),
            },
            Form::Warp => {
                let per_block = kernels::WARP_THREADS / rule.lanes;
                Grid {
                    blocks: rule.integrals.div_ceil(per_block),
                    threads: kernels::WARP_THREADS,
                }
            }
        };
        macro_rules! launch {
            ($kernel:ident) => {
                Ok(machine.launch(
                    grid,
                    kernels::$kernel {
                        frequencies: &self.frequencies,
                        parameters: &self.parameters,
                        gauss: &self.gauss,
                        values: &mut self.values,
                        columns: &mut self.columns,
                        rule,
                    },
                )?)
            };
        }
        match (form, functions) {
            (Form::Table, Functions::Software) => launch!(difference_table),
            (Form::Table, Functions::Hardware) => launch!(difference_table_hardware),
            (Form::Warp, Functions::Software) => launch!(warp_differences),
            (Form::Warp, Functions::Hardware) => launch!(warp_differences_hardware),
        }
    }

    /// Replaces the parameters of all integrals.
    ///
    /// # Errors
    /// Other numbers of parameters than integrals; a fault of the device.
    pub fn set_parameters(&mut self, machine: &M, lambda: &[T], omega: &[T]) -> Result<()> {
        machine.write(&mut self.frequencies, omega)?;
        Ok(machine.write(&mut self.parameters, lambda)?)
    }

    /// Copies the integrals of the last launch to a slice of the same length.
    ///
    /// # Errors
    /// A slice of another length; a fault of the device.
    pub fn read_values(&self, machine: &M, values: &mut [T]) -> Result<()> {
        Ok(machine.read(&self.values, values)?)
    }

    /// The integrals of the last launch.
    ///
    /// # Errors
    /// A fault of the device.
    pub fn values(&self, machine: &M) -> Result<Vec<T>> {
        let mut values = vec![T::ZERO; self.rule.integrals as usize];
        machine.read(&self.values, &mut values)?;
        Ok(values)
    }

    /// `Delta^r V_0` of each integral, one integral after another; after [`keep_columns`](Self::keep_columns) and a launch.
    ///
    /// # Errors
    /// A fault of the device.
    pub fn columns(&self, machine: &M) -> Result<Vec<T>> {
        let mut columns = vec![T::ZERO; self.rule.areas as usize * self.rule.integrals as usize];
        machine.read(&self.columns, &mut columns)?;
        Ok(columns)
    }
}
