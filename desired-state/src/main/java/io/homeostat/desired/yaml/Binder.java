package io.homeostat.desired.yaml;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.model.Cpu;
import io.homeostat.desired.model.Notation;
import io.homeostat.desired.model.Redaction;
import io.homeostat.desired.model.Size;
import io.homeostat.desired.yaml.FieldType.Bytes;
import io.homeostat.desired.yaml.FieldType.Either;
import io.homeostat.desired.yaml.FieldType.Entries;
import io.homeostat.desired.yaml.FieldType.Flag;
import io.homeostat.desired.yaml.FieldType.Free;
import io.homeostat.desired.yaml.FieldType.Items;
import io.homeostat.desired.yaml.FieldType.Nested;
import io.homeostat.desired.yaml.FieldType.Share;
import io.homeostat.desired.yaml.FieldType.Text;
import io.homeostat.desired.yaml.FieldType.Time;
import io.homeostat.desired.yaml.FieldType.Url;
import io.homeostat.desired.yaml.FieldType.Whole;
import io.homeostat.desired.yaml.FieldType.Word;
import io.homeostat.desired.yaml.Node.Entry;
import io.homeostat.desired.yaml.Node.Mapping;
import io.homeostat.desired.yaml.Node.Scalar;
import io.homeostat.desired.yaml.Node.Sequence;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Makes records of nodes. What can't be is reported, each field by itself, and read as null; so null from any method here
 * means that an error was reported.
 */
final class Binder {
    private static final int LONGEST_SHOWN = 60;
    private static final String DURATIONS = "write a duration such as 500ms, 10s, 5m or 1h30m";
    private static final String SIZES = "write a size such as 64Mi or 1Gi, or a number of bytes";

    private final Report report;
    private final @Nullable Path base;
    /** The keys that lead to the node being read, innermost first. */
    private final Deque<String> path = new ArrayDeque<>();

    /** @param base the directory that paths start from; null: paths are refused */
    Binder(Report report, @Nullable Path base) {
        this.report = report;
        this.base = base;
    }

    /** Reads the value of {@code key} as a record. */
    @Nullable
    Object record(Shape shape, String key, Node node, Node at) {
        path.push(key);
        Object value = record(shape, node, at);
        path.pop();
        return value;
    }

    /** @param at what a missing key is reported at */
    @Nullable
    Object record(Shape shape, Node node, Node at) {
        if (!(node instanceof Mapping mapping)) {
            return mismatch(node, "a mapping", "such as {key: value}");
        }
        int errors = report.errors().size();
        @Nullable Object[] values = shape.defaults();
        boolean[] given = new boolean[values.length];
        for (Entry entry : mapping.entries()) {
            int index = shape.indexOf(entry.key().text());
            if (index < 0) {
                unknown(entry.key(), shape.fields().stream().map(Field::key).collect(ImmutableList.toImmutableList()));
                continue;
            }
            Field field = shape.fields().get(index);
            given[index] = true;
            path.push(field.key());
            values[index] = value(field, entry.value(), entry.key());
            path.pop();
        }
        for (int i = 0; i < values.length; i++) {
            if (!given[i] && !shape.fields().get(i).optional()) {
                missing(shape.fields().get(i).key(), at);
            }
        }
        if (!shape.constraints().isEmpty()) {
            Bound bound = new Bound(shape, mapping, at, path(), values, report);
            shape.constraints().forEach(constraint -> constraint.check(bound));
        }
        return report.errors().size() == errors ? shape.construct(values) : null;
    }

    void missing(String key, Node at) {
        error(at, "required key '" + key + "' is missing");
    }

    void unknown(Scalar key, ImmutableList<String> known) {
        String name = key.text();
        error(
                key,
                "unknown key '" + shown(name) + "'; "
                        + Suggestion.of(name, known)
                                .map(close -> "did you mean '" + close + "'?")
                                .orElse("known here: " + String.join(", ", known)));
    }

    @Nullable
    Object value(Field field, Node node) {
        return value(field, node, node);
    }

    private @Nullable Object value(Field field, Node node, Node at) {
        return value(field.type(), field.secret(), node, at);
    }

