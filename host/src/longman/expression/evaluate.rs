//! Programs on the CPU.

use rarefy_kernels::longman::functions::Functions;
use rarefy_kernels::longman::program::{Bounded, Code, Slots, run, run_with_errors};

use super::{Program, special_error, special_operation};
use crate::error::{Error, Result};

/// A program with the parameters of one integral, ready to be evaluated. `T` is the arithmetic that it is computed in.
#[derive(Clone, Debug)]
pub struct Evaluator<'a, T> {
    program: &'a Program,
    slots: Memory<T>,
    /// Bounds on the errors of the slots.
    errors: Memory<T>,
}

#[derive(Clone, Debug)]
struct Memory<T>(Vec<T>);

impl<T: Functions> Slots<T> for Memory<T> {
    fn get(&self, slot: u32) -> T {
        // The compiler of programs hands out no slot beyond those of the shape.
        self.0.get(slot as usize).copied().unwrap_or_default()
    }
    fn set(&mut self, slot: u32, value: T) {
        if let Some(place) = self.0.get_mut(slot as usize) {
            *place = value;
        }
    }
}

struct Words<'a>(&'a [u32]);

impl Code for Words<'_> {
    fn word(&self, index: u32) -> u32 {
        self.0.get(index as usize).copied().unwrap_or_default()
    }
}

impl<'a, T: Functions> Evaluator<'a, T> {
    /// Sets the parameters, in the order of [`Program::parameters`], and runs what depends on them alone.
    ///
    /// # Errors
    /// Another number of values than of parameters.
    pub fn new(program: &'a Program, parameters: &[f64]) -> Result<Self> {
        Self::with_rounded(program, parameters, &[])
    }

    /// The same with parameters that are off by at most `rounding`; those after its end are exact.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub(in crate::longman) fn with_rounded(
        program: &'a Program,
        parameters: &[f64],
        rounding: &[f64],
    ) -> Result<Self> {
        let shape = program.shape();
        if parameters.len() != shape.parameters as usize {
            return Err(Error::invalid(
                "parameters",
                format!("{} values", parameters.len()),
                format!(
                    "{} values: {}",
                    shape.parameters,
                    program.parameters().join(", ")
                ),
            ));
        }
        let mut slots = Memory(vec![T::ZERO; shape.slots as usize]);
        let mut errors = slots.clone();
        for (slot, &value) in (1..).zip(parameters.iter().chain(program.constants())) {
            let rounded = T::from_f64(value);
            slots.set(slot, rounded);
            errors.set(slot, T::from_f64((rounded.to_f64() - value).abs()));
        }
        for (slot, by) in (1..).zip(rounding.iter().take(parameters.len())) {
            errors.set(slot, errors.get(slot) + T::from_f64(*by));
        }
        let mut evaluator = Self {
            program,
            slots,
            errors,
        };
        evaluator.run_with_errors(0, shape.prologue);
        Ok(evaluator)
    }

    /// The program.
    pub(in crate::longman) fn program(&self) -> &'a Program {
        self.program
    }

    /// The values of the parameters.
    pub(in crate::longman) fn parameters(&self) -> impl Iterator<Item = f64> + '_ {
        let count = self.program.shape().parameters;
        (1..=count).map(|slot| self.slots.get(slot).to_f64())
    }

    /// The value at x.
    pub fn at(&mut self, x: f64) -> f64 {
        let shape = self.program.shape();
        self.slots.set(0, argument(x));
        run(
            &Words(self.program.code()),
            (shape.prologue, shape.length),
            &mut self.slots,
            &special,
        );
        self.slots.get(shape.result).to_f64()
    }

    /// The value at x, and a bound on what rounding makes of it: x, parameters and constants where they are rounded, and every operation.
    ///
    /// ```
    /// use rarefy::longman::expression::{Evaluator, Program};
    ///
    /// // The difference of two numbers near 1 has the error of both.
    /// let program = Program::parse("1 - cos(x)")?;
    /// let mut evaluator = Evaluator::<f64>::new(&program, &[])?;
    /// let (value, error) = evaluator.with_error(1e-6);
    /// assert!((value - 5e-13).abs() <= error && error < 1e-15);
    /// # Ok::<(), rarefy::Error>(())
    /// ```
    pub fn with_error(&mut self, x: f64) -> (f64, f64) {
        let shape = self.program.shape();
        let rounded = argument::<T>(x);
        self.slots.set(0, rounded);
        let half = T::from_f64(0.5) * T::EPSILON;
        self.errors.set(0, half * rounded.abs());
        self.run_with_errors(shape.prologue, shape.length);
        let error = self.errors.get(shape.result).to_f64();
        let known = if error.is_nan() { f64::INFINITY } else { error };
        (self.slots.get(shape.result).to_f64(), known)
    }

    fn run_with_errors(&mut self, begin: u32, end: u32) {
        let errors = |operation: u32, a: Bounded<T>, b: Bounded<T>, f: T| {
            let wide = |x: Bounded<T>| Bounded {
                value: x.value.to_f64(),
                error: x.error.to_f64(),
            };
            let inherited = special_error(operation, wide(a), wide(b), f.to_f64());
            T::from_f64(inherited) + T::EPSILON * f.abs()
        };
        run_with_errors(
            &Words(self.program.code()),
            (begin, end),
            &mut self.slots,
            &mut self.errors,
            &special,
            &errors,
        );
    }
}

