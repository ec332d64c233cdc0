//! From areas to a value, an error estimate and a status: the part that decides what may be believed.
//!
//! 1. The head is integrated by tanh-sinh, each area by a Kronrod pair, divided further where its error matters.
//! 2. Where the areas end far below roundoff, they are summed as they are.
//! 3. The alternation test: from some area on the signs alternate and the areas fall, to zero as far as can be seen. Without this test
//!    Euler's sum would give divergent integrals the value of their analytic continuation, with a tiny bound.
//! 4. Euler's transformation and that of Cohen, Rodriguez Villegas and Zagier are applied after leaving out more and fewer areas. The
//!    result with the smallest estimate is taken, if no other one that believes itself as good contradicts it.

use std::borrow::Cow;

use rarefy_kernels::longman::classify::{
    NEGLIGIBLE, Seen, condition, contradicted, status, sum_roundoff, tolerance,
};
use rarefy_kernels::longman::{Accelerator, Status};
use serde::{Deserialize, Serialize};

use super::accelerate::{
    Weights, differences, levin_u, limit, remainder_bound, weighted, wynn_epsilon,
};
use super::half_cycles::{Area, HalfCycles, RESOLVED};
use super::oscillator::DIVISIONS;
use super::panels::EIGHTHS;
use super::proof::Proof;
use super::proof::tail::Tail;
use super::proof::within::Hidden;

/// An integral: its value and how far it can be believed.
///
/// Through serde it is a row of the command's results: status and accelerator by their names, and nothing for what is not a number or infinite.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Integral {
    /// The value; not a number where there is none.
    #[serde(with = "crate::serial::or_nan")]
    pub value: f64,
    /// Estimate of the absolute error.
    #[serde(with = "crate::serial::or_infinite")]
    pub error: f64,
    /// The status of the integral.
    #[serde(with = "named_status")]
    pub status: Status,
    /// The accelerator of the areas.
    #[serde(with = "named_accelerator")]
    pub accelerator: Accelerator,
    /// (|head| + sum c_k V_k)/|value|: the relative error that can be attained is this times the machine epsilon.
    #[serde(with = "crate::serial::or_nan")]
    pub condition: f64,
    /// Why an OK is believed.
    pub proof: Proof,
    /// The x up to which the integrand of an OK was examined: infinite where its tail is proven, 0 where the status is not OK. Of what was sampled nothing is said
    /// beyond.
    #[serde(with = "crate::serial::or_infinite")]
    pub examined: f64,
    /// The part that has no proof, of a value without an error to rely on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unproven: Option<Unproven>,
    /// The imaginary part of a complex integral, whose value and error are those of the real part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imaginary: Option<Imaginary>,
}

/// The part of an integral that has no proof.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Unproven {
    /// The tail beyond the areas.
    Tail,
    /// The ranges between the nodes of head and areas.
    Nodes,
    /// A range between two limits, or next to 0 or infinity.
    Range,
    /// Samples end before the last feature.
    Samples,
    /// Places that no search brackets, where the amplitude may have a step, a kink or a singularity.
    Place,
    /// The integrand grows like |x - place|^-exponent, exponent >= 1: the integral diverges.
    Singular {
        /// x
        place: f64,
        /// The exponent.
        exponent: f64,
    },
}

impl Unproven {
    fn reason(self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Self::Tail => {
                "beyond the areas no derivative of the amplitude is bounded; an amplitude without terms that cancel or overflow far out, or a finite --upper, may have a proof"
            }
            Self::Nodes => {
                "between the nodes of head and areas the amplitude is not enclosed; an amplitude without terms that cancel near the lower limit, or another --lower, may have a proof"
            }
            Self::Range => {
                "in some range the integrand is not bounded: a pole, terms that cancel, or a function without enclosures; --lower and --upper on one side of it may have a proof"
            }
            Self::Samples => {
                "samples beyond the areas still show features; a larger --beyond may reach their end"
            }
            Self::Place => {
                "the amplitude may have steps, kinks or singularities that no search brackets: infinitely many, or zeros that are not simple, of the argument of abs, sign, ln, a root, a power or a divisor, of the difference of the arguments of min or max, or steps of floor; an argument with simple zeros, or --lower and --upper between these places, may have a proof"
            }
            Self::Singular { place, exponent } => {
                return Cow::Owned(format!(
                    "the integrand grows like d^-{exponent}, d the distance from x = {place}: the integral diverges; an exponent below 1, or a range without that place, has a value"
                ));
            }
        })
    }
}

