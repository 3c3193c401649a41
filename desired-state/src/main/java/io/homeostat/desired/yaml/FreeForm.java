package io.homeostat.desired.yaml;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.homeostat.desired.yaml.Node.Entry;
import io.homeostat.desired.yaml.Node.Mapping;
import io.homeostat.desired.yaml.Node.Scalar;
import io.homeostat.desired.yaml.Node.Sequence;

/** Makes JSON of a mapping that may say anything. Numbers become what {@code google.protobuf.Struct} has, doubles. */
final class FreeForm {
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
        report.error(scalar, path, "a number beyond what a structure holds exactly, 2^53; put it in quotes");
        return JSON.nullNode();
    }
}
