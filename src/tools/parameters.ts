/** Parameters that several tools share, in the same words. */
export const HOST_PARAMETER = {
  type: 'string',
  description:
    'Machine (SSH host alias). Not needed in a session that works on a machine, nor when a remote workspace is current.',
} as const

export const PATH_PARAMETER = {
  type: 'string',
  required: true,
  description: 'Path on the machine; relative paths are relative to the workspace.',
} as const
