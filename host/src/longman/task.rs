//! Many integrals of one form: the form as text, the parameters as rows.

use std::cell::Cell;
use std::f64::consts::FRAC_2_PI;
use std::fmt;
use std::sync::Arc;

use rarefy_kernels::longman::Status;
use rarefy_kernels::longman::functions::Functions;
use serde::{Serialize, Serializer};

use super::driver::Integral;
use super::expression::{Evaluator, Expression, Program};
use super::family::{DOUBLE_FOURIER, Family};
use super::general::{Amplitudes, Wave};
use super::half_cycles::AREAS;
use super::integrand::Farsighted;
use super::integrate::{Boundaries, MOST_PHASE, Settings, between, oscillating};
use super::oscillator::Oscillator;
use super::pieces::Row;
use super::proof::function::encloses;
use super::sampled::Samples;
use super::split::has_weak_head;
use crate::compute::Precision;
use crate::error::{Error, Result};

/// A number that an integral brings: an expression in its parameters.
#[derive(Clone, Debug)]
pub(super) struct Quantity {
    pub(super) program: Program,
    pub(super) places: Vec<usize>,
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    Cos,
    Sin,
    Bessel(Quantity),
}

/// Integrands and amplitudes in Rust.
type Formula = dyn Fn(f64, &[f64]) -> f64 + Send + Sync;

/// A function of x and of some parameters, in Rust.
#[derive(Clone)]
pub(super) struct Closure(Arc<Formula>);

impl fmt::Debug for Closure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Closure")
    }
}

impl Closure {
    /// The function with the parameters of a row, which follow its first ones.
    fn of<'a, T: Functions>(&'a self, row: &'a [f64], count: usize) -> impl Fn(f64) -> f64 + 'a {
        let row = row.get(..count).unwrap_or(row);
        move |x| T::from_f64((self.0)(x, row)).to_f64()
    }
}

#[derive(Clone, Debug)]
pub(super) enum Form {
    /// amplitude times oscillator(frequency x).
    Oscillating {
        amplitude: Quantity,
        kind: Kind,
        frequency: Quantity,
        /// For other limits than from 0 or above to infinity, and for the frequency 0.
        sides: Arc<Amplitudes>,
    },
    /// The same with a complex amplitude, or with exp(i frequency x), where there is no kind.
    Complex {
        sides: Arc<Amplitudes>,
        kind: Option<Kind>,
        frequency: Quantity,
    },
    /// The same with an amplitude known at points.
    Sampled {
        amplitude: Arc<Samples>,
        kind: Kind,
        frequency: Quantity,
    },
    /// The same with an amplitude in Rust, of the first `count` parameters.
    Function {
        amplitude: Closure,
        count: usize,
        kind: Kind,
        frequency: Quantity,
    },
    /// A whole integrand between given boundaries.
    Whole {
        integrand: Quantity,
        boundaries: Boundaries,
    },
    /// The same with an integrand in Rust.
    WholeFunction {
        integrand: Closure,
        boundaries: Boundaries,
    },
    /// Eq. (3), for a function that is even in x and in y: 2/pi times the integral of f cos(xi x) cos(eta y) over x, y > 0.
    DoubleFourier {
        function: Quantity,
        y: usize,
        xi: Quantity,
        eta: Quantity,
    },
}

/// Below, integrands in `f32` may have lost digits to the least number, or all of them; they are computed in `f64`.
pub(super) const LEAST_SINGLE: f64 = 1e-30;

/// The oscillator exp(i frequency x), and the imaginary unit of amplitudes.
const EXP: &str = "exp";
const UNIT: &str = "i";

/// The description of a task.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case", untagged)]
enum Source {
    Oscillating {
        amplitude: String,
        oscillator: String,
        frequency: String,
    },
    Sampled {
        #[serde(serialize_with = "shared")]
        samples: Arc<Samples>,
        oscillator: String,
        frequency: String,
    },
    Function {
        oscillator: String,
        frequency: String,
    },
    Whole {
        integrand: String,
        boundaries: Boundaries,
    },
    WholeFunction {
        boundaries: Boundaries,
    },
    Family {
        family: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        amplitude: Option<String>,
    },
}

