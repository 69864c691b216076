/** What a confined command tries in order to get out, for each means and account, and that none of it works. */
import { spawn, type ChildProcess } from 'node:child_process'
import {
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseRemotePath } from '../../../src/base/remote-path.ts'
import { startConfined, type Confined, type Means, type Mode } from '../../support/confined.ts'

/**
 * Prints a line `name: done` or `name: failed` for each attempt, what was said of it on standard error.
 * Some would do no harm if they succeeded: they put back what is there, or ask for help.
 */
const ATTEMPTS = `
try() {
  n=$1; shift
  if ( "$@" ) >/dev/null 2>>/dev/shm/said; then echo "$n: done"; else echo "$n: failed"; fi
}
put() { echo escaped >"$1"; }
through_hard_link() { ln "$OUT/victim" hard && put hard; }
# With the flags that may be locked, and without.
rebind='rebind() { for f in rw rw,nosuid rw,nosuid,nodev; do mount -o remount,bind,$f none / && return; done; false; }'
eval "$rebind"
sysctl() { v=$(cat /proc/sys/kernel/domainname) && echo "$v" >/proc/sys/kernel/domainname; }
device() { mknod disk b $DEVICE && head -c 1 disk; }
listed() { find /dev -type b | grep .; }
memory() { IFS=- read -r a _ </proc/1/maps && printf x | dd of=/proc/1/mem bs=1 seek=$((0x$a)) conv=notrunc; }
try inside put inside
try 'through a twin' put twin
try outside put "$OUT/direct"
try above put ../outside/relative
try 'through a link' put way-out/linked
try 'through a new hard link' through_hard_link
try stranger put "$STRANGER"
try temporary put "/tmp/$NAME"
try 'shared memory' put "/dev/shm/$NAME"
try descriptor sh -c 'echo escaped >&7'
try 'signal' kill -TERM "$PID"
try 'look for a process' kill -0 "$PID"
try remount rebind
try 'remount in namespaces' unshare -U -r -m sh -c "$rebind"'; rebind; echo escaped >"$OUT/nested"'
try 'uncover in namespaces' unshare -U -r -m sh -c 'umount -l /tmp || umount -l /proc || umount -l /dev'
try 'write in all namespaces' unshare -U -r -m -p -f sh -c 'mount -t proc proc /proc; echo escaped >"$OUT/all"'
try 'enter the first process' nsenter -t 1 -U -m sh -c 'echo escaped >"$OUT/entered"'
try 'memory of the first process' memory
try sysctl sysctl
try sysrq put /proc/sysrq-trigger
try 'make a device' device
try 'find a device' listed
( setsid sh -c 'echo escaped >"$OUT/later"; echo mine >later; : >later.tried' & )
while ! [ -e later.tried ] && ! [ "$MODE" = read-only ]; do sleep 0.05; done
cat /dev/shm/said >&2
`

const CASES: readonly (readonly [means: Means, as: 'account' | 'root'])[] = [
  ['bwrap', 'account'],
  ['namespaces', 'account'],
  ['busybox', 'account'],
  ['bwrap', 'root'],
  ['namespaces', 'root'],
]
const MODES: readonly Mode[] = ['read-only', 'workspace-write']

