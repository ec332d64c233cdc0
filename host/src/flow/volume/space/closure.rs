//! The linear closure of a cut cell of space: outgoing values on the straight line through the inflow values.

/// Coefficients `c` of `f_o = f + sum_i c_oi (f_i - f)`, by octant of the velocity and by whether the wall lets out.
///
/// Octants: bit 0 for v_x < 0, bit 1 for v_y < 0, bit 2 for v_z < 0. Rows are the outflow through the x, y and z faces and the wall, columns the inflow through the same.
#[derive(Clone, Debug)]
pub(in crate::flow) struct Closure(pub(in crate::flow) Box<[[[[f64; 4]; 4]; 2]; 8]>);
