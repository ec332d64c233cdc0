//! One integral: what is asked, and the calls that answer it.

use std::f64::consts::{FRAC_2_PI, PI};

use rarefy_kernels::longman::Status;
use serde::{Deserialize, Serialize};

use super::driver::{Computed, Demand, Integral, Unproven};
use super::half_cycles::{AREAS, HalfCycles, Oscillating, Plain};
use super::head::Exponent;
use super::integrand::{Accuracy, Function};
use super::oscillator::Oscillator;
use super::proof::beyond::Beyond;
use super::proof::interval::Interval;
use super::proof::sampled::{BEFORE, SAMPLES, last_feature};
use super::proof::tail::Tail;
use super::proof::within::{Look, Places, STEP};
use super::quadrature::{GAUSS_POINTS, Kronrod};
use crate::compute::Precision;
use crate::error::{Error, Result};

/// Largest phase of a lower limit: beyond, neighbouring numbers are further apart than a hundredth of a half period.
pub(super) const MOST_PHASE: f64 = 1e13;

/// Fewest and most half periods beyond the areas that are sampled.
pub const BEYOND: std::ops::RangeInclusive<usize> = 0..=1 << 16;

/// How an integral is computed, and when its value is good enough.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// Areas that are computed; by default 32, and 64 where those do not lead to the tolerance.
    pub areas: Option<usize>,
    /// Gauss points of an area; its value is that of the Kronrod rule which extends them to 2 G + 1 nodes.
    pub gauss: usize,
    /// Relative tolerance.
    pub rtol: f64,
    /// Absolute tolerance.
    pub atol: f64,
    /// Relative accuracy of the integrand; by default 4 units of roundoff, 16 for a Bessel oscillator.
    pub accuracy: Option<f64>,
    /// Absolute error of the amplitude or integrand, as of tables and of values that are integrals themselves.
    pub absolute_accuracy: f64,
    /// Unit of roundoff of x in the integrand: that of `f32` where it is evaluated in `f32`.
    pub roundoff: f64,
    /// p < 1 if the integrand is like (x - a)^-p at its lower end; found by itself where that is 0.
    pub head_exponent: Option<f64>,
    /// Whether Levin's u transformation and Wynn's epsilon algorithm are tried too.
    pub nonlinear: bool,
    /// Half periods beyond the areas at which an integrand is sampled twice that cannot be enclosed in intervals: a closure, samples, a whole integrand.
    pub beyond: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            areas: None,
            gauss: 7,
            rtol: 1e-10,
            atol: 0.0,
            accuracy: None,
            absolute_accuracy: 0.0,
            roundoff: f64::EPSILON,
            head_exponent: None,
            nonlinear: false,
            beyond: 512,
        }
    }
}

impl Settings {
    /// The defaults for integrands evaluated in this precision: in `f32` a relative tolerance of 1e-5, as roundoff alone exceeds that of `f64`.
    pub fn for_precision(precision: Precision) -> Self {
        let rtol = match precision {
            Precision::F64 => 1e-10,
            Precision::F32 => 1e-5,
        };
        Self {
            rtol,
            ..Self::default()
        }
    }

    /// Refuses what is out of range.
    ///
    /// # Errors
    /// A number out of range: the line says which, and what it may be.
    pub fn check(&self) -> Result<()> {
        let refuse = |field: &str, value: &dyn std::fmt::Display, expected: &str| {
            Err(Error::invalid(field, value, expected))
        };
        if let Some(areas) = self.areas
            && !AREAS.contains(&areas)
        {
            return refuse("areas", &areas, "8 to 64 areas");
        }
        if !BEYOND.contains(&self.beyond) {
            return refuse("beyond", &self.beyond, "up to 65536 half periods");
        }
        if !GAUSS_POINTS.contains(&self.gauss) {
            return refuse("gauss", &self.gauss, "2 to 64 Gauss points");
        }
        let sizes = [
            ("rtol", self.rtol),
            ("atol", self.atol),
            ("absolute_accuracy", self.absolute_accuracy),
        ];
        for (field, size) in sizes {
            if !(size >= 0.0 && size.is_finite()) {
                return refuse(field, &size, "a number of at least 0");
            }
        }
        for (field, share) in [
            ("accuracy", self.accuracy.unwrap_or(0.0)),
            ("roundoff", self.roundoff),
        ] {
            if !(0.0..1.0).contains(&share) {
                return refuse(field, &share, "a number of at least 0 and below 1");
            }
        }
        match self.head_exponent {
            Some(p) if !(p < 1.0 && p > -1e3) => {
                refuse("head_exponent", &p, "a number below 1 and above -1000")
            }
            _ => Ok(()),
        }
    }

