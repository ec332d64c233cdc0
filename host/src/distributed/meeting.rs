//! The meeting of processes: each connects with rank 0 by TCP.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use super::Place;
use crate::error::{Error, Result};

/// Time within which all ranks come.
const PATIENCE: Duration = Duration::from_secs(120);
/// Time between two attempts.
const PAUSE: Duration = Duration::from_millis(50);
/// Time within which a process that has connected says who it is.
const COURTESY: Duration = Duration::from_secs(5);
/// The first bytes of both sides.
const GREETING: [u8; 8] = *b"rarefy-1";

/// Where rank 0 listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Meeting {
    host: String,
    port: u16,
    patience: Duration,
}

/// The two connections of a rank with another: one for messages, and one over which each learns of the other's end.
pub(super) struct Line {
    pub(super) messages: TcpStream,
    pub(super) watch: TcpStream,
}

/// The purpose of a connection.
const MESSAGES: u8 = 0;
const WATCH: u8 = 1;

impl Meeting {
    /// The meeting that the environment describes.
    pub(super) fn of(place: &Place, variable: impl Fn(&str) -> Option<String>) -> Result<Self> {
        let at = |host: String, port: u16| Self {
            host,
            port,
            patience: PATIENCE,
        };
        if place.is_own() {
            let address = variable(Place::MEETING).unwrap_or_default();
            let parsed = address.parse::<SocketAddr>();
            let address = parsed.map_err(|_| {
                Error::invalid(
                    Place::MEETING,
                    &address,
                    "an address such as 127.0.0.1:61000",
                )
            })?;
            return Ok(at(address.ip().to_string(), address.port()));
        }
        let [_, on_host] = place.local;
        let host = variable("MASTER_ADDR")
            .or_else(|| first_host(&variable("SLURM_STEP_NODELIST")?))
            .or_else(|| (on_host == Some(place.ranks)).then(|| Ipv4Addr::LOCALHOST.to_string()));
        let Some(host) = host else {
            return Err(Error::invalid(
                "MASTER_ADDR",
                "none",
                format!(
                    "the host of rank 0, which {} does not name to rank {} of {}",
                    place.launcher, place.rank, place.ranks
                ),
            ));
        };
        let given = variable("MASTER_PORT").map(|text| {
            text.trim()
                .parse::<u16>()
                .map_err(|_| Error::invalid("MASTER_PORT", &text, "a port such as 29500"))
        });
        let port = match given.transpose()? {
            // The agent of torchrun listens at the port itself.
            Some(port) if variable("TORCHELASTIC_RUN_ID").is_some() => port.wrapping_add(1),
            Some(port) => port,
            None => {
                let job = variable("SLURM_JOB_ID").or_else(|| variable("PMIX_NAMESPACE"));
                let job = job.unwrap_or_default();
                let sum = job.bytes().fold(0_u32, |sum, byte| {
                    sum.wrapping_mul(31).wrapping_add(u32::from(byte))
                });
                61000 + (sum % 4000) as u16
            }
        };
        Ok(at(host, port))
    }

    /// The lines of rank 0 to all others in their order, and of another rank to rank 0.
    pub(super) fn lines(&self, [rank, ranks]: [usize; 2]) -> Result<Vec<Line>> {
        match rank {
            0 => self.receive(ranks),
            _ => Ok(vec![Line {
                messages: self.come([rank, ranks], MESSAGES)?,
                watch: self.come([rank, ranks], WATCH)?,
            }]),
        }
    }

