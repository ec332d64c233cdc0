//! Names of options: those that changed, and those that advice of the library is given with, for the library knows settings and no flags.

use crate::error::Error;

/// Options that have another name than at first: command, first name, name. The first name stays, hidden, and records use it as a key.
pub(super) const RENAMED: [(&str, &str, &str); 9] = [
    ("couette", "nx", "cells"),
    ("fourier", "nx", "cells"),
    ("cavity", "n", "cells"),
    ("shock", "nx", "cells"),
    ("shock", "cut", "vmax"),
    ("isotropic", "uncorrected", "no-correction"),
    ("relax", "model", "molecules"),
    ("collide", "model", "molecules"),
    ("rates", "model", "molecules"),
];

/// The command with the names of today, and the first ones as hidden aliases.
pub(super) fn renamed(command: clap::Command) -> clap::Command {
    RENAMED
        .iter()
        .fold(command, |command, &(sub, first, name)| {
            command.mut_subcommand(sub, |sub| {
                sub.mut_arg(first, |arg| arg.long(name).alias(first))
            })
        })
}

/// The name of an option that records call `first`.
pub(super) fn name_now(first: &str) -> &str {
    // An option `model` is one of the gas elsewhere, and keeps that name there.
    let of = |row: &&(&str, &'static str, &'static str)| row.1 == first && first != "model";
    RENAMED.iter().find(of).map_or(first, |row| row.2)
}

/// Words of the library, and the flags that follow them.
const FLAGS: [(&str, &str); 5] = [
    ("compute on the CPU", "use --backend cpu"),
    ("pair storage", "--storage pairs"),
    ("a larger highest energy", "a larger --emax"),
    ("more of it upstream", "a larger --upstream"),
    ("the fourth order does so", "--order 4 does so"),
];

/// Fields of the library's configurations, and the options that set them.
const FIELDS: [(&str, &str); 19] = [
    ("accuracy", "--accuracy"),
    ("areas", "--areas"),
    ("atol", "--atol"),
    ("beyond", "--beyond"),
    ("cut", "--vmax"),
    ("degree", "--sphere"),
    ("delta", "--delta"),
    ("dt", "--dt"),
    ("emax", "--emax"),
    ("gauss", "--gauss"),
    ("head_exponent", "--head-exponent"),
    ("lid", "--lid"),
    ("mach", "--mach"),
    ("order", "--order"),
    ("period", "--period"),
    ("rank", "--rank"),
    ("rtol", "--rtol"),
    ("sigma_t", "--sigma-t"),
    ("threads", "--threads"),
];

/// The refusal of an input as the command prints it: with the option in the field's place.
pub(super) fn refusal(error: &Error) -> String {
    let text = error.to_string();
    let Error::Input { field, .. } = error else {
        return named(&text);
    };
    let option = FIELDS.iter().find(|(name, _)| name == field);
    named(&option.map_or(text.clone(), |(name, flag)| text.replacen(name, flag, 1)))
}

/// A text of the library as the command prints it.
pub(super) fn named(text: &str) -> String {
    FLAGS.iter().fold(text.to_owned(), |text, (words, flag)| {
        text.replace(words, flag)
    })
}

#[cfg(test)]
mod tests {
    use crate::error::Error;

    #[test]
    fn fields_become_options() {
        assert_eq!(
            super::refusal(&Error::invalid("cut", 0, "a positive number")),
            "--vmax: 0; expected a positive number"
        );
        assert_eq!(
            super::refusal(&Error::invalid("space", 0, "1 or more cells")),
            "space: 0; expected 1 or more cells"
        );
    }

    /// Each hidden spelling has a row of the page's last table, with the command that takes it.
    #[test]
    fn the_page_of_flags_lists_all_earlier_spellings() {
        let page = include_str!("../../../docs/flags.md");
        let (_, table) = page.split_once("## Earlier spellings").expect("a table");
        let command = crate::cli::command();
        let mut seen = 0;
        for sub in command.get_subcommands() {
            for arg in sub.get_arguments() {
                let hidden = arg.is_hide_set().then(|| arg.get_long()).flatten();
                for spelling in arg.get_all_aliases().into_iter().flatten().chain(hidden) {
                    let name = format!("`{}`", sub.get_name());
                    let row = table.lines().find(|row| {
                        let mut cells = row.split('|').skip(2);
                        let earlier = cells.next().unwrap_or_default();
                        let words = earlier.split([' ', '`', ',']);
                        words
                            .into_iter()
                            .any(|word| word == format!("--{spelling}"))
                            && cells.next().unwrap_or_default().contains(&name)
                    });
                    assert!(row.is_some(), "--{spelling} of {name}");
                    seen += 1;
                }
            }
        }
        assert!(seen > 15, "{seen} spellings");
    }

    #[test]
    fn advice_names_flags() {
        assert_eq!(
            super::named("use fewer cells, or compute on the CPU"),
            "use fewer cells, or use --backend cpu"
        );
        assert_eq!(super::named("use pair storage"), "use --storage pairs");
    }
}
