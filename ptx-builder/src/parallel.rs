//! Many runs of other programs, as many at a time as there are processors.

use std::sync::Mutex;
use std::thread;

use crate::error::Result;

/// `work` of each item, in the order of the items; of the first that fails, its error.
///
/// Running tasks end, and no more start, once one has failed.
pub(crate) fn in_parallel<T: Send, R: Send>(
    items: impl IntoIterator<Item = T, IntoIter: Send>,
    work: impl Fn(T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let left = Mutex::new(items.into_iter().enumerate());
    let done = Mutex::new(Vec::new());
    let run = || {
        loop {
            // The lock is held while an item is taken, not while it is worked on.
            let Some((place, item)) = lock(&left).next() else {
                return;
            };
            let result = work(item);
            let failed = result.is_err();
            lock(&done).push((place, result));
            if failed {
                lock(&left).by_ref().for_each(drop);
            }
        }
    };
    let workers = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(run);
        }
    });
    let mut done = std::mem::take(&mut *lock(&done));
    done.sort_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, result)| result).collect()
}

/// The value behind a lock, which no worker leaves half changed.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn results_come_in_the_order_of_the_items() {
        let squares = in_parallel(0..100u64, |k| Ok(k * k)).unwrap();
        assert_eq!(squares, (0..100).map(|k| k * k).collect::<Vec<_>>());
    }

    #[test]
    fn the_first_failure_is_told() {
        let fails = |k: u64| {
            if k < 3 {
                return Ok(());
            }
            Err(Error::Command {
                what: k.to_string(),
                output: String::new(),
            })
        };
        let error = in_parallel(0..1000, fails).unwrap_err();
        assert!(matches!(error, Error::Command { what, .. } if what == "3"));
    }
}
