//! Faults that no PTX of rarefy may contain, as pure functions over the text.
//!
//! A kernel that can panic, calls, spills its arrays to local memory or lost the state space of a pointer still compiles
//! and mostly still runs, only slowly or wrongly. So every PTX text is inspected before it is used, and the tests
//! of this module plant each fault and see it found.

use std::collections::BTreeSet;
use std::fmt;

/// Something that PTX must not contain, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Line of the text, from 1; 0 for what is absent.
    pub line: usize,
    /// The kernel it was found in, if in one.
    pub entry: Option<String>,
    /// The kind of the fault.
    pub kind: FaultKind,
}

/// The kinds of [`Fault`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// A function that is no entry: something was not inlined, or a panic path survived.
    Function(String),
    /// A call.
    Call,
    /// A name of the panic machinery.
    Panic(String),
    /// `trap`, `exit` or `brkpt`: what an abort leaves.
    Abort(String),
    /// A jump to itself: what an inlined panic handler leaves.
    EndlessLoop,
    /// A frame in local memory larger than the kernel's budget allows.
    LocalMemory {
        /// Bytes of the frame.
        bytes: u64,
        /// Bytes that the budget allows.
        allowed: u64,
    },
    /// A load or store that does not say to which memory: the pointer lost its state space.
    GenericAccess(String),
    /// A table that holds addresses of shared memory; the driver refuses it.
    SharedAddressTable,
    /// Debug information, which holds paths of the machine it was compiled on.
    DebugInformation,
    /// An entry that the sources declare is not there.
    MissingEntry(String),
    /// An entry that the sources do not declare.
    UnexpectedEntry(String),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(entry) = &self.entry {
            write!(f, "{entry}, ")?;
        }
        if self.line > 0 {
            write!(f, "line {}: ", self.line)?;
        }
        match &self.kind {
            FaultKind::Function(text) => write!(f, "a function that is no entry: `{text}`"),
            FaultKind::Call => write!(
                f,
                "a call: something was not inlined, or the kernel can panic"
            ),
            FaultKind::Panic(symbol) => write!(f, "a panic path survived: `{symbol}`"),
            FaultKind::Abort(opcode) => write!(f, "`{opcode}`: the kernel can abort or panic"),
            FaultKind::EndlessLoop => write!(f, "a jump to itself: the kernel can panic"),
            FaultKind::LocalMemory { bytes, allowed } => write!(
                f,
                "{bytes} bytes of local memory, {allowed} allowed (`local` of the kernel in kernels-gpu/budgets.toml)"
            ),
            FaultKind::GenericAccess(opcode) => {
                write!(
                    f,
                    "`{opcode}` has no state space: a pointer went through memory or an aggregate"
                )
            }
            FaultKind::SharedAddressTable => write!(f, "a table of shared-memory addresses"),
            FaultKind::DebugInformation => write!(f, "debug information"),
            FaultKind::MissingEntry(name) => write!(f, "the kernel {name} is missing"),
            FaultKind::UnexpectedEntry(name) => write!(f, "the entry {name} is no declared kernel"),
        }
    }
}

/// Inspects a PTX text that should hold exactly the entries `expected`; `allowed_local` says how many bytes of
/// local memory an entry may use.
pub fn inspect(text: &str, expected: &[String], allowed_local: impl Fn(&str) -> u64) -> Vec<Fault> {
    let mut inspection = Inspection::default();
    for (index, line) in text.lines().enumerate() {
        inspection.line = index + 1;
        // Inline assembly may hold several statements in one line; a label ends in a colon.
        let code = line.split("//").next().unwrap_or_default();
        if let Some((declaration, value)) = code.split_once('=')
            && declaration.trim_start().starts_with('.')
            && value.contains(SHARED_SYMBOL)
        {
            inspection.fault(FaultKind::SharedAddressTable);
        }
        for statement in code.split([';', '{', '}']).map(str::trim) {
            inspection.statement(statement, &allowed_local);
        }
        if code.trim_end().ends_with('}') && code.starts_with('}') {
            inspection.entry = None;
        }
    }
    let Inspection {
        mut faults, found, ..
    } = inspection;
    let expected: BTreeSet<&str> = expected.iter().map(String::as_str).collect();
    let found: BTreeSet<&str> = found.iter().map(String::as_str).collect();
    let absent = |kind| Fault {
        line: 0,
        entry: None,
        kind,
    };
    faults.extend(
        expected
            .difference(&found)
            .map(|name| absent(FaultKind::MissingEntry((*name).to_owned()))),
    );
    faults.extend(
        found
            .difference(&expected)
            .map(|name| absent(FaultKind::UnexpectedEntry((*name).to_owned()))),
    );
    faults
}

