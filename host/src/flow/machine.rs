//! The machines of a sweep.

/// The code that sweeps the velocities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Machine {
    /// All cores of the CPU, eight velocities in a vector register.
    #[default]
    Cpu,
    /// Plain loops, the reference of all tests.
    Reference,
}
