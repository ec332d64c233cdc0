//! Names of the files that commands write into a folder. A folder with a foreign file of such a name is refused before anything is computed.

use std::path::Path;

use super::report_page::PAGE;

/// Name of the record in a run's folder.
pub(super) const RECORD: &str = "run.json";

/// Name of the checkpoint in the run's folder.
pub(super) const CHECKPOINT: &str = "checkpoint.rarefy";

/// Name of the one before it.
pub(super) const PREVIOUS: &str = "checkpoint.previous.rarefy";

/// Folder of the files that a run writes on its way, below its own.
pub(super) const SERIES: &str = "series";

/// Folder of the files that a run writes on its way which replaces another, until its end.
pub(super) const NEW: &str = "rarefy-new";

/// Start of the name of a file that is not yet whole.
pub(super) const TEMPORARY: &str = ".rarefy-";

/// Fields of a cavity, in the units of the solver and in SI units.
const CAVITY: [&str; 38] = [
    "grid_x.npy",
    "grid_y.npy",
    "grid_x_m.npy",
    "grid_y_m.npy",
    "density.npy",
    "density_kg_m3.npy",
    "temperature.npy",
    "temperature_k.npy",
    "temperature_translational.npy",
    "temperature_translational_k.npy",
    "temperature_rotational.npy",
    "temperature_rotational_k.npy",
    "heat_flux_rotational.npy",
    "heat_flux_rotational_w_m2.npy",
    "pxx.npy",
    "pxx_pa.npy",
    "pyy.npy",
    "pyy_pa.npy",
    "pxy.npy",
    "pxy_pa.npy",
    "velocity.npy",
    "velocity_m_s.npy",
    "heat_flux.npy",
    "heat_flux_w_m2.npy",
    "fields.vti",
    "fields_si.vti",
    "fields.pvd",
    "vertical.csv",
    "horizontal.csv",
    "history.csv",
    "profiles.png",
    "streamlines.png",
    "temperature.png",
    "sweep.csv",
    "sweep.png",
    CHECKPOINT,
    PREVIOUS,
    RECORD,
];

/// All names of files that a command writes into its folder.
pub(super) fn of(command: &str) -> Vec<String> {
    let listed = listed(command);
    let pictures = listed.iter().filter_map(|name| name.strip_suffix(".png"));
    let mut names: Vec<String> = pictures.map(|name| format!("{name}.svg")).collect();
    // A record alone has no page.
    if listed.len() > 1 {
        names.push(PAGE.to_owned());
    }
    names.extend(listed.iter().map(|name| (*name).to_owned()));
    names
}

/// Whether the files that a run writes on its way have such a name.
pub(super) fn is_of_series(name: &str) -> bool {
    let numbered = |start: &str, end: &str| {
        let digits = name
            .strip_prefix(start)
            .and_then(|rest| rest.strip_suffix(end));
        digits
            .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
    };
    let of_axis = |what: &str| {
        ["vx", "vy", "vz"]
            .iter()
            .any(|v| name == format!("{what}_{v}.npy"))
    };
    numbered("fields-", ".vti") || numbered("f-", ".npy") || of_axis("grid") || of_axis("weights")
}

/// The folder that holds `path`.
pub(super) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

fn listed(command: &str) -> &'static [&'static str] {
    match command {
        "cavity" => &CAVITY,
        "collide" => &[
            "q.npy",
            "grid_v.npy",
            "gain.npy",
            "nu.npy",
            "cross_sections.csv",
            "cross_section_x.png",
            RECORD,
        ],
        "couette" | "fourier" | "poiseuille" => &[
            "profile.csv",
            "residuals.csv",
            "profile.png",
            "residuals.png",
            "sweep.csv",
            "sweep.png",
            RECORD,
        ],
        "tube" => &["tube.csv", "tube.png", RECORD],
        "dft" => &["spectrum.npy", "spectrum.csv", "spectrum.png", RECORD],
        "flow" => &[
            "case.toml",
            "surface.csv",
            "walls.vtp",
            "history.csv",
            "flow.vti",
            "flow.vtr",
            "flow_si.vti",
            "flow_si.vtr",
            "speed.png",
            "density.png",
            "temperature.png",
            "rotation.png",
            "surface.png",
            "pressure.png",
            "residuals.png",
            RECORD,
        ],
        "isotropic" => &[
            "grid_energy.npy",
            "f_initial.npy",
            "f_final.npy",
            "gain.npy",
            "frequency.npy",
            "rate.npy",
            "moments.csv",
            "distribution.csv",
            "rates.csv",
            "distribution.png",
            "moments.png",
            "rates.png",
            CHECKPOINT,
            PREVIOUS,
            RECORD,
        ],
        "longman" => &["results.csv", "errors.png", "table.png", RECORD],
        "market" => &[
            "grid_wealth.npy",
            "f_final.npy",
            "p_final.npy",
            "market.csv",
            "inequality.csv",
            "distribution.csv",
            "lorenz.csv",
            "distribution_f.png",
            "distribution_P.png",
            "inequality.png",
            RECORD,
        ],
        "paper bench" => &["bench.csv", RECORD],
        "paper digits" => &[
            "figure_2.csv",
            "figure_2.png",
            "figure_3.csv",
            "figure_3.png",
            RECORD,
        ],
        "paper frontier" => &["frontier.csv", "frontier.png", RECORD],
        // Of the benches collision, bgk, longman and signed_digit.
        "paper timings" => &[
            "timings.png",
            "figures_line.csv",
            "figures_plane.csv",
            "figure_2.png",
            "figure_3.png",
            "figure_4.png",
            "figure_5.png",
            "figure_6.png",
            "figure_7.png",
            "times.csv",
            "figure_11.csv",
            "figure_11.png",
            "figure_7_8.png",
            "figure_9.png",
            "figure_10_12_13.png",
            "packed.png",
            RECORD,
        ],
        "rates" => &[
            "rates.csv",
            "errors.csv",
            "errors.png",
            "rates.png",
            "viscosity.png",
            RECORD,
        ],
        "relax" => &[
            "history.csv",
            "grid_v.npy",
            "f_initial.npy",
            "f_final.npy",
            "cross_sections.npy",
            "cross_sections.csv",
            "cross_section_x.png",
            "cross_section_y.png",
            "moments.png",
            "entropy.png",
            CHECKPOINT,
            PREVIOUS,
            RECORD,
        ],
        "shock" => &[
            "profile.csv",
            "history.csv",
            "fields.pvd",
            "profile.png",
            "sweep.csv",
            "sweep.png",
            CHECKPOINT,
            PREVIOUS,
            RECORD,
        ],
        "sum" => &["sums.npy", RECORD],
        "paper validate" => &[
            "plates.csv",
            "cavities.csv",
            "centre_lines.csv",
            "shocks.csv",
            "profiles.csv",
            "rarefaction.csv",
            "models.csv",
            "models.png",
            "centre_lines.png",
            "shocks.png",
            RECORD,
        ],
        // `sum` and `dot`.
        _ => &[RECORD],
    }
}
