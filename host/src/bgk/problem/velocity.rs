//! Velocity nodes and weights along each axis, and the spaces that they span.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Velocity nodes along one axis, ascending, with the weights of their quadrature: the integral of f is the sum of w_j f(v_j).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "UncheckedAxis")]
pub struct Axis {
    nodes: Vec<f64>,
    weights: Vec<f64>,
}

/// An axis as a file may describe it.
#[derive(Deserialize)]
struct UncheckedAxis {
    nodes: Vec<f64>,
    weights: Vec<f64>,
}

impl TryFrom<UncheckedAxis> for Axis {
    type Error = Error;

    fn try_from(UncheckedAxis { nodes, weights }: UncheckedAxis) -> Result<Self> {
        Self::new(nodes, weights)
    }
}

impl Axis {
    /// Most nodes along an axis.
    pub const MAX_NODES: usize = 1024;

    /// Nodes and weights of any quadrature.
    ///
    /// # Errors
    /// Fewer than 2 or more than [`Axis::MAX_NODES`] nodes, numbers of nodes and weights that differ, nodes that do not ascend, weights that are not
    /// positive, or values that are not finite.
    pub fn new(nodes: Vec<f64>, weights: Vec<f64>) -> Result<Self> {
        let n = nodes.len();
        if !(2..=Self::MAX_NODES).contains(&n) || weights.len() != n {
            return Err(Error::invalid(
                "nodes",
                format!("{n} nodes and {} weights", weights.len()),
                format!(
                    "2 to {} nodes of a velocity axis and a weight for each",
                    Self::MAX_NODES
                ),
            ));
        }
        // Not a number is below nothing.
        if let Some(pair) = nodes
            .windows(2)
            .find(|w| !(w[0] < w[1] && w[0].is_finite() && w[1].is_finite()))
        {
            let value = format!("{} before {}", pair[0], pair[1]);
            return Err(Error::invalid(
                "nodes",
                value,
                "finite velocities that ascend",
            ));
        }
        if let Some(weight) = weights.iter().find(|w| !(w.is_finite() && **w > 0.0)) {
            let expected = "positive and finite weights of a velocity axis";
            return Err(Error::invalid("weights", weight, expected));
        }
        Ok(Self { nodes, weights })
    }

    /// The centres of `n` cells of equal width on `[min, max]`: the midpoint rule.
    ///
    /// # Errors
    /// As [`Axis::new`]; bounds that are not finite or not in order.
    pub fn uniform(n: usize, min: f64, max: f64) -> Result<Self> {
        if !(min.is_finite() && max.is_finite() && min < max) {
            return Err(Error::invalid(
                "velocity box",
                format!("[{min}, {max}]"),
                "finite bounds, the lower bound below the upper one",
            ));
        }
        if !(2..=Self::MAX_NODES).contains(&n) {
            return Err(Error::invalid(
                "n",
                n,
                format!("2 to {} nodes of a velocity axis", Self::MAX_NODES),
            ));
        }
        let step = (max - min) / n as f64;
        // A box that is symmetric about 0 gets nodes that are so to the bit.
        let nodes = if min == -max {
            (0..n)
                .map(|j| (j as f64 - 0.5 * (n as f64 - 1.0)) * step)
                .collect()
        } else {
            (0..n).map(|j| min + (j as f64 + 0.5) * step).collect()
        };
        Self::new(nodes, vec![step; n])
    }

