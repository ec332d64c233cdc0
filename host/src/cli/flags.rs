//! Advice of the library in terms of the command's flags: the library knows settings, and only the command knows how they are given.

/// Words of the library, and the flags that follow them.
const FLAGS: [(&str, &str); 5] = [
    ("compute on the CPU", "use --backend cpu"),
    ("pair storage", "--storage pairs"),
    ("a larger highest energy", "a larger --emax"),
    ("more of it upstream", "a larger --upstream"),
    ("the fourth order does so", "--order 4 does so"),
];

/// A text of the library as the command prints it.
pub(super) fn named(text: &str) -> String {
    FLAGS.iter().fold(text.to_owned(), |text, (words, flag)| {
        text.replace(words, flag)
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn advice_names_flags() {
        assert_eq!(
            super::named("use fewer cells, or compute on the CPU"),
            "use fewer cells, or use --backend cpu"
        );
        assert_eq!(super::named("use pair storage"), "use --storage pairs");
    }
}