fn shared<S: Serializer>(
    samples: &Arc<Samples>,
    serializer: S,
) -> std::result::Result<S::Ok, S::Error> {
    samples.serialize(serializer)
}

/// The form of many integrals; [`integrals`](Self::integrals) computes them. Serde writes it as the texts that it was made of, and functions in Rust not at all.
#[derive(Clone, Debug)]
pub struct Task {
    source: Source,
    pub(super) form: Form,
    names: Vec<String>,
    /// The family that it is, if that has kernels of its own.
    pub(super) family: Option<&'static str>,
}

impl Serialize for Task {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        self.source.serialize(serializer)
    }
}

/// Collects the names of parameters while the parts of a form are compiled.
struct Names<'a> {
    known: &'a [&'a str],
    names: Vec<String>,
}

impl Names<'_> {
    fn quantity(&mut self, field: &str, text: &str, of_x: bool) -> Result<Quantity> {
        let expression = Expression::parse_with(text, self.known)?;
        if !of_x && expression.depends_on_x() {
            return Err(Error::invalid(
                field,
                format!("'{text}', which depends on x"),
                "a number or a parameter",
            ));
        }
        let program = Program::compile(&expression)?;
        let places = program.parameters().iter().map(|name| {
            let place = self.names.iter().position(|known| known == name);
            place.unwrap_or_else(|| {
                self.names.push(name.clone());
                self.names.len() - 1
            })
        });
        let places = places.collect();
        Ok(Quantity { program, places })
    }

    /// An oscillator as text. An error that no row can mend is refused at once.
    fn kind(&mut self, text: &str) -> Result<Kind> {
        Ok(match (text, text.strip_prefix("bessel:")) {
            ("cos", _) => Kind::Cos,
            ("sin", _) => Kind::Sin,
            (_, Some(order)) => {
                let order = self.quantity("order", order, false)?;
                if order.places.is_empty() {
                    Oscillator::BesselJ(order.value(&[])?).check()?;
                }
                Kind::Bessel(order)
            }
            _ => {
                return Err(Error::invalid(
                    "oscillator",
                    format!("'{text}'"),
                    "cos, sin or bessel:NU, and exp where the amplitude is an expression",
                ));
            }
        })
    }
}

impl Kind {
    fn oscillator(&self, row: &[f64]) -> Result<Oscillator> {
        Ok(match self {
            Self::Cos => Oscillator::Cos,
            Self::Sin => Oscillator::Sin,
            Self::Bessel(order) => Oscillator::BesselJ(order.value(row)?),
        })
    }
}

impl Quantity {
    fn parameters(&self, row: &[f64]) -> Vec<f64> {
        let value = |place: &usize| row.get(*place).copied().unwrap_or(f64::NAN);
        self.places.iter().map(value).collect()
    }

    fn evaluator<T: Functions>(&self, row: &[f64]) -> Result<Evaluator<'_, T>> {
        Evaluator::new(&self.program, &self.parameters(row))
    }

    fn farsighted<T: Functions>(&self, row: &[f64]) -> Result<Farsighted<'_, T>> {
        let parameters = self.parameters(row);
        Ok(Farsighted {
            near: Evaluator::new(&self.program, &parameters)?,
            far: Evaluator::new(&self.program, &parameters)?,
        })
    }

    /// The value of a quantity that does not depend on x.
    pub(super) fn value(&self, row: &[f64]) -> Result<f64> {
        // Most are parameters themselves.
        let shape = self.program.shape();
        if let ([place], 0, 1) = (&self.places[..], shape.length, shape.result)
            && let Some(value) = row.get(*place)
        {
            return Ok(*value);
        }
        Ok(self.evaluator::<f64>(row)?.at(0.0))
    }
}

