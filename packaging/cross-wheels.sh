#!/usr/bin/env bash
# Builds the wheels of Linux for x86_64 and aarch64, the first from the sdist, and tries both by try-wheel.py in fresh environments: aarch64 in qemu.
#
#     packaging/cross-wheels.sh [x86_64] [aarch64]          both without a name
#
# Runs on Debian for x86_64 with rustup, python3 and venv; aarch64 also needs qemu-aarch64-static. zig from PyPI links for manylinux_2_28. CPython for aarch64
# is unpacked from Debian's packages below target/cross, and the wheels go to target/cross/dist.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
cross=$PWD/target/cross
dist=$cross/dist
export CARGO_TARGET_DIR=$PWD/target/wheels CARGO_INCREMENTAL=0
try=$PWD/packaging/try-wheel.py
if [ $# = 0 ]; then
    set -- x86_64 aarch64
fi

if [ ! -x "$cross/tools/bin/auditwheel" ]; then
    python3 -m venv "$cross/tools"
    "$cross/tools/bin/pip" install --quiet --disable-pip-version-check 'maturin>=1.9,<2' ziglang auditwheel
fi
PATH=$cross/tools/bin:$PATH

# Builds a wheel: processor, folder of the sources, flags. auditwheel names the symbols that it takes from the system.
build() {
    local target=$1-unknown-linux-gnu
    echo "== $1"
    rustup target add "$target"
    rm -rf "${dist:?}/$1"
    (cd "$2" && maturin build --release --zig --target "$target" --compatibility manylinux_2_28 \
        --manifest-path python/Cargo.toml --out "$dist/$1" "${@:3}")
    ls -l "$dist/$1"
    auditwheel show "$dist/$1"/*.whl
}

build_sdist() {
    rm -rf "${dist:?}/sdist" "$cross/sources"
    maturin sdist --manifest-path python/Cargo.toml --out "$dist/sdist"
    mkdir -p "$cross/sources"
    tar xzf "$dist"/sdist/*.tar.gz -C "$cross/sources" --strip-components 1
}

try_x86_64() {
    local environment=$cross/x86_64
    rm -rf "$environment"
    python3 -m venv "$environment"
    "$environment/bin/pip" install --quiet --disable-pip-version-check "$dist/x86_64"/*.whl
    "$environment/bin/python" -W error "$try"
}

# Unpacks CPython and its libraries, of which the package manager of this system knows nothing.
unpack_aarch64() {
    local root=$1 packages=$1.packages package
    mkdir -p "$packages"/{lists,archives}/partial "$root.new"
    : > "$packages/status"
    cat > "$packages/apt.conf" <<APT
APT::Architecture "arm64";
APT::Architectures { "arm64"; };
APT::Install-Recommends "false";
Dir::State::lists "$packages/lists";
Dir::State::status "$packages/status";
Dir::Cache "$packages";
APT
    APT_CONFIG=$packages/apt.conf apt-get update -qq
    APT_CONFIG=$packages/apt.conf apt-get install -y -qq --download-only libstdc++6 python3 python3-pip-whl
    for package in "$packages"/archives/*.deb; do
        dpkg-deb -x "$package" "$root.new"
    done
    mv "$root.new" "$root"
}

try_aarch64() {
    local root=$cross/aarch64-root environment=$cross/aarch64
    local emulator=(qemu-aarch64-static -L "$root") pip
    [ -d "$root" ] || unpack_aarch64 "$root"
    rm -rf "$environment"
    "${emulator[@]}" "$root/usr/bin/python3" -m venv --without-pip "$environment"
    pip=$(echo "$root"/usr/share/python-wheels/pip-*.whl)/pip
    "${emulator[@]}" "$environment/bin/python" "$pip" install --quiet --disable-pip-version-check "$dist/aarch64"/*.whl
    "${emulator[@]}" "$environment/bin/python" -W error "$try" "${emulator[@]}"
}

for name; do
    case $name in
    x86_64)
        build_sdist
        # Its lock file also has packages of parts that the sdist leaves out.
        build x86_64 "$cross/sources"
        try_x86_64
        ;;
    aarch64)
        build aarch64 . --locked
        try_aarch64
        ;;
    *)
        echo "error: $name; expected x86_64 or aarch64"
        exit 2
        ;;
    esac
done
