//! Steps between two calls of an observer.

use std::time::Duration;

/// Steps of a run between two calls of its observer.
#[derive(Debug)]
pub(super) struct Pace {
    steps: f64,
    /// The time that they are to take.
    patience: Duration,
}

impl Pace {
    /// Begins with one step, since nothing is known of how long it takes.
    pub(super) fn new(patience: Duration) -> Self {
        Self {
            steps: 1.0,
            patience,
        }
    }

    /// At most so many, and always one.
    pub(super) fn steps(&self) -> u64 {
        self.steps as u64
    }

    /// Learns from steps that took this long. A few that were quick say little: it grows eightfold at most.
    pub(super) fn learn(&mut self, steps: u64, spent: Duration) {
        let steps = steps.max(1) as f64;
        let worth = steps * self.patience.as_secs_f64() / spent.as_secs_f64().max(1e-9);
        self.steps = worth.clamp(1.0, 8.0 * steps);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_fill_the_time_between_two_calls() {
        let mut pace = Pace::new(Duration::from_secs(1));
        assert_eq!(pace.steps(), 1);
        // Slow steps are taken one by one.
        pace.learn(1, Duration::from_secs(3));
        assert_eq!(pace.steps(), 1);
        // Quick ones eight times as many at once, until a second is full.
        let mut taken = Vec::new();
        for _ in 0..6 {
            let steps = pace.steps();
            taken.push(steps);
            pace.learn(steps, Duration::from_millis(10 * steps));
        }
        assert_eq!(taken, [1, 8, 64, 100, 100, 100]);
        // They become slower.
        pace.learn(100, Duration::from_secs(50));
        assert_eq!(pace.steps(), 2);
        // No time at all.
        pace.learn(2, Duration::ZERO);
        assert_eq!(pace.steps(), 16);
    }
}
