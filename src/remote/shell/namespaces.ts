/**
 * The script that confines a command by user namespaces where a machine has no bubblewrap: util-linux's or
 * busybox's `unshare` and `mount`, which most Linux machines have. What may be changed is `../confine.ts`.
 */

/**
 * Tell whether and how CONFINE can be used, by what it stands on; it looks at the rest itself. $1 path of
 * `unshare`; to be started as CONFINE is. Prints `own` or `root`, or nothing where the machine allows too little.
 */
export const TRY_TO_CONFINE = `
read -r _ u _ </proc/self/uid_map
read -r _ g _ </proc/self/gid_map
mount -t proc proc /proc && mount -t tmpfs tmpfs /tmp && mount -t devpts -o newinstance devpts /tmp &&
mount -o remount,bind,ro,nosuid,nodev none / || exit
r=
while read -r _ _ _ _ p f _; do case "$p $f" in "/ ro"*) r=yes ;; esac; done </proc/self/mountinfo
[ -n "$r" ] || exit
for h in "--map-user=$u --map-group=$g" -r; do
  if [ "$("$1" -U $h -- /bin/sh -c 'echo ok')" = ok ]; then
    case $h in -r) echo root ;; *) echo own ;; esac
    exit
  fi
done
`

/**
 * Closes what start files of the login shell left open: a file that is open is outside of every fence. Higher
 * descriptors have no spelling that all shells know.
 */
export const CLOSE = 'exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-'

/** What the script says, on a line of standard error, when it runs no command. */
export const NOT_CONFINED = 'presence: cannot confine:'

/**
 * Run a command under a policy. To be started by `unshare -U -r -m -p -f`, as the first process of its own
 * process namespace and with all rights in its own user namespace, which is where they end.
 * $1 `read-only` or `workspace-write`, $2 the writable folder, empty for none; $3 `own` when the command shall
 * run as the account, `root` where this `unshare` can only show it as root (it has the account's rights all the
 * same); $4 path of `unshare`; then the program and its arguments.
 *
 * The command runs in a second user namespace inside of the one that owns the mounts: there it has no right to
 * change any of them, whatever namespaces it makes. The kernel locks flags of mounts that came with the
 * namespace, so `nosuid`, `nodev` and `noexec` may only be added; how times are kept stays by itself.
 *
 * Order matters. The writable folder may be below /tmp, which is hidden by a private one: it is kept at /dev
 * meanwhile. /dev itself is built in a second /tmp over that, without the devices of the machine. Then
 * everything but these is bound read-only, each path once: of mounts on one path only the last can be seen.
 * A mount that fails is passed over when nobody can reach it: its path cannot be looked up by this account, or
 * another mount lies over a folder above.
 * What root has in /proc (`sys` above all) follows the user id, not its rights.
 *
 * `mount` is slow to start, so much is asked of one in the form of /etc/fstab, and looked at afterwards: some
 * pass over `/`, and busybox's over all that is mounted already.
 */
