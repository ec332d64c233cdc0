//! Many integrals of one task: named columns, settings, and the machine that computes them.

use std::borrow::Cow;
use std::ops::Range;

use rayon::prelude::*;

use super::driver::Integral;
use super::integrate::Settings;
use super::task::Task;
use crate::compute::{Compute, Precision, Resolved, on_each, shares};
use crate::emulator::{Emulator, ThreadOrder};
use crate::error::{Error, Result};

/// Integrals of a [`Task`]: a column of values for each parameter, limits, settings, and where to compute.
///
/// Kernels classify integrals from 0 on with an oscillator, by the pair of 7 Gauss and 15 Kronrod nodes. The CPU computes those that
/// they leave undecided, and those that they do not cover, as whole integrands or other numbers of [`Settings::gauss`].
///
/// ```
/// use rarefy::Backend;
/// use rarefy::longman::Task;
///
/// // x/(x^2+p^2) J_0(xi x) from 0 on: K_0(p xi), for two values of xi.
/// let task = Task::oscillating("x/(x^2+p^2)", "bessel:0", "xi", &[])?;
/// let found = task
///     .integrals()
///     .column("p", &[1.0])
///     .column("xi", &[2.0, 3.0])
///     .compute(Backend::Cpu)
///     .integrate()?;
/// assert_eq!(found.len(), 2);
/// assert!((found[0].value - 0.113_893_872_749_533_44).abs() <= found[0].error);
/// # Ok::<(), rarefy::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "`integrate` computes the integrals"]
pub struct Integrals<'a> {
    task: &'a Task,
    columns: Vec<(Cow<'a, str>, Cow<'a, [f64]>)>,
    lower: Cow<'a, [f64]>,
    upper: Cow<'a, [f64]>,
    settings: Option<Settings>,
    tolerance: Option<f64>,
    compute: Compute,
    /// Machines that are open already.
    machines: &'a [Resolved],
}

impl Task {
    /// Integrals of this task: from 0 on and on the best machine there is, unless the builder says otherwise.
    pub fn integrals(&self) -> Integrals<'_> {
        Integrals {
            task: self,
            columns: Vec::new(),
            lower: Cow::Borrowed(&[0.0]),
            upper: Cow::Borrowed(&[f64::INFINITY]),
            settings: None,
            tolerance: None,
            compute: Compute::default(),
            machines: &[],
        }
    }
}

impl<'a> Integrals<'a> {
    /// The values of a parameter: one for each integral, or one for all. A second column of a name replaces the first.
    pub fn column(
        mut self,
        name: impl Into<Cow<'a, str>>,
        values: impl Into<Cow<'a, [f64]>>,
    ) -> Self {
        let name = name.into();
        self.columns.retain(|(known, _)| *known != name);
        self.columns.push((name, values.into()));
        self
    }

    /// The lower limits: one for each integral, or one for all. Below 0 and at -infinity they need an amplitude that is an expression.
    pub fn lower(mut self, lower: impl Into<Cow<'a, [f64]>>) -> Self {
        self.lower = lower.into();
        self
    }

    /// The upper limits: one for each integral, or one for all; infinity if there are none. Finite ones need an amplitude that is an expression. One below the
    /// lower limit reverses the sign of the integral.
    ///
    /// ```
    /// use rarefy::longman::Task;
    ///
    /// // The integral of cos(x) from 0 to 1, and that of exp(-x^2) cos(2 x) over all numbers.
    /// let found = Task::oscillating("1", "cos", "1", &[])?.integrals().upper(&[1.0]).integrate()?;
    /// assert!((found[0].value - 1f64.sin()).abs() <= found[0].error);
    /// let task = Task::oscillating("exp(-x^2)", "cos", "2", &[])?;
    /// let found = task.integrals().lower(&[f64::NEG_INFINITY]).integrate()?;
    /// assert!((found[0].value - std::f64::consts::PI.sqrt() / 1f64.exp()).abs() <= found[0].error);
    /// # Ok::<(), rarefy::Error>(())
    /// ```
    pub fn upper(mut self, upper: impl Into<Cow<'a, [f64]>>) -> Self {
        self.upper = upper.into();
        self
    }

