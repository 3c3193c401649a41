package io.homeostat.desired.yaml;

import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.common.collect.ImmutableCollection;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.model.Redaction;
import io.homeostat.desired.yaml.Constraints.Bound;
import io.homeostat.desired.yaml.FieldType.Field;
import io.homeostat.desired.yaml.Node.Entry;
import io.homeostat.desired.yaml.Node.Mapping;
import io.homeostat.desired.yaml.Node.Scalar;
import io.homeostat.desired.yaml.Node.Sequence;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashSet;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Makes records of nodes. What is wrong is reported, field by field, and read as null: so null from any method here means that an error
 * was reported.
 */
final class Binder {
    private static final int LONGEST_SHOWN = 60;

    /** Documents are stored as JSON, and a longer key could not be read there again. */
    private static final int LONGEST_KEY = StreamReadConstraints.DEFAULT_MAX_NAME_LEN;

    private static final String KEY_TOO_LONG = "a key of more than " + LONGEST_KEY + " characters; shorten it";
    private static final int MOST_LISTED_AGAIN = 8;

    private final Report report;
    /** Whether it was accepted before: a rule that is new must not make what is stored unreadable. */
    private final boolean stored;
    /** The keys that lead to the node being read, innermost first. */
    private final Deque<String> path = new ArrayDeque<>();

    private final Scalars scalars;

    /** The lists of keys that were shown. */
    private final Set<String> listed = new HashSet<>();

    /**
     * For what people write.
     *
     * @param base the directory that paths start from; null: paths are refused
     */
    Binder(Report report, @Nullable Path base) {
        this(report, base, false, false);
    }

    /**
     * For what somebody else has written.
     *
     * @param sent whether it is a message, or was stored, and may have names that nobody can write
     * @param stored whether the rules that take several fields are passed over
     */
    Binder(Report report, @Nullable Path base, boolean sent, boolean stored) {
        this.report = report;
        this.stored = stored;
        this.scalars = new Scalars(this, base, sent);
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
        int errors = report.count();
        @Nullable Object[] values = shape.defaults();
        boolean[] given = new boolean[values.length];
        boolean[] meant = new boolean[values.length];
        for (Entry entry : mapping.entries()) {
            int index = shape.indexOf(entry.key().text());
            if (index < 0) {
                // What was probably meant is neither missing nor left to its default: one mistake, one error.
                unknown(entry.key(), shape.keys()).map(shape::indexOf).ifPresent(guess -> meant[guess] = true);
                continue;
            }
            Field field = shape.fields().get(index);
            given[index] = true;
            path.push(field.key());
            values[index] = value(field, entry.value(), entry.key());
            path.pop();
        }
        for (int i = 0; i < values.length; i++) {
            if (meant[i] && !given[i]) {
                values[i] = null;
            } else if (!given[i] && !shape.fields().get(i).optional()) {
                missing(shape.fields().get(i).key(), at);
            }
        }
        if (!stored && !shape.constraints().isEmpty()) {
            Bound bound = new Bound(shape, mapping, at, path(), values, given, meant, report);
            shape.constraints().forEach(constraint -> constraint.check(bound));
        }
        return report.count() == errors ? shape.construct(values) : null;
    }

    void missing(String key, Node at) {
        report.error(Problem.Kind.MISSING_KEY, key, at, path(), "required key '" + key + "' is missing");
    }

    /** Reports a key that isn't among the known ones; returns the one that was probably meant. */
    Optional<String> unknown(Scalar key, ImmutableCollection<String> known) {
        Optional<String> foreign = ForeignKeys.meaning(key.text(), known);
        Optional<String> meant = foreign.or(() -> Suggestion.of(key.text(), known));
        report.error(
                Problem.Kind.UNKNOWN_KEY,
                key,
                path(),
                "unknown key '" + shown(key.text()) + "'; "
                        + foreign.map(here -> "write '" + here + "' for it")
                                .or(() -> meant.map(close -> "did you mean '" + close + "'?"))
                                .orElseGet(() -> list(known)));
        return meant.map(ForeignKeys::first);
    }

