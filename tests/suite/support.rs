//! Shared by the tests of all wings.

use std::fmt::Display;

use rarefy::gpu::{self, Device};

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
