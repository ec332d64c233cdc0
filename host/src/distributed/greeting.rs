//! The greeting between rank 0 and a process that has connected: both prove that they have the secret of the run.
//!
//! | from | bytes |
//! |---|---|
//! | the process | `rarefy-2`, its rank, the number of ranks, the purpose of the connection, a nonce |
//! | rank 0 | `rarefy-2`, a nonce of its own |
//! | the process | the code of all these bytes by HMAC-SHA-256, with the secret as its key |
//! | rank 0 | 1 and its code of all these bytes, or 0 |
//!
//! A nonce is drawn anew for each connection, so no recorded greeting is good for another one. Each message has a fixed length.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use super::secret::{BYTES, Secret, Side, random};

/// Time within which a process that has connected ends its greeting.
pub(super) const COURTESY: Duration = Duration::from_secs(5);

/// The first bytes of both sides.
const MAGIC: [u8; 8] = *b"rarefy-2";

/// Bytes of the messages.
const HELLO: usize = 8 + 8 + 8 + 1 + BYTES;
const CHALLENGE: usize = 8 + BYTES;
const ANSWER: usize = 1 + BYTES;

/// The purposes of a connection.
pub(super) const MESSAGES: u8 = 0;
pub(super) const WATCH: u8 = 1;

/// The first message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hello {
    pub(super) rank: u64,
    pub(super) ranks: u64,
    pub(super) purpose: u8,
    nonce: [u8; BYTES],
}

impl Hello {
    pub(super) fn new([rank, ranks]: [usize; 2], purpose: u8) -> io::Result<Self> {
        Ok(Self {
            rank: rank as u64,
            ranks: ranks as u64,
            purpose,
            nonce: random().map_err(io::Error::other)?,
        })
    }

    fn encode(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(self.rank.to_le_bytes());
        bytes.extend(self.ranks.to_le_bytes());
        bytes.push(self.purpose);
        bytes.extend(self.nonce);
        bytes
    }

    /// The message of these bytes; none of another program's.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let rest = bytes.strip_prefix(&MAGIC)?;
        let (rank, rest) = rest.split_first_chunk()?;
        let (ranks, rest) = rest.split_first_chunk()?;
        let (purpose, rest) = rest.split_first()?;
        Some(Self {
            rank: u64::from_le_bytes(*rank),
            ranks: u64::from_le_bytes(*ranks),
            purpose: *purpose,
            nonce: rest.try_into().ok()?,
        })
    }
}

/// Whether bytes are a first message, which then has these bytes again.
#[cfg(feature = "cli")]
pub(crate) fn read_greeting(bytes: &[u8]) -> bool {
    let hello = Hello::parse(bytes);
    assert!(hello.is_none_or(|hello| hello.encode() == bytes));
    hello.is_some()
}

/// Why a process is not admitted.
#[derive(Debug)]
pub(super) enum Refusal {
    /// Rank 0 and it have two secrets.
    Secret,
    /// The connection failed, or another program is at its other end.
    Connection(io::Error),
}

impl From<io::Error> for Refusal {
    fn from(why: io::Error) -> Self {
        Self::Connection(why)
    }
}

fn stranger() -> Refusal {
    Refusal::Connection(io::Error::other("another program is at the other end"))
}

/// A process that has connected with rank 0 and is not yet known. No call waits for it.
pub(super) struct Guest {
    stream: TcpStream,
    since: Instant,
    received: Vec<u8>,
    /// Of rank 0, once it has answered.
    nonce: Option<[u8; BYTES]>,
}

