//! `rarefy completions` and `rarefy man`: what a shell and a manual know of the command.

use std::path::PathBuf;

use clap::Command;
use clap_complete::Shell;
use clap_mangen::Man;

use super::failure::Failure;
use super::output::Transaction;
use super::{streams, tree};

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  rarefy completions bash > ~/.local/share/bash-completion/completions/rarefy
  rarefy completions zsh > \"${fpath[1]}/_rarefy\"
  rarefy completions fish > ~/.config/fish/completions/rarefy.fish";

const MAN_EXAMPLES: &str = "\
Examples:
  rarefy man ~/.local/share/man/man1     then: man rarefy, man rarefy-relax";

/// Print a script that completes the command's options in a shell
#[derive(Debug, clap::Args)]
#[command(after_help = COMPLETIONS_EXAMPLES)]
pub(super) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

/// Write the pages of the manual, one for each subcommand
#[derive(Debug, clap::Args)]
#[command(after_help = MAN_EXAMPLES)]
pub(super) struct ManArgs {
    /// Folder for rarefy.1 and the others
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// Prints the script.
pub(super) fn completions(args: &CompletionsArgs, mut command: Command) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "rarefy", &mut script);
    streams::print(&String::from_utf8_lossy(&script))
}

/// Writes the pages.
pub(super) fn man(args: &ManArgs, mut command: Command) -> Result<(), Failure> {
    let mut files = Transaction::default();
    files.folder(&args.folder)?;
    command.build();
    let mut pages = vec![("rarefy".to_owned(), command.clone())];
    let branches = command
        .get_subcommands()
        .filter(|sub| sub.has_subcommands());
    pages.extend(branches.chain(tree::leaves(&command)).map(|sub| {
        let name = sub.get_display_name().unwrap_or_default();
        (name.to_owned(), sub.clone())
    }));
    let count = pages.len();
    for (name, page) in pages {
        let mut text = Vec::new();
        Man::new(page).render(&mut text).map_err(Failure::Stdout)?;
        files.stage(args.folder.join(format!("{name}.1")), &text)?;
    }
    if let Some(error) = files.commit(true).into_iter().next() {
        return Err(error.into());
    }
    streams::print(&format!("{count} pages are in {}", args.folder.display()))
}
