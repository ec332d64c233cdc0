//! The host of rank 0: its name, and the addresses at which it listens.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, ToSocketAddrs};

use crate::error::{Error, Result};

/// Longest name of a host in the domain name system.
const LONGEST: usize = 253;

/// Where rank 0 listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Address {
    host: String,
    port: u16,
    /// Whether it names this host alone, whatever the host.
    is_local: bool,
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

impl Address {
    /// A name or an address, and a port. With all ranks on one host a name is that of its loopback interface.
    ///
    /// # Errors
    /// A name that is too long for one.
    pub(super) fn new(variable: &str, host: &str, port: u16, on_one_host: bool) -> Result<Self> {
        let host = host.trim();
        let host = host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'))
            .unwrap_or(host);
        if host.is_empty() || host.len() > LONGEST {
            return Err(Error::invalid(
                variable,
                format!("{} characters", host.len()),
                format!("the name or the address of a host, 1 to {LONGEST}"),
            ));
        }
        let number = host.parse::<IpAddr>().ok();
        let host = match number {
            None if on_one_host => Ipv4Addr::LOCALHOST.to_string(),
            _ => host.to_owned(),
        };
        let is_local = match number {
            Some(number) => number.is_loopback(),
            None => on_one_host || is_localhost(&host),
        };
        Ok(Self {
            host,
            port,
            is_local,
        })
    }

    /// An address of numbers.
    pub(super) fn of(address: SocketAddr) -> Self {
        Self {
            host: address.ip().to_string(),
            port: address.port(),
            is_local: address.ip().is_loopback(),
        }
    }

    /// Whether only processes of one host reach it.
    pub(super) fn is_local(&self) -> bool {
        self.is_local
    }

    /// The addresses of the name.
    ///
    /// # Errors
    /// A name that the system does not know.
    pub(super) fn resolved(&self) -> io::Result<Vec<SocketAddr>> {
        let mut addresses: Vec<SocketAddr> = Vec::new();
        for address in (self.host.as_str(), self.port).to_socket_addrs()? {
            let wanted = !self.is_local || address.ip().is_loopback();
            if wanted && !addresses.contains(&address) {
                addresses.push(address);
            }
        }
        match addresses.is_empty() {
            true => Err(io::Error::other("the name has no address")),
            false => Ok(addresses),
        }
    }

    /// Rank 0: listens at these addresses and at no other.
    ///
    /// # Errors
    /// A name that the system does not know, or of another host; a port that is taken.
    pub(super) fn listen(&self) -> Result<Vec<TcpListener>> {
        let of_rank_0 = |why: io::Error| {
            Error::invalid(
                "MASTER_ADDR",
                &self.host,
                format!("a name or an address of the host of rank 0: {why}"),
            )
        };
        let named = self.resolved().map_err(of_rank_0)?;
        let addresses = match named.iter().all(|address| address.ip().is_loopback()) {
            // Debian maps a host's own name to 127.0.1.1, where no other host comes. Here ranks have a secret.
            true if !self.is_local => vec![(Ipv6Addr::UNSPECIFIED, self.port).into()],
            _ => named,
        };
        let mut listeners = Vec::new();
        let mut unusable = None;
        for address in addresses {
            match self.listen_at(address) {
                Ok(listener) => listeners.push(listener),
                // Names have addresses of both families where the host has one.
                Err(why) if is_foreign(&why) => unusable = Some(why),
                Err(why) => {
                    return Err(Error::invalid(
                        "port of rank 0",
                        self.port,
                        format!("a free port, and MASTER_PORT names one: {why}"),
                    ));
                }
            }
        }
        match unusable {
            Some(why) if listeners.is_empty() => Err(of_rank_0(why)),
            _ => Ok(listeners),
        }
    }

    fn listen_at(&self, address: SocketAddr) -> io::Result<TcpListener> {
        let listener = match TcpListener::bind(address) {
            Err(why) if address.ip() == Ipv6Addr::UNSPECIFIED && is_foreign(&why) => {
                TcpListener::bind((Ipv4Addr::UNSPECIFIED, self.port))?
            }
            listener => listener?,
        };
        listener.set_nonblocking(true)?;
        Ok(listener)
    }
}

/// Whether an address is none of this host, or of a family that it lacks.
fn is_foreign(why: &io::Error) -> bool {
    matches!(
        why.kind(),
        io::ErrorKind::AddrNotAvailable | io::ErrorKind::Unsupported
    ) || why.raw_os_error() == Some(AFNOSUPPORT)
}

