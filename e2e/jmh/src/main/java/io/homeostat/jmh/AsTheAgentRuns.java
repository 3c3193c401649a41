package io.homeostat.jmh;

/** The options of the JVM that decide how fast the agent's code is. */
public final class AsTheAgentRuns {
    public static final String GC = "-XX:+UseSerialGC";
    public static final String COMPILER = "-XX:TieredStopAtLevel=1";
    public static final String HEAP = "-Xmx256m";
    public static final String NATIVE = "--enable-native-access=ALL-UNNAMED";

    private AsTheAgentRuns() {}
}
