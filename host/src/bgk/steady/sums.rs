//! Sums over the velocities: the results of a sweep.

/// Sums over the outgoing velocities at a face of a boundary cell.
pub(super) mod leaving {
    /// Mass that leaves in unit time, per unit area.
    pub(in crate::bgk::steady) const MASS: usize = 0;
    /// Normal momentum that leaves, reckoned outwards.
    pub(in crate::bgk::steady) const NORMAL: usize = 1;
    /// Tangential momentum that leaves.
    pub(in crate::bgk::steady) const TANGENTIAL: usize = 2;
    /// Energy that leaves.
    pub(in crate::bgk::steady) const ENERGY: usize = 3;
    /// Density of the outgoing half.
    pub(in crate::bgk::steady) const DENSITY: usize = 4;
    /// Tangential momentum of the outgoing half, per volume.
    pub(in crate::bgk::steady) const DRIFT: usize = 5;
    /// Sum of |v|^2 f of the outgoing half.
    pub(in crate::bgk::steady) const SQUARE: usize = 6;
    /// Number of these sums.
    pub(in crate::bgk::steady) const LEN: usize = 7;
}

/// Sums over all velocities of the closing sweep.
#[derive(Clone, Debug)]
pub(super) struct Sums {
    /// P_xx, P_xy, P_yy, q_x, q_y as `[component][cell]`.
    pub(super) cells: Vec<f64>,
    /// Sums over outgoing velocities, `[face][...]` as in [`leaving`].
    pub(super) faces: Vec<f64>,
    /// Those of internal energy, where the molecules rotate.
    pub(super) internal: Option<InternalSums>,
}

/// Fluxes along x through a face of a line.
pub(super) mod flux {
    /// <v_x>.
    pub(in crate::bgk::steady) const MASS: usize = 0;
    /// <v_x^2>.
    pub(in crate::bgk::steady) const MOMENTUM: usize = 1;
    /// <v_x v_y>.
    pub(in crate::bgk::steady) const SHEAR: usize = 2;
    /// <v_x |v|^2> / 2.
    pub(in crate::bgk::steady) const ENERGY: usize = 3;
    /// Number of these fluxes.
    pub(in crate::bgk::steady) const LEN: usize = 4;
}

/// Sums over all velocities of a sweep.
#[derive(Clone, Debug, Default)]
pub(super) struct Swept {
    /// `[component][cell]`: sums of (f - S) (1, v_x, v_y, |v|^2), and with the Shakhov model the heat flux of f.
    pub(super) sums: Vec<f64>,
    /// Mass that leaves each boundary face.
    pub(super) left: Vec<f64>,
    /// On a line, the fluxes through every face from west to east, as in [`flux`]; empty on a rectangle.
    pub(super) fluxes: Vec<[f64; flux::LEN]>,
    /// The same of internal energy, where the molecules rotate.
    pub(super) internal: Option<InternalSums>,
    /// Momentum along y and energy that a force brings into each cell, in a unit of space and time; empty without a force.
    pub(super) brought: Vec<[f64; 2]>,
    /// The momentum of these from west up to the middle of each cell; empty without a force. The fluxes are then without what the force brought.
    pub(super) built: Vec<f64>,
    /// `[component][cell]`: sums of the collisions of the swept molecules over (1, v_x, v_y, |v|^2); empty where they are the local frequency times those of f - S.
    pub(super) defects: Vec<f64>,
    /// The sums of the closing sweep, where every sweep has them.
    pub(super) closing: Option<Sums>,
}

/// Sums over the velocities of internal energy.
#[derive(Clone, Debug)]
pub(super) struct InternalSums {
    /// Of each cell: `E - S_E`, and both parts of `c E/2`.
    pub(super) cells: Vec<[f64; 3]>,
    /// On a line, the flux `v_x E/2` through every face from west to east; empty on a rectangle.
    pub(super) fluxes: Vec<f64>,
    /// Of each boundary face: the flux `v E/2` out of the gas, and the density of E.
    pub(super) faces: Vec<[f64; 2]>,
}

impl InternalSums {
    /// Adds the sums over other velocities.
    pub(super) fn add(&mut self, other: &Self) {
        let values = [
            (self.cells.as_flattened_mut(), other.cells.as_flattened()),
            (&mut self.fluxes, &other.fluxes),
            (self.faces.as_flattened_mut(), other.faces.as_flattened()),
        ];
        for (sums, terms) in values {
            add(sums, terms);
        }
    }
}

/// Adds terms to their sums.
pub(super) fn add(sums: &mut [f64], terms: &[f64]) {
    for (sum, term) in sums.iter_mut().zip(terms) {
        *sum += term;
    }
}
