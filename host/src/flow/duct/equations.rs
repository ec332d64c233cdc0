//! The integral equations of a duct at the points of collocation, and their solution.

use nalgebra::{DMatrix, DVector};
use rayon::prelude::*;

use super::images::Images;
use super::kernels::Kernels;
use super::rays::{BLOCK, Sample, Tracer};
use super::shape::Side;
use crate::error::{Error, Result};

/// Rarefaction from which integrals of constants are those of the kernels' primitives.
const THICK: f64 = 0.5;

/// Numbers of the gas in the equations.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gas {
    pub(super) delta: f64,
    /// 1 - A: shares of the heat fluxes of translation and rotation that collisions keep.
    pub(super) kept: [[f64; 2]; 2],
    /// Internal degrees of freedom; none of single atoms.
    pub(super) freedom: Option<f64>,
}

/// Means over the section for a unit fall of the pressure, and of the temperature.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Means {
    /// Mean velocities u.
    pub(super) velocity: [f64; 2],
    /// Mean heat fluxes of translation and rotation.
    pub(super) heat: [[f64; 2]; 2],
}

/// The operators at a point of collocation: a row for each kernel.
struct Row {
    /// delta A_j of each function.
    scattered: [Vec<f64>; 3],
    /// A_j of 1.
    ones: [f64; 3],
    /// The functions themselves.
    here: Vec<f64>,
}

impl Row {
    fn new(tracer: &Tracer<'_>, images: Option<&Images>, point: [f64; 2]) -> Self {
        let [along, up] = tracer.sides;
        let mut integrals = DMatrix::<f64>::zeros(along.count, 3 * up.count);
        let mut across = DMatrix::<f64>::zeros(along.count, BLOCK);
        let mut weighted = DMatrix::<f64>::zeros(3 * up.count, BLOCK);
        let mut values = vec![0.0; up.count];
        let mut sums = [0.0; 3];
        let absorbed = tracer.rays(point, &mut |block: &[Sample]| {
            for (k, sample) in block.iter().enumerate() {
                along.functions(sample.at[0], across.column_mut(k).as_mut_slice());
                up.functions(sample.at[1], &mut values);
                let mut column = weighted.column_mut(k);
                let parts = column.as_mut_slice().chunks_exact_mut(up.count);
                for ((part, weight), sum) in parts.zip(sample.weights).zip(&mut sums) {
                    *sum += weight;
                    for (product, value) in part.iter_mut().zip(&values) {
                        *product = weight * value;
                    }
                }
            }
            let of_block = weighted.columns(0, block.len()).transpose();
            integrals.gemm(1.0, &across.columns(0, block.len()), &of_block, 1.0);
        });
        let mut at = [vec![0.0; along.count], values];
        along.functions(point[0], &mut at[0]);
        up.functions(point[1], &mut at[1]);
        let delta = tracer.delta;
        // Integrals of constants are exact: without this, roundoff and errors of the rules would grow like delta^2.
        let exact = [1.0 - absorbed[0], -absorbed[1], 1.0 - absorbed[2]];
        let lacks = [0, 1, 2].map(|j| exact[j] - delta * sums[j]);
        // Molecules that leave the nearest images are lost for them, and come back here.
        let far = images.map(|images| images.integrals(tracer.sides, point));
        if let Some(far) = &far {
            integrals += far;
        }
        let here: Vec<f64> = at[0]
            .iter()
            .flat_map(|x| at[1].iter().map(move |y| x * y))
            .collect();
        let scattered = [0, 1, 2].map(|j| {
            let lack = lacks[j];
            (here.iter().enumerate())
                .map(|(k, value)| {
                    let integral = integrals[(k / up.count, j * up.count + k % up.count)];
                    delta * integral + lack * value
                })
                .collect()
        });
        let ones = [0, 1, 2].map(|j| {
            // The first function is 1.
            let beyond = far.as_ref().map_or(0.0, |far| far[(0, j * up.count)]);
            beyond
                + if delta > THICK {
                    exact[j] / delta
                } else {
                    sums[j]
                }
        });
        Self {
            scattered,
            ones,
            here,
        }
    }
}

/// Solves the equations of a section.
///
/// # Errors
/// A singular system.
fn solve(gas: &Gas, tracer: &Tracer<'_>, images: Option<&Images>) -> Result<Means> {
    let [along, up] = tracer.sides;
    let points: Vec<[f64; 2]> = (along.places.iter())
        .flat_map(|x| up.places.iter().map(move |y| [*x, *y]))
        .collect();
    let rows = points.par_iter();
    let rows: Vec<Row> = rows.map(|at| Row::new(tracer, images, *at)).collect();
    let n = points.len();
    let fields = if gas.freedom.is_some() { 3 } else { 2 };
    let mut matrix = DMatrix::<f64>::zeros(fields * n, fields * n);
    let mut right = DMatrix::<f64>::zeros(fields * n, 2);
    let [[tt, tr], [rt, rr]] = gas.kept;
    for (i, row) in rows.iter().enumerate() {
        let [a, b, c] = &row.scattered;
        for k in 0..n {
            let here = row.here[k];
            let heat = 0.8 * c[k] + 1.2 * a[k];
            matrix[(i, k)] = here - a[k];
            matrix[(i, n + k)] = -0.8 * tt * b[k];
            matrix[(n + i, k)] = -b[k];
            matrix[(n + i, n + k)] = 2.0 * here - tt * heat;
            if fields == 3 {
                matrix[(i, 2 * n + k)] = -0.8 * tr * b[k];
                matrix[(n + i, 2 * n + k)] = -tr * heat;
                matrix[(2 * n + i, n + k)] = -2.0 * rt * a[k];
                matrix[(2 * n + i, 2 * n + k)] = 2.0 * here - 2.0 * rr * a[k];
            }
        }
        let [a, b, c] = row.ones;
        right[(i, 0)] = 0.5 * a;
        right[(i, 1)] = 0.5 * b;
        right[(n + i, 0)] = 0.5 * b;
        right[(n + i, 1)] = 0.5 * c + 0.75 * a;
        if let Some(freedom) = gas.freedom {
            right[(2 * n + i, 1)] = 0.25 * freedom * a;
        }
    }
    let solved = matrix.lu().solve(&right);
    let solved =
        solved.ok_or_else(|| Error::Numerical("the equations of the duct are singular".into()))?;
    let means: Vec<f64> = (along.means.iter())
        .flat_map(|x| up.means.iter().map(move |y| x * y))
        .collect();
    let means = DVector::from_vec(means);
    let mean = |field: usize, cause: usize| {
        if field < fields {
            solved.view((field * n, cause), (n, 1)).dot(&means)
        } else {
            0.0
        }
    };
    Ok(Means {
        velocity: [0, 1].map(|cause| mean(0, cause)),
        heat: [0, 1].map(|cause| [mean(1, cause), mean(2, cause)]),
    })
}

/// Solves a section by its sides and numbers of points.
///
/// # Errors
/// As [`solve`], and rules of too many nodes.
pub(super) fn means(
    gas: &Gas,
    mirrored: f64,
    sides: &[Side; 2],
    counts: (usize, usize),
) -> Result<Means> {
    let kernels = Kernels::new();
    let walls = (gas.delta, mirrored);
    let tracer = Tracer::new(sides, &kernels, walls, counts)?;
    let images = Images::new(sides, &kernels, walls)?;
    solve(gas, &tracer, images.as_ref())
}
