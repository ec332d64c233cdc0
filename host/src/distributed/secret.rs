//! The secret that the processes of a run share, and the proofs of it in their greetings.

use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::error::{Error, Result};

/// Bytes of a proof, and of a number that is drawn for one greeting.
pub(super) const BYTES: usize = 32;

/// Fewest characters of a secret. A proof lets whoever receives it try short ones.
const FEWEST: usize = 16;

/// Most bytes that are read of its file.
const MOST: u64 = 4096;

/// The side of a greeting: a proof of one is none of the other.
#[derive(Clone, Copy, Debug)]
pub(super) enum Side {
    /// Rank 0, which listens.
    First,
    /// Any other rank.
    Other,
}

/// The secret of a run, or its absence: then everybody who reaches rank 0 can prove that.
#[derive(Clone, Default, PartialEq, Eq)]
pub(super) struct Secret(Option<Vec<u8>>);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_set() {
            "a secret"
        } else {
            "no secret"
        })
    }
}

impl Secret {
    /// The variable with the secret.
    pub(super) const VARIABLE: &str = "RAREFY_SECRET";
    /// The variable with the name of a file that holds it.
    const FILE_VARIABLE: &str = "RAREFY_SECRET_FILE";
    /// The file in the folder in which the ranks start, unless the variable names another.
    pub(super) const FILE: &str = "rarefy.secret";

    /// The secret of the environment, else of a file.
    ///
    /// # Errors
    /// A short secret; a file that others than its owner can read, or that the variable names and that is not there.
    pub(super) fn find(variable: impl Fn(&str) -> Option<String>) -> Result<Self> {
        if let Some(text) = variable(Self::VARIABLE) {
            return Self::new(&text)
                .map_err(|why| Error::invalid(Self::VARIABLE, why, Self::expected()));
        }
        let named = variable(Self::FILE_VARIABLE);
        let path = PathBuf::from(named.as_deref().unwrap_or(Self::FILE));
        if named.is_none() && !path.exists() {
            return Ok(Self::default());
        }
        let text = read(&path).map_err(|why| Error::file(&path, why))?;
        Self::new(&text)
            .map_err(|why| Error::file(&path, format!("{why}; expected {}", Self::expected())))
    }

    fn expected() -> String {
        format!("at least {FEWEST}, such as those of 'openssl rand -hex 32'")
    }

    pub(super) fn new(text: &str) -> Result<Self, String> {
        let text = text.trim();
        match text.chars().count() {
            short if short < FEWEST => Err(format!("{short} characters")),
            _ => Ok(Self(Some(text.as_bytes().to_vec()))),
        }
    }

    pub(super) fn is_set(&self) -> bool {
        self.0.is_some()
    }

    fn code(&self, side: Side, said: &[&[u8]]) -> Option<Hmac<Sha256>> {
        let key = self.0.as_deref().unwrap_or_default();
        let mut code = Hmac::<Sha256>::new_from_slice(key).ok()?;
        code.update(match side {
            Side::First => b"first",
            Side::Other => b"other",
        });
        for part in said {
            code.update(part);
        }
        Some(code)
    }

    /// The proof of a side that has seen these words, whose lengths are fixed.
    pub(super) fn proof(&self, side: Side, said: &[&[u8]]) -> [u8; BYTES] {
        let code = self.code(side, said);
        code.map_or([0; BYTES], |code| code.finalize().into_bytes().into())
    }

    /// Whether a proof is that of a side, in a time that does not depend on the first byte that differs.
    pub(super) fn is_proven(&self, side: Side, said: &[&[u8]], proof: &[u8]) -> bool {
        let code = self.code(side, said);
        code.is_some_and(|code| code.verify_slice(proof).is_ok())
    }
}

/// Bytes that nobody can predict.
pub(super) fn random() -> Result<[u8; BYTES]> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes)
        .map_err(|why| Error::Numerical(format!("the system has no random numbers: {why}")))?;
    Ok(bytes)
}

