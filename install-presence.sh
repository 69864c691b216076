#!/bin/sh
# Installs Presence into a DSH profile, upgrades it, or takes it out: see --help.
# The program is install-presence.mjs beside this file, or scripts/install.ts in a checkout.
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd) || exit 1
if ! command -v node >/dev/null 2>&1; then
  echo 'install-presence: node is not on PATH. DSH itself needs Node 22.19 or newer.' >&2
  exit 127
fi
if ! node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 22 || (a === 22 && b >= 19) ? 0 : 1)'; then
  echo "install-presence: node is $(node --version). DSH itself needs Node 22.19 or newer." >&2
  exit 1
fi
program=$here/install-presence.mjs
[ -f "$program" ] || program=$here/scripts/install.ts
exec node "$program" "$@"
