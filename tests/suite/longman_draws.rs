//! Random integrals whose closed forms are known: sums of smooth terms, and among them what samples may miss.
//!
//! Everything is drawn from a seed, so that a case that fails can be had again by its number.

use std::f64::consts::{FRAC_PI_2, PI};

use num_complex::Complex;

/// Reproducible numbers.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// In (0, 1).
    pub(crate) fn unit(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    pub(crate) fn below(&mut self, count: usize) -> usize {
        (self.unit() * count as f64) as usize
    }

    /// 10^exponent.
    fn decades(&mut self, from: f64, to: f64) -> f64 {
        10f64.powf(from + (to - from) * self.unit())
    }

    fn sign(&mut self) -> f64 {
        if self.unit() < 0.5 { -1.0 } else { 1.0 }
    }
}

/// The factor of a sum of terms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Wave {
    Cos,
    Sin,
    J0,
}

/// A term of an amplitude: its text, and its integral if that exists.
struct Term {
    text: String,
    value: Option<f64>,
}

/// The drawn features besides smooth terms.
pub(crate) const KINDS: [&str; 10] = [
    "smooth",
    "step",
    "step near a zero",
    "front",
    "kink",
    "spike",
    "ripple",
    "constant",
    "growth",
    "pole",
];

/// An integral of `amplitude` times `wave(w x)` from `lower` on.
#[derive(Clone, Debug)]
pub(crate) struct Draw {
    pub(crate) kind: &'static str,
    pub(crate) amplitude: String,
    pub(crate) wave: Wave,
    pub(crate) w: f64,
    pub(crate) lower: f64,
    /// None if it diverges.
    pub(crate) exact: Option<f64>,
    /// By what the closed form may be off.
    pub(crate) slack: f64,
    /// Of one that diverges: by how much a value that does without the cause would be off. A pole so weak is taken at its principal value, a constant as
    /// the mean of what the partial integrals swing between.
    pub(crate) harm: f64,
    /// For a spike: its width in units of the half period.
    pub(crate) width: f64,
}

impl Draw {
    pub(crate) fn half_period(&self) -> f64 {
        PI / self.w
    }

    /// A zero of the wave beyond the lower limit, which no J0 has as a constant.
    pub(crate) fn first_zero(&self) -> f64 {
        let shift = if self.wave == Wave::Cos { 0.5 } else { 0.0 };
        let k = (self.lower / self.half_period() - shift).floor() + 1.0;
        (k + shift) * self.half_period()
    }

    /// The integrand as one expression; none with a Bessel function.
    pub(crate) fn whole(&self) -> Option<String> {
        let wave = match self.wave {
            Wave::Cos => "cos",
            Wave::Sin => "sin",
            Wave::J0 => return None,
        };
        Some(format!("({})*{wave}({:e}*x)", self.amplitude, self.w))
    }
}

/// The integral of e^-(l - iw)x from a on, and of x e^-(l - iw)x.
fn tails(l: f64, w: f64, a: f64) -> [Complex<f64>; 2] {
    let z = Complex::new(l, -w);
    let e = (-z * a).exp();
    [e / z, e * (z * a + 1.0) / (z * z)]
}

fn part(wave: Wave, z: Complex<f64>) -> f64 {
    if wave == Wave::Cos { z.re } else { z.im }
}

