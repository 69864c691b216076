/** Where git keeps the excludes of an account, as ripgrep reads it from git's configuration: by one line alone. */

/**
 * @param config - a configuration file's bytes.
 * @param home - of the account, for `~`; bytes as latin1, as the answer's.
 */
export function excludesFileOf(config: Buffer, home: string): string | undefined {
  const text = config.toString('latin1')
  const [, path] =
    /^[\t\v\f\r\n ]*excludesfile[\t\v\f\r\n ]*=[\t\v\f\r\n ]*"?[\t\v\f\r\n ]*([^\t\v\f\r\n ]+?)[\t\v\f\r\n ]*"?[\t\v\f\r\n ]*$/im.exec(
      text,
    ) ?? []
  return path?.replaceAll('~', home)
}
