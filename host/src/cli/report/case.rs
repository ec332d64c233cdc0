//! The case of a sweep that a thread works on.

use std::cell::RefCell;

thread_local! {
    /// The case of a sweep that runs.
    static CASE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Does the work of a case of a sweep. Its reports begin warnings on standard error with the name of the case.
pub(in crate::cli) fn in_case<T>(name: &str, work: impl FnOnce() -> T) -> T {
    let before = CASE.replace(Some(name.to_owned()));
    let done = work();
    CASE.set(before);
    done
}

/// The name of the case that runs.
pub(super) fn case() -> Option<String> {
    CASE.with_borrow(Clone::clone)
}
