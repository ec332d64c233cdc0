//! The case files that `--example` prints: those of `examples/flow`.

use serde::{Deserialize, Serialize};

/// A case that comes with the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(in crate::cli) enum Example {
    /// A cylinder at Mach 10.
    Cylinder,
    /// A flat plate at incidence.
    Plate,
    /// A slot into vacuum.
    Slot,
    /// A step in a channel.
    Step,
    /// A porous medium of discs.
    Porous,
    /// A Knudsen pump.
    Pump,
    /// A comb drive.
    Comb,
    /// The leading edge of a plate.
    Edge,
    /// A plume from a nozzle.
    Plume,
    /// A driven cavity across the grid.
    Cavity,
    /// An aerofoil.
    Airfoil,
    /// A sphere in space.
    Sphere,
    /// A capsule at an angle of attack.
    Capsule,
    /// A satellite with panels.
    Satellite,
    /// A long duct of square section.
    Channel,
    /// A porous medium of spheres.
    Porous3d,
    /// A round tube between two vessels.
    Tube,
    /// A round hole in a thin plate, into vacuum.
    Orifice,
    /// A round nozzle.
    Nozzle,
    /// A skimmer in a fast stream.
    Skimmer,
    /// A blunted cone at Mach 10, round its axis.
    Probe,
    /// A cylinder in air at Mach 2.
    Air,
}

impl Example {
    /// Names of all, as the flag takes them.
    pub(in crate::cli) const NAMES: [&'static str; 22] = [
        "cylinder",
        "plate",
        "slot",
        "step",
        "porous",
        "pump",
        "comb",
        "edge",
        "plume",
        "cavity",
        "airfoil",
        "sphere",
        "capsule",
        "satellite",
        "channel",
        "porous3d",
        "tube",
        "orifice",
        "nozzle",
        "skimmer",
        "probe",
        "air",
    ];

    /// The case file.
    pub(in crate::cli) fn text(self) -> &'static str {
        macro_rules! file {
            ($name:literal) => {
                include_str!(concat!("../../../../examples/flow/", $name, ".toml"))
            };
        }
        match self {
            Self::Cylinder => file!("cylinder"),
            Self::Plate => file!("plate"),
            Self::Slot => file!("slot"),
            Self::Step => file!("step"),
            Self::Porous => file!("porous"),
            Self::Pump => file!("pump"),
            Self::Comb => file!("comb"),
            Self::Edge => file!("edge"),
            Self::Plume => file!("plume"),
            Self::Cavity => file!("cavity"),
            Self::Airfoil => file!("airfoil"),
            Self::Sphere => file!("sphere"),
            Self::Capsule => file!("capsule"),
            Self::Satellite => file!("satellite"),
            Self::Channel => file!("channel"),
            Self::Porous3d => file!("porous3d"),
            Self::Tube => file!("tube"),
            Self::Orifice => file!("orifice"),
            Self::Nozzle => file!("nozzle"),
            Self::Skimmer => file!("skimmer"),
            Self::Probe => file!("probe"),
            Self::Air => file!("air"),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde::de::IntoDeserializer;
    use serde::de::value::{Error, StrDeserializer};

    use super::*;

    #[test]
    fn examples_are_cases_that_resolve() {
        for name in Example::NAMES {
            let from: StrDeserializer<Error> = name.into_deserializer();
            let text = Example::deserialize(from).expect("an example").text();
            let case = super::super::file::parsed(text, |_| {});
            assert!(case.is_ok(), "{name}: {case:?}");
            assert!(text.starts_with("# "), "{name} says first what it is");
            assert!(text.contains(&format!("rarefy flow {name}.toml")), "{name}");
        }
    }
}