/// A new secret as text.
#[cfg(any(feature = "cli", test))]
pub(super) fn random_text() -> Result<String> {
    Ok(random()?.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The text of a file that its owner alone can read, who is this user.
fn read(path: &Path) -> Result<String, String> {
    let failed = |why: std::io::Error| why.to_string();
    // A pipe would wait for its other end.
    if !std::fs::metadata(path).map_err(failed)?.is_file() {
        return Err("no file; expected one with the secret of the ranks".to_owned());
    }
    let file = std::fs::File::open(path).map_err(failed)?;
    #[cfg(unix)]
    check_owner(path, &file.metadata().map_err(failed)?)?;
    let mut text = String::new();
    file.take(MOST).read_to_string(&mut text).map_err(failed)?;
    Ok(text)
}

#[cfg(unix)]
fn check_owner(path: &Path, file: &std::fs::Metadata) -> Result<(), String> {
    use std::os::unix::fs::MetadataExt;

    unsafe extern "C" {
        fn geteuid() -> u32;
    }
    if file.mode() & 0o077 != 0 {
        return Err(format!(
            "others than its owner can use it (mode {:o}); 'chmod 600 {}' ends that",
            file.mode() & 0o777,
            path.display()
        ));
    }
    // SAFETY: the call returns a number, and touches no memory.
    let user = unsafe { geteuid() };
    if file.uid() != user {
        return Err(format!(
            "user {} owns it; expected a file of user {user}, who runs this",
            file.uid()
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4231, test case 2 of HMAC-SHA-256, whose key and data are texts.
    #[test]
    fn codes_are_those_of_the_standard() {
        let mut code = Hmac::<Sha256>::new_from_slice(b"Jefe").unwrap();
        code.update(b"what do ya want for nothing?");
        let code: [u8; BYTES] = code.finalize().into_bytes().into();
        assert_eq!(code[..4], [0x5b, 0xdc, 0xc1, 0x46]);
        assert_eq!(code[28..], [0x64, 0xec, 0x38, 0x43]);
    }

    #[test]
    fn a_proof_is_that_of_its_secret_side_and_words() {
        let secret = Secret::new("0123456789abcdef").unwrap();
        let proof = secret.proof(Side::Other, &[b"hello", b"nonce"]);
        assert!(secret.is_proven(Side::Other, &[b"hello", b"nonce"], &proof));
        assert!(!secret.is_proven(Side::First, &[b"hello", b"nonce"], &proof));
        assert!(!secret.is_proven(Side::Other, &[b"hello", b"Nonce"], &proof));
        assert!(!secret.is_proven(Side::Other, &[b"hello", b"nonce"], &proof[..31]));
        for other in [Secret::default(), Secret::new("0123456789abcdeF").unwrap()] {
            assert!(!other.is_proven(Side::Other, &[b"hello", b"nonce"], &proof));
        }
        assert_eq!(format!("{secret:?}"), "a secret");
        let texts = [random_text().unwrap(), random_text().unwrap()];
        assert!(texts[0] != texts[1] && texts.iter().all(|text| text.len() == 64));
    }

    #[test]
    fn short_secrets_are_refused_and_not_printed() {
        let find = |text: &str| {
            let find = |name: &str| (name == Secret::VARIABLE).then(|| text.to_owned());
            Secret::find(find)
        };
        assert!(find(" 0123456789abcdef\n").unwrap() == Secret::new("0123456789abcdef").unwrap());
        for (text, line) in [
            ("", "RAREFY_SECRET: 0 characters; expected at least 16"),
            (
                "swordfish ",
                "RAREFY_SECRET: 9 characters; expected at least 16",
            ),
        ] {
            let error = find(text).unwrap_err().to_string();
            assert!(
                error.starts_with(line) && !error.contains("swordfish"),
                "{error}"
            );
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_file_is_of_use_to_its_owner_alone() {
        use std::fs;
        use std::os::unix::fs::PermissionsExt;

        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("secret");
        let find = || {
            let path = file.display().to_string();
            Secret::find(|name| (name == Secret::FILE_VARIABLE).then(|| path.clone()))
        };
        assert!(find().is_err());
        fs::write(&file, "0123456789abcdef\n").unwrap();
        let set = |mode| fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        for mode in [0o644, 0o640, 0o602] {
            set(mode);
            let error = find().unwrap_err().to_string();
            assert!(
                error.contains(&format!("(mode {mode:o}); 'chmod 600 ")),
                "{error}"
            );
        }
        set(0o600);
        assert!(find().unwrap() == Secret::new("0123456789abcdef").unwrap());
        fs::write(&file, "short").unwrap();
        assert!(find().unwrap_err().to_string().contains("5 characters"));
        fs::remove_file(&file).unwrap();
        fs::create_dir(&file).unwrap();
        assert!(find().unwrap_err().to_string().contains("no file"));
    }
}
