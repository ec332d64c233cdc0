//! Exact sums and dot products: this machine's CPU, its GPU, and other libraries.
//!
//! Times of the GPU are those of its own clock, without copies, unless a row says otherwise. Buffers rotate, so that no data are in a cache from the
//! time before. `--features peers` adds the rows of other libraries.

mod decimal;
mod float;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

use criterion::Criterion;

/// Least seconds of a run, by row and column of the tables.
#[derive(Default)]
struct Measured(RefCell<BTreeMap<(String, String), f64>>);

impl Measured {
    fn note(&self, row: &str, column: &str, time: Duration, repetitions: u64) {
        let seconds = time.as_secs_f64() / repetitions as f64;
        let mut all = self.0.borrow_mut();
        let least = all
            .entry((row.to_owned(), column.to_owned()))
            .or_insert(seconds);
        *least = least.min(seconds);
    }

    fn get(&self, row: &str, column: &str) -> Option<f64> {
        let key = (row.to_owned(), column.to_owned());
        self.0.borrow().get(&key).copied()
    }

    /// A table of all rows that begin like this.
    fn table(
        &self,
        title: &str,
        prefix: &str,
        columns: &[String],
        cell: impl Fn(&str, &str, f64) -> String,
    ) {
        let mut rows: Vec<String> = self.0.borrow().keys().map(|(row, _)| row.clone()).collect();
        rows.retain(|row| row.starts_with(prefix));
        rows.dedup();
        if rows.is_empty() {
            return;
        }
        println!("\n{title}\n\n| | {} |", columns.join(" | "));
        println!("|---|{}", "---|".repeat(columns.len()));
        for row in rows {
            let cells = columns.iter().map(|column| {
                let seconds = self.get(&row, column);
                seconds.map_or(String::new(), |seconds| cell(&row, column, seconds))
            });
            println!("| {row} | {} |", cells.collect::<Vec<_>>().join(" | "));
        }
    }
}

fn main() {
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(700))
        .configure_from_args();
    float::run(&mut criterion);
    decimal::run(&mut criterion);
}

/// Whether rows that begin like this are asked for, as far as the filter on the command line tells: data take longer to make than rows to run.
fn wanted(beginning: &str) -> bool {
    const FIRST: [&str; 4] = ["cpu ", "gpu ", "sum of ", "dot of "];
    let filter = std::env::args()
        .skip(1)
        .find(|text| FIRST.iter().any(|first| text.starts_with(first)));
    filter.is_none_or(|filter| filter.starts_with(beginning) || beginning.starts_with(&filter))
}
