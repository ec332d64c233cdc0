//! Outcomes of many integrals: one launch of one table, with value, error estimate, status, accelerator and condition of each.
//!
//! The kernels classify as the driver of the CPU does, by fixed means. Areas are computed by the Kronrod rule of 15 nodes, a head by tanh-sinh of one step, the
//! accelerators of Euler and of Cohen, Rodriguez Villegas and Zagier after skipping 0, N/4, N/3 or N/2 areas. They report OK where the estimate is within
//! the tolerance, and NOT_CONVERGED where roundoff alone exceeds it. All other cases stay undecided, and [`Batch::integrate`] returns `None`: areas that do not alternate, a head or an area that
//! needs refinement, numbers that are not finite.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use rarefy_kernels::longman::driver::{
    BATCH_THREADS, BatchRule, PANEL_NODES, ROW_QUADS, UNDECIDED,
};
use rarefy_kernels::longman::{self as kernels, Accelerator, Status, program::ProgramShape};
use rarefy_kernels::{Quad, Real};
use rayon::prelude::*;

pub use super::config::{BatchConfig, Oscillation};
use super::rows::{Tables, rounded};
use crate::error::{Error, Result};
use crate::longman::expression::Program;
use crate::machine::{Grid, Machine};
use crate::memory_plan::check_shared;

/// The amplitude of all integrals; each brings its parameters.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Amplitude<'a> {
    /// `e^(-lambda x)`: parameter lambda.
    Damped,
    /// `x^mu e^(-lambda x)`: parameters mu, lambda.
    PowerDamped,
    /// `x e^(-z u) / u`, `u = sqrt(x^2 + k^2)`: parameters k, z.
    Sommerfeld,
    /// `x^m / (x^2 + p^2)`, m = 0 or 1: parameters p, m.
    Rational,
    /// An expression, interpreted.
    Program(&'a Program),
}

impl Amplitude<'_> {
    /// Parameters that each integral brings.
    pub fn parameters(&self) -> usize {
        match self {
            Self::Damped => 1,
            Self::PowerDamped | Self::Sommerfeld | Self::Rational => 2,
            Self::Program(program) => program.parameters().len(),
        }
    }
}

/// Outcome of an integral on a machine.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Outcome {
    /// The integral.
    pub value: f64,
    /// Estimate of its error.
    pub error: f64,
    /// OK or NOT_CONVERGED.
    pub status: Status,
    /// The accelerator of the tail.
    pub accelerator: Accelerator,
    /// Sum of the magnitudes over the magnitude of the sum.
    pub condition: f64,
}

/// The buffers of one launch, for kernels of one's own: each is the argument of the same name.
#[allow(missing_docs, reason = "named as the arguments of the kernels")]
#[non_exhaustive]
pub struct Arguments<'a, M: Machine, T: Real> {
    pub head: &'a M::Buffer<Quad<T>>,
    pub nodes: &'a M::Buffer<Quad<T>>,
    pub rows: &'a M::Buffer<Quad<T>>,
    pub frequencies: &'a M::Buffer<T>,
    pub parameters: &'a M::Buffer<T>,
    pub values: &'a mut M::Buffer<T>,
    pub errors: &'a mut M::Buffer<T>,
    pub conditions: &'a mut M::Buffer<T>,
    pub codes: &'a mut M::Buffer<u32>,
    pub rule: BatchRule,
}

impl<M: Machine, T: Real> fmt::Debug for Arguments<'_, M, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Arguments")
            .field("rule", &self.rule)
            .finish_non_exhaustive()
    }
}

/// Integrals of a chunk at most, so that the buffers of one fit a quarter of the free memory.
fn chunk_len(free_bytes: u64, bytes_each: usize) -> usize {
    let fit = free_bytes / 4 / bytes_each as u64;
    usize::try_from(fit).unwrap_or(usize::MAX).clamp(1, 1 << 24)
}

/// A table in the memory of a machine, for any number of integrals.
pub struct Batch<'a, M: Machine, T: Interpret> {
    machine: &'a M,
    tables: Tables,
    head: M::Buffer<Quad<T>>,
    nodes: M::Buffer<Quad<T>>,
    rows: M::Buffer<Quad<T>>,
    chunk: Option<usize>,
    ready: Mutex<Option<Buffers<M, T>>>,
}

