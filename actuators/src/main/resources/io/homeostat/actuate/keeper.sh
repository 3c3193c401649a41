# Keeps one launch: starts the program, waits for it, writes down how it ended.
# $1 the launch's directory, $2 the command mv; the rest is what to execute.
# Nothing in this text comes from outside: whatever varies is a positional parameter.

# What is written here is for nobody else; the program gets the umask that was.
homeostat_mask=$(umask)
umask 077

# Whoever creates the claim may run the launch; a second keeper of the same launch ends here.
set -C
true > "$1/claim" || exit 75
set +C

# Handlers, not '': what is ignored would be ignored by the program too, handlers end with exec. The shell runs them
# when its child has ended, and meanwhile goes on waiting.
trap : HUP INT QUIT TERM USR1 USR2 ALRM

# In the foreground: a background job of this shell would ignore SIGINT and SIGQUIT, and so would the program.
(
  {
    IFS= read -r homeostat_stat < /proc/self/stat &&
    IFS= read -r homeostat_boot < /proc/sys/kernel/random/boot_id &&
    printf '%s\n%s\n' "$homeostat_stat" "$homeostat_boot" > "$1/identity.tmp" &&
    "$2" -f "$1/identity.tmp" "$1/identity"
  } || exit 125
  umask "$homeostat_mask"
  unset homeostat_mask homeostat_stat homeostat_boot HOMEOSTAT_KEEPER
  shift 2
  exec "$@"
)
set -- "$1" "$2" "$?"

IFS= read -r homeostat_uptime < /proc/uptime
printf '%s %s\n' "$3" "$homeostat_uptime" > "$1/exit.tmp" &&
"$2" -f "$1/exit.tmp" "$1/exit"
