package io.homeostat.desired.yaml;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.Lifecycle;
import io.homeostat.desired.model.Metadata;
import io.homeostat.desired.model.Placement;
import io.homeostat.desired.model.RolloutSpec;
import io.homeostat.desired.model.schema.Fields.Doc;
import io.homeostat.desired.model.schema.Notation;
import io.homeostat.desired.yaml.FieldType.Field;
import io.homeostat.desired.yaml.Shape.Defaults;
import java.util.Map;
import java.util.TreeMap;

/**
 * The JSON Schema (draft 2020-12) of documents, made of the same shapes the reader reads by. What only the reader sees:
 * duplicate keys, the order of two durations, whether a URL is one to the last character, and workloads declared twice.
 */
public final class JsonSchema {
    private static final String DIALECT = "https://json-schema.org/draft/2020-12/schema";
    private static final String LOCATION = "^(?:[Hh][Tt][Tt][Pp][Ss]?://[^/?#\\u0000-\\u0020]+[^\\u0000-\\u0020]*"
            + "|[Ff][Ii][Ll][Ee]:(?:/(?!/)|//(?:localhost)?/)[^?#\\u0000-\\u0020]*"
            + "|(?![A-Za-z][A-Za-z0-9+.-]*:)[^\\u0000]+)$";

    private final Map<String, ObjectNode> definitions = new TreeMap<>();

    private JsonSchema() {}

    /** The schema of a workload's document. */
    public static String generate() {
        return new JsonSchema().documents().toPrettyString() + "\n";
    }

    /** The schema of {@code agent.yaml}. */
    public static String agent() {
        JsonSchema schema = new JsonSchema();
        ObjectNode root = root("Homeostat agent.yaml");
        root.setAll(schema.object(Shape.of(AgentConfig.class)));
        return schema.withDefinitions(root).toPrettyString() + "\n";
    }

    private ObjectNode documents() {
        ObjectNode root = root("Homeostat workload").put("type", "object");
        ArrayNode kinds = root.putObject("properties")
                .putObject("kind")
                .put("description", "What is declared; the rest of the document goes by it.")
                .putArray("enum");
        Documents.KEYS.forEach(root.putArray("required")::add);
        // By its kind, and not one of all: else a mistake in one is a list of why it is none of the others.
        ArrayNode allOf = root.putArray("allOf");
        for (Kind kind : Kind.all()) {
            document(kind.title(), Shape.of(kind.spec()), true, kinds, allOf);
        }
        document(Documents.ROLLOUT, Shape.of(RolloutSpec.class), false, kinds, allOf);
        return withDefinitions(root);
    }

    private static ObjectNode root(String title) {
        return JsonNodeFactory.instance.objectNode().put("$schema", DIALECT).put("title", title);
    }

    private ObjectNode withDefinitions(ObjectNode root) {
        ObjectNode defs = root.putObject("$defs");
        definitions.forEach(defs::set);
        return root;
    }

    private void document(String title, Shape spec, boolean placed, ArrayNode kinds, ArrayNode allOf) {
        kinds.add(title);
        ObjectNode rule = allOf.addObject();
        ObjectNode condition = rule.putObject("if");
        condition.putObject("properties").putObject("kind").put("const", title);
        condition.putArray("required").add("kind");
        rule.set("then", reference(title));
        ObjectNode document = closed(spec.doc());
        ObjectNode properties = document.putObject("properties");
        properties.putObject("apiVersion").put("const", Documents.API_VERSION);
        properties.putObject("kind").put("const", title);
        properties.set("metadata", nested(Shape.of(Metadata.class)));
        if (placed) {
            ObjectNode placement = nested(Shape.of(Placement.class));
            properties.set(
                    Documents.PLACEMENT,
                    placement.put("description", Shape.of(Placement.class).doc()));
        }
        properties.set("spec", nested(spec));
        ArrayNode required = document.putArray("required");
        Documents.KEYS.forEach(required::add);
        definitions.put(title, document);
    }

    private ObjectNode nested(Shape shape) {
        String name = name(shape.type());
        if (!definitions.containsKey(name)) {
            definitions.put(name, object(shape));
        }
        return reference(name);
    }

    private static String name(Class<?> type) {
        Class<?> outer = type.getDeclaringClass();
        // The fields of a lifecycle stand in the spec itself; no document has an object of that name.
        return outer == null || outer == Lifecycle.class ? type.getSimpleName() : name(outer) + type.getSimpleName();
    }

    private static ObjectNode reference(String name) {
        return JsonNodeFactory.instance.objectNode().put("$ref", "#/$defs/" + name);
    }

    private static ObjectNode closed(String doc) {
        ObjectNode object = JsonNodeFactory.instance.objectNode();
        if (!doc.isEmpty()) {
            object.put("description", doc);
        }
        return object.put("type", "object").put("additionalProperties", false);
    }

