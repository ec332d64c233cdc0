//! The registers, spills and stack that each kernel is allowed: `kernels-gpu/budgets.toml`.
//!
//! Spills and lost occupancy are silent, so what a kernel uses is committed and compared. Using less than the budget is
//! fine; using more fails the check, until a review runs `cargo xtask ptx budget`.

use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::fs;
use std::path::Path;

use serde::Deserialize;

use crate::assembler::Usage;
use crate::error::{Error, Result};

/// Architectures that have a row of their own: the oldest supported one and a current one for computing.
/// On all others the kernels must assemble, and spill no more than these rows allow or a row of their own.
pub const ARCHITECTURES: [u32; 2] = [75, 90];

const HEADER: &str = "\
# What each kernel may use, per thread: registers, bytes spilled (stores and loads), bytes of stack; per block: bytes of
# static shared memory, barriers. `cargo xtask ptx check` fails where a kernel uses more.
#
# `cargo xtask ptx budget` rewrites the rows from what ptxas reports; look at the difference before you commit it.
# `local`, the bytes of local memory that the PTX of a kernel may declare, is 0 unless written here by hand, and is kept.
";

/// Limits of one kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Budget {
    /// Bytes of local memory that its PTX may declare.
    pub local: u64,
    /// Limits per architecture.
    pub rows: BTreeMap<u32, Usage>,
}

/// The budgets of all kernels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Budgets {
    kernels: BTreeMap<String, Budget>,
}

/// Where a kernel and its budget disagree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Overrun {
    /// A kernel uses more of something than it is allowed.
    Exceeded {
        /// The kernel.
        kernel: String,
        /// Compute capability.
        architecture: u32,
        /// The exceeded resource.
        what: &'static str,
        /// How much it uses.
        used: u32,
        /// How much it may use.
        allowed: u32,
    },
    /// A kernel has no budget for an architecture.
    Unlisted {
        /// The kernel.
        kernel: String,
        /// Compute capability.
        architecture: u32,
    },
    /// A budget belongs to no kernel.
    Orphan {
        /// The name in the budget.
        kernel: String,
    },
}

impl fmt::Display for Overrun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exceeded {
                kernel,
                architecture,
                what,
                used,
                allowed,
            } => {
                write!(
                    f,
                    "{kernel} on sm_{architecture}: {used} {what}, {allowed} allowed"
                )
            }
            Self::Unlisted {
                kernel,
                architecture,
            } => write!(f, "{kernel} has no budget for sm_{architecture}"),
            Self::Orphan { kernel } => write!(f, "the budget of {kernel} belongs to no kernel"),
        }
    }
}

impl Budgets {
    /// Reads a file; a file that is not there holds no budget.
    pub fn read(path: &Path) -> Result<Self> {
        match fs::read_to_string(path) {
            Ok(text) => Self::parse(&text).map_err(|problem| Error::malformed(path, problem)),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(e) => Err(Error::io(path)(e)),
        }
    }

    fn parse(text: &str) -> std::result::Result<Self, String> {
        let tables: BTreeMap<String, BTreeMap<String, Value>> =
            toml::from_str(text).map_err(|e| e.to_string())?;
        let mut kernels = BTreeMap::new();
        for (kernel, table) in tables {
            let mut budget = Budget::default();
            for (key, value) in table {
                let architecture = key
                    .strip_prefix("sm_")
                    .and_then(|number| number.parse().ok());
                match (value, architecture) {
                    (Value::Row(row), Some(architecture)) => {
                        let Row {
                            registers,
                            spill,
                            stack,
                            shared,
                            barriers,
                        } = row;
                        budget.rows.insert(
                            architecture,
                            Usage {
                                registers,
                                spill,
                                stack,
                                shared,
                                barriers,
                            },
                        );
                    }
                    (Value::Number(bytes), None) if key == "local" => budget.local = bytes,
                    _ => {
                        return Err(format!(
                            "[{kernel}] {key}: neither `local = BYTES` nor `sm_NN = {{ ... }}`"
                        ));
                    }
                }
            }
            kernels.insert(kernel, budget);
        }
        Ok(Self { kernels })
    }