impl Task {
    /// amplitude(x) oscillator(frequency x), with `oscillator` one of `cos`, `sin`, `bessel:ORDER` and `exp`, which is exp(i frequency x); order and frequency are
    /// expressions in the parameters. `known` are names that are parameters even if they are `e` or `pi`.
    ///
    /// # Errors
    /// A text that is no expression; an oscillator that does not exist or whose order is out of range; a frequency or an order that depends on x.
    pub fn oscillating(
        amplitude: &str,
        oscillator: &str,
        frequency: &str,
        known: &[&str],
    ) -> Result<Self> {
        let mut names = Names {
            known,
            names: Vec::new(),
        };
        let source = Source::Oscillating {
            amplitude: amplitude.to_owned(),
            oscillator: oscillator.to_owned(),
            frequency: frequency.to_owned(),
        };
        let expression = Expression::parse_with(amplitude, known)?;
        let amplitude = names.quantity("amplitude", amplitude, true)?;
        let sides = Arc::new(Amplitudes::real(expression)?);
        let form = if oscillator == EXP {
            Form::Complex {
                sides,
                kind: None,
                frequency: names.quantity("frequency", frequency, false)?,
            }
        } else {
            Form::Oscillating {
                amplitude,
                kind: names.kind(oscillator)?,
                frequency: names.quantity("frequency", frequency, false)?,
                sides,
            }
        };
        Ok(Self {
            source,
            form,
            names: names.names,
            family: None,
        })
    }

    /// The same with a complex amplitude, in which `i` is the imaginary unit unless it is among the names that are `known`. The CPU computes it, in `f64`, and
    /// [`Integral::imaginary`] is the imaginary part.
    ///
    /// ```
    /// use rarefy::longman::Task;
    ///
    /// // The integral of exp(3 i x)/(x + i) from 0 on is exp(3) E_1(3).
    /// let task = Task::complex("1/(x+i)", "exp", "w", &[])?;
    /// let found = task.integrals().column("w", &[3.0]).integrate()?[0];
    /// assert!((found.value - 0.262_083_740_255_318_5).abs() <= found.error);
    /// assert!(found.imaginary.is_some_and(|part| part.value.abs() <= part.error));
    /// # Ok::<(), rarefy::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`oscillating`](Self::oscillating); a function of a complex number other than sums, products, quotients, whole powers and exp.
    pub fn complex(
        amplitude: &str,
        oscillator: &str,
        frequency: &str,
        known: &[&str],
    ) -> Result<Self> {
        let expression = Expression::parse_with(amplitude, known)?;
        let is_complex = expression.parameters().iter().any(|name| name == UNIT);
        if known.contains(&UNIT) || !is_complex {
            return Self::oscillating(amplitude, oscillator, frequency, known);
        }
        let sides = Amplitudes::complex(&expression, UNIT)?;
        let mut names = Names {
            known,
            names: Vec::new(),
        };
        for name in expression.parameters().iter().filter(|name| *name != UNIT) {
            names.names.push(name.clone());
        }
        Ok(Self {
            source: Source::Oscillating {
                amplitude: amplitude.to_owned(),
                oscillator: oscillator.to_owned(),
                frequency: frequency.to_owned(),
            },
            form: Form::Complex {
                sides: Arc::new(sides),
                kind: if oscillator == EXP {
                    None
                } else {
                    Some(names.kind(oscillator)?)
                },
                frequency: names.quantity("frequency", frequency, false)?,
            },
            names: names.names,
            family: None,
        })
    }

    /// The same with an amplitude that is known at points. Where they end before the areas that are asked for, as many areas are used as they
    /// reach. With fewer than eight the integral is not finite, never wrong. The CPU computes it.
    ///
    /// # Errors
    /// As [`oscillating`](Self::oscillating).
    pub fn sampled(
        amplitude: Samples,
        oscillator: &str,
        frequency: &str,
        known: &[&str],
    ) -> Result<Self> {
        let mut names = Names {
            known,
            names: Vec::new(),
        };
        let amplitude = Arc::new(amplitude);
        let source = Source::Sampled {
            samples: Arc::clone(&amplitude),
            oscillator: oscillator.to_owned(),
            frequency: frequency.to_owned(),
        };
        let kind = names.kind(oscillator)?;
        let frequency = names.quantity("frequency", frequency, false)?;
        Ok(Self {
            source,
            form: Form::Sampled {
                amplitude,
                kind,
                frequency,
            },
            names: names.names,
            family: None,
        })
    }

