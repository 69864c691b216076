/**
 * The POSIX shell texts of background jobs, which live on without a connection. As in `scripts.ts`, each is run
 * by tests under every shell we promise.
 *
 * A job has a folder of its own on the machine, which only its owner may enter:
 * - `out` and `err`: what it printed;
 * - `exit`: `-` as long as it runs, then `code <number>` or `signal <name>`. It has its full length from the
 *   beginning and is written over in place, so that a disk that has become full does not swallow it;
 * - `pid`: the leader, its process group, its supervisor, and what tells this supervisor from a later process
 *   with its number;
 * - `alive`: a FIFO that the supervisor alone keeps open for writing: whoever reads it hears the end without
 *   asking again and again, also if the supervisor is killed;
 * - `note`: what the supervisor's own shell has to say, in a length that it has from the beginning as well.
 */
import { quote } from '../../base/shell-word.ts'
import { GROUP, SURROUNDINGS } from './scripts.ts'

/** The folder's name begins with it; 24 hexadecimal digits follow. */
export const JOB_PREFIX = 'presence-job-'

/** Nobody has asked for it for so many days: what lies there then is nobody's any more. */
export const FORGOTTEN_DAYS = 14

/** `alive`: whether the supervisor of the folder `$1` runs; leaves $L leader, $G group, $S supervisor, $w who. */
const ALIVE = `
who() {
  w=
  if { IFS= read -r l <"/proc/$1/stat"; } 2>/dev/null; then
    l=\${l##*) } i=0
    case $l in Z*) return ;; esac
    while [ "$i" -lt 19 ]; do l=\${l#* } i=$((i+1)); done
    w=\${l%% *}
    if { IFS= read -r l </proc/sys/kernel/random/boot_id; } 2>/dev/null; then w="$w $l"; fi
  elif kill -0 "$1" 2>/dev/null; then w=$(ps -o lstart= -p "$1" 2>/dev/null)
  fi
}
alive() {
  L= G= S= R=
  { IFS=' ' read -r L G S R <"$1/pid"; } 2>/dev/null
  if [ -z "$S" ]; then return 1; fi
  who "$S"
  [ -n "$w" ] && [ "$w" = "$R" ]
}
`

/**
 * `mine`: whether the folder `$1` is this account's own, by itself. Others may write to the temporary folder too,
 * and whoever puts a link or a folder in the place of one that was removed shall not decide what is ended.
 */
const MINE = `mine() { [ -d "$1" ] && ! [ -h "$1" ] && [ -O "$1" ]; }`

/** `remove`: a job's folder `$1`, by the names that we gave. */
const REMOVE = `
remove() {
  rm -f "$1/out" "$1/err" "$1/exit" "$1/pid" "$1/note" "$1/alive" && rmdir "$1"
}
`

/**
 * The command itself. $1 the job's folder; then the program and its arguments. Tells on standard output its own
 * number and its supervisor's.
 */
const RUN = `
_j=$1
shift
printf '%s %s\\n' "$$" "$PPID"
exec "$@" </dev/null >>"$_j/out" 2>>"$_j/err" 9>&-
`

/**
 * Start a job. $1 marker, $2 the job's folder, which must not exist, $3 folder to run in, $4 number of
 * `NAME=value` words that follow; then the program and its arguments.
 *
 * Prints `<marker>ok <group>`; or `<marker>folder`, `<marker>program`, `<marker>room <reason>` when there is no
 * job and nothing is left of it; then `<marker>end`. Ends at once, by a signal, and the job goes on with its
 * supervisor, which waits for it.
 *
 * The job leads a process group of its own: by job control in bash, by `setsid` elsewhere, and where there is
 * neither the group is the one that the server made for this command. The supervisor is not started with `&`: a
 * shell without job control lets such a process, and all that it starts, ignore INT. It is the first part of a
 * pipeline instead, whose last part ends the shell that waits for both.
 *
 * That a signal ended the job is told by what the shell says of it, not by a status over 128 alone; of INT and
 * PIPE most shells say nothing, and their status stays a code.
 *
 * Folders of jobs that ended long ago and that nobody has collected are removed on this occasion.
 */
