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
    /// Internal energy that leaves, of molecules that rotate.
    pub(in crate::bgk::steady) const INTERNAL: usize = 7;
    /// Internal energy of the outgoing half, per volume: <E>.
    pub(in crate::bgk::steady) const INTERNAL_DENSITY: usize = 8;
    /// Number of these sums.
    pub(in crate::bgk::steady) const LEN: usize = 9;
}

/// Sums over all velocities of the closing sweep.
#[derive(Clone, Debug)]
pub(super) struct Sums {
    /// P_xx, P_xy, P_yy, q_x, q_y as `[component][cell]`.
    pub(super) cells: Vec<f64>,
    /// Sums over outgoing velocities, `[face][...]` as in [`leaving`].
    pub(super) faces: Vec<f64>,
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
    /// <v_x E> / 2, of molecules that rotate.
    pub(in crate::bgk::steady) const INTERNAL: usize = 4;
    /// Number of these fluxes.
    pub(in crate::bgk::steady) const LEN: usize = 5;
}

/// Sums over all velocities of a sweep.
#[derive(Clone, Debug, Default)]
pub(super) struct Swept {
    /// `[component][cell]`: sums of (f - S) (1, v_x, v_y, |v|^2), and with the Shakhov model the heat flux of f. Where the molecules rotate, the sum of E - S_E and the heat flux <c E>/2 follow.
    pub(super) sums: Vec<f64>,
    /// Mass that leaves each boundary face.
    pub(super) left: Vec<f64>,
    /// On a line, the fluxes through every face from west to east, as in [`flux`]; empty on a rectangle.
    pub(super) fluxes: Vec<[f64; flux::LEN]>,
    /// Momentum along y and energy that a force brings into each cell, in a unit of space and time; empty without a force.
    pub(super) brought: Vec<[f64; 2]>,
    /// The momentum of these from west up to the middle of each cell; empty without a force. The fluxes are then without what the force brought.
    pub(super) built: Vec<f64>,
    /// `[component][cell]`: sums of the collisions of the swept molecules over (1, v_x, v_y, |v|^2); empty where they are the local frequency times those of f - S.
    pub(super) defects: Vec<f64>,
    /// The sums of the closing sweep, where every sweep has them.
    pub(super) closing: Option<Sums>,
}

/// Adds terms to their sums.
pub(super) fn add(sums: &mut [f64], terms: &[f64]) {
    for (sum, term) in sums.iter_mut().zip(terms) {
        *sum += term;
    }
}
