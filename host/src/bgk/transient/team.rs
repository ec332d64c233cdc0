//! The ranks of one process as one engine: each is a thread with a device of its own.

use std::slice;
use std::time::Duration;

use super::engine::{Engine, FaceFlux, Saved};
use super::pieces::CheckpointPart;
use crate::bgk::Moments;
use crate::distributed::Team;
use crate::error::Result;

impl Engine for Team<dyn Engine> {
    fn describe(&self) -> String {
        self.engines()
            .next()
            .map_or_else(String::new, Engine::describe)
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
    use std::sync::Arc;

    use super::*;
    use crate::compute::{Resolved, ended};
    use crate::distributed::Transport;
    use crate::error::Error;

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

    fn machines() -> Vec<Resolved> {
        vec![Resolved::Cpu, Resolved::Cpu, Resolved::Cpu]
    }

    fn team() -> Team<dyn Engine> {
        let make = |_, rank| -> Result<Box<dyn Engine>> { Ok(Box::new(Rank(rank))) };
        Team::new(machines(), make).expect("a team")
    }

    #[test]
    fn the_cause_of_a_failed_start_is_reported_and_nobody_waits() {
        let make = |_, rank: Arc<dyn Transport>| -> Result<Box<dyn Engine>> {
            let mut engine = Rank(rank);
            engine.advance(2)?;
            Ok(Box::new(engine))
        };
        let error = Team::new(machines(), make).err().expect("a failure");
        assert_eq!(error.to_string(), "rank 1 fails");
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
