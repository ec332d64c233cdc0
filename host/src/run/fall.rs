//! The fall of a residual, by which a run that stalls is noticed.

/// The last residual that was at most a share of the one before it in this row, and its step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fall {
    share: f64,
    step: u64,
    residual: f64,
}

impl Fall {
    /// Residuals that count as a fall where they come to this share of the last that did.
    pub(crate) fn to(share: f64) -> Self {
        Self {
            share,
            step: 0,
            residual: f64::INFINITY,
        }
    }

    /// Notes a residual; returns the steps since the last fall.
    pub(crate) fn note(&mut self, step: u64, residual: f64) -> u64 {
        if residual < self.residual && residual <= self.share * self.residual {
            (self.step, self.residual) = (step, residual);
        }
        step - self.step
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_residual_that_no_longer_halves_has_levelled_off() {
        let mut fall = Fall::to(0.5);
        assert_eq!(fall.note(100, 1.0), 0);
        // It falls, but slowly, until it has halved.
        assert_eq!(fall.note(150, 0.8), 50);
        assert_eq!(fall.note(200, 0.6), 100);
        assert_eq!(fall.note(250, 0.5), 0);
        // From here it is level, whatever its noise.
        for (step, residual) in [(300, 0.4), (350, 0.26), (400, 0.9), (450, 0.3)] {
            assert_eq!(fall.note(step, residual), step - 250);
        }
        assert_eq!(fall.note(500, 0.25), 0);
        // NaN is no fall.
        assert_eq!(fall.note(550, f64::NAN), 50);
    }

    #[test]
    fn without_a_share_any_fall_counts() {
        let mut fall = Fall::to(1.0);
        assert_eq!(fall.note(1, 1.0), 0);
        assert_eq!(fall.note(2, 1.0), 1);
        assert_eq!(fall.note(3, 0.999), 0);
    }
}
