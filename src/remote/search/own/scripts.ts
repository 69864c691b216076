/**
 * The POSIX shell texts of a search without ripgrep. They only read, run at low priority, and answer in
 * frames: a NUL byte, the marker, `kind:name`, a NUL byte, then the frame's content.
 */
import { quote } from '../../../base/shell-word.ts'

/** Runs `/bin/sh -c` with its arguments, below whatever else the machine does. */
export const GENTLY = `
if command -v nice >/dev/null 2>&1; then exec nice -n 10 /bin/sh -c "$@"; fi
exec /bin/sh -c "$@"
`

/**
 * Show ignore files and repositories. $1 marker; then paths that end in the names of either.
 * A repository's own excludes are where its `.git` is, or where that file says that they are.
 */
const RULES = `
m=$1
shift
show() {
  if [ -f "$3" ] && [ -r "$3" ]; then printf '\\000%s%s:%s\\000' "$m" "$1" "$2"; cat "$3"; fi
}
for f do
  case $f in
    */.git)
      [ -e "$f" ] || continue
      d=\${f%.git}
      printf '\\000%sgit:%s\\000' "$m" "$d"
      e=$f/info/exclude
      if [ -f "$f" ]; then
        e=
        if IFS= read -r l <"$f"; then :; fi
        case $l in
          "gitdir: "*)
            g=\${l#gitdir: }
            if [ -f "$g/commondir" ]; then
              if IFS= read -r c <"$g/commondir"; then :; fi
              case $c in .*) c=$g/$c ;; esac
              e=$c/info/exclude
            fi ;;
        esac
      fi
      if [ -n "$e" ]; then show exclude "$d" "$e"; fi ;;
    */.jj)
      if [ -e "$f" ]; then printf '\\000%sgit:%s\\000' "$m" "\${f%.jj}"; fi ;;
    *) show rules "$f" "$f" ;;
  esac
done
`

/** How files are shown, $m being the marker. */
const SHOWING = `
n='
'
show() {
  if [ ! -e "$1" ] && [ ! -h "$1" ]; then printf '\\000%sgone:%s\\000' "$m" "$1"
  elif [ -r "$1" ]; then printf '\\000%sfile:%s\\000' "$m" "$1"; cat "$1"
  else printf '\\000%sdenied:%s\\000' "$m" "$1"
  fi 2>/dev/null
}
each() { for f do show "$f"; done; }
total() { set -- \${1##*"$n"}; t=$1; }
contents() {
  printf '\\000%ssizes:\\000%s' "$m" "$w"
  printf '\\000%scontents:\\000' "$m"
  cat "$@"
  printf '\\000%safter:\\000%s' "$m" "$(wc -c "$@")"
}
`

/** Files in UTF-16, whose words are spelled otherwise: added to what grep looks for in $e. */
const OR_UTF16 = `e="$e|^$(printf '\\377\\376')|^$(printf '\\376\\377')"`

/**
 * Look for words in all that is below the folder, whatever rules may say of it: a walk that grep makes itself
 * takes a fraction of what naming it so many files takes. GNU's alone, since others read FIFOs or skip what
 * this must not. $l are the lines that it said, names and complaints, each of which it ends before the next.
 */
const EARLY = `
${SHOWING}
early() {
  if [ "$(pwd -P)" = / ]; then return; fi
  case $(grep --version 2>/dev/null) in *"GNU grep"*) ;; *) return ;; esac
  ${OR_UTF16}
  l=$(eval "grep -rlE$i -D skip $o" '-e "$e" .' 2>&1)
  printf '\\000%snamed:%s\\000%s' "$m" "$?" "$l"
  if [ "\${#l}" -gt 20000 ]; then return; fi
  set -f
  IFS=$n
  set --
  for f in $l; do
    case $f in ./*) set -- "$@" "$f" ;; esac
  done
  unset IFS
  if [ "$#" -eq 0 ]; then return; fi
  w=$(wc -c "$@" 2>/dev/null)
  total "$w"
  if [ "\${t:-0}" -le 1000000 ]; then contents "$@" 2>/dev/null; fi
}
`

/**
 * List a tree. $1 marker, $2 the folder or file, beginning with . or /, $3 `all`, `below` (no rules from
 * above it) or `plain` (no rules), $4 what find prints of an entry between its kind and its path, empty
 * where it knows no -printf; $5 and $6 are quoted words for a command line: where find begins, and what names
 * of folders it does not enter. $7, unless empty, is an expression of grep -E that is looked for meanwhile,
 * with $8 `i` for either case and $9, quoted words for grep's command line.
 *
 * Frames: one of `folder` (its physical path), `file`, `other`, `denied`, `missing`; `listed`, or `folders`
 * and `files`; `closed` (folders that cannot be read); `rules`, `git`, `exclude`; `home`, `config`,
 * `global`; with $7 `searching`, twice, so that all before it is known to be there, then what grep said:
 * `named` (its exit code), and if that is little `sizes`, `contents` and `after`; and at last `end`.
 */
