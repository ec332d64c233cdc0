//! The method exactly as the paper has it: fixed numbers of areas and of Gauss nodes, and the table of differences.
//!
//! E. Mesquita, J. Labaki, L. O. S. Ferreira, "An Implementation of the Longman's Integration Method on Graphics Hardware" (2009). With
//! boundaries $x_1 < x_2 < \dots$ at the zeros of f, the areas $V_k = |\int_{x_{k+1}}^{x_{k+2}} f|$ (eq. 17, by Gauss quadrature) and their differences
//! $\Delta^{r+1} V_k = \Delta^r V_{k+1} - \Delta^r V_k$, $\Delta^0 V_k = V_k$,
//!
//! $$ \int_a^\infty f = \int_a^{x_1} f + s \sum_{r=0}^{N-1} \frac{(-1)^r}{2^{r+1}} \Delta^r V_0, \qquad s = \operatorname{sign} \int_{x_1}^{x_2} f. $$
//!
//! The sign s is that of the first area. The plus of the paper's eq. (13) and the minus of its eq. (18) are the two cases. Eq. (8) counts differences
//! from another index, and the factors of eq. (13) alternate in sign, as in eq. (9).
//!
//! | symbol | here |
//! |---|---|
//! | $N$, $N_g$ | [`PaperRule::areas`], [`PaperRule::nodes`] |
//! | $x_k$, $V_k$, $\Delta^r V_k$ | [`AreaTable::zeros`], first row, row r of [`AreaTable::differences`] |
//! | $2^{-N} \|\Delta^N V_0\|$, eq. (10) | [`AreaTable::remainder_bound`] |
//!
//! The bound sees neither the error of the quadrature nor roundoff, and holds for totally monotone areas only: it is no error estimate. The driver of
//! the parent module has one.
//!
//! [`FixedBatch`] has the paper's kernel, and a fast form of it.

mod gpu;
mod rule;

pub use gpu::{FixedBatch, Form, Functions};
pub use rule::{AreaTable, PaperRule, Start, Wave, integrate_on_cpu};
