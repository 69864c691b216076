import { defineConfig } from 'vitest/config'
import { LongestFirst } from './tests/support/longest-first.ts'

export default defineConfig({
  test: {
    include: ['tests/**/*.spec.ts', 'tests/**/*.spec.tsx'],
    environment: 'node',
    // The bundle that end-to-end tests install, and a place for what they share.
    globalSetup: ['tests/support/global-setup.ts'],
    // Real servers are started and real connections made: slow machines need air, a hang must still end.
    testTimeout: 30_000,
    hookTimeout: 120_000,
    // A good part of the time is waiting for servers: two workers leave a third of two processors idle. Each
    // worker starts its own servers, so still more of them make the timing of all worse.
    maxWorkers: 3,
    pool: 'forks',
    sequence: { sequencer: LongestFirst },
  },
})
