# SPDX-License-Identifier: (Apache-2.0 OR MIT)
"""The command `rarefy` for Spack 1.0 and later, from the checkout in which this file lies.

spack repo add packaging/spack_repo/rarefy
spack install rarefy +mpi
"""

from pathlib import Path

from spack_repo.builtin.build_systems.cargo import CargoPackage

from spack.package import *


class Rarefy(CargoPackage):
    """Deterministic numerical methods of kinetic theory on GPUs, with kernels in Rust."""

    git = Path(__file__).resolve().parents[5].as_uri()

    license("Apache-2.0 OR MIT")

    version("main", branch="main")

    variant("mpi", default=False, description="Connect the ranks of mpirun and srun by MPI")
    variant("nccl", default=False, description="Find NCCL for several processes on GPUs")

    conflicts("+mpi", when="+nccl", msg="a build for MPI connects the ranks of srun by MPI")

    depends_on("c", type="build")
    depends_on("rust@1.95:", type="build")
    depends_on("mpi", when="+mpi")
    # Bindings to MPI are made by libclang.
    depends_on("llvm+clang", type="build", when="+mpi")
    depends_on("nccl@2.14:", type="run", when="+nccl")

    @property
    def build_args(self):
        return ["--locked", *(["--features", "mpi"] if self.spec.satisfies("+mpi") else [])]

    @property
    def check_args(self):
        return ["--locked"]

    def setup_build_environment(self, env: EnvironmentModifications) -> None:
        if self.spec.satisfies("+mpi"):
            env.set("MPICC", self.spec["mpi"].mpicc)
            env.set("LIBCLANG_PATH", self.spec["llvm"].prefix.lib)

    def setup_run_environment(self, env: EnvironmentModifications) -> None:
        # The command looks for lib/libnccl.so.2 in this folder.
        if self.spec.satisfies("+nccl"):
            env.set("NCCL_HOME", self.spec["nccl"].prefix)

    def test_version(self):
        """print the version"""
        rarefy = which(self.prefix.bin.rarefy)
        out = rarefy("--version", output=str.split, error=str.split)
        assert out.startswith("rarefy ")
