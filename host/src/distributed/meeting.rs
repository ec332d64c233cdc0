//! The meeting of processes: each connects with rank 0 by TCP, and proves that it has the secret of the run.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use socket2::{SockRef, TcpKeepalive};

use super::Place;
use super::greeting::{COURTESY, Guest, Hello, MESSAGES, Refusal, WATCH, greet};
use super::hosts::{Address, first_host};
use super::secret::Secret;
use crate::error::{Error, Result};

/// Time within which all ranks come.
const PATIENCE: Duration = Duration::from_secs(120);
/// Time between two attempts.
const PAUSE: Duration = Duration::from_millis(50);
/// Time between two readings of the connections that have come.
const ROUND: Duration = Duration::from_millis(2);
/// Connections that are taken in one round, and those beyond two a rank that wait for the end of their greeting. The oldest leaves for the next.
const TAKEN: usize = 64;
const WAITING: usize = 128;

/// Time after which a host that does not answer is lost: so long it has no message, and so long sent data or probes stay without an answer.
pub(super) const LOST: Duration = Duration::from_secs(30);
/// Silence after which the system probes a connection, and the time between two probes.
const SILENCE: Duration = Duration::from_secs(10);
const PROBES: Duration = Duration::from_secs(5);

/// Where and how the ranks meet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Meeting {
    address: Address,
    secret: Secret,
    patience: Duration,
}

/// The two connections of a rank with another: one for messages, and one over which each learns of the other's end.
pub(super) struct Line {
    pub(super) messages: TcpStream,
    pub(super) watch: TcpStream,
}

/// The connections of a rank that have come to rank 0, by their purpose.
type Come = [Option<TcpStream>; 2];