/// The imaginary part of an integral.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Imaginary {
    /// The value.
    #[serde(with = "crate::serial::or_nan")]
    pub value: f64,
    /// Estimate of the absolute error.
    #[serde(with = "crate::serial::or_infinite")]
    pub error: f64,
}

impl Imaginary {
    pub(super) const ZERO: Self = Self {
        value: 0.0,
        error: 0.0,
    };
}

/// Names of the accelerators, by the numbers of the kernels.
macro_rules! named {
    ($module:ident: $type:ident) => {
        mod $module {
            use serde::de::Error;
            use serde::{Deserialize, Deserializer, Serializer};

            use super::$type;

            pub(super) fn serialize<S: Serializer>(
                value: &$type,
                serializer: S,
            ) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(value.name())
            }

            pub(super) fn deserialize<'de, D: Deserializer<'de>>(
                deserializer: D,
            ) -> Result<$type, D::Error> {
                let name = String::deserialize(deserializer)?;
                let mut all = $type::ALL.into_iter();
                let found = all.find(|value| value.name() == name);
                let names = || $type::ALL.map($type::name).join(", ");
                found.ok_or_else(|| D::Error::custom(format!("'{name}' is none of {}", names())))
            }
        }
    };
}
named!(named_status: Status);
named!(named_accelerator: Accelerator);

impl Integral {
    /// An integral without a value.
    pub const fn without_value(status: Status) -> Self {
        Self {
            value: f64::NAN,
            error: f64::INFINITY,
            status,
            accelerator: Accelerator::None,
            condition: f64::NAN,
            proof: Proof::None,
            examined: 0.0,
            unproven: None,
            imaginary: None,
        }
    }

    /// The reason of a status other than OK, and the remedy.
    pub fn reason(&self) -> Option<Cow<'static, str>> {
        Some(Cow::Borrowed(match (self.status, self.unproven) {
            (Status::Ok, _) => return None,
            (_, Some(part @ (Unproven::Singular { .. } | Unproven::Place))) => {
                return Some(part.reason());
            }
            (Status::NotConverged, Some(part)) if self.error == f64::INFINITY => {
                return Some(part.reason());
            }
            (Status::NotConverged, _) => {
                "the error estimate exceeds the tolerance; raise --rtol, or give --atol where large areas cancel, which the condition number shows"
            }
            (Status::PremiseViolated, _) => {
                "the integrand does not fall to zero, or its areas do not alternate: the integral diverges, or the amplitude oscillates itself; a finite --upper has a value"
            }
            (Status::NotFinite, _) => {
                "the integrand is infinite or no number inside the range: a pole, an overflow, or a root of a negative number"
            }
            (Status::InvalidArgument, _) => {
                "a parameter, a limit, a frequency or an order is out of range"
            }
        }))
    }

    /// The same value without a status, or an error, to rely on.
    pub(super) fn unproven(self, part: Unproven) -> Self {
        match self.status {
            Status::Ok | Status::NotConverged => Self {
                status: Status::NotConverged,
                error: f64::INFINITY,
                proof: Proof::None,
                examined: 0.0,
                unproven: Some(part),
                ..self
            },
            _ => self,
        }
    }

    /// With what may hide between the nodes, of which the estimate knows nothing.
    pub(super) fn hiding(self, unseen: f64, demand: &Demand) -> Self {
        let error = self.error + unseen;
        match self.status {
            Status::Ok if demand.status(self.value, error) != Status::Ok => Self {
                error,
                status: Status::NotConverged,
                proof: Proof::None,
                examined: 0.0,
                ..self
            },
            _ => Self { error, ..self },
        }
    }

    /// With the proof that an OK has by derivatives.
    pub(super) fn proven(self) -> Self {
        match self.status {
            Status::Ok => Self {
                proof: Proof::Monotone,
                examined: f64::INFINITY,
                unproven: None,
                ..self
            },
            _ => self,
        }
    }

    /// With the proof of an OK whose integrand was sampled up to `examined`.
    pub(super) fn sampled(self, examined: f64) -> Self {
        match self.status {
            Status::Ok => Self {
                proof: Proof::Sampled,
                examined,
                unproven: None,
                ..self
            },
            _ => self,
        }
    }
}

