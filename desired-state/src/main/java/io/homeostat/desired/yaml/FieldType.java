package io.homeostat.desired.yaml;

import com.google.common.collect.ImmutableMap;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** What may stand where a field's value stands. Reader, schema and {@code explain} each switch over these. */
sealed interface FieldType {
    /**
     * A pattern that the whole of a text has to match, and the words for it.
     *
     * @param anyInMessages whether any text but an empty one is possible where no person wrote it
     */
    record Form(Pattern pattern, String words, boolean anyInMessages) {
        private static final Pattern ANY = Pattern.compile(".+", Pattern.DOTALL);

        boolean admits(String text) {
            return pattern.matcher(text).matches();
        }

        /** What is possible in messages and in the store. */
        Form inMessages() {
            return anyInMessages ? new Form(ANY, "at least one character", true) : this;
        }
    }

    /** Text; without {@code form} any, but for NUL, of at least {@code minLength} characters. */
    record Text(@Nullable Form form, int minLength) implements FieldType {}

    /** A URL, or a path beside the file; see {@link io.homeostat.desired.model.Location}. */
    record Url() implements FieldType {}

    record Whole(long min, long max) implements FieldType {}

    record Flag() implements FieldType {}

    /** One of a few words, each with the enum constant it stands for. */
    record Word(ImmutableMap<String, Enum<?>> words) implements FieldType {
        /** {@code ONE_SHOT} is written {@code oneShot}. */
        static String of(Enum<?> constant) {
            StringBuilder word = new StringBuilder();
            boolean upper = false;
            for (char c : constant.name().toCharArray()) {
                if (c == '_') {
                    upper = true;
                } else {
                    word.append(upper ? c : Character.toLowerCase(c));
                    upper = false;
                }
            }
            return word.toString();
        }
    }

    /** A duration, bounds in milliseconds. */
    record Time(long min, long max) implements FieldType {}

    /** A size, bounds in bytes. */
    record Bytes(long min, long max) implements FieldType {}

    /** A share of a processor. */
    record Share() implements FieldType {}

    /** A number of things, or a percentage of them. */
    record Part() implements FieldType {}

    record Items(FieldType element, int min) implements FieldType {}

    /** A mapping with keys of the author's choice. */
    record Entries(@Nullable Form keys, FieldType value) implements FieldType {}

    /** Any JSON object. */
    record Free() implements FieldType {}

    record Nested(Shape shape) implements FieldType {}

    /** A text, which stands for a record of just that text, or an object. */
    record TextOr(Text text, Shape bare, Nested object) implements FieldType {}

    /** A word or an object. */
    record Either(Word word, Nested object) implements FieldType {}

    /**
     * One key of a record's document.
     *
     * @param defaultText the default as written in a document; null when there is none
     * @param nullable whether what is left out is null
     */
    record Field(
            String key,
            FieldType type,
            String doc,
            @Nullable String defaultText,
            boolean optional,
            boolean nullable,
            boolean secret) {}
}
