# Sourced. Sets hs_java to the home of a Java 25 or newer, or says what is missing and exits 1.
# Nothing is exported.

# Asks the release file: starting a JVM to learn its version costs more than starting the program.
hs_is_java_25() {
  [ -x "$1/bin/java" ] && [ -r "$1/release" ] || return 1
  while IFS='=' read -r hs_key hs_value; do
    [ "$hs_key" = JAVA_VERSION ] || continue
    hs_value=${hs_value#\"}
    hs_value=${hs_value%%[!0-9]*}
    [ "${hs_value:-0}" -ge 25 ]
    return
  done <"$1/release"
  return 1
}

hs_find_java() {
  hs_java=${HOMEOSTAT_JAVA_HOME:-}
  if [ -n "$hs_java" ]; then
    hs_is_java_25 "$hs_java" && return
    echo "homeostat: HOMEOSTAT_JAVA_HOME=$hs_java is not a Java 25 or newer (no bin/java, or another version in its file release)" >&2
    exit 1
  fi
  for hs_java in ${JAVA_HOME:+"$JAVA_HOME"} /usr/lib/jvm/*25*; do
    if hs_is_java_25 "$hs_java"; then return; fi
  done
  if hs_java=$(command -v java) && hs_java=$(readlink -f "$hs_java"); then
    hs_java=${hs_java%/bin/java}
    if hs_is_java_25 "$hs_java"; then return; fi
  fi
  cat >&2 <<'MESSAGE'
homeostat: needs Java 25 or newer; none in JAVA_HOME, /usr/lib/jvm or PATH. Install one:
  Debian, Ubuntu:  sudo apt-get install openjdk-25-jdk    or, where the release does not have it,
                   sudo apt-get install temurin-25-jdk    from Adoptium, see https://adoptium.net/installation/linux
  Fedora, RHEL:    sudo dnf install java-25-openjdk-devel
or set HOMEOSTAT_JAVA_HOME to where it is.
MESSAGE
  exit 1
}

hs_find_java