    /// Number of nodes.
    #[allow(clippy::len_without_is_empty, reason = "an axis is never empty")]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }
    /// The nodes, ascending.
    pub fn nodes(&self) -> &[f64] {
        &self.nodes
    }
    /// The weights.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }
    /// Whether the axis is its own mirror image, node by node and weight by weight: node j is then minus node n-1-j.
    pub fn is_symmetric(&self) -> bool {
        let n = self.len();
        (0..n).all(|j| {
            self.nodes[j] == -self.nodes[n - 1 - j] && self.weights[j] == self.weights[n - 1 - j]
        })
    }
    /// The distance of neighbouring nodes if it is the same everywhere, up to roundoff.
    pub fn spacing(&self) -> Option<f64> {
        let (first, last) = (self.nodes[0], self.nodes[self.len() - 1]);
        let step = (last - first) / (self.len() - 1) as f64;
        self.nodes
            .windows(2)
            .all(|w| (w[1] - w[0] - step).abs() < 1e-9 * step)
            .then_some(step)
    }
    /// The nodes that are not negative, of a symmetric axis, with the weights of their mirror images.
    pub(in crate::bgk) fn half(&self) -> Self {
        let first = self.len() / 2;
        let nodes = self.nodes[first..].to_vec();
        let weight = |(v, w): (&f64, &f64)| if *v > 0.0 { 2.0 * w } else { *w };
        let weights = nodes
            .iter()
            .zip(&self.weights[first..])
            .map(weight)
            .collect();
        Self { nodes, weights }
    }
    /// Largest speed of a node.
    pub fn fastest(&self) -> f64 {
        self.nodes.iter().fold(0.0, |most, v| most.max(v.abs()))
    }
}

/// The velocity space: full, or with the axes integrated out along which nothing depends on position (C. K. Chu, Phys. Fluids 8 (1965) 12).
///
/// With `D < 3` axes two functions are kept, `g = int f` and `h = int (sum of v_i^2 over the missing axes) f`. Both kinds have one layout: the
/// population of the node (j_x, j_y, m) is `w f(v)`, weights included, where
///
/// | axes | j_x | j_y | m |
/// |---|---|---|---|
/// | 3 | v_x | v_y | v_z |
/// | 2 | v_x | v_y | 0: g, 1: h |
/// | 1 | v_x | one node, v_y = 0 | 0: g, 1: h |
///
/// so that with [`Inner`] every moment is a sum over nodes. A reduced space of molecules that rotate has a third function m = 2, their
/// [internal energy](VelocitySpace::with_internal_energy).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "UncheckedSpace")]
pub struct VelocitySpace {
    axes: Vec<Axis>,
    flow: usize,
    /// Internal degrees of freedom of the molecules, 0 of single atoms.
    #[serde(skip_serializing_if = "is_zero")]
    internal: f64,
}

fn is_zero(value: &f64) -> bool {
    *value == 0.0
}

/// A velocity space as a file may describe it.
#[derive(Deserialize)]
struct UncheckedSpace {
    axes: Vec<Axis>,
    flow: usize,
    #[serde(default)]
    internal: f64,
}

impl TryFrom<UncheckedSpace> for VelocitySpace {
    type Error = Error;

    fn try_from(given: UncheckedSpace) -> Result<Self> {
        let space = Self::new(given.axes, given.flow)?;
        match given.internal {
            0.0 => Ok(space),
            freedom => space.with_internal_energy(freedom),
        }
    }
}

/// Weights of the innermost index of the layout. The population of m adds `mass` times itself to the sums over the resolved velocities,
/// and `energy` times itself to the sum of the squares of the others.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Inner {
    /// 1 for nodes of v_z and for g, 0 for h.
    pub mass: f64,
    /// v_z^2, 0 for g, 1 for h.
    pub energy: f64,
    /// 1 for the internal energy, which it adds to no other sum.
    pub internal: f64,
}

impl VelocitySpace {
    /// A space of one to three axes, of which the first `flow` (1 or 2) are those along which the gas may move.
    ///
    /// # Errors
    /// No or more than three axes; `flow` that is not 1 or 2 or exceeds the axes; an axis beyond `flow` that is not symmetric about 0, on
    /// which a gas at rest would not stay so.
    pub fn new(axes: Vec<Axis>, flow: usize) -> Result<Self> {
        if !(1..=3).contains(&axes.len()) {
            return Err(Error::invalid(
                "axes",
                axes.len(),
                "1 to 3 axes of a velocity space",
            ));
        }
        if !(1..=2).contains(&flow) || flow > axes.len() {
            return Err(Error::invalid(
                "flow",
                format!("{flow} of {}", axes.len()),
                "1 or 2 of the velocity axes, along which the gas moves",
            ));
        }
        if let Some(bad) = (flow..axes.len()).find(|&d| !axes[d].is_symmetric()) {
            return Err(Error::invalid(
                format!("axis v_{}", ["x", "y", "z"][bad]),
                "not symmetric",
                "nodes that are symmetric about 0, since the gas does not move along this axis",
            ));
        }
        Ok(Self {
            axes,
            flow,
            internal: 0.0,
        })
    }

