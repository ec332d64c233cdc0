#!/usr/bin/env bash
# Installs Open MPI and libclang, which the feature `mpi` is built with, where that is possible: as root of a Debian system.
# CI tests runs over processes where they are. Nothing is changed where they are there already.
set -euo pipefail

if command -v mpicc >/dev/null && command -v mpirun >/dev/null && compgen -G '/usr/lib/llvm-*/lib/libclang*.so*' >/dev/null; then
    exit 0
fi
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "install-mpi: no MPI here, and only root installs it"
    exit 0
fi
export DEBIAN_FRONTEND=noninteractive
if ! { apt-get update -qq && apt-get install -y -qq --no-install-recommends libopenmpi-dev openmpi-bin libclang-dev; }; then
    echo "install-mpi: the packages cannot be had here; runs over processes are not tested"
fi
