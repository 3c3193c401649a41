package io.homeostat.desired.yaml;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.google.common.collect.ImmutableList;
import io.homeostat.desired.yaml.Node.Entry;
import io.homeostat.desired.yaml.Node.Mapping;
import io.homeostat.desired.yaml.Node.Scalar;
import io.homeostat.desired.yaml.Node.Sequence;
import java.io.IOException;

/** Turns JSON into the trees that YAML becomes; its places are of no use, there is only one line. */
final class JsonText {
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
