package io.homeostat.desired.yaml;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.model.Metadata;
import io.homeostat.desired.model.Placement;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.schema.Cpu;
import io.homeostat.desired.model.schema.Fields.Bare;
import io.homeostat.desired.model.schema.Notation;
import io.homeostat.desired.model.schema.Portion;
import io.homeostat.desired.model.schema.Size;
import io.homeostat.desired.yaml.DocumentTree.JsonText;
import io.homeostat.desired.yaml.FieldType.Word;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The stored form of a workload: one JSON document with every default written out, fields in the order of the model, free
 * keys sorted. Equal workloads have equal texts.
 */
public final class DocumentCodec {
    private static final JsonFactory JSON = new JsonFactory();

    private DocumentCodec() {}

    /** The whole document. Contains secrets. */
    public static String toJson(Workload workload) {
        StringWriter text = new StringWriter(1024);
        try (JsonGenerator json = JSON.createGenerator(text)) {
            json.writeStartObject();
            json.writeStringField("apiVersion", Documents.API_VERSION);
            json.writeStringField("kind", workload.id().kind().title());
            json.writeFieldName("metadata");
            write(new Metadata(workload.id().name(), workload.labels()), json);
            // Left out where it says nothing: what was stored before there was such a key keeps its hash.
            if (!workload.placement().equals(Placement.ANYWHERE)) {
                json.writeFieldName(Documents.PLACEMENT);
                write(workload.placement(), json);
            }
            json.writeFieldName("spec");
            write(workload.spec(), json);
            json.writeEndObject();
        } catch (IOException impossible) {
            throw new UncheckedIOException("a string can't be written to", impossible);
        }
        return text.toString();
    }

    /** What configures an agent, with every default written out. */
    public static String toJson(AgentConfig config) {
        StringWriter text = new StringWriter(1024);
        try (JsonGenerator json = JSON.createGenerator(text)) {
            write(config, json);
        } catch (IOException impossible) {
            throw new UncheckedIOException("a string can't be written to", impossible);
        }
        return text.toString();
    }

    /**
     * The workload of a document that {@link #toJson} wrote.
     *
     * @throws IllegalArgumentException if it isn't one; the message quotes no secret
     */
    public static Workload fromJson(String document) {
        Report report = new Report("stored document");
        try {
            return Documents.readStored(JsonText.read(document), report)
                    .orElseThrow(() -> new IllegalArgumentException(
                            "a stored document is not valid (an older or newer version may have written it): "
                                    + report.errors().getFirst().message()))
                    .workload();
        } catch (IOException e) {
            // Without its cause and message: they quote the document.
            throw new IllegalArgumentException("a stored document is not JSON, " + document.length() + " characters");
        }
    }

    private static void write(Object record, JsonGenerator json) throws IOException {
        Shape shape = Shape.of(record.getClass());
        @Nullable Object[] values = shape.values(record);
        json.writeStartObject();
        for (int i = 0; i < values.length; i++) {
            Object value = values[i];
            if (value != null) {
                json.writeFieldName(shape.fields().get(i).key());
                value(value, json);
            }
        }
        json.writeEndObject();
    }

    private static void value(Object value, JsonGenerator json) throws IOException {
        switch (value) {
            case String text -> json.writeString(text);
            case Integer number -> json.writeNumber(number);
            case Long number -> json.writeNumber(number);
            case Boolean flag -> json.writeBoolean(flag);
            case Enum<?> constant -> json.writeString(Word.of(constant));
            case Duration duration -> json.writeString(Notation.text(duration));
            case Size size -> json.writeString(Notation.text(size));
            case Cpu cpu -> json.writeString(Notation.text(cpu));
            case Portion portion -> json.writeString(portion.toString());
            case ObjectNode object -> free(object, json);
            case Record bare
            when bare.getClass().isAnnotationPresent(Bare.class) ->
                json.writeString((String) Shape.of(bare.getClass()).values(bare)[0]);
            case Record record -> write(record, json);
            case List<?> list -> {
                json.writeStartArray();
                for (Object element : list) {
                    value(element, json);
                }
                json.writeEndArray();
            }
            case Map<?, ?> map -> {
                json.writeStartObject();
                for (Map.Entry<?, ?> entry : map.entrySet()) {
                    json.writeFieldName((String) entry.getKey());
                    value(entry.getValue(), json);
                }
                json.writeEndObject();
            }
            default -> throw new IllegalArgumentException("no notation for " + value.getClass());
        }
    }

    private static void free(JsonNode node, JsonGenerator json) throws IOException {
        switch (node.getNodeType()) {
            case OBJECT -> {
                Map<String, JsonNode> sorted = new TreeMap<>();
                node.properties().forEach(field -> sorted.put(field.getKey(), field.getValue()));
                json.writeStartObject();
                for (Map.Entry<String, JsonNode> field : sorted.entrySet()) {
                    json.writeFieldName(field.getKey());
                    free(field.getValue(), json);
                }
                json.writeEndObject();
            }
            case ARRAY -> {
                json.writeStartArray();
                for (JsonNode element : node) {
                    free(element, json);
                }
                json.writeEndArray();
            }
            case STRING -> json.writeString(node.textValue());
            case BOOLEAN -> json.writeBoolean(node.booleanValue());
            case NUMBER -> json.writeNumber(node.asText());
            default -> json.writeNull();
        }
    }
}