describe.each(CASES)('a command that %s confines, run by %s', (means, as) => {
  let at: Confined
  let bystander: ChildProcess
  const said = new Map<Mode, { readonly attempts: ReadonlyMap<string, string>; readonly err: string }>()
  const name = `presence-escape-${String(process.pid)}-${means}-${as}`

  beforeAll(async () => {
    at = await startConfined(means, as)
    // What the account's own start file leaves open is not the command's to write to.
    writeFileSync(join(at.home, '.bashrc'), `exec 7>>'${at.outside}/victim'\n`)
    const owner = as === 'root' ? {} : { uid: at.account.uid, gid: at.account.gid }
    bystander = spawn('sleep', ['600'], { stdio: 'ignore', ...owner })
    const disk = statSync('/').dev
    for (const mode of MODES) {
      const { out, err } = await at.run(mode, ATTEMPTS, {
        env: {
          OUT: at.outside,
          STRANGER: at.stranger,
          PID: String(bystander.pid),
          NAME: name,
          MODE: mode,
          DEVICE: `${String((disk >> 8) & 0xfff)} ${String(disk & 0xff)}`,
        },
      })
      const lines = out.split('\n').flatMap((line) => {
        const [, attempt, outcome] = /^(.+): (done|failed)$/.exec(line) ?? []
        return attempt === undefined || outcome === undefined ? [] : [[attempt, outcome] as const]
      })
      said.set(mode, { attempts: new Map(lines), err })
    }
  })
  afterAll(async () => {
    bystander.kill('SIGKILL')
    await at.stop()
  })

  const outcomes = (mode: Mode, ...names: readonly string[]): (string | undefined)[] =>
    names.map((attempt) => said.get(mode)?.attempts.get(attempt))

  it('is confined by what the machine has', () => {
    expect(at.session.shell?.confiner?.means).toBe(means === 'bwrap' ? 'bwrap' : 'namespaces')
  })

  it('C67: writes in the workspace when it may, and nowhere when it may only read', () => {
    expect(outcomes('workspace-write', 'inside', 'through a twin')).toEqual(['done', 'done'])
    expect(outcomes('read-only', 'inside', 'through a twin')).toEqual(['failed', 'failed'])
    expect(readFileSync(join(at.workspace, 'inside'), 'utf8')).toBe('escaped\n')
    expect(statSync(join(at.workspace, 'inside')).uid).toBe(as === 'root' ? 0 : at.account.uid)
  })

  it.each(MODES)(
    '%s: changes nothing outside, directly, from above, through a link or a hard link, or of another account',
    (mode) => {
      const ways = [
        'outside',
        'above',
        'through a link',
        'through a new hard link',
        'stranger',
        'descriptor',
      ] as const
      expect(outcomes(mode, ...ways)).toEqual(ways.map(() => 'failed'))
      expect(readdirSync(at.outside)).toEqual(['victim'])
      expect(readFileSync(join(at.outside, 'victim'), 'utf8')).toBe('untouched')
      expect(readFileSync(at.stranger, 'utf8')).toBe('untouched')
      // What the host takes for a denial.
      expect(said.get(mode)?.err).toMatch(/read-only file system/i)
    },
  )

  it('has temporary folders of its own, which nobody else sees', () => {
    expect(outcomes('workspace-write', 'temporary', 'shared memory')).toEqual(['done', 'done'])
    expect(outcomes('read-only', 'temporary')).toEqual(['failed'])
    expect(existsSync(`/tmp/${name}`)).toBe(false)
    expect(existsSync(`/dev/shm/${name}`)).toBe(false)
  })

  it.each(MODES)('%s: neither sees nor signals a process outside, nor enters its first one', (mode) => {
    const ways = ['signal', 'look for a process', 'enter the first process'] as const
    expect(outcomes(mode, ...ways)).toEqual(ways.map(() => 'failed'))
    expect(bystander.exitCode ?? bystander.signalCode).toBeNull()
    // The first process of ours made the mounts and could change them; bubblewrap's has no rights left.
    if (means !== 'bwrap') expect(outcomes(mode, 'memory of the first process')).toEqual(['failed'])
  })

  it.each(MODES)('%s: undoes nothing, by no namespace of its own either', (mode) => {
    const ways = [
      'remount',
      'remount in namespaces',
      'uncover in namespaces',
      'write in all namespaces',
    ] as const
    expect(outcomes(mode, ...ways)).toEqual(ways.map(() => 'failed'))
  })

  it.each(MODES)('%s: reaches neither the kernel’s settings nor a device of the machine', (mode) => {
    const ways = ['sysctl', 'sysrq', 'make a device', 'find a device'] as const
    expect(outcomes(mode, ...ways)).toEqual(ways.map(() => 'failed'))
  })

  it('leaves nothing behind that is not confined: a child in a session of its own is as confined, and ends with it', async () => {
    // It was waited for until it had tried.
    expect(readFileSync(join(at.workspace, 'later'), 'utf8')).toBe('mine\n')
    expect(existsSync(join(at.outside, 'later'))).toBe(false)
    const nap = `60${String(process.pid)}`
    const { code, out } = await at.run('workspace-write', `( setsid sleep ${nap} & ) ; echo started; exit 7`)
    expect({ code, out }).toEqual({ code: 7, out: 'started\n' })
    await until(() => running(`sleep ${nap}`) === 0)
  })

  it('ends as a whole when it is told to, whatever it does about it', async () => {
    const nap = `61${String(process.pid)}`
    const stubborn = at.start('workspace-write', [
      'sh',
      '-c',
      `trap "" TERM HUP; sleep ${nap} & setsid sleep ${nap} & echo begun; sleep ${nap}`,
    ])
    await new Promise((resolve) => stubborn.stdout.once('data', resolve))
    await until(() => running(`sleep ${nap}`) === 3)
    stubborn.terminate()
    await stubborn.done
    await until(() => running(`sleep ${nap}`) === 0)
  })

  it('is as confined on a terminal, where keys still reach it', async () => {
    const terminal = await at.terminal('workspace-write', ['bash', '--noprofile', '--norc', '-i'])
    let text = ''
    terminal.output.on('data', (chunk: Buffer) => (text += chunk.toString()))
    await terminal.write(
      `PS1='ready> '; echo escaped >'${at.outside}/typed'; echo mine >typed; echo d''one\n`,
    )
    await until(() => /done\r?\nready> $/.test(text))
    expect(text).toMatch(/read-only file system/i)
    expect(existsSync(join(at.outside, 'typed'))).toBe(false)
    expect(readFileSync(join(at.workspace, 'typed'), 'utf8')).toBe('mine\n')
    const nap = `62${String(process.pid)}`
    await terminal.write(`sleep ${nap}\n`)
    await until(() => running(`sleep ${nap}`) === 1)
    await terminal.write('\u0003')
    await until(() => running(`sleep ${nap}`) === 0)
    await terminal.write('exit 5\n')
    expect(await terminal.done).toMatchObject({ exitCode: 5 })
  })
})

