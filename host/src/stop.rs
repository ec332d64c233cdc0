//! The end of long work between two of its parts, as the command asks for it at a signal.
//!
//! Work within [`within`] ends with [`Error::Stopped`], and its caller has the state from before it. Other work goes on: it has nothing to go back to.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::error::{Error, Result};

static ASKED: AtomicBool = AtomicBool::new(false);
static WITHIN: AtomicUsize = AtomicUsize::new(0);

/// Has work end at its next part.
#[cfg(feature = "cli")]
pub(crate) fn ask() {
    ASKED.store(true, Ordering::SeqCst);
}

/// Does work that may end before.
pub(crate) fn within<T>(work: impl FnOnce() -> T) -> T {
    struct Inside;
    impl Drop for Inside {
        fn drop(&mut self) {
            WITHIN.fetch_sub(1, Ordering::SeqCst);
        }
    }
    WITHIN.fetch_add(1, Ordering::SeqCst);
    let _inside = Inside;
    work()
}

/// Ends work that is to end.
///
/// # Errors
/// [`Error::Stopped`].
pub(crate) fn check() -> Result<()> {
    if ASKED.load(Ordering::Relaxed) && WITHIN.load(Ordering::Relaxed) > 0 {
        return Err(Error::Stopped);
    }
    Ok(())
}