    /// Whether roundoff is so near the tolerance that cancellation in some node of an area could exceed it.
    fn thorough(&self) -> bool {
        self.rtol < 1e5 * self.roundoff
    }

    fn exponent(&self) -> Exponent {
        self.head_exponent.map_or(Exponent::Auto, Exponent::Given)
    }

    /// Areas at first and at most.
    pub(super) fn counts(&self) -> (usize, usize) {
        match self.areas {
            Some(areas) => (areas, areas),
            None => (32, *AREAS.end()),
        }
    }

    fn demand(&self, accuracy: f64) -> Demand {
        Demand {
            relative: self.rtol,
            absolute: self.atol,
            nonlinear: self.nonlinear,
            accuracy,
        }
    }
}

/// Points between which an integral alternates in sign.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Boundaries {
    /// These, ascending; those not beyond the lower limit are passed over.
    Points(Vec<f64>),
    /// `first + k half_period`.
    HalfPeriod {
        /// The first one; where it is below the lower limit, the first beyond that. By default half a period beyond the limit.
        first: Option<f64>,
        /// Distance between two.
        half_period: f64,
    },
}

impl Boundaries {
    /// The first `count` boundaries from `lower` on, fewer if there are no more; none if they are no boundaries.
    pub(super) fn from(&self, lower: f64, count: usize) -> Option<Vec<f64>> {
        match self {
            Self::Points(points) => {
                let ascending = points.windows(2).all(|pair| pair[0] < pair[1]);
                let finite = points.iter().all(|x| x.is_finite());
                (ascending && finite).then(|| {
                    let beyond = points.iter().copied().filter(|x| *x >= lower);
                    beyond.take(count).collect()
                })
            }
            Self::HalfPeriod { first, half_period } => {
                let h = *half_period;
                let first = first.unwrap_or(lower + h);
                if !(h > 0.0 && h.is_finite() && first.is_finite()) {
                    return None;
                }
                let skip = ((lower - first) / h).ceil().max(0.0);
                let points: Vec<f64> = (0..count).map(|k| first + (skip + k as f64) * h).collect();
                let ascending = points.windows(2).all(|pair| pair[0] < pair[1]);
                (ascending && points.iter().all(|x| x.is_finite())).then_some(points)
            }
        }
    }
}

/// Integral of g(x) osc(omega x) from `lower` >= 0 to infinity.
///
/// Never a wrong value with [`Status::Ok`]: the status reports an integral without the form that the method needs.
/// `Err` is for settings out of range. An argument that is not a number or a frequency that is not positive has the status
/// [`Status::InvalidArgument`], since one row of many may have it.
pub(super) fn oscillating(
    mut amplitude: impl Function,
    oscillator: Oscillator,
    omega: f64,
    lower: f64,
    settings: &Settings,
) -> Result<Integral> {
    settings.check()?;
    let (start, most) = settings.counts();
    let accuracy = settings
        .accuracy
        .unwrap_or(oscillator.epsilons() * f64::EPSILON);
    let demand = settings.demand(accuracy);
    let integral = OscillatingIntegral {
        oscillator,
        omega,
        lower,
        settings,
        accuracy: Accuracy {
            relative: accuracy,
            argument: 0.0,
            absolute: settings.absolute_accuracy,
            roundoff: settings.roundoff,
            thorough: settings.thorough(),
        },
    };
    if !integral.is_valid() {
        return Ok(Integral::without_value(Status::InvalidArgument));
    }
    let mut source = integral.areas(&mut amplitude, start);
    let mut computed = Computed::new(&mut source, start, &demand);
    let mut found = computed.classify(&mut source, &demand);
    if start < most && worth_more(found.status) {
        source = integral.areas(&mut amplitude, most);
        computed.extend(&mut source, most);
        found = better(found, computed.classify(&mut source, &demand));
    }
    if !(found.status == Status::Ok || worth_more(found.status)) {
        return Ok(found);
    }
    let (first, last) = source.ends();
    let beyond = Beyond {
        first,
        last,
        nothing: computed.nothing(&source),
        found,
        guess: computed.sum(),
    };
    if amplitude.enclosed().is_some() {
        return Ok(integral.proven(&mut amplitude, computed, &beyond, &demand));
    }
    let features = Features {
        computed: &mut computed,
        demand: &demand,
        found,
        start,
        examined: integral.sampled_to((first, last)),
    };
    Ok(integral.sampled(&mut amplitude, features, (first, last)))
}

