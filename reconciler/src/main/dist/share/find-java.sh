# Sourced. Sets hs_java to the home of a Java 25 or newer, or says what is missing and exits 1.
# Nothing is exported.
# Who sources it may have set
#   hs_tool  a program, such as javac, that has to be in its bin: what lacks it is passed over
#   hs_jdks  the directory for which fetch-jdk of a checkout fetches one
#
# The first that will do of: HOMEOSTAT_JAVA_HOME, JAVA_HOME, hs_jdks, PATH, /usr/lib/jvm, then where tools put theirs; in each
# directory in the order of names. HOMEOSTAT_JAVA_HOME is never passed over for its version: whoever sets it means that one.

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

hs_will_do() {
  hs_is_java_25 "$1" || return 1
  if [ -z "${hs_tool:-}" ] || [ -x "$1/bin/$hs_tool" ]; then return 0; fi
  hs_lacking=$1
  return 1
}

hs_find_java() {
  hs_lacking=
  for hs_java in ${HOMEOSTAT_JAVA_HOME:+"$HOMEOSTAT_JAVA_HOME"} ${JAVA_HOME:+"$JAVA_HOME"} ${hs_jdks:+"$hs_jdks"/*}; do
    if hs_will_do "$hs_java"; then return; fi
    if [ "$hs_java" = "${HOMEOSTAT_JAVA_HOME:-}" ] && [ "$hs_lacking" != "$hs_java" ]; then
      echo "homeostat: HOMEOSTAT_JAVA_HOME=$hs_java is not a Java 25 or newer (no bin/java, or another version in its file release)" >&2
      exit 1
    fi
  done
  # All of it: a newer one may come after an older one. Of links, each of which takes a process to follow, the same one is often
  # in both /usr/bin and /bin.
  hs_path=${PATH:-}:
  hs_link=
  while [ -n "$hs_path" ]; do
    hs_java=${hs_path%%:*}/${hs_tool:-java}
    hs_path=${hs_path#*:}
    if [ ! -x "$hs_java" ] || [ "$hs_java" -ef "$hs_link" ]; then continue; fi
    if [ -L "$hs_java" ]; then
      hs_link=$hs_java
      hs_java=$(readlink -f "$hs_java") || continue
    fi
    hs_java=${hs_java%/*}
    hs_java=${hs_java%/bin}
    if hs_will_do "$hs_java"; then return; fi
  done
  for hs_java in /usr/lib/jvm/*; do
    if hs_will_do "$hs_java"; then return; fi
  done
  if [ -n "${HOME:-}" ]; then
    for hs_java in "$HOME/.sdkman/candidates/java/current" "$HOME"/.sdkman/candidates/java/* "$HOME"/.jdks/* \
      "$HOME"/.m2/jdks/* "$HOME"/.gradle/jdks/* "$HOME"/.jenv/versions/* "$HOME"/.jbang/cache/jdks/* \
      "$HOME"/.asdf/installs/java/* "$HOME"/.local/share/mise/installs/java/* "$HOME"/.jabba/jdk/*; do
      if hs_will_do "$hs_java"; then return; fi
    done
  fi
  for hs_java in /usr/java/* /usr/jdk/* /opt/java/*; do
    if hs_will_do "$hs_java"; then return; fi
  done
  # JAVA25_HOME, JAVA_HOME_25_X64 and the like.
  while IFS= read -r hs_java; do
    if hs_will_do "$hs_java"; then return; fi
  done <<HOMES
$(env | sed -n 's/^JAVA[A-Z0-9_]*HOME[A-Z0-9_]*=//p')
HOMES
  hs_need="Java 25 or newer"
  if [ -n "${hs_tool:-}" ]; then hs_need="a JDK 25 or newer (a Java with bin/$hs_tool)"; fi
  {
    echo "homeostat: needs $hs_need; there is none in JAVA_HOME, PATH, /usr/lib/jvm, ~/.sdkman, ~/.jdks or another usual place."
    if [ -n "$hs_lacking" ]; then echo "$hs_lacking would do but for bin/$hs_tool, which it lacks."; fi
    cat <<'MESSAGE'
Install one:
  Debian, Ubuntu:  sudo apt-get install openjdk-25-jdk    or, where the release does not have it,
                   sudo apt-get install temurin-25-jdk    from Adoptium, see https://adoptium.net/installation/linux
  Fedora, RHEL:    sudo dnf install java-25-openjdk-devel
MESSAGE
    if [ -n "${hs_jdks:-}" ] && [ -x "${hs_jdks%/*}/fetch-jdk" ]; then
      echo "or have one fetched just for this directory:  ${hs_jdks%/*}/fetch-jdk"
    fi
    echo "or set HOMEOSTAT_JAVA_HOME to where it is."
  } >&2
  exit 1
}

hs_find_java
