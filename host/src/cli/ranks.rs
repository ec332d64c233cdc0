//! The ranks of a run: processes that a launcher such as mpirun has started. Rank 0 writes and prints.
//!
//! A failure that all ranks know of is reported by one of them, and all end. Any other failure ends all processes at once.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::failure::Failure;
use super::streams;
use crate::distributed::{Alone, Place, Processes, Transport};
use crate::error::{Error, Result};
use crate::gpu::quit;

/// The variable that declares each process a run of its own.
const SEPARATE: &str = "RAREFY_SEPARATE";

/// The variable that chooses the transport of ranks: `mpi` or `nccl`.
const TRANSPORT: &str = "RAREFY_TRANSPORT";

/// Beginning of the name of the file by which ranks see that they share a folder.
const SHARED: &str = ".rarefy-shared-";

/// Ranks that have the same failure at about the same time leave the report to the first.
const COURTESY: Duration = Duration::from_millis(500);

/// Whether a signal has arrived.
static SIGNALLED: AtomicBool = AtomicBool::new(false);

static RANKS: Mutex<Option<Arc<dyn Transport>>> = Mutex::new(None);

/// The transport between the ranks of this run.
pub(super) fn transport() -> Arc<dyn Transport> {
    let ranks = RANKS.lock().unwrap_or_else(PoisonError::into_inner);
    ranks.clone().unwrap_or_else(|| Arc::new(Alone))
}

/// Whether this process writes and prints.
pub(super) fn is_first() -> bool {
    transport().rank() == 0
}

/// Whether this process is one of several.
pub(super) fn are_several() -> bool {
    transport().ranks() > 1
}

/// The place that a launcher has given this process, unless each is a run of its own.
pub(super) fn place() -> Result<Option<Place>> {
    match std::env::var(SEPARATE).is_ok_and(|value| value.trim() == "1") {
        true => Ok(None),
        false => Place::from_environment(),
    }
}