    /// Rank 0: waits for all others.
    fn receive(&self, ranks: usize) -> Result<Vec<Line>> {
        let failed = |why: io::Error| {
            Error::invalid(
                "port of rank 0",
                self.port,
                format!("a free port, and MASTER_PORT names one: {why}"),
            )
        };
        // A name says nothing: Debian maps the host's own name to a loopback address.
        let address = match self.host.parse::<Ipv4Addr>() {
            Ok(address) if address.is_loopback() => address,
            _ => Ipv4Addr::UNSPECIFIED,
        };
        let listener = TcpListener::bind((address, self.port)).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let begun = Instant::now();
        let mut come: Vec<[Option<TcpStream>; 2]> = (1..ranks).map(|_| [None, None]).collect();
        while let Some(missing) = come
            .iter()
            .position(|both| both.iter().any(Option::is_none))
        {
            if begun.elapsed() > self.patience {
                return Err(Error::invalid(
                    "ranks",
                    format!(
                        "rank {} has not come to {}:{} within {} s",
                        missing + 1,
                        self.host,
                        self.port,
                        self.patience.as_secs()
                    ),
                    "all ranks, started at about the same time",
                ));
            }
            let Ok((stream, _)) = listener.accept() else {
                std::thread::sleep(PAUSE);
                continue;
            };
            // Whoever is no rank is not answered.
            let Ok((stream, [rank, theirs], purpose)) = greeted(stream) else {
                continue;
            };
            if theirs != ranks {
                return Err(Error::invalid(
                    "ranks",
                    format!("{theirs} on rank {rank} and {ranks} on rank 0"),
                    "the same number on all ranks",
                ));
            }
            let place = rank.checked_sub(1).and_then(|k| come.get_mut(k));
            let place = place.and_then(|both| both.get_mut(usize::from(purpose)));
            match place {
                Some(place) if place.is_none() => *place = Some(stream),
                _ => {
                    return Err(Error::invalid(
                        "ranks",
                        format!(
                            "a process at {}:{} is rank {rank} of {ranks}",
                            self.host, self.port
                        ),
                        "each rank once; set MASTER_PORT to a port of this run alone",
                    ));
                }
            }
        }
        let line = |both: [Option<TcpStream>; 2]| {
            let [messages, watch] = both;
            Some(Line {
                messages: messages?,
                watch: watch?,
            })
        };
        Ok(come.into_iter().filter_map(line).collect())
    }

    /// Another rank: comes until rank 0 is there.
    fn come(&self, ranks: [usize; 2], purpose: u8) -> Result<TcpStream> {
        let begun = Instant::now();
        loop {
            let why = match self.greet(ranks, purpose) {
                Ok(stream) => return Ok(stream),
                Err(error) => error,
            };
            if begun.elapsed() > self.patience {
                return Err(Error::invalid(
                    "ranks",
                    format!(
                        "rank {} does not reach rank 0 at {}:{} within {} s: {why}",
                        ranks[0],
                        self.host,
                        self.port,
                        self.patience.as_secs()
                    ),
                    "MASTER_ADDR and MASTER_PORT where rank 0 listens",
                ));
            }
            std::thread::sleep(PAUSE);
        }
    }

    fn greet(&self, [rank, ranks]: [usize; 2], purpose: u8) -> io::Result<TcpStream> {
        let mut stream = TcpStream::connect((self.host.as_str(), self.port))?;
        stream.set_read_timeout(Some(COURTESY))?;
        let mut greeting = GREETING.to_vec();
        greeting.extend((rank as u64).to_le_bytes());
        greeting.extend((ranks as u64).to_le_bytes());
        greeting.push(purpose);
        stream.write_all(&greeting)?;
        let mut answer = [0; 8];
        stream.read_exact(&mut answer)?;
        if answer != GREETING {
            return Err(io::Error::other("another program listens there"));
        }
        ready(stream)
    }
}

/// A connection of a rank that has come: its number, how many ranks it expects, and the purpose.
fn greeted(mut stream: TcpStream) -> io::Result<(TcpStream, [usize; 2], u8)> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(COURTESY))?;
    let (mut greeting, mut rank, mut ranks, mut purpose) = ([0; 8], [0; 8], [0; 8], [0]);
    stream.read_exact(&mut greeting)?;
    if greeting != GREETING {
        return Err(io::ErrorKind::InvalidData.into());
    }
    stream.read_exact(&mut rank)?;
    stream.read_exact(&mut ranks)?;
    stream.read_exact(&mut purpose)?;
    stream.write_all(&GREETING)?;
    let numbers = [rank, ranks].map(|bytes| u64::from_le_bytes(bytes) as usize);
    Ok((ready(stream)?, numbers, purpose[0]))
}

