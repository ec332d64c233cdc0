//! The `rarefy` command.

fn main() -> std::process::ExitCode {
    rarefy::cli::main()
}