impl<M: Machine, T: Interpret> fmt::Debug for Batch<'_, M, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch")
            .field("rule", &self.tables.rule)
            .field("chunk", &self.chunk)
            .finish_non_exhaustive()
    }
}

impl<'a, M: Machine, T: Interpret> Batch<'a, M, T> {
    /// Makes the table and moves it to the machine.
    ///
    /// # Errors
    /// As [`BatchConfig::check`]; a table too large for the shared memory; a fault of the device.
    pub fn new(machine: &'a M, config: &BatchConfig) -> Result<Self> {
        config.check()?;
        let tables = Tables::new(config, T::EPSILON.to_f64());
        let quads = tables.head.len() + tables.nodes.len() + tables.rows.len();
        check_shared(
            &machine.limits()?,
            "the table of nodes and weights",
            quads * size_of::<Quad<T>>(),
            "use fewer areas",
        )?;
        Ok(Self {
            machine,
            head: machine.upload(&rounded::<T>(&tables.head))?,
            nodes: machine.upload(&rounded::<T>(&tables.nodes))?,
            rows: machine.upload(&rounded::<T>(&tables.rows))?,
            tables,
            chunk: None,
            ready: Mutex::new(None),
        })
    }

    /// Processes at most so many integrals at a time; otherwise as many as fit into memory.
    pub fn with_chunk(mut self, integrals: usize) -> Self {
        self.chunk = Some(integrals.max(1));
        self
    }

    /// Evaluations of the amplitude for one integral.
    pub fn evaluations(&self) -> usize {
        self.tables.head.len() + self.tables.nodes.len()
    }

    /// Outcomes of integrals with frequencies omega and columns of parameters; `None` is undecided.
    ///
    /// # Errors
    /// Columns of another number or length; an expression that kernels do not have, or too large for the shared memory; a fault of the device.
    pub fn integrate(
        &self,
        amplitude: Amplitude<'_>,
        frequencies: &[f64],
        parameters: &[Vec<f64>],
    ) -> Result<Vec<Option<Outcome>>> {
        if parameters.len() != amplitude.parameters() {
            return Err(Error::invalid(
                "parameters",
                format!("{} columns", parameters.len()),
                format!(
                    "a column for each of the {} parameters of the amplitude",
                    amplitude.parameters()
                ),
            ));
        }
        let machine = self.machine;
        macro_rules! kernel {
            ($grid:ident, $a:ident, $kernel:ident) => {
                Ok(machine.launch(
                    $grid,
                    kernels::driver::$kernel {
                        head: $a.head,
                        nodes: $a.nodes,
                        rows: $a.rows,
                        frequencies: $a.frequencies,
                        parameters: $a.parameters,
                        values: $a.values,
                        errors: $a.errors,
                        conditions: $a.conditions,
                        codes: $a.codes,
                        rule: $a.rule,
                    },
                )?)
            };
        }
        let program = match amplitude {
            Amplitude::Program(program) => Some(Interpreted::new(machine, self, program)?),
            _ => None,
        };
        self.integrate_with(frequencies, parameters, |grid, a| match &amplitude {
            Amplitude::Damped => kernel!(grid, a, integrate_damped),
            Amplitude::PowerDamped => kernel!(grid, a, integrate_power),
            Amplitude::Sommerfeld => kernel!(grid, a, integrate_sommerfeld),
            Amplitude::Rational => kernel!(grid, a, integrate_rational),
            Amplitude::Program(_) => match &program {
                Some(program) => T::interpret(machine, grid, a, program),
                None => Ok(()),
            },
        })
    }

