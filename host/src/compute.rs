//! Where a computation runs, in which precision and on how many threads: chosen once, passed down.
//!
//! ```
//! use rarefy::signed_digit::decimal::{self, Decimal};
//! use rarefy::{Backend, Compute, Precision};
//!
//! let compute = Compute::new("cpu".parse::<Backend>()?).with_precision(Precision::F32).with_threads(2);
//! let numbers: Vec<Decimal> = vec!["0.1".parse()?, "0.2".parse()?];
//! let (sum, device) = compute.run(|device| Ok((decimal::sum(&numbers, device)?, device.describe())))?;
//! assert_eq!((sum.to_string().as_str(), device.as_str()), ("0.3", "CPU, 2 threads"));
//! # Ok::<(), rarefy::Error>(())
//! ```

mod devices;
mod machines;

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};

use rayon::{ThreadPool, ThreadPoolBuilder};
use serde::{Deserialize, Serialize};

pub use self::devices::Devices;
pub(crate) use self::devices::{ended, on_each, shares};
pub(crate) use self::machines::describe_all;
use crate::error::{Error, Result};
use crate::gpu::ptx::capability_text;
use crate::gpu::{self, Device};

/// Where a computation runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Backend {
    /// The GPU if a driver and a device answer, else the CPU.
    #[default]
    Auto,
    /// The first CUDA device, or the one that RAREFY_DEVICE names; an error where there is none.
    Cuda,
    /// All cores of the CPU.
    Cpu,
    /// The GPU's kernels on the CPU, with every memory access checked.
    Emulator,
    /// The scalar reference: the formulas as plainly as they can be written.
    Reference,
}

/// The arithmetic in which the bulk of a computation is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// 32-bit floating point.
    F32,
    /// 64-bit floating point.
    #[default]
    F64,
}

impl Precision {
    /// Distance from 1 to the next number.
    pub(crate) fn epsilon(self) -> f64 {
        match self {
            Self::F32 => f32::EPSILON.into(),
            Self::F64 => f64::EPSILON,
        }
    }
}

/// Change of a quantity by a time step below which roundoff hides most of it, in units of the arithmetic's.
const HIDDEN: f64 = 64.0;

/// Refuses a time step of which `share` is the largest relative change that it makes anywhere.
pub(crate) fn check_shortest(dt: f64, share: f64, precision: Precision) -> Result<()> {
    let least = HIDDEN * precision.epsilon();
    if share >= least {
        return Ok(());
    }
    Err(Error::invalid(
        "dt",
        format!("{dt:e}"),
        format!(
            "at least {:.2e}: the arithmetic loses the changes in a shorter time step",
            dt / share * least
        ),
    ))
}

impl Backend {
    /// All backends, in the order in which help lists them.
    pub const ALL: [Self; 5] = [
        Self::Auto,
        Self::Cuda,
        Self::Cpu,
        Self::Emulator,
        Self::Reference,
    ];

    /// Its name on the command line and in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Cuda => "cuda",
            Self::Cpu => "cpu",
            Self::Emulator => "emulator",
            Self::Reference => "reference",
        }
    }

    /// Decides where to compute, and opens the device if that is a GPU.
    ///
    /// [`Auto`](Self::Auto) falls back to the CPU where no driver or device answers; [`Resolved::describe`] says which was taken.
    /// [`Cuda`](Self::Cuda) without a device is an error that says what was looked for.
    ///
    /// # Errors
    /// [`NoDevice`](rarefy_simt::Error::NoDevice) or [`Driver`](rarefy_simt::Error::Driver) if a GPU was asked for and none can be used; a RAREFY_DEVICE that names none.
    pub fn resolve(self) -> Result<Resolved> {
        match self {
            Self::Auto => match gpu::open() {
                Ok(device) => Ok(Resolved::Cuda(device)),
                Err(error) if gpu::is_absent(&error) => Ok(Resolved::Cpu),
                // Such as a RAREFY_DEVICE that is no number: the user means a GPU, so this is an error.
                Err(error) => Err(error),
            },
            Self::Cuda => gpu::open().map(Resolved::Cuda),
            Self::Cpu => Ok(Resolved::Cpu),
            Self::Emulator => Ok(Resolved::Emulator),
            Self::Reference => Ok(Resolved::Reference),
        }
    }
}

