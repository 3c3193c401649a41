package io.homeostat.desired.yaml;

import com.google.common.base.Splitter;
import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.Metadata;
import io.homeostat.desired.model.Placement;
import io.homeostat.desired.model.RolloutSpec;
import io.homeostat.desired.yaml.FieldType.Field;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Tells people what a field of a document is for, from the same shapes the reader reads by. */
public final class Explain {
    private static final String AGENT = "Agent";
    private static final int WIDTH = 100;
    private static final FieldType ANY_TEXT = new FieldType.Text(null, 0);

    private Explain() {}

    /**
     * The documentation of {@code Plugin}, {@code Plugin.spec.limits}, {@code Agent.log} and so on; the fields of the elements of a list
     * or map follow its name.
     *
     * @throws IllegalArgumentException if there is no such field; the message says which there are
     */
    public static String text(String path) {
        Place place = find(path);
        return text(place.top(), place.path(), place.field(), place.doc(), place.fields());
    }

    /** The same for programs. */
    public static Explanation explanation(String path) {
        Place place = find(path);
        Field field = place.field();
        return new Explanation(
                place.top() + place.path(),
                place.top(),
                field == null ? "object" : name(field.type()),
                field == null ? place.doc() : documented(field),
                place.fields().stream()
                        .map(each -> new Explanation.Member(
                                each.key(),
                                name(each.type()),
                                !each.optional(),
                                each.optional() ? each.defaultText() : null,
                                documented(each)))
                        .collect(ImmutableList.toImmutableList()));
    }

    /** What a workload takes, one field of documents after the other, in the layout of {@link #text}. */
    public static String text(String workload, ImmutableList<Explanation> explanations) {
        StringBuilder text = new StringBuilder("WORKLOAD: ").append(workload).append('\n');
        for (Explanation each : explanations) {
            text.append("\nFIELD:    ")
                    .append(each.path())
                    .append("  <")
                    .append(each.type())
                    .append(">\n");
            text.append("\nDESCRIPTION:\n");
            wrapped(each.description(), "    ", text);
            text.append("\nFIELDS:\n");
            int widest = each.fields().stream()
                    .mapToInt(field -> field.name().length())
                    .max()
                    .orElse(0);
            for (Explanation.Member field : each.fields()) {
                text.append("    ")
                        .append(field.name())
                        .append(" ".repeat(widest - field.name().length() + 2))
                        .append(described(field.type(), field.required(), field.defaultText()))
                        .append('\n');
            }
        }
        return text.toString();
    }

    /** What a path leads to; without a field, the document itself. */
    private record Place(String top, String path, @Nullable Field field, String doc, ImmutableList<Field> fields) {}

    private static Place find(String path) {
        List<String> keys = Splitter.on('.').splitToList(path);
        String top = keys.getFirst();
        ImmutableList<Field> fields = fieldsOf(top);
        String doc = docOf(top);
        Field field = null;
        StringBuilder walked = new StringBuilder(top);
        for (String key : keys.subList(1, keys.size())) {
            if (fields.isEmpty()) {
                throw new IllegalArgumentException(walked + " has no fields; it is " + described(field));
            }
            field = find(key, fields, walked.toString());
            walked.append('.').append(field.key());
            doc = field.doc();
            fields = fieldsIn(field.type());
        }
        return new Place(top, walked.substring(top.length()), field, doc, fields);
    }

    private static String documented(Field field) {
        String notation = notation(field.type());
        return notation == null ? field.doc() : field.doc() + " Written as " + notation + ".";
    }

    /** What {@link #text} knows at the top: the kinds of workload, {@code Rollout} and {@code Agent}. */
    public static ImmutableList<String> tops() {
        ImmutableList.Builder<String> tops = ImmutableList.builder();
        Kind.all().stream().map(Kind::title).forEach(tops::add);
        return tops.add(Documents.ROLLOUT).add(AGENT).build();
    }

    private static String text(
            String top, String path, @Nullable Field field, String doc, ImmutableList<Field> fields) {
        StringBuilder text = new StringBuilder("KIND:     ").append(top).append('\n');
        if (!top.equals(AGENT)) {
            text.append("VERSION:  ").append(Documents.API_VERSION).append('\n');
        }
        if (field != null) {
            text.append("FIELD:    ")
                    .append(path.substring(1))
                    .append("  ")
                    .append(described(field))
                    .append('\n');
        }
        text.append("\nDESCRIPTION:\n");
        wrapped(doc, "    ", text);
        if (field != null && notation(field.type()) != null) {
            wrapped("Written as " + notation(field.type()) + ".", "    ", text);
        }
        if (!fields.isEmpty()) {
            text.append("\nFIELDS:\n");
            int widest =
                    fields.stream().mapToInt(each -> each.key().length()).max().orElse(0);
            for (Field each : fields) {
                text.append("    ")
                        .append(each.key())
                        .append(" ".repeat(widest - each.key().length() + 2));
                text.append(described(each)).append('\n');
                wrapped(each.doc(), "        ", text);
            }
        }
        return text.toString();
    }

    private static void wrapped(String words, String indent, StringBuilder text) {
        int column = 0;
        for (String word : Splitter.on(' ').omitEmptyStrings().split(words)) {
            if (column == 0 || column + 1 + word.length() > WIDTH) {
                text.append(column == 0 ? "" : "\n").append(indent).append(word);
                column = indent.length() + word.length();
            } else {
                text.append(' ').append(word);
                column += 1 + word.length();
            }
        }
        text.append(column == 0 ? "" : "\n");
    }

