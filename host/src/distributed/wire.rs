//! Numbers as the bytes of a message.

use rarefy_kernels::Real;

use crate::error::{Error, Result};

/// Appends numbers in the size of their type.
pub(crate) fn put<T: Real>(bytes: &mut Vec<u8>, values: impl IntoIterator<Item = T>) {
    for value in values {
        let value = value.to_f64();
        if size_of::<T>() == size_of::<f32>() {
            bytes.extend((value as f32).to_le_bytes());
        } else {
            bytes.extend(value.to_le_bytes());
        }
    }
}

/// Takes numbers out of a message, one after the other.
pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// The next number.
    pub(crate) fn next<T: Real>(&mut self) -> Result<T> {
        let short = || Error::Numerical("a message of another rank is too short".to_owned());
        if size_of::<T>() == size_of::<f32>() {
            let (word, rest) = self.0.split_first_chunk().ok_or_else(short)?;
            self.0 = rest;
            Ok(T::from_f64(f64::from(f32::from_le_bytes(*word))))
        } else {
            let (word, rest) = self.0.split_first_chunk().ok_or_else(short)?;
            self.0 = rest;
            Ok(T::from_f64(f64::from_le_bytes(*word)))
        }
    }
}

/// All numbers of a message.
pub(crate) fn values<T: Real>(bytes: &[u8]) -> Result<Vec<T>> {
    let mut reader = Reader::new(bytes);
    (0..bytes.len() / size_of::<T>())
        .map(|_| reader.next())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_to_the_bit() {
        let numbers = [0.1, -0.0, f64::MIN_POSITIVE, 1e300];
        let mut bytes = Vec::new();
        put(&mut bytes, numbers);
        let back: Vec<f64> = values(&bytes).unwrap();
        assert!(
            back.iter()
                .zip(numbers)
                .all(|(a, b)| a.to_bits() == b.to_bits())
        );
        let mut bytes = Vec::new();
        put(&mut bytes, [0.1_f32, f32::NAN]);
        assert_eq!(bytes.len(), 8);
        let back: Vec<f32> = values(&bytes).unwrap();
        assert!(back[0].to_bits() == 0.1_f32.to_bits() && back[1].is_nan());
        assert!(Reader::new(&bytes[..3]).next::<f32>().is_err());
    }
}
