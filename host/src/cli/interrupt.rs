//! Ctrl-C, SIGTERM, SIGHUP, SIGUSR1 and SIGXCPU. Work with steps ends between two of them; all other work ends at once, and leaves neither a lock nor a temporary file.

use std::fs;
use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::journal::has_series;
use super::{ranks, streams};
use crate::error::Result;
use crate::gpu::quit;
use crate::run::{Ending, Now, Observer};
use crate::stop;

/// Time within which several signals are one: a terminal and a launcher both pass Ctrl-C on to the ranks, and `timeout` signals the process and its group.
const ONE_SIGNAL: Duration = Duration::from_secs(2);

/// Whether a signal came.
static ASKED: AtomicBool = AtomicBool::new(false);

/// Whether the work of the process is over, and its last line said.
static OVER: AtomicBool = AtomicBool::new(false);

/// Number of runs that check [`ASKED`] between their steps.
static WATCHED: AtomicUsize = AtomicUsize::new(0);

static STATE: Mutex<State> = Mutex::new(State {
    held: Vec::new(),
    rest: String::new(),
});

/// Files that are not whole, which an end at once removes.
static TEMPORARY: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn temporary() -> MutexGuard<'static, Vec<PathBuf>> {
    TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Notes a file that is not whole.
pub(super) fn remember(path: &Path) {
    temporary().push(path.to_path_buf());
}

/// Forgets a file that is whole, or gone.
pub(super) fn forget(path: &Path) {
    temporary().retain(|other| other != path);
}

/// State of the process that outlives an end at once.
struct State {
    held: Vec<Held>,
    /// The end of the line of an interrupted process.
    rest: String,
}

/// A locked folder.
struct Held {
    lock: PathBuf,
    /// Folders that the run made, the outermost first.
    made: Vec<PathBuf>,
}

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether the process is to end.
pub(super) fn asked() -> bool {
    ASKED.load(Ordering::SeqCst)
}

/// Stops a run at a signal.
pub(super) struct Signals;

impl<R: ?Sized> Observer<R> for Signals {
    fn see(&mut self, _: &mut R, _: &Now) -> Result<ControlFlow<Ending>> {
        Ok(match asked() {
            true => ControlFlow::Break(Ending::Interrupted),
            false => ControlFlow::Continue(()),
        })
    }
}

/// A run that checks [`asked`] between its steps, and then ends by itself.
#[derive(Debug)]
pub(super) struct Watch(());