export const LIST = `
m=$1 r=$2 u=$3 k=$4 b=$5 q=$6 e=$7 i=$8 o=$9
LC_ALL=C
export LC_ALL
unset GREP_OPTIONS
p() { printf '\\000%s%s\\000' "$m" "$1"; }
stop() { p end:; exit 0; }
if [ -f "$r" ]; then p file:; stop; fi
if [ ! -d "$r" ]; then
  if [ -e "$r" ] || [ -h "$r" ]; then p other:; else p missing:; fi
  stop
fi
if ! cd "$r" 2>/dev/null || [ ! -r . ]; then p denied:; stop; fi
${EARLY}
list() {
w=$(pwd -P)
p "folder:$w"
s=0
if [ -n "$k" ]; then
  p listed:
  eval "find $b '(' -type d '(' $q ')' -prune -o -type d -o -type f ')' -printf '%y$k %p\\\\0'" 2>/dev/null || s=1
else
  p folders:
  eval "find $b -type d '(' $q ')' -prune -print0 -o -type d -print0" 2>/dev/null || s=1
  p files:
  eval "find $b -type d '(' $q ')' -prune -o -type f -print0" 2>/dev/null || s=1
fi
if [ "$s" = 1 ]; then
  p closed:
  c='for d do if [ ! -r "$d" ] || [ ! -x "$d" ]; then printf "%s\\\\000" "$d"; fi; done'
  eval "find $b -type d '(' $q ')' -prune -o -type d -exec /bin/sh -c "'"$c" presence {} +' 2>/dev/null
fi
if [ "$u" = plain ]; then return; fi
c=${quote(RULES)}
n="-name .gitignore -o -name .ignore -o -name .rgignore -o -name .git -prune -o -name .jj -prune"
eval "find $b '(' $n ')' -exec /bin/sh -c "'"$c" presence "$m" {} +'" -o -type d '(' $q ')' -prune" 2>/dev/null
if [ "$u" = below ]; then return; fi
d=$w
set --
while [ "$d" != / ]; do
  d=\${d%/*}
  for f in .gitignore .ignore .rgignore .git .jj; do
    if [ -e "$d/$f" ]; then set -- "$@" "$d/$f"; fi
  done
  d=\${d:-/}
done
if [ "$#" -gt 0 ]; then /bin/sh -c "$c" presence "$m" "$@" 2>/dev/null; fi
x=\${XDG_CONFIG_HOME:-$HOME/.config}
p "home:$HOME"
for f in "$HOME/.gitconfig" "$x/git/config"; do
  if [ -f "$f" ] && [ -r "$f" ]; then p config:; cat "$f"; fi
done
if [ -f "$x/git/ignore" ] && [ -r "$x/git/ignore" ]; then p global:; cat "$x/git/ignore"; fi
}
if [ -z "$e" ]; then list
else early </dev/null | { list </dev/null; p searching:; p searching:; cat; }
fi
stop
`

/** Show a file that git's configuration names. $1 marker, $2 path. */
export const SHOW_GLOBAL = `
if [ -f "$2" ] && [ -r "$2" ]; then printf '\\000%sglobal:\\000' "$1"; cat "$2"; fi
printf '\\000%send:\\000' "$1"
`

const CANDIDATES = `
m=$1 e=$2 i=$3 h=$4
shift 4
${SHOWING}
together() {
  w=$(wc -c "$@")
  total "$w"
  if [ "$t" -gt 16000000 ]; then each "$@"; else contents "$@"; fi
}
if [ "$h" = each ]; then each "$@"; exit 0; fi
unread() { for f do if [ ! -r "$f" ]; then show "$f"; fi; done; }
if [ -z "$e" ]; then unread "$@"
else
  l=$(grep "-lsE$i" -e "$e" -- "$@")
  if [ "$?" -gt 1 ]; then unread "$@"; fi
  set -f
  IFS=$n
  set -- $l
  unset IFS
fi
if [ "$#" -gt 1 ]; then together "$@" 2>/dev/null; else each "$@"; fi
exit 0
`

/**
 * Show the files whose names come on standard input, each ended by a NUL byte: those with a line that $2,
 * an expression of grep -E, matches ($3: `i` for either case), and those in UTF-16; all when $2 is empty.
 * $1 marker, $4 folder that the names are relative to, $5 `together`, or `each` for each on its own.
 *
 * A process for each file is what takes time: together, the sizes of some files, their contents in one,
 * and the sizes again come instead, by which they are told apart if nothing changed meanwhile.
 * Names with a line end must come with an empty $2 and `each`. Frames: `file`, `denied`, `gone`; `sizes`,
 * `contents` and `after`; and at last `end` with the exit code of xargs.
 */
export const CANDIDATE_FILES = `
m=$1 e=$2 i=$3 r=$4 h=$5
LC_ALL=C
export LC_ALL
unset GREP_OPTIONS
if ! cd "$r" 2>/dev/null; then exit 1; fi
if [ -n "$e" ]; then ${OR_UTF16}; fi
xargs -0 -n 2000 /bin/sh -c ${quote(CANDIDATES)} presence "$m" "$e" "$i" "$h"
printf '\\000%send:%s\\000' "$m" "$?"
`

/**
 * Tell when files were changed, one line each, in order. $1 marker, $2 how `stat` is asked there, $3 folder;
 * names come as above.
 */
export const CHANGED = `
m=$1 k=$2
TZ=UTC
export TZ
if ! cd "$3" 2>/dev/null; then exit 1; fi
printf '\\000%stimes:\\000' "$m"
case $k in
  bsd) xargs -0 stat -f '%Fm' ;;
  *) xargs -0 stat -c '%y' ;;
esac 2>/dev/null
printf '\\000%send:\\000' "$m"
`
