//! Work without the interpreter's lock: no panic leaves it, and it runs in the children of a fork too.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rarefy::compute::Resolved;
use rarefy::run::{self, Ending};
use rarefy::{Backend, Error, Result};

use crate::errors::{DeviceError, raise};

/// The process whose threads rayon's global pool has, and in which this module was loaded.
static HOME: OnceLock<u32> = OnceLock::new();
/// The process that initialised CUDA; 0 for none.
static CUDA: AtomicU32 = AtomicU32::new(0);

/// A pool of a process that was forked: threads do not survive a fork.
type Pool = (u32, Arc<rayon::ThreadPool>);

fn threads_of_child(process: u32) -> Result<Arc<rayon::ThreadPool>> {
    static POOL: Mutex<Option<Pool>> = Mutex::new(None);
    let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    match &*pool {
        Some((owner, threads)) if *owner == process => Ok(Arc::clone(threads)),
        _ => {
            let threads = rayon::ThreadPoolBuilder::new().build();
            let threads =
                Arc::new(threads.map_err(|e| {
                    Error::invalid("threads", e, "threads that the system can start")
                })?);
            // The pool of the parent, if the child was forked from another child, has no threads that could be joined.
            if let Some(old) = pool.replace((process, Arc::clone(&threads))) {
                std::mem::forget(old);
            }
            Ok(threads)
        }
    }
}

fn in_this_process<R: Send>(work: impl FnOnce() -> Result<R> + Send) -> Result<R> {
    let process = std::process::id();
    if *HOME.get_or_init(|| process) == process {
        work()
    } else {
        threads_of_child(process)?.install(work)
    }
}

fn text_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}

/// Runs work of the library without the interpreter's lock.
pub(crate) fn compute<R: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<R> + Send,
) -> PyResult<R> {
    caught(py, || in_this_process(work))
}

/// The same on this thread, which Python may interrupt.
pub(crate) fn caught<R: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<R> + Send,
) -> PyResult<R> {
    let caught = py.detach(|| catch_unwind(AssertUnwindSafe(work)));
    match caught {
        Ok(result) => result.map_err(raise),
        Err(panic) => Err(PyRuntimeError::new_err(format!(
            "rarefy: internal error, please report it: {}",
            text_of(panic.as_ref())
        ))),
    }
}

/// A run under way, which threads of Python may share: one computes, the others wait.
pub(crate) struct Run<T>(Mutex<T>);

impl<T: Send> Run<T> {
    pub(crate) fn new(run: T) -> Self {
        Self(Mutex::new(run))
    }

    pub(crate) fn with<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut T) -> Result<R> + Send,
    ) -> PyResult<R> {
        caught(py, || self.locked(work))
    }

    fn locked<R: Send>(&self, work: impl FnOnce(&mut T) -> Result<R> + Send) -> Result<R> {
        in_this_process(|| match self.0.lock() {
            Ok(mut run) => work(&mut run),
            Err(_) => Err(Error::Numerical(
                "this run ended with an internal error before; make a new one".into(),
            )),
        })
    }

    fn read<R>(&self, read: impl FnOnce(&T) -> R) -> R {
        read(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A shared run, locked for each call.
impl<T: run::Run + Send> run::Run for &Run<T> {
    fn steps_taken(&self) -> u64 {
        self.read(T::steps_taken)
    }
    fn time(&self) -> f64 {
        self.read(T::time)
    }
    fn advance(&mut self, steps: u64) -> Result<()> {
        self.locked(|run| run.advance(steps))
    }
    fn residual(&mut self) -> Result<f64> {
        self.locked(T::residual)
    }
    fn state(&mut self) -> Result<Vec<f64>> {
        self.locked(T::state)
    }
    fn steps_to(&self, time: f64) -> Option<u64> {
        self.read(|run| run.steps_to(time))
    }
    fn end(&self) -> Option<Ending> {
        self.read(T::end)
    }
    fn progress(&self) -> f64 {
        self.read(T::progress)
    }
    fn patience(&self) -> Option<u64> {
        self.read(T::patience)
    }
    fn finish(&mut self) -> Result<()> {
        self.locked(T::finish)
    }
}

/// Must be called before a computation on a backend: refuses CUDA in the child of a process that computes with it.
#[pyfunction]
pub(crate) fn enter(py: Python<'_>, backend: &str) -> PyResult<()> {
    let backend: Backend = backend.parse().map_err(raise)?;
    let process = std::process::id();
    HOME.get_or_init(|| process);
    if !matches!(backend, Backend::Auto | Backend::Cuda) {
        return Ok(());
    }
    match CUDA.load(Ordering::Relaxed) {
        // Without a device nothing is initialised. Why there is none is said where the computation asks for it.
        0 => {
            if let Ok(Resolved::Cuda(_)) = compute(py, || machine(backend)) {
                CUDA.store(process, Ordering::Relaxed);
            }
            Ok(())
        }
        owner if owner != process => Err(DeviceError::new_err(
            "CUDA cannot be used in a process that was forked after CUDA was initialised: start workers by multiprocessing's 'spawn', or compute here with backend='cpu'",
        )),
        _ => Ok(()),
    }
}

/// The machine of a backend, opened once in a process.
pub(crate) fn machine(backend: Backend) -> Result<Resolved> {
    static OPEN: Mutex<Vec<(u32, Backend, Resolved)>> = Mutex::new(Vec::new());
    let process = std::process::id();
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((.., found)) = open
        .iter()
        .find(|(owner, of, _)| *owner == process && *of == backend)
    {
        return Ok(found.clone());
    }
    let found = backend.resolve()?;
    open.push((process, backend, found.clone()));
    Ok(found)
}
