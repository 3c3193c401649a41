package io.homeostat.desired.hcl;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.protobuf.ByteString;
import io.homeostat.proto.nomad.hclspec.Attr;
import io.homeostat.proto.nomad.hclspec.Block;
import io.homeostat.proto.nomad.hclspec.BlockAttrs;
import io.homeostat.proto.nomad.hclspec.BlockList;
import io.homeostat.proto.nomad.hclspec.BlockMap;
import io.homeostat.proto.nomad.hclspec.BlockSet;
import io.homeostat.proto.nomad.hclspec.Default;
import io.homeostat.proto.nomad.hclspec.Literal;
import io.homeostat.proto.nomad.hclspec.Spec;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * What Nomad made of a configuration.
 *
 * @param msgpack in hexadecimal; empty after an error
 * @param error in Nomad's words; empty when there was none
 */
record Vector(
        String name,
        Spec spec,
        Map<String, Object> config,
        Map<String, Object> variables,
        String msgpack,
        String error) {
    private static final ObjectMapper JSON = new ObjectMapper();

    static List<Vector> read(String resource) {
        try (InputStream in = Objects.requireNonNull(Vector.class.getResourceAsStream(resource), resource);
                BufferedReader lines = new BufferedReader(new InputStreamReader(in, StandardCharsets.UTF_8))) {
            List<Vector> vectors = new ArrayList<>();
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                if (!line.startsWith("#")) {
                    vectors.add(parse(line));
                }
            }
            return vectors;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static Vector parse(String line) throws IOException {
        JsonNode vector = JSON.readTree(line);
        return new Vector(
                vector.path("name").asText(),
                spec(vector.get("spec")),
                map(vector.path("config")),
                map(vector.path("vars")),
                vector.path("msgpack").asText(),
                vector.has("specError") ? "specError" : vector.path("error").asText());
    }

    private static Map<String, Object> map(JsonNode json) {
        return json.isObject() ? JSON.convertValue(json, new TypeReference<Map<String, Object>>() {}) : Map.of();
    }

    /** A spec in the JSON of protocol buffers. */
    static Spec spec(String json) {
        try {
            return spec(JSON.readTree(json));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static Spec spec(JsonNode json) {
        Spec.Builder spec = Spec.newBuilder();
        json.properties().forEach(each -> set(spec, each.getKey(), each.getValue()));
        return spec.build();
    }

    private static void set(Spec.Builder spec, String kind, JsonNode json) {
        String name = json.path("name").asText();
        String type = json.path("type").asText();
        boolean required = json.path("required").asBoolean();
        switch (kind) {
            case "object" -> {
                spec.getObjectBuilder();
                json.path("attributes")
                        .properties()
                        .forEach(each -> spec.getObjectBuilder().putAttributes(each.getKey(), spec(each.getValue())));
            }
            case "array" -> {
                spec.getArrayBuilder();
                json.path("values").forEach(each -> spec.getArrayBuilder().addValues(spec(each)));
            }
            case "Attr" ->
                spec.setAttr(Attr.newBuilder().setName(name).setType(type).setRequired(required));
            case "blockValue" -> {
                Block.Builder block = spec.getBlockValueBuilder().setName(name).setRequired(required);
                if (json.has("nested")) {
                    block.setNested(spec(json.get("nested")));
                }
            }
            case "blockAttrs" ->
                spec.setBlockAttrs(
                        BlockAttrs.newBuilder().setName(name).setType(type).setRequired(required));
            case "blockList" -> {
                BlockList.Builder block = spec.getBlockListBuilder()
                        .setName(name)
                        .setMinItems(json.path("minItems").asLong())
                        .setMaxItems(json.path("maxItems").asLong());
                if (json.has("nested")) {
                    block.setNested(spec(json.get("nested")));
                }
            }
            case "blockSet" -> {
                BlockSet.Builder block = spec.getBlockSetBuilder()
                        .setName(name)
                        .setMinItems(json.path("minItems").asLong())
                        .setMaxItems(json.path("maxItems").asLong());
                if (json.has("nested")) {
                    block.setNested(spec(json.get("nested")));
                }
            }
            case "blockMap" -> {
                BlockMap.Builder block = spec.getBlockMapBuilder().setName(name);
                json.path("labels").forEach(each -> block.addLabels(each.asText()));
                if (json.has("nested")) {
                    block.setNested(spec(json.get("nested")));
                }
            }
            case "default" -> {
                Default.Builder both = spec.getDefaultBuilder();
                if (json.has("primary")) {
                    both.setPrimary(spec(json.get("primary")));
                }
                if (json.has("default")) {
                    both.setDefault(spec(json.get("default")));
                }
            }
            case "literal" ->
                spec.setLiteral(Literal.newBuilder().setValue(json.path("value").asText()));
            default -> throw new IllegalArgumentException(kind);
        }
    }

    /** In hexadecimal; problems one a line, after an exclamation mark. */
    static String outcome(Spec spec, Map<String, Object> config, Map<String, Object> variables) {
        try {
            return switch (DriverSchema.of(spec).convert(config, variables)) {
                case ConfigConversion.Converted(ByteString msgpack) ->
                    HexFormat.of().formatHex(msgpack.toByteArray());
                case ConfigConversion.Refused(List<ConfigProblem> problems) ->
                    "!"
                            + String.join(
                                    "\n",
                                    problems.stream()
                                            .map(each -> each.place() + ": " + each.message())
                                            .toList());
            };
        } catch (SchemaException e) {
            return "!" + e.getMessage();
        }
    }
}
