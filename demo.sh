#!/bin/sh
# From a fresh clone to a report: what `make demo` does, in four steps.
# It asks before it installs packages, starts nothing that stays, and leaves
# everything it makes in target/, .prony/ and runs/.
set -eu
cd "$(dirname "$0")"

YES="${YES:-}"
[ "${CI:-}" = true ] && YES=1
# The one place that says it.
RUST_NEEDED=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }

# Runs a command as root, or fails if that needs a password.
as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}

ask() {
  [ -n "$YES" ] && return 0
  [ -t 0 ] || { echo "No terminal to ask at: run 'make demo YES=1' to answer yes."; return 1; }
  printf '%s [y/N] ' "$1"
  read -r answer
  case "$answer" in y|Y|yes|Yes) return 0 ;; *) return 1 ;; esac
}

# 1. A C linker (for the Rust build), and curl if Rust has to be fetched.
need_packages() {
  missing=
  command -v cc >/dev/null || missing="$missing gcc libc6-dev"
  usable_cargo || command -v curl >/dev/null || missing="$missing curl ca-certificates"
  [ -n "$missing" ] || return 0
  command="apt-get update && apt-get install -y --no-install-recommends$missing"
  if ! command -v apt-get >/dev/null; then
    echo "To build Prony these are missing:$missing. Install them with your system's package manager, then run make demo again."
    exit 2
  fi
  if [ "$(id -u)" != 0 ] && ! sudo -n true 2>/dev/null; then
    echo "To build Prony these packages are missing:$missing. As root, run:"
    echo "  $command"
    echo "and then make demo again."
    exit 2
  fi
  echo "To build Prony these packages are missing:$missing"
  ask "Install them now?" || { echo "Nothing was installed. As root: $command"; exit 2; }
  as_root apt-get update -qq
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing
}

usable_cargo() {
  command -v cargo >/dev/null || return 1
  version=$(cargo --version 2>/dev/null | cut -d' ' -f2) || return 1
  [ "$(printf '%s\n%s\n' "$RUST_NEEDED" "$version" | sort -V | head -n 1)" = "$RUST_NEEDED" ]
}

# 2. Rust, only if no usable cargo exists.
need_rust() {
  [ -f "$HOME/.cargo/env" ] && . "$HOME/.cargo/env"
  usable_cargo && return 0
  echo "Prony needs Rust $RUST_NEEDED or newer; $(cargo --version 2>/dev/null || echo "there is no cargo here")."
  ask "Install Rust through rustup into ~/.cargo (no root needed)?" || {
    echo "Nothing was installed. Install Rust from https://rustup.rs, then run make demo again."; exit 2; }
  curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y --profile minimal --no-modify-path
  [ -f "$HOME/.cargo/env" ] || {
    echo "Rust could not be installed. Install Rust $RUST_NEEDED or newer from https://rustup.rs, then run make demo again."
    exit 3
  }
  . "$HOME/.cargo/env"
}

need_packages
need_rust

say "1/3  Building Prony (about five minutes on two cores)"
# The HTML report needs npm; without it the demo ends with the terminal's report.
sh web/build.sh
cargo build --release --locked

prony=target/release/prony
say "2/3  Installing the quick servers"
yes=
[ -n "$YES" ] && yes=--yes
# A server that cannot be installed is named, and the run goes on without it.
"$prony" servers install --experiment quickstart $yes || echo "Going on with the servers that are there."

say "3/3  Comparing them (about six minutes)"
exec "$prony" bench quickstart
