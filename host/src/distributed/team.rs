//! Ranks that are threads of this process, with a machine each.

use std::sync::{Arc, Mutex, PoisonError};

use super::{Threads, Transport};
use crate::compute::{Resolved, ended, on_each};
use crate::error::{Error, Result};

/// The engines of all ranks. A rank that fails is dropped, so that the others do not wait for it.
pub(crate) struct Team<E: ?Sized> {
    ranks: Vec<Option<Box<E>>>,
}

impl<E: ?Sized + Send> Team<E> {
    /// A rank for each machine.
    pub(crate) fn new(
        machines: Vec<Resolved>,
        make: impl Fn(Resolved, Arc<dyn Transport>) -> Result<Box<E>> + Sync,
    ) -> Result<Self> {
        let transports = Threads::all(machines.len());
        let engines = on_each(machines.into_iter().zip(transports), |(machine, rank)| {
            make(machine, Arc::new(rank)).map(Some)
        });
        Ok(Self { ranks: engines? })
    }

    /// The result of rank 0, after all ranks have done the same.
    pub(crate) fn all<R: Send>(&mut self, work: impl Fn(&mut E) -> Result<R> + Sync) -> Result<R> {
        let first = self.each(work)?.into_iter().next();
        first.ok_or_else(ended)
    }

    /// The results of all ranks.
    pub(crate) fn each<R: Send>(
        &mut self,
        work: impl Fn(&mut E) -> Result<R> + Sync,
    ) -> Result<Vec<R>> {
        // The first failure is the cause; the others follow from it.
        let cause: Mutex<Option<Error>> = Mutex::new(None);
        let results = on_each(&mut self.ranks, |rank| {
            let mut engine = rank.take().ok_or_else(ended)?;
            match work(&mut *engine) {
                Ok(result) => {
                    *rank = Some(engine);
                    Ok(Some(result))
                }
                Err(error) => {
                    let mut cause = cause.lock().unwrap_or_else(PoisonError::into_inner);
                    cause.get_or_insert(error);
                    Ok(None)
                }
            }
        })?;
        let cause = cause.into_inner().unwrap_or_else(PoisonError::into_inner);
        match cause {
            None => Ok(results.into_iter().flatten().collect()),
            Some(cause) => Err(cause),
        }
    }

    /// The engines that have not failed, in the order of their ranks.
    pub(crate) fn engines(&self) -> impl Iterator<Item = &E> {
        self.ranks.iter().flatten().map(|engine| &**engine)
    }
}