/// The tolerance of a value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Demand {
    pub(super) relative: f64,
    pub(super) absolute: f64,
    /// Levin's and Wynn's accelerators are tried too.
    pub(super) nonlinear: bool,
    /// Relative accuracy of the integrand.
    pub(super) accuracy: f64,
}

impl Demand {
    pub(super) fn tolerance(&self, value: f64) -> f64 {
        tolerance(self.absolute, self.relative, value)
    }

    fn status(&self, value: f64, error: f64) -> Status {
        status(value, error, self.tolerance(value))
    }
}

/// Fewest areas that must alternate and fall.
const LEAST: usize = 8;

/// Head and areas that were computed.
pub(super) struct Computed {
    head: Area,
    /// Areas that have been added to the head.
    folded: usize,
    areas: Vec<Area>,
}

impl Computed {
    /// Computes the head and the first `count` areas.
    pub(super) fn new(source: &mut dyn HalfCycles, count: usize, demand: &Demand) -> Self {
        let head = source.head(demand.accuracy.max(1e-15));
        let mut computed = Self {
            head,
            folded: 0,
            areas: Vec::with_capacity(count),
        };
        computed.extend(source, count);
        computed
    }

    /// Computes more areas.
    pub(super) fn extend(&mut self, source: &mut dyn HalfCycles, count: usize) {
        for k in self.folded + self.areas.len()..count {
            self.areas.push(source.area(k, 0));
        }
        for k in 0..self.areas.len() {
            self.areas[k].slope = self.slope(source, k);
        }
    }

    /// Error that rounding x makes where the areas change fast: 0.5 eps x |d ln V/dx| V. It matters far out in a steep decay only.
    fn slope(&self, source: &dyn HalfCycles, k: usize) -> f64 {
        let size = |k: usize| self.areas.get(k).map(|a| a.value.abs());
        let neighbour = size(k + 1).or_else(|| size(k.wrapping_sub(1)));
        let (Some(here), Some(next)) = (size(k), neighbour) else {
            return 0.0;
        };
        let change = (next / here).ln().abs();
        let noise = 0.5 * source.roundoff() * source.distance(self.folded + k) * change * here;
        if noise.is_finite() { noise } else { 0.0 }
    }

