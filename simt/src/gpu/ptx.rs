//! The PTX that a program embeds, and which variant of it a device takes.

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
    pub text: &'static str,
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
            text: "",
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
