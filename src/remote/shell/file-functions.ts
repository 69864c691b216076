/**
 * Functions that the helper shell offers for files where the machine has GNU's programs: what would take
 * several flights of SFTP requests is one question here. Each only knows the common case; whenever something
 * is out of the ordinary it says so by its status and has changed nothing that lasts, and the caller goes the
 * long way by SFTP, which knows all cases. Process starts are counted: each costs a slow machine some
 * milliseconds.
 *
 * Paths come in variables, are absolute and hold no line of dots. The shell's folder is put back after every
 * question, so that no file system is kept busy.
 */

/** What `stat` prints: size, type and mode, owner, group, and the token of the version (`versions.ts`). */
export const STAT_FORMAT = '%s %f %u %g %d:%i:%s:%.9Y:%.9Z:%f'

/** Statuses of `look`. */
export const LOOKED = {
  /** The path, the line of `stat`, and the content follow. */
  withContent: 0,
  /** Nothing is there; only the path follows. */
  absent: 1,
  /** The path, the line of `stat`, and what `list` prints of the folder follow. */
  withListing: 6,
  /** The path and the line of `stat` follow. */
  without: 4,
} as const

/**
 * What the host looks for beside a folder: a repository, texts with instructions (its agent-instructions), and
 * what holds skills (its skill-filesystem).
 */
export const AROUND = [
  '.git',
  'AGENTS.md',
  'CLAUDE.md',
  'AGENTS.local.md',
  'CLAUDE.local.md',
  '.dsh',
  '.agents',
] as const

/** Bytes of the largest content that comes with a look around. */
export const LONGEST_AROUND = 32 * 1024

/** Statuses of `publish`. */
export const PUBLISHED = 0

/**
 * look: tell what a path is. $p path, $d its folder, $n its name, $b most bytes of content to print, 0 for none.
 * Prints the canonical path, NUL, the line of `stat` through links, and the content or what is in the folder.
 *
 * publish: put a new content in place. $d the folder, by its canonical path, $n the name, $t a temporary name,
 * $b bytes (at least one) that come on descriptor 3, $u umask of the temporary file, $c its mode where that does not do, else
 * empty, $e the token that the file must have, or `-` when nothing may be there.
 * Prints the line of `stat` of what is published. Any other status than 0: nothing is, and nothing is left.
 *
 * list: tell what is in a folder. $d the folder, by its canonical path. Prints records that end with NUL: \`E\` and
 * fields for an entry that is no link; \`B\` and the name of a link to nothing; \`U\` and the name of one that cannot
 * be followed (one that leads below itself must not be: GNU's \`readlink -f\` would go on for ever); \`L\` and the name
 * of any other link, for each of which there is later one with \`S\`, a line of \`stat\` and the name, and one that is
 * its canonical path, these in the order of the links.
 *
 * around: tell what lies by the names of AROUND in the folders that are its arguments. $c non-empty: with contents.
 * Prints, each ended by NUL: for every folder its canonical path, or nothing where it cannot be entered, then for
 * every name `a` (absent), `p` (present), `l` and the canonical path (a link), or `u` (unclear); then `=`; then a line
 * of `stat` for each that is present or a link; then the contents of the regular ones, all that are small.
 *
 * able: tell what `publish` can rely on. Prints the words `dd` (takes no more than it is told to, and forces the
 * file to the disk) and `place` (does not move into a folder), each where it is so.
 */
