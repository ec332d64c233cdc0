//! The ranks of one process as one engine: each is a thread with a device of its own.

use std::slice;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::engine::{Engine, FaceFlux, Saved};
use super::pieces::CheckpointPart;
use crate::bgk::Moments;
use crate::compute::{Resolved, ended, on_each};
use crate::distributed::{Threads, Transport};
use crate::error::{Error, Result};

/// The engines of all ranks. A rank that fails is dropped, so that the others do not wait for it.
pub(super) struct Team {
    ranks: Vec<Option<Box<dyn Engine>>>,
}

impl Team {
    /// A rank for each machine.
    pub(super) fn new(
        machines: Vec<Resolved>,
        make: impl Fn(Resolved, Arc<dyn Transport>) -> Result<Box<dyn Engine>> + Sync,
    ) -> Result<Self> {
        let transports = Threads::all(machines.len());
        let engines = on_each(machines.into_iter().zip(transports), |(machine, rank)| {
            make(machine, Arc::new(rank)).map(Some)
        });
        Ok(Self { ranks: engines? })
    }

    /// The result of rank 0, after all ranks have done the same.
    fn all<R: Send>(&mut self, work: impl Fn(&mut dyn Engine) -> Result<R> + Sync) -> Result<R> {
        let first = self.each(work)?.into_iter().next();
        first.ok_or_else(ended)
    }

    /// The results of all ranks.
    fn each<R: Send>(
        &mut self,
        work: impl Fn(&mut dyn Engine) -> Result<R> + Sync,
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
}

impl Engine for Team {
    fn describe(&self) -> String {
        let first = self.ranks.iter().flatten().next();
        first.map_or_else(String::new, |engine| engine.describe())
    }

    fn advance(&mut self, steps: u64) -> Result<()> {
        self.all(|engine| engine.advance(steps))
    }

    fn fields(&mut self) -> Result<[Vec<f64>; 4]> {
        self.all(|engine| engine.fields())
    }

    fn moments(&mut self) -> Result<Vec<Moments>> {
        self.all(|engine| engine.moments())
    }

    fn fluxes(&mut self) -> Result<[FaceFlux; 4]> {
        self.all(|engine| engine.fluxes())
    }

    fn save(&mut self) -> Result<Saved> {
        // Not each the whole: memory holds it once.
        let parts = self.each(|engine| engine.save_part())?;
        let cells = parts.last().map_or(0, |part| part.cells.end);
        let whole = CheckpointPart::select(&parts, slice::from_ref(&(0..cells)))?;
        Ok(Saved {
            step: whole.step,
            populations: whole.populations,
            extra: whole.extra,
        })
    }

    fn restore(&mut self, saved: &Saved) -> Result<()> {
        self.all(|engine| engine.restore(saved))
    }

    fn time_steps(&mut self, steps: u32) -> Result<Duration> {
        self.all(|engine| engine.time_steps(steps))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An engine that waits for the others, or fails.
    struct Rank(Arc<dyn Transport>);

    impl Engine for Rank {
        fn describe(&self) -> String {
            format!("rank {}", self.0.rank())
        }
        fn advance(&mut self, steps: u64) -> Result<()> {
            match (self.0.rank(), steps) {
                (1, 2) => Err(Error::Numerical("rank 1 fails".into())),
                (1, 3) => panic!("rank 1 panics"),
                _ => self.0.barrier(),
            }
        }
        fn fields(&mut self) -> Result<[Vec<f64>; 4]> {
            Err(ended())
        }
        fn moments(&mut self) -> Result<Vec<Moments>> {
            Err(ended())
        }
        fn fluxes(&mut self) -> Result<[FaceFlux; 4]> {
            Err(ended())
        }
        fn save(&mut self) -> Result<Saved> {
            Err(ended())
        }
        fn restore(&mut self, _: &Saved) -> Result<()> {
            self.0.barrier()
        }
        fn time_steps(&mut self, _: u32) -> Result<Duration> {
            Err(ended())
        }
    }

    fn team() -> Team {
        let machines = vec![Resolved::Cpu, Resolved::Cpu, Resolved::Cpu];
        Team::new(machines, |_, rank| Ok(Box::new(Rank(rank)))).expect("a team")
    }

    #[test]
    fn the_cause_of_the_end_is_reported_and_nobody_waits() {
        let mut team = team();
        assert_eq!(team.describe(), "rank 0");
        team.advance(1).expect("steps of all");
        let error = team.advance(2).expect_err("a rank that failed");
        assert_eq!(error.to_string(), "rank 1 fails");
        let error = team.advance(1).expect_err("a rank that is gone");
        assert_eq!(error.to_string(), "the thread of a device ended early");
    }

    #[test]
    fn a_rank_that_panics_ends_the_others() {
        assert!(team().advance(3).is_err());
    }
}
