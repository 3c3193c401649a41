package io.homeostat.sample.driver;

import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * What is to go wrong, as README.md lists it.
 *
 * @param values by name, with what follows the equals sign, or an empty string
 */
record Faults(Map<String, String> values) {
    static final Faults NONE = new Faults(Map.of());
    private static final String ARGUMENT = "--fault=";

    Faults {
        values = Map.copyOf(values);
    }

    /** Those of the command line. Arguments that are not known are let pass, as a plugin must. */
    static Faults ofArguments(String... arguments) {
        return of(List.of(arguments).stream()
                .filter(argument -> argument.startsWith(ARGUMENT))
                .map(argument -> argument.substring(ARGUMENT.length()))
                .toList());
    }

    /** Each as NAME or NAME=N. */
    static Faults of(List<String> faults) {
        Map<String, String> values = new HashMap<>();
        for (String fault : faults) {
            int equals = fault.indexOf('=');
            values.put(equals < 0 ? fault : fault.substring(0, equals), equals < 0 ? "" : fault.substring(equals + 1));
        }
        return new Faults(values);
    }

    /** These and those; of a fault that is in both, theirs. */
    Faults and(Faults others) {
        Map<String, String> all = new HashMap<>(values);
        all.putAll(others.values);
        return new Faults(all);
    }

    boolean has(String fault) {
        return values.containsKey(fault);
    }

    /** The number given with a fault, or another one without that fault or its number. Throws NumberFormatException. */
    int number(String fault, int otherwise) {
        String value = values.getOrDefault(fault, "");
        return value.isEmpty() ? otherwise : Integer.parseInt(value);
    }
}
