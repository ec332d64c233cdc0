//! Which option a wrong word probably means.

/// `; did you mean 'grid'?`, if any of the words is close.
pub(in crate::cli) fn similar<'a>(
    word: &str,
    words: impl Iterator<Item = &'a str>,
) -> Option<String> {
    nearest(word, words).map(|other| format!("; did you mean '{other}'?"))
}

/// Other names for options. The command has at most one of several.
const SYNONYMS: [(&[&str], &[&str]); 14] = [
    (&["knudsen", "knudsen-number"], &["kn"]),
    (&["rarefaction"], &["delta"]),
    (&["mach-number", "ma"], &["mach"]),
    (&["prandtl-number", "pr"], &["prandtl"]),
    (
        &["tol", "tolerance", "rtol", "eps", "residual"],
        &["until-residual", "tolerance"],
    ),
    (
        &[
            "iter",
            "iterations",
            "max-iter",
            "max-iterations",
            "max-steps",
        ],
        &["iterations", "steps"],
    ),
    (&["cells", "resolution", "points"], &["cells", "grid"]),
    (
        &["time", "end", "t-end", "tmax", "final-time"],
        &["until", "times"],
    ),
    (&["device", "gpu", "cuda", "cpu"], &["backend"]),
    (&["dtype", "float", "double", "single"], &["precision"]),
    (&["restart", "continue", "checkpoint"], &["resume"]),
    (&["force", "clobber", "replace"], &["overwrite"]),
    (
        &["output", "output-dir", "outdir", "folder", "dir"],
        &["out"],
    ),
    (&["silent"], &["quiet"]),
];

/// The word that was probably meant: a synonym, the beginning of a word, or one with at most a slip in three letters.
pub(super) fn nearest<'a>(word: &str, words: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let words: Vec<&str> = words.collect();
    let synonyms = SYNONYMS.iter().filter(|(names, _)| names.contains(&word));
    let synonym = synonyms
        .flat_map(|(_, known)| known.iter())
        .find_map(|known| words.iter().find(|other| *other == known));
    if let Some(other) = synonym {
        return Some(other);
    }
    let long = |text: &str| text.chars().count();
    let slips = |other: &str| strsim::damerau_levenshtein(word, other);
    let few =
        |other: &&&str| slips(other) <= (long(word).max(long(other)) / 3).max(1) && long(word) > 1;
    if let Some(other) = words.iter().filter(few).min_by_key(|other| slips(other)) {
        return Some(other);
    }
    let begins = |other: &&&str| long(word) > 1 && other.starts_with(word);
    let part = |other: &&&str| word.split('-').any(|part| part == **other) && long(other) > 2;
    words
        .iter()
        .find(begins)
        .or_else(|| words.iter().find(part))
        .copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggestions_fit() {
        let options = [
            "backend",
            "delta",
            "grid",
            "json",
            "kn",
            "mach",
            "cells",
            "out",
            "pressure",
            "steps",
            "until-residual",
        ];
        for (word, meant) in [
            ("gird", Some("grid")),
            ("bakend", Some("backend")),
            ("pres", Some("pressure")),
            ("knudsen", Some("kn")),
            ("iterations", Some("steps")),
            ("tolerance", Some("until-residual")),
            ("output", Some("out")),
            ("max-steps", Some("steps")),
            ("total-pressure", Some("pressure")),
            ("frobnicate", None),
            ("q", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, options.into_iter()), meant, "{word}");
        }
    }
}