    private ObjectNode object(Shape shape) {
        Doc doc = shape.type().getAnnotation(Doc.class);
        ObjectNode object = closed(doc == null ? "" : doc.value());
        ObjectNode properties = object.putObject("properties");
        ArrayNode required = JsonNodeFactory.instance.arrayNode();
        for (Field field : shape.fields()) {
            ObjectNode property = type(field.type());
            property.put("description", field.doc());
            String text = field.defaultText();
            if (text != null) {
                property.set("default", defaultOf(field.type(), text));
            }
            properties.set(field.key(), property);
            if (!field.optional()) {
                required.add(field.key());
            }
        }
        if (!required.isEmpty()) {
            object.set("required", required);
        }
        ArrayNode allOf = JsonNodeFactory.instance.arrayNode();
        shape.constraints().forEach(constraint -> constraint.schema(allOf));
        if (!allOf.isEmpty()) {
            object.set("allOf", allOf);
        }
        return object;
    }

    private ObjectNode type(FieldType type) {
        ObjectNode schema = JsonNodeFactory.instance.objectNode();
        return switch (type) {
            case FieldType.Text text -> {
                schema.put("type", "string");
                if (text.minLength() > 0) {
                    schema.put("minLength", text.minLength());
                }
                yield schema.put(
                        "pattern",
                        text.form() == null
                                ? "^[^\\u0000]*$"
                                : whole(text.form().pattern().pattern()));
            }
            case FieldType.Url url -> schema.put("type", "string").put("pattern", LOCATION);
            case FieldType.Whole whole -> bounded(schema.put("type", "integer"), whole.min(), whole.max());
            case FieldType.Flag flag -> schema.put("type", "boolean");
            case FieldType.Word word -> {
                word.words().keySet().forEach(schema.putArray("enum")::add);
                yield schema;
            }
            case FieldType.Time time ->
                schema.put("type", "string")
                        .put(
                                "pattern",
                                "^" + atLeast(time.min())
                                        + whole(Notation.DURATION).substring(1));
            case FieldType.Bytes bytes -> {
                ArrayNode anyOf = schema.putArray("anyOf");
                bounded(anyOf.addObject().put("type", "integer"), bytes.min(), bytes.max());
                String some = bytes.min() > 0 ? "(?=[0-9]*[1-9])" : "";
                anyOf.addObject()
                        .put("type", "string")
                        .put("pattern", "^" + some + whole(Notation.SIZE).substring(1));
                yield schema;
            }
            case FieldType.Share share ->
                schema.put("type", "string").put("pattern", "^(?=[0-9]*[1-9])" + Notation.CPU + "$");
            case FieldType.Part part -> {
                ArrayNode anyOf = schema.putArray("anyOf");
                bounded(anyOf.addObject().put("type", "integer"), 0, 999_999_999);
                anyOf.addObject().put("type", "string").put("pattern", whole(Notation.PORTION));
                yield schema;
            }
            case FieldType.Items items -> {
                schema.put("type", "array").set("items", type(items.element()));
                yield items.min() > 0 ? schema.put("minItems", items.min()) : schema;
            }
            case FieldType.Entries entries -> {
                schema.put("type", "object").set("additionalProperties", type(entries.value()));
                if (entries.keys() != null) {
                    schema.putObject("propertyNames")
                            .put("pattern", whole(entries.keys().pattern().pattern()));
                }
                yield schema;
            }
            case FieldType.Free free -> schema.put("type", "object");
            case FieldType.Nested nested -> nested(nested.shape());
            case FieldType.TextOr choice -> {
                schema.putArray("anyOf").add(type(choice.text())).add(type(choice.object()));
                yield schema;
            }
            case FieldType.Either either -> {
                schema.putArray("anyOf").add(type(either.word())).add(type(either.object()));
                yield schema;
            }
        };
    }

    private static String whole(String pattern) {
        return "^(?:" + pattern + ")$";
    }

    private static ObjectNode bounded(ObjectNode schema, long min, long max) {
        schema.put("minimum", min);
        return max == Long.MAX_VALUE ? schema : schema.put("maximum", max);
    }

    /** A lookahead for durations of at least so many milliseconds, 0 or a power of ten up to a second. */
    private static String atLeast(long millis) {
        if (millis == 0) {
            return "";
        }
        String digits = Long.toString(millis);
        if (millis > 1000 || !digits.matches("10*")) {
            throw new IllegalStateException("no pattern for durations of at least " + millis + " ms");
        }
        int zeros = digits.length() - 1;
        return "(?=.*[1-9][0-9]*(?:h|m(?!s)|s)|.*[1-9][0-9]{" + zeros + ",}ms)";
    }

    private static JsonNode defaultOf(FieldType type, String text) {
        JsonNodeFactory json = JsonNodeFactory.instance;
        return switch (type) {
            case FieldType.Whole whole -> json.numberNode(Long.parseLong(text));
            case FieldType.Flag flag -> json.booleanNode(Boolean.parseBoolean(text));
            case FieldType.Items items -> {
                ArrayNode list = json.arrayNode();
                Defaults.texts(text).forEach(list::add);
                yield list;
            }
            default -> json.textNode(text);
        };
    }
}
