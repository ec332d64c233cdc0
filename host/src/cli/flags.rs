//! Names of options: those that changed, and those that advice of the library is given with, for the library knows settings and no flags.

use crate::error::Error;

/// Options that have another name than at first: command, first name, name. The first name stays, hidden, and records use it as a key.
pub(super) const RENAMED: [(&str, &str, &str); 10] = [
    ("couette", "nx", "cells"),
    ("fourier", "nx", "cells"),
    ("poiseuille", "nx", "cells"),
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
    let command = command.mut_subcommand("poiseuille", |sub| {
        FOREIGN
            .iter()
            .fold(sub, |sub, option| sub.mut_arg(option, |arg| arg.hide(true)))
    });
    RENAMED
        .iter()
        .fold(command, |command, &(sub, first, name)| {
            command.mut_subcommand(sub, |sub| {
                sub.mut_arg(first, |arg| arg.long(name).alias(first))
            })
        })
}

/// Options of plates that flow along a channel refuses with a reason, and its help leaves out.
const FOREIGN: [&str; 3] = ["accommodation", "linear", "scheme"];

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

/// Fields of the library whose options have other names.
const FIELDS: [(&str, &str); 10] = [
    ("degree", "sphere"),
    ("grid.n", "grid"),
    ("grid.n", "velocities"),
    ("rtol", "until-residual"),
    ("corrected", "no-correction"),
    ("scattering", "molecules"),
    ("velocity", "velocities"),
    ("nodes", "velocities"),
    ("drive", "u"),
    ("drive", "temperature-difference"),
];

/// The refusal of a field with the option of a subcommand in the field's place, where it has one.
pub(super) fn with_options(error: Error, sub: Option<&clap::Command>) -> Error {
    let Error::Input {
        field,
        value,
        expected,
    } = error
    else {
        return error;
    };
    let own = field.replace('_', "-");
    let others = FIELDS.iter().filter(|(name, _)| *name == field);
    let mut longs: Vec<&str> = others.map(|(_, long)| *long).collect();
    if longs.is_empty() {
        longs.push(&own);
    }
    let option = sub
        .into_iter()
        .flat_map(clap::Command::get_arguments)
        .filter(|arg| {
            let named = arg.get_long().is_some_and(|long| longs.contains(&long));
            named || arg.get_id() == field.as_str()
        })
        .find_map(clap::Arg::get_long);
    Error::Input {
        field: option.map_or(field, |option| format!("--{option}")),
        value,
        expected,
    }
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
        let refusal = |field: &str, sub: &str| {
            let error = Error::invalid(field, 0, "a positive number");
            let command = crate::cli::command();
            super::with_options(error, command.find_subcommand(sub)).to_string()
        };
        for (field, sub, shown) in [
            ("cut", "shock", "--vmax"),
            ("degree", "relax", "--sphere"),
            ("grid.n", "relax", "--grid"),
            ("grid.n", "shock", "--velocities"),
            ("rtol", "shock", "--until-residual"),
            ("rtol", "longman", "--rtol"),
            ("cells", "shock", "--cells"),
            ("scattering", "collide", "--molecules"),
            ("velocity", "shock", "--velocities"),
            ("velocity", "relax", "velocity"),
            ("head_exponent", "longman", "--head-exponent"),
            ("space", "cavity", "space"),
            ("drive", "couette", "--u"),
            ("drive", "fourier", "--temperature-difference"),
            ("frequency", "couette", "frequency"),
        ] {
            let expected = format!("{shown}: 0; expected a positive number");
            assert_eq!(refusal(field, sub), expected);
        }
    }

    /// Each hidden spelling has a row of the page's last table, with the command that takes it.
    #[test]
    fn the_page_of_flags_lists_all_earlier_spellings() {
        let page = include_str!("../../../docs/flags.md");
        let (_, table) = page.split_once("## Earlier spellings").expect("a table");
        let command = crate::cli::command();
        let mut seen = 0;
        for sub in crate::cli::tree::leaves(&command) {
            for arg in sub.get_arguments() {
                let hidden = arg.is_hide_set().then(|| arg.get_long()).flatten();
                let hidden = hidden.filter(|name| !super::FOREIGN.contains(name));
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
