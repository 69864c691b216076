/** Every word the panel says, in both of its languages. Code says which; this file says how. */
import type { ErrorCode, MachineFactsView } from '../wire/api.ts'
import type { Language } from './language.ts'

/** Failures that no server tells of, because it did not answer or not in this API's words. */
export type ClientFailureCode = ErrorCode | 'offline' | 'bad-answer'

export interface Strings {
  readonly title: string
  readonly loading: string
  readonly retry: string
  readonly cancel: string
  readonly lastKnown: string
  readonly semicolon: string
  readonly staleList: string

  readonly machines: string
  readonly machinesHint: string
  readonly badEntry: (problem: string) => string
  readonly noMachines: string
  readonly noMachinesHint: string
  readonly filterMachines: string
  readonly noMatch: string
  readonly connect: string
  readonly reconnect: string
  readonly connecting: string
  readonly idle: string
  readonly connectingAt: (stage: string, hop: string | undefined) => string
  readonly asking: (stage: string, hop: string | undefined) => string
  readonly ready: (since: string) => string
  readonly degraded: (silentSince: string) => string
  readonly lost: (at: string) => string
  readonly failed: (stage: string, at: string) => string
  readonly stages: Readonly<Record<string, string>>
  readonly confinement: Readonly<Record<MachineFactsView['confinement'], string>>
  readonly search: Readonly<Record<MachineFactsView['search'], string>>
  readonly noSftp: string
  readonly noExec: string

  readonly addFolder: string
  readonly machine: string
  readonly chooseMachine: string
  readonly folder: string
  readonly folderExample: string
  readonly folderHint: string
  readonly browse: string
  readonly closeBrowser: string
  readonly create: string
  readonly creating: string
  readonly created: (title: string) => string
  readonly needMachine: string
  readonly needFolder: string
  readonly needAbsolute: string

  readonly folderBrowser: (host: string) => string
  readonly up: string
  readonly chooseThis: string
  readonly openFolder: (name: string) => string
  readonly home: string
  readonly emptyFolder: string
  readonly moreEntries: string
  readonly listing: (path: string) => string

  readonly workspaces: string
  readonly workspacesHint: string
  readonly noSessionsHint: string
  readonly noWorkspaces: string
  readonly noWorkspacesHint: string
  readonly current: string
  readonly makeCurrent: string
  readonly makeCurrentOf: (title: string) => string
  readonly remove: string
  readonly removeOf: (title: string) => string
  readonly removing: string
  readonly keep: string
  readonly removeQuestion: (title: string) => string
  readonly removeFacts: (host: string) => string

  readonly failures: Readonly<Record<ClientFailureCode, string>>
}