    /// The same with an amplitude in Rust, a function of x and of the values of the parameters `names`. The CPU computes it.
    ///
    /// ```
    /// use rarefy::longman::{Status, Task};
    ///
    /// let amplitude = |x: f64, p: &[f64]| (-p[0] * x).exp();
    /// let task = Task::function(amplitude, "cos", "omega", &["lambda"])?;
    /// let found = task.integrals().column("lambda", &[0.5]).column("omega", &[10.0]).integrate()?;
    /// assert_eq!(found[0].status, Status::Ok);
    /// let right = 0.5 / (0.5 * 0.5 + 10.0 * 10.0);
    /// assert!((found[0].value - right).abs() <= found[0].error && found[0].error < 1e-12 * right);
    /// # Ok::<(), rarefy::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`oscillating`](Self::oscillating).
    pub fn function(
        amplitude: impl Fn(f64, &[f64]) -> f64 + Send + Sync + 'static,
        oscillator: &str,
        frequency: &str,
        parameters: &[&str],
    ) -> Result<Self> {
        let mut names = Names {
            known: parameters,
            names: parameters.iter().map(|&name| name.to_owned()).collect(),
        };
        let kind = names.kind(oscillator)?;
        let frequency_of = names.quantity("frequency", frequency, false)?;
        Ok(Self {
            source: Source::Function {
                oscillator: oscillator.to_owned(),
                frequency: frequency.to_owned(),
            },
            form: Form::Function {
                amplitude: Closure(Arc::new(amplitude)),
                count: parameters.len(),
                kind,
                frequency: frequency_of,
            },
            names: names.names,
            family: None,
        })
    }

    /// integrand(x) between boundaries, with an integrand in Rust, a function of x and of the values of the parameters `names`. The CPU computes it.
    ///
    /// ```
    /// use rarefy::longman::{Boundaries, Status, Task};
    ///
    /// // cos(x^2), with its zeros.
    /// let zeros = (0..65).map(|k| (std::f64::consts::PI * (f64::from(k) + 0.5)).sqrt()).collect();
    /// let task = Task::whole_function(|x, _| (x * x).cos(), Boundaries::Points(zeros), &[]);
    /// let found = task.integrals().integrate()?;
    /// assert_eq!(found[0].status, Status::Ok);
    /// assert!((found[0].value - (std::f64::consts::PI / 8.0).sqrt()).abs() <= found[0].error);
    /// # Ok::<(), rarefy::Error>(())
    /// ```
    pub fn whole_function(
        integrand: impl Fn(f64, &[f64]) -> f64 + Send + Sync + 'static,
        boundaries: Boundaries,
        parameters: &[&str],
    ) -> Self {
        Self {
            source: Source::WholeFunction {
                boundaries: boundaries.clone(),
            },
            form: Form::WholeFunction {
                integrand: Closure(Arc::new(integrand)),
                boundaries,
            },
            names: parameters.iter().map(|&name| name.to_owned()).collect(),
            family: None,
        }
    }

    /// integrand(x) between boundaries.
    ///
    /// # Errors
    /// A text that is no expression.
    pub fn whole(integrand: &str, boundaries: Boundaries, known: &[&str]) -> Result<Self> {
        let mut names = Names {
            known,
            names: Vec::new(),
        };
        Ok(Self {
            source: Source::Whole {
                integrand: integrand.to_owned(),
                boundaries: boundaries.clone(),
            },
            form: Form::Whole {
                integrand: names.quantity("integrand", integrand, true)?,
                boundaries,
            },
            names: names.names,
            family: None,
        })
    }