    /// The same with a kernel of one's own: `launch` passes the arguments on.
    ///
    /// # Errors
    /// Columns of another length than the frequencies; what `launch` fails with; a fault of the device.
    pub fn integrate_with(
        &self,
        frequencies: &[f64],
        parameters: &[Vec<f64>],
        mut launch: impl FnMut(Grid, Arguments<'_, M, T>) -> Result<()>,
    ) -> Result<Vec<Option<Outcome>>> {
        if let Some(column) = parameters.iter().find(|c| c.len() != frequencies.len()) {
            return Err(Error::invalid(
                "parameters",
                format!("a column of {}", column.len()),
                format!("one parameter for each of {} integrals", frequencies.len()),
            ));
        }
        let machine = self.machine;
        // Parameters may be none, but no machine has empty memory.
        let columns = parameters.len().max(1);
        let bytes_each = (columns + 4) * size_of::<T>() + size_of::<u32>();
        let len = match self.chunk {
            Some(len) => len,
            None => chunk_len(machine.limits()?.free_bytes, bytes_each),
        };
        let mut outcomes = Vec::with_capacity(frequencies.len());
        let mut first = 0;
        // Memory serves all chunks of the same length, and the next call.
        let lock = || self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        let mut ready = lock().take();
        while first < frequencies.len() {
            let range = first..frequencies.len().min(first + len);
            first = range.end;
            let count = range.len();
            let mut buffers = match ready.take() {
                Some(buffers) if buffers.fit(count, columns) => buffers,
                _ => Buffers::new(machine, count, columns)?,
            };
            let frequencies = &frequencies[range.clone()];
            let columns = parameters.iter().map(|column| &column[range.clone()]);
            buffers.fill(machine, frequencies, columns)?;
            let rule = BatchRule {
                integrals: count as u32,
                ..self.tables.rule
            };
            launch(
                Grid::per_item(count, BATCH_THREADS),
                Arguments {
                    head: &self.head,
                    nodes: &self.nodes,
                    rows: &self.rows,
                    frequencies: &buffers.frequencies,
                    parameters: &buffers.parameters,
                    values: &mut buffers.values,
                    errors: &mut buffers.errors,
                    conditions: &mut buffers.conditions,
                    codes: &mut buffers.codes,
                    rule,
                },
            )?;
            buffers.collect(machine, frequencies, &mut outcomes)?;
            ready = Some(buffers);
        }
        *lock() = ready;
        Ok(outcomes)
    }
}

/// Memory for the integrals of one chunk, on the machine and here.
struct Buffers<M: Machine, T: Real> {
    frequencies: M::Buffer<T>,
    parameters: M::Buffer<T>,
    values: M::Buffer<T>,
    errors: M::Buffer<T>,
    conditions: M::Buffer<T>,
    codes: M::Buffer<u32>,
    host: [Vec<T>; 3],
    host_codes: Vec<u32>,
    host_parameters: Vec<T>,
}

/// `to` = the nearest numbers to those of `from`, in parallel.
fn round<T: Real>(to: &mut [T], from: &[f64]) {
    to.par_iter_mut()
        .zip(from)
        .with_min_len(PARALLEL)
        .for_each(|(to, from)| *to = T::from_f64(*from));
}

/// Numbers that are worth a task of their own.
const PARALLEL: usize = 4096;

impl<M: Machine, T: Real> Buffers<M, T> {
    fn new(machine: &M, count: usize, columns: usize) -> Result<Self> {
        Ok(Self {
            frequencies: machine.allocate(count)?,
            parameters: machine.allocate(count * columns)?,
            values: machine.allocate(count)?,
            errors: machine.allocate(count)?,
            conditions: machine.allocate(count)?,
            codes: machine.allocate(count)?,
            host: [(); 3].map(|()| vec![T::ZERO; count]),
            host_codes: vec![0; count],
            host_parameters: vec![T::ZERO; count * columns],
        })
    }

    fn fit(&self, count: usize, columns: usize) -> bool {
        self.host_codes.len() == count && self.host_parameters.len() == count * columns
    }

    /// Moves the parameters of a chunk to the machine.
    fn fill<'a>(
        &mut self,
        machine: &M,
        frequencies: &[f64],
        columns: impl Iterator<Item = &'a [f64]>,
    ) -> Result<()> {
        round(&mut self.host[0], frequencies);
        machine.write(&mut self.frequencies, &self.host[0])?;
        let places = self.host_parameters.chunks_mut(frequencies.len());
        places.zip(columns).for_each(|(to, from)| round(to, from));
        Ok(machine.write(&mut self.parameters, &self.host_parameters)?)
    }

