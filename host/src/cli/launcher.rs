//! Launchers of ranks, such as mpirun: each of their processes would compute the same.

use super::failure::Failure;

/// Launchers and their variables: rank and number of ranks.
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

/// The variable that declares each process a run of its own.
const SEPARATE: &str = "RAREFY_SEPARATE";

/// Refuses a process that is one of several ranks.
pub(super) fn check() -> Result<(), Failure> {
    of(|name| std::env::var(name).ok())
}

fn of(variable: impl Fn(&str) -> Option<String>) -> Result<(), Failure> {
    if variable(SEPARATE).is_some_and(|value| value.trim() == "1") {
        return Ok(());
    }
    let number = |name: &str| variable(name).and_then(|text| text.trim().parse::<u64>().ok());
    // The innermost launcher comes first: torchrun starts within a step of srun.
    for (launcher, [of_rank, of_ranks]) in LAUNCHERS {
        let (Some(rank), Some(ranks)) = (number(of_rank), number(of_ranks)) else {
            continue;
        };
        if ranks < 2 {
            return Ok(());
        }
        return Err(Failure::Usage(format!(
            "{launcher} started this as rank {rank} of {ranks}, and each would compute the same: start one process, with --devices for the GPUs of a host, or set {SEPARATE}=1 where each is a run of its own"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(variables: &[(&str, &str)]) -> Option<String> {
        let find = |name: &str| variables.iter().find(|(known, _)| *known == name);
        let found = of(|name| find(name).map(|(_, value)| (*value).to_owned()));
        found.err().map(|failure| failure.code_and_line().1)
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
        for (variables, words) in [
            (slurm.as_slice(), "srun started this as rank 5 of 8,"),
            (&nested, "mpirun of Open MPI started this as rank 2 of 4,"),
            (&deeper, "torchrun started this as rank 3 of 6,"),
            (
                &[("MV2_COMM_WORLD_RANK", "1"), ("MV2_COMM_WORLD_SIZE", "3")],
                "mpirun of MVAPICH started this as rank 1 of 3,",
            ),
            (
                &[("PMI_RANK", "0"), ("PMI_SIZE", "2")],
                "mpirun of MPICH started this as rank 0 of 2,",
            ),
        ] {
            let line = refusal(variables).expect("a refusal");
            assert!(line.contains(words), "{line}");
            let separate = [variables, &[("RAREFY_SEPARATE", "1")]].concat();
            assert_eq!(refusal(&separate), None);
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
            assert_eq!(refusal(variables), None);
        }
    }
}
