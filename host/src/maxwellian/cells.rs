//! The Maxwellians of many cells, and the axes that they are summed along.

/// Cells at most that are treated at once.
pub(crate) const TOGETHER: usize = 64;

/// A number for each of them.
pub(crate) type Row = [f64; TOGETHER];

/// The axes of a velocity space; the gas moves along the first ones.
pub(crate) trait Axes {
    /// Axes with nodes, three at most.
    fn count(&self) -> usize;
    /// Nodes and weights along an axis.
    fn axis(&self, d: usize) -> (&[f64], &[f64]);
    /// Axes that the gas moves along.
    fn moving(&self) -> usize;
    /// Axes without nodes, over which everything is integrated.
    fn unresolved(&self) -> usize;
}

/// Maxwellians of so many cells, whose gas moves along D axes at most. The temperature is twice the variance of a velocity component, so `c = 1/T` in the
/// continuum.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Maxwellians<const D: usize> {
    pub(crate) cells: usize,
    pub(crate) density: Row,
    pub(crate) velocity: [Row; D],
    pub(crate) temperature: Row,
    pub(crate) amplitude: Row,
    pub(crate) slope: [Row; D],
    pub(crate) inverse_temperature: Row,
}

impl<const D: usize> Maxwellians<D> {
    /// So many cells without gas.
    pub(crate) fn empty(cells: usize) -> Self {
        let none = [0.0; TOGETHER];
        Self {
            cells,
            density: none,
            velocity: [none; D],
            temperature: none,
            amplitude: none,
            slope: [none; D],
            inverse_temperature: none,
        }
    }

    /// The mean velocity and the slope along an axis: none along those that the gas does not move along.
    #[inline(always)]
    pub(crate) fn along(&self, space: &impl Axes, d: usize) -> [&Row; 2] {
        if d < space.moving() {
            [&self.velocity[d], &self.slope[d]]
        } else {
            [&[0.0; TOGETHER]; 2]
        }
    }
}
