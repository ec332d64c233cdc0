#!/usr/bin/env bash
# Whether all manifests have this version, and the changelog a heading for it:
#
#     packaging/check-version.sh 0.2.0
#     packaging/check-version.sh --notes 0.2.0      # prints its part of the changelog instead
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if [ "${1:-}" = --notes ]; then
    awk -v heading="## [$2]" 'index($0, "## [") == 1 { within = index($0, heading) == 1; next } within' CHANGELOG.md
    exit
fi
[ $# = 1 ] || { echo "usage: check-version.sh [--notes] VERSION"; exit 2; }
version=$1
wrong=0
has() {
    if ! grep -qxF -- "$2" "$1"; then
        echo "error: $1 has no line: $2"
        wrong=1
    fi
}
has Cargo.toml "version = \"$version\""
has python/Cargo.toml "version = \"$version\""
has CITATION.cff "version: $version"
has packaging/conda/recipe.yaml "  version: \"$version\""
if ! grep -qE "^## \[${version//./\\.}\] - [0-9]{4}-[0-9]{2}-[0-9]{2}$" CHANGELOG.md; then
    echo "error: CHANGELOG.md has no heading: ## [$version] - YYYY-MM-DD"
    wrong=1
fi
exit $wrong
