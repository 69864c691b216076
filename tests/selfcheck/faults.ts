/**
 * For every check, a fault of exactly the kind that the check is for, put into a service's bare
 * instance: what the check has to find.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { FsError, FsTargetKey, FsVersion, type FsTarget } from '@deepseek-ai/dsh-fs'
import type { SandboxExecutionPolicy } from '@deepseek-ai/dsh-sandbox'
import type { SubprocessSpawnSpec } from '@deepseek-ai/dsh-subprocess'
import { placeKey, placeOfKey, isPlaceKey } from '../../src/places/place.ts'
import type { SelfcheckOptions } from '../../src/selfcheck/selfcheck.ts'
import type { Subjects } from '../../src/selfcheck/subjects.ts'
import type { Examination } from './examination.ts'

export interface Fault {
  /** What is wrong, to be read after "when". */
  readonly when: string
  /** Break something; may give further options, and what must be undone afterwards. */
  readonly put: (
    subjects: Subjects,
    rig: Examination,
  ) => { readonly options?: Partial<SelfcheckOptions>; readonly undo?: () => void } | void
}

type Files = Subjects['fs']
type Write = Files['writeText']
type Edit = Files['editText']

const UNFENCED: SandboxExecutionPolicy = { mode: 'danger-full-access', workspaceRoot: '/' }

