//! The flags of a compilation.

pub(crate) const TARGET: &str = "nvptx64-nvidia-cuda";
pub(crate) const CARGO_ARGUMENTS: [&str; 8] = [
    "rustc",
    "--lib",
    "--crate-type",
    "cdylib",
    "--release",
    "-Zbuild-std=core",
    "--target",
    TARGET,
];
pub(crate) const RUSTC_ARGUMENTS: [&str; 2] = ["--emit=llvm-bc", "-Clinker=true"];
pub(crate) const PROFILE: [(&str, &str); 7] = [
    ("CARGO_PROFILE_RELEASE_LTO", "fat"),
    ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "1"),
    ("CARGO_PROFILE_RELEASE_OPT_LEVEL", "3"),
    ("CARGO_PROFILE_RELEASE_PANIC", "abort"),
    ("CARGO_PROFILE_RELEASE_DEBUG", "false"),
    ("CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS", "false"),
    ("CARGO_PROFILE_RELEASE_OVERFLOW_CHECKS", "false"),
];
/// Loops over the elements of a thread's small arrays must be unrolled in full, or the arrays go to local memory: LLVM's own
/// limit of 300 instructions is too low for a loop over 18 sums. Partial unrolling has a limit of its own, left as it is.
pub(crate) const UNROLL: &str = "-unroll-threshold=3000";
pub(crate) const PASSES: &str = "internalize,default<O3>,globaldce";

/// The flags of a compilation, as part of the hash of the sources.
pub(crate) fn recipe() -> String {
    format!("{CARGO_ARGUMENTS:?} {RUSTC_ARGUMENTS:?} {PROFILE:?} -passes={PASSES} {UNROLL} llc -O3")
}