/// An integral of an oscillator from a lower limit on, but for the amplitude.
struct OscillatingIntegral<'a> {
    oscillator: Oscillator,
    omega: f64,
    lower: f64,
    settings: &'a Settings,
    accuracy: Accuracy,
}

impl OscillatingIntegral<'_> {
    fn is_valid(&self) -> bool {
        let (omega, lower, phase) = (self.omega, self.lower, self.omega * self.lower);
        omega > 0.0
            && omega.is_finite()
            && (1.0 / omega).is_finite()
            && lower >= 0.0
            && phase.is_finite()
            && phase < MOST_PHASE
            && self.oscillator.check().is_ok()
    }

    /// The areas of an amplitude.
    fn areas<'g, G: Function>(&self, amplitude: &'g mut G, count: usize) -> Oscillating<'g, G> {
        Oscillating::new(
            amplitude,
            (self.oscillator, self.omega),
            self.lower,
            (count, self.settings.gauss),
            self.accuracy,
            self.settings.exponent(),
        )
    }

    /// Where the samples begin, and how many there are.
    fn samples(&self, (first, last): (f64, f64)) -> (f64, usize) {
        let begin = (last - PI * BEFORE as f64).max(first);
        (begin, (self.settings.beyond + BEFORE) * SAMPLES)
    }

    /// Where the samples end.
    fn sampled_to(&self, ends: (f64, f64)) -> f64 {
        let (begin, looks) = self.samples(ends);
        (begin + PI / SAMPLES as f64 * looks as f64) / self.omega
    }

    /// The outcome by samples of the amplitude beyond the last area, each as an area.
    fn sampled(
        &self,
        amplitude: &mut impl Function,
        features: Features<'_>,
        (first, last): (f64, f64),
    ) -> Integral {
        let (omega, settings) = (self.omega, self.settings);
        let step = PI / SAMPLES as f64;
        let (begin, looks) = self.samples((first, last));
        let envelope = |phase: f64| match self.oscillator {
            Oscillator::BesselJ(_) => (FRAC_2_PI / phase).sqrt(),
            Oscillator::Cos | Oscillator::Sin => 1.0,
        };
        let samples: Vec<f64> = (0..looks)
            .map(|i| begin + step * (i as f64 + 0.5))
            .map(|phase| PI / omega * envelope(phase) * amplitude.at(phase / omega))
            .collect();
        let noise = (
            4.0 * self.accuracy.relative,
            PI / omega * settings.absolute_accuracy,
        );
        let areas = ((last - begin) / PI).round() as usize;
        let Some(end) = features.last(&samples, noise, SAMPLES) else {
            return features.none();
        };
        let count = (features.computed.count() + end).saturating_sub(areas);
        let mut source = self.areas(amplitude, count + features.start);
        features.beyond(&mut source, count, settings.beyond)
    }

    /// The outcome by an enclosure of the amplitude beyond the last area.
    fn proven(
        &self,
        amplitude: &mut impl Function,
        mut computed: Computed,
        beyond: &Beyond,
        demand: &Demand,
    ) -> Integral {
        let mut found = beyond.found;
        // A tail does not mend what the areas themselves are off by, but a feature far out may be larger than all that was seen.
        let about = if found.value.is_finite() {
            found.value
        } else {
            computed.sum()
        };
        let mut wanted = *demand;
        if found.status != Status::Ok && computed.error() > demand.tolerance(about) {
            if found.status == Status::PremiseViolated {
                return found;
            }
            wanted.absolute = wanted.absolute.max(computed.error());
        }
        if computed.is_nothing()
            && has_narrow_peak(amplitude, self.lower, beyond.first / self.omega)
        {
            return Integral::without_value(Status::PremiseViolated);
        }
        let place = (self.omega * self.lower, computed.count());
        let wave = (self.oscillator, self.omega);
        let Some((count, tail)) = beyond.tail(amplitude, wave, place, &wanted) else {
            return found.unproven(Unproven::Tail);
        };
        if count > computed.count() {
            let mut source = self.areas(amplitude, count);
            computed.extend_to(&mut source, count, (&tail, demand));
            // The data of the accelerator end before the feature.
            found = found.unproven(Unproven::Tail);
        }
        self.examined(amplitude, computed, (found, &tail), demand)
    }

    /// The outcome after a look at what the nodes of head and areas may miss.
    fn examined(
        &self,
        amplitude: &mut impl Function,
        mut computed: Computed,
        (mut found, tail): (Integral, &Tail),
        demand: &Demand,
    ) -> Integral {
        let mut classified = computed.with_tail(found, tail, demand);
        let count = computed.count();
        let most = self.settings.counts().1;
        let zeros = self
            .oscillator
            .zeros_beyond(self.omega * self.lower, count + 1);
        let places = Places {
            lower: self.lower,
            zeros: &zeros,
            omega: Interval::point(self.omega),
            gap: Kronrod::new(self.settings.gauss).gap(),
            step: STEP,
            roundoff: self.settings.roundoff,
            rise: Places::rise(self.oscillator),
        };
        // Once more, if the value that is found asks for more.
        for _ in 0..LOOKS {
            if !matches!(classified.status, Status::Ok | Status::NotConverged) {
                return classified;
            }
            // Of integrals all of whose samples are zero: what is next to nothing beside a peak of height 1.
            let tolerance = match demand.tolerance(classified.value) {
                0.0 => LEAST_HIDDEN / self.omega,
                tolerance if classified.status == Status::Ok => tolerance,
                tolerance => tolerance.max(classified.error),
            };
            let hidden = amplitude.enclosed().and_then(|mut g| {
                let goal = classified.error.max(SHARP * tolerance);
                Look::new(&mut g, places, (tolerance, goal)).hidden(|k| computed.panels(k))
            });
            let Some(hidden) = hidden else {
                return classified.unproven(Unproven::Nodes);
            };
            if hidden.is_empty() {
                return classified.hiding(hidden.unseen, demand);
            }
            let mut source = self.areas(amplitude, count);
            let target = 0.03 * tolerance / count as f64;
            if !computed.look_closer(&mut source, &hidden, (target, demand)) {
                classified = computed.with_tail(found, tail, demand);
                return classified.hiding(hidden.unseen, demand);
            }
            found = if count > most {
                Integral::without_value(Status::NotConverged)
            } else {
                computed.classify(&mut source, demand)
            };
            classified = computed.with_tail(found, tail, demand);
            if demand.tolerance(classified.value) >= tolerance {
                return classified.hiding(hidden.unseen, demand);
            }
        }
        classified.unproven(Unproven::Nodes)
    }
}