impl Precision {
    /// All precisions, in the order in which help lists them.
    pub const ALL: [Self; 2] = [Self::F32, Self::F64];

    /// Its name on the command line and in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }
}

macro_rules! by_name {
    ($type:ident, $what:literal, $choices:literal) => {
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.name())
            }
        }

        impl FromStr for $type {
            type Err = Error;

            fn from_str(text: &str) -> Result<Self> {
                Self::ALL
                    .into_iter()
                    .find(|choice| choice.name().eq_ignore_ascii_case(text.trim()))
                    .ok_or_else(|| Error::invalid($what, text, $choices))
            }
        }
    };
}
by_name!(Backend, "backend", "auto, cuda, cpu, emulator or reference");
by_name!(Precision, "precision", "f32 or f64");

/// Where a solver computes, in which precision, and on how many threads: the field `compute` of every configuration.
///
/// Configurations hold it flattened when serde writes them: the keys are `backend`, `precision` and, where they are set, `threads` and `devices`.
///
/// ```
/// use rarefy::{Backend, Compute, Precision};
///
/// let compute = Compute { precision: Precision::F32, ..Compute::new(Backend::Cpu) };
/// assert_eq!(compute, Compute::new(Backend::Cpu).with_precision(Precision::F32));
/// assert_eq!(Compute::default().backend, Backend::Auto);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Compute {
    /// Where to compute.
    pub backend: Backend,
    /// Arithmetic of the bulk of the work.
    pub precision: Precision,
    /// Threads of the work on the CPU, 1 to [`Compute::MOST_THREADS`]; `None` takes those of rayon's global pool, as many as there are cores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<usize>,
    /// Devices that share the work: flows in time, flows past bodies, and batches of independent items. `None` takes one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub devices: Option<Devices>,
}

impl From<Backend> for Compute {
    fn from(backend: Backend) -> Self {
        Self::new(backend)
    }
}

impl Compute {
    /// Most threads of a pool.
    pub const MOST_THREADS: usize = 1024;

    /// A backend in f64, on all cores where that is the CPU.
    pub fn new(backend: Backend) -> Self {
        Self {
            backend,
            ..Self::default()
        }
    }

    /// The same in another precision.
    #[must_use]
    pub fn with_precision(self, precision: Precision) -> Self {
        Self { precision, ..self }
    }

    /// The same on so many threads of the CPU.
    #[must_use]
    pub fn with_threads(self, threads: usize) -> Self {
        Self {
            threads: Some(threads),
            ..self
        }
    }

    /// Opens the machine, and runs `work` with it on the threads that this asks for.
    ///
    /// # Errors
    /// Those of [`Backend::resolve`], of [`Compute::pool`], and of the work.
    pub fn run<R: Send>(&self, work: impl FnOnce(&Resolved) -> Result<R> + Send) -> Result<R> {
        let resolved = self.resolve()?;
        self.pool()?.run(|| work(&resolved))
    }

    /// The threads that this asks for. Pools of one size are one pool, kept until the program ends.
    ///
    /// # Errors
    /// A number of threads that is 0 or above [`Compute::MOST_THREADS`], or that the system refuses.
    pub fn pool(&self) -> Result<Pool> {
        static POOLS: Mutex<BTreeMap<usize, Arc<ThreadPool>>> = Mutex::new(BTreeMap::new());
        let Some(threads) = self.threads else {
            return Ok(Pool(None));
        };
        if !(1..=Self::MOST_THREADS).contains(&threads) {
            return Err(Error::invalid(
                "threads",
                threads,
                format!("a number between 1 and {}", Self::MOST_THREADS),
            ));
        }
        let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pool) = pools.get(&threads) {
            return Ok(Pool(Some(Arc::clone(pool))));
        }
        let pool = ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = Arc::new(pool.map_err(|error| {
            Error::invalid(
                "threads",
                threads,
                format!("a number for which the system has room: {error}"),
            )
        })?);
        pools.insert(threads, Arc::clone(&pool));
        Ok(Pool(Some(pool)))
    }
}

