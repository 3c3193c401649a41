package io.homeostat.sample;

import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The command line: what the agent appends (protocol, address, errorlogfile) and the faults to show. Arguments that are
 * not known are let pass, as a plugin must.
 *
 * @param protocol unix or tcp
 * @param address a socket path, or host:port
 * @param errorLogFile where a plugin leaves its last words; null when none was given
 * @param faults the faults by name, with what follows their equals sign, or an empty string
 */
record Options(String protocol, String address, @Nullable String errorLogFile, Map<String, String> faults) {

    /** Throws IllegalArgumentException when there is nowhere to listen. */
    static Options parse(String... arguments) {
        Map<String, String> values = new HashMap<>();
        Map<String, String> faults = new HashMap<>();
        for (String argument : arguments) {
            String[] parts = argument.split("=", 3);
            if (parts[0].equals("--fault") && parts.length > 1) {
                faults.put(parts[1], parts.length > 2 ? parts[2] : "");
            } else if (parts.length > 1) {
                values.put(parts[0], argument.substring(parts[0].length() + 1));
            }
        }
        String protocol = values.getOrDefault("--protocol", "");
        String address = values.getOrDefault("--address", "");
        if ((!protocol.equals("unix") && !protocol.equals("tcp")) || address.isEmpty()) {
            throw new IllegalArgumentException(
                    "needs --protocol=unix --address=PATH or --protocol=tcp --address=HOST:PORT");
        }
        return new Options(protocol, address, values.get("--errorlogfile"), Map.copyOf(faults));
    }

    boolean has(String fault) {
        return faults.containsKey(fault);
    }

    /** The number given with a fault, or 0 without that fault. */
    int number(String fault) {
        return Integer.parseInt(faults.getOrDefault(fault, "0"));
    }
}
