//! The number of devices of a computation, and the division of work among them: a thread a device.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// The number of devices that share a computation.
///
/// ```
/// use rarefy::{Backend, Compute, Devices};
///
/// let two: Devices = "2".parse()?;
/// let compute = Compute::new(Backend::Emulator).with_devices(two);
/// assert_eq!(compute.devices, Some(Devices::Number(2)));
/// assert_eq!("all".parse::<Devices>()?, Devices::All);
/// # Ok::<(), rarefy::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
#[non_exhaustive]
pub enum Devices {
    /// So many, 1 to [`Devices::MOST`].
    Number(usize),
    /// All GPUs of the host.
    All,
}

impl Devices {
    /// Most devices of a computation.
    pub const MOST: usize = 64;

    pub(super) fn number(number: usize) -> Result<Self> {
        if (1..=Self::MOST).contains(&number) {
            return Ok(Self::Number(number));
        }
        Err(wrong(number))
    }
}

fn wrong(value: impl ToString) -> Error {
    let expected = format!("a number between 1 and {}, or all", Devices::MOST);
    Error::invalid("devices", value, expected)
}

impl fmt::Display for Devices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::All => f.pad("all"),
        }
    }
}

impl FromStr for Devices {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text.trim() {
            all if all.eq_ignore_ascii_case("all") => Ok(Self::All),
            number => Self::number(number.parse().map_err(|_| wrong(text))?),
        }
    }
}

/// The number or the word, as files have them.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Written {
    Number(usize),
    Word(String),
}

impl From<Devices> for Written {
    fn from(devices: Devices) -> Self {
        match devices {
            Devices::Number(number) => Self::Number(number),
            Devices::All => Self::Word(devices.to_string()),
        }
    }
}

impl TryFrom<Written> for Devices {
    type Error = Error;

    fn try_from(written: Written) -> Result<Self> {
        match written {
            Written::Number(number) => Self::number(number),
            Written::Word(word) => word.parse(),
        }
    }
}

/// Parts of so many items, one a device, in their order and of nearly equal size. None is empty unless there are no items.
pub(crate) fn shares(items: usize, devices: usize) -> Vec<Range<usize>> {
    let parts = devices.min(items).max(1);
    let bound = |part: usize| (part as u128 * items as u128 / parts as u128) as usize;
    (0..parts)
        .map(|part| bound(part)..bound(part + 1))
        .collect()
}

/// Works on each device in a thread of its own. Results are in the order of the devices; of several errors the first device's counts.
pub(crate) fn on_each<D: Send, R: Send>(
    devices: impl IntoIterator<Item = D>,
    work: impl Fn(D) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let mut devices = devices.into_iter().peekable();
    let Some(first) = devices.next() else {
        return Ok(Vec::new());
    };
    if devices.peek().is_none() {
        return Ok(vec![work(first)?]);
    }
    let slots: Vec<_> = std::iter::once(first)
        .chain(devices)
        .map(|device| Mutex::new((Some(device), None)))
        .collect();
    in_threads(slots.len(), &|k| {
        let mut slot = slots[k].lock().unwrap_or_else(PoisonError::into_inner);
        slot.1 = slot.0.take().map(&work);
    });
    let results = slots.into_iter().map(|slot| {
        let (_, result) = slot.into_inner().unwrap_or_else(PoisonError::into_inner);
        result.unwrap_or_else(|| Err(ended()))
    });
    results.collect()
}

/// Calls `work` with each index in a thread of its own. It is compiled once for all kinds of work.
fn in_threads(count: usize, work: &(dyn Fn(usize) + Sync)) {
    std::thread::scope(|scope| {
        let start = |k| {
            let thread = std::thread::Builder::new();
            thread.spawn_scoped(scope, move || work(k))
        };
        let threads: Vec<_> = (0..count).map(start).collect();
        for thread in threads.into_iter().flatten() {
            // A thread that panicked, or that the system refused, has no result.
            let _ = thread.join();
        }
    });
}

/// The error of a device whose thread panicked or was refused.
pub(crate) fn ended() -> Error {
    Error::Numerical("the thread of a device ended early".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_shared_in_their_order() {
        assert_eq!(shares(7, 3), [0..2, 2..4, 4..7]);
        assert_eq!(shares(2, 3), [0..1, 1..2]);
        assert_eq!(shares(0, 3), vec![0..0; 1]);
        let found = on_each(shares(10, 4), |part| Ok(part.sum::<usize>())).unwrap();
        assert_eq!(found.iter().sum::<usize>(), 45);
        let failed = on_each(0..3, |k| {
            if k == 0 {
                Ok(())
            } else {
                Err(Error::invalid("device", k, "device 0"))
            }
        });
        assert_eq!(
            failed.unwrap_err().to_string(),
            "device: 1; expected device 0"
        );
    }

    #[test]
    fn numbers_and_the_word_read_back() {
        for devices in [Devices::Number(3), Devices::All] {
            assert_eq!(devices.to_string().parse::<Devices>().unwrap(), devices);
            let json = serde_json::to_string(&devices).unwrap();
            assert_eq!(serde_json::from_str::<Devices>(&json).unwrap(), devices);
        }
        assert_eq!(serde_json::to_string(&Devices::Number(2)).unwrap(), "2");
        for wrong in ["0", "65", "two", "-1"] {
            let error = wrong.parse::<Devices>().unwrap_err().to_string();
            assert_eq!(
                error,
                format!("devices: {wrong}; expected a number between 1 and 64, or all")
            );
        }
        assert!(serde_json::from_str::<Devices>("0").is_err());
    }
}