    /// A named family; `function` is the user's f where the family has one.
    ///
    /// # Errors
    /// A function for a family that has an amplitude of its own, or none for one that needs it; as [`oscillating`](Self::oscillating).
    pub fn family(family: &Family, function: Option<&str>, known: &[&str]) -> Result<Self> {
        let amplitude = match (family.amplitude, family.wrapped, function) {
            (Some(_), _, Some(_)) => {
                return Err(Error::invalid(
                    "amplitude",
                    function.unwrap_or_default(),
                    format!("none, for the family {} has its own", family.name),
                ));
            }
            (Some(amplitude), ..) => amplitude.to_owned(),
            (None, Some(wrapped), Some(function)) => wrapped.replace('f', function),
            _ => {
                return Err(Error::invalid(
                    "amplitude",
                    "none",
                    format!(
                        "a function f, for the family {} needs a function f as amplitude",
                        family.name
                    ),
                ));
            }
        };
        let source = Source::Family {
            family: family.name,
            amplitude: function.map(str::to_owned),
        };
        if family.name != DOUBLE_FOURIER {
            let mut task =
                Self::oscillating(&amplitude, family.oscillator, family.frequency, known)?;
            task.source = source;
            task.family = function.is_none().then_some(family.name);
            return Ok(task);
        }
        let mut names = Names {
            known,
            names: vec!["y".to_owned()],
        };
        let function = names.quantity("amplitude", &amplitude, true)?;
        let xi = names.quantity("frequency", "xi", false)?;
        let eta = names.quantity("frequency", "eta", false)?;
        Ok(Self {
            source,
            form: Form::DoubleFourier {
                function,
                y: 0,
                xi,
                eta,
            },
            names: names.names,
            family: None,
        })
    }

    /// Names of the parameters that an integral brings, in the order of their values.
    pub fn parameters(&self) -> &[String] {
        match self.form {
            Form::DoubleFourier { .. } => self.names.get(1..).unwrap_or_default(),
            _ => &self.names,
        }
    }

    /// The boundaries of a whole integrand that are points.
    #[cfg(feature = "cli")]
    pub(crate) fn boundaries(&self) -> Option<&[f64]> {
        match &self.form {
            Form::Whole {
                boundaries: Boundaries::Points(points),
                ..
            }
            | Form::WholeFunction {
                boundaries: Boundaries::Points(points),
                ..
            } => Some(points),
            _ => None,
        }
    }

    /// Whether integrals are sampled beyond their areas, [`Settings::beyond`] half periods far; others are proven, or end with the given boundaries.
    pub fn is_sampled(&self) -> bool {
        match &self.form {
            Form::Oscillating { amplitude, .. } => !encloses(&amplitude.program),
            Form::Complex { sides, .. } => sides.programs().any(|program| !encloses(program)),
            Form::Whole { boundaries, .. } | Form::WholeFunction { boundaries, .. } => {
                matches!(boundaries, Boundaries::HalfPeriod { .. })
            }
            Form::Sampled { .. } | Form::Function { .. } | Form::DoubleFourier { .. } => true,
        }
    }

    /// Whether integrals are complex.
    pub fn is_complex(&self) -> bool {
        matches!(self.form, Form::Complex { .. })
    }

    /// One integral between two limits, with these values of the parameters. If an integrand in `f32` is not OK since it cancels or leaves the range, the
    /// integral is computed in `f64`.
    pub(super) fn integral(
        &self,
        limits: (f64, f64),
        values: &[f64],
        settings: &Settings,
        precision: Precision,
    ) -> Result<Integral> {
        if let Some(found) = self.between(limits, values, settings)? {
            return Ok(found);
        }
        let found = self.usual(limits.0, values, settings, precision)?;
        // Another form of the amplitude may have a proof, or more digits.
        let refused = !matches!(found.status, Status::Ok | Status::InvalidArgument);
        match &self.form {
            Form::Oscillating {
                sides,
                kind,
                frequency,
                ..
            } if refused && (sides.has_forms() || has_weak_head(&found, limits.0)) => {
                let row = Row {
                    names: &self.names,
                    values,
                };
                let wave = (kind.oscillator(values)?, frequency.value(values)?);
                sides.better(found, wave, row, limits.0, settings)
            }
            _ => Ok(found),
        }
    }