    /// The space with a third function, the internal energy `E = int e f` of molecules with so many internal degrees of freedom, in units of m v0^2/2.
    ///
    /// # Errors
    /// Degrees of freedom that are not positive; a space of all three axes, which would take twice the memory and adds nothing.
    pub fn with_internal_energy(self, freedom: f64) -> Result<Self> {
        if !(freedom.is_finite() && freedom > 0.0) {
            return Err(Error::invalid(
                "internal_dof",
                freedom,
                "a positive number of degrees of freedom",
            ));
        }
        if !self.is_reduced() {
            return Err(Error::invalid(
                "velocities",
                "three axes for molecules that rotate",
                "a reduced velocity space, of one or two axes",
            ));
        }
        Ok(Self {
            internal: freedom,
            ..self
        })
    }

    /// Internal degrees of freedom of the molecules, 0 of single atoms.
    pub fn internal_freedom(&self) -> f64 {
        self.internal
    }

    /// The axes that are resolved.
    pub fn axes(&self) -> &[Axis] {
        &self.axes
    }
    /// Number of leading axes along which the gas may move.
    pub fn flow(&self) -> usize {
        self.flow
    }
    /// Number of axes that are integrated out, K.
    pub fn integrated(&self) -> usize {
        3 - self.axes.len()
    }
    /// Whether axes are integrated out.
    pub fn is_reduced(&self) -> bool {
        self.axes.len() < 3
    }
    /// Nodes of v_x.
    pub fn x(&self) -> &Axis {
        &self.axes[0]
    }
    /// Nodes v_y of the layout: a single 0 where that axis is integrated out.
    pub fn y_nodes(&self) -> &[f64] {
        self.axes.get(1).map_or(&[0.0], Axis::nodes)
    }
    /// Weights of [`VelocitySpace::y_nodes`].
    pub fn y_weights(&self) -> &[f64] {
        self.axes.get(1).map_or(&[1.0], Axis::weights)
    }
    /// The nodes of v_z, if that axis is resolved.
    pub fn z(&self) -> Option<&Axis> {
        self.axes.get(2)
    }
    /// The space with one half of each axis along which the gas does not move: enough for populations that are even in these velocities.
    pub(in crate::bgk) fn halved(&self) -> Self {
        let axes = self.axes.iter().enumerate();
        let axes = axes.map(|(d, axis)| {
            if d < self.flow {
                axis.clone()
            } else {
                axis.half()
            }
        });
        Self {
            axes: axes.collect(),
            ..*self
        }
    }
    /// Length of the layout along j_x, j_y and m.
    pub fn shape(&self) -> [usize; 3] {
        let functions = if self.internal > 0.0 { 3 } else { 2 };
        let inner = self.z().map_or(functions, Axis::len);
        [self.x().len(), self.y_nodes().len(), inner]
    }
    /// Nodes of the layout, which are the numbers kept for each cell in space.
    pub fn nodes(&self) -> usize {
        self.shape().iter().product()
    }
    /// Nodes of the layout that have the same v_x and v_y.
    pub fn inner(&self) -> Vec<Inner> {
        match self.z() {
            Some(z) => z
                .nodes()
                .iter()
                .map(|v| Inner {
                    mass: 1.0,
                    energy: v * v,
                    internal: 0.0,
                })
                .collect(),
            None => [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]][..self.shape()[2]]
                .iter()
                .map(|&[mass, energy, internal]| Inner {
                    mass,
                    energy,
                    internal,
                })
                .collect(),
        }
    }
    /// Linear index of the node (j_x, j_y, m).
    pub fn index(&self, jx: usize, jy: usize, m: usize) -> usize {
        let [_, ny, nm] = self.shape();
        (jx * ny + jy) * nm + m
    }

    /// Refuses a space on which the equilibria between these temperatures cannot be represented: the step is too wide for the coldest, or
    /// the box too narrow for the hottest. `velocities` are the mean velocities that occur.
    ///
    /// No discrete Maxwellian exists where the midpoint rule's step is `sqrt(2 T)` or more, for the two nodes next to the mean already carry more
    /// energy than it has. Other quadratures are left to [`DiscreteMaxwellian`](crate::bgk::DiscreteMaxwellian), which says when it fails.
    ///
    /// # Errors
    /// As above, with the axis, the temperature and what would do.
    pub fn check_range(&self, states: &[super::State]) -> Result<()> {
        self.check_range_within(states, Axis::MAX_NODES)
    }

    /// The same of axes that have at most so many nodes, which the advice respects.
    pub(crate) fn check_range_within(&self, states: &[super::State], most: usize) -> Result<()> {
        for (d, axis) in self.axes.iter().enumerate() {
            let name = ["x", "y", "z"][d];
            let Some(step) = axis.spacing() else { continue };
            let (low, high) = (
                axis.nodes()[0] - 0.5 * step,
                axis.nodes()[axis.len() - 1] + 0.5 * step,
            );
            for state in states {
                let thermal = state.temperature.sqrt();
                if step >= thermal * std::f64::consts::SQRT_2 {
                    return Err(Error::invalid(
                        "velocity",
                        format!(
                            "nodes {step:.4} apart along v_{name}, too coarse for a discrete Maxwellian of temperature {:.6}",
                            state.temperature
                        ),
                        format!(
                            "a distance below sqrt(2 T) = {:.4}; {}",
                            thermal * std::f64::consts::SQRT_2,
                            sufficient((high - low) / thermal, most)
                        ),
                    ));
                }
                let mean = if d < self.flow {
                    state.velocity[d]
                } else {
                    0.0
                };
                let reach = (high - mean).min(mean - low);
                if reach < NARROWEST * thermal {
                    return Err(Error::invalid(
                        "velocity",
                        format!(
                            "the box [{low:.4}, {high:.4}] along v_{name}, too narrow for temperature {:.6} about the mean velocity {mean:.4}",
                            state.temperature
                        ),
                        format!(
                            "at least {NARROWEST} sqrt(T) on either side; 4.5 sqrt(T), here [{:.4}, {:.4}], is accurate",
                            mean - 4.5 * thermal,
                            mean + 4.5 * thermal
                        ),
                    ));
                }
            }
        }
        Ok(())
    }
}

