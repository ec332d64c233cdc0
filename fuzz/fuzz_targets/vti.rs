#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| rarefy::cli::parsers::vti(bytes));
