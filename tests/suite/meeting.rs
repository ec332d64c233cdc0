//! Who comes to a meeting of ranks: strangers, forged greetings, other secrets; and the end of the launcher.
#![cfg(target_os = "linux")]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Child;
use std::thread::sleep;
use std::time::{Duration, Instant};

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::command::{done, ended, folder, rarefy, refused, started, text};
use crate::processes::{LINE, errors, free_port, long_run, place, results, send, words};

const SECRET: &str = "a secret of this test alone";

/// A rank of two of the command, with this secret.
fn rank(at: &Path, number: usize, port: u16, secret: Option<&str>) -> Child {
    let mut command = rarefy(at, &words(&format!("{LINE} --quiet --out run")));
    place(&mut command, number, 2, port);
    command.envs(secret.map(|secret| ("RAREFY_SECRET", secret)));
    started(&mut command)
}

/// A connection with rank 0, once it listens.
fn connected(port: u16) -> TcpStream {
    let begun = Instant::now();
    loop {
        if let Ok(stream) = TcpStream::connect(("127.0.0.1", port)) {
            stream
                .set_read_timeout(Some(Duration::from_secs(20)))
                .unwrap();
            return stream;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "nobody listens");
        sleep(Duration::from_millis(5));
    }
}

/// The first message of rank 1 of 2.
fn hello(purpose: u8) -> Vec<u8> {
    let mut bytes = b"rarefy-2".to_vec();
    bytes.extend(1_u64.to_le_bytes());
    bytes.extend(2_u64.to_le_bytes());
    bytes.push(purpose);
    bytes.extend([7; 32]);
    bytes
}

/// The greeting of rank 1, and the answer of rank 0.
fn greeted(port: u16, purpose: u8, secret: &str) -> (TcpStream, u8) {
    let mut stream = connected(port);
    let first = hello(purpose);
    stream.write_all(&first).unwrap();
    let mut challenge = [0; 40];
    stream.read_exact(&mut challenge).unwrap();
    let mut code = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    for part in [&b"other"[..], &first, &challenge[8..]] {
        code.update(part);
    }
    stream.write_all(&code.finalize().into_bytes()).unwrap();
    let mut answer = [0; 33];
    stream.read_exact(&mut answer).unwrap();
    (stream, answer[0])
}

#[test]
fn strangers_neither_delay_nor_end_a_run() {
    let folder = folder();
    let at = folder.path();
    done(at, &words(&format!("{LINE} --quiet --out alone")));
    let port = free_port();
    let first = rank(at, 0, port, Some(SECRET));
    let mut kept = Vec::new();
    // A scan of ports, the greeting of former versions, another program. One after another they would outlast the meeting, at five seconds each.
    for said in [
        &b""[..],
        b"rarefy-1\x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\x01",
        b"GET / HTTP/1.1\r\n\r\n",
    ]
    .repeat(10)
    {
        let mut stream = connected(port);
        stream.write_all(said).unwrap();
        kept.push(stream);
    }
    // Each purpose without the secret, and then the words of a rank that failed without a failure.
    for purpose in [0, 1, 9] {
        for secret in ["", "another secret than this"] {
            let (mut stream, answer) = greeted(port, purpose, secret);
            assert_eq!(answer, 0);
            let _ = stream.write_all(&[1, 0]);
            kept.push(stream);
        }
    }
    let second = rank(at, 1, port, Some(SECRET));
    for output in [first, second].map(ended) {
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert_eq!(errors(&output), [""; 0]);
    }
    assert!(results(&at.join("run")) == results(&at.join("alone")));
}

