//! The threads of all parallel work.

use std::num::NonZero;
use std::sync::mpsc::{Sender, channel};
use std::thread;

use rayon::{ThreadBuilder, ThreadPoolBuilder};

use super::failure::Failure;
use super::{options, streams};

/// Variable with the number of threads, unless `--threads` is given.
const VARIABLE: &str = "RAYON_NUM_THREADS";

/// Addresses that a thread reserves: its stack, and the arena of its allocations.
const RESERVED: u64 = 128 << 20;

/// Starts the threads of all parallel work: as many as `--threads` or the variable says, else one a core.
///
/// Without a wish there are fewer where memory has no room for them or the system refuses them, at worst none beside the present one. The pool itself would panic.
pub(super) fn build(wanted: Option<usize>) -> Result<(), Failure> {
    let wish = match wanted {
        Some(threads) => Some((threads, format!("--threads {threads}"))),
        None => from_variable()?.map(|threads| (threads, format!("{VARIABLE}={threads}"))),
    };
    let available = crate::memory_plan::host_memory().available;
    let room = available.map_or(u64::MAX, |bytes| (bytes / 2 / RESERVED).max(1));
    let threads = match &wish {
        Some((threads, wish)) if *threads as u64 > room => {
            return Err(Failure::Usage(format!(
                "{wish}: memory has room for {room} threads"
            )));
        }
        Some((threads, _)) => *threads,
        None => {
            let cores = thread::available_parallelism().map_or(1, NonZero::get);
            cores.min(usize::try_from(room).unwrap_or(usize::MAX))
        }
    };
    let waiting = start(threads);
    let found = waiting.len();
    if found < threads {
        let refusal =
            format!("the system refuses more than {found} of {threads} threads (ulimit -u)");
        match wish {
            Some((_, wish)) => return Err(Failure::Usage(format!("{wish}: {refusal}"))),
            None => streams::say(&format!(
                "rarefy: warning: {refusal}; the work takes longer"
            )),
        }
    }
    let pool = ThreadPoolBuilder::new().num_threads(found.max(1));
    let built = if found == 0 {
        pool.use_current_thread().build_global()
    } else {
        let hand_over = |thread: ThreadBuilder| {
            let place = &waiting[thread.index()];
            let sent = place.send(thread);
            sent.map_err(|_| std::io::ErrorKind::BrokenPipe.into())
        };
        pool.spawn_handler(hand_over).build_global()
    };
    match (built, wanted) {
        // Without a wish, a pool that is there already keeps its threads.
        (Ok(()), _) | (Err(_), None) => Ok(()),
        (Err(error), Some(threads)) => Err(Failure::Usage(format!("--threads {threads}: {error}"))),
    }
}

/// Starts so many threads, or as many as the system has; each waits for its part in a pool.
fn start(threads: usize) -> Vec<Sender<ThreadBuilder>> {
    let start = |_| {
        let (give, take) = channel::<ThreadBuilder>();
        let run = move || {
            if let Ok(part) = take.recv() {
                part.run();
            }
        };
        thread::Builder::new().spawn(run).ok().map(|_| give)
    };
    (0..threads).map_while(start).collect()
}

/// The number of threads in the environment; 0 and an empty text are none.
fn from_variable() -> Result<Option<usize>, Failure> {
    let Some(text) = std::env::var_os(VARIABLE).filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let text = text.to_string_lossy();
    let most = options::MOST_THREADS;
    let expected = match text.parse::<usize>() {
        Ok(0) => return Ok(None),
        Ok(threads) if threads <= most => return Ok(Some(threads)),
        Ok(_) => format!("at most {most} threads"),
        Err(_) => format!("a number of threads, 1 to {most}"),
    };
    Err(Failure::Usage(format!(
        "{VARIABLE}={text}: expected {expected}"
    )))
}