#[derive(Default)]
struct Inspection {
    faults: Vec<Fault>,
    found: Vec<String>,
    entry: Option<String>,
    /// The label that control last passed, if nothing but straight code came since.
    block: Option<String>,
    line: usize,
}

impl Inspection {
    fn fault(&mut self, kind: FaultKind) {
        self.faults.push(Fault {
            line: self.line,
            entry: self.entry.clone(),
            kind,
        });
    }

    fn statement(&mut self, statement: &str, allowed_local: &impl Fn(&str) -> u64) {
        let mut statement = statement;
        while let Some((label, rest)) = statement.split_once(':')
            && !label
                .trim_end()
                .contains(|c: char| c.is_whitespace() || ",[".contains(c))
            && !rest.starts_with(':')
        {
            self.block = Some(label.trim_end().to_owned());
            statement = rest.trim_start();
        }
        let mut words = statement.split_whitespace().peekable();
        let predicated = words.next_if(|word| word.starts_with('@')).is_some();
        let Some(first) = words.next() else { return };

        if let Some((_, name)) = statement.split_once(".entry ") {
            let name = name
                .trim()
                .split('(')
                .next()
                .unwrap_or_default()
                .trim()
                .to_owned();
            self.found.push(name.clone());
            self.entry = Some(name);
            self.block = None;
            return;
        }
        if let Some(symbol) = panic_symbol(statement) {
            self.fault(FaultKind::Panic(symbol));
        }
        if first.starts_with('.') {
            self.directive(statement, allowed_local);
            return;
        }

        let mut parts = first.split('.');
        let opcode = parts.next().unwrap_or_default();
        match opcode {
            "call" => self.fault(FaultKind::Call),
            "trap" | "exit" | "brkpt" => self.fault(FaultKind::Abort(opcode.to_owned())),
            "ld" | "st" => {
                const SPACES: [&str; 5] = ["param", "global", "shared", "local", "const"];
                // `shared::cta` and the like are the shared space too.
                if !parts.any(|part| SPACES.contains(&part.split("::").next().unwrap_or_default()))
                {
                    self.fault(FaultKind::GenericAccess(first.to_owned()));
                }
            }
            "bra" if predicated => self.block = None,
            "bra" if self.block.is_some() && words.next() == self.block.as_deref() => {
                self.fault(FaultKind::EndlessLoop);
            }
            _ => {}
        }
    }

    fn directive(&mut self, statement: &str, allowed_local: &impl Fn(&str) -> u64) {
        let has = |directive: &str| statement.split_whitespace().any(|word| word == directive);
        if has(".func") {
            self.fault(FaultKind::Function(statement.to_owned()));
        } else if has(".callprototype") || has(".calltargets") {
            self.fault(FaultKind::Call);
        } else if has(".local") {
            let bytes = array_bytes(statement);
            let allowed = self.entry.as_deref().map_or(0, allowed_local);
            if bytes > allowed {
                self.fault(FaultKind::LocalMemory { bytes, allowed });
            }
        } else if [".file", ".loc", ".section"]
            .iter()
            .any(|directive| has(directive))
        {
            self.fault(FaultKind::DebugInformation);
        }
    }
}

