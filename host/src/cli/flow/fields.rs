//! Fields of the cells of a flow as an image for VTK.

use crate::bgk::{Moments, Space, Units};
use crate::cli::vti::Image;

/// The fields of cells, in SI units if these are given, under names that say so.
pub(in crate::cli) fn image(
    space: &Space,
    moments: &[Moments],
    units: Option<&Units>,
) -> Image<'static> {
    let [density, velocity, temperature, pressure, heat_flux, length] =
        units.map_or([1.0; 6], |units| {
            [
                units.density_kg_m3,
                units.velocity_m_s,
                units.temperature_k,
                units.pressure_pa,
                units.heat_flux_w_m2,
                units.length_m,
            ]
        });
    let named = |plain, si| if units.is_some() { si } else { plain };
    let scalar = |scale: f64, of: fn(&Moments) -> f64| -> Vec<f64> {
        moments.iter().map(|m| scale * of(m)).collect()
    };
    let vector = |scale: f64, of: fn(&Moments) -> [f64; 2]| -> Vec<[f64; 3]> {
        let values = moments.iter().map(of);
        values.map(|[x, y]| [scale * x, scale * y, 0.0]).collect()
    };
    let low = |direction: usize| length * space.bounds(direction)[0];
    let width = |direction: usize, cells: usize| {
        let [from, to] = space.bounds(direction);
        length * (to - from) / cells as f64
    };
    let across = width(0, space.nx());
    let line = space.dimensions() == 1;
    Image {
        cells: [space.nx(), space.ny()],
        origin: [low(0), if line { 0.0 } else { low(1) }],
        spacing: [across, if line { across } else { width(1, space.ny()) }],
        scalars: vec![
            (
                named("density", "density_kg_m3"),
                scalar(density, |m| m.density),
            ),
            (
                named("temperature", "temperature_k"),
                scalar(temperature, |m| m.temperature),
            ),
            (named("pxx", "pxx_pa"), scalar(pressure, |m| m.pressure[0])),
            (named("pyy", "pyy_pa"), scalar(pressure, |m| m.pressure[1])),
            (named("pxy", "pxy_pa"), scalar(pressure, |m| m.pressure[2])),
        ],
        vectors: vec![
            (
                named("velocity", "velocity_m_s"),
                vector(velocity, |m| m.velocity),
            ),
            (
                named("heat_flux", "heat_flux_w_m2"),
                vector(heat_flux, |m| m.heat_flux),
            ),
        ],
    }
}
