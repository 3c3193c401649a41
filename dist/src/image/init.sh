#!/bin/sh
# The first process of a container: runs the agent, with the arguments given, and does what the first process has to do besides.
# - It collects whatever ends: a shell that waits does so for all that the kernel hands to it, which the agent would not.
# - SIGTERM ends the container as a machine is shut down: the agent first, then SIGTERM to all that is left. What takes
#   longer than whoever runs the container waits is killed by him.
# - An agent that crashes or is killed is started again, while workloads go on. One that cannot run ends the container.
set -u

hs_home=$(cd "$(dirname "$0")/.." && pwd -P)
# Under another init, or among the processes of a machine, none of this is for us to do.
if [ $$ != 1 ]; then exec "$hs_home/bin/homeostat" run "$@"; fi

hs_agent=
hs_ending=
trap 'hs_ending=1; if [ -n "$hs_agent" ]; then kill -s TERM "$hs_agent"; fi' TERM INT
trap 'if [ -n "$hs_agent" ]; then kill -s HUP "$hs_agent"; fi' HUP

while :; do
  "$hs_home/bin/homeostat" run "$@" &
  hs_agent=$!
  # Told while there was nobody to hand it to.
  if [ -n "$hs_ending" ]; then kill -s TERM "$hs_agent"; fi
  # A signal ends the waiting as well.
  while wait "$hs_agent"; hs_status=$?; kill -s 0 "$hs_agent" 2>/dev/null; do :; done
  hs_agent=
  if [ -n "$hs_ending" ] || [ "$hs_status" -le 1 ]; then break; fi
  echo "init.sh: the agent has ended with exit status $hs_status; it is started again" >&2
  sleep 1
done

# Reaches all but this shell.
kill -s TERM -- -1 2>/dev/null
hs_left=1
while [ -n "$hs_left" ]; do
  # Which also collects what has ended.
  sleep 0.1
  hs_left=
  for hs_process in /proc/[0-9]*; do
    if [ "$hs_process" != /proc/1 ]; then hs_left=1; fi
  done
done
exit "$hs_status"
