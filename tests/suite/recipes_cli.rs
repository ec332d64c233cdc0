//! The recipes of `docs/recipes.md`: every block of commands runs as written, and prints the block below it.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::command::{folder, rarefy, text};

const PAGE: &str = include_str!("../../docs/recipes.md");

macro_rules! files {
    ($($name:literal)*) => {
        [$((concat!("examples/data/", $name), include_bytes!(concat!("../../examples/data/", $name)))),*]
    };
}

/// Arrays that recipes read.
const ARRAYS: [(&str, &[u8]); 4] = files!("parts.npy" "runs.npy" "half.npy" "phasors.npy");

/// A line of the page for any number of lines, such as those with the time and the machine.
const ANY_LINES: &str = "...";

/// A block of code, with the line of prose before it.
struct Block<'a> {
    language: &'a str,
    before: &'a str,
    lines: Vec<&'a str>,
}

impl<'a> Block<'a> {
    /// The file that holds the block, where the line before ends with its name: "The file is `bank.csv`:".
    fn file(&self) -> Option<&'a str> {
        let (_, name) = self.before.strip_suffix("`:")?.rsplit_once('`')?;
        Some(name)
    }

    fn text(&self) -> String {
        self.lines.iter().map(|line| format!("{line}\n")).collect()
    }
}

/// The headings of a page, with the blocks below each.
fn recipes(page: &str) -> Vec<(&str, Vec<Block<'_>>)> {
    let mut recipes = Vec::new();
    let mut before = "";
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if line.starts_with('#') {
            recipes.push((line, Vec::new()));
        } else if let Some(language) = line.strip_prefix("```") {
            let lines = lines.by_ref().take_while(|line| *line != "```").collect();
            let block = Block {
                language,
                before,
                lines,
            };
            let (_, blocks) = recipes.last_mut().expect("a block below a heading");
            blocks.push(block);
            before = "";
        } else if !line.is_empty() {
            before = line;
        }
    }
    recipes
}

/// Output and errors of commands in a shell, on the CPU.
fn printed(folder: &Path, commands: &str) -> String {
    let script = format!("exec 2>&1\nrarefy() {{ \"$RAREFY\" \"$@\" --backend cpu; }}\n{commands}");
    let output = Command::new("sh")
        .current_dir(folder)
        .args(["-c", &script])
        .env("RAREFY", rarefy(folder, &[]).get_program())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    text(&output.stdout).to_owned()
}

fn agree(page: &[&str], printed: &[&str]) -> bool {
    match page.split_first() {
        None => printed.is_empty(),
        Some((&ANY_LINES, rest)) => (0..=printed.len()).any(|k| agree(rest, &printed[k..])),
        Some((line, rest)) => printed.first() == Some(line) && agree(rest, &printed[1..]),
    }
}

/// The commands of a page that were run, and those whose output differs.
fn check(page: &str) -> (usize, Vec<String>) {
    let mut count = 0;
    let mut differences = Vec::new();
    for (title, blocks) in recipes(page) {
        let dir = folder();
        fs::create_dir_all(dir.path().join("examples/data")).unwrap();
        for (name, bytes) in ARRAYS {
            fs::write(dir.path().join(name), bytes).unwrap();
        }
        let mut output: Option<String> = None;
        for block in &blocks {
            match (block.file(), block.language) {
                (Some(name), _) => fs::write(dir.path().join(name), block.text()).unwrap(),
                (None, "sh") => {
                    assert!(output.is_none(), "{title}: commands without an output");
                    output = Some(printed(dir.path(), &block.text()));
                    count += 1;
                }
                (None, "text") => {
                    let found = output.take();
                    let found = found.unwrap_or_else(|| panic!("{title}: an output of no command"));
                    let lines: Vec<&str> = found.lines().collect();
                    if !agree(&block.lines, &lines) {
                        differences.push(format!("{title}\n{found}"));
                    }
                }
                // Tests of the Python package run these.
                (None, "python") => {}
                (None, language) => panic!("{title}: a block of `{language}` without a file"),
            }
        }
        assert!(output.is_none(), "{title}: commands without an output");
    }
    (count, differences)
}

#[test]
fn recipes_print_what_their_page_shows() {
    let (count, differences) = check(PAGE);
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert!(count >= 24, "{count} blocks of commands were run");
}

#[test]
fn a_recipe_with_another_output_is_found() {
    let page = "# Sum\n\nThe file is `x.txt`:\n\n```text\n1\n2.5\n```\n\n```sh\nrarefy sum x.txt\necho end\n```\n\n```text\nVALUE\n```\n";
    let differing = |lines: &str| check(&page.replace("VALUE", lines)).1.len();
    assert_eq!(differing("3.5\nend"), 0);
    assert_eq!(differing("...\nend"), 0);
    assert_eq!(differing("3.5"), 1);
    assert_eq!(differing("3.50\nend"), 1);
    assert_eq!(differing("...\n3.6\n..."), 1);
}