/// A connection over which messages go at once, and over which silence is no fault.
fn ready(stream: TcpStream) -> io::Result<TcpStream> {
    stream.set_read_timeout(None)?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// The first host of a list of Slurm, such as `gpu[03-05,07],login`.
fn first_host(list: &str) -> Option<String> {
    let first = match list.find(['[', ',']) {
        None => list.to_owned(),
        Some(end) if list[end..].starts_with(',') => list[..end].to_owned(),
        Some(begin) => {
            let inside = &list[begin + 1..];
            let number = &inside[..inside.find(['-', ',', ']'])?];
            let rest = &inside[inside.find(']')? + 1..];
            return first_host(&format!("{}{number}{rest}", &list[..begin]));
        }
    };
    (!first.is_empty()).then_some(first)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> Result<Meeting> {
        let find = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        Meeting::of(&Place::of(find).expect("a place"), find)
    }

    /// At a port that was free just now.
    pub(in super::super) fn here(patience: Duration) -> Meeting {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        Meeting {
            host: "127.0.0.1".to_owned(),
            port: listener.local_addr().unwrap().port(),
            patience,
        }
    }

    #[test]
    fn launchers_say_where_rank_0_is() {
        let torchrun = [
            ("RANK", "1"),
            ("WORLD_SIZE", "4"),
            ("MASTER_ADDR", "gpu1"),
            ("MASTER_PORT", "29500"),
            ("TORCHELASTIC_RUN_ID", "none"),
        ];
        let meeting = of(&torchrun).unwrap();
        assert_eq!((meeting.host.as_str(), meeting.port), ("gpu1", 29501));
        let slurm = [
            ("SLURM_PROCID", "1"),
            ("SLURM_STEP_NUM_TASKS", "4"),
            ("SLURM_STEP_NODELIST", "gpu[03-04]"),
            ("SLURM_JOB_ID", "1234"),
        ];
        let meeting = of(&slurm).unwrap();
        assert_eq!(meeting.host, "gpu03");
        assert!((61000..65000).contains(&meeting.port));
        let open_mpi = [("OMPI_COMM_WORLD_RANK", "1"), ("OMPI_COMM_WORLD_SIZE", "2")];
        let error = of(&open_mpi).unwrap_err().to_string();
        assert_eq!(
            error,
            "MASTER_ADDR: none; expected the host of rank 0, which mpirun of Open MPI does not name to rank 1 of 2"
        );
        let one_host = [&open_mpi[..], &[("OMPI_COMM_WORLD_LOCAL_SIZE", "2")]].concat();
        assert_eq!(of(&one_host).unwrap().host, "127.0.0.1");
        let wrong = [&one_host[..], &[("MASTER_PORT", "http")]].concat();
        assert_eq!(
            of(&wrong).unwrap_err().to_string(),
            "MASTER_PORT: http; expected a port such as 29500"
        );
        let own = [("RAREFY_RANK", "1"), ("RAREFY_RANKS", "2")];
        let met = [&own[..], &[("RAREFY_MEETING", "127.0.0.1:7000")]].concat();
        assert_eq!(of(&met).unwrap().port, 7000);
        assert_eq!(
            of(&own).unwrap_err().to_string(),
            "RAREFY_MEETING: ; expected an address such as 127.0.0.1:61000"
        );
    }

    #[test]
    fn lists_of_hosts_begin_with_the_first() {
        for (list, first) in [
            ("gpu1", "gpu1"),
            ("gpu1,gpu2", "gpu1"),
            ("gpu[03-05,07],login", "gpu03"),
            ("node[1-3,7]", "node1"),
            ("a-[01-02]", "a-01"),
            ("a[1]b,c", "a1b"),
            ("rack[1-2]node[07,09],b", "rack1node07"),
        ] {
            assert_eq!(first_host(list).as_deref(), Some(first));
        }
        for list in ["", "a[1", "a[1]b["] {
            assert_eq!(first_host(list), None);
        }
    }

    #[test]
    fn a_rank_that_never_comes_is_named() {
        let meeting = here(Duration::from_millis(300));
        let port = meeting.port;
        std::thread::scope(|scope| {
            scope.spawn(|| meeting.lines([1, 3]));
            // Somebody else comes too.
            scope.spawn(|| {
                let stream = TcpStream::connect(("127.0.0.1", port));
                stream.map(|mut stream| stream.write_all(&[0; 16]))
            });
            let error = meeting.lines([0, 3]).err().expect("a refusal");
            assert_eq!(
                error.to_string(),
                format!(
                    "ranks: rank 2 has not come to 127.0.0.1:{port} within 0 s; expected all ranks, started at about the same time"
                )
            );
        });
        let error = meeting.lines([1, 3]).err().expect("a refusal").to_string();
        assert!(
            error.starts_with(&format!(
                "ranks: rank 1 does not reach rank 0 at 127.0.0.1:{port} within 0 s: "
            )),
            "{error}"
        );
    }

    #[test]
    fn ranks_of_another_run_are_refused() {
        for (theirs, line) in [
            (
                [1, 3],
                "ranks: 3 on rank 1 and 2 on rank 0; expected the same number on all ranks"
                    .to_owned(),
            ),
            ([5, 2], "is rank 5 of 2; expected each rank once".to_owned()),
        ] {
            let meeting = here(Duration::from_secs(20));
            std::thread::scope(|scope| {
                scope.spawn(|| meeting.come(theirs, MESSAGES));
                let error = meeting.lines([0, 2]).err().expect("a refusal").to_string();
                assert!(error.contains(&line), "{error}");
            });
        }
    }
}
