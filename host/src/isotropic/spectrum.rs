//! Decay rates of small departures from equilibrium.

use nalgebra::{DMatrix, SymmetricEigen};
use rayon::prelude::*;

use super::{OperatorConfig, cpu, initial};
use crate::error::{Error, Result};

/// Most cells for which the spectrum is computed: the work grows as M^3.
pub const MAX_CELLS: usize = 1024;

/// The rates with which departures from the equilibrium of this number and energy decay, slowest first. The two zeros that belong to the
/// conserved number and energy come first.
///
/// The operator must be corrected: then its linear part is symmetric in the scalar product with the weight w_i / f_i and the rates are real.
///
/// # Errors
/// An uncorrected operator or one without detailed balance; too many cells; number and energy that no distribution on the grid has.
pub fn decay_rates(config: &OperatorConfig, number: f64, energy: f64) -> Result<Vec<f64>> {
    let cells = config.grid.cells();
    config.validate()?;
    if !config.corrected || matches!(config.law, super::CollisionKernel::Saving { .. }) {
        return Err(Error::invalid(
            "law",
            config.law,
            "a law with detailed balance: corrected coefficients, and no saving",
        ));
    }
    if cells > MAX_CELLS {
        return Err(Error::invalid(
            "grid.cells",
            cells,
            format!("at most {MAX_CELLS} cells for decay rates"),
        ));
    }
    let f = initial::equilibrium(config, number, energy)?.f;
    if let Some(i) = f.iter().position(|&f| f < 1e-290) {
        return Err(Error::invalid(
            "emax",
            config.grid.emax(),
            format!("a smaller one for decay rates: at equilibrium f underflows from cell {i} on"),
        ));
    }
    let operator = cpu::operator::<f64>(&super::OperatorConfig {
        storage: super::Storage::Pairs,
        ..config.clone()
    });
    // The operator is a quadratic form Q(f, f): its derivative along g is (Q(f+g) - Q(f-g)) / 2 without error of the difference.
    let measure = config.measure();
    let root: Vec<f64> = f
        .iter()
        .zip(&measure)
        .map(|(f, m)| (f / m).sqrt())
        .collect();
    let columns: Vec<Vec<f64>> = (0..cells)
        .into_par_iter()
        .map(|j| {
            let (mut up, mut down) = (f.clone(), f.clone());
            up[j] += f[j];
            down[j] -= f[j];
            let (mut a, mut b) = (vec![0.0; cells], vec![0.0; cells]);
            operator.rate(&up, &mut a);
            operator.rate(&down, &mut b);
            // In the variables g_i / root_i the matrix is symmetric.
            (0..cells)
                .map(|i| (a[i] - b[i]) / (2.0 * f[j]) * root[j] / root[i])
                .collect()
        })
        .collect();
    let matrix = DMatrix::from_fn(cells, cells, |i, j| -0.5 * (columns[j][i] + columns[i][j]));
    let mut rates: Vec<f64> = SymmetricEigen::new(matrix)
        .eigenvalues
        .iter()
        .copied()
        .collect();
    rates.sort_by(f64::total_cmp);
    Ok(rates)
}
