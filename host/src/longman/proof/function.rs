//! Programs over ranges.

use rarefy_kernels::longman::program::Operation;

use super::interval::Interval;
use super::jet::{Jet, Span};
use crate::longman::expression::Program;

/// The numbers of the operations, as patterns.
pub(super) mod codes {
    use super::Operation;

    macro_rules! codes {
        ($($name:ident $operation:ident)*) => {
            $(pub(in crate::longman::proof) const $name: u32 = Operation::$operation as u32;)*
        };
    }
    codes! {
        ADD Add SUBTRACT Subtract MULTIPLY Multiply DIVIDE Divide POWER Power MINIMUM Minimum MAXIMUM Maximum NEGATE Negate
        MAGNITUDE Magnitude SQUARE_ROOT SquareRoot EXP Exp LN Ln SIN Sin COS Cos TAN Tan ARCSIN Arcsin ARCCOS Arccos
        ARCTAN Arctan SINH Sinh COSH Cosh TANH Tanh FLOOR Floor SIGN Sign EXPM1 Expm1 LN1P Ln1p ERF Erf ERFC Erfc BESSEL_J BesselJ
    }
}

/// A program with the parameters of one integral, or of many, to be evaluated over ranges.
#[derive(Debug)]
pub(crate) struct Function<'a> {
    program: &'a Program,
    slots: Vec<Jet>,
}

impl<'a> Function<'a> {
    /// None if the program has an operation without enclosures: Bessel, Airy and gamma functions.
    pub(crate) fn new(program: &'a Program, parameters: &[Interval]) -> Option<Self> {
        encloses(program)
            .then(|| Self::between(program, parameters))
            .flatten()
    }

    /// The same for ranges with two ends, over which J_nu of a multiple of x has enclosures too.
    pub(crate) fn between(program: &'a Program, parameters: &[Interval]) -> Option<Self> {
        let shape = program.shape();
        let known = |word: &u32| encloses_operation(*word) || operation(*word) == codes::BESSEL_J;
        if !program.code().iter().all(known) || parameters.len() != shape.parameters as usize {
            return None;
        }
        let mut slots = vec![Jet::constant(Interval::ZERO); shape.slots as usize];
        let constants = program.constants().iter().map(|c| Interval::point(*c));
        for (slot, value) in slots[1..]
            .iter_mut()
            .zip(parameters.iter().copied().chain(constants))
        {
            *slot = Jet::constant(value);
        }
        let mut function = Self { program, slots };
        // Of numbers that do not depend on x the range does not matter.
        let span = Span {
            start: 1.0,
            ratio: 1.0,
            order: 0,
        };
        function.run((0, shape.prologue), &span);
        Some(function)
    }

    /// The function over a range.
    pub(crate) fn over(&mut self, span: &Span) -> &Jet {
        let shape = self.program.shape();
        self.slots[0] = Jet::variable(span);
        self.run((shape.prologue, shape.length), span);
        &self.slots[shape.result as usize]
    }

    /// The function over the range below `span.start`, by powers of span.start/x.
    pub(crate) fn below(&mut self, span: &Span) -> &Jet {
        let shape = self.program.shape();
        self.slots[0] = Jet::variable_below(span);
        self.run((shape.prologue, shape.length), span);
        &self.slots[shape.result as usize]
    }

    /// The function of x over a range of x + shift, whose powers carry the derivatives: x may be zero.
    pub(crate) fn over_shifted(&mut self, span: &Span, shift: f64) -> &Jet {
        let shape = self.program.shape();
        let shift = Jet::constant(Interval::point(shift));
        self.slots[0] = Jet::variable(span).minus(&shift, span);
        self.run((shape.prologue, shape.length), span);
        &self.slots[shape.result as usize]
    }

    fn run(&mut self, (begin, end): (u32, u32), span: &Span) {
        let code = &self.program.code()[begin as usize..end as usize];
        for word in code {
            let (target, i, j) = (word >> 8 & 0xFF, word >> 16 & 0xFF, word >> 24);
            let value = apply(
                operation(*word),
                &self.slots[i as usize],
                (&self.slots[j as usize], i == j),
                span,
            );
            self.slots[target as usize] = value;
        }
    }
}

/// Whether all operations of a program have enclosures.
pub(crate) fn encloses(program: &Program) -> bool {
    program.code().iter().all(|word| encloses_operation(*word))
}

fn encloses_operation(word: u32) -> bool {
    operation(word) < Operation::FIRST_SPECIAL
        || matches!(operation(word), codes::ERF | codes::ERFC)
}

fn operation(word: u32) -> u32 {
    word & 0xFF
}

