/** Who is measured with what. Peers for whom there is no goal are measured more seldom. */
import type { Subject } from '../rounds.ts'
import { PULL_FAR, PULL_NEAR, PUSH_FAR, PUSH_NEAR } from './bulk.ts'
import type { Client } from './client.ts'
import type { Heat } from './contest.ts'
import type { Contestants } from './contestants.ts'
import * as tasks from './tasks.ts'
import type { Task } from './tasks.ts'

type Seldom = Subject<string>['rounds']

/** All small pieces of work, by everybody who can do them. */
export function allHeats(who: Contestants): Heat[] {
  const { ssh2, sftp, ssh, sshfs, rclone } = who
  return [
    heat(who, tasks.STAT, [ssh2, sftp, ssh, sshfs]),
    ...[tasks.READ, tasks.WRITE, tasks.LIST].map((task) =>
      heat(who, task, [ssh2, sftp, ssh, sshfs], [rclone]),
    ),
    heat(who, tasks.EDIT, [ssh2, sftp, ssh, sshfs]),
    ...[tasks.LSTAT, tasks.REALPATH].map((task) => heat(who, task, [ssh2, ssh])),
    ...[tasks.READ_LARGE, tasks.WRITE_LARGE, tasks.EDIT_LARGE].map((task) => heat(who, task, [sftp, ssh])),
    heat(who, tasks.POLL, [ssh]),
  ]
}

/** The peers of the long list that the goals name take part as often as we do, as far as time allows. */
export function longList({ ours, filesOnly, sshfs, sftp, ssh, rclone }: Contestants): Heat[] {
  return [among(tasks.LIST_LARGE, [[ours], [filesOnly], [sshfs], [sftp, 1], [ssh, 1], [rclone, 1]])]
}

/** The host's looking around, so often. Nothing of it can be warmed up: each folder is a new one. */
export function probing({ ours, filesOnly }: Contestants, rounds: number): Heat[] {
  return [
    among(tasks.PROBE, [
      [ours, rounds],
      [filesOnly, rounds],
    ]),
  ]
}

/** As in life, where the model takes its time. */
export function slowProbing({ ours, filesOnly }: Contestants): Heat[] {
  return [
    among(tasks.PROBE_SLOWLY, [
      [ours, 1],
      [filesOnly, 1],
    ]),
  ]
}

/** For the other distances: what an agent does most. */
export function fewHeats(who: Contestants): Heat[] {
  const some = [tasks.STAT, tasks.READ, tasks.WRITE, tasks.LIST]
  return some.map((task) => heat(who, task, [who.ssh2, who.ssh, who.sshfs]))
}

/** Large files on a fast line; those in the goals so often. */
export function nearMoves({ ours, sftp, ssh }: Contestants, rounds: number): Heat[] {
  return [PULL_NEAR, PUSH_NEAR].map((task) =>
    among(task, [
      [ours, rounds],
      [sftp, rounds],
      [ssh, 1],
    ]),
  )
}

/** Large files on a long line; those in the goals so often. */
export function farMoves(contestants: Contestants, rounds: number): Heat[] {
  const { ours, filesOnly, sftp, ssh, ssh2, sshfs, rclone } = contestants
  const others = [filesOnly, ssh, ssh2, sshfs, rclone].map((client) => [client, 1] as const)
  return [PULL_FAR, PUSH_FAR].map((task) => among(task, [[ours, rounds], [sftp, rounds], ...others]))
}

function heat(
  { ours, filesOnly }: Contestants,
  task: Task,
  peers: readonly (Client | undefined)[] = [],
  slow: readonly (Client | undefined)[] = [],
): Heat {
  const half = peers.map((client) => [client, 'every second'] as const)
  return among(task, [[ours], [filesOnly], ...half, ...slow.map((client) => [client, 1] as const)])
}

function among(task: Task, all: readonly (readonly [Client | undefined, Seldom?])[]): Heat {
  const entries = all.flatMap(([client, rounds]) => (client === undefined ? [] : [{ client, rounds }]))
  return { task, entries }
}
