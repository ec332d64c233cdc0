//! Names of options in advice of the library, which knows settings and no flags.

use crate::error::Error;

/// Words of the library, and the flags that follow them.
const FLAGS: [(&str, &str); 10] = [
    ("compute on the CPU", "use --backend cpu"),
    ("pair storage", "--storage pairs"),
    ("a larger highest energy", "a larger --emax"),
    ("more of it upstream", "a larger --upstream"),
    ("the fourth order does so", "--order 4 does so"),
    ("a thousands comma for", "--thousands comma for"),
    ("a decimal comma for", "--decimal comma for"),
    ("column 1 for the first", "--column 1 for the first"),
    (
        "the setting `decimal`",
        "--decimal comma or --decimal point",
    ),
    ("groups by a column", "--by with a column"),
];

/// Fields of the library whose options have other names.
const FIELDS: [(&str, &str); 17] = [
    ("cut", "vmax"),
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
    ("gas.internal_dof", "internal-dof"),
    ("gas.z_rot", "z-rot"),
    ("gas.prandtl", "prandtl"),
    ("gas.eucken", "eucken"),
    ("gas.model", "model"),
    ("gas.temperature", "temperature"),
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

    #[test]
    fn advice_names_flags() {
        assert_eq!(
            super::named("use fewer cells, or compute on the CPU"),
            "use fewer cells, or use --backend cpu"
        );
        assert_eq!(super::named("use pair storage"), "use --storage pairs");
    }
}
