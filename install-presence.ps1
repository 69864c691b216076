# Installs Presence into a DSH profile, upgrades it, or takes it out: see -Help.
# The program is install-presence.mjs beside this file, or scripts\install.ts in a checkout.
# No param block: every argument, -WhatIf too, goes to the program as it is.
$node = Get-Command node -CommandType Application -ErrorAction SilentlyContinue | Select-Object -First 1
if (-not $node) {
  [Console]::Error.WriteLine('install-presence: node is not on PATH. DSH itself needs Node 22.19 or newer.')
  exit 127
}
& $node.Source -e 'const [a, b] = process.versions.node.split(/\./).map(Number); process.exit(a > 22 || (a === 22 && b >= 19) ? 0 : 1)'
if ($LASTEXITCODE -ne 0) {
  [Console]::Error.WriteLine('install-presence: DSH itself needs Node 22.19 or newer.')
  exit 1
}
$program = Join-Path $PSScriptRoot 'install-presence.mjs'
if (-not (Test-Path -LiteralPath $program)) { $program = Join-Path $PSScriptRoot 'scripts\install.ts' }
& $node.Source $program @args
exit $LASTEXITCODE
