//! The place of a process among those that a launcher started.

use crate::error::{Error, Result};

/// Most ranks of a run.
const MOST: usize = 1 << 20;

/// The command itself as a launcher.
const OWN: &str = "--processes";

/// Slurm's numbers of tasks on each host.
const TASKS: &str = "SLURM_STEP_TASKS_PER_NODE";

/// Launchers and their variables: rank, number of ranks, rank and number of ranks on the same host.
const LAUNCHERS: [(&str, [&str; 4]); 6] = [
    (
        OWN,
        [
            "RAREFY_RANK",
            "RAREFY_RANKS",
            "RAREFY_LOCAL_RANK",
            "RAREFY_LOCAL_RANKS",
        ],
    ),
    (
        "torchrun",
        ["RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"],
    ),
    (
        "mpirun of Open MPI",
        [
            "OMPI_COMM_WORLD_RANK",
            "OMPI_COMM_WORLD_SIZE",
            "OMPI_COMM_WORLD_LOCAL_RANK",
            "OMPI_COMM_WORLD_LOCAL_SIZE",
        ],
    ),
    (
        "mpirun of MVAPICH",
        [
            "MV2_COMM_WORLD_RANK",
            "MV2_COMM_WORLD_SIZE",
            "MV2_COMM_WORLD_LOCAL_RANK",
            "MV2_COMM_WORLD_LOCAL_SIZE",
        ],
    ),
    (
        "mpirun of MPICH",
        ["PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"],
    ),
    // Never SLURM_NTASKS: batch scripts and shells have it too, where nobody else comes.
    (
        "srun",
        [
            "SLURM_PROCID",
            "SLURM_STEP_NUM_TASKS",
            "SLURM_LOCALID",
            TASKS,
        ],
    ),
];

/// The place of a process among the ranks that a launcher started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Place {
    /// The number of this rank, from 0 on.
    pub rank: usize,
    /// How many ranks there are.
    pub ranks: usize,
    /// The number of this rank among those of its host, and how many these are, where the launcher says it.
    pub local: [Option<usize>; 2],
    /// The launcher in words, such as `mpirun of Open MPI`.
    pub launcher: &'static str,
}

impl Place {
    /// The variable with the address at which rank 0 listens for processes that the command itself has started.
    pub(super) const MEETING: &str = "RAREFY_MEETING";

    /// The place that a launcher has written into the environment; none for a process on its own.
    ///
    /// The command's own ranks come first, then torchrun, Open MPI, MVAPICH, MPICH and the steps of Slurm: the innermost launcher counts.
    ///
    /// # Errors
    /// A variable of a launcher that is no number, or out of range; one of the command's own without the other.
    pub fn from_environment() -> Result<Option<Self>> {
        Self::of(variable)
    }

    /// Whether the command itself started the ranks.
    pub fn is_own(&self) -> bool {
        self.launcher == OWN
    }