export const CONFINE = unindented(`
${CLOSE}
r=$1 w=$2 h=$3 x=$4 l='
'
shift 4
cd -P . && d=$PWD o=$PATH
PATH=/usr/bin:/bin:/usr/sbin:/sbin:$PATH
no() { printf '${NOT_CONFINED} %s\\n' "$*" >&2; exit 126; }
m() { mount "$@" || no mount "$@"; }
b() { m -o rbind "$1" "$2"; }
all() { printf '%s' "$2" >"$1/fstab"; mount -a -T "$1/fstab" >/dev/null 2>&1; rm "$1/fstab"; }
left() {
  a= q= z=$l s=$l
  while IFS=' ' read -r _ _ _ _ p f _; do a="$p $f$l$a"; done </proc/self/mountinfo
  for e in $a; do
    p=\${e%% *} f=,\${e#* },
    case $s in *"$l$p$l"*) continue ;; esac
    c=\${p%/*}
    while [ -n "$c" ]; do
      case $s in *"$l$c$l"*) z=$z$p$l ;; esac
      c=\${c%/*}
    done
    s=$s$p$l
    literal "$p"
    case $n in /proc|/proc/*|/dev|/dev/*) continue ;; esac
    if [ -n "$t" ]; then case $n in /tmp|/tmp/*) continue ;; esac; fi
    if [ -n "$w" ]; then case $n in "$w"|"\${w%/}"/*) continue ;; esac; fi
    case $f in *,ro,*) continue ;; *,noexec,*) f=,noexec ;; *) f= ;; esac
    q="\${q}none $p none remount,bind,ro,nosuid,nodev$f 0 0$l"
  done
  case $s in *"$l/$l"*) ;; *) no 'its mounts are not known' ;; esac
}
literal() {
  n=$1
  case $n in *\\\\*) n=$(printf "$(printf %s "$n" | sed s/%/%%/g).") n=\${n%.} ;; esac
}
read -r _ u _ </proc/self/uid_map
read -r _ g _ </proc/self/gid_map
[ "$$" = 1 ] && [ -n "$g" ] || no 'no namespaces of its own'
m -t proc -o nosuid,nodev,noexec proc /proc
t=
if [ "$r" = workspace-write ]; then
  t=/tmp
  case $w in
    /tmp|/tmp/*) b "$w" /dev; m -t tmpfs -o mode=1777,nosuid,nodev tmpfs /tmp
      mkdir -p "$w" && b /dev "$w" && umount -l /dev || no "$w" ;;
    *) m -t tmpfs -o mode=1777,nosuid,nodev tmpfs /tmp; case $w in ''|/) ;; *) b "$w" "$w" ;; esac ;;
  esac
else w=
fi
m -t tmpfs -o mode=755,nosuid tmpfs /tmp
mkdir /tmp/pts /tmp/shm
q="devpts /tmp/pts devpts newinstance,ptmxmode=0666,mode=620,nosuid,noexec 0 0$l"
for n in null zero full random urandom tty; do : >"/tmp/$n"; q="$q/dev/$n /tmp/$n none bind 0 0$l"; done
all /tmp "$q"
for n in null zero full random urandom tty; do [ -c "/tmp/$n" ] || no "/dev/$n"; done
[ -c /tmp/pts/ptmx ] || no /dev/pts
ln -s pts/ptmx /proc/self/fd /tmp/
for n in in/0 out/1 err/2; do ln -s "fd/\${n#*/}" "/tmp/std\${n%/*}"; done
b /tmp /dev
umount -l /tmp || no umount /tmp
set -f
IFS=$l
left
all /dev/shm "$q"
left
k=$l
for p in $q; do
  p=\${p#none } f=\${p##* none } p=\${p%% none *} f=\${f%% *}
  literal "$p"
  e=$(mount -o "$f" none "$n" 2>&1) && continue
  case $z in *"$l$p$l"*) ;; *) if [ -e "$n" ]; then no "$e"; fi ;; esac
  k=$k$p$l
done
left
for p in $q; do
  p=\${p#none } p=\${p%% none *}
  case $k in *"$l$p$l"*) ;; *) no "$p can be written to" ;; esac
done
unset IFS
set +f
if [ "$u" = 0 ]; then
  for n in sys sysrq-trigger irq bus; do
    if [ -e "/proc/$n" ]; then b "/proc/$n" "/proc/$n"; m -o remount,bind,ro,nosuid,nodev,noexec none "/proc/$n"; fi
  done
fi
cd "$d" 2>/dev/null || no "its folder $d cannot be seen in there"
PATH=$o
exec 3>&2 2>/dev/null
if [ "$h" = own ]; then "$x" -U "--map-user=$u" "--map-group=$g" -- "$@" 2>&3 3>&-
else "$x" -U -r -- "$@" 2>&3 3>&-
fi
exit "$?"
`)

/** Every byte counts: a terminal's command line has an end. No quoted text in there goes over several lines. */
function unindented(script: string): string {
  return script.replaceAll(/^ +/gm, '')
}
