//! `rarefy rates`: relaxation rates, viscosity and errors of the discrete collision operator against exact values.

mod parameters;
mod results;
mod verify;

use std::time::Instant;

use super::failure::Failure;
use super::progress::Progress;
use super::report::Report;
use super::verify::{Verified, VerifyArgs};
use crate::collision::transport::{self, BKW_K, Flux, RATES_HALF_WIDTH, Study};
use crate::collision::{
    CollisionOperator, CorrectionMethod, Method, OperatorConfig, Order, VelocityGrid,
};
use parameters::Methods;
pub(super) use parameters::{Grids, RatesArgs};
use results::{Exact, Outcome};

/// The corrections, in the order of the tables.
const VARIANTS: [CorrectionMethod; 3] = [
    CorrectionMethod::None,
    CorrectionMethod::Paper,
    CorrectionMethod::Balanced,
];

/// Measures on grids of all sizes, with coefficients of one order or of both, the spectral method, and one correction or all.
fn studies(
    base: &OperatorConfig,
    sizes: &[usize],
    methods: Methods,
    (order, correction): (Option<Order>, Option<CorrectionMethod>),
    (args, quiet): (&VerifyArgs, bool),
    report: &mut Report,
) -> std::result::Result<Vec<(Study, Verified)>, Failure> {
    let corrections = correction.map_or(VARIANTS.to_vec(), |correction| vec![correction]);
    let orders = order.map_or(vec![Order::Second, Order::Fourth], |order| vec![order]);
    let (nodal, spectral) = methods.parts();
    let sums = nodal.map(|method| orders.into_iter().map(move |order| (method, order)));
    let transforms = spectral.then_some((Method::Spectral, Order::Fourth));
    let variants: Vec<(Method, Order, CorrectionMethod)> = sums
        .into_iter()
        .flatten()
        .chain(transforms)
        .flat_map(|(method, order)| {
            corrections
                .iter()
                .map(move |&correction| (method, order, correction))
        })
        .collect();

    // Work grows about as the square of the number of cells.
    let work = |n: usize| (n as f64).powi(6);
    let total = sizes.iter().map(|&n| work(n)).sum::<f64>() * variants.len() as f64;
    let mut progress = Progress::new("rates", quiet);
    let mut done = 0.0;
    let mut studies = Vec::new();
    for &(method, order, correction) in &variants {
        let name = match method {
            Method::Spectral => "spectral".into(),
            _ => format!("order {order}"),
        };
        for &n in sizes {
            progress.update(done / total, || format!("{n}^3 velocities, {name}"));
            let config = OperatorConfig {
                method,
                order,
                correction,
                ..base.clone()
            };
            let study = Study::of(&config, n)?;
            // One line a grid, whatever is measured on it.
            if (method, order, correction) == variants[0]
                && let Some(warning) = study.warning()
            {
                report.warn(warning);
            }
            let errors = verify::errors(&config, &study, args, true)?;
            studies.push((study, errors));
            done += work(n);
        }
    }
    progress.finish();
    Ok(studies)
}

/// Runs the measurements.
pub(super) fn run(args: &RatesArgs) -> std::result::Result<(), Failure> {
    let common = &args.common;
    let started = Instant::now();
    let sizes = args.grids.sizes();
    let full = RatesArgs {
        grids: args.grids.full(),
        ..args.clone()
    };
    if args.order.is_some() && args.method == Methods::Spectral {
        return Err(Failure::Usage(
            "--order belongs to the sums over the nodes; the spectral method has none".into(),
        ));
    }
    if args.verify.accuracy.is_some() {
        return Err(Failure::Usage(
            "--accuracy has no effect with rates, which compares grids with exact values; choose them with --grid or --convergence".into(),
        ));
    }
    let mut report = Report::new("rates", &full, common, started);
    report.open()?;

    let largest = sizes.last().copied().unwrap_or(VelocityGrid::MIN_N);
    let base = OperatorConfig {
        scattering: args.molecules,
        method: args.method.parts().0.unwrap_or(Method::Spectral),
        compute: common.compute(),
        ..OperatorConfig::paper(VelocityGrid::new(
            largest,
            -RATES_HALF_WIDTH,
            RATES_HALF_WIDTH,
        )?)
    };
    let machine = CollisionOperator::new(base.clone())?.device();
    let studies = studies(
        &base,
        &sizes,
        args.method,
        (args.order, args.correction),
        (&args.verify, common.quiet),
        &mut report,
    )?;
    let (studies, errors): (Vec<_>, Vec<_>) = studies.into_iter().unzip();
    report.time("studies", started.elapsed());

    let outcome = Outcome {
        model: args.molecules,
        machine,
        precision: common.precision,
        exact: Exact {
            shear: transport::exact_decay_rate(args.molecules, 1.0, Flux::Shear),
            heat: transport::exact_decay_rate(args.molecules, 1.0, Flux::Heat),
            viscosity: transport::exact_viscosity(args.molecules, 1.0),
            fourth_rate: 5.0 * (1.0 - BKW_K).powi(2),
        },
        studies,
        errors,
        convergence: sizes.len() > 1,
    };
    outcome.report(&mut report);
    report.write(|out| outcome.write(out))?;
    report.finish(|total| outcome.summary(total))
}
