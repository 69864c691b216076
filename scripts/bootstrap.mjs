/**
 * The one script that any Node can run: it installs the dependencies when they are missing or older
 * than the lock file, then runs a script of the project with the Node that the dependencies ship.
 * Plain JavaScript without imports from packages, because there may be none yet.
 *
 *   node scripts/bootstrap.mjs scripts/x.ts args…
 */
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..')
const modules = join(root, 'node_modules')
const lockFile = join(root, 'pnpm-lock.yaml')
/** Holds the digest of the lock file that was installed. */
const stampFile = join(modules, '.presence-installed')
const windows = process.platform === 'win32'
const node = join(modules, 'node', 'bin', windows ? 'node.exe' : 'node')

const [script, ...args] = process.argv.slice(2)
if (script === undefined) fail('usage: node scripts/bootstrap.mjs <script> [argument…]', 2)
if (!existsSync(resolve(root, script))) fail(`there is no script ${script} in ${root}`, 2)

if (!installed()) await install()
if (!existsSync(node)) {
  fail(
    `the dependencies are installed, but the Node they ship is not at ${node}.\n` +
      'Its install script may have been blocked. Remove the folder node_modules and start again.',
  )
}

const { code, signal } = await run(node, [resolve(root, script), ...args], {
  stdio: 'inherit',
  env: environment(),
})
if (signal !== null) process.kill(process.pid, signal)
process.exitCode = code ?? 1

function installed() {
  if (!existsSync(node)) return false
  if (existsSync(stampFile) && readFileSync(stampFile, 'utf8') === lockDigest()) return true
  // Installed by hand with pnpm: its own record tells when.
  const record = join(modules, '.modules.yaml')
  return existsSync(record) && statSync(record).mtimeMs >= statSync(lockFile).mtimeMs
}

async function install() {
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const manager = String(manifest.packageManager).split('+')[0]
  console.error(`Installing the dependencies with ${manager}; the first time takes a few minutes.`)
  const outcome = await run(windows ? 'npx.cmd' : 'npx', ['--yes', manager, 'install', '--frozen-lockfile'], {
    // The standard output belongs to the script that follows: `pack` prints a path there.
    stdio: ['ignore', process.stderr, process.stderr],
    // CI: without a terminal pnpm must not stop to ask whether an old node_modules may go.
    env: { ...process.env, CI: 'true', npm_config_update_notifier: 'false' },
    shell: windows,
  }).catch((error) =>
    fail(`npx could not be started (${error.message}). Presence needs Node 20 or newer with npm.`),
  )
  if (outcome.code !== 0) {
    const how = outcome.signal === null ? `exit code ${outcome.code}` : `signal ${outcome.signal}`
    fail(
      `the dependencies could not be installed (${manager} ended with ${how}; its messages are above).\n` +
        'It needs the npm registry that your npm is configured for, and about 1 GB of free disk.',
      outcome.code ?? 1,
    )
  }
  writeFileSync(stampFile, lockDigest())
}

/** Run a child in the foreground; signals sent to this process reach it. */
function run(command, commandArgs, options) {
  return new Promise((settle, reject) => {
    const child = spawn(command, commandArgs, { cwd: process.cwd(), ...options })
    const unwatch = whenNpmIsGone(() => child.kill('SIGTERM'))
    // A terminal's Ctrl-C reaches the child by itself; a signal sent to this process alone would not.
    const forward = (name) => child.kill(name)
    const signals = ['SIGINT', 'SIGTERM', 'SIGHUP']
    for (const name of signals) process.on(name, forward)
    const release = () => {
      signals.forEach((name) => process.off(name, forward))
      unwatch()
    }
    child.once('error', (error) => {
      release()
      reject(error)
    })
    child.once('exit', (exitCode, exitSignal) => {
      release()
      settle({ code: exitCode, signal: exitSignal })
    })
  })
}

/**
 * A signal sent to `npm` ends npm and the shell below it, and reaches nobody further down. So the way
 * up to npm is looked at now and then, and its loss is taken for the signal. Started without npm, or
 * where the process table cannot be read, nothing is watched.
 */
function whenNpmIsGone(tell) {
  const wayUp = process.env.npm_lifecycle_event === undefined ? [] : ancestorsUpToNpm()
  const timer = setInterval(() => {
    if (wayUp.every(isAlive)) return
    clearInterval(timer)
    tell()
  }, 500)
  return () => clearInterval(timer)
}

function ancestorsUpToNpm() {
  const found = []
  for (let pid = process.ppid; pid > 1 && found.length < 5;) {
    let words, stat
    try {
      words = readFileSync(`/proc/${pid}/cmdline`, 'utf8')
      stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    } catch (_noProcessTable) {
      return []
    }
    found.push(pid)
    if (/^npm\b|npm-cli/.test(words)) return found
    pid = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
  }
  return []
}

function isAlive(pid) {
  try {
    return process.kill(pid, 0)
  } catch (failure) {
    return failure.code !== 'ESRCH'
  }
}

function environment() {
  const first = [dirname(node), join(modules, '.bin')]
  const pathName = Object.keys(process.env).find((name) => name.toUpperCase() === 'PATH') ?? 'PATH'
  return { ...process.env, [pathName]: [...first, process.env[pathName] ?? ''].join(delimiter) }
}

function lockDigest() {
  return createHash('sha256').update(readFileSync(lockFile)).digest('hex')
}

function fail(message, exitCode = 1) {
  console.error(`presence: ${message}`)
  process.exit(exitCode)
}
