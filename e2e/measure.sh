# Sourced by bench and soak, which set hs_root. Builds the program and what measures it when a source is newer; hs_measure CLASS
# [ARGUMENT...] then runs that.

"$hs_root/homeostat" version >&2
hs_jdks=$hs_root/.jdk
hs_tool=javac
. "$hs_root/reconciler/src/main/dist/share/find-java.sh"

hs_path=$hs_root/e2e/target/measure.classpath
hs_jmh_path=$hs_root/e2e/jmh/target/measure.classpath

hs_stale() {
  [ -e "$hs_path" ] && [ -e "$hs_jmh_path" ] && [ -e "$hs_root/e2e/sample-driver/target/runner.tar.gz" ] || return 0
  [ "$hs_root/reconciler/target/homeostat.built" -nt "$hs_path" ] && return 0
  [ -n "$(find "$hs_root/e2e" -path '*/target' -prune -o -type f -name '*.java' -newer "$hs_path" -print)" ]
}

if hs_stale; then
  echo "building what measures ..." >&2
  hs_maven=$(command -v mvn) || hs_maven=$hs_root/mvnw
  (cd "$hs_root" && JAVA_HOME=$hs_java MAVEN_OPTS="${MAVEN_OPTS:-} --sun-misc-unsafe-memory-access=allow" "$hs_maven" -q -B \
    -pl e2e,e2e/jmh -am package -DskipTests dependency:build-classpath -Dmdep.outputFile=target/measure.classpath \
    -Dmdep.includeScope=test) </dev/null >&2
  # With the archives of the samples. Maven leaves files alone that would not change.
  touch "$hs_path" "$hs_jmh_path"
  # The build has made the distribution anew: without its class cache every start would be measured slower than it is.
  "$hs_root/homeostat" version >&2
fi

hs_measure() {
  exec "$hs_java/bin/java" -XX:+UseSerialGC -Xmx512m --sun-misc-unsafe-memory-access=allow \
    --enable-native-access=ALL-UNNAMED -Dslf4j.internal.verbosity=ERROR -Djava.io.tmpdir="${TMPDIR:-/tmp}" \
    -Dhomeostat.root="$hs_root" \
    -Dhomeostat.dist="$hs_root/reconciler/target/homeostat" \
    -Dhomeostat.greeter="$hs_root/e2e/sample-plugin/target/greeter.tar.gz" \
    -Dhomeostat.runner="$hs_root/e2e/sample-driver/target/runner.tar.gz" \
    -Dhomeostat.jmh.classes="$hs_root/e2e/jmh/target/classes" \
    -Dhomeostat.jmh.path="$(cat "$hs_jmh_path")" \
    -cp "$hs_root/e2e/target/test-classes:$(cat "$hs_path")" "$@"
}