export const FAULTS: Readonly<Record<string, Fault>> = {
  'every spelling of a file has one identity': {
    when: 'a path with dots in it has an identity of its own',
    put: ({ fs }) =>
      resolving(fs, (target, path) =>
        path.includes('..') ? { ...target, targetKey: FsTargetKey(`${target.targetKey}/..`) } : target,
      ),
  },
  'a link and what it leads to are one file': {
    when: 'links are not resolved',
    put: ({ fs }, { presence }) =>
      resolving(fs, (target, path, cwd) => {
        const place = presence.mounts.parse(resolve(cwd, path))
        return place === null ? target : { ...target, targetKey: FsTargetKey(placeKey(place)) }
      }),
  },
  'what does not exist yet has the identity that it will have': {
    when: 'the missing rest of a path is forgotten',
    put: ({ fs }) => {
      const stat = fs.stat.bind(fs)
      resolving(fs, async (target) => {
        let { targetKey } = target
        while ((await stat({ ...target, targetKey })) === undefined)
          targetKey = FsTargetKey(dirname(targetKey))
        return { ...target, targetKey }
      })
    },
  },
  'the path given to processes leads back to the same file': {
    when: 'processes are given a path with its special characters encoded',
    put: ({ fs }) => {
      const processPath = fs.processPath.bind(fs)
      fs.processPath = (target) => encodeURI(processPath(target))
    },
  },
  'a folder contains what is in it and itself, and nothing else': {
    when: 'every folder contains everything',
    put: ({ fs }) => {
      fs.contains = () => true
    },
  },
  'what does not exist is absent, and no error': {
    when: 'something is told of what does not exist',
    put: ({ fs }) => {
      const stat = fs.stat.bind(fs)
      fs.stat = async (...args) => (await stat(...args)) ?? { type: 'other', version: FsVersion('absent') }
    },
  },
  'what exists has its type and size, and a version that stays while it does': {
    when: 'the version never changes',
    put: ({ fs }) => {
      const stat = fs.stat.bind(fs)
      fs.stat = async (...args) => {
        const info = await stat(...args)
        return info && { ...info, version: FsVersion('constant') }
      }
    },
  },
  'text is read as it is, and what is no text is refused': {
    when: 'bytes that are no text are replaced',
    put: ({ fs }) => {
      const readBytes = fs.readBytes.bind(fs)
      fs.readText = async (target, signal) =>
        Buffer.from(await readBytes(target, signal, Number.MAX_SAFE_INTEGER)).toString('utf8')
    },
  },
  'bytes are read exactly up to the limit, and refused beyond it': {
    when: 'a file that is too large is cut off',
    put: ({ fs }) => {
      const readBytes = fs.readBytes.bind(fs)
      fs.readBytes = async (target, signal, maxBytes) =>
        (await readBytes(target, signal, Number.MAX_SAFE_INTEGER)).subarray(0, maxBytes)
    },
  },
  'a range of a file is exactly that range': {
    when: 'only as much of a range is read as one request carries',
    put: ({ fs }) => {
      const readByteRange = fs.readByteRange.bind(fs)
      fs.readByteRange = (target, range, signal) =>
        readByteRange(target, { ...range, length: Math.min(range.length, 32 * 1024) }, signal)
    },
  },
  'a long text comes as a stream, whole and with no character broken': {
    when: 'each chunk is decoded by itself',
    put: ({ fs }) => {
      const readBytes = fs.readBytes.bind(fs)
      fs.streamText = async (target, signal) => {
        const bytes = Buffer.from(await readBytes(target, signal, Number.MAX_SAFE_INTEGER))
        return (async function* () {
          for (let at = 0; at < bytes.length; at += 65_536) yield bytes.toString('utf8', at, at + 65_536)
        })()
      }
    },
  },
  'a folder lists everything in it, in one order': {
    when: 'the last entry of a folder is lost',
    put: ({ fs }) => {
      const listDir = fs.listDir.bind(fs)
      fs.listDir = async (...args) => (await listDir(...args)).slice(0, -1)
    },
  },
  'a watch tells of a change': {
    when: 'a watch tells nothing',
    put: ({ fs }) => {
      fs.watch = () => Promise.resolve(() => Promise.resolve())
      return { options: { limitMs: 3000 } }
    },
  },
  'a write without a guard makes and replaces a file, and makes missing folders': {
    when: 'a write changes line ends',
    put: ({ fs }) =>
      writing(fs, (write, target, content, ...rest) =>
        write(target, content.replaceAll('\r\n', '\n'), ...rest),
      ),
  },
  'a write guarded by the version it saw succeeds, and gives the next guard': {
    when: 'the version is not looked at',
    put: ({ fs }) =>
      writing(fs, (write, target, content, _guard, ...rest) => write(target, content, undefined, ...rest)),
  },
  'a write that may only make a file never replaces one': {
    when: 'a file that is there is replaced all the same',
    put: ({ fs }) =>
      writing(fs, (write, target, content, guard, ...rest) =>
        write(target, content, guard?.kind === 'createIfAbsent' ? undefined : guard, ...rest),
      ),
  },
  'a change of the same size in the same second makes an old version stale': {
    when: 'a version is made of the size alone',
    put: ({ fs }) => {
      const stat = fs.stat.bind(fs)
      fs.stat = async (...args) => {
        const info = await stat(...args)
        return info && { ...info, version: FsVersion(String(info.size)) }
      }
      writing(fs, async (write, target, content, guard, ...rest) => {
        const seen = guard?.kind === 'replaceIfVersion' ? guard.version : undefined
        if (seen !== undefined && (await fs.stat(target))?.version !== seen)
          throw new FsError('', 'FS_STALE_VERSION')
        return write(target, content, undefined, ...rest)
      })
    },
  },
  'an edit replaces the text it names, and keeps line ends and mode': {
    when: 'an edit leaves the line ends of its working copy',
    put: ({ fs }) =>
      editing(fs, async (edit, target, ...rest) => {
        const outcome = await edit(target, ...rest)
        const { version } = await fs.writeText(target, outcome.after)
        return { ...outcome, version }
      }),
  },
  'an edit of a text that is not there is refused': {
    when: 'a text that is not there is taken for done',
    put: ({ fs }) => refusalsBecomeSuccesses(fs, 'FS_EDIT_NOT_FOUND'),
  },
  'an edit of a text that is there twice is refused, unless all are meant': {
    when: 'all of them are replaced without being asked',
    put: ({ fs }) =>
      editing(fs, (edit, target, request, ...rest) =>
        edit(target, { ...request, replaceAll: true }, ...rest),
      ),
  },
  'an edit of a file that has changed since it was read, or is gone, is refused': {
    when: 'the version is not looked at',
    put: ({ fs }) =>
      editing(fs, (edit, target, request, _guard, ...rest) => edit(target, request, undefined, ...rest)),
  },
  'a command runs in its folder, and its output and exit code come back': {
    when: 'a command runs in the folder above',
    put: ({ subprocess }) => spawning(subprocess, (spec) => ({ ...spec, cwd: dirname(spec.cwd) })),
  },
  'a command finds the end of its input': {
    when: 'the input never ends',
    put: ({ subprocess }) => {
      spawning(subprocess, (spec) => ({ ...spec, stdio: { ...spec.stdio, stdin: 'pipe' } }))
      return { options: { limitMs: 3000 } }
    },
  },
  'arguments and variables reach a command as they are': {
    when: 'a shell reads the arguments',
    put: ({ subprocess }) =>
      spawning(subprocess, (spec) => ({ ...spec, argv: ['sh', '-c', spec.argv.join(' ')] })),
  },
  'a file has the same path for a command as for the file system': {
    when: 'commands are given a path that only means something here',
    put: ({ fs }) => {
      fs.processPath = () => '/local/only'
    },
  },
  'an ended command leaves no process on the machine': {
    when: 'ending a command only stops listening to it',
    put: ({ subprocess }) => {
      const spawn = subprocess.spawn.bind(subprocess)
      subprocess.spawn = (spec) => {
        const handle = spawn({ ...spec, signal: undefined })
        const { promise, resolve: end } = Promise.withResolvers<{ exitCode: null; signal: 'SIGTERM' }>()
        return new Proxy(handle, {
          get: (real, property) => {
            if (property === 'done') return promise
            if (property === 'terminate') return () => end({ exitCode: null, signal: 'SIGTERM' })
            if (property === 'waitForExit') return () => Promise.resolve(true)
            return Reflect.get(real, property, real) as unknown
          },
        })
      }
    },
  },
  'a confined command changes nothing, or does not run': {
    when: 'a confined command runs unconfined',
    put: ({ sandbox }) => {
      sandbox.confine = (argv) => ({
        argv: [...argv],
        enforcement: 'full',
        denialSignatures: [],
        runnerFailureRules: [],
      })
    },
  },
  'a read-only session changes no file': {
    when: 'the policy is not looked at',
    put: ({ fs }) => unfenced(fs),
  },
  'a workspace-write session changes files in its folder, and none outside': {
    when: 'the policy is not looked at',
    put: ({ fs }) => unfenced(fs),
  },
  "the host's classes are the very ones that Presence uses": {
    when: 'Presence has loaded a copy of its own',
    put: (_subjects, { host }) => ({
      options: { host: { ...host, FsError: class FsError extends Error {} } },
    }),
  },
  "a local folder is served by the host's own code, and by nothing else": {
    when: 'local paths are taken for paths of the machine',
    put: ({ fs }) =>
      resolving(fs, (target) =>
        isPlaceKey(target.targetKey)
          ? target
          : { ...target, targetKey: FsTargetKey(`presence://demo${target.targetKey}`) },
      ),
  },
  'the folder on this computer that stands for the one on the machine stays empty': {
    when: 'a write also writes on this computer',
    put: ({ fs }) =>
      writing(fs, (write, target, content, ...rest) => {
        mkdirSync(dirname(target.displayPath), { recursive: true })
        writeFileSync(target.displayPath, content)
        return write(target, content, ...rest)
      }),
  },
  'no temporary file is left beside those that were written': {
    when: 'the temporary file of a write stays',
    put: ({ fs }) =>
      // The machine is this computer, so its files can be made from here.
      writing(fs, async (write, target, ...rest) => {
        const outcome = await write(target, ...rest)
        writeFileSync(join(dirname(placeOfKey(target.targetKey).path), '.file.presence-0123'), '')
        return outcome
      }),
  },
  'nothing of these checks is left on the machine': {
    when: 'a write puts something beside the folder of the checks',
    put: ({ fs }, { machine }) => {
      const stray = join(machine.home, '.presence-stray')
      writing(fs, (write, ...args) => {
        writeFileSync(stray, '')
        return write(...args)
      })
      return { undo: () => rmSync(stray, { force: true }) }
    },
  },
}

