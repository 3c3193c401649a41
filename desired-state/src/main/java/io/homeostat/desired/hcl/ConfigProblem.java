package io.homeostat.desired.hcl;

import java.util.List;

/**
 * What is wrong with a driver configuration.
 *
 * @param path from the configuration to what is wrong: a {@link String} for a key, an {@link Integer} for an index from 0. Of a key
 *     that is missing, the place where it should be, without the key
 * @param message what is wrong and what would be right; names the key, and has no word of a value, which may be secret
 */
public record ConfigProblem(List<Object> path, String message) {
    public ConfigProblem {
        path = List.copyOf(path);
    }

    /** {@code args[0].name}; empty for the configuration as a whole. */
    public String place() {
        StringBuilder place = new StringBuilder();
        for (Object step : path) {
            place.append(step instanceof Integer ? "[" + step + "]" : (place.isEmpty() ? "" : ".") + step);
        }
        return place.toString();
    }
}
