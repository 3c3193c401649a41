package io.homeostat.desired.yaml;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.common.collect.ImmutableList;
import io.homeostat.desired.yaml.Node.Entry;
import io.homeostat.desired.yaml.Node.Mapping;
import io.homeostat.desired.yaml.Node.Scalar;
import io.homeostat.desired.yaml.Node.Sequence;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import java.util.stream.Stream;

/** A document that is written by a program and read by the rules of YAML without ever being text; or one mapping of it. */
public final class DocumentTree {
    private final Map<String, Supplier<Node>> entries = new LinkedHashMap<>();

    public DocumentTree text(String key, String value) {
        entries.put(key, () -> scalar(value, false));
        return this;
    }

    public DocumentTree number(String key, long value) {
        entries.put(key, () -> scalar(Long.toString(value), true));
        return this;
    }

    public DocumentTree flag(String key, boolean value) {
        entries.put(key, () -> scalar(Boolean.toString(value), true));
        return this;
    }

    public DocumentTree texts(String key, List<String> values) {
        entries.put(key, () -> sequence(values.stream().map(value -> scalar(value, false))));
        return this;
    }

    public DocumentTree json(String key, ObjectNode value) {
        entries.put(key, () -> {
            try {
                return JsonText.read(value.traverse());
            } catch (IOException impossible) {
                throw new UncheckedIOException("a tree in memory can't be read", impossible);
            }
        });
        return this;
    }

    /** Gives a key a mapping, to be filled. */
    public DocumentTree mapping(String key) {
        DocumentTree child = new DocumentTree();
        mapping(key, child);
        return child;
    }

    public void mapping(String key, DocumentTree value) {
        entries.put(key, value::node);
    }

    /** Gives a key a list of as many mappings, to be filled. */
    public List<DocumentTree> mappings(String key, int count) {
        List<DocumentTree> children =
                Stream.generate(DocumentTree::new).limit(count).toList();
        entries.put(key, () -> sequence(children.stream().map(DocumentTree::node)));
        return children;
    }

    Node node() {
        return new Mapping(
                1,
                1,
                entries.entrySet().stream()
                        .map(entry -> new Entry(
                                scalar(entry.getKey(), false), entry.getValue().get()))
                        .collect(ImmutableList.toImmutableList()));
    }

    private static Node sequence(Stream<Node> elements) {
        return new Sequence(1, 1, elements.collect(ImmutableList.toImmutableList()));
    }

    private static Scalar scalar(String text, boolean plain) {
        return new Scalar(1, 1, text, plain);
    }

    /** Turns JSON into the trees that YAML becomes; its places are of no use, there is only one line. */
    static final class JsonText {
        private static final JsonFactory JSON = new JsonFactory();

        private JsonText() {}

        static Node read(String json) throws IOException {
            return read(JSON.createParser(json));
        }

        /** Reads what a parser has, and closes it. */
        static Node read(JsonParser json) throws IOException {
            try (json) {
                json.nextToken();
                return node(json);
            }
        }

        private static Node node(JsonParser parser) throws IOException {
            return switch (parser.currentToken()) {
                case START_OBJECT -> {
                    ImmutableList.Builder<Entry> entries = ImmutableList.builder();
                    while (parser.nextToken() != JsonToken.END_OBJECT) {
                        Scalar key = new Scalar(1, 1, parser.currentName(), false);
                        parser.nextToken();
                        entries.add(new Entry(key, node(parser)));
                    }
                    yield new Mapping(1, 1, entries.build());
                }
                case START_ARRAY -> {
                    ImmutableList.Builder<Node> elements = ImmutableList.builder();
                    while (parser.nextToken() != JsonToken.END_ARRAY) {
                        elements.add(node(parser));
                    }
                    yield new Sequence(1, 1, elements.build());
                }
                case VALUE_STRING -> new Scalar(1, 1, parser.getText(), false);
                case null -> throw new IOException("the document ends early");
                default -> new Scalar(1, 1, parser.getText(), true);
            };
        }
    }
}