impl Guest {
    pub(super) fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            since: Instant::now(),
            received: Vec::new(),
            nonce: None,
        })
    }

    /// Goes on with what has arrived: the first message of a process that has proven the secret, none of one that has not yet.
    pub(super) fn go_on(&mut self, secret: &Secret) -> Result<Option<Hello>, Refusal> {
        if self.since.elapsed() > COURTESY {
            return Err(io::Error::from(io::ErrorKind::TimedOut).into());
        }
        if !self.fill(HELLO)? {
            return Ok(None);
        }
        let Some(hello) = Hello::parse(&self.received[..HELLO]) else {
            return Err(stranger());
        };
        let nonce = match self.nonce {
            Some(nonce) => nonce,
            None => {
                let nonce = random().map_err(io::Error::other)?;
                self.stream.write_all(&[&MAGIC[..], &nonce].concat())?;
                *self.nonce.insert(nonce)
            }
        };
        if !self.fill(HELLO + BYTES)? {
            return Ok(None);
        }
        let (first, proof) = self.received.split_at(HELLO);
        if !secret.is_proven(Side::Other, &[first, &nonce], proof) {
            let _ = self.stream.write_all(&[0; ANSWER]);
            return Err(Refusal::Secret);
        }
        let own = secret.proof(Side::First, &[first, &nonce, proof]);
        self.stream.write_all(&[&[1][..], &own].concat())?;
        Ok(Some(hello))
    }

    /// The connection, once the process is known.
    pub(super) fn into_stream(self) -> TcpStream {
        self.stream
    }

    /// Whether so many bytes have arrived, no more of which are read.
    fn fill(&mut self, wanted: usize) -> Result<bool, Refusal> {
        let mut bytes = [0; HELLO + BYTES];
        while let Some(missing) = wanted.checked_sub(self.received.len()).filter(|n| *n > 0) {
            match self.stream.read(&mut bytes[..missing]) {
                Ok(0) => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
                Ok(read) => self.received.extend(&bytes[..read]),
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
                Err(why) => return Err(why.into()),
            }
        }
        Ok(true)
    }
}