/// One operation; whether both arguments are the same slot sharpens products and differences.
fn apply(operation: u32, a: &Jet, (b, same): (&Jet, bool), span: &Span) -> Jet {
    use codes::*;
    match operation {
        ADD => a.plus(b, span),
        SUBTRACT if same => Jet::constant(Interval::ZERO),
        SUBTRACT => a.minus(b, span),
        MULTIPLY if same => a.squared(span),
        MULTIPLY => a.times(b, span),
        DIVIDE => a.over(b, span),
        POWER => a.power(b, span),
        MINIMUM => a.extreme(b, false, span),
        MAXIMUM => a.extreme(b, true, span),
        NEGATE => a.clone().negated(),
        MAGNITUDE => a.abs(span),
        SQUARE_ROOT => a.sqrt(span),
        EXP => a.exp(span),
        LN => a.ln(span),
        SIN => a.sin_cos(span).0,
        COS => a.sin_cos(span).1,
        TAN => a.tan(span),
        ARCSIN => a.asin(span),
        ARCCOS => {
            let half = std::f64::consts::FRAC_PI_2;
            let quarter = Jet::constant(Interval::new(half.next_down(), half.next_up()));
            quarter.minus(&a.asin(span), span)
        }
        ARCTAN => a.atan(span),
        SINH => a.sinh(span),
        COSH => a.cosh(span),
        TANH => a.tanh(span),
        FLOOR => a.floor(span),
        SIGN => a.sign(span),
        EXPM1 => a.expm1(span),
        LN1P => a.ln1p(span),
        ERF => a.erf(span),
        BESSEL_J => b.bessel_j(a, span),
        // Two arguments are those of erfcx.
        _ if !same => a.erfcx(span),
        _ => a.erfc(span),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::longman::expression::Evaluator;

    const TEXTS: [&str; 28] = [
        "1/(1+x)+h*exp(-((x-c)/d)^2)",
        "x/sqrt(x^2+c^2)+h*x/((x^2-d^2)^2+h^2)",
        "exp(-h*x)*(1+d*(0.5+0.5*sign(x-c)))",
        "max(exp(-h*x),d/(1+x)^c)",
        "max(0,1-x/c)*min(x,d)",
        "x^(-h)*exp(-x/c)",
        "x/sqrt(x^2+c^2)*exp(-h*sqrt(x^2+c^2))",
        "log1p(x/c)/(x^2+d^2)",
        "atan(x/c)-atan((x-d)/h)",
        "1/cosh(x/c)+h*tanh(x-d)",
        "x/(exp(x/c)-1)+h/(expm1(x)+2)",
        "sin(h*x)/x+cos(x/c)*exp(-x)",
        "(c+x)^h/(d+x)^(h+1)",
        "erfc((x-c)/d)+erf(x)*exp(-h*x)",
        "abs(x-c)*exp(-h*x)-floor(x/d)",
        "sqrt(x+c)-sqrt(x+d)",
        "exp(-x^2/c)*sinh(h)",
        "1/ln(2+x)",
        "1/(1+x^2)^1.5",
        "2^(-x)+x^(-x)",
        "tan(1/(1+x))*asin(1/(2+x))*acos(1/(2+x))",
        "exp(-h/x)*x^(-2.3)",
        "sqrt(cosh(x/c))/sinh(x/d)",
        "ln(x)/(x+c)+sqrt(h)",
        "exp(-sqrt(x)*h)",
        "x*x-x^2+(x-d)*(x+d)",
        "erfcx(h*x)+erfcx(x-c)/(1+x)",
        "erfcx(sqrt(x/c))*x^(-h)",
    ];

    /// The k-th Taylor coefficient times x^k, by differences on a circle around x in complex numbers there is none: by nested central differences.
    fn derivative(f: &mut impl FnMut(f64) -> f64, x: f64, step: f64) -> (f64, f64) {
        let (down, middle, up) = (f(x - step), f(x), f(x + step));
        let first = (up - down) / (2.0 * step) * x;
        let second = 0.5 * (up - 2.0 * middle + down) / (step * step) * x * x;
        (first, second)
    }

    proptest! {
        /// Values and differences of any place in a range lie in what is said of the range.
        #[test]
        fn ranges_hold_their_functions(
            which in 0..TEXTS.len(),
            (h, c, d) in (0.05..3.0_f64, 0.2..9.0_f64, 0.3..7.0_f64),
            start in 0.3..30.0_f64,
            (ratio, part) in (1.0..3.0_f64, 0.0..1.0_f64),
            unbounded in any::<bool>(),
        ) {
            let program = Program::parse(TEXTS[which]).unwrap();
            let parameters: Vec<f64> = program
                .parameters()
                .iter()
                .map(|name| match name.as_str() { "h" => h, "c" => c, _ => d })
                .collect();
            let intervals: Vec<Interval> = parameters.iter().map(|p| Interval::point(*p)).collect();
            let mut evaluator = Evaluator::<f64>::new(&program, &parameters).unwrap();
            let mut function = Function::new(&program, &intervals).unwrap();
            let ratio = if unbounded { f64::INFINITY } else { ratio };
            let span = Span { start, ratio, order: 8 };
            let jet = function.over(&span).clone();
            let t = if unbounded { 1.0 / (1.0 - 0.99 * part) } else { ratio.powf(part) };
            let x = start * t;
            let (value, error) = evaluator.with_error(x);
            let power = t.powf(jet.exponent());
            let within = |k: usize, found: f64, slack: f64| {
                let (mid, rad) = jet.coefficient(k);
                // Unknown is not wrong.
                rad.is_nan() || rad >= 1e300 || (found / power - mid).abs() <= rad * (1.0 + 1e-9) + slack / power
            };
            prop_assert!(within(0, value, 2.0 * error + 1e-15), "{} {x} {value} {jet:?}", TEXTS[which]);
            let step = 1e-4 * x;
            let (first, second) = derivative(&mut |x| evaluator.at(x), x, step);
            let (coarse, _) = derivative(&mut |x| evaluator.at(x), x, 2.0 * step);
            let (_, rough) = derivative(&mut |x| evaluator.at(x), x, 2.0 * step);
            let noise = (error + 1e-15) * 1e4;
            // Across a step or a kink differences are no derivatives.
            prop_assert!(
                within(1, first, 4.0 * (first - coarse).abs() + noise)
                    || (first - coarse).abs() > 1e-3 * first.abs(),
                "{} {x} {first} {jet:?}", TEXTS[which]
            );
            prop_assert!(
                within(2, second, 4.0 * (second - rough).abs() + 1e4 * noise)
                    || (second - rough).abs() > 1e-2 * second.abs(),
                "{} {x} {second} {jet:?}", TEXTS[which]
            );
        }
    }
}
