//! The potential of a charged ring above a plate: integrals over J_0(rho x) with the amplitude `x e^(-z x) / (x + q)`.

use rarefy_kernels::longman::driver::{
    BatchRule, Outcomes, PANEL_NODES, ROW_QUADS, Table, integrate,
};
use rarefy_kernels::longman::{Elementary, Integrand, Software};
use rarefy_kernels::{Quad, Real, kernel};

/// `x e^(-z x) / (x + q)`: parameters z, q. The trait is all that an integrand needs.
#[derive(Clone, Copy, Debug)]
pub struct Ring<T> {
    height: T,
    shift: T,
}

impl<T: Real> Integrand<T> for Ring<T> {
    const PARAMETERS: u32 = 2;
    #[inline(always)]
    fn new(parameter: impl Fn(u32) -> T) -> Self {
        Self {
            height: -parameter(0),
            shift: parameter(1),
        }
    }
    #[inline(always)]
    fn amplitude(&self, x: T) -> T {
        x * Software::exp(self.height * x) / (x + self.shift)
    }
}

kernel! {
    /// Outcomes of integrals of the amplitude [`Ring`]; one thread an integral, as rarefy's own kernels of this form.
    pub fn integrate_ring<T: Real>(
        t, head: In<Quad<T>>, nodes: In<Quad<T>>, rows: In<Quad<T>>, frequencies: In<T>, parameters: In<T>,
        values: Out<T>, errors: Out<T>, conditions: Out<T>, codes: Out<u32>; rule: BatchRule,
    ) for f32, f64
    shared {
        table_head: [Quad<T>; rule.head], table_nodes: [Quad<T>; rule.panels * PANEL_NODES],
        table_rows: [Quad<T>; rule.areas * ROW_QUADS],
    } {
        let table = Table { head: table_head, nodes: table_nodes, rows: table_rows };
        table.stage(t, &rule, head, nodes, rows);
        let outcomes = Outcomes { values, errors, conditions, codes };
        integrate::<Ring<T>, T, _>(t, table, rule, frequencies, parameters, outcomes);
    }
}