impl Watch {
    pub(super) fn new() -> Self {
        WATCHED.fetch_add(1, Ordering::SeqCst);
        Self(())
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        WATCHED.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Notes the lock of a folder, and the folders that the run made.
pub(super) fn hold(lock: &Path, made: &[PathBuf]) {
    let (lock, made) = (lock.to_path_buf(), made.to_vec());
    state().held.push(Held { lock, made });
}

/// Forgets the lock of a folder.
pub(super) fn release(lock: &Path) {
    state().held.retain(|held| held.lock != lock);
}

/// Sets the end of the line of an interrupted process, which tells how to go on.
pub(super) fn goes_on_with(rest: &str) {
    rest.clone_into(&mut state().rest);
}

/// Does work in the middle of which [`leave`] never ends the process: one file made, or all files of a run renamed. The work locks and unlocks no folder.
pub(super) fn whole<T>(work: impl FnOnce() -> T) -> T {
    let _state = state();
    work()
}

/// Notes that the work is over: a signal from here on neither says that it was interrupted, nor changes the exit code.
pub(super) fn work_is_over() {
    OVER.store(true, Ordering::SeqCst);
}

/// Handles signals from here on. Where no handler can be installed, they end the process as the system does.
pub(super) fn handle() {
    let mut first = None;
    hangup::keep(|| {
        let _ = ctrlc::set_handler(move || signalled(&mut first));
    });
    #[cfg(unix)]
    batch::handle();
}

/// Ends the process, or lets the work in progress do so, which `first` began to wait for.
fn signalled(first: &mut Option<Instant>) {
    let first = first.get_or_insert_with(Instant::now);
    ranks::note_signal();
    let again = ASKED.swap(true, Ordering::SeqCst);
    // A rank that ends within a step would leave the others waiting.
    if !ranks::are_several() {
        stop::ask();
    }
    let over = OVER.load(Ordering::SeqCst);
    let stops_itself = over || ranks::are_several() || WATCHED.load(Ordering::SeqCst) > 0;
    if stops_itself && first.elapsed() < ONE_SIGNAL {
        return;
    }
    if over {
        // A launcher that has gone, or another rank, keeps the process from its end.
        quit(1);
    }
    leave(again);
}

/// Signals of batch systems, which end as SIGTERM does, and the signal of a file that is too large, which then is the error of a write.
#[cfg(unix)]
mod batch {
    use std::ffi::c_int;

    unsafe extern "C" {
        fn signal(number: c_int, handler: usize) -> usize;
        fn raise(number: c_int) -> c_int;
    }

    const SIGTERM: c_int = 15;
    #[cfg(any(target_os = "linux", target_os = "android"))]
    const SIGUSR1: c_int = 10;
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    const SIGUSR1: c_int = 30;
    const SIGXCPU: c_int = 24;
    const SIGXFSZ: c_int = 25;
    const IGNORED: usize = 1;

    /// Passes a signal on as SIGTERM, once: that of the processor's time comes again each second.
    extern "C" fn pass_on(number: c_int) {
        // SAFETY: both calls may be made within a handler; they change the disposition of one signal, and send one that is handled.
        unsafe {
            signal(number, IGNORED);
            raise(SIGTERM);
        }
    }

    pub(super) fn handle() {
        for number in [SIGUSR1, SIGXCPU] {
            // SAFETY: the handler makes calls alone that may be made within one. A signal that was ignored stays so.
            unsafe {
                if signal(number, IGNORED) != IGNORED {
                    signal(number, pass_on as *const () as usize);
                }
            }
        }
        // SAFETY: the call has a signal ignored, and runs no code of this process.
        unsafe { signal(SIGXFSZ, IGNORED) };
    }
}

/// The end of a terminal, which `nohup` has a command ignore.
pub(super) mod hangup {
    /// Calls `install`, which handles signals. SIGHUP stays ignored if it was.
    #[cfg(unix)]
    pub(in crate::cli) fn keep(install: impl FnOnce()) {
        use std::ffi::c_int;

        unsafe extern "C" {
            fn signal(number: c_int, handler: usize) -> usize;
        }
        const SIGHUP: c_int = 1;
        const IGNORED: usize = 1;
        // SAFETY: the calls replace the handler of SIGHUP by none, and run no code of this process.
        let before = unsafe { signal(SIGHUP, IGNORED) };
        if before != IGNORED {
            // SAFETY: as above; the handler is the one that was there.
            unsafe { signal(SIGHUP, before) };
        }
        install();
        if before == IGNORED {
            // SAFETY: as above.
            unsafe { signal(SIGHUP, IGNORED) };
        }
    }

    #[cfg(not(unix))]
    pub(in crate::cli) fn keep(install: impl FnOnce()) {
        install();
    }
}

/// Ends the process at once if a signal came that nobody waits for.
pub(super) fn leave_if_asked() {
    if asked() && !ranks::are_several() && WATCHED.load(Ordering::SeqCst) == 0 {
        leave(false);
    }
}

/// Ends the process at once.
fn leave(again: bool) -> ! {
    let state = state();
    for path in temporary().iter() {
        // One that the run has renamed since is a result.
        let _ = fs::remove_file(path);
    }
    for held in state.held.iter().rev() {
        if !has_series(&held.lock) {
            let _ = fs::remove_file(&held.lock);
        }
        for folder in held.made.iter().rev() {
            // Fails where results are, and should.
            let _ = fs::remove_dir(folder);
        }
    }
    if ranks::is_first() {
        let rest = match (again, state.rest.as_str()) {
            (_, rest) if !rest.is_empty() => rest,
            (true, _) => "the steps after the last checkpoint are lost",
            (false, _) => "nothing is saved",
        };
        let line = format!("rarefy: error: interrupted; {rest}");
        if std::io::stderr().is_terminal() {
            // A progress bar may be in the line.
            streams::say(&format!("\r\u{1b}[K{line}"));
        } else {
            streams::say(&line);
        }
    }
    quit(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::output;

    /// An end at once holds the state; a file made beside it would stay.
    #[test]
    fn no_file_is_made_while_the_process_ends() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("result.csv");
        let (say, hear) = std::sync::mpsc::channel();
        let held = state();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                output::write_with(&file, |to| to.put(b"x")).expect("a file");
                say.send(()).expect("a receiver");
            });
            let early = hear.recv_timeout(Duration::from_millis(200));
            let there = fs::read_dir(folder.path()).expect("a folder").count();
            drop(held);
            hear.recv().expect("the file is written then");
            assert!(early.is_err());
            assert_eq!(there, 0);
        });
        assert!(file.exists());
    }

    #[test]
    fn locks_are_known_as_long_as_they_are_held() {
        let lock = Path::new("a-folder-of-this-test/.rarefy.lock");
        let known = || state().held.iter().any(|held| held.lock == lock);
        hold(lock, &[]);
        assert!(known());
        release(lock);
        assert!(!known());
    }
}