/// A smooth term from `lower` on; where that is not 0 an exponential.
fn smooth(r: &mut Random, wave: Wave, w: f64, lower: f64) -> Term {
    let l = w * r.decades(-2.5, 0.6);
    let p = r.decades(-1.5, 1.0) / w;
    let term = |text: String, value: f64| Term {
        text,
        value: Some(value),
    };
    if lower > 0.0 {
        let [plain, linear] = tails(l, w, lower);
        return match r.below(2) {
            0 => term(format!("exp(-{l:e}*x)"), part(wave, plain)),
            _ => term(format!("x*exp(-{l:e}*x)"), part(wave, linear)),
        };
    }
    let [plain, linear] = tails(l, w, 0.0);
    let root = (PI / (2.0 * w)).sqrt();
    match (wave, r.below(6)) {
        (Wave::J0, 0 | 1) => term(format!("exp(-{l:e}*x)"), 1.0 / l.hypot(w)),
        (Wave::J0, 2) => term(format!("x*exp(-{l:e}*x)"), l / l.hypot(w).powi(3)),
        (Wave::J0, 3) => {
            let p = 1.0 / p.powi(2);
            let value = (-w * w / (4.0 * p)).exp() / (2.0 * p);
            term(format!("x*exp(-{p:e}*x^2)"), value)
        }
        (Wave::J0, 4) => term(format!("x/sqrt(x^2+({p:e})^2)"), (-p * w).exp() / w),
        (Wave::J0, _) => {
            let (k, z) = (1.0 / p, r.unit() / w);
            let distance = z.hypot(w);
            let u = format!("sqrt(x^2+({k:e})^2)");
            let value = (-k * distance).exp() / distance;
            term(format!("x*exp(-{z:e}*{u})/{u}"), value)
        }
        (_, 0) => term(format!("exp(-{l:e}*x)"), part(wave, plain)),
        (_, 1) => term(format!("x*exp(-{l:e}*x)"), part(wave, linear)),
        (_, 2) => term("x^(-0.5)".to_owned(), root),
        (_, 3) => {
            let q = l * (1.0 + r.decades(-7.0, 0.5));
            let value = if wave == Wave::Cos {
                0.5 * ((q - l) * (q + l) / (l * l + w * w)).ln_1p()
            } else {
                ((q - l) * w / (w * w + l * q)).atan()
            };
            term(format!("(exp(-{l:e}*x)-exp(-{q:e}*x))/x"), value)
        }
        (Wave::Cos, 4) => {
            let value = PI * (-p * w).exp() / (2.0 * p);
            term(format!("1/(x^2+({p:e})^2)"), value)
        }
        (_, 4) => term(format!("x/(x^2+({p:e})^2)"), FRAC_PI_2 * (-p * w).exp()),
        (Wave::Cos, _) => {
            let p = 1.0 / p.powi(2);
            let value = 0.5 * (PI / p).sqrt() * (-w * w / (4.0 * p)).exp();
            term(format!("exp(-{p:e}*x^2)"), value)
        }
        _ => {
            let p = 1.0 / p.powi(2);
            let value = (PI / p).sqrt() * w / (4.0 * p) * (-w * w / (4.0 * p)).exp();
            term(format!("x*exp(-{p:e}*x^2)"), value)
        }
    }
}

