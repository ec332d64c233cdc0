//! How far long work has come: a bar on a terminal, a line every ten seconds elsewhere.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use super::output;

/// Time between two lines where there is no terminal.
const PAUSE: Duration = Duration::from_secs(10);
const UNITS: u64 = 1000;

/// Shows the progress of one piece of work on standard error.
pub(super) struct Progress {
    work: &'static str,
    bar: Option<ProgressBar>,
    lines: bool,
    last: Instant,
}

impl Progress {
    /// Starts to show; nothing is shown if `quiet`.
    pub(super) fn new(work: &'static str, quiet: bool) -> Self {
        let terminal = std::io::stderr().is_terminal();
        let bar = (terminal && !quiet).then(|| {
            let style = ProgressStyle::with_template(
                "{prefix} {bar:32} {percent:>3}%  {msg}  [{elapsed}, {eta} left]",
            )
            .expect("the template is fixed");
            let bar = ProgressBar::new(UNITS).with_style(style);
            bar.set_prefix(work);
            bar
        });
        Self {
            work,
            bar,
            lines: !terminal && !quiet,
            last: Instant::now(),
        }
    }

    /// Shows that this fraction is done; the message is made only if it is shown.
    pub(super) fn update(&mut self, fraction: f64, message: impl FnOnce() -> String) {
        let fraction = if fraction.is_finite() {
            fraction.clamp(0.0, 1.0)
        } else {
            0.0
        };
        if let Some(bar) = &self.bar {
            bar.set_position((fraction * UNITS as f64) as u64);
            bar.set_message(message());
        } else if self.lines && self.last.elapsed() >= PAUSE {
            self.last = Instant::now();
            output::say(&format!(
                "rarefy: {} {:.0}%: {}",
                self.work,
                100.0 * fraction,
                message()
            ));
        }
    }

    /// Takes the bar away.
    pub(super) fn finish(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}