    private static Field find(String key, ImmutableList<Field> fields, String walked) {
        String name = key.endsWith("[]") ? key.substring(0, key.length() - 2) : key;
        List<String> known = new ArrayList<>();
        for (Field field : fields) {
            if (field.key().equals(name)) {
                return field;
            }
            known.add(field.key());
        }
        throw unknown("field '" + Binder.shown(key) + "' in " + walked, name, known);
    }

    private static IllegalArgumentException unknown(String what, String word, List<String> known) {
        Optional<String> close = Suggestion.of(word, known);
        return new IllegalArgumentException("no " + what + "; "
                + close.map(meant -> "did you mean '" + meant + "'? ").orElse("") + "there are: "
                + String.join(", ", known));
    }

    private static ImmutableList<Field> fieldsOf(String top) {
        if (top.equals(AGENT)) {
            return Shape.of(AgentConfig.class).fields();
        }
        if (isRollout(top)) {
            return frame(Documents.ROLLOUT, "What the rollout is called.")
                    .add(nested("spec", "What becomes of which workloads.", RolloutSpec.class))
                    .build();
        }
        Field placement = new Field(
                Documents.PLACEMENT,
                new FieldType.Nested(Shape.of(Placement.class)),
                Shape.of(Placement.class).doc(),
                null,
                true,
                false,
                false);
        return frame(kind(top).title(), "What the workload is called.")
                .add(placement)
                .add(nested("spec", "What is to run, and how.", kind(top).spec()))
                .build();
    }

    private static ImmutableList.Builder<Field> frame(String title, String metadata) {
        return ImmutableList.<Field>builder()
                .add(
                        new Field(
                                "apiVersion",
                                ANY_TEXT,
                                "Always " + Documents.API_VERSION + ".",
                                null,
                                false,
                                false,
                                false),
                        new Field("kind", ANY_TEXT, "Always " + title + ".", null, false, false, false),
                        nested("metadata", metadata, Metadata.class));
    }

    private static String docOf(String top) {
        Class<?> type = top.equals(AGENT)
                ? AgentConfig.class
                : isRollout(top) ? RolloutSpec.class : kind(top).spec();
        return Shape.of(type).doc();
    }

    private static boolean isRollout(String top) {
        return top.equalsIgnoreCase(Documents.ROLLOUT);
    }

    private static Field nested(String key, String doc, Class<?> type) {
        return new Field(key, new FieldType.Nested(Shape.of(type)), doc, null, false, false, false);
    }

    private static Kind kind(String title) {
        return Kind.ofWord(title).orElseThrow(() -> unknown("kind '" + Binder.shown(title) + "'", title, tops()));
    }

    private static ImmutableList<Field> fieldsIn(FieldType type) {
        return switch (type) {
            case FieldType.Nested nested -> nested.shape().fields();
            case FieldType.Items items -> fieldsIn(items.element());
            case FieldType.Entries entries -> fieldsIn(entries.value());
            case FieldType.TextOr choice -> choice.object().shape().fields();
            case FieldType.Either either -> either.object().shape().fields();
            default -> ImmutableList.of();
        };
    }

    private static String described(@Nullable Field field) {
        if (field == null) {
            return "<object>";
        }
        return described(name(field.type()), !field.optional(), field.defaultText());
    }

    private static String described(String name, boolean required, @Nullable String defaultText) {
        String type = "<" + name + ">";
        if (required) {
            return type + " required";
        }
        return defaultText == null ? type : type + " default: " + (defaultText.isEmpty() ? "\"\"" : defaultText);
    }

    private static String name(FieldType type) {
        return switch (type) {
            case FieldType.Text text -> "string";
            case FieldType.Url url -> "URL or path";
            case FieldType.Whole whole -> "integer";
            case FieldType.Flag flag -> "boolean";
            case FieldType.Word word -> String.join("|", word.words().keySet());
            case FieldType.Time time -> "duration";
            case FieldType.Bytes bytes -> "size";
            case FieldType.Share share -> "percent";
            case FieldType.Part part -> "number or percent";
            case FieldType.Items items -> "list of " + name(items.element());
            case FieldType.Entries entries -> "map of string to " + name(entries.value());
            case FieldType.Free free -> "any object";
            case FieldType.Nested nested -> "object";
            case FieldType.TextOr choice -> name(choice.text()) + "|object";
            case FieldType.Either either -> name(either.word()) + "|object";
        };
    }

    private static @Nullable String notation(FieldType type) {
        return switch (type) {
            case FieldType.Text text when text.form() != null -> text.form().words();
            case FieldType.Whole whole -> "a number from " + whole.min() + " to " + whole.max();
            case FieldType.Time time -> "500ms, 10s, 5m or 1h30m";
            case FieldType.Bytes bytes -> "64Mi, 1Gi or a number of bytes";
            case FieldType.Share share -> "20%, or 250% for two cores and a half";
            default -> null;
        };
    }

    /**
     * What a field of a document is for.
     *
     * @param path including the kind, such as {@code Plugin.spec.limits}
     * @param kind of which the document is, or {@code Agent}
     * @param type in words, such as {@code duration}
     * @param fields of an object, or of a list's elements
     */
    public record Explanation(String path, String kind, String type, String description, ImmutableList<Member> fields) {

        /** One field of an object, with its default as written in a document, if it has one. */
        public record Member(
                String name,
                String type,
                boolean required,
                @Nullable String defaultText,
                String description) {}
    }
}