/// The feature of a draw of this kind besides smooth terms; `h` is its height.
fn special(r: &mut Random, draw: &mut Draw, h: f64) -> Option<Term> {
    let (wave, w, lower) = (draw.wave, draw.w, draw.lower);
    let period = draw.half_period();
    let l = w * r.decades(-2.5, 0.0);
    let mut s = lower + period * (0.02 + 12.0 * r.unit().powi(2));
    let tail = |a: f64| tails(l, w, a).map(|z| part(wave, z));
    let none = |text: String| Term { text, value: None };
    Some(match draw.kind {
        "step" | "step near a zero" | "front" => {
            if draw.kind == "step near a zero" {
                let zero = draw.first_zero() + period * r.below(12) as f64;
                s = (zero + r.sign() * period * r.decades(-5.0, -1.0)).max(lower + 1e-6 * period);
            }
            let step = if draw.kind == "front" {
                format!("tanh({:e}*(x-{s:e}))", 1e9 / period)
            } else {
                format!("sign(x-{s:e})")
            };
            Term {
                text: format!("{h:e}*{step}*exp(-{l:e}*x)"),
                value: Some(h * (2.0 * tail(s)[0] - tail(lower)[0])),
            }
        }
        "kink" => {
            let plain = |a: f64| tail(a)[1] - s * tail(a)[0];
            Term {
                text: format!("{h:e}*abs(x-{s:e})*exp(-{l:e}*x)"),
                value: Some(h * (2.0 * plain(s) - plain(lower))),
            }
        }
        "spike" => {
            draw.width = r.decades(-3.0, 0.0);
            let d = draw.width * period;
            s = s.max(lower + 9.0 * d);
            let wave = if wave == Wave::Cos {
                (w * s).cos()
            } else {
                (w * s).sin()
            };
            let value = h * d * PI.sqrt() * (-(0.5 * w * d).powi(2)).exp() * wave;
            Term {
                text: format!("{h:e}*exp(-((x-{s:e})/{d:e})^2)"),
                value: Some(value),
            }
        }
        "ripple" => {
            let fast = w * r.decades(0.1, 2.0);
            let [high] = [tails(l, w + fast, lower)[0]];
            let [low] = [tails(l, w - fast, lower)[0]];
            Term {
                text: format!("{h:e}*exp(-{l:e}*x)*cos({fast:e}*x)"),
                value: Some(h * 0.5 * (part(wave, high) + part(wave, low))),
            }
        }
        "constant" => {
            draw.harm = h.abs() / w;
            none(format!("{h:e}"))
        }
        "growth" => {
            draw.harm = f64::INFINITY;
            let power = 0.1 + r.unit();
            match r.below(2) {
                0 => none(format!("{h:e}*exp({:e}*x)", w * r.decades(-3.0, -0.5))),
                _ => none(format!("{h:e}*({w:e}*x)^{power:e}")),
            }
        }
        "pole" => {
            let residue = h * period;
            draw.harm = residue.abs();
            none(format!("{residue:e}/(x-{s:e})"))
        }
        _ => return None,
    })
}

/// Integral number `index` of a seed.
pub(crate) fn draw(seed: u64, index: usize) -> Draw {
    let mut r = Random::new(seed ^ (index as u64) << 20);
    for _ in 0..8 {
        r.unit();
    }
    let kind = KINDS[index % KINDS.len()];
    let wave = match r.below(if kind == "smooth" { 3 } else { 2 }) {
        0 => Wave::Cos,
        1 => Wave::Sin,
        _ => Wave::J0,
    };
    let w = r.decades(-2.0, 2.0);
    let lower = if wave != Wave::J0 && r.unit() < 0.2 {
        r.decades(-1.0, 1.5) / w
    } else {
        0.0
    };
    let mut draw = Draw {
        kind,
        amplitude: String::new(),
        wave,
        w,
        lower,
        exact: None,
        slack: 0.0,
        harm: 0.0,
        width: 0.0,
    };
    let mut terms = Vec::new();
    let mut factor = 1.0;
    for _ in 0..1 + r.below(2) {
        let mut term = smooth(&mut r, wave, w, lower);
        term.text = format!("{factor:e}*{}", term.text);
        term.value = term.value.map(|value| factor * value);
        factor = r.sign() * r.decades(-6.0, 0.0);
        terms.push(term);
    }
    let size = terms
        .iter()
        .filter_map(|term| term.value)
        .map(f64::abs)
        .sum::<f64>()
        * w;
    let h = r.sign() * size * r.decades(-11.0, 0.5);
    terms.extend(special(&mut r, &mut draw, h));
    draw.amplitude = terms
        .iter()
        .map(|term| term.text.as_str())
        .collect::<Vec<_>>()
        .join("+")
        .replace("+-", "-");
    let values: Option<Vec<f64>> = terms.iter().map(|term| term.value).collect();
    draw.exact = values.as_ref().map(|values| values.iter().sum());
    draw.slack = terms
        .iter()
        .filter_map(|term| term.value)
        .map(|value| 2e-15 * value.abs())
        .sum::<f64>()
        + 4e-15 * h.abs() * draw.half_period();
    draw
}
