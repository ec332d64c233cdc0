//! Shared by the benches.

/// Whether the filter on the command line, which criterion applies to its own benchmarks, lets this one through: preparing some takes long.
pub(crate) fn passes_filter(what: &str) -> bool {
    // Values of options look like filters; those of criterion are numbers, but for names that no benchmark has.
    let filters: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with('-') && argument.parse::<f64>().is_err())
        .collect();
    filters.is_empty() || filters.iter().any(|filter| what.contains(filter.as_str()))
}