    /// The outcome on the integral; divides areas further where that helps.
    pub(super) fn classify(&mut self, source: &mut dyn HalfCycles, demand: &Demand) -> Integral {
        if !self.finite() {
            return Integral::without_value(Status::NotFinite);
        }
        let rough = self.refine(source, demand);
        if !self.finite() {
            return Integral::without_value(Status::NotFinite);
        }
        let mut seen = Seen::new(self.head.value);
        let mut before = 0.0;
        for area in &self.areas {
            seen.look(area.value, area.error().max(before));
            before = area.error();
        }
        if seen.ends() {
            // An integrand that has died away may return.
            return match source.vanishes(self.nothing(source)) {
                Some(false) => Integral::without_value(Status::PremiseViolated),
                _ => self.direct(seen.counts as usize, demand),
            };
        }
        // Values with an absolute error have nothing to say below it.
        let v: Vec<f64> = self.areas.iter().map(|a| a.value.abs()).collect();
        let drowned = |k: &usize| v[*k] <= 4.0 * self.areas[*k].floor;
        let drowned = (0..v.len()).rev().take_while(drowned).count();
        if drowned >= 2 {
            // Areas that cancel do not show that the integrand falls.
            return match source.vanishes(self.nothing(source)) {
                Some(false) => Integral::without_value(Status::PremiseViolated),
                _ => self.direct(v.len() - drowned, demand),
            };
        }
        let p = seen.start as usize;
        let noise = self.areas.get(p).map_or(0.0, Area::error).max(before);
        let least = LEAST.max(v.len() / 4);
        if seen.alternates(least as u32, noise) && self.vanishes(source, &v, p) {
            self.accelerated(p, rough, &v, demand)
        } else {
            Integral::without_value(Status::PremiseViolated)
        }
    }

    fn finite(&self) -> bool {
        let finite = |a: &Area| a.value.is_finite() && a.error().is_finite();
        finite(&self.head) && self.areas.iter().all(finite)
    }

    /// |A_0| + max V.
    fn scale(&self) -> f64 {
        let largest = self.areas.iter().map(|a| a.value.abs());
        self.head.value.abs() + largest.fold(0.0, f64::max)
    }

    fn roundoff(&self) -> f64 {
        let largest = self.areas.iter().map(|a| a.value.abs());
        sum_roundoff(self.head.value, largest.fold(0.0, f64::max))
    }

    /// Divides the areas whose quadrature error is above their noise, above roundoff, and above their share of the tolerance. Returns the number of areas up to
    /// the last one that equal panels do not resolve. There the integrand has a step or a kink, and the areas before and beyond follow different laws.
    fn refine(&mut self, source: &mut dyn HalfCycles, demand: &Demand) -> usize {
        let values: Vec<f64> = self.areas.iter().map(|a| a.value.abs()).collect();
        let sign = self.areas.first().map_or(1.0, |a| a.value.signum());
        let guess = self.head.value + sign * weighted(Weights::get().euler(values.len()), &values);
        self.refine_for(source, demand, guess)
    }

    /// The same for an integral of about this value.
    fn refine_for(&mut self, source: &mut dyn HalfCycles, demand: &Demand, guess: f64) -> usize {
        let count = self.areas.len() as f64;
        // A guess that cancels must not ask for what cannot be had.
        let share = 0.03 * demand.tolerance(guess) / count;
        let floor = demand.accuracy.max(f64::EPSILON) * self.scale() / count;
        let unsettled =
            |area: &Area| area.truncation > share.max(floor).max(0.5 * (area.noise + area.floor));
        for k in 0..self.areas.len() {
            for level in 1..DIVISIONS.len() {
                let old = self.areas[k];
                if !unsettled(&old) || old.level >= level {
                    break;
                }
                let mut new = source.area(self.folded + k, level);
                new.slope = old.slope;
                // Two levels that differ by more than the finer one admits show that its estimate is too good.
                let change = (new.value - old.value).abs();
                if change > old.error() + new.error() {
                    new.truncation = new.truncation.max(0.5 * change);
                }
                self.areas[k] = new;
            }
            let area = self.areas[k];
            if unsettled(&area) && area.level < RESOLVED {
                let target = share.max(floor);
                self.areas[k] = source.resolve(self.folded + k, area, target, &EIGHTHS);
            }
        }
        let rough = |area: &Area| area.level == RESOLVED || unsettled(area);
        self.areas.iter().rposition(rough).map_or(0, |k| k + 1)
    }

    /// Whether the integrand goes to zero: as the source sees it far out. Where that is not seen, the areas must neither level off nor be small by cancellation.
    fn vanishes(&self, source: &mut dyn HalfCycles, v: &[f64], p: usize) -> bool {
        source
            .vanishes(self.nothing(source))
            .unwrap_or_else(|| !self.levels_off(source, v, p) && !self.cancels(source, p))
    }

