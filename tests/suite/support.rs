//! Shared by the tests of all wings.

use std::env;
use std::fmt::Display;
use std::path::{Path, PathBuf};

use rarefy::gpu::{self, Device};

/// A folder of the repository, also where the tests were carried to another machine. `cargo xtask bundle` packs each that is named here.
pub(crate) fn in_repository(folder: &str) -> PathBuf {
    match env::var_os("RAREFY_TEST_DATA") {
        Some(data) if folder == "tests/data" => data.into(),
        _ => {
            let root = env::var_os("CARGO_MANIFEST_DIR");
            Path::new(&root.unwrap_or(env!("CARGO_MANIFEST_DIR").into())).join(folder)
        }
    }
}

/// The device that GPU tests run on, or `None`, with a line that says why, where there is none.
///
/// With `RAREFY_REQUIRE_GPU=1` a missing device fails the test instead.
pub(crate) fn device() -> Option<Device> {
    available(gpu::open())
}

/// The device that was opened, under the rules of [`device`].
pub(crate) fn available<E: Display>(opened: Result<Device, E>) -> Option<Device> {
    match opened {
        Ok(device) => Some(device),
        Err(error) => {
            let required = std::env::var_os("RAREFY_REQUIRE_GPU").is_some_and(|value| value == "1");
            assert!(!required, "RAREFY_REQUIRE_GPU=1, and {error}");
            let test = std::thread::current();
            println!("skipped: no GPU: {}: {error}", test.name().unwrap_or("?"));
            None
        }
    }
}
