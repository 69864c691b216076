/**
 * The POSIX shell texts that Presence runs on machines, each whole and readable here and run by tests
 * under every shell we promise. They use builtins where they can: a process start on a slow machine
 * costs more than a round trip.
 *
 * All text that is parsed comes after a random marker, so that what login scripts print never enters.
 */

import { quote } from '../../base/shell-word.ts'
import { TRY_TO_CONFINE } from './namespaces.ts'

/**
 * What identifies the folder `$1` to both SFTP and a shell: mode (in hexadecimal; in octal by BSD's `stat`),
 * owner, group, seconds. Empty where it is not there. $k the machine's kind of `stat`.
 */
const IDENTITY = `
identity() {
  if [ "$k" = bsd ]; then stat -L -f '%p %u %g %m' "$1" 2>/dev/null
  else stat -L -c '%f %u %g %Y' "$1" 2>/dev/null
  fi
}
`

/**
 * Tell what the machine is and has. $1 marker, $2 and $3 words that only some login shells pass unchanged.
 * Prints lines `<marker>key=value`, and at last `<marker>end`.
 *
 * What is said of a program is found out by using it, never by its name or its exit code alone.
 */
export const PROBE = `
m=$1
p() { printf '%s%s=%s\\n' "$m" "$1" "$2"; }
p words "$2 $3"
s=$SHELL i=0
while [ -h "$s" ] && [ "$i" -lt 9 ]; do
  t=$(readlink "$s") || break
  case $t in /*) s=$t ;; *) s=\${s%/*}/$t ;; esac
  i=$((i+1))
done
h=$(cd 2>/dev/null && pwd -P)
p shell "$SHELL"
p program "$s"
p home "$h"
p os "$(uname -s 2>/dev/null)"
n= d=
{ IFS= read -r n </proc/sys/kernel/hostname; } 2>/dev/null || n=$(uname -n 2>/dev/null)
{ IFS= read -r d </etc/machine-id; } 2>/dev/null
p host "$n\${d:+ }$d"
p user "$(id -un 2>/dev/null)"
p uid "$(id -u 2>/dev/null)"
p lang "$LANG"
p lc_all "$LC_ALL"
p lc_ctype "$LC_CTYPE"
p charmap "$(locale charmap 2>/dev/null)"
for c in bash rg git setsid find; do p "$c" "$(command -v "$c" 2>/dev/null)"; done
f=
if [ "$(find / -prune -printf x 2>/dev/null)" = x ]; then f=gnu
elif find -f / -prune >/dev/null 2>&1; then f=bsd
elif find / -prune >/dev/null 2>&1; then f=busybox
fi
p finds "$f"
k=
case $(stat -c %.9Y / 2>/dev/null) in
  *.?????????) k=gnu ;;
  *) case $(stat -f %Fm / 2>/dev/null) in
       *.?*) k=bsd ;;
       *) case $(stat -c %Y / 2>/dev/null) in [0-9]*) k=busybox ;; esac ;;
     esac ;;
esac
${IDENTITY}
p stat "$k"
p root-is "$(identity /)"
p home-is "$(identity "$h")"
b=
if c=$(command -v bwrap) && "$c" --ro-bind / / --dev /dev --unshare-pid --proc /proc --die-with-parent --cap-drop ALL \\
  -- true >/dev/null 2>&1; then b="bwrap $c"
elif c=$(command -v unshare) && "$c" -U -r true >/dev/null 2>&1; then
  t=$(PATH=$PATH:/usr/bin:/bin:/usr/sbin:/sbin; "$c" -U -r -m -p -f /bin/sh -c ${quote(TRY_TO_CONFINE)} presence "$c" 2>/dev/null)
  if [ -n "$t" ]; then b="$t $c"; fi
fi
p confiner "$b"
p tmp "$(cd "\${TMPDIR:-/tmp}" 2>/dev/null && pwd -P)"
printf '%send\\n' "$m"
`

