//! Vectors as a case has them: of two numbers in a plane, of three in space.

use serde::{Deserialize, Serialize, Serializer};

/// A vector. Its component along z is zero where it is given by two numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(from = "Numbers")]
pub struct Vector(pub [f64; 3]);

#[derive(Deserialize)]
#[serde(untagged, expecting = "two numbers, or three in space")]
enum Numbers {
    Plane([f64; 2]),
    Space([f64; 3]),
}

impl From<Numbers> for Vector {
    fn from(numbers: Numbers) -> Self {
        match numbers {
            Numbers::Plane(numbers) => numbers.into(),
            Numbers::Space(numbers) => Self(numbers),
        }
    }
}

impl From<[f64; 2]> for Vector {
    fn from([x, y]: [f64; 2]) -> Self {
        Self([x, y, 0.0])
    }
}

impl Vector {
    /// Its part in the x-y plane.
    pub(in crate::flow) fn plane(&self) -> [f64; 2] {
        [self.0[0], self.0[1]]
    }
}

impl Serialize for Vector {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0[2] {
            0.0 => self.plane().serialize(serializer),
            _ => self.0.serialize(serializer),
        }
    }
}