/// Threads of the CPU: a pool of a given size, or rayon's current one.
#[derive(Clone, Debug, Default)]
pub struct Pool(Option<Arc<ThreadPool>>);

impl Pool {
    /// Runs `work`, whose parallel parts take these threads.
    pub fn run<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        let Some(pool) = &self.0 else {
            return work();
        };
        let (mut work, mut result) = (Some(work), None);
        install(pool, &mut || result = work.take().map(|work| work()));
        result.expect("the pool has run the work")
    }
}

/// Runs work on these threads. It is compiled once for all kinds of work.
fn install(pool: &ThreadPool, work: &mut (dyn FnMut() + Send)) {
    pool.install(work);
}

/// Steps of `dt` from one time to another, to the nearest; none backwards.
pub(crate) fn steps_between(now: f64, end: f64, dt: f64) -> u64 {
    ((end - now) / dt).round() as u64
}

/// A solver's engine, and the threads on which it works.
pub(crate) struct Pooled<T: ?Sized> {
    pool: Pool,
    engine: Box<T>,
}

impl<T: Send + ?Sized> Pooled<T> {
    /// Makes an engine on the threads that a configuration asks for.
    pub(crate) fn new(
        compute: &Compute,
        make: impl FnOnce() -> Result<Box<T>> + Send,
    ) -> Result<Self> {
        let pool = compute.pool()?;
        let engine = pool.run(make)?;
        Ok(Self { pool, engine })
    }

    /// Works with the engine on its threads.
    pub(crate) fn run<R: Send>(&mut self, work: impl FnOnce(&mut T) -> R + Send) -> R {
        let Self { pool, engine } = self;
        pool.run(|| work(engine))
    }
}

/// Work without threads of its own.
impl<T: ?Sized> Deref for Pooled<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.engine
    }
}

/// Where a computation runs, decided, with the device open.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Resolved {
    /// A GPU.
    Cuda(Device),
    /// All cores of the CPU.
    Cpu,
    /// The GPU's kernels on the CPU, with every memory access checked.
    Emulator,
    /// The scalar reference.
    Reference,
}

impl Resolved {
    /// The backend that was taken; never [`Backend::Auto`].
    pub const fn backend(&self) -> Backend {
        match self {
            Self::Cuda(_) => Backend::Cuda,
            Self::Cpu => Backend::Cpu,
            Self::Emulator => Backend::Emulator,
            Self::Reference => Backend::Reference,
        }
    }

    /// Its name in messages, such as `NVIDIA H200 (CUDA 13.0, compute capability 9.0)` or `CPU, 16 threads`.
    pub fn describe(&self) -> String {
        match self {
            Self::Cuda(device) => format!(
                "{} (CUDA {}, compute capability {})",
                device.name(),
                device.cuda_version(),
                capability_text(device.capability())
            ),
            Self::Cpu => match rayon::current_num_threads() {
                1 => "CPU, 1 thread".to_owned(),
                threads => format!("CPU, {threads} threads"),
            },
            Self::Emulator => "emulator".to_owned(),
            Self::Reference => "scalar reference".to_owned(),
        }
    }
}