/**
 * Tell what identifies folders. $1 marker, $2 the machine's kind of `stat`; then the folders.
 * Prints a line `<marker>identity` for each folder, and at last `<marker>end`.
 */
export const IDENTIFY = `
m=$1 k=$2
shift 2
${IDENTITY}
for d do printf '%s%s\\n' "$m" "$(identity "$d")"; done
printf '%send\\n' "$m"
`

/** How scripts take a grace: at least one tenth of a second. @param ms - milliseconds. */
export function tenthsOf(ms: number): string {
  return String(Math.max(1, Math.ceil(ms / 100)))
}

/**
 * `group`: send the signal `$1` to the process group `$p`. Some shells want `--` before a negative pid and some refuse
 * it, so both spellings are tried.
 */
export const GROUP = `group() { kill -s "$1" -- "-$p" 2>/dev/null || kill -s "$1" "-$p" 2>/dev/null; }`

/**
 * What every command begins with: `$_n` words `NAME=value` are exported.
 * A bash that believes sshd has started it, at the first shell level, reads ~/.bashrc for any command; the
 * level is raised, since the host's commands are no login and read none.
 */
export const SURROUNDINGS = `
while [ "$_n" -gt 0 ]; do export "$1"; shift; _n=$((_n-1)); done
if [ "\${SHLVL:-0}" -lt 2 ]; then export SHLVL=2; fi
unset CDPATH
`.trim()

/**
 * Ends a process group when told, or when its lifeline breaks.
 * $1 leader's pid, $2 grace in tenths of a second, $3 `own` when this runs outside the group.
 *
 * A line `stop` on standard input ends the group whatever its state; the end of the input ends it only
 * while the leader lives, since after a normal exit the server closes the input too.
 */
const WATCH = `
p=$1 g=$2
${GROUP}
alive() { if [ "$w" = own ]; then group 0; else kill -0 "$p" 2>/dev/null; fi; }
l=
IFS= read -r l
w=$3
if [ "$l" != stop ] && ! kill -0 "$p" 2>/dev/null; then exit 0; fi
group TERM || kill "$p" 2>/dev/null
i=0
while [ "$i" -lt "$g" ] && alive; do
  if sleep 0.1 2>/dev/null; then i=$((i+1)); else sleep 1; i=$((i+10)); fi
done
group KILL || kill -s KILL "$p" 2>/dev/null
`

/**
 * Start one command as the leader of its own process group.
 * $1 marker, $2 folder, $3 grace in tenths of a second, $4 `watched`, `direct` or `terminal`, $5 number of
 * `NAME=value` words that follow; then the program and its arguments.
 *
 * Prints `<marker>ok <pid>` on standard output and `<marker>` on standard error before the command's
 * own first byte, or `<marker>folder` / `<marker>program` instead when it cannot be started.
 *
 * watched: the command's standard input is /dev/null, and the channel's standard input is a lifeline
 * (see WATCH): closing it, or losing the link, ends the command's whole group.
 *
 * direct: the channel's input is the command's. terminal: so is everything else, and the one stream is
 * marked once.
 *
 * OpenSSH makes a process group for each command. Dropbear does not, and `setsid` makes one there, in the same
 * process since it leads none; where there is no `setsid` either, only the leader is ended.
 */
export const LAUNCH = `
_m=$1 _d=$2 _g=$3 _w=$4 _n=$5
shift 5
${SURROUNDINGS}
if ! cd -- "$_d" 2>/dev/null; then printf '%sfolder\\n' "$_m"; exit 126; fi
if ! command -v "$1" >/dev/null 2>&1; then printf '%sprogram\\n' "$_m"; exit 127; fi
printf '%sok %s\\n' "$_m" "$$"
if [ "$_w" = terminal ]; then exec "$@"; fi
printf '%s\\n' "$_m" >&2
_s=
if kill -s 0 -- "-$$" || kill -s 0 "-$$"; then :; elif command -v setsid; then _s=setsid; fi >/dev/null 2>&1
if [ "$_w" = direct ]; then exec $_s "$@"; fi
exec 3<&0
( (
  exec <&3 3<&- >/dev/null 2>&1
  if command -v setsid; then exec setsid /bin/sh -c ${quote(WATCH)} presence "$$" "$_g" own; fi
  trap '' TERM HUP INT
  exec /bin/sh -c ${quote(WATCH)} presence "$$" "$_g" same
) & )
exec $_s "$@" </dev/null 3<&-
`