    /// An integral from a lower limit of at least 0 to infinity.
    fn usual(
        &self,
        lower: f64,
        values: &[f64],
        settings: &Settings,
        precision: Precision,
    ) -> Result<Integral> {
        match precision {
            Precision::F64 => self.integrate_in::<f64>(lower, values, settings),
            Precision::F32 => {
                let found = self.integrate_in::<f32>(lower, values, settings)?;
                let settled = match found.status {
                    Status::Ok => found.value.abs() >= LEAST_SINGLE,
                    status => status == Status::InvalidArgument,
                };
                if settled {
                    Ok(found)
                } else {
                    self.integrate_in::<f64>(lower, values, settings)
                }
            }
        }
    }

    /// The integral where it is not one from 0 or above to infinity of a real oscillator with a frequency. The intervals that enclose it are those of `f64`.
    fn between(
        &self,
        (lower, upper): (f64, f64),
        values: &[f64],
        settings: &Settings,
    ) -> Result<Option<Integral>> {
        settings.check()?;
        let invalid = Ok(Some(Integral::without_value(Status::InvalidArgument)));
        let usual = (0.0..f64::INFINITY).contains(&lower) && upper == f64::INFINITY;
        let known = values.len() == self.parameters().len() && values.iter().all(|v| v.is_finite());
        let (sides, kind, frequency) = match &self.form {
            Form::Oscillating {
                sides,
                kind,
                frequency,
                ..
            } if known => {
                if usual && frequency.value(values)? != 0.0 {
                    return Ok(None);
                }
                (sides, Some(kind), frequency)
            }
            Form::Complex {
                sides,
                kind,
                frequency,
            } if known => (sides, kind.as_ref(), frequency),
            Form::Complex { .. } => return invalid,
            _ if upper != f64::INFINITY => return invalid,
            _ => return Ok(None),
        };
        let wave = match kind {
            Some(kind) => Wave::Real(kind.oscillator(values)?),
            None => Wave::Exp,
        };
        let row = Row {
            names: &self.names,
            values,
        };
        let wave = (wave, frequency.value(values)?);
        sides
            .integral(wave, row, (lower, upper), settings)
            .map(Some)
    }