#[test]
fn a_rank_with_another_secret_ends_with_one_line() {
    let folder = folder();
    let port = free_port();
    let mut first = rank(folder.path(), 0, port, Some(SECRET));
    for (secret, own) in [(None, "none"), (Some("the secret of another run"), "one")] {
        let output = ended(rank(folder.path(), 1, port, secret));
        assert_eq!(output.status.code(), Some(2));
        let line = format!(
            "rarefy: error: RAREFY_SECRET: {own} on rank 1, and another or none on rank 0 at 127.0.0.1:{port}; expected the same secret on all ranks; MASTER_PORT names a port of this run alone"
        );
        assert_eq!(errors(&output), [line]);
    }
    // Rank 0 still waits for its own.
    assert!(first.try_wait().unwrap().is_none());
    let second = rank(folder.path(), 1, port, Some(SECRET));
    for output in [first, second].map(ended) {
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
}

/// A rank of the run that is not what it should be: the loopback interface admits it without a secret.
#[test]
fn forged_words_end_a_run_as_a_failure() {
    let folder = folder();
    for (length, words, line) in [
        (None, Some([1, 0]), None),
        (
            None,
            Some([0, 9]),
            Some("rarefy: error: rank 1 sends unknown words"),
        ),
        (
            Some(u64::MAX),
            None,
            Some("it announces 18446744073709551615 bytes"),
        ),
    ] {
        let port = free_port();
        let first = rank(folder.path(), 0, port, None);
        let [mut messages, mut watch] = [0, 1].map(|purpose| {
            let (stream, answer) = greeted(port, purpose, "");
            assert_eq!(answer, 1);
            stream
        });
        if let Some(length) = length {
            messages.write_all(&u64::to_le_bytes(length)).unwrap();
        }
        if let Some(words) = words {
            watch.write_all(&words).unwrap();
        }
        let output = ended(first);
        let said = errors(&output);
        assert_eq!(output.status.code(), Some(1), "{said:?}");
        match line {
            None => assert_eq!(said, [""; 0]),
            Some(line) => assert!(said.len() == 1 && said[0].contains(line), "{said:?}"),
        }
    }
}

#[test]
fn variables_that_are_no_numbers_are_refused() {
    for (variables, line) in [
        (
            [("RAREFY_RANK", "-1"), ("RAREFY_RANKS", "2")],
            "RAREFY_RANK: -1; expected a number from 0 to 1048575",
        ),
        (
            [("RANK", "0"), ("WORLD_SIZE", "18446744073709551615")],
            "WORLD_SIZE: 18446744073709551615; expected a number from 1 to 1048576",
        ),
    ] {
        let folder = folder();
        let mut command = rarefy(folder.path(), &words(&format!("{LINE} --quiet --out run")));
        let output = ended(started(command.envs(variables)));
        assert_eq!(output.status.code(), Some(2));
        assert_eq!(errors(&output), [format!("rarefy: error: {line}")]);
        // Parameter studies set such variables for themselves.
        let mut command = rarefy(folder.path(), &words(&format!("{LINE} --quiet --out run")));
        let output = ended(started(command.envs(variables).env("RAREFY_SEPARATE", "1")));
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
}

#[test]
fn a_killed_launcher_leaves_no_process() {
    let folder = folder();
    let (launcher, ranks) = long_run(folder.path());
    send("-KILL", launcher.id());
    let begun = Instant::now();
    let is_there = |rank: &u32| {
        // One that has ended may wait for the process that adopted it.
        let state = std::fs::read_to_string(format!("/proc/{rank}/stat")).unwrap_or_default();
        let state = state.rsplit(')').next().unwrap_or_default().trim_start();
        !state.is_empty() && !state.starts_with('Z')
    };
    while ranks.iter().any(is_there) {
        assert!(
            begun.elapsed() < Duration::from_secs(30),
            "{ranks:?} are there"
        );
        sleep(Duration::from_millis(20));
    }
    let output = ended(launcher);
    let said = errors(&output);
    assert!(
        said.len() == 1 && said[0].contains("interrupted after "),
        "{said:?}"
    );
    // The checkpoint is whole: it is refused only for having more steps.
    let line = "shock --resume long/checkpoint.rarefy --steps 1 --quiet";
    refused(folder.path(), &words(line), "step");
}