    /// Settings other than [`Settings::for_precision`].
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = Some(settings);
        self
    }

    /// The relative tolerance, before that of the settings.
    pub fn tolerance(mut self, rtol: f64) -> Self {
        self.tolerance = Some(rtol);
        self
    }

    /// Where to compute, in which precision, on how many threads. The integrand is evaluated in this precision; sums are in `f64` always. An integral
    /// that is not OK in `f32` since it cancels or leaves the range is computed in `f64`.
    pub fn compute(mut self, compute: impl Into<Compute>) -> Self {
        self.compute = compute.into();
        self
    }

    /// A machine that is open already, instead of the backend of [`compute`](Self::compute).
    pub fn on(self, machine: &'a Resolved) -> Self {
        self.on_all(std::slice::from_ref(machine))
    }

    /// Several such machines, each of which takes a part of the rows. The results have the bits of one machine.
    pub fn on_all(mut self, machines: &'a [Resolved]) -> Self {
        self.machines = machines;
        self
    }

    /// The integrals, as many as the longest column has values, in the order of the rows.
    ///
    /// # Errors
    /// A parameter without a column, or a column without a parameter; columns whose lengths do not fit each other; as [`Settings::check`]; a
    /// backend or a number of threads that does not exist; a fault of the device.
    pub fn integrate(&self) -> Result<Vec<Integral>> {
        let rows = self.rows()?;
        let precision = self.compute.precision;
        let mut settings = self
            .settings
            .unwrap_or_else(|| Settings::for_precision(precision));
        settings.rtol = self.tolerance.unwrap_or(settings.rtol);
        settings.check()?;
        let work = |machines: &[Resolved]| {
            let parts = machines.iter().zip(shares(rows.count, machines.len()));
            let found = on_each(parts, |(machine, part)| {
                integrate(self.task, machine, &rows.part(part), &settings, precision)
            })?;
            Ok(found.into_iter().flatten().collect())
        };
        match self.machines {
            [] => {
                let machines = self.compute.resolve_all()?;
                self.compute.pool()?.run(|| work(&machines))
            }
            machines => self.compute.pool()?.run(|| work(machines)),
        }
    }

    /// Checks the columns, and brings them into the order of the task's parameters.
    fn rows(&self) -> Result<Rows<'_>> {
        let names = self.task.parameters();
        let known = |name: &str| names.iter().any(|known| known == name);
        if let Some((name, _)) = self.columns.iter().find(|(name, _)| !known(name)) {
            let names = names.join(", ");
            let expected = match names.as_str() {
                "" => "none, for the task has no parameters".to_owned(),
                names => format!("a parameter of the task: {names}"),
            };
            return Err(Error::invalid("column", name, expected));
        }
        let mut columns = Vec::with_capacity(names.len());
        for name in names {
            let column = self.columns.iter().find(|(known, _)| known == name);
            let missing = || Error::invalid(name, "no column", "values of this parameter");
            columns.push(&*column.ok_or_else(missing)?.1);
        }
        let named = names.iter().map(String::as_str).chain(["lower", "upper"]);
        let all = columns.iter().copied().chain([&*self.lower, &*self.upper]);
        let lengths = all.clone().map(<[f64]>::len);
        let count = lengths.filter(|length| *length != 1).max().unwrap_or(1);
        if let Some((name, values)) = named
            .zip(all)
            .find(|(_, values)| ![1, count].contains(&values.len()))
        {
            return Err(Error::invalid(
                name,
                format!("{} values", values.len()),
                format!("{count} values, or one for all integrals"),
            ));
        }
        Ok(Rows {
            count,
            lower: &self.lower,
            upper: &self.upper,
            columns,
        })
    }
}

/// Limits and parameters of integrals, by columns. A column of one value has it in all rows.
pub(super) struct Rows<'a> {
    pub(super) count: usize,
    lower: &'a [f64],
    upper: &'a [f64],
    columns: Vec<&'a [f64]>,
}

