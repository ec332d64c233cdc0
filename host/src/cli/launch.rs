//! The command as the launcher of its own ranks: a process for each GPU of the host.

use std::env;
use std::net::{Ipv4Addr, TcpListener};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use clap::ArgMatches;

use super::failure::Failure;
use super::interrupt::hangup;
use super::{ranks, streams, tree};
use crate::compute::{Backend, Compute, Devices};
use crate::distributed::Place;
use crate::error::{Error, Result};

/// Time after which the processes are asked again whether they have ended.
const PAUSE: Duration = Duration::from_millis(20);

/// The variable of a process that ends with the one that started it, whose standard input is a pipe from there.
const FOLLOWS: &str = "RAREFY_FOLLOWS";

/// Time that the ranks have for a last checkpoint when their launcher is gone.
const LAST: Duration = Duration::from_secs(600);

/// Time within which all others end after one has failed. They learn of it by themselves once they have met.
const GRACE: Duration = Duration::from_secs(10);

/// How many processes this one is to start; none where it computes itself.
pub(super) fn wanted(matches: &ArgMatches) -> std::result::Result<Option<usize>, Failure> {
    let Some(sub) = asking(matches) else {
        return Ok(None);
    };
    match ranks::place()? {
        Some(place) if place.is_own() => return Ok(None),
        Some(place) => {
            return Err(Failure::Usage(format!(
                "--processes starts all processes of a run, and {} started this one as rank {} of {}; leave it and --devices out",
                place.launcher, place.rank, place.ranks
            )));
        }
        None => {}
    }
    if !matches!(matches.subcommand_name(), Some("shock" | "cavity")) {
        return Err(Failure::Usage(
            "--processes: only flows in time by 'rarefy shock' and 'rarefy cavity' run over processes; leave it out".into(),
        ));
    }
    let backend = sub.get_one::<Backend>("backend").copied();
    let compute = Compute {
        devices: sub.get_one::<Devices>("devices").copied(),
        ..Compute::new(backend.unwrap_or_default())
    };
    let processes = compute.processes()?;
    Ok((processes > 1).then_some(processes))
}

/// Refuses to start processes within a process, as for each value of a list.
pub(super) fn refuse_within(matches: &ArgMatches) -> std::result::Result<(), Failure> {
    match wanted(matches)? {
        None => Ok(()),
        Some(_) => Err(Failure::Usage(
            "--processes: a list of values runs in one process; leave it out".into(),
        )),
    }
}

/// The options of the subcommand, where they ask for processes.
fn asking(matches: &ArgMatches) -> Option<&ArgMatches> {
    let (_, sub) = tree::leaf(matches)?;
    let asked = sub.try_get_one::<bool>("processes").ok().flatten();
    asked.is_some_and(|asked| *asked).then_some(sub)
}

/// The processes of a run. Dropped, it ends those that are left.
struct Processes(Vec<Child>);

impl Drop for Processes {
    fn drop(&mut self) {
        for child in &mut self.0 {
            // One that has ended needs no end.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Runs the command over so many processes. The output of rank 0 appears, and the errors of all.
pub(super) fn run(ranks: usize) -> std::result::Result<(), Failure> {
    static SIGNALLED: AtomicBool = AtomicBool::new(false);
    // The processes stop at a step that all agree on; this one waits for them.
    hangup::keep(|| {
        let _ = ctrlc::set_handler(|| SIGNALLED.store(true, Ordering::SeqCst));
    });
    let mut processes = start(ranks)?;
    let mut failed: Option<(usize, ExitStatus, Instant)> = None;
    loop {
        if SIGNALLED.swap(false, Ordering::SeqCst) {
            for child in &mut processes.0 {
                // The number of one that has ended may be another's.
                if matches!(child.try_wait(), Ok(None)) {
                    interrupt(child);
                }
            }
        }
        let mut left = false;
        for (rank, child) in processes.0.iter_mut().enumerate() {
            match child.try_wait().map_err(own)? {
                None => left = true,
                Some(status) if !status.success() && failed.is_none() => {
                    failed = Some((rank, status, Instant::now()));
                }
                Some(_) => {}
            }
        }
        match failed {
            None if !left => return Ok(()),
            // The process has said why.
            Some((_, status, _)) if !left => return Err(Failure::Elsewhere(code(status))),
            Some((rank, status, since)) if since.elapsed() > GRACE => {
                streams::say(&format!(
                    "rarefy: error: rank {rank} ended early ({status}), and this ends the others"
                ));
                return Err(Failure::Elsewhere(code(status)));
            }
            _ => thread::sleep(PAUSE),
        }
    }
}

/// The exit code of a run whose process ended so.
fn code(status: ExitStatus) -> u8 {
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    code.filter(|code| *code != 0).unwrap_or(1)
}

fn own(why: std::io::Error) -> Error {
    Error::Numerical(format!(
        "--processes: rarefy cannot be started again: {why}"
    ))
}

fn start(ranks: usize) -> Result<Processes> {
    let program = env::current_exe().map_err(own)?;
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|free| free.local_addr());
    let port = free.map_err(own)?.port();
    let mut processes = Processes(Vec::new());
    for (rank, variables) in Place::variables(ranks, port)?.into_iter().enumerate() {
        let mut command = Command::new(&program);
        command.args(env::args_os().skip(1));
        command.envs(variables).env(FOLLOWS, "1");
        // It ends with this process, however that ends.
        command.stdin(Stdio::piped());
        if env::var_os("NCCL_NVLS_ENABLE").is_none() {
            // Multicast is of no use to messages between neighbours.
            command.env("NCCL_NVLS_ENABLE", "0");
        }
        if rank > 0 {
            command.stdout(Stdio::null());
        }
        processes.0.push(command.spawn().map_err(own)?);
    }
    Ok(processes)
}

/// In a process of the launcher: stops it as by a signal once the launcher is gone.
///
/// No handler sees the end of a launcher that is killed. Its end of a pipe closes in any case.
pub(super) fn follow() {
    let follows = env::var_os(FOLLOWS).is_some()
        && matches!(ranks::place(), Ok(Some(place)) if place.is_own());
    if follows {
        // Without a thread the process ends by itself, if later.
        let _ = thread::Builder::new().spawn(|| {
            let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
            terminate(std::process::id());
            thread::sleep(LAST);
            ranks::abort(
                1,
                "rarefy: error: the process that started the ranks is gone",
            );
        });
    }
}

/// Passes a signal on.
fn interrupt(child: &Child) {
    // Ctrl-C reaches all processes of a console elsewhere.
    if cfg!(unix) {
        terminate(child.id());
    }
}

#[cfg(unix)]
fn terminate(process: u32) {
    use std::ffi::c_int;

    unsafe extern "C" {
        fn kill(process: c_int, signal: c_int) -> c_int;
    }
    const SIGTERM: c_int = 15;
    if let Ok(process) = c_int::try_from(process) {
        // SAFETY: the call sends a signal to this process, or to a child that was not waited for, and touches no memory.
        let _ = unsafe { kill(process, SIGTERM) };
    }
}

#[cfg(not(unix))]
fn terminate(_: u32) {}
