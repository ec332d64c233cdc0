//! The paper on Longman's method on graphics hardware, with its corrections: Table 1, eq. (16), and Fig. 11 in three precisions.
//!
//!     cargo run --release --example 05_longman_paper

use rarefy::emulator::Emulator;
use rarefy::gpu;
use rarefy::longman::paper::{FixedBatch, Form, Functions, PaperRule, Start};
use rarefy::machine::Machine;
use rarefy_kernels::Real;

const LAMBDA: f64 = 0.5;
const OMEGA: f64 = 10.0;

fn main() -> rarefy::Result<()> {
    let rule = PaperRule {
        areas: 7,
        nodes: 16,
        ..PaperRule::default()
    };
    let table = rule.table(LAMBDA, OMEGA)?;
    println!("Table 1: zeros, areas and differences of e^(-x/2) cos(10 x)");
    print!("{:>9}", "x_k");
    table.zeros.iter().for_each(|x| print!(" {x:>13.8}"));
    println!();
    for (r, row) in table.differences.iter().enumerate() {
        print!("Delta^{r} V");
        row.iter().for_each(|v| print!(" {v:>13.6e}"));
        println!();
    }
    let exact = rule.exact(LAMBDA, OMEGA);
    println!(
        "eq. (16): {:.12} {} 0.5 {:.12} ... = {:.17}, exact {exact:.17}, error {:.2e}\n",
        table.head,
        if table.sign < 0.0 { '-' } else { '+' },
        table.differences[0][0],
        table.value(),
        (table.value() - exact).abs()
    );
    match gpu::open() {
        Ok(device) => figure_11(&device, device.name()),
        Err(_) => figure_11(&Emulator::default(), "the emulator"),
    }
}

/// Errors of the tail from the first zero on, and the remainder of eq. (10).
fn figure_11<M: Machine>(machine: &M, name: &str) -> rarefy::Result<()> {
    println!("Fig. 11 on {name}: error of the tail against the number of areas");
    println!(" N  eq. (10)   f32 hardware  f32        f64");
    for areas in [2, 4, 6, 8, 10, 12, 14, 16, 24, 32, 48, 63] {
        let rule = |areas| PaperRule {
            areas,
            nodes: 16,
            start: Start::FirstZero,
            ..PaperRule::default()
        };
        let exact = rule(areas).exact(LAMBDA, OMEGA);
        // The bound takes one area more.
        let bound = rule(areas + 1).table(LAMBDA, OMEGA)?.remainder_bound(areas);
        println!(
            "{areas:>2}  {:<9.1e}  {:<12.1e}  {:<9.1e}  {:<9.1e}",
            bound.unwrap_or(f64::NAN),
            error::<M, f32>(machine, &rule(areas), Functions::Hardware, exact)?,
            error::<M, f32>(machine, &rule(areas), Functions::Software, exact)?,
            error::<M, f64>(machine, &rule(areas), Functions::Software, exact)?,
        );
    }
    println!("Roundoff ends each column where it does; the bound of eq. (10) does not see it.");
    Ok(())
}

fn error<M: Machine, T: Real>(
    machine: &M,
    rule: &PaperRule,
    functions: Functions,
    exact: f64,
) -> rarefy::Result<f64> {
    let mut batch = FixedBatch::<M, T>::new(machine, rule, &[LAMBDA], &[OMEGA])?;
    batch.launch(machine, Form::Table, functions)?;
    let values = batch.values(machine)?;
    Ok(values
        .first()
        .map_or(f64::NAN, |value| (value.to_f64() - exact).abs()))
}
