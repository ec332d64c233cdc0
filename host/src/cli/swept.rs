//! Lists of values for an option, each of which makes a sweep.

use std::ffi::OsString;

use super::failure::Failure;

/// The option of a command that takes a list.
const OPTIONS: [(&str, &[&str]); 5] = [
    ("shock", &["mach"]),
    ("cavity", &["delta", "kn"]),
    ("couette", &["delta", "kn"]),
    ("fourier", &["delta", "kn"]),
    ("poiseuille", &["delta", "kn"]),
];

/// A list of values for an option.
#[derive(Debug)]
pub(super) struct List {
    pub(super) command: &'static str,
    pub(super) option: &'static str,
    pub(super) values: Vec<String>,
}

impl List {
    /// The list among the arguments, if there is one.
    pub(super) fn of(arguments: &[OsString]) -> Option<Self> {
        let name = arguments.get(1)?;
        let (command, options) = OPTIONS.iter().find(|(command, _)| *name == **command)?;
        options.iter().find_map(|option| {
            let text = value_of(arguments, option)?;
            text.contains(',').then(|| Self {
                command,
                option,
                values: text.split(',').map(|v| v.trim().to_owned()).collect(),
            })
        })
    }

    /// Refuses what is no list of different numbers.
    pub(super) fn check(&self) -> std::result::Result<(), Failure> {
        let refused = |why: String| {
            let list = self.values.join(",");
            Err(Failure::Usage(format!("--{} {list}: {why}", self.option)))
        };
        let mut numbers = Vec::new();
        for text in &self.values {
            match text.parse::<f64>() {
                Ok(number) if numbers.contains(&number) => {
                    return refused(format!("{number} is there twice"));
                }
                Ok(number) => numbers.push(number),
                Err(_) => return refused("a list such as 1.5,2,3 is needed".into()),
            }
        }
        Ok(())
    }

    /// The folder of a case below that of the sweep.
    pub(super) fn folder(&self, value: f64) -> String {
        format!("{}-{value}", self.option)
    }
}

/// The value of an option among arguments.
pub(super) fn value_of<'a>(arguments: &'a [OsString], option: &str) -> Option<&'a str> {
    let place = arguments.iter().position(|a| is_option(a, option))?;
    let text = arguments[place].to_str()?;
    match text.split_once('=') {
        Some((_, value)) => Some(value),
        None => arguments.get(place + 1)?.to_str(),
    }
}

/// Whether an argument is this option, with its value or before it.
pub(super) fn is_option(argument: &OsString, option: &str) -> bool {
    let text = argument.to_str().and_then(|text| text.strip_prefix("--"));
    let rest = text.and_then(|text| text.strip_prefix(option));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
}

/// The command in which the option takes a list as it is, so that options of all layers can be merged.
pub(super) fn with_lists(command: clap::Command, arguments: &[OsString]) -> clap::Command {
    match List::of(arguments) {
        None => command,
        Some(list) => command.mut_subcommand(list.command, |sub| {
            sub.mut_arg(list.option, |arg| {
                arg.value_parser(|text: &str| Ok::<_, String>(text.to_owned()))
            })
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_found_among_the_arguments() {
        let of = |line: &str| {
            let arguments: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            List::of(&arguments).map(|list| format!("{} {:?}", list.option, list.values))
        };
        let three = Some("delta [\"0.1\", \"1\", \"10\"]".to_owned());
        assert_eq!(of("rarefy couette --delta 0.1,1,10"), three);
        assert_eq!(of("rarefy cavity --cells 4 --delta=0.1,1,10"), three);
        assert_eq!(of("rarefy couette --delta 1 --out a,b"), None);
        assert_eq!(of("rarefy shock --delta 1,2"), None);
        assert_eq!(of("rarefy shock --mach"), None);
        assert_eq!(of("rarefy rates --convergence 8,12"), None);
        assert_eq!(of("rarefy"), None);
    }

    #[test]
    fn a_list_has_each_number_once() {
        let refusal = |text: &str| {
            let arguments = ["rarefy", "shock", "--mach", text].map(OsString::from);
            let list = List::of(&arguments).expect("a list");
            list.check().err().map(|failure| failure.code_and_line().1)
        };
        assert_eq!(refusal("1.5,2"), None);
        for (text, why) in [("1.5,1.50", "1.5 is there twice"), ("2,", "a list such as")] {
            let line = refusal(text).expect("a refusal");
            assert!(line.contains(why), "{line}");
        }
    }
}