/// The error of Linux for a family of addresses that it lacks, for which the standard library has no kind.
const AFNOSUPPORT: i32 = 97;

/// Whether a name is reserved for the host itself.
fn is_localhost(name: &str) -> bool {
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    ["localhost", "ip6-localhost", "localhost.localdomain"].contains(&name.as_str())
        || name.ends_with(".localhost")
}

/// The first host of a list of Slurm, such as `gpu[03-05,07],login`, as far as it is read.
pub(super) fn first_host(list: &str) -> Option<String> {
    let mut first = String::new();
    let mut rest = list.trim();
    while let Some(end) = rest.find(['[', ',']) {
        first.push_str(rest.get(..end)?);
        if rest[end..].starts_with(',') {
            rest = "";
            break;
        }
        let (inside, after) = rest[end + 1..].split_once(']')?;
        first.push_str(inside.split(['-', ',']).next()?);
        rest = after;
        if first.len() > LONGEST {
            return None;
        }
    }
    first.push_str(rest);
    (!first.is_empty() && first.len() <= LONGEST).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        for list in ["", "a[1", "a[1]b[", ",b"] {
            assert_eq!(first_host(list), None);
        }
    }

    /// Each bracket once copied the whole list: 2.7 GB for 120 kB.
    #[test]
    fn a_long_list_is_read_once() {
        let long: String = (0..100_000).map(|k| format!(",gpu{k}")).collect();
        assert_eq!(first_host(&long[1..]).as_deref(), Some("gpu0"));
        assert_eq!(first_host(&"a[1]".repeat(1_000_000)), None);
        assert_eq!(first_host(&"a".repeat(254)), None);
        assert_eq!(
            first_host(&"a".repeat(253)).map(|name| name.len()),
            Some(253)
        );
    }

    fn named(host: &str, on_one_host: bool) -> Address {
        Address::new("MASTER_ADDR", host, 29500, on_one_host).unwrap()
    }

    #[test]
    fn names_and_numbers_of_both_families_are_addresses() {
        for (host, on_one_host, shown, local) in [
            ("gpu1", false, "gpu1:29500", false),
            ("gpu1", true, "127.0.0.1:29500", true),
            ("10.0.0.5", true, "10.0.0.5:29500", false),
            ("127.0.1.1", false, "127.0.1.1:29500", true),
            ("::1", false, "[::1]:29500", true),
            ("[fd00::5]", false, "[fd00::5]:29500", false),
            ("localhost", false, "localhost:29500", true),
            ("LocalHost.", false, "LocalHost.:29500", true),
            ("localhost.example", false, "localhost.example:29500", false),
        ] {
            let address = named(host, on_one_host);
            assert_eq!(
                (address.to_string().as_str(), address.is_local()),
                (shown, local)
            );
        }
        let long = "a".repeat(120_000);
        let error = Address::new("MASTER_ADDR", &long, 1, false).unwrap_err();
        assert_eq!(
            error.to_string(),
            "MASTER_ADDR: 120000 characters; expected the name or the address of a host, 1 to 253"
        );
    }

    /// Listeners, and the addresses that they have.
    fn listening(host: &str) -> Result<Vec<IpAddr>> {
        let listeners = Address::new("MASTER_ADDR", host, 0, false)?.listen()?;
        let at = |listener: &TcpListener| listener.local_addr().unwrap().ip();
        Ok(listeners.iter().map(at).collect())
    }

    #[test]
    fn rank_0_listens_at_the_named_address_alone() {
        for host in ["localhost", "127.0.0.1", "127.0.0.9"] {
            let found = listening(host).unwrap();
            assert!(
                !found.is_empty() && found.iter().all(IpAddr::is_loopback),
                "{found:?}"
            );
        }
        // Documentation addresses, which no host has.
        for host in ["192.0.2.1", "2001:db8::1"] {
            let error = listening(host).unwrap_err().to_string();
            let line = format!(
                "MASTER_ADDR: {host}; expected a name or an address of the host of rank 0: "
            );
            assert!(error.starts_with(&line), "{error}");
        }
        let error = listening("no-such-host.invalid").unwrap_err().to_string();
        assert!(
            error.starts_with("MASTER_ADDR: no-such-host.invalid; expected"),
            "{error}"
        );
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let error = Address::of(taken.local_addr().unwrap())
            .listen()
            .unwrap_err();
        assert!(
            error.to_string().contains("expected a free port"),
            "{error}"
        );
    }
}
