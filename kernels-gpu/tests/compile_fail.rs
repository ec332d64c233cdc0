//! Launches that the compiler must refuse: each file of `compile_fail` with the message that the compiler must print.
//!
//! They vary one launch, which compiles: that of `tests/suite/ptx.rs`.

#[test]
fn wrong_launches_do_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/compile_fail/*.rs");
}
