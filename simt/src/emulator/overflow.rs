//! The report of a thread that overflows its stack.
//!
//! Each stack has a guard page. An access to it is a signal, which by itself would end the process without a word. The handler of this module finds the thread
//! whose guard page it was, prints one line and aborts, as Rust does for threads of the system. All other faults go to the handler before it.

#[cfg(unix)]
pub(super) use unix::watch;

/// Elsewhere the system reports an overflow.
#[cfg(not(unix))]
pub(super) fn watch(_: super::stack::Bounds<'_>, _: &super::block::Block<'_>) {}

#[cfg(unix)]
mod unix {
    use std::cell::{Cell, RefCell};
    use std::ffi::{c_int, c_void};
    use std::fmt::Write;
    use std::mem::MaybeUninit;
    use std::ptr::{null, null_mut};
    use std::sync::OnceLock;

    use crate::emulator::block::Block;
    use crate::emulator::stack::{Bounds, STACK_BYTES};

    /// The signals of an access to a guard page: the first on Linux, the second on macOS.
    const SIGNALS: [c_int; 2] = [libc::SIGSEGV, libc::SIGBUS];
    /// Bytes of the stack on which the handler runs.
    const HANDLER_BYTES: usize = 64 << 10;

    /// The launch that this thread of the system runs.
    #[derive(Clone, Copy)]
    struct Running {
        bounds: *const (usize, usize),
        threads: usize,
        block: *const (),
        describe: fn(*const ()) -> (&'static str, u32),
    }

    thread_local! {
        static RUNNING: Cell<Option<Running>> = const { Cell::new(None) };
        static OWN_STACK: RefCell<Option<HandlerStack>> = const { RefCell::new(None) };
    }

    /// The handlers that were there before, and the bytes of a page.
    static BEFORE: OnceLock<([libc::sigaction; 2], usize)> = OnceLock::new();

    /// Ends the watch over a launch.
    pub(in crate::emulator) struct Watch<'a> {
        outer: Option<Running>,
        _borrows: Bounds<'a>,
    }