describe('a workspace below the temporary folder of the machine', () => {
  it.each(['bwrap', 'namespaces'] as const)('is there under %s, alone in a private one', async (means) => {
    const at = await startConfined(means, 'account')
    const folder = `/tmp/presence-confined-${String(process.pid)} ${means}`
    try {
      mkdirSync(folder)
      chownSync(folder, at.account.uid, at.account.gid)
      const { code, out, err } = await at.run('workspace-write', 'pwd; echo mine >made; ls /tmp', {
        folder: parseRemotePath(folder),
      })
      expect({ code, out, err }).toEqual({
        code: 0,
        out: `${folder}\n${folder.slice('/tmp/'.length)}\n`,
        err: '',
      })
      expect(readFileSync(join(folder, 'made'), 'utf8')).toBe('mine\n')
    } finally {
      rmSync(folder, { recursive: true, force: true })
      await at.stop()
    }
  })
})

/** How many live processes of this computer have exactly this command line. */
function running(line: string): number {
  return readdirSync('/proc').filter((pid) => {
    if (!/^\d+$/.test(pid)) return false
    try {
      const words = readFileSync(`/proc/${pid}/cmdline`, 'latin1').split('\0').slice(0, -1)
      return words.join(' ') === line && !readFileSync(`/proc/${pid}/stat`, 'latin1').includes(') Z ')
    } catch (endedMeanwhile) {
      expect(endedMeanwhile).toBeInstanceOf(Error)
      return false
    }
  }).length
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 20))
}
