//! Launches that the compiler must refuse: each file of `compile_fail` with the message it must give.
//!
//! The one they are variations of, which compiles, stands in the tests of `rarefy`, in `tests/suite/ptx.rs`.

#[test]
fn wrong_launches_do_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/compile_fail/*.rs");
}