    /// Reads the outcomes. A frequency that is none is undecided, whatever the kernel made of it.
    fn collect(
        &mut self,
        machine: &M,
        frequencies: &[f64],
        outcomes: &mut Vec<Option<Outcome>>,
    ) -> Result<()> {
        let [values, errors, conditions] = &mut self.host;
        machine.read(&self.codes, &mut self.host_codes)?;
        machine.read(&self.values, values)?;
        machine.read(&self.errors, errors)?;
        machine.read(&self.conditions, conditions)?;
        let all = (&self.host_codes, frequencies, values, errors, conditions);
        let found = all.into_par_iter().with_min_len(PARALLEL).map(
            |(code, omega, value, error, condition)| {
                let known = *code != UNDECIDED && omega.is_finite() && *omega > 0.0;
                Status::from_code(code & 0xFF)
                    .zip(Accelerator::from_code(code >> 8))
                    .filter(|_| known)
                    .map(|(status, accelerator)| Outcome {
                        value: value.to_f64(),
                        error: error.to_f64(),
                        status,
                        accelerator,
                        condition: condition.to_f64(),
                    })
            },
        );
        outcomes.par_extend(found);
        Ok(())
    }
}

/// A program in the memory of a machine.
pub struct Interpreted<M: Machine, T: Real> {
    code: M::Buffer<u32>,
    constants: M::Buffer<T>,
    shape: ProgramShape,
}

impl<M: Machine, T: Real> fmt::Debug for Interpreted<M, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Interpreted")
            .field("shape", &self.shape)
            .finish_non_exhaustive()
    }
}

impl<M: Machine, T: Interpret> Interpreted<M, T> {
    fn new(machine: &M, batch: &Batch<'_, M, T>, program: &Program) -> Result<Self> {
        if !program.runs_on_a_device() {
            return Err(Error::invalid(
                "expression",
                "a function that kernels lack",
                "functions that kernels have, or compute on the CPU",
            ));
        }
        let shape = program.shape();
        let rule = &batch.tables.rule;
        let table = rule.head + rule.panels * PANEL_NODES + rule.areas * ROW_QUADS;
        check_shared(
            &machine.limits()?,
            "the table and the slots of the expression",
            table as usize * size_of::<Quad<T>>()
                + (2 * shape.slots * BATCH_THREADS) as usize * size_of::<T>()
                + shape.length as usize * size_of::<u32>()
                + 64,
            "use fewer areas or a shorter expression",
        )?;
        // The constants, and then by what each is off where it is rounded.
        let rounded = |c: &f64| T::from_f64(*c);
        let off = |c: &f64| T::from_f64((rounded(c).to_f64() - c).abs());
        let numbers = program.constants();
        let mut constants: Vec<T> = numbers.iter().map(rounded).collect();
        constants.extend(numbers.iter().map(off));
        constants.resize(constants.len().max(1), T::ZERO);
        let mut code = program.code().to_vec();
        code.resize(code.len().max(1), 0);
        Ok(Self {
            code: machine.upload(&code)?,
            constants: machine.upload(&constants)?,
            shape,
        })
    }
}

/// A precision in which programs are interpreted; its kernels are not generic.
pub trait Interpret: Real {
    /// Launches the interpreting kernel.
    #[doc(hidden)]
    fn interpret<M: Machine>(
        machine: &M,
        grid: Grid,
        arguments: Arguments<'_, M, Self>,
        program: &Interpreted<M, Self>,
    ) -> Result<()>;
}

macro_rules! interpret {
    ($t:ident, $kernel:ident) => {
        impl Interpret for $t {
            fn interpret<M: Machine>(
                machine: &M,
                grid: Grid,
                a: Arguments<'_, M, Self>,
                program: &Interpreted<M, Self>,
            ) -> Result<()> {
                Ok(machine.launch(
                    grid,
                    kernels::driver::$kernel {
                        head: a.head,
                        nodes: a.nodes,
                        rows: a.rows,
                        code: &program.code,
                        constants: &program.constants,
                        frequencies: a.frequencies,
                        parameters: a.parameters,
                        values: a.values,
                        errors: a.errors,
                        conditions: a.conditions,
                        codes: a.codes,
                        rule: a.rule,
                        shape: program.shape,
                    },
                )?)
            }
        }
    };
}
interpret!(f32, integrate_program_f32);
interpret!(f64, integrate_program_f64);
