//! The PTX that a program embeds, and which variant of it a device takes.

use std::borrow::Cow;
use std::io::Read;

use flate2::read::DeflateDecoder;

use crate::error::{Error, Result};

/// The kernels of one wing, compiled for one compute capability and everything later.
#[derive(Clone, Copy, Debug)]
pub struct PtxModule {
    /// The wing whose kernels these are.
    pub wing: &'static str,
    /// Least compute capability that runs them, ten times the major number plus the minor: 75 is 7.5.
    pub capability: u32,
    /// Entry points in the text.
    pub entries: &'static [&'static str],
    /// The PTX itself.
    pub text: PtxText,
}

/// PTX as a program holds it.
#[derive(Clone, Copy, Debug)]
pub enum PtxText {
    /// As the driver reads it.
    Plain(&'static str),
    /// A DEFLATE stream (RFC 1951): about a tenth of the text's size. `ptx-builder` writes it.
    Deflated(&'static [u8]),
}

impl PtxModule {
    /// A module of the kernels in `entries`, whose PTX is a DEFLATE stream.
    pub const fn deflated(
        wing: &'static str,
        capability: u32,
        entries: &'static [&'static str],
        stream: &'static [u8],
    ) -> Self {
        Self {
            wing,
            capability,
            entries,
            text: PtxText::Deflated(stream),
        }
    }

    /// The PTX as the driver reads it.
    ///
    /// # Errors
    ///
    /// A stream that is no DEFLATE stream of UTF-8 text.
    pub fn text(&self) -> Result<Cow<'static, str>> {
        match self.text {
            PtxText::Plain(text) => Ok(Cow::Borrowed(text)),
            PtxText::Deflated(stream) => {
                let mut text = String::new();
                DeflateDecoder::new(stream)
                    .read_to_string(&mut text)
                    .map_err(|error| Error::Driver {
                        action: format!("unpacking the PTX of wing `{}`", self.wing),
                        reason: error.to_string(),
                    })?;
                Ok(Cow::Owned(text))
            }
        }
    }
}

/// The PTX of one entry point: the text before the first of all, and its own.
///
/// A module holds hundreds of kernels and a run launches a few: only those are worth the driver's compilation.
pub(super) fn of_entry(text: &str, entry: &str) -> Option<String> {
    const MARK: &str = ".visible .entry ";
    let starts = || text.match_indices(MARK).map(|(at, _)| at);
    let named = |at: &usize| {
        let name = text[at + MARK.len()..].strip_prefix(entry);
        name.is_some_and(|rest| rest.starts_with(['(', ' ', '\n', '\r']))
    };
    let start = starts().find(named)?;
    let end = starts().find(|at| *at > start).unwrap_or(text.len());
    let head = &text[..starts().next()?];
    Some([head, &text[start..end]].concat())
}

/// Least compute capability that is supported.
pub const LEAST_CAPABILITY: u32 = 75;

/// A compute capability as people write it: 75 is `7.5`.
pub fn capability_text(capability: u32) -> String {
    format!("{}.{}", capability / 10, capability % 10)
}

/// Index of the module that a device of this capability takes for an entry: the newest variant that it can run.
///
/// Of two equally new ones the first in the list is taken.
pub fn choose(modules: &[PtxModule], entry: &str, capability: u32) -> Option<usize> {
    let mut best: Option<usize> = None;
    for (index, module) in modules.iter().enumerate() {
        let runs = module.capability <= capability && module.entries.contains(&entry);
        if runs && best.is_none_or(|best| modules[best].capability < module.capability) {
            best = Some(index);
        }
    }
    best
}

/// Why [`choose`] finds nothing for an entry.
pub(crate) fn why_none(modules: &[PtxModule], entry: &str, capability: u32) -> String {
    let least = modules
        .iter()
        .filter(|module| module.entries.contains(&entry))
        .map(|module| module.capability)
        .min();
    match least {
        Some(least) => format!(
            "it is compiled for compute capability {} and later, and the device has {}; compute on the CPU",
            capability_text(least),
            capability_text(capability)
        ),
        None if modules.is_empty() => {
            "this build embeds no PTX; build rarefy again from a complete source tree".to_owned()
        }
        None => format!(
            "none of the {} PTX modules embedded in this build has it; build rarefy again so that PTX and host match",
            modules.len()
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn module(capability: u32, entries: &'static [&'static str]) -> PtxModule {
        PtxModule {
            wing: "test",
            capability,
            entries,
            text: PtxText::Plain(""),
        }
    }

    const MODULES: &[PtxModule] = &[
        module(80, &["a", "c"]),
        module(75, &["a", "b", "c"]),
        module(90, &["a", "d"]),
        module(90, &["a"]),
    ];

    #[test]
    fn the_newest_variant_that_the_device_runs_is_chosen() {
        assert_eq!(choose(MODULES, "a", 75), Some(1));
        assert_eq!(choose(MODULES, "a", 79), Some(1));
        assert_eq!(choose(MODULES, "a", 86), Some(0));
        assert_eq!(choose(MODULES, "a", 90), Some(2));
        assert_eq!(choose(MODULES, "a", 120), Some(2));
    }

    #[test]
    fn the_choice_is_made_per_entry() {
        assert_eq!(choose(MODULES, "b", 90), Some(1));
        assert_eq!(choose(MODULES, "c", 90), Some(0));
        assert_eq!(choose(MODULES, "d", 90), Some(2));
    }

    #[test]
    fn a_deflated_text_is_unpacked_and_a_damaged_one_is_refused() {
        // DEFLATE of "ret;": one stored block of four bytes.
        const STREAM: &[u8] = &[1, 4, 0, 0xfb, 0xff, b'r', b'e', b't', b';'];
        let module = PtxModule::deflated("test", 75, &[], STREAM);
        assert_eq!(module.text().unwrap(), "ret;");
        let cut = PtxModule::deflated("test", 75, &[], STREAM.split_at(6).0);
        assert!(cut.text().unwrap_err().to_string().contains("wing `test`"));
    }

    #[test]
    fn an_entry_has_the_head_and_its_own_text() {
        let text = "head\n.visible .entry ab(\n)\n{ 1 }\n.visible .entry a()\n{ 2 }\n";
        let part = |entry| of_entry(text, entry);
        assert_eq!(part("ab").unwrap(), "head\n.visible .entry ab(\n)\n{ 1 }\n");
        assert_eq!(part("a").unwrap(), "head\n.visible .entry a()\n{ 2 }\n");
        assert_eq!(part("b"), None);
        assert_eq!(of_entry("", "a"), None);
    }

    #[test]
    fn no_variant_is_explained() {
        assert_eq!(choose(MODULES, "a", 70), None);
        assert_eq!(choose(MODULES, "d", 89), None);
        assert_eq!(choose(MODULES, "unknown", 90), None);
        assert_eq!(choose(&[], "a", 90), None);
        let text = why_none(MODULES, "d", 89);
        assert!(text.contains("9.0") && text.contains("8.9"), "{text}");
        assert!(why_none(MODULES, "unknown", 90).contains("4 PTX modules"));
        assert!(why_none(&[], "a", 90).contains("embeds no PTX"));
    }
}
