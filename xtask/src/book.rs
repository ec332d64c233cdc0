//! `cargo xtask math`: a preprocessor of mdBook. Formulas between dollars, which GitHub shows by itself, become what mdBook hands on to MathJax.

use std::io::{self, Write};

use anyhow::{Context, Result};
use serde_json::Value;

/// Reads a book from standard input and writes it to standard output, as mdBook asks of a preprocessor.
pub(crate) fn math() -> Result<()> {
    let input: Value =
        serde_json::from_reader(io::stdin()).context("mdBook gives a context and a book")?;
    let mut book = input.get(1).cloned().unwrap_or_default();
    visit(&mut book);
    serde_json::to_writer(io::stdout(), &book)?;
    io::stdout().flush()?;
    Ok(())
}

/// Rewrites the text of every chapter in a book.
fn visit(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                match field {
                    Value::String(text) if name == "content" => *text = formulas(text),
                    _ => visit(field),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(visit),
        _ => {}
    }
}

/// A text with `$...$` as `\\(...\\)` and `$$...$$` as `\\[...\\]`, code left alone.
fn formulas(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['`', '$']) {
        out.push_str(&rest[..at]);
        let tail = &rest[at..];
        let mark = tail.len() - tail.trim_start_matches(&tail[..1]).len();
        let fence = &tail[..mark];
        let Some(end) = tail[mark..].find(fence) else {
            // Nothing closes it: a character like any other.
            out.push_str(fence);
            rest = &tail[mark..];
            continue;
        };
        let (inside, after) = (&tail[mark..mark + end], &tail[mark + end + mark..]);
        match fence {
            "$" => out.extend([r"\\(", &escaped(inside), r"\\)"]),
            "$$" => out.extend([r"\\[", &escaped(inside), r"\\]"]),
            code => out.extend([code, inside, code]),
        }
        rest = after;
    }
    out + rest
}

/// A formula of which Markdown takes nothing for its own: any punctuation after a backslash stands for itself.
fn escaped(formula: &str) -> String {
    let mut out = String::with_capacity(2 * formula.len());
    for c in formula.chars() {
        if c.is_ascii_punctuation() {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

#[test]
fn formulas_are_marked_and_code_is_not() {
    assert_eq!(formulas("at $20^3$ and `$x$`"), r"at \\(20\^3\\) and `$x$`");
    assert_eq!(formulas(r"$$a\, b_i$$"), r"\\[a\\\, b\_i\\]");
    assert_eq!(
        formulas("```sh\necho $HOME $x\n```\n5 $"),
        "```sh\necho $HOME $x\n```\n5 $"
    );
}
