#!/usr/bin/env bash
# Checks all pages: prose (docs/STYLE.md), links, formulas. Builds the book into target/book.
# Needs python3 with venv, and npm. Each check must also refuse scripts/book/faulty.md.
#
#     scripts/check-documents.sh                    # all checks
#     scripts/check-documents.sh book FOLDER        # the book alone, into this folder
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
tools=$root/target/book-tools
pages=(*.md paper/*.md docs/*.md docs/benchmarks/*.md docs/history/*.md examples/README.md simt/README.md python/README.md)

if ! cmp -s scripts/book/requirements.txt "$tools/requirements.txt"; then
  python3 -m venv --clear "$tools/python"
  "$tools/python/bin/pip" install --quiet --disable-pip-version-check -r scripts/book/requirements.txt
  cp scripts/book/requirements.txt "$tools"
fi
if ! cmp -s scripts/book/package.json "$tools/npm/package.json"; then
  rm -rf "$tools/npm"
  mkdir -p "$tools/npm"
  cp scripts/book/package.json "$tools/npm"
  npm install --silent --no-audit --no-fund --prefix "$tools/npm"
fi
cp scripts/book/textlint.json "$tools/npm/.textlintrc.json"
cp scripts/book/words.yml "$tools/npm"

prose() {
  (cd "$tools/npm" && node_modules/.bin/textlint --no-color --format unix "${@/#/$root/}")
}
links() {
  "$tools/python/bin/lychee" --offline --include-fragments --no-progress --quiet "$@"
}
comments() {
  grep -rnE --include='*.rs' '//.*\b(told|stands|lends|gives|looks|in place of|What)\b' "$@"
}
book() {
  "$tools/python/bin/sphinx-build" -q -n -W --keep-going -c scripts/book "$@"
}
# The pages of docs/ and the notebooks of python/examples, which have their outputs. Links to other files of the repository are relative, so they lie beside the copy.
pages_and_notebooks() {
  local sources=$tools/sources entry
  rm -rf "$sources"
  mkdir -p "$sources/docs"
  for entry in *; do
    [ "$entry" = docs ] || [ "$entry" = target ] || ln -s "$root/$entry" "$sources/$entry"
  done
  cp -rp docs/. "$sources/docs"
  mkdir "$sources/docs/notebooks"
  cp -p python/examples/*.ipynb "$sources/docs/notebooks"
  book "$sources/docs" "$1"
}

if [ "${1:-}" = book ]; then
  pages_and_notebooks "$2"
  exit
fi

echo "== self-test: the faults of scripts/book/faulty.md are found"
rm -rf "$tools/faulty"
mkdir -p "$tools/faulty"
cp scripts/book/faulty.md "$tools/faulty/README.md"
echo "root: README" > "$tools/faulty/_toc.yml"
echo "/// What a lane lends." > "$tools/faulty/lib.rs"
found=$(
  ! prose target/book-tools/faulty/README.md
  comments "$tools/faulty"
  ! links "$tools/faulty/README.md"
  ! book "$tools/faulty" "$tools/faulty/html" 2>&1
)
for fault in "What =>" "told =>" "stands =>" "lends =>" "gives =>" "looks =>" "in place of =>" "maximum word count" \
  "nowhere.md (at 9:27) | File not found" "nowhere.md' \[myst.xref_missing" "KaTeX parse error" "lib.rs:1:"; do
  grep -q "$fault" <<< "$found" || { echo "error: not found: $fault"; exit 1; }
done

echo "== prose"
prose "${pages[@]}"
echo "== comments"
if comments host kernels-gpu simt ptx-builder python xtask tests benches examples; then
  echo "error: words that docs/STYLE.md rules out"
  exit 1
fi
echo "== links"
links "${pages[@]}"
echo "== book"
pages_and_notebooks target/book
echo "== documents: passed"