    /// Whether the last areas are small by cancellation, of an integrand whose magnitude does not fall to zero.
    fn cancels(&self, source: &dyn HalfCycles, p: usize) -> bool {
        let cancels = |area: &Area| area.value.abs() < 0.5 * area.magnitude;
        let sizes: Vec<f64> = self.areas.iter().map(|area| area.magnitude).collect();
        self.areas.iter().rev().take(2).all(cancels) && self.levels_off(source, &sizes, p)
    }

    /// Areas far out that are below this are nothing.
    pub(super) fn nothing(&self, source: &dyn HalfCycles) -> f64 {
        1e-3 * source.roundoff() * self.scale()
    }

    /// Whether the areas fall to a constant above zero; the integral then diverges although they fall. They no longer fall in the second half, or
    /// their limit is found and is not zero, or the exponent of their decay goes to zero or below. A limit counts if it is sharp compared with the observed fall. So
    /// exponentials too slow to differ from a straight line pass.
    fn levels_off(&self, source: &dyn HalfCycles, v: &[f64], p: usize) -> bool {
        let last = v.len() - 1;
        let noise = self.areas[last].error();
        let late = p + (last - p) / 2;
        if v[late] - v[last] <= 8.0 * self.areas[late].error().max(noise) {
            return true;
        }
        let constant = limit(&v[p..]);
        let fall = v[p] - v[last];
        if constant.error < 1e-5 * fall
            && constant.value > (100.0 * constant.error).max(8.0 * noise)
        {
            return true;
        }
        // The exponent of the decay, area by area. Where it falls, its limit must stay above zero.
        let exponents: Vec<f64> = (p..last)
            .map(|k| {
                let distance = |k: usize| source.distance(self.folded + k) - 0.5;
                let ratio = distance(k + 1) / distance(k);
                (v[k] / v[k + 1]).ln() / ratio.ln()
            })
            .collect();
        let (middle, end) = (
            exponents[exponents.len() / 2],
            exponents[exponents.len() - 1],
        );
        let exponent = limit(&exponents);
        end < middle && exponent.error < 1e-3 && exponent.value <= 10.0 * exponent.error
    }

    /// Areas that are computed.
    pub(super) fn count(&self) -> usize {
        self.folded + self.areas.len()
    }

    /// The error of head and areas together.
    pub(super) fn error(&self) -> f64 {
        self.head.error() + self.areas.iter().map(Area::error).sum::<f64>()
    }

    /// Whether all that was seen of the integrand is zero.
    pub(super) fn is_nothing(&self) -> bool {
        self.scale() < f64::MIN_POSITIVE
    }

    /// Adds the areas before number `count` to the head, so that the accelerators begin there.
    pub(super) fn fold(&mut self, source: &mut dyn HalfCycles, count: usize, demand: &Demand) {
        self.extend(source, count);
        let guess = self.sum();
        self.refine_for(source, demand, guess);
        let errors: f64 = self.areas.iter().map(Area::error).sum();
        self.head.value = self.sum();
        self.head.floor += errors;
        self.folded += self.areas.len();
        self.areas.clear();
    }

    /// Head and all areas, with the correction that makes the sum exact.
    pub(super) fn sum(&self) -> f64 {
        let (mut sum, mut lost) = (self.head.value, 0.0);
        for area in &self.areas {
            let next = sum + area.value;
            let part = next - sum;
            lost += (sum - (next - part)) + (area.value - part);
            sum = next;
        }
        sum + lost
    }

    /// Computes areas up to `count`, each to its share of the tolerance of an integral with this tail.
    pub(super) fn extend_to(
        &mut self,
        source: &mut dyn HalfCycles,
        count: usize,
        (tail, demand): (&Tail, &Demand),
    ) {
        self.extend(source, count);
        let guess = self.sum() + tail.value;
        self.refine_for(source, demand, guess);
    }

