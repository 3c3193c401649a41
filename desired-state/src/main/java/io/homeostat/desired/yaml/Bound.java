package io.homeostat.desired.yaml;

import io.homeostat.desired.yaml.Node.Entry;
import io.homeostat.desired.yaml.Node.Mapping;
import org.jspecify.annotations.Nullable;

/** A mapping whose fields have been read one by one, for the rules that take several of them. */
final class Bound {
    private final Shape shape;
    private final Mapping mapping;
    private final Node at;
    private final String path;
    private final @Nullable Object[] values;
    private final boolean[] given;
    private final Report report;

    /**
     * @param at what a missing field is reported at
     * @param path to the mapping, empty for the document itself
     * @param values in the order of the shape's fields; null for what is wrong or left out without a default
     * @param given in the same order, whether the key is there, if only mistyped
     */
    Bound(
            Shape shape,
            Mapping mapping,
            Node at,
            String path,
            @Nullable Object[] values,
            boolean[] given,
            Report report) {
        this.shape = shape;
        this.mapping = mapping;
        this.at = at;
        this.path = path;
        this.values = values;
        this.given = given;
        this.report = report;
    }

    @Nullable
    Object value(String key) {
        return values[shape.indexOf(key)];
    }

    /** The value as it is written; null when the key was left out. */
    @Nullable
    Node written(String key) {
        Entry entry = entry(key);
        return entry == null ? null : entry.value();
    }

    boolean has(String key) {
        return given[shape.indexOf(key)];
    }

    /** Says what is wrong with the record as a whole. */
    void error(String message) {
        report.error(at, path, message);
    }

    /** Says what is wrong with the value of a key that is there. */
    void errorAtValue(String key, String message) {
        Node value = written(key);
        report.error(value == null ? at : value, Binder.join(path, key), message);
    }

    /** Says what is wrong with a key being there. */
    void errorAtKey(String key, String message) {
        Entry entry = entry(key);
        report.error(entry == null ? at : entry.key(), Binder.join(path, key), message);
    }

    void warningAtValue(String key, String message) {
        Node value = written(key);
        report.warning(value == null ? at : value, Binder.join(path, key), message);
    }

    private @Nullable Entry entry(String key) {
        for (Entry entry : mapping.entries()) {
            if (entry.key().text().equals(key)) {
                return entry;
            }
        }
        return null;
    }
}
