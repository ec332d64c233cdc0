//! Numbers of results that JSON lacks are null.

/// Declares a module for `#[serde(with)]`; `None` is this number.
macro_rules! nothing_for {
    ($(#[$doc:meta])* $name:ident: $number:expr) => {
        $(#[$doc])*
        pub(crate) mod $name {
            use serde::{Deserialize, Deserializer, Serialize, Serializer};

            pub(crate) fn serialize<S: Serializer>(
                value: &f64,
                serializer: S,
            ) -> Result<S::Ok, S::Error> {
                let finite = value.is_finite().then_some(*value);
                finite.serialize(serializer)
            }

            pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
                deserializer: D,
            ) -> Result<f64, D::Error> {
                Ok(Option::deserialize(deserializer)?.unwrap_or($number))
            }
        }
    };
}
nothing_for! {
    /// For a number that may be infinite.
    or_infinite: f64::INFINITY
}
nothing_for! {
    /// For one that may be none at all.
    or_nan: f64::NAN
}