    /// Panels of an area.
    pub(super) fn panels(&self, k: usize) -> usize {
        let level = self.areas.get(k).map_or(0, |area| area.level);
        DIVISIONS[level.min(DIVISIONS.len() - 1)]
    }

    /// Computes head and areas with the panels that show what may hide; whether one of them changed by more than its error or has a smaller one. `target` is the
    /// error that an area may have. The changes of the others are errors of theirs.
    pub(super) fn look_closer(
        &mut self,
        source: &mut dyn HalfCycles,
        hidden: &Hidden,
        (target, demand): (f64, &Demand),
    ) -> bool {
        let mut any = false;
        let mut replace = |old: &mut Area, new: Area| {
            let change = (new.value - old.value).abs();
            // False for NaN.
            let same = change <= (old.error() + new.error()).max(target)
                && new.truncation <= old.error().max(target)
                && new.floor <= (2.0 * old.error()).max(target);
            let sharper = old.truncation > target && new.error() < 0.5 * old.error();
            if same && !sharper {
                old.truncation = old.truncation.max(change);
            } else {
                *old = new;
                any = true;
            }
        };
        if let Some(places) = &hidden.head {
            let head = source.head_with(demand.accuracy.max(1e-15), places);
            replace(&mut self.head, head);
        }
        for (k, places) in &hidden.areas {
            let (low, high) = (places[0], places[places.len() - 1]);
            let ends: Vec<f64> = places.iter().map(|x| (x - low) / (high - low)).collect();
            let old = self.areas[*k];
            let new = source.resolve(*k, old, target, &ends);
            replace(&mut self.areas[*k], new);
        }
        any
    }

    /// The outcome with a tail that is known: `found`, if its value is the sum of all areas and the tail to within the tolerance, or else that sum.
    pub(super) fn with_tail(&self, found: Integral, tail: &Tail, demand: &Demand) -> Integral {
        if !self.finite() {
            return Integral::without_value(Status::NotFinite);
        }
        let value = self.sum() + tail.value;
        let areas: f64 = self.areas.iter().map(Area::error).sum();
        let error = self.head.error() + areas + self.roundoff() + tail.error;
        let sizes = self.areas.iter().map(|a| a.value.abs()).sum::<f64>();
        let magnitude = self.head.value.abs() + sizes + tail.value.abs();
        let whole = summed((value, error, magnitude), demand);
        if found.status != Status::Ok {
            let keeps = whole.status != Status::Ok && found.status == Status::PremiseViolated;
            let best = if keeps { found } else { whole };
            return best.proven();
        }
        // The accelerated value is as far from the integral as from that sum, and the sum's error.
        let error = (found.value - value).abs() + error;
        let compared = Integral {
            error,
            status: demand.status(found.value, error),
            ..found
        };
        let best = if compared.status == Status::Ok {
            compared
        } else {
            whole
        };
        best.proven()
    }

    /// The sum of the areas themselves, all from `count` on being negligible.
    fn direct(&self, count: usize, demand: &Demand) -> Integral {
        let areas = &self.areas[..count];
        let value = self.head.value + areas.iter().map(|a| a.value).sum::<f64>();
        let error = self.head.error()
            + self.areas.iter().map(Area::error).sum::<f64>()
            + self.roundoff()
            + NEGLIGIBLE * f64::EPSILON * self.scale()
            + self.areas[count..]
                .iter()
                .map(|a| a.magnitude)
                .fold(0.0, f64::max);
        let magnitude = self.head.value.abs() + areas.iter().map(|a| a.value.abs()).sum::<f64>();
        summed((value, error, magnitude), demand)
    }