impl<'a> Rows<'a> {
    /// Some of the rows.
    fn part(&self, range: Range<usize>) -> Self {
        let of = |column: &'a [f64]| -> &'a [f64] {
            match column {
                [_] => column,
                values => &values[range.clone()],
            }
        };
        Rows {
            count: range.len(),
            lower: of(self.lower),
            upper: of(self.upper),
            columns: self.columns.iter().map(|column| of(column)).collect(),
        }
    }

    fn at(column: &[f64], row: usize) -> f64 {
        match column {
            [value] => *value,
            values => values[row],
        }
    }

    pub(super) fn lower(&self, row: usize) -> f64 {
        Self::at(self.lower, row)
    }

    pub(super) fn upper(&self, row: usize) -> f64 {
        Self::at(self.upper, row)
    }

    pub(super) fn limits(&self, row: usize) -> (f64, f64) {
        (self.lower(row), self.upper(row))
    }

    pub(super) fn value(&self, parameter: usize, row: usize) -> f64 {
        Self::at(self.columns[parameter], row)
    }

    /// The parameters of a row.
    pub(super) fn row(&self, row: usize) -> Vec<f64> {
        let mut values = Vec::with_capacity(self.columns.len());
        self.load(row, &mut values);
        values
    }

    /// The same into memory that many rows share.
    pub(super) fn load(&self, row: usize, values: &mut Vec<f64>) {
        values.clear();
        values.extend(self.columns.iter().map(|column| Self::at(column, row)));
    }
}

fn integrate(
    task: &Task,
    machine: &Resolved,
    rows: &Rows<'_>,
    settings: &Settings,
    precision: Precision,
) -> Result<Vec<Integral>> {
    let one = |row| task.integral(rows.limits(row), &rows.row(row), settings, precision);
    match machine {
        Resolved::Reference => (0..rows.count).map(one).collect(),
        Resolved::Cpu => (0..rows.count).into_par_iter().map(one).collect(),
        Resolved::Cuda(device) => task.integrate_with(device, rows, settings, precision),
        Resolved::Emulator => {
            let emulator = Emulator::new(ThreadOrder::Ascending);
            task.integrate_with(&emulator, rows, settings, precision)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compute::Backend;

    fn task() -> Task {
        Task::oscillating("x/(x^2+p^2)", "bessel:0", "xi", &[]).unwrap()
    }

    #[test]
    fn columns_are_found_by_name() {
        let (p, xi) = ([1.0, 0.5, 2.0], [2.0, 3.0, 1.0]);
        let task = task();
        let found = task.integrals().column("xi", &xi).column("p", &p);
        let found = found.compute(Backend::Cpu).integrate().unwrap();
        for (k, found) in found.iter().enumerate() {
            let settings = Settings::default();
            let limits = (0.0, f64::INFINITY);
            let one = task.integral(limits, &[p[k], xi[k]], &settings, Precision::F64);
            assert_eq!(found.value, one.unwrap().value);
        }
    }

    #[test]
    fn a_tolerance_precedes_the_settings() {
        let task = task();
        let at = |rtol: f64| {
            let integrals = task.integrals().column("p", &[1.0]).column("xi", &[1.0]);
            integrals.tolerance(rtol).compute(Backend::Cpu).integrate()
        };
        assert!(at(1e-3).is_ok());
        assert_eq!(
            at(-1.0).unwrap_err().to_string(),
            "rtol: -1; expected a number of at least 0"
        );
    }

    #[test]
    fn columns_that_do_not_fit_are_named() {
        let task = task();
        let refused =
            |integrals: Integrals<'_>| integrals.integrate().map(|_| ()).unwrap_err().to_string();
        let one = || task.integrals().column("p", &[1.0]);
        assert_eq!(
            refused(one()),
            "xi: no column; expected values of this parameter"
        );
        assert_eq!(
            refused(one().column("k", &[1.0])),
            "column: k; expected a parameter of the task: p, xi"
        );
        assert_eq!(
            refused(one().column("xi", &[1.0; 3]).lower(&[0.0; 2])),
            "lower: 2 values; expected 3 values, or one for all integrals"
        );
        let none: [f64; 0] = [];
        let found = one().column("xi", &none).integrate().unwrap();
        assert!(found.is_empty());
    }
}
