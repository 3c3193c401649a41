# Becomes the program, as the user it runs as. $1 its log, $2 what of its output goes there: all, errors (the rest stays where ours
# goes) or nothing; $3 its umask, $4 the directory that it begins in; the rest is the program and its arguments.

# Opened by that user: in a directory of theirs, root could be led to any file.
umask 077
case $2 in
  all) exec >> "$1" 2>&1 ;;
  errors) exec 2>> "$1" ;;
esac
umask "$3"
cd "$4" || exit 126
shift 4

# What shells export of themselves.
unset PWD OLDPWD SHLVL HOMEOSTAT_PROGRAM_SCRIPT

# The program's own environment comes as NAME=VALUE in variables with numbers, and becomes real only now: before, it could
# change what the commands on the way here do. There is nothing else in this environment.
homeostat_number=0
while
  eval "homeostat_pair=\${HOMEOSTAT_ENV_$homeostat_number-}"
  [ -n "$homeostat_pair" ]
do
  export "$homeostat_pair"
  unset "HOMEOSTAT_ENV_$homeostat_number"
  homeostat_number=$((homeostat_number + 1))
done
unset homeostat_number homeostat_pair
exec "$@"
