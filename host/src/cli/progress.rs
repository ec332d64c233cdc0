//! How far long work has come: a bar on a terminal, a line every ten seconds elsewhere.

use std::fmt::Write;
use std::io::IsTerminal;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressState, ProgressStyle};

use super::streams;

/// Time between two updates on a terminal.
const PAUSE: Duration = Duration::from_secs(10);
/// Time between two updates on a terminal.
const TICK: Duration = Duration::from_millis(250);
/// Time between two updates on a terminal.
const FRESH: Duration = Duration::from_millis(100);
/// Time, and share of the work, from which on the time left is known well enough to be shown.
const KNOWN: (Duration, f64) = (Duration::from_secs(3), 0.005);
const UNITS: u64 = 1000;

/// Shows the progress of one piece of work on standard error. It shows that the work goes on while a step of it takes minutes, too.
pub(super) struct Progress {
    shared: Arc<Shared>,
    bar: Option<ProgressBar>,
    lines: Option<JoinHandle<()>>,
    made: Option<Instant>,
}

/// State of the thread that prints lines.
struct Shared {
    work: &'static str,
    state: Mutex<State>,
    ended: Condvar,
}

struct State {
    begun: Instant,
    /// Share that was done before, in a run that goes on.
    first: Option<f64>,
    fraction: f64,
    message: String,
    updated: Instant,
    ended: bool,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The time that is left, once it is known.
    fn left(&self, now: Instant) -> Option<Duration> {
        let elapsed = now.duration_since(self.begun);
        let done = self.fraction - self.first?;
        let left = elapsed.as_secs_f64() * (1.0 - self.fraction) / done;
        (elapsed >= KNOWN.0 && done >= KNOWN.1)
            .then(|| Duration::try_from_secs_f64(left).ok())
            .flatten()
    }

    /// A line for a file or a pipe.
    fn line(&self, work: &str, now: Instant) -> String {
        if self.first.is_none() {
            let elapsed = HumanDuration(now.duration_since(self.begun));
            return format!("rarefy: {work}: working for {elapsed:#}");
        }
        let mut line = format!(
            "rarefy: {work} {:.0}%: {}",
            100.0 * self.fraction,
            self.message
        );
        let still = now.duration_since(self.updated);
        // Writing into a string does not fail.
        if still >= PAUSE {
            let _ = write!(line, ", {:#} in this step", HumanDuration(still));
        } else if let Some(left) = self.left(now) {
            let _ = write!(line, ", {:#} left", HumanDuration(left));
        }
        line
    }
}

impl Progress {
    /// Starts to show; nothing is shown if `quiet`.
    pub(super) fn new(work: &'static str, quiet: bool) -> Self {
        let now = Instant::now();
        let shared = Arc::new(Shared {
            work,
            state: Mutex::new(State {
                begun: now,
                first: None,
                fraction: 0.0,
                message: String::new(),
                updated: now,
                ended: false,
            }),
            ended: Condvar::new(),
        });
        let terminal = std::io::stderr().is_terminal();
        let bar = (terminal && !quiet).then(|| bar(&shared));
        let lines = (!terminal && !quiet).then(|| {
            let shared = Arc::clone(&shared);
            // Without a thread there are no lines, and the work goes on.
            std::thread::Builder::new().spawn(move || say(&shared)).ok()
        });
        Self {
            shared,
            bar,
            lines: lines.flatten(),
            made: None,
        }
    }

    /// Shows that this fraction is done; the message is made only if it is shown.
    pub(super) fn update(&mut self, fraction: f64, message: impl FnOnce() -> String) {
        if self.bar.is_none() && self.lines.is_none() {
            return;
        }
        // No minus sign of zero.
        let fraction = if fraction.is_finite() {
            fraction.clamp(0.0, 1.0).abs()
        } else {
            0.0
        };
        let now = Instant::now();
        let due = self
            .made
            .is_none_or(|made| now.duration_since(made) >= FRESH);
        let message = due.then(message);
        {
            let mut state = self.shared.state();
            state.first.get_or_insert(fraction);
            state.fraction = fraction;
            state.updated = now;
            if let Some(message) = &message {
                state.message.clone_from(message);
            }
        }
        if let Some(bar) = &self.bar {
            bar.set_position((fraction * UNITS as f64) as u64);
            if let Some(message) = message {
                bar.set_message(message);
            }
        }
        if due {
            self.made = Some(now);
        }
    }

    /// Takes the bar away.
    pub(super) fn finish(self) {}
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
        if let Some(lines) = self.lines.take() {
            self.shared.state().ended = true;
            self.shared.ended.notify_all();
            let _ = lines.join();
        }
    }
}

/// The bar of a terminal, whose clock runs by itself.
fn bar(shared: &Arc<Shared>) -> ProgressBar {
    let times = Arc::clone(shared);
    let left = move |_: &ProgressState, out: &mut dyn Write| {
        let left = times.state().left(Instant::now());
        if let Some(left) = left {
            let _ = write!(out, ", {:#} left", HumanDuration(left));
        }
    };
    let style =
        ProgressStyle::with_template("{prefix} {bar:32} {percent:>3}%  {msg}  [{elapsed}{left}]")
            .expect("the template is fixed")
            .with_key("left", left);
    let bar = ProgressBar::new(UNITS).with_style(style);
    bar.set_prefix(shared.work);
    bar.enable_steady_tick(TICK);
    bar
}

/// Says a line now and then, until the work ends.
fn say(shared: &Shared) {
    let mut state = shared.state();
    loop {
        let waited = shared
            .ended
            .wait_timeout_while(state, PAUSE, |state| !state.ended);
        state = waited.unwrap_or_else(PoisonError::into_inner).0;
        if state.ended {
            return;
        }
        streams::say(&state.line(shared.work, Instant::now()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_say_what_is_known_and_no_more() {
        let begun = Instant::now();
        let at = |seconds| begun + Duration::from_secs(seconds);
        let mut state = State {
            begun,
            first: None,
            fraction: 0.0,
            message: String::new(),
            updated: begun,
            ended: false,
        };
        assert_eq!(
            state.line("relax", at(20)),
            "rarefy: relax: working for 20s"
        );
        // Nothing is done yet: how long it takes is unknown.
        state.first = Some(0.0);
        state.message = "step 1".into();
        assert_eq!(state.line("relax", at(5)), "rarefy: relax 0%: step 1");
        // A rate without a change has the logarithm -0.
        let mut progress = Progress::new("relax", true);
        progress.lines = Some(std::thread::spawn(|| {}));
        progress.update(-0.0, String::new);
        assert!(progress.shared.state().fraction.is_sign_positive());
        // A run that went on at a half.
        (state.first, state.fraction) = (Some(0.5), 0.75);
        state.updated = at(10);
        assert_eq!(
            state.line("relax", at(10)),
            "rarefy: relax 75%: step 1, 10s left"
        );
        // A step that takes long.
        assert_eq!(
            state.line("relax", at(40)),
            "rarefy: relax 75%: step 1, 30s in this step"
        );
    }
}
