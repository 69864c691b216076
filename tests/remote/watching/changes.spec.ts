/** What a watch tells of, on machines that tell of changes themselves and on those that have to be asked. */
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startRig, type Rig } from '../../support/rig.ts'
import { hiding } from '../../../scripts/machine/hiding.ts'
import { listen, stateOf, type Ears } from './ears.ts'

const HARD_NAMES = [
  ' spaces  and ',
  `it's $(id) \`id\` "quoted"`,
  'two\nlines\n81a4',
  '1:2:3:4:5:81a4 looks like an answer',
  '-n',
  '*?[a]',
  'DELETE_SELF',
  'ünïcödé 你好 🙂',
  String.raw`back\slash \n`,
]

describe.each([
  ['a machine with inotifywait', {}],
  ['a machine without it', { within: hiding('inotifywait') }],
  [
    'a machine with SFTP only',
    { sshdConfig: ['Subsystem sftp internal-sftp', 'ForceCommand internal-sftp'] },
  ],
])('on %s a watch', (_name, options) => {
  let rig: Rig
  beforeAll(async () => {
    rig = await startRig(options)
  })
  afterAll(() => rig.stop())

  const folder = (): string => mkdtempSync(join(rig.folder, 'w-'))
  const replace = (path: string, content: string): void => {
    writeFileSync(`${path}.next`, content)
    renameSync(`${path}.next`, path)
  }
  const during = async (path: string, story: (ears: Ears) => Promise<void>): Promise<void> => {
    const ears = await listen(rig.files, path)
    try {
      await story(ears)
      expect(ears.errors).toEqual([])
    } finally {
      await ears.end()
    }
  }

  it('of a file tells that it is changed, replaced, removed, and made again', async () => {
    const path = join(folder(), 'f')
    writeFileSync(path, 'a')
    await during(path, async (ears) => {
      appendFileSync(path, 'b')
      await ears.hears('ab')
      replace(path, 'another')
      await ears.hears('another')
      appendFileSync(path, '!')
      await ears.hears('another!')
      rmSync(path)
      await ears.hears('absent')
      writeFileSync(path, 'back again')
      await ears.hears('back again')
    })
  })

  it('of a folder tells of entries that come, change and go, and of the folder itself', async () => {
    const path = folder()
    await during(path, async (ears) => {
      writeFileSync(join(path, 'f'), '1')
      await ears.hears('f=1')
      writeFileSync(join(path, 'f'), 'changed')
      await ears.hears('f=changed')
      mkdirSync(join(path, 'sub'))
      await ears.hears('f=changed sub=/')
      rmSync(join(path, 'f'))
      await ears.hears('sub=/')
      rmSync(path, { recursive: true })
      await ears.hears('absent')
      mkdirSync(path)
      await ears.hears('')
      writeFileSync(join(path, 'new'), '')
      await ears.hears('new=')
    })
  })

  it('of what is not there yet tells when it comes, although no folder of it is there', async () => {
    const path = join(folder(), 'not/yet/there')
    await during(path, async (ears) => {
      mkdirSync(join(path, '../..'))
      mkdirSync(join(path, '..'))
      writeFileSync(path, 'now')
      await ears.hears('now')
      rmSync(join(path, '../..'), { recursive: true })
      await ears.hears('absent')
    })
  })

  it('of a path that is a file, then a folder, then a file again tells of what each of them does', async () => {
    const path = join(folder(), 'either')
    writeFileSync(path, 'file')
    await during(path, async (ears) => {
      rmSync(path)
      mkdirSync(path)
      await ears.hears('')
      writeFileSync(join(path, 'in'), '')
      await ears.hears('in=')
      rmSync(path, { recursive: true })
      writeFileSync(path, 'file again')
      await ears.hears('file again')
    })
  })

  it('tells of names that are hard to read in an answer', async () => {
    const above = folder()
    const all = await Promise.all(
      HARD_NAMES.map(async (name) => {
        const path = join(above, name)
        writeFileSync(path, 'a')
        return { path, ears: await listen(rig.files, path) }
      }),
    )
    await during(above, async (ears) => {
      for (const { path } of all) appendFileSync(path, 'b')
      await Promise.all(all.map((one) => one.ears.hears('ab')))
      for (const { path } of all) replace(path, 'new')
      await Promise.all(all.map((one) => one.ears.hears('new')))
      await ears.hears(stateOf(above))
    })
    for (const { ears } of all) {
      expect(ears.errors).toEqual([])
      await ears.end()
    }
  })

  it('tells each of those who watch a path, as long as they do', async () => {
    const path = join(folder(), 'f')
    writeFileSync(path, 'a')
    await during(path, async (first) => {
      const second = await listen(rig.files, path)
      appendFileSync(path, 'b')
      await Promise.all([first.hears('ab'), second.hears('ab')])
      await second.end()
      await second.end()
      const { told } = second
      appendFileSync(path, 'c')
      await first.hears('abc')
      expect(second.told).toBe(told)
    })
  })

  it('tells the others when one listener throws', async () => {
    const path = join(folder(), 'f')
    writeFileSync(path, 'a')
    const warned = new Promise<Error>((resolve) => process.once('warning', resolve))
    const end = await rig.files.watch(
      { path: path as never, shown: 'f' },
      () => {
        throw new Error('a listener that fails')
      },
      new AbortController().signal,
    )
    await during(path, async (ears) => {
      appendFileSync(path, 'b')
      await ears.hears('ab')
    })
    expect((await warned).message).toBe('a listener that fails')
    await end()
  })

  it('takes a link to nothing for nothing', async () => {
    const path = join(folder(), 'link')
    symlinkSync(`${path}-target`, path)
    await during(path, async (ears) => {
      writeFileSync(`${path}-target`, 'a file now')
      await ears.hears('a file now')
    })
  })
})