/**
 * A shell that waits for one command: it reads a line of quoted words (`readyLine`), and does with them what LAUNCH
 * does with its arguments. What comes behind the line is the command's, or its lifeline's.
 */
export const READY = `
_l='
'
IFS= read -r _a || exit 0
eval "set -- $_a"
unset _a _l
${LAUNCH}
`

/** What a shell that waits is told: arguments of LAUNCH, on one line. */
export function readyLine(words: readonly string[]): string {
  return `${words.map((word) => quote(word).replaceAll('\n', `'"$_l"'`)).join(' ')}\n`
}

/**
 * End the process group of a command whose lifeline is gone, and wait for it.
 * $1 leader's pid, $2 grace in tenths of a second.
 */
export const END_GROUP = `
echo stop | /bin/sh -c ${quote(WATCH)} presence "$1" "$2" own
`

/** Wait until a process group is gone. $1 leader's pid. */
export const AWAIT_GROUP = `
p=$1
${GROUP}
while group 0; do sleep 0.1 2>/dev/null || sleep 1; done
`

/**
 * A helper that evaluates the lines that begin with a key, and ignores all others: content that a question
 * brings on descriptor 3 and does not take to its end is never taken for a question.
 * $1 marker, printed first, $2 key. \`functions\` are at hand for the questions.
 */
export const helperScript = (functions: string): string => `
m=$1 k=$2
${functions}
printf '%s\\n' "$m"
while IFS= read -r l; do
  case $l in "$k"*) eval "\${l#"$k"}" 3<&0 </dev/null 2>/dev/null; cd / ;; esac
done
`

/**
 * Tell of changes to the absolute paths `$1…`, by `inotifywait` where the machine has it; ends where it has not,
 * or where it refuses. A folder tells of its entries too; anything else is watched through the folder that it is
 * in, so that one that is replaced, removed or made is told of.
 *
 * Prints a line of words for each lot of news: `ready` once it listens, the number of each path that something
 * happened to, `partial` when one of them cannot be listened to, and `over` when what is listened to is no longer
 * what the paths mean. Names are only looked for in what `inotifywait` prints, never taken from it. At most five
 * lots a second, however much happens: what comes meanwhile waits in the pipe and is read at once.
 */
export const NOTIFY = `
LC_ALL=C
export LC_ALL
l='
'
above() {
  d=\${1%/*} c=0
  while [ -n "$d" ] && ! [ -d "$d" ]; do d=\${d%/*} c=$((c+1)); done
  d=\${d:-/}
}
n=$# i=0 deep=' ' known=$l blind=
for p do
  i=$((i+1))
  if [ -d "$p" ]; then d=$p
  else above "$p"; if [ "$c" -gt 0 ]; then deep="$deep$i:$c "; fi
  fi
  if ! [ -r "$d" ]; then blind=yes
  else case $known in *"$l$d$l"*) ;; *) known="$known$d$l"; set -- "$@" "$d" ;; esac
  fi
done
if [ -n "$blind" ]; then echo partial; fi
if [ "$#" -eq "$n" ]; then exit 1; fi
( shift "$n"
  exec inotifywait -m --format '%e %w%f' -e modify -e attrib -e close_write -e move -e create -e delete \\
    -e delete_self -e move_self -- "$@" 2>&1
) | while b=$(dd bs=65536 count=1 2>/dev/null) && [ -n "$b" ]; do
  b=" $l$b$l" w= i=0
  case $b in *"\${l}Watches established"*) w=' ready' ;; esac
  case $b in *"\${l}DELETE_SELF"*|*"\${l}MOVE_SELF"*|*"\${l}UNMOUNT"*|*"\${l}Q_OVERFLOW"*) w="$w over" ;; esac
  for p do
    i=$((i+1))
    if [ "$i" -gt "$n" ]; then break; fi
    case $b in *" \${p%/}/"*|*" $p$l"*) w="$w $i" ;; *)
      case $deep in *" $i:"*) above "$p"; case $deep in *" $i:$c "*) ;; *) w="$w over" ;; esac ;; esac ;;
    esac
  done
  if [ -n "$w" ]; then echo "$w"; fi
  sleep 0.2 2>/dev/null || sleep 1
done
`

