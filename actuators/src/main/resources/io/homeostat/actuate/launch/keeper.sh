# Keeps one launch: starts the program, waits for it, writes down how it ended.
# $1 the boot id; $2 whether the program must be in all of its control groups or may be outside, $3 how many there are, then
# their cgroup.procs; the rest is what to execute. HOMEOSTAT_KEEPER_DIRECTORY is the launch's directory, whose name is not for
# everybody: with the id in it, a process could pretend to be of the launch.
# Nothing in this text comes from outside: whatever varies is a positional parameter.
# It executes no command but the program's: each would cost as much as all of this. So nothing is renamed: what is written is
# short, at once and ends with a newline, without which nobody takes it for written.

# What is written here is for nobody else; program.sh sets the program's own.
umask 077

# A workload should neither keep a file system busy nor depend on a directory that an upgrade removes.
cd / && exec < /dev/null >> "$HOMEOSTAT_KEEPER_DIRECTORY/output" 2>&1 || exit 75

# Whoever creates the claim may run the launch; a second keeper of the same launch ends here.
set -C
true > "$HOMEOSTAT_KEEPER_DIRECTORY/claim" || exit 75
set +C

# Handlers, not '': what is ignored would be ignored by the program too, handlers end with exec. The shell runs them
# when its child has ended, and meanwhile goes on waiting.
trap : HUP INT QUIT TERM USR1 USR2 ALRM

# In the foreground: a background job of this shell would ignore SIGINT and SIGQUIT, and so would the program.
(
  homeostat_boot=$1 homeostat_must=$2 homeostat_groups=$3
  shift 3
  while [ "$homeostat_groups" -gt 0 ]
  do
    # 0 is whoever writes: this subshell, which becomes the program. As the user we are: the program's may not.
    printf 0 > "$1" || [ "$homeostat_must" = may ] || exit 125
    shift
    homeostat_groups=$((homeostat_groups - 1))
  done
  {
    IFS= read -r homeostat_stat < /proc/self/stat &&
    printf '%s\n%s\n' "$homeostat_stat" "$homeostat_boot" > "$HOMEOSTAT_KEEPER_DIRECTORY/identity"
  } || exit 125
  unset homeostat_stat homeostat_boot homeostat_must homeostat_groups
  unset HOMEOSTAT_KEEPER HOMEOSTAT_KEEPER_DIRECTORY HOMEOSTAT_KEEPER_SCRIPT
  exec "$@"
)
homeostat_status=$?

IFS= read -r homeostat_uptime < /proc/uptime
printf '%s %s\n' "$homeostat_status" "$homeostat_uptime" > "$HOMEOSTAT_KEEPER_DIRECTORY/exit"