    /** A long list is shown once for a document: the next one would hide the mistakes. */
    private String list(ImmutableCollection<String> known) {
        String list = String.join(", ", known);
        return known.size() <= MOST_LISTED_AGAIN || listed.add(list)
                ? "known here: " + list
                : "nothing that is known here, see above, is close to it";
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
            case FieldType.Text text -> scalars.text(text, secret, node);
            case FieldType.Url url -> scalars.url(node);
            case FieldType.Whole whole -> scalars.whole(whole, node);
            case FieldType.Flag flag -> scalars.flag(node);
            case FieldType.Word word -> scalars.word(word, node);
            case FieldType.Time time -> scalars.time(time, node);
            case FieldType.Bytes bytes -> scalars.bytes(bytes, node);
            case FieldType.Share share -> scalars.share(node);
            case FieldType.Part part -> scalars.portion(node);
            case FieldType.Items items -> items(items, secret, node);
            case FieldType.Entries entries -> entries(entries, secret, node);
            case FieldType.Free free ->
                node instanceof Mapping mapping
                        ? new FreeForm(report, path()).object(mapping)
                        : mismatch(node, "a mapping", "such as {key: value}");
            case FieldType.Nested nested -> record(nested.shape(), node, at);
            case FieldType.TextOr choice ->
                node instanceof Mapping ? record(choice.object().shape(), node, at) : bare(choice, secret, node);
            case FieldType.Either either ->
                node instanceof Mapping ? record(either.object().shape(), node, at) : scalars.word(either.word(), node);
        };
    }

    private @Nullable Object bare(FieldType.TextOr type, boolean secret, Node node) {
        if (node instanceof Sequence) {
            return mismatch(
                    node,
                    "text or a mapping",
                    "such as {" + type.object().shape().keys().asList().getFirst() + ": ...}");
        }
        Object text = scalars.text(type.text(), secret, node);
        return text == null ? null : type.bare().construct(new Object[] {text});
    }

    private @Nullable Object items(FieldType.Items type, boolean secret, Node node) {
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

    private @Nullable Object entries(FieldType.Entries type, boolean secret, Node node) {
        if (!(node instanceof Mapping mapping)) {
            return mismatch(node, "a mapping", "such as {key: value}");
        }
        ImmutableSortedMap.Builder<String, Object> entries = ImmutableSortedMap.naturalOrder();
        for (Entry entry : mapping.entries()) {
            String key = entry.key().text();
            if (key.length() > LONGEST_KEY) {
                error(entry.key(), KEY_TOO_LONG);
                continue;
            }
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

    @Nullable
    Object mismatch(Node node, String wanted, String example) {
        return node instanceof Scalar scalar && scalar.meaning() == Plain.NULL
                ? wrong(node, wanted, "")
                : error(node, node.described() + " where " + wanted + " is wanted, " + example);
    }

    @Nullable
    Object wrong(Node node, String wanted, String advice) {
        if (node instanceof Scalar scalar && scalar.meaning() == Plain.NULL) {
            return error(node, "nothing where " + wanted + " is wanted; give the key a value or remove it");
        }
        return error(node, node.described() + " where " + wanted + " is wanted; " + advice);
    }

    @Nullable
    Object error(Node node, String message) {
        report.error(Problem.Kind.VALUE, node, path(), message);
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

    /** What was written as an error may quote it: short, on one line, without the query of a URL. */
    static String shown(String text) {
        String line = Redaction.text(text).replaceAll("\\p{Cntrl}", "?");
        return line.length() <= LONGEST_SHOWN ? line : line.substring(0, LONGEST_SHOWN) + "...";
    }

    /** Makes JSON of a mapping that may say anything. Numbers become what {@code google.protobuf.Struct} has, doubles. */
    private static final class FreeForm {
        private static final JsonNodeFactory JSON = JsonNodeFactory.instance;
        private static final long EXACT = 1L << 53;
        private static final int MOST_DIGITS = 17;

        private final Report report;
        private final String path;

        FreeForm(Report report, String path) {
            this.report = report;
            this.path = path;
        }

        ObjectNode object(Mapping mapping) {
            ObjectNode object = JSON.objectNode();
            for (Entry entry : mapping.entries()) {
                if (entry.key().text().length() > LONGEST_KEY) {
                    report.error(Problem.Kind.VALUE, entry.key(), path, KEY_TOO_LONG);
                    continue;
                }
                object.set(entry.key().text(), json(entry.value()));
            }
            return object;
        }

        private JsonNode json(Node node) {
            return switch (node) {
                case Mapping mapping -> object(mapping);
                case Sequence sequence -> {
                    ArrayNode array = JSON.arrayNode(sequence.elements().size());
                    sequence.elements().forEach(element -> array.add(json(element)));
                    yield array;
                }
                case Scalar scalar ->
                    switch (scalar.meaning()) {
                        case NULL -> JSON.nullNode();
                        case TRUE -> JSON.booleanNode(true);
                        case FALSE -> JSON.booleanNode(false);
                        case INTEGER -> whole(scalar);
                        case FRACTION -> fraction(scalar);
                        case TEXT -> JSON.textNode(scalar.text());
                        case AMBIGUOUS -> {
                            report.error(
                                    Problem.Kind.VALUE,
                                    scalar,
                                    path,
                                    "a number that not every reader of YAML reads alike; write it in decimal, or in quotes");
                            yield JSON.nullNode();
                        }
                    };
            };
        }

        private JsonNode fraction(Scalar scalar) {
            double number = Double.parseDouble(scalar.text());
            return Double.isInfinite(number) ? beyond(scalar) : JSON.numberNode(number);
        }

        private JsonNode whole(Scalar scalar) {
            if (scalar.text().length() > MOST_DIGITS) {
                return beyond(scalar);
            }
            long number = Long.parseLong(scalar.text());
            if (Math.abs(number) > EXACT) {
                return beyond(scalar);
            }
            return number == (int) number ? JSON.numberNode((int) number) : JSON.numberNode(number);
        }

        private JsonNode beyond(Scalar scalar) {
            report.error(
                    Problem.Kind.VALUE,
                    scalar,
                    path,
                    "a number beyond what a structure holds exactly, 2^53; put it in quotes");
            return JSON.nullNode();
        }
    }
}