    /// Writes the file.
    pub fn write(&self, path: &Path) -> Result<()> {
        let mut text = HEADER.to_owned();
        for (kernel, budget) in &self.kernels {
            let _ = writeln!(text, "\n[{kernel}]");
            if budget.local > 0 {
                let _ = writeln!(text, "local = {}", budget.local);
            }
            for (architecture, usage) in &budget.rows {
                let Usage {
                    registers,
                    spill,
                    stack,
                    shared,
                    barriers,
                } = usage;
                let _ = writeln!(
                    text,
                    "sm_{architecture} = {{ registers = {registers}, spill = {spill}, stack = {stack}, \
                     shared = {shared}, barriers = {barriers} }}"
                );
            }
        }
        fs::write(path, text).map_err(Error::io(path))
    }

    /// Bytes of local memory that a kernel's PTX may declare.
    pub fn local(&self, kernel: &str) -> u64 {
        self.kernels.get(kernel).map_or(0, |budget| budget.local)
    }

    /// Replaces all rows by what was measured. An architecture beside the two gets a row where a kernel spills more
    /// on it than on them.
    pub fn renew(&mut self, measured: &BTreeMap<u32, BTreeMap<String, Usage>>) {
        let mut kernels: BTreeMap<String, Budget> = BTreeMap::new();
        let exceeds_the_two = |kernel: &String, usage: &Usage| {
            ARCHITECTURES
                .iter()
                .filter_map(|number| measured.get(number)?.get(kernel))
                .all(|listed| usage.spill > listed.spill || usage.stack > listed.stack)
        };
        for (&architecture, usages) in measured {
            let own = ARCHITECTURES.contains(&architecture);
            let listed =
                |(kernel, usage): &(&String, &Usage)| own || exceeds_the_two(kernel, usage);
            for (kernel, &usage) in usages.iter().filter(listed) {
                let fresh = || Budget {
                    local: self.local(kernel),
                    rows: BTreeMap::new(),
                };
                kernels
                    .entry(kernel.clone())
                    .or_insert_with(fresh)
                    .rows
                    .insert(architecture, usage);
            }
        }
        self.kernels = kernels;
    }

    /// Adds rows for kernels that have none and do not spill, and drops those of kernels that are no more; whether
    /// anything changed. Existing rows stay.
    pub fn follow(&mut self, measured: &BTreeMap<u32, BTreeMap<String, Usage>>) -> bool {
        let before = self.clone();
        let mut renewed = self.clone();
        renewed.renew(measured);
        self.kernels
            .retain(|kernel, _| renewed.kernels.contains_key(kernel));
        for (kernel, budget) in renewed.kernels {
            let clean = budget.rows.values().all(|usage| usage.spill == 0);
            let place = self.kernels.entry(kernel).or_default();
            if place.rows.is_empty() && clean {
                place.rows = budget.rows;
            }
        }
        *self != before
    }

