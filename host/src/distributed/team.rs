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
        let cause = Cause::default();
        let engines = on_each(machines.into_iter().zip(transports), |(machine, rank)| {
            let rank: Arc<dyn Transport> = Arc::new(rank);
            Ok(cause.keep(make(machine, rank.clone())))
        });
        let ranks = cause.or(engines?)?.into_iter().map(Some);
        Ok(Self {
            ranks: ranks.collect(),
        })
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
        let cause = Cause::default();
        let results = on_each(&mut self.ranks, |rank| {
            let mut engine = rank.take().ok_or_else(ended)?;
            let result = cause.keep(work(&mut *engine));
            if result.is_some() {
                *rank = Some(engine);
            }
            Ok(result)
        });
        cause.or(results?)
    }

    /// The engines that have not failed, in the order of their ranks.
    pub(crate) fn engines(&self) -> impl Iterator<Item = &E> {
        self.ranks.iter().flatten().map(|engine| &**engine)
    }
}

/// The first failure of any rank. It must be kept before the rank drops its transport: the others then fail too.
#[derive(Default)]
struct Cause(Mutex<Option<Error>>);

impl Cause {
    fn keep<R>(&self, result: Result<R>) -> Option<R> {
        let keep = |error| {
            let mut cause = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            cause.get_or_insert(error);
        };
        result.map_err(keep).ok()
    }

    /// The results of all ranks, where none has failed.
    fn or<R>(self, results: Vec<Option<R>>) -> Result<Vec<R>> {
        match self.0.into_inner().unwrap_or_else(PoisonError::into_inner) {
            None => Ok(results.into_iter().flatten().collect()),
            Some(cause) => Err(cause),
        }
    }
}
