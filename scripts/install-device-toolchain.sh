#!/usr/bin/env bash
# Installs what compiles the kernels of rarefy to PTX and what checks the result:
#
#   1. a Rust compiler for the device, with the sources of `core`, and the tools of the same LLVM
#      (Debian packages rustc-web, cargo-web, rust-web-src, llvm-NN);
#   2. NVIDIA's assembler and disassemblers ptxas, nvdisasm, cuobjdump (Python packages nvidia-cuda-*).
#
# Needed only by who changes kernels-gpu/ and by CI: the PTX is committed, and the rest of rarefy builds without it.
# Run it as root or with sudo at hand. What is there already is left alone, so a second run takes a second.
#
# Not on Debian? Any recent nightly of rustup serves in place of 1:
#
#   rustup toolchain install nightly --profile minimal --component rust-src --component llvm-tools
#
# PTX from another compiler than the one recorded in kernels-gpu/ptx/manifest.toml is checked by kernels and budgets, not
# byte for byte. RAREFY_DEVICE_RUSTC, RAREFY_DEVICE_CARGO and RAREFY_LLVM_BIN name a toolchain elsewhere, RAREFY_PTXAS an
# assembler, RAREFY_DEVICE_TOOLS the folder for 2 (default: ~/.local/share/rarefy/device-tools).
set -euo pipefail

cuda_packages=(nvidia-cuda-nvcc==13.0.88 nvidia-cuda-nvdisasm==13.5.37 nvidia-cuda-cuobjdump==13.5.37)
tools=${RAREFY_DEVICE_TOOLS:-${XDG_DATA_HOME:-$HOME/.local/share}/rarefy/device-tools}

say() { echo "install-device-toolchain: $*"; }

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        say "needs root, or sudo, for: $*" >&2
        return 1
    fi
}

# Major version of the LLVM in the compiler that apt installs; nothing if there is no such compiler.
llvm_of() { "$1" -vV 2>/dev/null | sed -n 's/^LLVM version: \([0-9]*\).*/\1/p'; }

compiler_is_complete() {
    local sysroot llvm
    [ -x /usr/bin/rustc ] && [ -x /usr/bin/cargo ] || return 1
    sysroot=$(/usr/bin/rustc --print sysroot) && llvm=$(llvm_of /usr/bin/rustc) || return 1
    [ -e "$sysroot/lib/rustlib/src/rust/library/core/src/lib.rs" ] && [ -x "/usr/lib/llvm-$llvm/bin/llc" ]
}

nightly_is_complete() {
    local rustc sysroot
    for rustc in "${RUSTUP_HOME:-$HOME/.rustup}"/toolchains/nightly*/bin/rustc; do
        [ -x "$rustc" ] && sysroot=$("$rustc" --print sysroot) || continue
        if [ -e "$sysroot/lib/rustlib/src/rust/library/core/src/lib.rs" ] &&
            compgen -G "$sysroot/lib/rustlib/*/bin/llc" >/dev/null; then
            return 0
        fi
    done
    return 1
}

if [ -n "${RAREFY_DEVICE_RUSTC:-}" ] || compiler_is_complete; then
    say "the device compiler is there: $("${RAREFY_DEVICE_RUSTC:-/usr/bin/rustc}" -V)"
elif command -v apt-get >/dev/null; then
    say "installing rustc-web, cargo-web, rust-web-src and their LLVM with apt-get"
    export DEBIAN_FRONTEND=noninteractive
    as_root apt-get update -qq
    as_root apt-get install -qq -y --no-install-recommends rustc-web cargo-web rust-web-src >/dev/null
    as_root apt-get install -qq -y --no-install-recommends "llvm-$(llvm_of /usr/bin/rustc)" >/dev/null
    compiler_is_complete || { say "the packages of this distribution do not make a device toolchain" >&2; exit 1; }
    say "installed $(/usr/bin/rustc -V)"
elif nightly_is_complete; then
    say "a nightly toolchain of rustup serves as device compiler"
else
    say "no apt-get here. Install a nightly instead:" >&2
    say "  rustup toolchain install nightly --profile minimal --component rust-src --component llvm-tools" >&2
    exit 1
fi

# The same places as ptx-builder/src/assembler.rs looks at.
has_tool() {
    command -v "$1" >/dev/null || [ -x "${CUDA_HOME:-/nonexistent}/bin/$1" ] || [ -x "${CUDA_PATH:-/nonexistent}/bin/$1" ] ||
        [ -x "$tools/nvidia/cu13/bin/$1" ] || [ -x "/usr/local/cuda/bin/$1" ] ||
        python3 -c 'import os, sys, nvidia.cu13 as m; sys.exit(not any(os.access(f"{p}/bin/{sys.argv[1]}", os.X_OK) for p in m.__path__))' "$1" 2>/dev/null
}

if { [ -n "${RAREFY_PTXAS:-}" ] || has_tool ptxas; } && has_tool nvdisasm && has_tool cuobjdump; then
    say "ptxas, nvdisasm and cuobjdump are there"
else
    say "installing ${cuda_packages[*]} with pip into $tools"
    mkdir -p "$tools"
    # Into a folder of their own: no virtual environment, nothing in the system's Python, no dependencies.
    python3 -m pip install --quiet --upgrade --no-deps --target "$tools" "${cuda_packages[@]}"
    chmod +x "$tools"/nvidia/cu13/bin/*
fi
say "done"