/**
 * Run `$@`, which lists files and ends each name with NUL, and tell of each its time of change and its name, ended by
 * NUL as well. What is gone again is left out. Exits as it did. GNU's `stat`.
 */
export const LISTED_TIMES = `
exec 4>&1
r=$({ { "$@" 3>&- 4>&-; echo "$?" >&3; } | xargs -0 -r stat --printf='%.9Y %n\\000' -- 2>/dev/null >&4 3>&- 4>&-; } 3>&1)
exit "$r"
`

/**
 * Tell what runs in the foreground of a terminal. $1 pid of the terminal's session leader.
 * Prints the foreground process group, a space, and 1 when a process of it is known to wait for input.
 *
 * Waiting is read off the system call a process sleeps in: a read of descriptor 0, or a select of the one
 * descriptor 0, by their numbers on x86-64 and arm64 Linux. Elsewhere, and where the kernel hides it, the
 * answer is 0, which only means that it is not known.
 */
export const FOREGROUND = `
p=$1
if { IFS= read -r l <"/proc/$p/stat"; } 2>/dev/null; then
  set -- \${l##*) }
  t=$6
else
  t=$(ps -o tpgid= -p "$p" 2>/dev/null)
  t=\${t##* }
fi
w=0
for f in /proc/[0-9]*/stat; do
  { IFS= read -r l <"$f"; } 2>/dev/null || continue
  set -- \${l##*) }
  [ "$3" = "$t" ] || continue
  f=\${f%/stat}
  { IFS= read -r l <"$f/syscall"; } 2>/dev/null || continue
  case $l in
    "0 0x0 "*|"63 0x0 "*|"23 0x1 "*|"270 0x1 "*|"72 0x1 "*) w=1; break ;;
  esac
done
printf '%s %s' "$t" "$w"
`

/**
 * End every process of a terminal's session. $1 pid of the session leader, $2 grace in tenths of a second.
 * Interactive shells ignore TERM and end on HUP; stopped processes hear neither before CONT.
 */
export const END_SESSION = `
s=$1 g=$2
members() {
  r=
  for f in /proc/[0-9]*/stat; do
    { IFS= read -r l <"$f"; } 2>/dev/null || continue
    p=\${l%% *}
    set -- \${l##*) }
    if [ "$4" = "$s" ] && [ "$1" != Z ]; then r="$r $p"; fi
  done
  if [ ! -e /proc/self/stat ] && kill -0 "$s" 2>/dev/null; then r=$s; fi
}
members
for p in $r; do kill -s HUP "$p"; kill -s TERM "$p"; kill -s CONT "$p"; done 2>/dev/null
i=0
while [ "$i" -lt "$g" ]; do
  members
  if [ -z "$r" ]; then exit 0; fi
  if sleep 0.1 2>/dev/null; then i=$((i+1)); else sleep 1; i=$((i+10)); fi
done
i=0
while [ "$i" -lt 20 ]; do
  members
  if [ -z "$r" ]; then exit 0; fi
  for p in $r; do kill -s KILL "$p"; done 2>/dev/null
  sleep 0.1 2>/dev/null || sleep 1
  i=$((i+1))
done
`