/// Part of the tolerance below which nothing is asked of what may hide.
const SHARP: f64 = 1e-4;

/// Looks at an integral's head and areas at most.
const LOOKS: usize = 3;

/// Least that is looked for, of integrals all of whose samples are zero.
const LEAST_HIDDEN: f64 = 1e-16;

/// Whether an amplitude that is zero in all nodes of the head has a peak at the lower limit, narrower than the nodes are apart there.
fn has_narrow_peak(amplitude: &mut impl Function, lower: f64, end: f64) -> bool {
    // Four samples a decade, down to the least number with all digits.
    let distances = (0..1220).map(|k| (end - lower) * 10f64.powf(-0.25 * f64::from(k)));
    let mut areas = distances.map(|d| d * amplitude.at(lower + d).abs());
    areas.any(|area| area.is_nan() || area > f64::MIN_POSITIVE)
}

/// Integral of f(x) from `lower` to infinity, between given boundaries.
pub(super) fn between(
    mut integrand: impl Function,
    lower: f64,
    boundaries: &Boundaries,
    settings: &Settings,
) -> Result<Integral> {
    settings.check()?;
    let (start, most) = settings.counts();
    let points = if lower.is_finite() {
        boundaries.from(lower, most + 1)
    } else {
        None
    };
    // Eight areas that alternate are the least.
    let Some(points) = points.filter(|points| points.len() > *AREAS.start()) else {
        return Ok(Integral::without_value(Status::InvalidArgument));
    };
    let most = points.len() - 1;
    let start = start.min(most);
    let accuracy = settings.accuracy.unwrap_or(4.0 * f64::EPSILON);
    let demand = settings.demand(accuracy);
    let mut source = Plain {
        integrand: &mut integrand,
        lower,
        boundaries: points,
        kronrod: Kronrod::new(settings.gauss),
        accuracy: Accuracy {
            relative: accuracy,
            argument: 0.25 * std::f64::consts::PI * settings.roundoff,
            absolute: settings.absolute_accuracy,
            roundoff: settings.roundoff,
            thorough: settings.thorough(),
        },
        exponent: settings.exponent(),
    };
    let mut computed = Computed::new(&mut source, start, &demand);
    let mut found = computed.classify(&mut source, &demand);
    if start < most && worth_more(found.status) {
        computed.extend(&mut source, most);
        found = better(found, computed.classify(&mut source, &demand));
    }
    let Boundaries::HalfPeriod { half_period, .. } = *boundaries else {
        // Nothing is known of the integrand's zeros further out.
        let examined = source.boundaries.last().copied().unwrap_or(lower);
        let features = Features {
            computed: &mut computed,
            demand: &demand,
            found,
            start,
            examined,
        };
        return Ok(features.none());
    };
    // Two sequences of samples a half period apart, whose signs alternate.
    let count = computed.count();
    let begin = count.saturating_sub(BEFORE);
    let Some(&edge) = source.boundaries.get(begin) else {
        return Ok(found);
    };
    let mut sequences = [0.25, 0.75].map(|part| {
        let mut sign = -half_period;
        let place = |k: usize| edge + (k as f64 + part) * half_period;
        let samples = (0..settings.beyond + BEFORE).map(|k| {
            sign = -sign;
            sign * source.integrand.at(place(k))
        });
        samples.collect::<Vec<f64>>()
    });
    let features = Features {
        computed: &mut computed,
        demand: &demand,
        found,
        start,
        examined: edge + (settings.beyond + BEFORE) as f64 * half_period,
    };
    let phase = source.accuracy.argument * (edge / half_period + settings.beyond as f64).abs();
    let noise = (
        4.0 * (accuracy + phase),
        half_period * settings.absolute_accuracy,
    );
    let ends = sequences
        .iter_mut()
        .filter_map(|samples| features.last(samples, noise, 1));
    let Some(end) = ends.max() else {
        return Ok(features.none());
    };
    let count = begin + end;
    let Some(points) = boundaries.from(lower, count + start + 1) else {
        return Ok(found.unproven(Unproven::Samples));
    };
    source.boundaries = points;
    Ok(features.beyond(&mut source, count, settings.beyond))
}

