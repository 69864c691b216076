/**
 * The rooms of the product and what each may import: data only. A room may always import itself.
 * Change a line here only with its reason; the checker is `check.ts`. Files of errors are named where
 * failures are put into words for a model or a person: those errors are plain typed values.
 */
export interface Room {
  /** Rooms, or parts of one (`ssh/channel`), that may be imported. */
  readonly rooms: readonly string[]
  /** Rooms of which only types may be imported. */
  readonly types?: readonly string[]
  /** Packages, `*` standing for the rest of a name; `node:` modules count as packages. */
  readonly packages: readonly string[]
  /** Packages of which only types may be imported: they are not there in every profile. */
  readonly packageTypes?: readonly string[]
  readonly because: string
}

export const ROOMS: Readonly<Record<string, Room>> = {
  base: {
    rooms: [],
    packages: ['node:*'],
    because: 'everything stands on it, so it stands on nothing of ours',
  },
  wire: {
    rooms: [],
    packages: [],
    because: 'it is bundled into the browser as well: types and parsers only',
  },
  places: {
    rooms: ['base'],
    packages: ['node:*'],
    because: 'it says where things are, and must say so while no machine can be reached',
  },
  ssh: {
    rooms: ['base'],
    packages: ['node:*', 'ssh2'],
    because: 'the only room that speaks SSH; it knows neither files, tools nor DSH',
  },
  remote: {
    rooms: ['base', 'ssh/channel', 'ssh/connection', 'ssh/probe', 'ssh/errors'],
    packages: ['node:*'],
    because:
      'it gives files and processes their meaning; how a machine is found and trusted is not its matter',
  },
  core: {
    rooms: ['base', 'places', 'ssh', 'remote'],
    packages: ['node:*', '@deepseek-ai/cordis', '@deepseek-ai/schemastery', 'yaml'],
    packageTypes: ['@deepseek-ai/dsh-*'],
    because: 'the one service that joins the rooms below for those above',
  },
  host: {
    rooms: ['base', 'remote/files/errors'],
    packages: ['@deepseek-ai/dsh-*'],
    because: "the host's own vocabulary for what both its seams and our tools must say",
  },
  seams: {
    rooms: ['base', 'places', 'core', 'host', 'remote', 'ssh/errors'],
    types: ['ssh'],
    packages: ['node:*', '@deepseek-ai/cordis', '@deepseek-ai/dsh-*'],
    because:
      "it decides local or remote and puts DSH's calls into remote's words; machines come from core alone",
  },
  tools: {
    rooms: [
      'base',
      'places',
      'core',
      'host',
      'remote/confine',
      'remote/files/errors',
      'remote/files/text',
      'remote/process/output',
      'remote/search',
      'ssh/errors',
    ],
    types: ['remote', 'ssh'],
    packages: ['node:*', '@deepseek-ai/cordis', '@deepseek-ai/dsh-*', 'diff'],
    because: 'tools work without the seams (tools-only mode), so they must not know them',
  },
  panel: {
    rooms: ['base', 'wire', 'core', 'places', 'remote/confine', 'remote/files/errors', 'ssh/errors'],
    types: ['remote', 'ssh'],
    packages: ['node:*', '@deepseek-ai/cordis', '@deepseek-ai/dsh-*'],
    because: 'routes over core; the panel works while a seam row is switched off',
  },
  selfcheck: {
    rooms: ['base', 'core', 'seams', 'places'],
    packages: ['node:*', '@deepseek-ai/cordis', '@deepseek-ai/dsh-*'],
    because: 'it probes the seams from outside and is used by nobody',
  },
  client: {
    rooms: ['wire'],
    packages: ['react', 'react/*', 'react-dom', 'react-dom/*', '@deepseek-ai/dsh-client-*'],
    because: 'it runs in the browser: no Node, and no code of the host half',
  },
  'index.ts': {
    rooms: ['core', 'tools', 'panel', 'selfcheck'],
    packages: ['node:module', '@deepseek-ai/cordis', '@deepseek-ai/dsh-*'],
    because: 'the table of contents of the host half',
  },
  'client.ts': {
    rooms: ['client'],
    packages: [],
    because: 'the table of contents of the browser half',
  },
}

/** Packages that only these folders may import, wherever else the table would let them in. */
export const ONLY_IN: Readonly<Record<string, readonly string[]>> = {
  // Its callbacks get lost and its errors have no codes: one room knows how to live with that, and
  // the rigs that play the other side.
  ssh2: ['src/ssh', 'scripts', 'tests'],
}
