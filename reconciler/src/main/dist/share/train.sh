#!/bin/sh
# Prepares the class cache of the installation that this script is in: sh share/train.sh. Costs a second or two, saves half a second
# at every start; without it the program runs all the same.
set -eu

hs_home=$(cd "$(dirname "$0")/.." && pwd -P)
hs_cache=$hs_home/homeostat.aot
rm -f "$hs_cache.new"
trap 'rm -f "$hs_cache.new"' EXIT
# The JVM that makes it says how it was called, which is news to nobody when all went well.
if ! hs_said=$(HOMEOSTAT_TRAIN_CACHE=$hs_cache.new "$hs_home/bin/homeostat" self-train 2>&1 </dev/null) || [ ! -s "$hs_cache.new" ]; then
  echo "train.sh: the class cache could not be made; the program starts more slowly without it: $hs_said" >&2
  exit 1
fi
mv -f "$hs_cache.new" "$hs_cache"