/// An integral whose integrand was sampled beyond its areas.
struct Features<'a> {
    computed: &'a mut Computed,
    demand: &'a Demand,
    found: Integral,
    start: usize,
    /// Where the samples end.
    examined: f64,
}

impl Features<'_> {
    /// The half period in which the last feature of the samples ends, from the first sample on.
    fn last(&self, samples: &[f64], noise: (f64, f64), each: usize) -> Option<usize> {
        let threshold = if self.computed.is_nothing() {
            0.0
        } else {
            match self.found.status {
                Status::Ok => self
                    .found
                    .error
                    .max(THRESHOLD * self.demand.tolerance(self.found.value)),
                _ => return None,
            }
        };
        let end = last_feature(samples, threshold, noise)?;
        Some(end.div_ceil(each))
    }

    /// The outcome where there is no feature.
    fn none(&self) -> Integral {
        if self.found.status == Status::Ok && self.computed.is_nothing() {
            // A function that is zero wherever it was looked at may be anything.
            return Integral::without_value(Status::PremiseViolated);
        }
        self.found.sampled(self.examined)
    }

    /// The outcome with the areas before number `count` added to the head.
    fn beyond(self, source: &mut dyn HalfCycles, count: usize, most: usize) -> Integral {
        if count > self.computed.count() + most {
            return self.found.unproven(Unproven::Samples);
        }
        self.computed.fold(source, count, self.demand);
        self.computed.extend(source, count + self.start);
        let found = self.computed.classify(source, self.demand);
        found.sampled(self.examined)
    }
}

/// Part of the tolerance up to which what samples show beyond the areas is nothing.
const THRESHOLD: f64 = 0.25;

/// Whether more areas may lead to a value.
fn worth_more(status: Status) -> bool {
    matches!(status, Status::PremiseViolated | Status::NotConverged)
}

/// The outcome with more areas. If it is not finite or has a larger error than the one with fewer areas, that one is returned unchanged.
fn better(fewer: Integral, more: Integral) -> Integral {
    match (fewer.status, more.status) {
        (Status::NotConverged, Status::NotConverged | Status::NotFinite)
            if fewer.error <= more.error =>
        {
            fewer
        }
        (Status::PremiseViolated, Status::NotFinite) => fewer,
        _ => more,
    }
}