/// The side of a process that has connected with rank 0.
pub(super) fn greet(stream: &mut TcpStream, hello: Hello, secret: &Secret) -> Result<(), Refusal> {
    stream.set_read_timeout(Some(COURTESY))?;
    stream.set_write_timeout(Some(COURTESY))?;
    stream.set_nodelay(true)?;
    let first = hello.encode();
    stream.write_all(&first)?;
    let mut challenge = [0; CHALLENGE];
    stream.read_exact(&mut challenge)?;
    let Some(nonce) = challenge.strip_prefix(&MAGIC) else {
        return Err(stranger());
    };
    let proof = secret.proof(Side::Other, &[&first, nonce]);
    stream.write_all(&proof)?;
    let mut answer = [0; ANSWER];
    stream.read_exact(&mut answer)?;
    let [admitted, theirs @ ..] = answer;
    match admitted == 1 && secret.is_proven(Side::First, &[&first, nonce, &proof], &theirs) {
        true => Ok(()),
        false => Err(Refusal::Secret),
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    fn secret(text: &str) -> Secret {
        Secret::new(text).unwrap()
    }

    /// Both ends of a connection.
    fn pair() -> (TcpStream, Guest) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let other = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (other, Guest::new(listener.accept().unwrap().0).unwrap())
    }

    /// The end of the greeting at rank 0.
    fn received(guest: &mut Guest, secret: &Secret) -> Result<Hello, Refusal> {
        loop {
            match guest.go_on(secret)? {
                Some(hello) => return Ok(hello),
                None => thread::sleep(Duration::from_millis(1)),
            }
        }
    }

    /// A proxy between a rank and rank 0, which records the bytes of the rank.
    fn recorded(key: &Secret, hello: Hello) -> Vec<u8> {
        let (mut first, mut guest) = pair();
        thread::scope(|scope| {
            let first = &mut first;
            scope.spawn(move || greet(first, hello, key).unwrap());
            received(&mut guest, key).unwrap();
        });
        guest.received
    }

    #[test]
    fn both_sides_prove_the_secret() {
        let keys = [secret("the secret of this run"), Secret::default()];
        let other = secret("another secret, or none");
        for key in &keys {
            for (theirs, same) in [(key, true), (&other, false)] {
                let (mut stream, mut guest) = pair();
                let hello = Hello::new([2, 4], WATCH).unwrap();
                thread::scope(|scope| {
                    let stream = &mut stream;
                    let greeting = scope.spawn(move || greet(stream, hello, theirs));
                    let received = received(&mut guest, key);
                    let greeted = greeting.join().unwrap();
                    if same {
                        assert_eq!(received.unwrap(), hello);
                        greeted.unwrap();
                    } else {
                        assert!(matches!(received, Err(Refusal::Secret)), "{received:?}");
                        assert!(matches!(greeted, Err(Refusal::Secret)), "{greeted:?}");
                    }
                });
            }
        }
    }

    /// A program that only repeats what it hears is no rank 0 for those who have the secret.
    #[test]
    fn rank_0_is_proven_too() {
        let key = secret("the secret of this run");
        let (mut stream, guest) = pair();
        let mut false_host = guest.into_stream();
        thread::scope(|scope| {
            let stream = &mut stream;
            let hello = Hello::new([1, 2], MESSAGES).unwrap();
            let greeting = scope.spawn(move || greet(stream, hello, &key));
            false_host.set_nonblocking(false).unwrap();
            let mut first = [0; HELLO];
            false_host.read_exact(&mut first).unwrap();
            false_host
                .write_all(&[&MAGIC[..], &[7; BYTES]].concat())
                .unwrap();
            let mut proof = [0; BYTES];
            false_host.read_exact(&mut proof).unwrap();
            false_host.write_all(&[&[1][..], &proof].concat()).unwrap();
            assert!(matches!(greeting.join().unwrap(), Err(Refusal::Secret)));
        });
    }

    #[test]
    fn a_recorded_greeting_is_of_no_use() {
        let key = secret("the secret of this run");
        let replay = recorded(&key, Hello::new([1, 3], MESSAGES).unwrap());
        assert_eq!(replay.len(), HELLO + BYTES);
        let (mut stranger, mut guest) = pair();
        stranger.write_all(&replay).unwrap();
        assert!(matches!(received(&mut guest, &key), Err(Refusal::Secret)));
    }

    /// The code covers rank, number of ranks, purpose and nonce.
    #[test]
    fn a_changed_greeting_is_refused() {
        let key = secret("the secret of this run");
        for changed in [8, 16, 24, 25, HELLO - 1] {
            let (mut stream, mut guest) = pair();
            let first = Hello::new([1, 3], MESSAGES).unwrap().encode();
            let mut sent = first.clone();
            sent[changed] ^= 1;
            stream.write_all(&sent).unwrap();
            while guest.nonce.is_none() {
                assert!(guest.go_on(&key).unwrap().is_none());
            }
            let proof = key.proof(Side::Other, &[&first, &guest.nonce.unwrap()]);
            stream.write_all(&proof).unwrap();
            assert!(matches!(received(&mut guest, &key), Err(Refusal::Secret)));
        }
    }

    #[test]
    fn other_programs_and_other_lengths_are_no_ranks() {
        let key = Secret::default();
        let hello = Hello::new([1, 2], MESSAGES).unwrap();
        let bytes = hello.encode();
        assert_eq!(Hello::parse(&bytes), Some(hello));
        for length in 0..HELLO {
            assert_eq!(Hello::parse(&bytes[..length]), None);
        }
        for sent in [
            &b"rarefy-1"[..],
            b"GET / HTTP/1.1\r\nHost: gpu1\r\nAccept: */*\r\nUser-Agent: curl\r\n\r\n",
            &[0; 4096],
            &[0xff; 57],
        ] {
            let (mut stream, mut guest) = pair();
            stream.write_all(sent).unwrap();
            drop(stream);
            let refused = received(&mut guest, &key);
            assert!(
                matches!(refused, Err(Refusal::Connection(_))),
                "{refused:?}"
            );
            // However much arrives, no more is kept than the messages have.
            assert!(guest.received.len() <= HELLO);
        }
    }
}
