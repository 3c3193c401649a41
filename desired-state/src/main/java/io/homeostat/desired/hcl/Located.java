package io.homeostat.desired.hcl;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A piece of a configuration.
 *
 * @param config as the reader of YAML or JSON gave it
 * @param path from the root to here
 */
record Located(@Nullable Object config, List<Object> path) {
    Located below(Object step, @Nullable Object config) {
        return new Located(config, extended(path, step));
    }

    static List<Object> extended(List<Object> path, Object step) {
        List<Object> longer = new ArrayList<>(path);
        longer.add(step);
        return longer;
    }
}
