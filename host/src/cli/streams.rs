//! Standard output, which may close, and standard error.

use std::io::{self, ErrorKind, Write};

use super::failure::Failure;

/// Whether the process began with standard output closed. The runtime of Rust then opens /dev/null in its place, before `main`, and all that is printed would be
/// lost without an error.
#[cfg(target_os = "linux")]
mod closed {
    use std::ffi::c_int;
    use std::sync::atomic::{AtomicBool, Ordering};

    static CLOSED: AtomicBool = AtomicBool::new(false);

    /// "Bad file descriptor".
    pub(super) const CODE: i32 = 9;

    unsafe extern "C" {
        fn fcntl(descriptor: c_int, command: c_int, ...) -> c_int;
    }

    extern "C" fn look() {
        const F_GETFD: c_int = 1;
        // SAFETY: the call reads the flags of descriptor 1 and has no other argument; it fails where that is closed.
        let flags = unsafe { fcntl(1, F_GETFD) };
        CLOSED.store(flags == -1, Ordering::Relaxed);
    }

    // SAFETY: the loader calls the functions of this section once, before `main`; `look` takes no argument that it would miss and touches nothing of the runtime.
    #[used]
    #[unsafe(link_section = ".init_array")]
    static LOOK: extern "C" fn() = look;

    pub(super) fn is() -> bool {
        CLOSED.load(Ordering::Relaxed)
    }
}

/// Prints on standard output.
pub(super) fn print(text: &str) -> Result<(), Failure> {
    #[cfg(target_os = "linux")]
    if closed::is() {
        return Err(Failure::Stdout(io::Error::from_raw_os_error(closed::CODE)));
    }
    let mut out = io::stdout().lock();
    let newline = if text.ends_with('\n') { "" } else { "\n" };
    match write!(out, "{text}{newline}").and_then(|()| out.flush()) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(Failure::StdoutClosed),
        Err(error) => Err(Failure::Stdout(error)),
    }
}

/// Prints a line on standard error; if that is closed, no reader is left.
pub(super) fn say(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}