export const FILE_FUNCTIONS = `
LC_ALL=C
export LC_ALL
unset CDPATH
N='
'
look() {
  cd -P -- "$d" || return 3
  q=$PWD
  [ "$q" = / ] && q=
  if [ -h "$n" ]; then
    [ -e "$n" ] || return 3
    q=$(readlink -f -- "./$n" && printf x) || return 3
    q=\${q%?x}
  elif [ -e "$n" ]; then q=$q/$n
  else printf '%s\\000' "$q/$n"; return 1
  fi
  printf '%s\\000' "$q"
  s=$(stat -L -c '${STAT_FORMAT}' -- "./$n") || return 3
  printf '%s\\n' "$s"
  if [ "\${s%% *}" -gt "$b" ] && [ -f "$n" ]; then return 4; fi
  if [ "$b" -gt 0 ] && [ -f "$n" ]; then head -c "$((b+1))" -- "./$n" || return 5
  elif [ "$b" -gt 0 ] && [ -d "$n" ]; then
    d=$q
    list && return 6
    return 5
  else return 4
  fi
}
guarded() {
  if [ "$e" = - ]; then
    if [ -e "$n" ]; then return 1; fi
    s=$(stat -c '${STAT_FORMAT}' -- "./$t") && [ "\${s%% *}" = "$b" ]
    return
  fi
  s=$(stat -c '${STAT_FORMAT}' -- "./$t" "./$n") || return 1
  o=\${s#*"$N"} s=\${s%%"$N"*}
  [ "\${o##* }" = "$e" ] && [ "\${s%% *}" = "$b" ] || return 1
  s=\${s#* } o=\${o#* }
  [ "\${s% *}" = "\${o% *}" ]
}
place() {
  if [ "$e" = - ]; then ln -T -- "./$t" "./$n" && { rm -f -- "./$t"; true; }
  else mv -f -T -- "./$t" "./$n"
  fi
}
publish() {
  cd -P -- "$d" && [ "$PWD" = "$d" ] && [ ! -h "$n" ] || return 3
  umask "$u"
  dd iflag=fullblock bs="$b" count=1 of="./$t" conv=excl,fsync <&3
  r=$?
  umask 077
  if [ "$r" = 0 ] && { [ -z "$c" ] || chmod -- "$c" "./$t"; } && guarded && place; then
    stat -c '${STAT_FORMAT}' -- "./$n"
    return 0
  fi
  rm -f -- "./$t"
  return 4
}
list() {
  cd -P -- "$d" && [ "$PWD" = "$d" ] || return 3
  find . -mindepth 1 -maxdepth 1 \\( ! -type l -printf 'E%y %s %m %D %i %T@ %C@ %f\\000' \\) \\
    -o \\( -xtype l -printf 'B%f\\000' \\) \\
    -o \\( ! \\( -xtype f -o -xtype d -o -xtype p -o -xtype s -o -xtype c -o -xtype b \\) -printf 'U%f\\000' \\) \\
    -o \\( -printf 'L%f\\000' -exec stat -L --printf='S${STAT_FORMAT} %n\\000' -- {} + \\
      -exec readlink -z -f -- {} + \\)
}
around() {
  i=$#
  for d do
    cd -P -- "$d" || { printf '\\000'; continue; }
    w=$PWD
    printf '%s\\000' "$w"
    [ "$w" = / ] && w=
    for n in ${AROUND.join(' ')}; do
      if [ -h "$n" ]; then
        if [ -e "$n" ] && q=$(readlink -f -- "./$n" && printf x); then
          q=\${q%?x}
          printf 'l%s\\000' "$q"
          set -- "$@" "$q"
        else printf 'u\\000'
        fi
      elif [ -e "$n" ]; then
        printf 'p\\000'
        set -- "$@" "$w/$n"
      else printf 'a\\000'
      fi
    done
  done
  shift "$i"
  printf '=\\000'
  [ "$#" -gt 0 ] || return 0
  stat -L -c '${STAT_FORMAT}' -- "$@"
  printf '\\000'
  [ -n "$c" ] || return 0
  for q do
    shift
    [ -f "$q" ] && set -- "$@" "$q"
  done
  [ "$#" -eq 0 ] || head -q -c ${LONGEST_AROUND + 1} -- "$@"
  return 0
}
able() {
  x=$(printf 'abcd\\nef' | { dd iflag=fullblock bs=2 count=1 conv=fsync of=/dev/null; IFS= read -r x; printf %s "$x"; })
  [ "$x" = cd ] && printf 'dd '
  case $(mv --help) in *--no-target-directory*) printf 'place ' ;; esac
}
`
