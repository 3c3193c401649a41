package io.homeostat.desired.hcl.language;

import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** A type of HCL. Two types are the same when they are equal. */
public sealed interface HclType {
    /** The order of keys and of text in sets: that of the bytes in UTF-8, which is the order of code points. */
    Comparator<String> TEXT_ORDER = HclType::compareText;

    /** What has no parts. */
    enum Primitive implements HclType {
        STRING("string"),
        NUMBER("number"),
        BOOL("bool");

        private final String word;

        Primitive(String word) {
            this.word = word;
        }

        @Override
        public String expression() {
            return word;
        }
    }

    /** Types of which only one exists. */
    enum Special implements HclType {
        /** Whatever it is; also the type of {@code null}. */
        ANY("any"),
        /** Of a value that is a type, in the expression for a type. */
        TYPE("type");

        private final String word;

        Special(String word) {
            this.word = word;
        }

        @Override
        public String expression() {
            return word;
        }
    }

    /** Elements of one type. */
    sealed interface Collection extends HclType {
        HclType element();

        /** The same kind of collection with other elements. */
        Collection of(HclType other);
    }

    record ListOf(HclType element) implements Collection {
        @Override
        public Collection of(HclType other) {
            return new ListOf(other);
        }

        @Override
        public String expression() {
            return "list(" + element.expression() + ")";
        }
    }

    record SetOf(HclType element) implements Collection {
        @Override
        public Collection of(HclType other) {
            return new SetOf(other);
        }

        @Override
        public String expression() {
            return "set(" + element.expression() + ")";
        }
    }

    record MapOf(HclType element) implements Collection {
        @Override
        public Collection of(HclType other) {
            return new MapOf(other);
        }

        @Override
        public String expression() {
            return "map(" + element.expression() + ")";
        }
    }

    /** A type for each position. */
    record TupleOf(List<HclType> elements) implements HclType {
        public TupleOf {
            elements = List.copyOf(elements);
        }

        @Override
        public String expression() {
            return elements.stream().map(HclType::expression).collect(Collectors.joining(", ", "tuple([", "])"));
        }
    }

    /** A type for each name, all of which have to be there. */
    record ObjectOf(Map<String, HclType> attributes) implements HclType {
        public ObjectOf {
            SortedMap<String, HclType> sorted = new TreeMap<>(TEXT_ORDER);
            sorted.putAll(attributes);
            attributes = Collections.unmodifiableSortedMap(sorted);
        }

        @Override
        public String expression() {
            return attributes.entrySet().stream()
                    .map(each -> each.getKey() + " = " + each.getValue().expression())
                    .collect(Collectors.joining(", ", "object({", "})"));
        }
    }

    /** As it is written in a spec: {@code list(map(string))}. */
    String expression();

    /** For a message: the kind of it, with an article. */
    default String noun() {
        return switch (this) {
            case Primitive.STRING -> "a string";
            case Primitive.NUMBER -> "a number";
            case Primitive.BOOL -> "a bool (true or false)";
            case Special.ANY -> "any value";
            case Special.TYPE -> "a type";
            case ListOf _ -> "a list";
            case SetOf _ -> "a set";
            case MapOf _ -> "a map";
            case TupleOf _ -> "a list";
            case ObjectOf _ -> "a map";
        };
    }

    /** Something of it may be of any type. */
    default boolean hasAny() {
        return switch (this) {
            case Special.ANY -> true;
            case Special.TYPE -> false;
            case Primitive _ -> false;
            case Collection collection -> collection.element().hasAny();
            case TupleOf(List<HclType> elements) -> elements.stream().anyMatch(HclType::hasAny);
            case ObjectOf(Map<String, HclType> attributes) ->
                attributes.values().stream().anyMatch(HclType::hasAny);
        };
    }

    private static int compareText(String a, String b) {
        int length = Math.min(a.length(), b.length());
        for (int i = 0; i < length; i++) {
            char x = a.charAt(i);
            char y = b.charAt(i);
            if (x != y) {
                // Surrogates stand for code points above all others.
                boolean high = Character.isSurrogate(x);
                return high == Character.isSurrogate(y) ? Character.compare(x, y) : high ? 1 : -1;
            }
        }
        return Integer.compare(a.length(), b.length());
    }
}