export const START_JOB = `
_m=$1 _j=$2 _d=$3 _n=$4
shift 4
${SURROUNDINGS}
if ! cd -- "$_d" 2>/dev/null; then printf '%sfolder\\n%send\\n' "$_m" "$_m"; exit 126; fi
if ! command -v "$1" >/dev/null 2>&1; then printf '%sprogram\\n%send\\n' "$_m" "$_m"; exit 127; fi
${MINE}${ALIVE}${REMOVE}
_no() {
  if mine "$_j"; then remove "$_j" 2>/dev/null; fi
  printf '%sroom %s\\n%send\\n' "$_m" "\${1%%
*}" "$_m"
  exit 125
}
_r=$( { LC_ALL=C; export LC_ALL; umask 077
  mkdir "$_j" && { mine "$_j" || ! echo 'it belongs to another account'; } && mkfifo "$_j/alive" && printf '%-40s\\n' - >"$_j/exit" &&
  printf '%-120s\\n' '' >"$_j/pid" && printf '%-4000s\\n' '' >"$_j/note" &&
  : >"$_j/out" && : >"$_j/err"; } 2>&1) || _no "$_r"
if [ -z "$BASH_VERSION" ] && command -v setsid >/dev/null 2>&1; then _s=yes; else _s=; fi
{
  trap : HUP INT QUIT TERM
  exec </dev/null 2<>"$_j/note" 9<>"$_j/alive"
  if [ -n "$BASH_VERSION" ]; then
    set -m
    trap : CHLD
    # Bash shows the command with what it says of it: this one is a line, whatever it is given.
    _run() { exec /bin/sh -c ${quote(RUN)} presence "$_j" "$@"; }
    _run "$@" &
    LC_ALL=C
    while :; do
      jobs >&2
      wait "$!"
      if ! kill -0 "$!" 2>/dev/null; then break; fi
      sleep 1
    done
    jobs >&2
    wait "$!"
    s=$?
    # What \`jobs\` has told of, bash in POSIX mode may forget: of a job that ended at once its word is all there is.
    if [ "$s" -eq 127 ]; then
      while IFS= read -r l; do
        case $l in *'Done('*) l=\${l#*'Done('} s=\${l%%')'*} ;; *Done*) s=0 ;; esac
      done <"$_j/note"
    fi
  elif [ -n "$_s" ]; then
    setsid /bin/sh -c ${quote(RUN)} presence "$_j" "$@"
    s=$?
  else
    /bin/sh -c ${quote(RUN)} presence "$_j" "$@"
    s=$?
  fi
  r="code $s"
  if [ "$s" -gt 128 ]; then
    while IFS= read -r l; do
      case $l in *Running*|*Stopped*|*Done*|*Exit*|*' wait: '*) ;; *[!' ']*) r="signal $(kill -l "$((s-128))")" ;; esac
    done <"$_j/note"
  fi
  printf '%-40s\\n' "$r" 1<>"$_j/exit"
} | {
  L= S=
  IFS=' ' read -r L S
  if [ -z "$S" ]; then
    IFS=' ' read -r _r <"$_j/note"
    _no "$_r"
  fi
  G=$L
  if [ -z "$_s$BASH_VERSION" ]; then G=$$; fi
  who "$S"
  printf '%-120s\\n' "$L $G $S $w" 1<>"$_j/pid"
  printf '%sok %s\\n%send\\n' "$_m" "$G" "$_m"
  (
    exec </dev/null >/dev/null 2>&1
    for d in "\${_j%/*}"/${JOB_PREFIX}*; do
      if [ "$d" = "$_j" ] || ! mine "$d"; then continue; fi
      if [ -n "$(find "$d/exit" -prune -mtime +${FORGOTTEN_DAYS})" ] && ! alive "$d"; then remove "$d"; fi
    done
  ) &
  kill -s KILL "$$"
}
exit 125
`