    private @Nullable Object value(FieldType type, boolean secret, Node node, Node at) {
        return switch (type) {
            case Text text -> text(text, secret, node);
            case Url url -> url(node);
            case Whole whole -> whole(whole, node);
            case Flag flag -> flag(node);
            case Word word -> word(word, node);
            case Time time -> time(time, node);
            case Bytes bytes -> bytes(bytes, node);
            case Share share -> share(node);
            case Items items -> items(items, secret, node);
            case Entries entries -> entries(entries, secret, node);
            case Free free ->
                node instanceof Mapping mapping
                        ? new FreeForm(report, path()).object(mapping)
                        : mismatch(node, "a mapping", "such as {key: value}");
            case Nested nested -> record(nested.shape(), node, at);
            case Either either ->
                node instanceof Mapping ? record(either.object().shape(), node, at) : word(either.word(), node);
        };
    }

    private @Nullable Object text(Text type, boolean secret, Node node) {
        if (!(node instanceof Scalar scalar)) {
            return mismatch(node, "text", "in quotes if need be");
        }
        String text = scalar.text();
        switch (scalar.meaning()) {
            case TEXT -> {}
            case NULL -> {
                return mismatch(node, "text", "in quotes if need be");
            }
            default -> {
                return error(node, scalar.described() + " where text is wanted; put it in quotes");
            }
        }
        if (text.indexOf('\0') >= 0) {
            return error(node, "has a NUL character, which nothing can be handed; remove it");
        }
        if (type.form() != null && !type.form().admits(text)) {
            String value = secret ? "this" : "'" + shown(text) + "'";
            return error(
                    node, value + " is not possible here; write " + type.form().words());
        }
        if (text.codePointCount(0, text.length()) < type.minLength()) {
            return error(node, "is empty; write some text");
        }
        return text;
    }

    private @Nullable Object url(Node node) {
        if (!(text(new Text(null, 0), true, node) instanceof String text)) {
            return null;
        }
        Locations.Resolved resolved = Locations.resolve(text, base);
        return resolved.error() == null ? resolved.url() : error(node, resolved.error());
    }

    private @Nullable Object whole(Whole type, Node node) {
        if (!(node instanceof Scalar scalar) || scalar.meaning() != Plain.INTEGER) {
            return wrong(
                    node, "a whole number", "write one from " + type.min() + " to " + type.max() + ", without quotes");
        }
        Long number = number(scalar);
        if (number == null || number < type.min() || number > type.max()) {
            return error(
                    node,
                    shown(scalar.text()) + " is out of range; write a number from " + type.min() + " to " + type.max());
        }
        return type.max() <= Integer.MAX_VALUE ? (Object) number.intValue() : number;
    }

    private @Nullable Object flag(Node node) {
        if (node instanceof Scalar scalar) {
            switch (scalar.meaning()) {
                case TRUE -> {
                    return true;
                }
                case FALSE -> {
                    return false;
                }
                default -> {}
            }
        }
        return wrong(node, "true or false", "write true or false without quotes");
    }

    private @Nullable Object word(Word type, Node node) {
        String choice = "write " + String.join(" or ", type.words().keySet());
        if (!(node instanceof Scalar scalar) || scalar.meaning() == Plain.NULL) {
            return wrong(node, "a word", choice);
        }
        Enum<?> constant = scalar.meaning() == Plain.TEXT ? type.words().get(scalar.text()) : null;
        return constant == null
                ? error(node, "'" + shown(scalar.text()) + "' is not possible here; " + choice)
                : constant;
    }

    private @Nullable Object time(Time type, Node node) {
        if (!(node instanceof Scalar scalar) || scalar.meaning() == Plain.NULL) {
            return wrong(node, "a duration", DURATIONS);
        }
        if (scalar.meaning() == Plain.INTEGER) {
            return error(node, shown(scalar.text()) + " has no unit; " + DURATIONS);
        }
        Optional<Duration> duration =
                scalar.meaning() == Plain.TEXT ? Notation.duration(scalar.text()) : Optional.empty();
        if (duration.isEmpty()) {
            return error(node, "'" + shown(scalar.text()) + "' is not a duration; " + DURATIONS);
        }
        if (duration.get().toMillis() < type.min()) {
            return error(
                    node,
                    shown(scalar.text()) + " is too short; write at least "
                            + Notation.text(Duration.ofMillis(type.min())));
        }
        if (duration.get().toMillis() > type.max()) {
            return error(
                    node,
                    shown(scalar.text()) + " is too long; write at most "
                            + Notation.text(Duration.ofMillis(type.max())));
        }
        return duration.get();
    }