const en: Strings = {
  title: 'Presence',
  loading: 'Loading…',
  retry: 'Try again',
  cancel: 'Cancel',
  lastKnown: 'Last known:',
  semicolon: '; ',
  staleList: 'DSH does not answer, so this may no longer be true.',

  machines: 'Machines',
  machinesHint: 'From your SSH configuration and machines.yml. Nothing is installed on them.',
  badEntry: (problem) => `Its entry in machines.yml is wrong: ${problem}`,
  noMachines: 'No machines yet',
  noMachinesHint: 'Add a Host with a plain name to ~/.ssh/config; it appears here by itself.',
  filterMachines: 'Filter machines',
  noMatch: 'No machine matches.',
  connect: 'Connect',
  reconnect: 'Connect again',
  connecting: 'Connecting…',
  idle: 'Not connected',
  connectingAt: (stage, hop) => `Connecting${hop === undefined ? '' : ` by way of ${hop}`}: ${stage}`,
  asking: (stage, hop) => `Waiting for an answer${hop === undefined ? '' : ` about ${hop}`}: ${stage}`,
  ready: (since) => `Connected since ${since}`,
  degraded: (silentSince) => `Connected, but no answer since ${silentSince}`,
  lost: (at) => `Connection lost at ${at}`,
  failed: (stage, at) => `Could not connect at ${at}, while ${stage}`,
  stages: {
    config: 'reading the SSH configuration',
    dns: 'looking up the address',
    tcp: 'reaching the machine',
    proxy: 'going through the jump host',
    banner: 'waiting for its SSH server',
    'key-exchange': 'agreeing on encryption',
    'host-key': 'checking the host key',
    auth: 'signing in',
    probe: 'looking at what the machine has',
    ready: 'finishing',
  },
  confinement: {
    bwrap: 'commands are confined (bubblewrap)',
    namespaces: 'commands are confined (user namespaces)',
    'unconfined-by-switch': 'commands run unconfined, as switched on for this machine',
    none: 'no confinement there: sandboxed commands are refused',
  },
  search: {
    rg: 'searches with ripgrep',
    own: 'searches without ripgrep, by Presence',
    none: 'no search',
  },
  noSftp: 'no file access (SFTP is off)',
  noExec: 'no commands',

  addFolder: 'Add remote folder',
  machine: 'Machine',
  chooseMachine: 'Choose a machine',
  folder: 'Folder',
  folderExample: '/srv/project',
  folderHint: 'The full path on that machine.',
  browse: 'Browse',
  closeBrowser: 'Close browser',
  create: 'Create workspace',
  creating: 'Creating…',
  created: (title) => `“${title}” is now in the sidebar.`,
  needMachine: 'Choose the machine first.',
  needFolder: 'Type the folder, or browse to it.',
  needAbsolute: 'The folder must be a full path, beginning with /.',

  folderBrowser: (host) => `Folders on ${host}`,
  up: 'Up',
  chooseThis: 'Choose this folder',
  openFolder: (name) => `Open ${name}`,
  home: 'Home',
  emptyFolder: 'This folder is empty.',
  moreEntries: 'The folder holds more than is shown. Type the path to reach the rest.',
  listing: (path) => `Opening ${path}`,

  workspaces: 'Remote workspaces',
  workspacesHint: 'The current one serves the presence tools in sessions that belong to no remote folder.',
  noSessionsHint:
    'In this profile no session opens in them: make one current, and your local sessions reach it with the presence tools.',
  noWorkspaces: 'No remote workspaces yet',
  noWorkspacesHint: 'Add a remote folder above; it then stands in the sidebar like any other workspace.',
  current: 'Current',
  makeCurrent: 'Make current',
  makeCurrentOf: (title) => `Make ${title} current`,
  remove: 'Remove',
  removeOf: (title) => `Remove ${title}`,
  removing: 'Removing…',
  keep: 'Keep',
  removeQuestion: (title) => `Remove “${title}” from DSH?`,
  removeFacts: (host) => `Nothing on ${host} is touched: the folder and its files stay as they are.`,

  failures: {
    'bad-request': 'DSH did not understand the request.',
    'not-json': 'DSH did not understand the request.',
    'too-large': 'The request is too large.',
    'too-slow': 'The request took too long to send.',
    'unknown-route': 'This page and the running Presence do not fit together. Reload the page.',
    'method-not-allowed': 'This page and the running Presence do not fit together. Reload the page.',
    forbidden: 'DSH refused this page. Reload it, and use it on the computer that DSH runs on.',
    'bad-path': 'This path cannot be used.',
    'not-found': 'It does not exist there.',
    'not-a-directory': 'This is not a folder.',
    'not-a-file': 'This is not a file.',
    'permission-denied': 'The machine does not allow it.',
    'unknown-workspace': 'This workspace is already gone.',
    'unknown-machine': 'This machine is not known any more.',
    'bad-config': 'The SSH configuration of this machine has a fault.',
    unsupported: 'This machine asks for something that Presence cannot do.',
    unreachable: 'The machine cannot be reached.',
    'host-key': 'The host key of this machine is not trusted.',
    auth: 'The machine did not accept the sign-in.',
    timeout: 'The machine did not answer in time.',
    unavailable: 'The machine cannot be used now.',
    cancelled: 'Cancelled.',
    internal: 'Presence itself failed.',
    offline: 'DSH does not answer. Is it still running?',
    'bad-answer': 'DSH gave an answer that makes no sense here. Reload the page.',
  },
}

