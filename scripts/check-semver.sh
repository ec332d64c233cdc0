#!/usr/bin/env bash
# Compares the public interfaces of the crates with those of the last version, the nearest tag before this commit, by cargo-semver-checks.
# Needs `cargo install --locked cargo-semver-checks` and the history of the repository. Without a tag it ends with success.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if ! baseline=$(git describe --tags --abbrev=0 --match 'v[0-9]*' HEAD^ 2> /dev/null); then
    echo "== interfaces: not compared, as no version is tagged before this commit"
    exit
fi
echo "== interfaces since $baseline"
# `mpi` and `peers` need libraries of the system.
cargo semver-checks --baseline-rev "$baseline" --package rarefy --default-features --features ndarray
cargo semver-checks --baseline-rev "$baseline" --package rarefy-simt --package rarefy-kernels --package ptx-builder
