package io.homeostat.desired.yaml;

import com.google.common.collect.ImmutableList;

/** A document as it is written, with the places: line and column count from 1. An alias is the very node it stands for. */
sealed interface Node {
    int line();

    int column();

    /** What the node is, as an error says it: "a list". Never its value, which may be secret. */
    String described();

    /** Text, a number, true, false or nothing. Unless {@code plain}, it is text: quoted, or a block. */
    record Scalar(int line, int column, String text, boolean plain) implements Node {
        Plain meaning() {
            return plain ? Plain.of(text) : Plain.TEXT;
        }

        @Override
        public String described() {
            return meaning().described();
        }
    }

    record Sequence(int line, int column, ImmutableList<Node> elements) implements Node {
        @Override
        public String described() {
            return "a list";
        }
    }

    record Mapping(int line, int column, ImmutableList<Entry> entries) implements Node {
        @Override
        public String described() {
            return "a mapping";
        }
    }

    /** One key of a mapping and its value; no two of a mapping have the same key. */
    record Entry(Scalar key, Node value) {}
}
