//! Embeds the PTX of the kernels; compiles it anew where `kernels-gpu/` has changed. See `docs/ptx.md`.

fn main() {
    if let Err(message) = ptx_builder::embed::build_script() {
        // Cargo shows these lines of a failed build script first, and one at a time.
        for line in message.lines() {
            println!("cargo::error={line}");
        }
    }
}