impl Meeting {
    /// The meeting that the environment describes.
    pub(super) fn of(place: &Place, variable: impl Fn(&str) -> Option<String>) -> Result<Self> {
        let address = address(place, &variable)?;
        let secret = Secret::find(&variable)?;
        if !secret.is_set() && !address.is_local() {
            return Err(Error::invalid(
                Secret::VARIABLE,
                "none",
                format!(
                    "a secret of the ranks, which meet at {address} by {}: 'export {}=$(openssl rand -hex 32)' before the launcher, or a file '{}' in the folder of all, with mode 600",
                    place.launcher,
                    Secret::VARIABLE,
                    Secret::FILE
                ),
            ));
        }
        Ok(Self {
            address,
            secret,
            patience: PATIENCE,
        })
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

    /// Rank 0: waits for all others. All greetings go on at once, so that nobody waits for a connection that is silent.
    fn receive(&self, ranks: usize) -> Result<Vec<Line>> {
        let listeners = self.address.listen()?;
        let begun = Instant::now();
        let mut come: Vec<Come> = (1..ranks).map(|_| [None, None]).collect();
        let mut left = 2 * come.len();
        let mut guests = VecDeque::new();
        let mut refused = Refused::default();
        while left > 0 {
            if begun.elapsed() > self.patience {
                return Err(self.incomplete(&come, &refused));
            }
            for listener in &listeners {
                take(listener, &mut guests, &mut refused);
            }
            while guests.len() > 2 * ranks + WAITING {
                guests.pop_front();
            }
            let mut waiting = VecDeque::new();
            for (mut guest, from) in guests {
                match guest.go_on(&self.secret) {
                    Ok(None) => waiting.push_back((guest, from)),
                    Ok(Some(hello)) => {
                        self.seat(&mut come, guest.into_stream(), hello)?;
                        left -= 1;
                    }
                    Err(why) => refused.note(from, &why),
                }
            }
            guests = waiting;
            std::thread::sleep(ROUND);
        }
        let line = |both: Come| {
            let [messages, watch] = both;
            Some(Line {
                messages: messages?,
                watch: watch?,
            })
        };
        Ok(come.into_iter().filter_map(line).collect())
    }

    /// Keeps the connection of a rank that has proven the secret.
    fn seat(&self, come: &mut [Come], stream: TcpStream, hello: Hello) -> Result<()> {
        let (rank, ranks) = (hello.rank, come.len() + 1);
        if hello.ranks != ranks as u64 {
            return Err(Error::invalid(
                "ranks",
                format!("{} on rank {rank} and {ranks} on rank 0", hello.ranks),
                "the same number on all ranks",
            ));
        }
        let number = rank.checked_sub(1).and_then(|k| usize::try_from(k).ok());
        let place = number.and_then(|k| come.get_mut(k));
        match place.and_then(|both| both.get_mut(usize::from(hello.purpose))) {
            Some(place) if place.is_none() => {
                let stream = ready(stream).map_err(|why| {
                    Error::Numerical(format!("the connection with rank {rank} fails: {why}"))
                })?;
                *place = Some(stream);
                Ok(())
            }
            _ => Err(Error::invalid(
                "ranks",
                format!("a process at {} is rank {rank} of {ranks}", self.address),
                "each rank once; set MASTER_PORT to a port of this run alone",
            )),
        }
    }

    /// The error of a meeting to which a rank has not come.
    fn incomplete(&self, come: &[Come], refused: &Refused) -> Error {
        let missing = |both: &Come| both.iter().any(Option::is_none);
        let missing = come.iter().position(missing).unwrap_or_default();
        Error::invalid(
            "ranks",
            format!(
                "rank {} has not come to {} within {} s{}",
                missing + 1,
                self.address,
                self.patience.as_secs(),
                refused.said()
            ),
            "all ranks, started at about the same time",
        )
    }

    /// Another rank: comes until rank 0 is there.
    fn come(&self, ranks: [usize; 2], purpose: u8) -> Result<TcpStream> {
        let begun = Instant::now();
        loop {
            let why = match self.greet(ranks, purpose) {
                Ok(stream) => return Ok(stream),
                Err(Refusal::Secret) => {
                    return Err(Error::invalid(
                        Secret::VARIABLE,
                        format!(
                            "{} on rank {}, and another or none on rank 0 at {}",
                            match self.secret.is_set() {
                                true => "one",
                                false => "none",
                            },
                            ranks[0],
                            self.address
                        ),
                        "the same secret on all ranks; MASTER_PORT names a port of this run alone",
                    ));
                }
                Err(Refusal::Connection(why)) => why,
            };
            if begun.elapsed() > self.patience {
                return Err(Error::invalid(
                    "ranks",
                    format!(
                        "rank {} does not reach rank 0 at {} within {} s: {why}",
                        ranks[0],
                        self.address,
                        self.patience.as_secs()
                    ),
                    "MASTER_ADDR and MASTER_PORT where rank 0 listens",
                ));
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// A connection with rank 0, at the first address of its name where it answers.
    fn greet(&self, ranks: [usize; 2], purpose: u8) -> Result<TcpStream, Refusal> {
        let mut last = Refusal::Connection(io::ErrorKind::AddrNotAvailable.into());
        for address in self.address.resolved()? {
            let connected = TcpStream::connect_timeout(&address, COURTESY);
            let greeted = connected.map_err(Refusal::from).and_then(|mut stream| {
                greet(&mut stream, Hello::new(ranks, purpose)?, &self.secret)?;
                Ok(ready(stream)?)
            });
            match greeted {
                Err(Refusal::Connection(why)) => last = Refusal::Connection(why),
                end => return end,
            }
        }
        Err(last)
    }
}

/// Whether lines are variables of a launcher that describe a meeting: the list of hosts, the rank, the number of ranks, the address and the port of rank 0.
#[cfg(feature = "cli")]
pub(crate) fn read_variables(text: &str) -> bool {
    const NAMES: [&str; 5] = [
        "SLURM_STEP_NODELIST",
        "RANK",
        "WORLD_SIZE",
        "MASTER_ADDR",
        "MASTER_PORT",
    ];
    let lines: Vec<&str> = text.lines().collect();
    let variable = |name: &str| {
        let line = NAMES.iter().position(|known| *known == name)?;
        lines.get(line).map(|line| (*line).to_owned())
    };
    let place = Place::of(variable).ok().flatten();
    place.is_some_and(|place| {
        let address = address(&place, &variable);
        address.is_ok_and(|address| !address.to_string().is_empty())
    })
}

/// The address of rank 0.
fn address(place: &Place, variable: &impl Fn(&str) -> Option<String>) -> Result<Address> {
    let given = |name: &str| variable(name).filter(|text| !text.trim().is_empty());
    if place.is_own() {
        let address = given(Place::MEETING).unwrap_or_default();
        let parsed = address.trim().parse::<SocketAddr>().ok();
        let parsed = parsed.filter(|address| address.port() > 0);
        return parsed.map(Address::of).ok_or_else(|| {
            Error::invalid(
                Place::MEETING,
                shortened(&address),
                "an address such as 127.0.0.1:61000",
            )
        });
    }
    let on_one_host = place.local[1] == Some(place.ranks);
    let port = port(&given)?;
    if let Some(host) = given("MASTER_ADDR") {
        return Address::new("MASTER_ADDR", &host, port, on_one_host);
    }
    if let Some(list) = given("SLURM_STEP_NODELIST") {
        let wrong = || {
            Error::invalid(
                "SLURM_STEP_NODELIST",
                shortened(&list),
                "a list of hosts such as gpu[01-04]; MASTER_ADDR names the host of rank 0",
            )
        };
        let host = first_host(&list).ok_or_else(wrong)?;
        return Address::new("SLURM_STEP_NODELIST", &host, port, on_one_host);
    }
    if on_one_host {
        return Address::new("MASTER_ADDR", "localhost", port, true);
    }
    Err(Error::invalid(
        "MASTER_ADDR",
        "none",
        format!(
            "the host of rank 0, which {} does not name to rank {} of {}",
            place.launcher, place.rank, place.ranks
        ),
    ))
}

/// The port of rank 0.
fn port(given: &impl Fn(&str) -> Option<String>) -> Result<u16> {
    let Some(text) = given("MASTER_PORT") else {
        let job = given("SLURM_JOB_ID").or_else(|| given("PMIX_NAMESPACE"));
        let sum = job.unwrap_or_default().bytes().fold(0_u32, |sum, byte| {
            sum.wrapping_mul(31).wrapping_add(u32::from(byte))
        });
        return Ok(61000 + (sum % 4000) as u16);
    };
    // The agent of torchrun listens at the port itself.
    let next = u16::from(given("TORCHELASTIC_RUN_ID").is_some());
    let port = text.trim().parse::<u16>().ok().filter(|port| *port > 0);
    port.and_then(|port| port.checked_add(next)).ok_or_else(|| {
        Error::invalid(
            "MASTER_PORT",
            shortened(&text),
            format!("a port such as 29500, at most {}", u16::MAX - next),
        )
    })
}

/// The beginning of a text that may be long.
fn shortened(text: &str) -> String {
    let mut shown: String = text.chars().take(60).collect();
    if shown.len() < text.len() {
        shown.push_str("...");
    }
    shown
}

/// Takes the connections that wait at a listener.
fn take(listener: &TcpListener, guests: &mut VecDeque<(Guest, IpAddr)>, refused: &mut Refused) {
    for _ in 0..TAKEN {
        let accepted = listener.accept();
        match accepted.and_then(|(stream, from)| Ok((Guest::new(stream)?, from.ip()))) {
            Ok(guest) => guests.push_back(guest),
            Err(why) if why.kind() == io::ErrorKind::WouldBlock => return,
            Err(why) => {
                // No more open files, for example: the next round may have them.
                refused.failed = Some(why);
                return;
            }
        }
    }
}

/// Connections that were not those of ranks.
#[derive(Default)]
struct Refused {
    others: usize,
    /// Those without the secret, and where the last came from.
    unproven: usize,
    last: Option<IpAddr>,
    failed: Option<io::Error>,
}

impl Refused {
    fn note(&mut self, from: IpAddr, why: &Refusal) {
        match why {
            Refusal::Secret => {
                self.unproven += 1;
                self.last = Some(from);
            }
            Refusal::Connection(_) => self.others += 1,
        }
    }

    /// These connections in words, which may be the reason of a rank that is missing.
    fn said(&self) -> String {
        let mut said = String::new();
        if let (unproven @ 1.., Some(last)) = (self.unproven, self.last) {
            said.push_str(&format!(
                "; {unproven} connections had another secret, the last from {last}"
            ));
        }
        if self.others > 0 {
            said.push_str(&format!(
                "; {} connections were silent or of another program",
                self.others
            ));
        }
        if let Some(why) = &self.failed {
            said.push_str(&format!("; a connection failed: {why}"));
        }
        said
    }
}

/// A connection over which messages go at once, and over which silence is no fault as long as the other host answers.
fn ready(stream: TcpStream) -> io::Result<TcpStream> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(None)?;
    stream.set_write_timeout(None)?;
    stream.set_nodelay(true)?;
    let socket = SockRef::from(&stream);
    let keepalive = TcpKeepalive::new().with_time(SILENCE);
    #[cfg(not(target_os = "openbsd"))]
    let keepalive = keepalive.with_interval(PROBES);
    #[cfg(unix)]
    let keepalive = keepalive.with_retries(((LOST - SILENCE).as_secs() / PROBES.as_secs()) as u32);
    socket.set_tcp_keepalive(&keepalive)?;
    // Data that was sent and has no answer stops the probes.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    socket.set_tcp_user_timeout(Some(LOST))?;
    Ok(stream)
}

#[cfg(test)]
pub(super) mod tests {
    use std::io::Write;

    use super::*;

    fn of(variables: &[(&str, &str)]) -> Result<Meeting> {
        let find = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        Meeting::of(&Place::of(find)?.expect("a place"), find)
    }

    /// At a port that was free just now.
    pub(in super::super) fn here(patience: Duration) -> Meeting {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        Meeting {
            address: Address::of(listener.local_addr().unwrap()),
            secret: Secret::new("the secret of this test").unwrap(),
            patience,
        }
    }

    const SECRET: (&str, &str) = ("RAREFY_SECRET", "0123456789abcdef");

    #[test]
    fn launchers_say_where_rank_0_is() {
        let torchrun = [
            ("RANK", "1"),
            ("WORLD_SIZE", "4"),
            ("MASTER_ADDR", "gpu1"),
            ("MASTER_PORT", "29500"),
            ("TORCHELASTIC_RUN_ID", "none"),
            SECRET,
        ];
        let at = |variables: &[(&str, &str)]| of(variables).unwrap().address.to_string();
        assert_eq!(at(&torchrun), "gpu1:29501");
        let slurm = [
            ("SLURM_PROCID", "1"),
            ("SLURM_STEP_NUM_TASKS", "4"),
            ("SLURM_STEP_NODELIST", "gpu[03-04]"),
            ("SLURM_JOB_ID", "1234"),
            SECRET,
        ];
        assert_eq!(at(&slurm), "gpu03:62442");
        // A number of IPv6.
        let six = [&torchrun[..2], &[("MASTER_ADDR", "::1"), torchrun[3]]].concat();
        assert_eq!(at(&six), "[::1]:29500");
        let here = [&slurm[..4], &[("SLURM_STEP_TASKS_PER_NODE", "4")]].concat();
        assert_eq!(at(&here), "127.0.0.1:62442");
        let open_mpi = [("OMPI_COMM_WORLD_RANK", "1"), ("OMPI_COMM_WORLD_SIZE", "2")];
        let one_host = [&open_mpi[..], &[("OMPI_COMM_WORLD_LOCAL_SIZE", "2")]].concat();
        assert_eq!(at(&one_host), "127.0.0.1:61000");
        let own = [("RAREFY_RANK", "1"), ("RAREFY_RANKS", "2")];
        for (meeting, shown) in [
            ("127.0.0.1:7000", "127.0.0.1:7000"),
            ("[::1]:7000", "[::1]:7000"),
        ] {
            let met = [&own[..], &[("RAREFY_MEETING", meeting)]].concat();
            assert_eq!(at(&met), shown);
        }
    }

    #[test]
    fn places_that_are_no_addresses_are_refused() {
        let own = [("RAREFY_RANK", "1"), ("RAREFY_RANKS", "2")];
        let mpi = [("OMPI_COMM_WORLD_RANK", "1"), ("OMPI_COMM_WORLD_SIZE", "2")];
        let one_host = [&mpi[..], &[("OMPI_COMM_WORLD_LOCAL_SIZE", "2")]].concat();
        let long = "a".repeat(120_000);
        for (variables, line) in [
            (
                mpi.to_vec(),
                "MASTER_ADDR: none; expected the host of rank 0, which mpirun of Open MPI does not name to rank 1 of 2",
            ),
            (
                [&one_host[..], &[("MASTER_PORT", "http")]].concat(),
                "MASTER_PORT: http; expected a port such as 29500, at most 65535",
            ),
            (
                [&one_host[..], &[("MASTER_PORT", "0")]].concat(),
                "MASTER_PORT: 0; expected a port such as 29500, at most 65535",
            ),
            (
                [
                    &one_host[..],
                    &[("MASTER_PORT", "65535"), ("TORCHELASTIC_RUN_ID", "1")],
                ]
                .concat(),
                "MASTER_PORT: 65535; expected a port such as 29500, at most 65534",
            ),
            (
                [&mpi[..], &[("MASTER_ADDR", long.as_str())]].concat(),
                "MASTER_ADDR: 120000 characters; expected the name or the address of a host, 1 to 253",
            ),
            (
                [&mpi[..], &[("SLURM_STEP_NODELIST", "gpu[1")]].concat(),
                "SLURM_STEP_NODELIST: gpu[1; expected a list of hosts such as gpu[01-04]; MASTER_ADDR names the host of rank 0",
            ),
            (
                own.to_vec(),
                "RAREFY_MEETING: ; expected an address such as 127.0.0.1:61000",
            ),
            (
                [&own[..], &[("RAREFY_MEETING", "127.0.0.1:0")]].concat(),
                "RAREFY_MEETING: 127.0.0.1:0; expected an address such as 127.0.0.1:61000",
            ),
        ] {
            assert_eq!(of(&variables).unwrap_err().to_string(), line);
        }
    }

    #[test]
    fn hosts_of_a_network_need_a_secret() {
        let torchrun = |host| {
            vec![
                ("RANK", "1"),
                ("WORLD_SIZE", "4"),
                ("MASTER_ADDR", host),
                ("MASTER_PORT", "29500"),
            ]
        };
        for host in ["localhost", "127.0.0.1", "::1"] {
            let meeting = of(&torchrun(host)).unwrap();
            assert!(!meeting.secret.is_set() && meeting.address.is_local());
        }
        for host in ["gpu1", "10.0.0.5", "fd00::5", "0.0.0.0"] {
            let variables = torchrun(host);
            let error = of(&variables).unwrap_err().to_string();
            for part in [
                "RAREFY_SECRET: none; expected",
                host,
                "torchrun",
                "'rarefy.secret'",
                "mode 600",
            ] {
                assert!(error.contains(part), "{error}");
            }
            assert!(
                of(&[&variables[..], &[SECRET]].concat())
                    .unwrap()
                    .secret
                    .is_set()
            );
        }
    }

    #[test]
    fn a_rank_that_never_comes_is_named() {
        let meeting = here(Duration::from_millis(300));
        let to = meeting.address.resolved().unwrap()[0];
        let port = to.port();
        std::thread::scope(|scope| {
            scope.spawn(|| meeting.lines([1, 3]));
            // Another program comes too.
            scope.spawn(|| {
                loop {
                    if let Ok(mut stream) = TcpStream::connect(to) {
                        return stream.write_all(&[0; 57]);
                    }
                }
            });
            let error = meeting.lines([0, 3]).err().expect("a refusal");
            assert_eq!(
                error.to_string(),
                format!(
                    "ranks: rank 2 has not come to 127.0.0.1:{port} within 0 s; 1 connections were silent or of another program; expected all ranks, started at about the same time"
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

    /// Connections that say nothing do not delay the ranks. One after another they would outlast the meeting, at five seconds each.
    #[test]
    fn silent_connections_delay_nobody() {
        let meeting = here(Duration::from_secs(20));
        let to = meeting.address.resolved().unwrap()[0];
        std::thread::scope(|scope| {
            let first = scope.spawn(|| meeting.lines([0, 3]));
            let mut silent = Vec::new();
            while silent.len() < 200 {
                if let Ok(stream) = TcpStream::connect(to) {
                    silent.push(stream);
                }
            }
            let others = [1, 2].map(|rank| {
                let meeting = &meeting;
                scope.spawn(move || meeting.lines([rank, 3]))
            });
            for other in others {
                assert_eq!(other.join().unwrap().unwrap().len(), 1);
            }
            assert_eq!(first.join().unwrap().unwrap().len(), 2);
        });
    }

    #[test]
    fn another_secret_is_named_on_both_sides() {
        let meeting = here(Duration::from_secs(1));
        let other = Meeting {
            secret: Secret::default(),
            ..meeting.clone()
        };
        std::thread::scope(|scope| {
            let first = scope.spawn(|| meeting.lines([0, 2]));
            let error = other.lines([1, 2]).err().expect("a refusal").to_string();
            assert_eq!(
                error,
                format!(
                    "RAREFY_SECRET: none on rank 1, and another or none on rank 0 at {}; expected the same secret on all ranks; MASTER_PORT names a port of this run alone",
                    meeting.address
                )
            );
            let error = first.join().unwrap().err().expect("a refusal").to_string();
            assert!(
                error.contains("; 1 connections had another secret, the last from 127.0.0.1; "),
                "{error}"
            );
        });
    }

    /// Without its limits the system notices a lost host after two hours, and lost data after a quarter of one.
    #[cfg(target_os = "linux")]
    #[test]
    fn connections_have_limits() {
        let meeting = here(Duration::from_secs(20));
        std::thread::scope(|scope| {
            let first = scope.spawn(|| meeting.lines([0, 2]));
            let other = meeting.lines([1, 2]).unwrap();
            for line in other.into_iter().chain(first.join().unwrap().unwrap()) {
                for stream in [line.messages, line.watch] {
                    let socket = SockRef::from(&stream);
                    assert!(socket.keepalive().unwrap());
                    assert_eq!(socket.tcp_keepalive_time().unwrap(), SILENCE);
                    assert_eq!(socket.tcp_user_timeout().unwrap(), Some(LOST));
                    assert!(stream.nodelay().unwrap());
                    assert_eq!(stream.read_timeout().unwrap(), None);
                }
            }
        });
    }
}