    private @Nullable Object bytes(Bytes type, Node node) {
        if (!(node instanceof Scalar scalar) || scalar.meaning() == Plain.NULL) {
            return wrong(node, "a size", SIZES);
        }
        Optional<Size> size = switch (scalar.meaning()) {
            case INTEGER, TEXT -> Notation.size(scalar.text());
            default -> Optional.empty();
        };
        if (size.isEmpty()) {
            return error(node, "'" + shown(scalar.text()) + "' is not a size; " + SIZES);
        }
        if (size.get().bytes() < type.min() || size.get().bytes() > type.max()) {
            return error(
                    node,
                    shown(scalar.text()) + " is out of range; write at least " + Notation.text(new Size(type.min()))
                            + (type.max() == Long.MAX_VALUE
                                    ? ""
                                    : " and at most " + Notation.text(new Size(type.max()))));
        }
        return size.get();
    }

    private @Nullable Object share(Node node) {
        String advice = "write a percentage of one core such as 20%, above 100% for several cores";
        if (!(node instanceof Scalar scalar) || scalar.meaning() == Plain.NULL) {
            return wrong(node, "a share of a core", advice);
        }
        Optional<Cpu> cpu = scalar.meaning() == Plain.TEXT ? Notation.cpu(scalar.text()) : Optional.empty();
        return cpu.isEmpty()
                ? error(node, "'" + shown(scalar.text()) + "' is not a share of a core; " + advice)
                : cpu.get();
    }

    private @Nullable Object items(Items type, boolean secret, Node node) {
        if (!(node instanceof Sequence sequence)) {
            return mismatch(node, "a list", "such as [a, b]");
        }
        if (sequence.elements().size() < type.min()) {
            return error(node, "has " + sequence.elements().size() + " elements; write at least " + type.min());
        }
        ImmutableList.Builder<Object> elements =
                ImmutableList.builderWithExpectedSize(sequence.elements().size());
        int index = 0;
        for (Node element : sequence.elements()) {
            path.push("[" + index++ + "]");
            Object value = value(type.element(), secret, element, element);
            path.pop();
            if (value != null) {
                elements.add(value);
            }
        }
        return elements.build();
    }

    private @Nullable Object entries(Entries type, boolean secret, Node node) {
        if (!(node instanceof Mapping mapping)) {
            return mismatch(node, "a mapping", "such as {key: value}");
        }
        ImmutableSortedMap.Builder<String, Object> entries = ImmutableSortedMap.naturalOrder();
        for (Entry entry : mapping.entries()) {
            String key = entry.key().text();
            if (type.keys() != null && !type.keys().admits(key)) {
                error(
                        entry.key(),
                        "'" + shown(key) + "' can't be a key here; write "
                                + type.keys().words());
                continue;
            }
            path.push(shown(key));
            Object value = value(type.value(), secret, entry.value(), entry.value());
            path.pop();
            if (value != null) {
                entries.put(key, value);
            }
        }
        return entries.buildOrThrow();
    }

    private static @Nullable Long number(Scalar scalar) {
        try {
            return Long.valueOf(scalar.text());
        } catch (NumberFormatException tooBig) {
            return null;
        }
    }

    private @Nullable Object mismatch(Node node, String wanted, String example) {
        return node instanceof Scalar scalar && scalar.meaning() == Plain.NULL
                ? wrong(node, wanted, "")
                : error(node, node.described() + " where " + wanted + " is wanted, " + example);
    }

    private @Nullable Object wrong(Node node, String wanted, String advice) {
        if (node instanceof Scalar scalar && scalar.meaning() == Plain.NULL) {
            return error(node, "nothing where " + wanted + " is wanted; give the key a value or remove it");
        }
        return error(node, node.described() + " where " + wanted + " is wanted; " + advice);
    }

    private @Nullable Object error(Node node, String message) {
        report.error(node, message(path(), message));
        return null;
    }

    private String path() {
        StringBuilder joined = new StringBuilder();
        for (var keys = path.descendingIterator(); keys.hasNext(); ) {
            String key = keys.next();
            joined.append(joined.isEmpty() || key.startsWith("[") ? "" : ".").append(key);
        }
        return joined.toString();
    }

    static String join(String path, String key) {
        return path.isEmpty() ? key : path + "." + key;
    }

    static String message(String path, String message) {
        return path.isEmpty() ? message : path + ": " + message;
    }

    /** What was written as an error may quote it: short, on one line, without the query of a URL. */
    static String shown(String text) {
        String line = Redaction.text(text).replaceAll("\\p{Cntrl}", "?");
        return line.length() <= LONGEST_SHOWN ? line : line.substring(0, LONGEST_SHOWN) + "...";
    }
}
