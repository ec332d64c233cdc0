//! The update of one cell at one velocity: what comes in, what stays, what goes out.
//!
//! Each form solves the balance `sum_out F f_out - sum_in F f_in = nu V (S - f)` exactly, with another closure of the outgoing values:
//! the diamond `f_out = 2 f - f_in` in full cells, a straight line through the inflow in cut cells, and `f_out = f`, the step, in cells with two segments.

/// Below this share of the step's value the second order is blended with the step.
const FLOOR: f64 = 0.25;

/// Keeps the share of nothing finite.
const TINY: f64 = 1e-300;

/// Least share of the step's denominator that the linear closure may have.
const SAFE: f64 = 0.3;

/// Share of the second-order solution whose least outgoing value is `least`, where the step has `step`.
///
/// With `r = least/step` the blend's least outgoing value is P times the step's, P = r from r = 1/4 on, else `(1/4)^2/(1/2 - r)`: positive, and once differentiable.
/// The share `(1 - P)/(1 - r)` is written with one division, `((1/2 - 1/16) s - m) s/((s/2 - m) (s - m))`.
/// Shakhov's equilibrium can be negative far out; then the step's magnitude counts.
#[inline(always)]
fn share(step: f64, least: f64) -> f64 {
    let step = step.abs();
    let above = (2.0 * FLOOR - FLOOR * FLOOR) * step - least;
    let below = (2.0 * FLOOR * step - least) * (step - least) + TINY;
    if least < FLOOR * step {
        step * above / below
    } else {
        1.0
    }
}

/// A full cell for both functions of a node: value, and outflow through the x and y faces.
///
/// `source` is `nu V S`, `nu` has the volume, `flux` are |v_x| dy and |v_y| dx, `damped` is 1 for the diamond along each axis, less for a damped one:
/// `f_out = (1 + theta) f - theta f_in`.
#[inline(always)]
pub(in crate::flow) fn full<const SOFT: bool>(
    source: [f64; 2],
    nu: f64,
    flux: [f64; 2],
    damped: [f64; 2],
    inflow: [[f64; 2]; 2],
) -> [[f64; 3]; 2] {
    let [cx, cy] = [1.0 + damped[0], 1.0 + damped[1]];
    let [a, b] = [cx * flux[0], cy * flux[1]];
    let inverse = 1.0 / (nu + a + b);
    let inverse_step = 1.0 / (nu + flux[0] + flux[1]);
    let mut all = [[0.0; 3]; 2];
    for q in 0..2 {
        let [x_in, y_in] = inflow[q];
        let f = (source[q] + a * x_in + b * y_in) * inverse;
        let x = cx * f - damped[0] * x_in;
        let y = cy * f - damped[1] * y_in;
        all[q] = [f, x, y];
        if SOFT {
            let step = (source[q] + flux[0] * x_in + flux[1] * y_in) * inverse_step;
            let l = share(step, x.min(y));
            all[q] = all[q].map(|value| step + l * (value - step));
        }
    }
    all
}

/// Fluxes of a cut cell: areas times velocities, of the inflow and outflow faces along x and y, and of the wall into and out of the gas.
#[derive(Clone, Copy)]
pub(in crate::flow) struct Fluxes {
    pub(in crate::flow) x_in: f64,
    pub(in crate::flow) y_in: f64,
    pub(in crate::flow) wall_in: f64,
    pub(in crate::flow) x_out: f64,
    pub(in crate::flow) y_out: f64,
    pub(in crate::flow) wall_out: f64,
}

/// A cell with one segment for both functions of a node: value, outflow through the x and y faces and into the wall.
#[inline(always)]
pub(in crate::flow) fn cut<const SOFT: bool>(
    source: [f64; 2],
    nu: f64,
    flux: Fluxes,
    c: &[[f64; 3]; 3],
    inflow: [[f64; 3]; 2],
) -> [[f64; 4]; 2] {
    let Fluxes {
        x_in,
        y_in,
        wall_in,
        x_out,
        y_out,
        wall_out,
    } = flux;
    let least = nu + x_out + y_out + wall_out;
    let row = |k: usize| 1.0 - c[k][0] - c[k][1] - c[k][2];
    let denominator = nu + x_out * row(0) + y_out * row(1) + wall_out * row(2);
    let column = |k: usize| x_out * c[0][k] + y_out * c[1][k] + wall_out * c[2][k];
    let [ax, ay, aw] = [x_in - column(0), y_in - column(1), wall_in - column(2)];
    let linear = denominator > SAFE * least;
    let inverse = 1.0 / if linear { denominator } else { least };
    let inverse_step = 1.0 / least;
    let mut all = [[0.0; 4]; 2];
    for q in 0..2 {
        let [x, y, w] = inflow[q];
        let step = (source[q] + x_in * x + y_in * y + wall_in * w) * inverse_step;
        let f = (source[q] + ax * x + ay * y + aw * w) * inverse;
        let out = |k: usize| f + c[k][0] * (x - f) + c[k][1] * (y - f) + c[k][2] * (w - f);
        let (fx, fy, fw) = (out(0), out(1), out(2));
        let mut l = 1.0;
        if SOFT {
            let open = |flux: f64, value: f64| if flux > 0.0 { value } else { f64::MAX };
            let lowest = open(x_out, fx).min(open(y_out, fy)).min(open(wall_out, fw));
            l = share(step, lowest);
        }
        let l = if linear { l } else { 0.0 };
        all[q] = [f, fx, fy, fw].map(|value| step + l * (value - step));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blends_balance_and_stay_positive() {
        // A jump into a thick cell: the diamond alone would overshoot.
        let (nu, flux) = (0.01, [0.1, 1.0]);
        let (source, inflow) = (nu * 0.1, [3.0, 1e-6]);
        let [[_, x, y], _] = full::<false>([source; 2], nu, flux, [1.0; 2], [inflow; 2]);
        assert!(x.min(y) < 0.0, "{x} {y}");
        for inflow in [inflow, [1e-9, 3.0], [0.0, 1.0], [2.0, 2.0]] {
            let [[f, x, y], _] = full::<true>([source; 2], nu, flux, [1.0; 2], [inflow; 2]);
            assert!(x > 0.0 && y > 0.0, "{inflow:?}: {x} {y}");
            let balance = flux[0] * (x - inflow[0]) + flux[1] * (y - inflow[1]);
            assert!((balance - (source - nu * f)).abs() < 1e-14);
        }
    }

    #[test]
    fn a_uniform_stream_passes_a_cut_cell() {
        let flux = Fluxes {
            x_in: 0.3,
            y_in: 0.2,
            wall_in: 0.0,
            x_out: 0.1,
            y_out: 0.15,
            wall_out: 0.25,
        };
        let c = [[-0.8, 0.1, 0.0], [0.2, -0.9, 0.0], [-0.3, -0.3, 0.0]];
        let inflow = [1.7, 1.7, 0.0];
        let [found, _] = cut::<false>([0.4 * 1.7; 2], 0.4, flux, &c, [inflow; 2]);
        assert!(found.iter().all(|f| (f - 1.7).abs() < 1e-14), "{found:?}");
    }
}