/**
 * Tell how a job is. $1 marker, $2 its folder. Prints `<marker>gone`, or `<marker>key=value` for `alive` (yes or
 * no), `group`, `exit`, `out` and `err` (bytes printed until then); at last `<marker>end`. Without a supervisor
 * the exit is final.
 */
export const JOB_STATUS = `
m=$1
${MINE}${ALIVE}
if mine "$2" && cd "$2" 2>/dev/null && [ -p alive ]; then
  if alive .; then a=yes; else a=no; fi
  e=
  IFS= read -r e <exit
  printf '%salive=%s\\n%sgroup=%s\\n%sexit=%s\\n' "$m" "$a" "$m" "$G" "$m" "$e"
  printf '%sout=%s\\n%serr=%s\\n' "$m" "$(wc -c <out)" "$m" "$(wc -c <err)"
else printf '%sgone\\n' "$m"
fi
printf '%send\\n' "$m"
`

/**
 * Print what a job prints. $1 marker, $2 its folder, $3 and $4 the first byte of `out` and of `err` that is
 * wanted, counted from 1, $5 `rest` when the supervisor is known to have ended. Both streams begin with the marker;
 * its line is `gone` when there is no such job.
 *
 * Ends when the supervisor has ended, perhaps before all was printed; and without a word when its standard input
 * ends. Of a job that has ended before, or with `rest`, all is printed.
 */
export const FOLLOW_JOB = `
m=$1 o=$3 e=$4
${MINE}
if ! mine "$2" || ! cd "$2" 2>/dev/null || ! [ -p alive ]; then printf '%sgone\\n' "$m"; exit 1; fi
printf '%sok\\n' "$m"
printf '%s\\n' "$m" >&2
l=
IFS= read -r l <exit
case $5$l in -*) ;; *)
  tail -c "+$o" out 2>/dev/null
  tail -c "+$e" err >&2 2>/dev/null
  exit 0
esac
exec 8<>alive
exec 7<alive 8>&-
exec 3<&0
tail -c "+$o" -f out </dev/null 2>/dev/null 3<&- 7<&- &
a=$!
tail -c "+$e" -f err </dev/null >&2 2>/dev/null 3<&- 7<&- &
b=$!
exec </dev/null >/dev/null 2>&1
(
  exec 7<&-
  IFS= read -r l <&3
  kill -s KILL "$a" "$b" "$$"
) &
c=$!
exec 3<&-
IFS= read -r l <&7
kill "$a" "$b" "$c"
exit 0
`

/**
 * End a job: TERM to its group, KILL after the grace. $1 its folder, $2 grace in tenths of a second. Returns when
 * nothing of it is left. Does nothing when its supervisor has ended: nothing is known to be its own any more.
 */
export const END_JOB = `
g=$2
${MINE}${ALIVE}
mine "$1" && cd "$1" && alive . || exit 0
p=$G
${GROUP}
rest() { if sleep 0.1 2>/dev/null; then n=$((n+1)); else sleep 1; n=$((n+10)); fi; }
group TERM
n=0
while [ "$n" -lt "$g" ] && group 0; do rest; done
group KILL
n=0
while [ "$n" -lt 50 ] && alive .; do rest; done
l=
IFS= read -r l <exit
case $l in -*) if ! alive .; then printf '%-40s\\n' 'signal KILL' 1<>exit; fi ;; esac
`

/**
 * Remove a job's folder, unless the job runs. $1 marker, $2 the folder. Prints `<marker>end` when it is away, else
 * what hinders.
 */
export const REMOVE_JOB = `
m=$1
${MINE}${ALIVE}${REMOVE}
if ! mine "$2"; then printf '%send\\n' "$m"
elif alive "$2"; then echo 'it runs'
elif r=$(remove "$2" 2>&1); then printf '%send\\n' "$m"
else printf '%s\\n' "$r"
fi
`