/// Connects this process with the others that its launcher has started.
pub(super) fn connect() -> std::result::Result<(), Failure> {
    // A wrong name is refused for one process too.
    transport_by_name()?;
    match place()? {
        Some(place) if !are_several() => {
            let transport = start(&place)?;
            *RANKS.lock().unwrap_or_else(PoisonError::into_inner) = Some(transport);
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Notes a signal: a launcher ends ranks by one.
pub(super) fn note_signal() {
    SIGNALLED.store(true, Ordering::SeqCst);
}

/// Leaves the other ranks at the end.
pub(super) fn leave() {
    *RANKS.lock().unwrap_or_else(PoisonError::into_inner) = None;
}

/// Whether `--devices` is the number of these ranks.
pub(super) fn have_devices() -> bool {
    are_several() && matches!(place(), Ok(Some(place)) if place.is_own())
}

fn start(place: &Place) -> std::result::Result<Arc<dyn Transport>, Failure> {
    if by_mpi(place)? {
        #[cfg(feature = "mpi")]
        return Ok(Arc::new(crate::distributed::Mpi::start()?));
    }
    // Processes of the command may be without GPUs, as in its tests.
    if !place.is_own()
        && let Err(why) = Processes::check()
    {
        return Err(refusal(
            place,
            &format!(
                ", and this rarefy cannot connect them without GPUs and NCCL: {why}; {}",
                match cfg!(feature = "mpi") && place.launcher != "torchrun" {
                    true => "without RAREFY_TRANSPORT=nccl it connects CPUs by MPI",
                    false =>
                        "'cargo install rarefy --features mpi' builds one that connects CPUs under mpirun and srun",
                }
            ),
        ));
    }
    Ok(Arc::new(Processes::start(place)?))
}

/// Whether MPI connects the ranks: in a build with it those of `mpirun` and `srun`, unless the environment chooses NCCL.
fn by_mpi(place: &Place) -> Result<bool> {
    let knows_it = !place.is_own() && place.launcher != "torchrun";
    let is_there = cfg!(feature = "mpi");
    match transport_by_name()? {
        None => Ok(is_there && knows_it),
        Some(Named::Nccl) => Ok(false),
        Some(Named::Mpi) if is_there && knows_it => Ok(true),
        Some(Named::Mpi) => Err(Error::invalid(
            TRANSPORT,
            "mpi",
            match knows_it {
                true => "a rarefy with MPI, by 'cargo install rarefy --features mpi'".to_owned(),
                false => format!("nccl for the ranks of {}", place.launcher),
            },
        )),
    }
}

/// A transport of the environment.
enum Named {
    Mpi,
    Nccl,
}

/// The transport that the environment names, if it does.
fn transport_by_name() -> Result<Option<Named>> {
    let named = std::env::var(TRANSPORT).unwrap_or_default();
    match named.trim() {
        "" => Ok(None),
        "mpi" => Ok(Some(Named::Mpi)),
        "nccl" => Ok(Some(Named::Nccl)),
        other => Err(Error::invalid(TRANSPORT, other, "mpi or nccl")),
    }
}

/// The refusal of ranks that cannot be connected.
fn refusal(place: &Place, why: &str) -> Failure {
    let Place {
        rank,
        ranks,
        launcher,
        ..
    } = place;
    Failure::Usage(format!(
        "{launcher} started this as rank {rank} of {ranks}{why}; start one process, with --devices for the GPUs of a host, or set {SEPARATE}=1 where each is a run of its own"
    ))
}

/// The result of this rank, unless another rank failed. All ranks call it. The first rank that failed reports why.
pub(super) fn agreed<T>(own: std::result::Result<T, Failure>) -> std::result::Result<T, Failure> {
    let transport = transport();
    if transport.ranks() == 1 {
        return own;
    }
    let code = own.as_ref().err().map(|failure| failure.code_and_line().0);
    let answer = [u8::from(code.is_some()), code.unwrap_or(0)];
    let all = transport.gather(&answer)?;
    let failed = all.iter().position(|answer| answer.first() != Some(&0));
    match (failed, own) {
        (None, own) => own,
        (Some(rank), Err(failure)) if rank == transport.rank() => {
            Err(Failure::Agreed(rank, Box::new(failure)))
        }
        (Some(rank), _) => Err(Failure::Elsewhere(all[rank].last().copied().unwrap_or(1))),
    }
}

/// Refuses several ranks where the work cannot be divided.
pub(super) fn refuse_several(work: &str) -> std::result::Result<(), Failure> {
    if !are_several() {
        return Ok(());
    }
    let ranks = transport().ranks();
    agreed(Err(Failure::Usage(format!(
        "{work} runs on one rank, and there are {ranks}: flows in time by 'rarefy shock' and 'rarefy cavity' run on several; start one process, or set {SEPARATE}=1 where each is a run of its own"
    ))))
}

/// Refuses ranks that run another program, or with other parameters than rank 0.
pub(super) fn check_same(parameters: &impl Serialize) -> std::result::Result<(), Failure> {
    let transport = transport();
    if transport.ranks() == 1 {
        return Ok(());
    }
    let program = std::env::current_exe().and_then(std::fs::read);
    let program = program.map_or(0, |bytes| crc32fast::hash(&bytes));
    let own = json!({
        "program": program, "version": env!("CARGO_PKG_VERSION"), "parameters": parameters,
    });
    let all: Vec<Value> = transport
        .gather(own.to_string().as_bytes())?
        .iter()
        .map(|bytes| serde_json::from_slice(bytes).unwrap_or_default())
        .collect();
    agreed(match all.iter().position(|other| *other != all[0]) {
        None => Ok(()),
        Some(rank) => Err(Failure::Usage(difference(&all[0], rank, &all[rank]))),
    })
}

/// The first difference between rank 0 and another.
fn difference(first: &Value, rank: usize, other: &Value) -> String {
    if first["program"] != other["program"] || first["version"] != other["version"] {
        return format!("rank {rank} is another program than rank 0: all ranks need the same");
    }
    let (first, other) = (&first["parameters"], &other["parameters"]);
    let keys = [first, other].map(|of| of.as_object().into_iter().flat_map(|of| of.keys()));
    let [mut keys, more] = keys;
    let differs = |key: &&String| first.get(key.as_str()) != other.get(key.as_str());
    let key = keys
        .find(differs)
        .or_else(|| more.into_iter().find(differs));
    let Some(key) = key else {
        return format!("rank {rank} has other parameters than rank 0");
    };
    let of = |parameters: &Value| match parameters.get(key) {
        None | Some(Value::Null) => "none".to_owned(),
        Some(value) => value.to_string().replace('"', ""),
    };
    format!(
        "--{key} is {} on rank {rank} and {} on rank 0: all ranks need the same parameters",
        of(other),
        of(first)
    )
}

/// The folder of rank 0, for the others; none on one rank.
pub(super) fn from_the_first(folder: Option<&Path>) -> Result<Option<PathBuf>> {
    let transport = transport();
    if transport.ranks() == 1 {
        return Ok(None);
    }
    let own = folder.filter(|_| transport.rank() == 0).map(|folder| {
        let whole = folder.canonicalize();
        whole
            .unwrap_or_else(|_| folder.to_path_buf())
            .into_os_string()
    });
    let all = transport.gather(own.unwrap_or_default().as_encoded_bytes())?;
    let first = all
        .first()
        .map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    let first = first.filter(|path| !path.is_empty() && transport.rank() > 0);
    Ok(first.map(PathBuf::from))
}

/// The results of all ranks about a file, where none failed.
pub(super) fn together<T: Serialize + DeserializeOwned>(
    own: Result<T>,
    path: &Path,
) -> Result<Vec<T>> {
    let transport = transport();
    if transport.ranks() == 1 {
        return Ok(vec![own?]);
    }
    let message = own.as_ref().map_err(ToString::to_string);
    let message = serde_json::to_vec(&message).unwrap_or_default();
    let all = transport.gather(&message)?;
    let mut results = Vec::new();
    for (rank, bytes) in all.iter().enumerate() {
        let unreadable = || Err("its message is unreadable".to_owned());
        let result: std::result::Result<T, String> =
            serde_json::from_slice(bytes).unwrap_or_else(|_| unreadable());
        match result {
            Ok(result) => results.push(result),
            Err(why) => {
                own?;
                return Err(Error::file(path, format!("rank {rank}: {why}")));
            }
        }
    }
    Ok(results)
}

/// Refuses a folder that is not the same for all ranks.
pub(super) fn check_shared(folder: &Path) -> std::result::Result<(), Failure> {
    let transport = transport();
    if transport.ranks() == 1 {
        return Ok(());
    }
    let first = match transport.rank() {
        0 => tempfile::Builder::new()
            .prefix(SHARED)
            .tempfile_in(folder)
            .ok(),
        _ => None,
    };
    // Another run takes a file without a lock for abandoned.
    let _ = first.as_ref().map(|file| file.as_file().try_lock());
    let name = first.as_ref().and_then(|file| file.path().file_name());
    let all = transport.gather(name.unwrap_or_default().as_encoded_bytes())?;
    let name = String::from_utf8_lossy(&all[0]).into_owned();
    let seen = || folder.join(&name).is_file();
    // Files of another host may be seen late.
    let waited = std::iter::repeat_n((), 20).any(|()| {
        let seen = seen();
        if !seen {
            std::thread::sleep(COURTESY / 5);
        }
        seen
    });
    let shared = if name.is_empty() || waited {
        Ok(())
    } else {
        let why = "this rank does not see the folder of rank 0; give a folder that all hosts share with --out";
        Err(Error::file(folder, why).into())
    };
    agreed(shared)
}

/// The next move of all ranks: whether any was interrupted, and the steps that rank 0 proposes.
pub(super) fn next(interrupted: bool, steps: u64) -> Result<(bool, u64)> {
    let transport = transport();
    if transport.ranks() == 1 {
        return Ok((interrupted, steps));
    }
    let mut own = vec![u8::from(interrupted)];
    own.extend(steps.to_le_bytes());
    let all = transport.gather(&own)?;
    let any = all.iter().any(|rank| rank.first() == Some(&1));
    let proposed = all.first().and_then(|first| first.last_chunk());
    Ok((
        any,
        proposed.map_or(steps, |bytes| u64::from_le_bytes(*bytes)),
    ))
}

/// Ends all processes because of a failure that the others do not know of.
pub(super) fn abort(code: u8, line: &str) -> ! {
    let transport = transport();
    if transport.rank() > 0 {
        std::thread::sleep(COURTESY);
        if SIGNALLED.load(Ordering::SeqCst) {
            // The first rank has ended all of them.
            quit(code);
        }
    }
    streams::say(line);
    transport.abort(code)
}

/// The ranks as the record has them; none for one process.
pub(super) fn record() -> Option<Value> {
    let transport = transport();
    let place = place().ok().flatten()?;
    (transport.ranks() > 1).then(|| {
        json!({ "number": transport.ranks(), "launcher": place.launcher, "transport": transport.describe() })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_named() {
        let of = |program: u32, parameters: Value| json!({ "program": program, "version": "1", "parameters": parameters });
        let first = of(7, json!({ "mach": 2.0, "steps": 10 }));
        let line = |other: Value| difference(&first, 3, &other);
        assert_eq!(
            line(of(8, json!({}))),
            "rank 3 is another program than rank 0: all ranks need the same"
        );
        assert_eq!(
            line(of(7, json!({ "mach": 2.0, "steps": 20 }))),
            "--steps is 20 on rank 3 and 10 on rank 0: all ranks need the same parameters"
        );
        let more = json!({ "mach": 2.0, "steps": 10, "model": "shakhov" });
        assert_eq!(
            line(of(7, more)),
            "--model is shakhov on rank 3 and none on rank 0: all ranks need the same parameters"
        );
    }

    #[test]
    fn one_rank_agrees_with_itself() {
        assert!(is_first() && !are_several());
        assert_eq!(agreed(Ok(3)).unwrap(), 3);
        assert!(matches!(
            agreed::<()>(Err(Failure::Usage("no".into()))),
            Err(Failure::Usage(_))
        ));
        assert_eq!(next(true, 5).unwrap(), (true, 5));
        assert!(check_same(&json!({})).is_ok() && record().is_none());
    }

    #[test]
    fn ranks_that_cannot_be_connected_are_refused() {
        let place = |name: &str| match name {
            "RANK" => Some("1".to_owned()),
            "WORLD_SIZE" => Some("4".to_owned()),
            _ => None,
        };
        let place = Place::of(place).unwrap().expect("a place");
        let (code, line) = refusal(&place, ", and so on").code_and_line();
        assert_eq!(code, 2);
        assert!(
            line.contains("torchrun started this as rank 1 of 4, and so on; start one process"),
            "{line}"
        );
    }
}