    /// The variables by which the processes of this host find their places and each other; the secret is one of this run.
    ///
    /// # Errors
    /// A system without random numbers.
    #[cfg(any(feature = "cli", test))]
    pub(crate) fn variables(ranks: usize, port: u16) -> Result<Vec<[(&'static str, String); 6]>> {
        let [of_rank, of_ranks, of_local, of_locals] = LAUNCHERS[0].1;
        let secret = super::secret::random_text()?;
        let of = |rank: usize| {
            [
                (of_rank, rank.to_string()),
                (of_ranks, ranks.to_string()),
                (of_local, rank.to_string()),
                (of_locals, ranks.to_string()),
                (Self::MEETING, format!("127.0.0.1:{port}")),
                (super::secret::Secret::VARIABLE, secret.clone()),
            ]
        };
        Ok((0..ranks).map(of).collect())
    }

    pub(crate) fn of(variable: impl Fn(&str) -> Option<String>) -> Result<Option<Self>> {
        let given = |name: &str| {
            let text = variable(name)?;
            let text = text.trim();
            (!text.is_empty()).then(|| text.to_owned())
        };
        for (launcher, [of_rank, of_ranks, of_local, of_locals]) in LAUNCHERS {
            let [rank, ranks] = match [of_rank, of_ranks].map(given) {
                [Some(rank), Some(ranks)] => [rank, ranks],
                // Others use these names too, such as RANK.
                [None, None] => continue,
                _ if launcher != OWN => continue,
                [rank, _] => {
                    let missing = if rank.is_none() { of_rank } else { of_ranks };
                    return Err(Error::invalid(
                        missing,
                        "none",
                        format!("a number, as the other of {of_rank} and {of_ranks} has one"),
                    ));
                }
            };
            let ranks = number(of_ranks, &ranks, 1..MOST + 1)?;
            let rank = number(of_rank, &rank, 0..MOST)?;
            if ranks == 1 {
                return Ok(None);
            }
            if rank >= ranks {
                return Err(Error::invalid(
                    of_rank,
                    rank,
                    format!("a rank from 0 to {}, as {of_ranks} is {ranks}", ranks - 1),
                ));
            }
            let local = |name: &str, least| {
                // Of several hosts Slurm says how many tasks each has.
                let one = |text: &String| name != TASKS || is_of_one_host(text);
                let text = given(name).filter(one);
                let number =
                    text.map(|text| number(name, text.trim_end_matches("(x1)"), least..MOST));
                number.transpose()
            };
            let local = [local(of_local, 0)?, local(of_locals, 1)?];
            return Ok(Some(Self {
                rank,
                ranks,
                local,
                launcher,
            }));
        }
        Ok(None)
    }
}

/// A variable of this process. One that is no text is not passed over.
pub(super) fn variable(name: &str) -> Option<String> {
    std::env::var_os(name).map(|value| value.to_string_lossy().into_owned())
}

/// The number of a variable.
fn number(name: &str, text: &str, range: std::ops::Range<usize>) -> Result<usize> {
    let number = text.parse::<usize>().ok();
    number
        .filter(|number| range.contains(number))
        .ok_or_else(|| {
            let shown: String = text.chars().take(40).collect();
            Error::invalid(
                name,
                shown,
                format!("a number from {} to {}", range.start, range.end - 1),
            )
        })
}

/// Whether Slurm's numbers of tasks a host, such as `4` or `4(x2),3`, are of one host.
fn is_of_one_host(tasks: &str) -> bool {
    let tasks = tasks.trim_end_matches("(x1)");
    tasks.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> Option<Place> {
        let find = |name: &str| variables.iter().find(|(known, _)| *known == name);
        let place = Place::of(|name| find(name).map(|(_, value)| (*value).to_owned()));
        place.unwrap()
    }

    #[test]
    fn each_launcher_is_named() {
        let slurm = [
            ("SLURM_PROCID", "5"),
            ("SLURM_STEP_NUM_TASKS", "8"),
            ("SLURM_NTASKS", "8"),
        ];
        let open_mpi = [("OMPI_COMM_WORLD_RANK", "2"), ("OMPI_COMM_WORLD_SIZE", "4")];
        let torchrun = [("RANK", "3"), ("WORLD_SIZE", "6")];
        // mpirun within a job of Slurm, and torchrun within that.
        let nested = [slurm.as_slice(), &open_mpi].concat();
        let deeper = [nested.as_slice(), &torchrun].concat();
        for (variables, launcher, rank, ranks) in [
            (slurm.as_slice(), "srun", 5, 8),
            (&nested, "mpirun of Open MPI", 2, 4),
            (&deeper, "torchrun", 3, 6),
            (
                &[("MV2_COMM_WORLD_RANK", "1"), ("MV2_COMM_WORLD_SIZE", "3")],
                "mpirun of MVAPICH",
                1,
                3,
            ),
            (
                &[("PMI_RANK", "0"), ("PMI_SIZE", "2")],
                "mpirun of MPICH",
                0,
                2,
            ),
        ] {
            let expected = Place {
                rank,
                ranks,
                local: [None; 2],
                launcher,
            };
            assert_eq!(of(variables), Some(expected));
        }
    }

    #[test]
    fn shells_and_batch_scripts_are_one_rank() {
        // The variables of sbatch and salloc.
        let script = [
            ("SLURM_NTASKS", "8"),
            ("SLURM_PROCID", "0"),
            ("SLURM_LOCALID", "0"),
        ];
        let one = [("OMPI_COMM_WORLD_RANK", "0"), ("OMPI_COMM_WORLD_SIZE", "1")];
        for variables in [script.as_slice(), &one, &[], &[("RANK", "1")]] {
            assert_eq!(of(variables), None);
        }
    }

    #[test]
    fn processes_of_the_command_find_their_place() {
        let all = Place::variables(3, 7000).unwrap();
        let variables = &all[1];
        let value = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| value.clone())
        };
        let place = Place::of(value).unwrap().expect("a place");
        assert!(place.is_own());
        assert_eq!([place.rank, place.ranks], [1, 3]);
        assert_eq!(place.local, [Some(1), Some(3)]);
        assert_eq!(value("RAREFY_MEETING").unwrap(), "127.0.0.1:7000");
        let secret = value("RAREFY_SECRET").unwrap();
        assert_eq!(secret.len(), 64);
        assert!(all.iter().all(|of| of[5].1 == secret));
        assert!(Place::variables(3, 7000).unwrap()[1][5].1 != secret);
    }

    #[test]
    fn tasks_of_a_step_of_slurm_are_counted_by_host() {
        for (tasks, local) in [
            ("4", Some(4)),
            ("4(x1)", Some(4)),
            ("2(x2)", None),
            ("3,1", None),
        ] {
            let place = of(&[
                ("SLURM_PROCID", "1"),
                ("SLURM_STEP_NUM_TASKS", "4"),
                ("SLURM_LOCALID", "1"),
                ("SLURM_STEP_TASKS_PER_NODE", tasks),
            ]);
            assert_eq!(place.unwrap().local, [Some(1), local], "{tasks}");
        }
    }

    /// Variables without a number once meant one process, or a panic.
    #[test]
    fn numbers_that_are_none_are_refused() {
        for (variables, line) in [
            (
                &[("RAREFY_RANK", "-1"), ("RAREFY_RANKS", "2")][..],
                "RAREFY_RANK: -1; expected a number from 0 to 1048575",
            ),
            (
                &[("RAREFY_RANK", "1")],
                "RAREFY_RANKS: none; expected a number, as the other of RAREFY_RANK and RAREFY_RANKS has one",
            ),
            (
                &[("RANK", "0"), ("WORLD_SIZE", "18446744073709551615")],
                "WORLD_SIZE: 18446744073709551615; expected a number from 1 to 1048576",
            ),
            (
                &[("RANK", "0"), ("WORLD_SIZE", "0")],
                "WORLD_SIZE: 0; expected a number from 1 to 1048576",
            ),
            (
                &[("RANK", "4"), ("WORLD_SIZE", "4")],
                "RANK: 4; expected a rank from 0 to 3, as WORLD_SIZE is 4",
            ),
            (
                &[("RANK", "1"), ("WORLD_SIZE", "4"), ("LOCAL_RANK", "one")],
                "LOCAL_RANK: one; expected a number from 0 to 1048575",
            ),
            (
                &[("PMI_RANK", "0x1"), ("PMI_SIZE", "2")],
                "PMI_RANK: 0x1; expected a number from 0 to 1048575",
            ),
        ] {
            let find = |name: &str| variables.iter().find(|(known, _)| *known == name);
            let place = Place::of(|name| find(name).map(|(_, value)| (*value).to_owned()));
            assert_eq!(place.unwrap_err().to_string(), line);
        }
        assert_eq!(of(&[("RANK", ""), ("WORLD_SIZE", "4")]), None);
    }
}
