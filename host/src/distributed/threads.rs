//! Ranks that are threads of one process.

use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};

use super::{Parcel, Transport, wrong_length};
use crate::error::{Error, Result};

/// A rank that is a thread of this process: messages go through channels.
#[derive(Debug)]
pub struct Threads {
    rank: usize,
    /// To each rank, and from each.
    to: Vec<Sender<Message>>,
    from: Vec<Mutex<Receiver<Message>>>,
}

#[derive(Debug)]
enum Message {
    Bytes(Vec<u8>),
    Parcel(Parcel),
}

impl Threads {
    /// So many ranks that know each other, in their order.
    pub fn all(ranks: usize) -> Vec<Self> {
        let mut all: Vec<Self> = (0..ranks)
            .map(|rank| Self {
                rank,
                to: Vec::new(),
                from: Vec::new(),
            })
            .collect();
        for sender in 0..ranks {
            for receiver in 0..ranks {
                let (to, from) = channel();
                all[sender].to.push(to);
                all[receiver].from.push(Mutex::new(from));
            }
        }
        all
    }

    fn send(&self, rank: usize, message: Message) -> Result<()> {
        let sent = self.to.get(rank).map(|to| to.send(message));
        match sent {
            Some(Ok(())) => Ok(()),
            _ => Err(ended(rank)),
        }
    }

    fn receive(&self, rank: usize) -> Result<Message> {
        let from = self.from.get(rank).ok_or_else(|| ended(rank))?;
        let from = from.lock().map_err(|_| ended(rank))?;
        from.recv().map_err(|_| ended(rank))
    }

    fn receive_bytes(&self, rank: usize) -> Result<Vec<u8>> {
        match self.receive(rank)? {
            Message::Bytes(bytes) => Ok(bytes),
            Message::Parcel(_) => Err(different(rank)),
        }
    }
}

fn different(rank: usize) -> Error {
    Error::Numerical(format!(
        "rank {rank} sent another kind of message: all ranks must run the same case"
    ))
}

fn ended(rank: usize) -> Error {
    Error::Numerical(format!("rank {rank} ended before this one"))
}

impl Transport for Threads {
    fn describe(&self) -> String {
        "threads of one process".to_owned()
    }

    fn rank(&self) -> usize {
        self.rank
    }

    fn ranks(&self) -> usize {
        self.to.len()
    }

    fn swap(
        &self,
        neighbours: [Option<usize>; 2],
        out: [&[u8]; 2],
        into: [&mut [u8]; 2],
    ) -> Result<()> {
        // Of two messages to one rank the order decides: what flies high comes first, at both ends.
        for side in [1, 0] {
            if let Some(rank) = neighbours[side] {
                self.send(rank, Message::Bytes(out[side].to_vec()))?;
            }
        }
        for (neighbour, into) in neighbours.into_iter().zip(into) {
            let Some(rank) = neighbour else { continue };
            let bytes = self.receive_bytes(rank)?;
            if bytes.len() != into.len() {
                return Err(wrong_length(rank, bytes.len(), self.rank, into.len()));
            }
            into.copy_from_slice(&bytes);
        }
        Ok(())
    }

    fn gather(&self, own: &[u8]) -> Result<Vec<Vec<u8>>> {
        for rank in 0..self.ranks() {
            self.send(rank, Message::Bytes(own.to_vec()))?;
        }
        (0..self.ranks())
            .map(|rank| self.receive_bytes(rank))
            .collect()
    }

    fn in_one_process(&self) -> bool {
        true
    }

    fn hand(
        &self,
        neighbours: [Option<usize>; 2],
        out: [Option<Parcel>; 2],
    ) -> Result<[Option<Parcel>; 2]> {
        let [low, high] = out;
        // In the order of `swap`.
        for (side, parcel) in [(1, high), (0, low)] {
            if let (Some(rank), Some(parcel)) = (neighbours[side], parcel) {
                self.send(rank, Message::Parcel(parcel))?;
            }
        }
        let mut into = [None, None];
        for (neighbour, into) in neighbours.into_iter().zip(&mut into) {
            let Some(rank) = neighbour else { continue };
            match self.receive(rank)? {
                Message::Parcel(parcel) => *into = Some(parcel),
                Message::Bytes(_) => return Err(different(rank)),
            }
        }
        Ok(into)
    }
}

#[cfg(test)]
impl Threads {
    /// The results of all ranks, in their order.
    pub(crate) fn on_all<R: Send>(ranks: usize, work: impl Fn(Self) -> R + Sync) -> Vec<R> {
        std::thread::scope(|scope| {
            let work = &work;
            let threads: Vec<_> = Self::all(ranks)
                .into_iter()
                .map(|rank| scope.spawn(move || work(rank)))
                .collect();
            threads
                .into_iter()
                .map(|thread| thread.join().expect("a rank"))
                .collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_swap_even_if_one_rank_is_both() {
        let found = Threads::on_all(2, |rank| {
            let (own, other) = (rank.rank() as u8, 1 - rank.rank());
            let (mut low, mut high) = ([9], [9]);
            let (to_low, to_high) = ([own * 10], [own * 10 + 1]);
            rank.swap([Some(other); 2], [&to_low, &to_high], [&mut low, &mut high])
                .unwrap();
            [low[0], high[0]]
        });
        // From the low side comes what the other sent to its high side.
        assert_eq!(found, [[11, 10], [1, 0]]);
    }

    #[test]
    fn ranks_gather_agree_and_notice_an_end() {
        for all in Threads::on_all(3, |rank| rank.gather(&[rank.rank() as u8; 2]).unwrap()) {
            assert_eq!(all, [[0, 0], [1, 1], [2, 2]]);
        }
        for yes in Threads::on_all(3, |rank| rank.agree(rank.rank() != 1).unwrap()) {
            assert!(!yes);
        }
        assert!(
            Threads::on_all(3, |rank| rank.agree(true).unwrap())
                .into_iter()
                .all(|yes| yes)
        );
        let ends = Threads::on_all(2, |rank| {
            if rank.rank() == 0 {
                return None;
            }
            // Dropped or not yet: either the message does not go, or none comes.
            rank.barrier().err().map(|error| error.to_string())
        });
        assert_eq!(ends[1].as_deref(), Some("rank 0 ended before this one"));
    }

    #[test]
    fn a_message_of_another_length_is_an_error() {
        let errors = Threads::on_all(2, |rank| {
            let out = vec![0; 3 + rank.rank()];
            let mut into = vec![0; 3];
            let side = rank.rank();
            let mut neighbours = [None; 2];
            neighbours[1 - side] = Some(1 - side);
            let empty: &mut [u8] = &mut [];
            let into = if side == 1 {
                [into.as_mut_slice(), empty]
            } else {
                [empty, into.as_mut_slice()]
            };
            rank.swap(neighbours, [&out, &out], into).err()
        });
        assert!(errors[1].is_none());
        let error = errors[0].as_ref().map(ToString::to_string);
        assert_eq!(
            error.as_deref(),
            Some("rank 1 sent 4 bytes where rank 0 expects 3: all ranks must run the same case")
        );
    }
}