/// Advice for a box so many sqrt(T) wide that is divided too coarsely: nodes that are 0.6 sqrt(T) apart, or as close as `most` of them are.
fn sufficient(width: f64, most: usize) -> String {
    let enough = (width / 0.6).ceil().min(most as f64);
    let step = width / enough;
    if step > 1.2 {
        return format!("the limit of {most} nodes is too few in this box; use a narrower one");
    }
    format!("{enough} nodes give {:.1} sqrt(T)", step)
}

/// Half-width of the velocity box, in sqrt(T), below which a grid is refused: 2e-5 of the molecules are outside.
const NARROWEST: f64 = 3.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uniform_axes_are_symmetric_to_the_bit() {
        for n in [2, 7, 20, 33] {
            assert!(Axis::uniform(n, -4.3, 4.3).unwrap().is_symmetric());
        }
        let axis = Axis::uniform(5, -1.0, 4.0).unwrap();
        assert_eq!(axis.nodes(), [-0.5, 0.5, 1.5, 2.5, 3.5]);
        assert!(!axis.is_symmetric());
        assert_eq!(axis.spacing(), Some(1.0));
    }

    #[test]
    fn bad_axes_and_spaces_are_refused() {
        assert!(Axis::uniform(1, -1.0, 1.0).is_err());
        assert!(Axis::uniform(8, 1.0, -1.0).is_err());
        assert!(Axis::uniform(8, f64::NAN, 1.0).is_err());
        assert!(Axis::new(vec![0.0, 0.0], vec![1.0, 1.0]).is_err());
        assert!(Axis::new(vec![0.0, 1.0], vec![1.0, -1.0]).is_err());
        let skew = Axis::uniform(5, -1.0, 4.0).unwrap();
        assert!(VelocitySpace::new(vec![skew.clone()], 1).is_ok());
        assert!(VelocitySpace::new(vec![skew.clone(), skew.clone()], 1).is_err());
        assert!(VelocitySpace::new(vec![skew], 2).is_err());
        assert!(VelocitySpace::new(vec![], 1).is_err());
    }
}
