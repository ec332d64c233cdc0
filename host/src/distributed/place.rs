//! The place of a process among those that a launcher started.

/// Launchers and their variables: rank, number of ranks.
const LAUNCHERS: [(&str, [&str; 2]); 5] = [
    ("torchrun", ["RANK", "WORLD_SIZE"]),
    (
        "mpirun of Open MPI",
        ["OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"],
    ),
    (
        "mpirun of MVAPICH",
        ["MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"],
    ),
    ("mpirun of MPICH", ["PMI_RANK", "PMI_SIZE"]),
    // Never SLURM_NTASKS: batch scripts and shells have it too, where nobody else comes.
    ("srun", ["SLURM_PROCID", "SLURM_STEP_NUM_TASKS"]),
];

/// The place of a process among the ranks that a launcher started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Place {
    /// The number of this rank, from 0 on.
    pub rank: usize,
    /// How many ranks there are.
    pub ranks: usize,
    /// The launcher in words, such as `mpirun of Open MPI`.
    pub launcher: &'static str,
}

impl Place {
    /// The place that a launcher has written into the environment; none for a process on its own.
    ///
    /// torchrun comes first, then Open MPI, MVAPICH, MPICH and the steps of Slurm: the innermost launcher counts.
    pub fn from_environment() -> Option<Self> {
        Self::of(|name| std::env::var(name).ok())
    }

    pub(crate) fn of(variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let number = |name: &str| variable(name)?.trim().parse::<usize>().ok();
        LAUNCHERS
            .into_iter()
            .find_map(|(launcher, [of_rank, of_ranks])| {
                Some(Self {
                    rank: number(of_rank)?,
                    ranks: number(of_ranks)?,
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
}
