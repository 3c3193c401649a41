package io.homeostat.desired.yaml;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.networknt.schema.InputFormat;
import com.networknt.schema.SchemaLocation;
import com.networknt.schema.SchemaRegistry;
import com.networknt.schema.SpecificationVersion;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class JsonSchemaTest {
    static List<String> schemas() {
        return List.of(JsonSchema.generate(), JsonSchema.agent());
    }

    @ParameterizedTest
    @MethodSource("schemas")
    void theSchemaIsASchema(String schema) {
        var meta = SchemaRegistry.withDefaultDialect(SpecificationVersion.DRAFT_2020_12)
                .getSchema(SchemaLocation.of("https://json-schema.org/draft/2020-12/schema"));
        assertEquals(List.of(), meta.validate(schema, InputFormat.JSON));
    }

    @ParameterizedTest
    @MethodSource("schemas")
    void everyObjectIsClosedAndEveryPropertyDescribed(String schema) throws Exception {
        JsonNode root = new ObjectMapper().readTree(schema);
        for (JsonNode definition : root.get("$defs")) {
            assertEquals(false, definition.get("additionalProperties").booleanValue(), definition::toString);
            for (var property : definition.get("properties").properties()) {
                boolean frame = Documents.KEYS.contains(property.getKey());
                assertTrue(
                        frame
                                || !property.getValue()
                                        .get("description")
                                        .textValue()
                                        .isEmpty(),
                        property::toString);
            }
        }
        assertFalse(root.get("$defs").isEmpty());
    }

    @ParameterizedTest
    @MethodSource("schemas")
    void theSchemaIsTheSameEachTime(String schema) {
        assertTrue(List.of(JsonSchema.generate(), JsonSchema.agent()).contains(schema));
    }
}