function resolving(
  fs: Files,
  change: (target: FsTarget, path: string, cwd: string) => FsTarget | Promise<FsTarget>,
): void {
  const real = fs.resolve.bind(fs)
  fs.resolve = async (path, options) => change(await real(path, options), path, options?.cwd ?? '/')
}

function writing(fs: Files, change: (write: Write, ...args: Parameters<Write>) => ReturnType<Write>): void {
  const real = fs.writeText.bind(fs)
  fs.writeText = (...args) => change(real, ...args)
}

function editing(fs: Files, change: (edit: Edit, ...args: Parameters<Edit>) => ReturnType<Edit>): void {
  const real = fs.editText.bind(fs)
  fs.editText = (...args) => change(real, ...args)
}

function spawning(
  subprocess: Subjects['subprocess'],
  change: (spec: SubprocessSpawnSpec) => SubprocessSpawnSpec,
): void {
  const real = subprocess.spawn.bind(subprocess)
  subprocess.spawn = (spec) => real(change(spec))
}

function unfenced(fs: Files): void {
  writing(fs, (write, target, content, guard, signal) => write(target, content, guard, signal, UNFENCED))
  editing(fs, (edit, target, request, guard, signal) => edit(target, request, guard, signal, UNFENCED))
}

function refusalsBecomeSuccesses(fs: Files, code: string): void {
  editing(fs, async (edit, ...args) => {
    try {
      return await edit(...args)
    } catch (error) {
      if (!(error instanceof FsError) || error.code !== code) throw error
      const text = await fs.readText(args[0])
      return { version: FsVersion('unchanged'), before: text, after: text }
    }
  })
}