/// x in the arithmetic of a program.
fn argument<T: Functions>(x: f64) -> T {
    // Numbers too small to have all digits would not be those that the weights belong to.
    if T::NAME == "f32" && x.abs() < f64::from(f32::MIN_POSITIVE) {
        T::ZERO
    } else {
        T::from_f64(x)
    }
}

fn special<T: Functions>(operation: u32, a: T, b: T) -> T {
    T::from_f64(special_operation(operation, a.to_f64(), b.to_f64()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str, x: f64, parameters: &[f64]) -> f64 {
        let program = Program::parse(text).unwrap_or_else(|error| panic!("{error}"));
        let mut evaluator = Evaluator::<f64>::new(&program, parameters).unwrap();
        evaluator.at(0.1);
        evaluator.at(x)
    }

    #[test]
    fn expressions_have_the_values_of_their_formulas() {
        let (x, p): (f64, f64) = (1.7, 0.3);
        for (text, right) in [
            ("x/(x^2+p^2)", x / (x * x + p * p)),
            ("-x^2", -x * x),
            ("2^-x", 2f64.powf(-x)),
            ("x^p^2", x.powf(p * p)),
            ("x**2 - - 3", x * x + 3.0),
            ("exp(-p*x)*x^1.5", (-p * x).exp() * x * x.sqrt()),
            ("x^(-0.5)", 1.0 / x.sqrt()),
            ("x^7", x.powi(7)),
            ("x^0", 1.0),
            ("1e-3*x + .5E+1", 1e-3 * x + 5.0),
            (
                "2*e^x/pi",
                2.0 * std::f64::consts::E.powf(x) / std::f64::consts::PI,
            ),
            ("max(x, 2) + min(x, 2)", x + 2.0),
            ("sin(x)^2 + cos(x)^2", 1.0),
            ("abs(-x) + sign(-x) + floor(x)", x),
            ("log1p(x) - ln(1+x)", 0.0),
            (
                "besselj(0.5, x)",
                (2.0 / (std::f64::consts::PI * x)).sqrt() * x.sin(),
            ),
            ("j0(x) - besselj(0, x)", 0.0),
            ("p", p),
            ("x", x),
            ("3 * 4", 12.0),
            ("x/sqrt(x^2+p^2)*exp(-sqrt(x^2+p^2)*x)", {
                let u = (x * x + p * p).sqrt();
                x / u * (-u * x).exp()
            }),
        ] {
            let program = Program::parse(text).unwrap();
            let parameters = vec![p; program.parameters().len()];
            let found = value(text, x, &parameters);
            assert!(
                (found - right).abs() <= 4e-16 * right.abs().max(1.0),
                "{text}: {found} {right}"
            );
        }
    }

    #[test]
    fn what_does_not_depend_on_x_is_computed_once_and_equal_parts_too() {
        let program = Program::parse("sqrt(x^2+k^2)*exp(-z*sqrt(x^2+k^2)) + sqrt(k^2)").unwrap();
        assert_eq!(program.parameters(), ["k", "z"]);
        // k*k, sqrt(k^2), -z before; x*x, +, sqrt, *, exp, *, + for each x.
        assert_eq!(program.shape().prologue, 3);
        assert_eq!(program.shape().length, 10);
        assert!(program.runs_on_a_device());
        assert!(!Program::parse("besselk(0, x)").unwrap().runs_on_a_device());
    }

    #[test]
    fn long_sums_reuse_their_slots() {
        let text = (1..400).map(|k| format!("x^{k}.3")).collect::<Vec<_>>();
        // A sum of 399 powers needs 399 exponents, which do not fit.
        assert!(Program::parse(&text.join("+")).is_err());
        let text = vec!["sin(x)/(1+cos(x))"; 300].join("+");
        assert!(Program::parse(&text).unwrap().shape().slots < 12);
    }

    #[test]
    fn wrong_texts_are_refused_with_their_place() {
        for (text, why) in [
            ("", "character 1: the end; expected a number, a name or '('"),
            (
                "x +",
                "character 4: the end; expected a number, a name or '('",
            ),
            ("(x", "character 3: the end; expected an operator or ')'"),
            ("x)", "character 2: ')'; expected an operator or the end"),
            ("2 x", "character 3: 'x'; expected an operator or the end"),
            (
                "sin x",
                "character 5: 'x'; expected '(' after the function sin",
            ),
            (
                "f(x)",
                "f is no function; expected one of the functions sqrt, ",
            ),
            (
                "besselj(x)",
                "besselj has 1 arguments; expected besselj(nu, x)",
            ),
            ("x § 2", "character 3: '§'; expected an operator or the end"),
            ("1..2", "'.'; expected an operator or the end"),
        ] {
            let error = Program::parse(text).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
        let deep = "(".repeat(5000);
        assert!(
            Program::parse(&deep)
                .unwrap_err()
                .to_string()
                .contains("levels of brackets")
        );
        let deep = "-".repeat(5000);
        assert!(
            Program::parse(&deep)
                .unwrap_err()
                .to_string()
                .contains("levels of brackets")
        );
    }
}
