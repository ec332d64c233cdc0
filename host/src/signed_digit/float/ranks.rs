//! Sums over the ranks of a distributed computation.

use super::accumulator::ExactAccumulator;
use crate::distributed::Transport;
use crate::error::Result;

impl ExactAccumulator {
    /// Merges the accumulators of all ranks; each rank then holds the sum of all. All ranks call it.
    ///
    /// The sum has the same bits for every number of ranks and every division of the addends among them. Each rank sends [`BYTES`](Self::BYTES) bytes to every
    /// other, as [`to_bytes`](Self::to_bytes) makes them.
    ///
    /// ```
    /// use rarefy::distributed::{Threads, Transport};
    /// use rarefy::signed_digit::float::ExactAccumulator;
    ///
    /// let x = [1e16, 1.0, -1e16, 0.25, 0.5, 1e-300];
    /// let sum = |transport: Threads| {
    ///     let part = x.chunks(2).nth(transport.rank()).unwrap_or_default();
    ///     let mut sum = ExactAccumulator::sum(part);
    ///     sum.all_reduce(&transport)?;
    ///     Ok::<f64, rarefy::Error>(sum.round())
    /// };
    /// let sums: Vec<_> = std::thread::scope(|scope| {
    ///     let ranks = Threads::all(3).into_iter().map(|rank| scope.spawn(|| sum(rank)));
    ///     ranks.collect::<Vec<_>>().into_iter().map(|rank| rank.join().unwrap()).collect()
    /// });
    /// for sum in sums {
    ///     assert_eq!(sum?, 1.75);
    /// }
    /// # Ok::<(), rarefy::Error>(())
    /// ```
    ///
    /// # Errors
    /// A rank that is no longer there, or that sends other bytes than a saved sum.
    pub fn all_reduce(&mut self, transport: &dyn Transport) -> Result<()> {
        let mut total = Self::new();
        for bytes in transport.gather(&self.to_bytes())? {
            total.merge(&Self::from_bytes(&bytes)?);
        }
        *self = total;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distributed::{Alone, Threads};

    /// Addends over the whole range, whose sums cancel to what no rank has alone.
    fn addends(count: usize) -> Vec<f64> {
        let of = |k: usize| {
            let bits = (k as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) & !(1 << 62);
            f64::from_bits(bits)
        };
        let x = (0..count).map(of);
        x.clone()
            .chain(x.map(|x| -x))
            .chain([5e-324, 1.5])
            .collect()
    }

    #[test]
    fn sums_have_the_same_bits_on_any_number_of_ranks() {
        let x = addends(500);
        let alone = ExactAccumulator::sum(&x);
        assert_eq!(alone.round::<f64>(), 1.5);
        for ranks in [1, 2, 3, 7] {
            let length = x.len().div_ceil(ranks);
            let sums = Threads::on_all(ranks, |transport| {
                let mut sum =
                    ExactAccumulator::sum(x.chunks(length).nth(transport.rank()).unwrap());
                sum.all_reduce(&transport).unwrap();
                sum
            });
            assert!(sums.iter().all(|sum| sum.to_bytes() == alone.to_bytes()));
        }
        let mut sum = alone.clone();
        sum.all_reduce(&Alone).unwrap();
        assert_eq!(sum, alone);
    }

    #[test]
    fn a_rank_that_sends_other_bytes_is_an_error() {
        let results = Threads::on_all(2, |transport| {
            if transport.rank() == 0 {
                transport.gather(b"rarefy exact sum 2\n").unwrap();
                return None;
            }
            ExactAccumulator::new()
                .all_reduce(&transport)
                .err()
                .map(|error| error.to_string())
        });
        let error = results[1].as_deref().unwrap_or_default();
        assert!(error.contains("a saved exact sum"), "{error}");
    }

    #[test]
    fn special_values_of_one_rank_are_those_of_all() {
        let parts = [vec![1.0, f64::INFINITY], vec![], vec![-0.0]];
        let sums = Threads::on_all(3, |transport| {
            let mut sum = ExactAccumulator::sum(&parts[transport.rank()]);
            sum.all_reduce(&transport).unwrap();
            (sum.round::<f64>(), sum.count())
        });
        assert_eq!(sums, [(f64::INFINITY, 3); 3]);
    }
}
