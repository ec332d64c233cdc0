//! Named families of integrands, as they occur in wave physics.

/// A family: an amplitude times an oscillator, by their texts.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Family {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its integrand as people write it.
    pub formula: &'static str,
    /// The amplitude, an expression; none where the user supplies a function f, as for transforms.
    pub amplitude: Option<&'static str>,
    /// The expression around the user's function `f`.
    pub wrapped: Option<&'static str>,
    /// `cos`, `sin` or `bessel:ORDER`.
    pub oscillator: &'static str,
    /// The frequency: a parameter or a number.
    pub frequency: &'static str,
    /// All parameters.
    pub parameters: &'static [&'static str],
}

impl Family {
    /// The family of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        FAMILIES.iter().find(|family| family.name == name)
    }
}

macro_rules! family {
    ($name:literal, $formula:literal, $amplitude:literal, $oscillator:literal, $frequency:literal, [$($p:literal),*]) => {
        Family {
            name: $name,
            formula: $formula,
            amplitude: Some($amplitude),
            wrapped: None,
            oscillator: $oscillator,
            frequency: $frequency,
            parameters: &[$($p),*],
        }
    };
}

/// The families, in the order in which help lists them.
pub const FAMILIES: &[Family] = &[
    family!(
        "damped-cos",
        "exp(-lambda x) cos(omega x)",
        "exp(-lambda*x)",
        "cos",
        "omega",
        ["lambda", "omega"]
    ),
    family!(
        "damped-sin",
        "exp(-lambda x) sin(omega x)",
        "exp(-lambda*x)",
        "sin",
        "omega",
        ["lambda", "omega"]
    ),
    family!(
        "power-cos",
        "x^-p cos(omega x)",
        "x^(-p)",
        "cos",
        "omega",
        ["p", "omega"]
    ),
    family!(
        "power-sin",
        "x^-p sin(omega x)",
        "x^(-p)",
        "sin",
        "omega",
        ["p", "omega"]
    ),
    family!(
        "rational-cos",
        "cos(omega x)/(x^2 + p^2)",
        "1/(x^2+p^2)",
        "cos",
        "omega",
        ["p", "omega"]
    ),
    family!(
        "rational-sin",
        "x sin(omega x)/(x^2 + p^2)",
        "x/(x^2+p^2)",
        "sin",
        "omega",
        ["p", "omega"]
    ),
    family!(
        "bessel",
        "x^mu exp(-lambda x) J_nu(b x)",
        "x^mu*exp(-lambda*x)",
        "bessel:nu",
        "b",
        ["nu", "mu", "lambda", "b"]
    ),
    family!(
        "sommerfeld",
        "x/u exp(-u z) J_0(rho x), u = sqrt(x^2 + k^2)",
        "x/sqrt(x^2+k^2)*exp(-z*sqrt(x^2+k^2))",
        "bessel:0",
        "rho",
        ["k", "rho", "z"]
    ),
    Family {
        name: "hankel",
        formula: "x f(x) J_nu(xi x), f the amplitude",
        amplitude: None,
        wrapped: Some("x*(f)"),
        oscillator: "bessel:nu",
        frequency: "xi",
        parameters: &["nu", "xi"],
    },
    Family {
        name: DOUBLE_FOURIER,
        formula: "1/(2 pi) times the integral of f(x,y) e^(i xi x) e^(i eta y) over the plane, f, even in x and in y, the amplitude",
        amplitude: None,
        wrapped: Some("f"),
        oscillator: "cos",
        frequency: "eta",
        parameters: &["xi", "eta"],
    },
];

/// Name of the family whose integral is over the plane.
pub const DOUBLE_FOURIER: &str = "double-fourier";
