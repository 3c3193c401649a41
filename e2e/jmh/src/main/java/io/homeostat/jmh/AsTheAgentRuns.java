package io.homeostat.jmh;

/** The options of the JVM that decide how fast the agent's code is. */
final class AsTheAgentRuns {
    static final String GC = "-XX:+UseSerialGC";
    static final String COMPILER = "-XX:TieredStopAtLevel=1";
    static final String HEAP = "-Xmx256m";
    static final String NATIVE = "--enable-native-access=ALL-UNNAMED";

    private AsTheAgentRuns() {}
}