/// The symbol of dynamic shared memory, as `shared_memory.ll` names it.
const SHARED_SYMBOL: &str = "rarefy_dynamic_shared";

fn panic_symbol(statement: &str) -> Option<String> {
    const MARKS: [&str; 4] = [
        "panic",
        "unwrap_failed",
        "expect_failed",
        "rust_begin_unwind",
    ];
    let mut symbols = statement.split(|c: char| !(c.is_alphanumeric() || "_$.".contains(c)));
    let symbol = symbols.find(|symbol| MARKS.iter().any(|mark| symbol.contains(mark)))?;
    Some(symbol.to_owned())
}

/// Bytes of a declaration like `.local .align 8 .b8 __local_depot0[64]`.
fn array_bytes(declaration: &str) -> u64 {
    let number = |text: &str| text.trim().parse::<u64>().ok();
    let count = declaration
        .split_once('[')
        .and_then(|(_, rest)| number(rest.split(']').next()?))
        .unwrap_or(1);
    let bits = declaration
        .split_whitespace()
        .filter_map(|word| {
            number(
                word.strip_prefix('.')?
                    .trim_start_matches(['b', 'u', 's', 'f']),
            )
        })
        .next()
        .unwrap_or(8);
    count * bits.div_ceil(8)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sound kernel, with a place for faults in its body and one outside.
    fn ptx(outside: &str, inside: &str) -> String {
        format!(
            "// rarefy\n.version 6.3\n.target sm_75\n.address_size 64\n\n{outside}\n\
             .extern .shared .align 16 .b8 rarefy_dynamic_shared[];\n\
             .visible .entry good_f32(\n\t.param .u64 .ptr .align 1 good_f32_param_0\n)\n{{\n\
             \t.reg .b32 \t%r<4>;\n\n\tld.param.b64 \t%rd1, [good_f32_param_0];\n$L__BB0_1:\n\
             \tld.volatile.shared::cta.v2.b32 \t{{%r1, %r2}}, [%rd1];\n{inside}\n\
             \t{{ .reg .pred p; setp.ne.u32 p, %r1, 0; vote.sync.ballot.b32 %r2, p, 0xffffffff; }}\n\
             \t@%p1 bra \t$L__BB0_1;\n\tst.global.b32 \t[%rd1], %r1;\n\tbra.uni \t$L__BB0_2;\n$L__BB0_2:\n\tret;\n}}\n"
        )
    }

    fn faults(outside: &str, inside: &str) -> Vec<FaultKind> {
        let found = inspect(&ptx(outside, inside), &["good_f32".to_owned()], |_| 16);
        found.into_iter().map(|fault| fault.kind).collect()
    }

    #[test]
    fn a_sound_kernel_passes() {
        assert_eq!(faults("", ""), []);
    }

    #[test]
    fn a_planted_panic_call_is_found_and_placed() {
        let call =
            "\tcall.uni \n\t_ZN4core9panicking18panic_bounds_check17h0E, \n\t(\n\tparam0\n\t);";
        let found = inspect(&ptx("", call), &["good_f32".to_owned()], |_| 0);
        assert_eq!(found[0].kind, FaultKind::Call);
        assert!(
            matches!(&found[1].kind, FaultKind::Panic(symbol) if symbol.contains("panic_bounds_check"))
        );
        assert_eq!(found[0].entry.as_deref(), Some("good_f32"));
        assert_eq!(
            ptx("", call).lines().nth(found[0].line - 1).unwrap().trim(),
            "call.uni"
        );
        assert!(
            found[0].to_string().starts_with("good_f32, line "),
            "{}",
            found[0]
        );
    }

    #[test]
    fn an_indirect_or_predicated_call_is_found() {
        assert_eq!(faults("", "\t@%p1 call (r), f, (a);"), [FaultKind::Call]);
        assert_eq!(
            faults("", "\tprototype_0 : .callprototype (.param .b32 _) _ ();").len(),
            1
        );
        assert_eq!(faults("", "\t{ call.uni f; }"), [FaultKind::Call]);
    }

    #[test]
    fn a_stray_function_is_found() {
        for declaration in [
            ".func helper(",
            ".visible .func  (.param .b32 r) helper()",
            ".extern .func f;",
        ] {
            assert!(
                matches!(&faults(declaration, "")[..], [FaultKind::Function(_)]),
                "{declaration}"
            );
        }
    }

    #[test]
    fn what_a_panic_handler_leaves_is_found() {
        assert_eq!(faults("", "\ttrap;"), [FaultKind::Abort("trap".into())]);
        assert_eq!(
            faults("", "\t@%p3 exit;"),
            [FaultKind::Abort("exit".into())]
        );
        assert_eq!(
            faults("", "$L__BB0_7:\n\tbra.uni \t$L__BB0_7;"),
            [FaultKind::EndlessLoop]
        );
        assert_eq!(
            faults("", "$L__BB0_7:\n\tmov.b32 \t%r1, 0;\n\tbra \t$L__BB0_7;"),
            [FaultKind::EndlessLoop]
        );
        assert_eq!(
            faults(
                "",
                "$L__BB0_7:\n\t@%p1 bra \t$L__BB0_8;\n\tbra.uni \t$L__BB0_7;"
            ),
            []
        );
    }

    #[test]
    fn a_generic_access_is_found() {
        for access in [
            "ld.b32 \t%r1, [%rd1]",
            "st.v4.b32 \t[%rd1], {%r1, %r1, %r1, %r1}",
            "@%p1 ld.volatile.u8 %r1, [%rd1]",
        ] {
            assert!(
                matches!(
                    &faults("", &format!("\t{access};"))[..],
                    [FaultKind::GenericAccess(_)]
                ),
                "{access}"
            );
        }
        assert_eq!(
            faults(
                "",
                "\tldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%r2];"
            ),
            []
        );
        assert_eq!(faults("", "\tatom.add.u32 %r1, [%rd1], %r2;"), []);
    }

    #[test]
    fn a_local_frame_beyond_the_allowance_is_found() {
        let depot = |bytes| format!("\t.local .align 8 .b8 \t__local_depot0[{bytes}];");
        assert_eq!(faults("", &depot(16)), []);
        assert_eq!(
            faults("", &depot(17)),
            [FaultKind::LocalMemory {
                bytes: 17,
                allowed: 16
            }]
        );
        assert_eq!(
            faults("", "\t.local .b64 table[3];"),
            [FaultKind::LocalMemory {
                bytes: 24,
                allowed: 16
            }]
        );
        assert_eq!(
            faults(".local .b32 stray;", ""),
            [FaultKind::LocalMemory {
                bytes: 4,
                allowed: 0
            }]
        );
    }

    #[test]
    fn a_table_of_shared_addresses_is_found() {
        let table = ".global .align 8 .u64 switch_table[2] = {generic(rarefy_dynamic_shared), 0};";
        assert_eq!(faults(table, ""), [FaultKind::SharedAddressTable]);
        assert_eq!(
            faults(".global .align 8 .f64 logs[2] = {0d0, 0d1};", ""),
            []
        );
    }

    #[test]
    fn debug_information_is_found() {
        assert_eq!(
            faults(".file 1 \"/somewhere/lib.rs\"", ""),
            [FaultKind::DebugInformation]
        );
        assert_eq!(faults("", "\t.loc 1 2 3"), [FaultKind::DebugInformation]);
    }

    #[test]
    fn missing_and_unexpected_entries_are_found() {
        let found = inspect(&ptx("", ""), &["other".to_owned()], |_| 0);
        let kinds: Vec<_> = found.into_iter().map(|fault| fault.kind).collect();
        assert_eq!(
            kinds,
            [
                FaultKind::MissingEntry("other".into()),
                FaultKind::UnexpectedEntry("good_f32".into())
            ]
        );
    }
}