    impl Drop for Watch<'_> {
        fn drop(&mut self) {
            RUNNING.set(self.outer);
        }
    }

    /// Reports overflows of these stacks, one a thread of the block, until the watch is dropped.
    pub(in crate::emulator) fn watch<'a>(bounds: Bounds<'a>, block: &'a Block<'_>) -> Watch<'a> {
        BEFORE.get_or_init(install);
        OWN_STACK.with_borrow_mut(|own| {
            if own.is_none() && !has_handler_stack() {
                *own = HandlerStack::new();
            }
        });
        let running = Running {
            bounds: bounds.as_ptr(),
            threads: bounds.len(),
            block: std::ptr::from_ref(block).cast(),
            describe: |block| {
                // SAFETY: the watch borrows the block, and `describe` is called while it is there.
                let block = unsafe { &*block.cast::<Block<'_>>() };
                (block.entry, block.index())
            },
        };
        Watch {
            outer: RUNNING.replace(Some(running)),
            _borrows: bounds,
        }
    }

    fn install() -> ([libc::sigaction; 2], usize) {
        // SAFETY: asks for a number.
        let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096);
        let before = SIGNALS.map(|signal| {
            let mut before = MaybeUninit::<libc::sigaction>::zeroed();
            // SAFETY: all bits zero are a `sigaction`. The handler calls only what a handler may.
            unsafe {
                let mut action = MaybeUninit::<libc::sigaction>::zeroed().assume_init();
                action.sa_sigaction = handle as *const () as usize;
                action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
                libc::sigemptyset(&raw mut action.sa_mask);
                libc::sigaction(signal, &raw const action, before.as_mut_ptr());
                before.assume_init()
            }
        });
        (before, page)
    }

    /// Whether handlers of this thread have a stack of their own, as in threads of a Rust program.
    fn has_handler_stack() -> bool {
        let mut stack = MaybeUninit::<libc::stack_t>::zeroed();
        // SAFETY: asks for the present stack; all bits zero are one.
        let stack = unsafe {
            libc::sigaltstack(null(), stack.as_mut_ptr());
            stack.assume_init()
        };
        stack.ss_flags & libc::SS_DISABLE == 0 && !stack.ss_sp.is_null()
    }

    /// Memory on which handlers of this thread run.
    struct HandlerStack(#[expect(dead_code, reason = "owned for the system")] Vec<u8>);

    impl HandlerStack {
        fn new() -> Option<Self> {
            let mut memory = vec![0_u8; HANDLER_BYTES];
            let stack = libc::stack_t {
                ss_sp: memory.as_mut_ptr().cast::<c_void>(),
                ss_flags: 0,
                ss_size: HANDLER_BYTES,
            };
            // SAFETY: the memory is there until `drop` takes it back.
            let taken = unsafe { libc::sigaltstack(&raw const stack, null_mut()) };
            (taken == 0).then_some(Self(memory))
        }
    }

    impl Drop for HandlerStack {
        fn drop(&mut self) {
            let none = libc::stack_t {
                ss_sp: null_mut(),
                ss_flags: libc::SS_DISABLE,
                ss_size: HANDLER_BYTES,
            };
            // SAFETY: no handler runs now, and later ones have no stack of their own.
            unsafe { libc::sigaltstack(&raw const none, null_mut()) };
        }
    }

    /// A text of bounded length, made where nothing may be allocated.
    struct Line {
        bytes: [u8; 256],
        len: usize,
    }

    impl Write for Line {
        fn write_str(&mut self, text: &str) -> std::fmt::Result {
            let more = text.len().min(self.bytes.len() - self.len);
            self.bytes[self.len..][..more].copy_from_slice(&text.as_bytes()[..more]);
            self.len += more;
            Ok(())
        }
    }

    extern "C" fn handle(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
        // SAFETY: the system passes the information on the signal.
        let address = unsafe { (*info).si_addr() }.addr();
        let Some((before, page)) = BEFORE.get() else {
            return;
        };
        if let Some((running, thread)) = overflown(address, *page) {
            let (kernel, block) = (running.describe)(running.block);
            let mut line = Line {
                bytes: [0; 256],
                len: 0,
            };
            let _ = writeln!(
                line,
                "error: kernel {kernel}, block {block}, thread {thread}: overflows its stack of {} KiB",
                STACK_BYTES >> 10
            );
            // SAFETY: the bytes are there; both calls are allowed in a handler.
            unsafe {
                libc::write(2, line.bytes.as_ptr().cast(), line.len);
                libc::abort();
            }
        }
        let of_signal = SIGNALS.iter().position(|&known| known == signal);
        forward(&before[of_signal.unwrap_or(0)], signal, info, context);
    }

    /// The thread of the present launch in whose guard page an address is.
    fn overflown(address: usize, page: usize) -> Option<(Running, usize)> {
        let running = RUNNING.get()?;
        // SAFETY: the watch borrows the bounds.
        let bounds = unsafe { std::slice::from_raw_parts(running.bounds, running.threads) };
        let guard = |&(limit, _): &(usize, usize)| (limit..limit + page).contains(&address);
        Some((running, bounds.iter().position(guard)?))
    }

    /// Has the earlier handler do what it would have done.
    fn forward(
        before: &libc::sigaction,
        signal: c_int,
        info: *mut libc::siginfo_t,
        context: *mut c_void,
    ) {
        let handler = before.sa_sigaction;
        // SAFETY: the handler is one of the kind that its flags say; the default one acts when the access is repeated.
        unsafe {
            if handler == libc::SIG_DFL || handler == libc::SIG_IGN {
                libc::sigaction(signal, before, null_mut());
            } else if before.sa_flags & libc::SA_SIGINFO != 0 {
                let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) =
                    std::mem::transmute(handler);
                handler(signal, info, context);
            } else {
                let handler: extern "C" fn(c_int) = std::mem::transmute(handler);
                handler(signal);
            }
        }
    }
}
