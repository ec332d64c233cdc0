//! The place of a process among those that a launcher started.

/// The command itself as a launcher.
const OWN: &str = "--processes";

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
            "SLURM_STEP_TASKS_PER_NODE",
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
    pub fn from_environment() -> Option<Self> {
        Self::of(|name| std::env::var(name).ok())
    }

    /// Whether the command itself started the ranks.
    pub fn is_own(&self) -> bool {
        self.launcher == OWN
    }

    /// The variables by which a process of this host finds its place among ranks that the command starts.
    #[cfg(any(feature = "cli", test))]
    pub(crate) fn variables(rank: usize, ranks: usize, port: u16) -> [(&'static str, String); 5] {
        let [of_rank, of_ranks, of_local, of_locals] = LAUNCHERS[0].1;
        let (rank, ranks) = (rank.to_string(), ranks.to_string());
        [
            (of_rank, rank.clone()),
            (of_ranks, ranks.clone()),
            (of_local, rank),
            (of_locals, ranks),
            (Self::MEETING, format!("127.0.0.1:{port}")),
        ]
    }

    pub(crate) fn of(variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let number = |name: &str| variable(name)?.trim().parse::<usize>().ok();
        LAUNCHERS
            .into_iter()
            .find_map(|(launcher, [of_rank, of_ranks, of_local, of_locals])| {
                Some(Self {
                    rank: number(of_rank)?,
                    ranks: number(of_ranks)?,
                    local: [number(of_local), number(of_locals)],
                    launcher,
                })
            })
            .filter(|place| place.ranks > 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> Option<Place> {
        let find = |name: &str| variables.iter().find(|(known, _)| *known == name);
        Place::of(|name| find(name).map(|(_, value)| (*value).to_owned()))
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
        let variables = Place::variables(1, 3, 7000);
        let find = |name: &str| variables.iter().find(|(known, _)| *known == name);
        let place = Place::of(|name| find(name).map(|(_, value)| value.clone())).expect("a place");
        assert!(place.is_own());
        assert_eq!([place.rank, place.ranks], [1, 3]);
        assert_eq!(place.local, [Some(1), Some(3)]);
        assert_eq!(find("RAREFY_MEETING").unwrap().1, "127.0.0.1:7000");
    }
}
