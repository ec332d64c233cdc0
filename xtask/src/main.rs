//! The chores of rarefy.

fn main() {}
