/** What Presence knows of ssh2 beyond its public face, and what it does when that is another one. */
import { describe, expect, it } from 'vitest'
import { channelsOf } from '../../src/ssh/channel/refused-request.ts'
import { extensionsOf, protocolClassOf } from '../../src/ssh/channel/sftp-protocol.ts'

describe('ssh2, where it is looked into', () => {
  it('is refused when it does not keep its channels where they are looked for', () => {
    expect(() => channelsOf({})).toThrow(/ssh2/)
    expect(() => channelsOf({ _chanMgr: { _channels: undefined } })).toThrow(/ssh2/)
    expect(() => channelsOf({ _chanMgr: {} })).toThrow(/ssh2/)
    expect(channelsOf({ _chanMgr: { _channels: { 3: 'channel' } } })).toEqual({ 3: 'channel' })
  })

  it('is refused when its SFTP class is another one', () => {
    class Another {
      readonly sftp: unknown
      constructor(sftp: unknown) {
        this.sftp = sftp
      }
    }
    for (const loaded of [undefined, null, {}, { SFTP: {} }, { SFTP: Another }]) {
      expect(() => protocolClassOf(loaded)).toThrow(/ssh2/)
    }
  })

  it('tells the extensions of a server, or that it tells none', () => {
    expect(extensionsOf({ _extensions: { 'fsync@openssh.com': '1', odd: 3 } })).toEqual({
      'fsync@openssh.com': '1',
    })
    expect(extensionsOf({})).toEqual({})
  })
})