    /// The outcome where the areas alternate and fall from `p` on, and are smooth beyond `rough`.
    fn accelerated(&self, p: usize, rough: usize, v: &[f64], demand: &Demand) -> Integral {
        let count = v.len();
        let mut candidates: Vec<Candidate> = Vec::new();
        // Areas that grow first are none of the theory by which a change shows the error, nor are those about a step.
        let smooth = count - rough >= LEAST.max(count / 4);
        let caution = if p > 0 || !smooth { 4.0 } else { 1.0 };
        let p = if smooth { p.max(rough) } else { p };
        let mut skips = [p, count / 4, count / 3, count / 2].map(|skip| skip.max(p));
        skips.sort_unstable();
        for (i, &skip) in skips.iter().enumerate() {
            if i > 0 && skips[i - 1] == skip || count - skip < 4 {
                continue;
            }
            candidates.extend(self.linear(skip, v, caution));
            // Fewer areas carry less noise.
            if i == 0 {
                for fewer in [count / 2, 3 * count / 4] {
                    if fewer >= skip + LEAST {
                        candidates.extend(self.linear(skip, &v[..fewer], caution));
                    }
                }
            }
            if demand.nonlinear {
                candidates.extend(self.nonlinear(skip, v));
            }
        }
        let best = candidates
            .iter()
            .filter(|c| c.value.is_finite() && c.error.is_finite())
            .min_by(|a, b| a.error.total_cmp(&b.error));
        let Some(best) = best else {
            return Integral::without_value(Status::NotFinite);
        };
        // Candidates made of fewer areas have less to say, and the nonlinear ones may believe too much of themselves.
        let error = candidates
            .iter()
            .filter(|other| other.areas == count && is_linear(other.accelerator))
            .fold(best.error, |error, other| {
                contradicted((best.value, error), other.value, other.claim)
            });
        Integral {
            value: best.value,
            error,
            status: demand.status(best.value, error),
            accelerator: best.accelerator,
            condition: condition(best.magnitude, best.value),
            proof: Proof::None,
            examined: 0.0,
            unproven: None,
            imaginary: None,
        }
    }

    /// Head and areas up to `skip`, summed directly: value, error, magnitude.
    fn beginning(&self, skip: usize) -> (f64, f64, f64) {
        let areas = &self.areas[..skip];
        (
            self.head.value + areas.iter().map(|a| a.value).sum::<f64>(),
            self.head.error() + areas.iter().map(Area::error).sum::<f64>() + self.roundoff(),
            self.head.value.abs() + areas.iter().map(|a| a.value.abs()).sum::<f64>(),
        )
    }