const zh: Strings = {
  title: 'Presence',
  loading: '加载中…',
  retry: '重试',
  cancel: '取消',
  lastKnown: '上次已知：',
  semicolon: '；',
  staleList: 'DSH 没有响应，以下内容可能已过时。',

  machines: '机器',
  machinesHint: '来自你的 SSH 配置和 machines.yml。不会在这些机器上安装任何东西。',
  badEntry: (problem) => `machines.yml 中它的条目有误：${problem}`,
  noMachines: '还没有机器',
  noMachinesHint: '在 ~/.ssh/config 中添加一个具名的 Host，它会自动出现在这里。',
  filterMachines: '筛选机器',
  noMatch: '没有匹配的机器。',
  connect: '连接',
  reconnect: '重新连接',
  connecting: '连接中…',
  idle: '未连接',
  connectingAt: (stage, hop) => `正在连接${hop === undefined ? '' : `（经由 ${hop}）`}：${stage}`,
  asking: (stage, hop) => `等待回答${hop === undefined ? '' : `（关于 ${hop}）`}：${stage}`,
  ready: (since) => `已连接，自 ${since}`,
  degraded: (silentSince) => `已连接，但自 ${silentSince} 起没有响应`,
  lost: (at) => `连接已于 ${at} 断开`,
  failed: (stage, at) => `${at} 连接失败，阶段：${stage}`,
  stages: {
    config: '读取 SSH 配置',
    dns: '解析地址',
    tcp: '建立网络连接',
    proxy: '经过跳板机',
    banner: '等待 SSH 服务响应',
    'key-exchange': '协商加密',
    'host-key': '核对主机密钥',
    auth: '登录',
    probe: '检查机器能力',
    ready: '收尾',
  },
  confinement: {
    bwrap: '命令受沙箱限制（bubblewrap）',
    namespaces: '命令受沙箱限制（用户命名空间）',
    'unconfined-by-switch': '已为此机器开启：命令不受沙箱限制',
    none: '该机器没有可用的沙箱：受限模式下的命令会被拒绝',
  },
  search: {
    rg: '使用 ripgrep 搜索',
    own: '没有 ripgrep，由 Presence 搜索',
    none: '无法搜索',
  },
  noSftp: '无法访问文件（SFTP 未启用）',
  noExec: '无法执行命令',

  addFolder: '添加远程文件夹',
  machine: '机器',
  chooseMachine: '选择机器',
  folder: '文件夹',
  folderExample: '/srv/project',
  folderHint: '该机器上的完整路径。',
  browse: '浏览',
  closeBrowser: '收起浏览',
  create: '创建工作区',
  creating: '创建中…',
  created: (title) => `“${title}”已出现在侧边栏。`,
  needMachine: '请先选择机器。',
  needFolder: '请输入文件夹路径，或通过浏览选择。',
  needAbsolute: '文件夹必须是以 / 开头的完整路径。',

  folderBrowser: (host) => `${host} 上的文件夹`,
  up: '上一级',
  chooseThis: '选择此文件夹',
  openFolder: (name) => `打开 ${name}`,
  home: '主目录',
  emptyFolder: '此文件夹为空。',
  moreEntries: '此文件夹还有更多内容未显示，可直接输入路径。',
  listing: (path) => `正在打开 ${path}`,

  workspaces: '远程工作区',
  workspacesHint: '对于不属于任何远程文件夹的会话，presence 工具使用当前工作区。',
  noSessionsHint: '在此配置中不能在其中打开会话：将其设为当前，本地会话即可通过 presence 工具访问它。',
  noWorkspaces: '还没有远程工作区',
  noWorkspacesHint: '在上方添加远程文件夹后，它会像其他工作区一样出现在侧边栏。',
  current: '当前',
  makeCurrent: '设为当前',
  makeCurrentOf: (title) => `将 ${title} 设为当前`,
  remove: '移除',
  removeOf: (title) => `移除 ${title}`,
  removing: '移除中…',
  keep: '保留',
  removeQuestion: (title) => `要从 DSH 中移除“${title}”吗？`,
  removeFacts: (host) => `不会改动 ${host} 上的任何内容：文件夹和其中的文件保持原样。`,

  failures: {
    'bad-request': 'DSH 无法理解此请求。',
    'not-json': 'DSH 无法理解此请求。',
    'too-large': '请求过大。',
    'too-slow': '请求发送超时。',
    'unknown-route': '此页面与正在运行的 Presence 版本不一致，请刷新页面。',
    'method-not-allowed': '此页面与正在运行的 Presence 版本不一致，请刷新页面。',
    forbidden: 'DSH 拒绝了此页面。请刷新，并在运行 DSH 的电脑上使用。',
    'bad-path': '无法使用此路径。',
    'not-found': '该机器上不存在。',
    'not-a-directory': '这不是文件夹。',
    'not-a-file': '这不是文件。',
    'permission-denied': '机器拒绝了访问，权限不足。',
    'unknown-workspace': '此工作区已不存在。',
    'unknown-machine': '此机器已不在配置中。',
    'bad-config': '此机器的 SSH 配置有误。',
    unsupported: '此机器要求的功能 Presence 不支持。',
    unreachable: '无法连接到此机器。',
    'host-key': '此机器的主机密钥不受信任。',
    auth: '机器未接受登录。',
    timeout: '机器未及时响应。',
    unavailable: '机器暂时不可用。',
    cancelled: '已取消。',
    internal: 'Presence 自身出错。',
    offline: 'DSH 没有响应，它还在运行吗？',
    'bad-answer': 'DSH 的响应无法识别，请刷新页面。',
  },
}

export const STRINGS: Readonly<Record<Language, Strings>> = { en, zh }
