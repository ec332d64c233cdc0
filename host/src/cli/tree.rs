//! The tree of subcommands: those of `rarefy`, and below `rarefy paper` those of the papers' figures.

use std::iter::successors;

use clap::{ArgMatches, Command};

/// The subcommand that has further ones.
const BRANCH: &str = "paper";

/// Name and options of the subcommand that is to run.
pub(super) fn leaf(matches: &ArgMatches) -> Option<(&str, &ArgMatches)> {
    successors(matches.subcommand(), |(_, sub)| sub.subcommand()).last()
}

/// All subcommands that run.
pub(super) fn leaves(command: &Command) -> impl Iterator<Item = &Command> {
    let branch = command.find_subcommand(BRANCH).into_iter();
    let above = command.get_subcommands();
    above
        .filter(|sub| sub.get_name() != BRANCH)
        .chain(branch.flat_map(Command::get_subcommands))
}

/// The subcommand of this name that runs.
pub(super) fn find<'a>(command: &'a Command, name: &str) -> Option<&'a Command> {
    leaves(command).find(|sub| sub.get_name() == name)
}

/// Changes all subcommands.
pub(super) fn map_leaves(command: Command, change: fn(Command) -> Command) -> Command {
    command.mut_subcommands(|sub| match sub.get_name() {
        BRANCH => sub.mut_subcommands(change),
        _ => change(sub),
    })
}

/// A subcommand as the command line spells it, after `rarefy`.
pub(super) fn spelled(command: &Command, name: &str) -> String {
    let branch = command.find_subcommand(BRANCH);
    match branch.and_then(|branch| branch.find_subcommand(name)) {
        Some(_) => format!("{BRANCH} {name}"),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_the_papers_are_below_their_command() {
        let command = crate::cli::command();
        for (line, name, place) in [
            ("rarefy rates --grid 8", "rates", "rates"),
            ("rarefy paper digits --quiet", "digits", "paper digits"),
        ] {
            let matches = command.clone().try_get_matches_from(line.split(' '));
            let matches = matches.expect("arguments");
            assert_eq!(leaf(&matches).map(|(name, _)| name), Some(name));
            assert_eq!(spelled(&command, name), place);
            assert!(find(&command, name).is_some());
        }
        assert!(find(&command, "paper").is_none());
        let all = map_leaves(command, |sub| sub.hide(true));
        assert!(leaves(&all).all(Command::is_hide_set));
    }
}