    /// Euler and Cohen-Villegas-Zagier after `skip` areas; their estimates are multiplied by `caution`.
    fn linear(&self, skip: usize, v: &[f64], caution: f64) -> [Candidate; 2] {
        let (tail, areas) = (&v[skip..], &self.areas[skip..]);
        let n = tail.len();
        let (value, error, magnitude) = self.beginning(skip);
        let sign = areas.first().map_or(1.0, |a| a.value.signum());
        let differences = differences(tail);
        let noise = areas.iter().map(Area::error).fold(0.0, f64::max);
        let stalled = STALLED * stall(&differences, noise);
        let candidate =
            |accelerator, weights: fn(usize) -> &'static [f64], fewer, bound: f64, part: f64| {
                let sums =
                    [n, n - fewer, n.saturating_sub(2 * fewer)].map(|n| weighted(weights(n), tail));
                let [change, before] = [sums[0] - sums[1], sums[1] - sums[2]].map(f64::abs);
                let weights = weights(n);
                let errors = weights.iter().zip(areas).map(|(c, a)| c * a.error());
                let errors = errors.sum::<f64>();
                // Where a feature is not resolved, the sum lacks what the weight of its area leaves out.
                let unresolved = weights.iter().zip(areas);
                let unresolved = unresolved.map(|(c, a)| (1.0 - 2.0 * c).max(0.0) * a.truncation);
                let unresolved = unresolved.sum::<f64>();
                // The remainder of a geometric sequence of changes, at least the part of the last change that the theory promises. Changes
                // within the areas' errors are none.
                let rate = change / before;
                let left = if rate < 0.9 {
                    rate / (1.0 - rate)
                } else {
                    10.0
                };
                let least = bound.max(part * change);
                let remainder = least.max(left * (change - errors)).max(stalled);
                let error = error + errors + unresolved;
                let magnitudes = weights.iter().zip(tail).map(|(c, v)| c * v);
                Candidate {
                    accelerator,
                    areas: v.len(),
                    value: value + sign * sums[0],
                    error: error + caution * remainder,
                    claim: error + caution * least,
                    magnitude: magnitude + magnitudes.sum::<f64>(),
                }
            };
        let bound = remainder_bound(&differences);
        let cvz_bound = 2.0 * tail[0] * (3.0 + 8f64.sqrt()).powi(-(n as i32));
        [
            candidate(
                Accelerator::Euler,
                |n| Weights::get().euler(n),
                2,
                bound,
                0.25,
            ),
            candidate(
                Accelerator::Cvz,
                |n| Weights::get().cvz(n),
                3,
                cvz_bound,
                0.05,
            ),
        ]
    }

    /// Levin u and Wynn epsilon after `skip` areas.
    fn nonlinear(&self, skip: usize, v: &[f64]) -> [Candidate; 2] {
        let (tail, areas) = (&v[skip..], &self.areas[skip..]);
        let (value, error, magnitude) = self.beginning(skip);
        let sign = areas.first().map_or(1.0, |a| a.value.signum());
        // The effect of these transformations on errors of the areas is not known; the sum of all is taken.
        let errors: f64 = areas.iter().map(Area::error).sum();
        [
            (Accelerator::Levin, levin_u(tail)),
            (Accelerator::Epsilon, wynn_epsilon(tail)),
        ]
        .map(|(accelerator, sum)| Candidate {
            accelerator,
            areas: v.len(),
            value: value + sign * sum.value,
            error: error + errors + 4.0 * sum.error,
            claim: error + errors + 4.0 * sum.error,
            magnitude: magnitude + tail.iter().sum::<f64>(),
        })
    }
}

/// Largest error of an accelerated sum in units of the part of its areas that does not alternate: the sum of that part itself, of which nothing is known.
const STALLED: f64 = 100.0;

/// The part of the areas that does not alternate, as that of a ripple at a multiple of the frequency. Their differences, over the powers of 2, fall by at
/// least one half from order to order, and end at that part. 0 where it is within the `noise` of the areas.
fn stall(differences: &[f64], noise: f64) -> f64 {
    /// Orders over which they must have fallen to a quarter.
    const ORDERS: usize = 6;
    let size = |order: usize| 0.5_f64.powi(order as i32) * differences[order].abs();
    // By pairs, as one may be small by accident.
    let pair = |order: usize| size(order).max(size(order - 1));
    let Some(last) = differences.len().checked_sub(1) else {
        return 0.0;
    };
    if last <= ORDERS || pair(last) <= noise || 4.0 * pair(last) <= pair(last - ORDERS) {
        0.0
    } else {
        pair(last)
    }
}

/// Whether an accelerator is a fixed linear functional of the areas, with a bound.
const fn is_linear(accelerator: Accelerator) -> bool {
    matches!(accelerator, Accelerator::Euler | Accelerator::Cvz)
}

struct Candidate {
    accelerator: Accelerator,
    /// Areas that it is made of, those summed directly included.
    areas: usize,
    value: f64,
    error: f64,
    /// The error if the sum converges as the theory promises: what another candidate must not contradict.
    claim: f64,
    magnitude: f64,
}

/// A sum of areas as they are, from its value, its error and the sum of the magnitudes.
fn summed((value, error, magnitude): (f64, f64, f64), demand: &Demand) -> Integral {
    Integral {
        value,
        error,
        status: demand.status(value, error),
        accelerator: Accelerator::Direct,
        condition: condition(magnitude, value),
        proof: Proof::None,
        examined: 0.0,
        unproven: None,
        imaginary: None,
    }
}
