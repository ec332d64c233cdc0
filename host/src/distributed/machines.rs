//! The machines of a rank.

use super::Transport;
use crate::compute::{Backend, Compute, Resolved};
use crate::error::{Error, Result};

/// Opens the machine of a rank of several, and connects it with the others; alone all that a computation asks for.
///
/// # Errors
/// A backend that is not there; a number of threads or devices on several ranks; more ranks of this process than GPUs.
pub(crate) fn machines(compute: &Compute, transport: &dyn Transport) -> Result<Vec<Resolved>> {
    let ranks = transport.ranks();
    if ranks == 1 {
        return compute.resolve_all();
    }
    if let Some(devices) = compute.devices {
        return Err(Error::invalid(
            "devices",
            devices,
            "none for several ranks, each of which has one device",
        ));
    }
    if let Some(threads) = compute.threads {
        // Ranks of one process would share the pool, and wait in it for each other.
        return Err(Error::invalid(
            "threads",
            threads,
            "none for several ranks, which share the threads of their process",
        ));
    }
    if transport.in_one_process() {
        let machine = compute.resolve_rank(transport.rank(), Some(ranks))?;
        return Ok(vec![machine]);
    }
    let opened = compute.resolve_rank(transport.local_rank(), None);
    // A rank that failed tells the others, which wait for it.
    let connected = transport.connect(match &opened {
        Ok(Resolved::Cuda(device)) => Some(device),
        _ => None,
    });
    let machine = opened?;
    connected?;
    Ok(vec![machine])
}

/// The refusal of the scalar reference on several ranks.
pub(crate) fn no_reference() -> Error {
    Error::invalid(
        "backend",
        Backend::Reference,
        "auto, cuda, cpu or emulator for several ranks",
    )
}
