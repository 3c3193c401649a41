package io.homeostat.desired.yaml;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.networknt.schema.Error;
import com.networknt.schema.InputFormat;
import com.networknt.schema.SchemaLocation;
import com.networknt.schema.SchemaRegistry;
import com.networknt.schema.SpecificationVersion;
import java.util.List;
import org.junit.jupiter.api.Test;
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

    @Test
    void aMistakeIsToldByItsKeyAndNotByWhyTheDocumentIsNoneOfTheOtherKinds() {
        String process = """
                {"apiVersion": "homeostat.io/v1", "kind": "Process", "metadata": {"name": "a"},
                 "spec": {"install": "local", "entryPoint": "/bin/true", "%s": %s}}
                """;
        assertEquals(List.of(), mistakes(JsonSchema.generate(), process.formatted("user", "\"nobody\"")));
        List<Error> typo = mistakes(JsonSchema.generate(), process.formatted("restrat", "{}"));
        assertEquals(1, typo.size(), typo::toString);
        assertEquals("/spec", typo.getFirst().getInstanceLocation().toString());
        assertTrue(typo.getFirst().getMessage().contains("restrat"), typo::toString);
        List<Error> value = mistakes(JsonSchema.generate(), process.formatted("stop", "{\"timeout\": 10}"));
        assertEquals(1, value.size(), value::toString);
        assertEquals(
                "/spec/stop/timeout", value.getFirst().getInstanceLocation().toString());
    }

    @Test
    void aKindThatThereIsNotIsToldWhichThereAre() {
        List<Error> unknown = mistakes(
                JsonSchema.generate(),
                "{\"apiVersion\": \"homeostat.io/v1\", \"kind\": \"Proces\", \"metadata\": {\"name\": \"a\"}, \"spec\": {}}");
        assertEquals(1, unknown.size(), unknown::toString);
        assertEquals("/kind", unknown.getFirst().getInstanceLocation().toString());
    }

    @Test
    void aMistakeInTheAgentsFileIsToldByItsKey() {
        assertEquals(List.of(), mistakes(JsonSchema.agent(), "{\"log\": {\"level\": \"debug\"}}"));
        List<Error> typo = mistakes(JsonSchema.agent(), "{\"log\": {\"levle\": \"debug\"}}");
        assertEquals(1, typo.size(), typo::toString);
        assertTrue(typo.getFirst().getMessage().contains("levle"), typo::toString);
    }

    private static List<Error> mistakes(String schema, String document) {
        return SchemaRegistry.withDefaultDialect(SpecificationVersion.DRAFT_2020_12)
                .getSchema(schema, InputFormat.JSON)
                .validate(document, InputFormat.JSON);
    }

    @ParameterizedTest
    @MethodSource("schemas")
    void theSchemaIsTheSameEachTime(String schema) {
        assertTrue(List.of(JsonSchema.generate(), JsonSchema.agent()).contains(schema));
    }
}