    /// Compares what was measured, by architecture and kernel, with the budgets.
    pub fn compare(&self, measured: &BTreeMap<u32, BTreeMap<String, Usage>>) -> Vec<Overrun> {
        let mut overruns = Vec::new();
        for (&architecture, usages) in measured {
            for (kernel, usage) in usages {
                let rows = self.kernels.get(kernel).map(|budget| &budget.rows);
                let limit = match rows.and_then(|rows| rows.get(&architecture)) {
                    Some(&limit) => limit,
                    None if ARCHITECTURES.contains(&architecture) => {
                        overruns.push(Overrun::Unlisted {
                            kernel: kernel.clone(),
                            architecture,
                        });
                        continue;
                    }
                    // No row of its own: as much spill and stack as the rows allow, registers as it likes.
                    None => {
                        let largest = |of: fn(&Usage) -> u32| {
                            rows.into_iter()
                                .flatten()
                                .map(|(_, u)| of(u))
                                .max()
                                .unwrap_or(0)
                        };
                        Usage {
                            spill: largest(|usage| usage.spill),
                            stack: largest(|usage| usage.stack),
                            shared: largest(|usage| usage.shared),
                            registers: u32::MAX,
                            barriers: u32::MAX,
                        }
                    }
                };
                let quantities = [
                    ("registers", usage.registers, limit.registers),
                    ("bytes spilled", usage.spill, limit.spill),
                    ("bytes of stack", usage.stack, limit.stack),
                    ("bytes of static shared memory", usage.shared, limit.shared),
                    ("barriers", usage.barriers, limit.barriers),
                ];
                for (what, used, allowed) in quantities
                    .into_iter()
                    .filter(|(_, used, allowed)| used > allowed)
                {
                    overruns.push(Overrun::Exceeded {
                        kernel: kernel.clone(),
                        architecture,
                        what,
                        used,
                        allowed,
                    });
                }
            }
        }
        let known = |kernel: &String| measured.values().any(|usages| usages.contains_key(kernel));
        let orphans = self.kernels.keys().filter(|kernel| !known(kernel)).cloned();
        overruns.extend(orphans.map(|kernel| Overrun::Orphan { kernel }));
        overruns
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Value {
    Number(u64),
    Row(Row),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    registers: u32,
    spill: u32,
    stack: u32,
    shared: u32,
    barriers: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOUND: Usage = Usage {
        registers: 40,
        spill: 0,
        stack: 0,
        shared: 0,
        barriers: 1,
    };

    fn measured(usage: Usage) -> BTreeMap<u32, BTreeMap<String, Usage>> {
        [75, 80, 90]
            .map(|architecture| (architecture, BTreeMap::from([("k_f32".to_owned(), usage)])))
            .into()
    }

    fn budgets() -> Budgets {
        let mut budgets = Budgets::default();
        budgets.renew(&measured(SOUND));
        budgets
    }

    #[test]
    fn the_measured_kernel_keeps_its_budget_and_so_does_a_smaller_one() {
        assert_eq!(budgets().compare(&measured(SOUND)), []);
        assert_eq!(
            budgets().compare(&measured(Usage {
                registers: 30,
                ..SOUND
            })),
            []
        );
    }

    #[test]
    fn a_spill_over_the_budget_is_found_on_every_architecture() {
        let overruns = budgets().compare(&measured(Usage { spill: 8, ..SOUND }));
        let found: Vec<_> = overruns.iter().map(ToString::to_string).collect();
        let line = |sm| format!("k_f32 on sm_{sm}: 8 bytes spilled, 0 allowed");
        assert_eq!(found, [line(75), line(80), line(90)]);
    }

    #[test]
    fn an_architecture_that_spills_more_than_the_two_gets_a_row() {
        let mut uneven = measured(SOUND);
        let spilling = Usage { spill: 8, ..SOUND };
        uneven.insert(80, BTreeMap::from([("k_f32".to_owned(), spilling)]));
        let mut budgets = budgets();
        assert_eq!(budgets.compare(&uneven).len(), 1);
        budgets.renew(&uneven);
        assert_eq!(budgets.compare(&uneven), []);
        assert_eq!(budgets.compare(&measured(spilling)).len(), 2);
    }

    #[test]
    fn registers_over_the_budget_are_found_where_a_row_exists() {
        let overruns = budgets().compare(&measured(Usage {
            registers: 41,
            ..SOUND
        }));
        assert_eq!(overruns.len(), ARCHITECTURES.len());
    }

    #[test]
    fn kernels_without_budget_and_budgets_without_kernel_are_found() {
        let mut other = measured(SOUND);
        other
            .values_mut()
            .for_each(|usages| *usages = BTreeMap::from([("new".to_owned(), SOUND)]));
        let overruns = budgets().compare(&other);
        assert_eq!(
            overruns.last(),
            Some(&Overrun::Orphan {
                kernel: "k_f32".into()
            })
        );
        assert_eq!(overruns.len(), 3);

        let mut budgets = budgets();
        assert!(budgets.follow(&other));
        assert_eq!(budgets.compare(&other), []);
        assert!(!budgets.follow(&other));
    }

    #[test]
    fn a_new_kernel_that_spills_gets_no_budget_unasked() {
        let mut budgets = Budgets::default();
        let spilling = measured(Usage { spill: 4, ..SOUND });
        budgets.follow(&spilling);
        assert!(!budgets.compare(&spilling).is_empty());
        budgets.renew(&spilling);
        assert_eq!(budgets.compare(&spilling), []);
    }

    #[test]
    fn an_existing_budget_is_not_raised_unasked() {
        let mut budgets = budgets();
        assert!(!budgets.follow(&measured(Usage {
            registers: 99,
            ..SOUND
        })));
    }

    #[test]
    fn files_round_trip_and_keep_what_was_written_by_hand() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("budgets.toml");
        assert_eq!(Budgets::read(&path).unwrap(), Budgets::default());
        let mut budgets = budgets();
        budgets.kernels.get_mut("k_f32").unwrap().local = 64;
        budgets.renew(&measured(Usage {
            registers: 41,
            ..SOUND
        }));
        budgets.write(&path).unwrap();
        let read = Budgets::read(&path).unwrap();
        assert_eq!(read, budgets);
        assert_eq!(read.local("k_f32"), 64);
    }

    #[test]
    fn a_misspelt_line_is_reported() {
        let error = Budgets::parse("[k]\nlocl = 3").unwrap_err();
        assert!(error.contains("locl"), "{error}");
    }
}
