#!/usr/bin/env bash
# The site of the book in all versions. This commit is at the root. Each minor version has a folder of its name, as 0.2/: its last tag, or this commit where it has none.
# `versions.html` lists them.
#
#     scripts/book/site.sh target/site
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
site=$(realpath -m "$1")
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)

rm -rf "$site"
scripts/check-documents.sh book "$site"
declare -A commits=()
for tag in $(git tag --list 'v[0-9]*' --sort=version:refname); do
    minor=${tag#v}
    commits[${minor%.*}]=$tag
done
for minor in "${!commits[@]}"; do
    checkout=$(mktemp -d)
    git worktree add --quiet --detach "$checkout" "${commits[$minor]}"
    "$checkout/scripts/check-documents.sh" book "$site/$minor"
    git worktree remove --force "$checkout"
done
own=${version%.*}
if [ ! -e "$site/$own" ]; then
    copy=$(mktemp -d)
    cp -r "$site/." "$copy"
    mv "$copy" "$site/$own"
fi
{
    echo '<!doctype html><meta charset="utf-8"><title>rarefy: versions</title><h1>Versions of the book</h1><ul>'
    for folder in $(cd "$site" && ls -d [0-9]*.[0-9]* | sort -Vr); do
        echo "<li><a href=\"$folder/\">$folder</a></li>"
    done
    echo '</ul>'
} > "$site/versions.html"
find "$site" -name .doctrees -prune -exec rm -rf {} +