    fn integrate_in<T: Functions>(
        &self,
        lower: f64,
        values: &[f64],
        settings: &Settings,
    ) -> Result<Integral> {
        settings.check()?;
        let invalid = Ok(Integral::without_value(Status::InvalidArgument));
        if !lower.is_finite() || values.len() != self.parameters().len() {
            return invalid;
        }
        if values.iter().any(|value| !value.is_finite()) {
            return invalid;
        }
        let in_rust = |epsilons: f64| Settings {
            accuracy: settings.accuracy.or(Some(T::EPSILON.to_f64() * epsilons)),
            roundoff: T::EPSILON.to_f64(),
            ..*settings
        };
        let with = |quantity: &Quantity, oscillator: f64| {
            in_rust(quantity.program.epsilons().max(oscillator))
        };
        match &self.form {
            Form::Oscillating {
                amplitude,
                kind,
                frequency,
                ..
            } => {
                let omega = frequency.value(values)?;
                let oscillator = kind.oscillator(values)?;
                let g = amplitude.farsighted::<T>(values)?;
                let settings = with(amplitude, oscillator.epsilons());
                oscillating(g, oscillator, omega, lower, &settings)
            }
            Form::Complex { .. } => invalid,
            Form::Sampled {
                amplitude,
                kind,
                frequency,
            } => {
                let omega = frequency.value(values)?;
                let oscillator = kind.oscillator(values)?;
                let possible = omega > 0.0 && lower >= 0.0 && (omega * lower) < MOST_PHASE;
                if !possible || oscillator.check().is_err() {
                    return invalid;
                }
                let mut settings = Settings {
                    absolute_accuracy: settings.absolute_accuracy.max(amplitude.accuracy()),
                    ..in_rust(oscillator.epsilons())
                };
                let most = settings.counts().1;
                let zeros = oscillator.zeros_beyond(omega * lower, most + 1);
                let reached = zeros.partition_point(|zero| zero / omega <= amplitude.reach());
                if reached <= most {
                    if reached <= *AREAS.start() {
                        return Ok(Integral::without_value(Status::NotFinite));
                    }
                    settings.areas = Some(reached - 1);
                }
                let g = |x: f64| {
                    // Rounding must not take the last boundary beyond the samples.
                    let x = if x > amplitude.reach() && x < amplitude.reach() * (1.0 + 1e-14) {
                        amplitude.reach()
                    } else {
                        x
                    };
                    T::from_f64(amplitude.at(x)).to_f64()
                };
                oscillating(g, oscillator, omega, lower, &settings)
            }
            Form::Function {
                amplitude,
                count,
                kind,
                frequency,
            } => {
                let omega = frequency.value(values)?;
                let oscillator = kind.oscillator(values)?;
                let g = amplitude.of::<T>(values, *count);
                oscillating(g, oscillator, omega, lower, &in_rust(oscillator.epsilons()))
            }
            Form::WholeFunction {
                integrand,
                boundaries,
            } => {
                let f = integrand.of::<T>(values, values.len());
                between(f, lower, boundaries, &in_rust(4.0))
            }
            Form::Whole {
                integrand,
                boundaries,
            } => {
                let f = integrand.farsighted::<T>(values)?;
                between(f, lower, boundaries, &with(integrand, 4.0))
            }
            Form::DoubleFourier {
                function,
                y,
                xi,
                eta,
            } => {
                if lower != 0.0 {
                    return invalid;
                }
                let mut row = vec![0.0];
                row.extend_from_slice(values);
                let (xi, eta) = (xi.value(&row)?, eta.value(&row)?);
                if !(xi > 0.0 && eta > 0.0) {
                    return invalid;
                }
                let inner = with(function, 4.0);
                double_fourier::<T>((function, *y, &row), (xi, eta), settings, &inner)
            }
        }
    }
}

/// The integral over the plane: the inner one is the amplitude of the outer one, and its error the accuracy of that amplitude.
fn double_fourier<T: Functions>(
    (function, y, row): (&Quantity, usize, &[f64]),
    (xi, eta): (f64, f64),
    outer: &Settings,
    inner: &Settings,
) -> Result<Integral> {
    let at = |y_value: f64, settings: &Settings| {
        let mut row = row.to_vec();
        row[y] = y_value;
        let f = function.farsighted::<T>(&row)?;
        oscillating(f, Oscillator::Cos, xi, 0.0, settings)
    };
    let strict = Settings {
        rtol: (0.01 * outer.rtol).max(1e-13),
        ..*inner
    };
    // Far out the inner integral is the small difference of large areas; it need not be known better than its value near y = 0.
    let largest = [0.0, 0.5 / eta, 1.0 / eta, 2.0 / eta]
        .into_iter()
        .filter_map(|y| Some(at(y, &strict).ok()?.value.abs()))
        .filter(|value| value.is_finite())
        .fold(0.0, f64::max);
    let inner = Settings {
        atol: 1e-15 * largest,
        ..strict
    };
    let worst = Cell::new(0.0_f64);
    let amplitude = |y: f64| match at(y, &inner) {
        Ok(found) if matches!(found.status, Status::Ok | Status::NotConverged) => {
            worst.set(worst.get().max(FRAC_2_PI * found.error));
            FRAC_2_PI * found.value
        }
        _ => f64::NAN,
    };
    // Each look is an integral.
    let with = |absolute_accuracy: f64| Settings {
        absolute_accuracy,
        beyond: outer.beyond.min(32),
        ..*outer
    };
    let assumed = 2e-15 * largest;
    let found = oscillating(&amplitude, Oscillator::Cos, eta, 0.0, &with(assumed))?;
    let reached = worst.get();
    if reached <= assumed || found.status == Status::NotFinite {
        return Ok(found);
    }
    // The inner integrals are less accurate than was assumed: once more, with what they are.
    oscillating(&amplitude, Oscillator::Cos, eta, 0.0, &with(reached))
}