/// The engine of a method for a decided place and a precision. There is an expression for the scalar reference, one for the CPU in the arithmetic of a
/// type, and one for a machine that runs kernels, the emulator or a GPU.
macro_rules! engine_of {
    (
        $resolved:expr, $precision:expr;
        reference => $reference:expr,
        cpu<$real:ident> => $cpu:expr,
        kernels<$element:ident>($machine:ident) => $kernels:expr $(,)?
    ) => {{
        use $crate::compute::{Precision, Resolved};
        macro_rules! in_arithmetic {
            ($name:ident, $value:expr) => {
                match $precision {
                    Precision::F32 => {
                        #[allow(dead_code, reason = "an engine may have one arithmetic")]
                        type $name = f32;
                        $value
                    }
                    Precision::F64 => {
                        #[allow(dead_code, reason = "an engine may have one arithmetic")]
                        type $name = f64;
                        $value
                    }
                }
            };
        }
        match $resolved {
            Resolved::Reference => $reference,
            Resolved::Cpu => in_arithmetic!($real, $cpu),
            Resolved::Emulator => {
                let $machine = $crate::emulator::Emulator::default();
                in_arithmetic!($element, $kernels)
            }
            Resolved::Cuda($machine) => in_arithmetic!($element, $kernels),
        }
    }};
}
pub(crate) use engine_of;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        for backend in Backend::ALL {
            assert_eq!(backend.to_string().parse::<Backend>().unwrap(), backend);
            let json = serde_json::to_value(backend).unwrap();
            assert_eq!(json, backend.name());
        }
        for precision in Precision::ALL {
            assert_eq!(
                precision.to_string().parse::<Precision>().unwrap(),
                precision
            );
        }
        assert_eq!(" CUDA ".parse::<Backend>().unwrap(), Backend::Cuda);
    }

    #[cfg(feature = "cli")]
    #[test]
    fn the_command_takes_the_same_names() {
        use clap::ValueEnum;
        let named = |value: Option<clap::builder::PossibleValue>, name: &str| {
            assert_eq!(value.unwrap().get_name(), name);
        };
        for backend in Backend::ALL {
            named(backend.to_possible_value(), backend.name());
        }
        for precision in Precision::ALL {
            named(precision.to_possible_value(), precision.name());
        }
    }

    #[test]
    fn wrong_names_are_refused_with_the_right_ones() {
        let error = "gpu".parse::<Backend>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "backend: gpu; expected auto, cuda, cpu, emulator or reference"
        );
        let error = "f16".parse::<Precision>().unwrap_err();
        assert_eq!(error.to_string(), "precision: f16; expected f32 or f64");
    }

    #[test]
    fn work_runs_on_as_many_threads_as_asked_for() {
        for threads in [1, 3] {
            let compute = Compute::new(Backend::Cpu).with_threads(threads);
            let found = compute.run(|device| Ok((rayon::current_num_threads(), device.describe())));
            let (found, name) = found.unwrap();
            assert_eq!(found, threads);
            assert!(
                name.starts_with(&format!("CPU, {threads} thread")),
                "{name}"
            );
        }
        for threads in [0, Compute::MOST_THREADS + 1] {
            let error = Compute::default().with_threads(threads).pool().unwrap_err();
            let expected = format!("threads: {threads}; expected a number between 1 and 1024");
            assert_eq!(error.to_string(), expected);
        }
    }

    #[test]
    fn threads_are_written_where_they_are_given() {
        let all = serde_json::to_string(&Compute::default()).unwrap();
        assert_eq!(all, r#"{"backend":"auto","precision":"f64"}"#);
        let two = Compute::default().with_threads(2);
        let json = serde_json::to_string(&two).unwrap();
        assert_eq!(json, r#"{"backend":"auto","precision":"f64","threads":2}"#);
        assert_eq!(serde_json::from_str::<Compute>(&json).unwrap(), two);
        assert_eq!(
            serde_json::from_str::<Compute>(&all).unwrap(),
            Compute::default()
        );
    }

    #[test]
    fn what_needs_no_gpu_resolves_anywhere() {
        assert!(
            Backend::Cpu
                .resolve()
                .unwrap()
                .describe()
                .starts_with("CPU, ")
        );
        assert_eq!(Backend::Emulator.resolve().unwrap().describe(), "emulator");
        assert_eq!(
            Backend::Reference.resolve().unwrap().describe(),
            "scalar reference"
        );
    }
}
