//! The `rarefy` command.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rarefy::memory_plan::host_memory;

fn main() {
    rarefy::cli::main()
}

/// The allocator of the system. Where memory ends, it prints one line and exits; the default would abort.
///
/// Large data are planned for before they are allocated. A limit of the process can end in between, and then this is the last word.
struct Reporting;

#[global_allocator]
static ALLOCATOR: Reporting = Reporting;

// SAFETY: every call goes to the system's allocator as it came, and its pointer is returned unless it is null.
unsafe impl GlobalAlloc for Reporting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are those of the system's allocator.
        checked(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        checked(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        checked(unsafe { System.realloc(pointer, layout, size) }, size)
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

fn checked(pointer: *mut u8, size: usize) -> *mut u8 {
    if pointer.is_null() {
        exhausted(size);
    }
    pointer
}

/// Says that memory has come to its end, and ends the process as a refused input does.
#[cold]
fn exhausted(size: usize) -> ! {
    static FIRST: AtomicBool = AtomicBool::new(true);
    thread_local! {
        static SPEAKS: Cell<bool> = const { Cell::new(false) };
    }
    if SPEAKS.get() {
        // There is not even room to ask how much there is.
        say(size, None);
        rarefy::cli::end(2);
    }
    if !FIRST.swap(false, Ordering::SeqCst) {
        // Another thread is saying so, and ends the process.
        loop {
            std::thread::sleep(Duration::from_secs(1));
        }
    }
    SPEAKS.set(true);
    say(size, host_memory().available);
    rarefy::cli::end(2)
}

fn say(size: usize, available: Option<u64>) {
    // The line is made where no memory is needed.
    let mut line = [0_u8; 256];
    let mut rest = &mut line[..];
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    let _ = write!(
        rest,
        "rarefy: error: memory is exhausted: {:.1} MiB more are needed",
        mib(size as u64)
    );
    if let Some(available) = available {
        let _ = write!(rest, ", and {:.1} MiB are available", mib(available));
    }
    let _ = writeln!(
        rest,
        "; use a smaller problem, or raise the limit of the process (ulimit -v)"
    );
    let left = rest.len();
    let end = line.len() - left;
    let _ = std::io::stderr().write_all(&line[..end]);
}
