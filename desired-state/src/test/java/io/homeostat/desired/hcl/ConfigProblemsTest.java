package io.homeostat.desired.hcl;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.proto.nomad.hclspec.Array;
import io.homeostat.proto.nomad.hclspec.Spec;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class ConfigProblemsTest {
    private static final String TASK = """
            {"object": {"attributes": {
              "command": {"Attr": {"type": "string", "required": true}},
              "args": {"Attr": {"type": "list(string)"}},
              "labels": {"Attr": {"type": "map(number)"}},
              "limits": {"Attr": {"type": "object({soft = number, hard = number})"}},
              "pair": {"Attr": {"type": "tuple([string, bool])"}},
              "auth": {"blockValue": {"name": "auth", "nested": {"object": {"attributes": {
                "username": {"Attr": {"type": "string", "required": true}}}}}}},
              "mount": {"blockList": {"name": "mount", "minItems": "0", "maxItems": "2", "nested": {"object": {"attributes": {
                "readonly": {"Attr": {"type": "bool"}}}}}}},
              "env": {"blockAttrs": {"name": "env", "type": "string"}},
              "device": {"blockMap": {"name": "device", "labels": ["path"], "nested": {"object": {"attributes": {
                "mode": {"Attr": {"type": "string"}}}}}}}
            }}}
            """;

    private static List<ConfigProblem> problems(String spec, Map<String, ?> config) throws SchemaException {
        return assertInstanceOf(
                        ConfigConversion.Refused.class,
                        DriverSchema.of(Vector.spec(spec)).convert(config))
                .problems();
    }

    private static String attribute(String type) {
        return "{\"object\": {\"attributes\": {\"k\": {\"Attr\": {\"type\": \"" + type + "\"}}}}}";
    }

    private static List<Object> path(Object... steps) {
        return List.of(steps);
    }

    @Test
    void allProblemsAreToldAtOnce() throws SchemaException {
        Map<String, Object> config = new LinkedHashMap<>();
        config.put("comand", "a");
        config.put("args", List.of("a", List.of(), Map.of("b", 1)));
        config.put("labels", Map.of("x", "one"));
        config.put("auth", Map.of());

        assertEquals(
                List.of(path("comand"), path(), path("args", 1), path("args", 2), path("auth"), path("labels", "x")),
                problems(TASK, config).stream().map(ConfigProblem::path).toList());
    }

    static Stream<Arguments> mistakes() {
        return Stream.of(
                mistake("limits", Map.of("soft", 1), path("limits"), "\"limits\" lacks \"hard\", which is required"),
                mistake(
                        "limits",
                        Map.of("soft", 1, "hard", "x"),
                        path("limits", "hard"),
                        "\"hard\" should be a number, not other text"),
                mistake("limits", List.of(), path("limits"), "\"limits\" should be a map, not a list"),
                mistake("pair", List.of("a"), path("pair"), "\"pair\" should be a list of 2 elements"),
                mistake(
                        "pair",
                        List.of("a", "TRUE"),
                        path("pair", 1),
                        "element 2 of \"pair\" should be a bool: true or false, in lower case"),
                mistake(
                        "auth",
                        "x",
                        path("auth"),
                        "\"auth\" should be a block: a map of keys and values, or a list of such maps"),
                mistake(
                        "auth",
                        List.of(Map.of("username", "u"), Map.of()),
                        path("auth", 1),
                        "element 2 of \"auth\" is a second block where only one is allowed: leave one out"),
                mistake(
                        "mount",
                        List.of(7),
                        path("mount", 0),
                        "element 1 of \"mount\" should be a map of keys and values, or a list of such maps"),
                mistake(
                        "mount",
                        List.of(List.of(7)),
                        path("mount", 0, 0),
                        "element 1 of \"mount\" should be a map of keys and values"),
                mistake(
                        "mount",
                        List.of(Map.of(), Map.of(), Map.of()),
                        path("mount", 2),
                        "element 3 of \"mount\" is one block too many: at most 2 are allowed"),
                mistake(
                        "mount",
                        List.of(Map.of("readonly", 5)),
                        path("mount", 0, "readonly"),
                        "\"readonly\" should be a bool (true or false), not a number"),
                mistake(
                        "mount",
                        List.of(List.of(Map.of("readonly", true), Map.of("readonly", true))),
                        path("mount", 0, 1, "readonly"),
                        "\"readonly\" is set twice: leave one out"),
                mistake(
                        "env",
                        List.of(List.of()),
                        path("env", 0),
                        "element 1 of \"env\" should be a map of keys and values"),
                mistake("env", Map.of("A", List.of()), path("env", "A"), "\"A\" should be a string, not a list"),
                mistake(
                        "device",
                        Map.of(),
                        path("device"),
                        "\"device\" should have at least one key, which is its path"),
                mistake(
                        "device",
                        Map.of("/dev/a", List.of(Map.of(), Map.of())),
                        path("device", "/dev/a", 1),
                        "element 2 of \"/dev/a\" is a second block with the same labels: leave one out"),
                mistake(
                        "args",
                        List.of("${nope}"),
                        path("args", 0),
                        "element 1 of \"args\" has a name that stands for nothing here; to mean the characters \"${\", write \"$${\""),
                mistake(
                        "args",
                        List.of("${"),
                        path("args", 0),
                        "element 1 of \"args\" lacks the brace that closes a sequence begun with \"${\" or \"%{\"; to mean these characters, write \"$${\" or \"%%{\""),
                mistake(
                        "args",
                        "${[1, {}]}",
                        path("args"),
                        "\"args\" has a part of the wrong type: it should be list(string)"),
                mistake("labels", Map.of("${null}", 1), path("labels", "${null}"), "\"${null}\" is null as a key"),
                mistake(
                        "labels",
                        new LinkedHashMap<>(Map.of("1", 1, "${1}", 2)),
                        null,
                        "is the same key as another one: leave one out"),
                mistake(
                        "args",
                        List.of(Double.NaN),
                        path("args", 0),
                        "element 1 of \"args\" should be a finite number"),
                mistake(
                        "args",
                        List.of(new BigDecimal("1e30000")),
                        path("args", 0),
                        "element 1 of \"args\" is a number of more than 20000 digits"),
                mistake(
                        "args",
                        List.of('x'),
                        path("args", 0),
                        "element 1 of \"args\" should be text, a number, a bool, a list or a map"));
    }

    private static Arguments mistake(String key, Object value, @Nullable List<Object> path, String message) {
        return Arguments.of(key, value, path, message);
    }

    @ParameterizedTest
    @MethodSource("mistakes")
    void aMistakeIsToldAtItsPlace(String key, Object value, @Nullable List<Object> path, String message)
            throws SchemaException {
        List<ConfigProblem> problems = problems(TASK, Map.of("command", "a", key, value));

        assertEquals(1, problems.size(), problems.toString());
        if (path == null) {
            assertTrue(problems.getFirst().message().endsWith(message), problems.toString());
        } else {
            assertEquals(new ConfigProblem(path, message), problems.getFirst());
        }
    }

    @Test
    void aMisspelledKeyGetsASuggestion() throws SchemaException {
        assertEquals(
                List.of(new ConfigProblem(
                        path("arg"), "\"arg\" is no key that this driver knows here; did you mean \"args\"?")),
                problems(TASK, Map.of("command", "a", "arg", 1)));
        ConfigProblem unlike =
                problems(TASK, Map.of("command", "a", "zzzzzzzz", 1)).getFirst();
        assertEquals(path("zzzzzzzz"), unlike.path());
        assertTrue(
                unlike.message().endsWith(" it knows args, auth, command, device, env, labels, limits, mount, pair"),
                unlike::message);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "number | s3cret",
                "bool | s3cret",
                "list(string) | s3cret",
                "number | ${lower(\"S3CRET\")}",
                "string | ${s3cret}",
                "string | s3cret${",
                "string | %{s3cret}",
                "string | ${\"s3cret\" + 1}",
                "string | ${s3cret(1)}",
                "string | ${{a = 1}.s3cret}",
                "string | ${jsondecode(\"s3cret\")}",
                "string | ${\"\\s3cret\"}",
            })
    void noMessageHasAWordOfAValue(String type, String value) throws SchemaException {
        List<ConfigProblem> problems = problems(attribute(type), Map.of("k", value));

        assertEquals(path("k"), problems.getFirst().path());
        assertFalse(problems.toString().toLowerCase(Locale.ROOT).contains("s3cret"), problems.toString());
    }

    @Test
    void whatTakesTooMuchIsAProblemAtItsPlace() throws SchemaException {
        String list = "[" + "1,".repeat(400) + "]";
        String loops = "${[for a in " + list + ": [for b in " + list + ": [for c in " + list + ": [for d in " + list
                + ": 1]]]]}";
        String text = "${[for a in " + list + ": [for b in " + list + ": \"" + "x".repeat(1000) + "${a}\"]]}";
        Map<String, String> hostile = Map.of(
                "steps", loops,
                "characters", text,
                "parentheses", "${" + "(".repeat(100_000) + "1" + ")".repeat(100_000) + "}",
                "operators", "${1" + "+1".repeat(100_000) + "}",
                "signs", "${" + "-".repeat(100_000) + "1}",
                "conditions", "${" + "true ? 1 : ".repeat(100_000) + "1}",
                "directives", "%{if true}".repeat(100_000),
                "brackets", "${[1]" + "[0]".repeat(100_000) + "}",
                "templates", "${\"".repeat(100_000),
                "json", "${jsondecode(\"" + "[".repeat(900) + "\")}");
        for (Map.Entry<String, String> each : hostile.entrySet()) {
            List<ConfigProblem> problems = problems(attribute("any"), Map.of("k", each.getValue()));
            assertEquals(
                    List.of(path("k")),
                    problems.stream().map(ConfigProblem::path).toList(),
                    each.getKey());
            assertTrue(
                    problems.getFirst().message().length() < 200,
                    problems.getFirst().message());
        }
    }

    @Test
    void aListThatIsNestedTooDeepIsAProblem() throws SchemaException {
        Object value = "x";
        for (int i = 0; i < 10_000; i++) {
            value = List.of(value);
        }
        assertTrue(problems(attribute("any"), Map.of("k", value))
                .getFirst()
                .message()
                .endsWith("is nested more than 100 levels deep: write it simpler"));
    }

    @Test
    void aLongListIsConverted() throws SchemaException {
        List<Object> elements = new ArrayList<>(Collections.nCopies(100_000, "a"));
        elements.set(5, 1);
        ConfigConversion conversion =
                DriverSchema.of(Vector.spec(attribute("list(any)"))).convert(Map.of("k", elements));
        assertEquals(
                200_008,
                assertInstanceOf(ConfigConversion.Converted.class, conversion)
                        .msgpack()
                        .size());
    }

    @Test
    void numbersOfAnyKindAreTheSameNumber() throws SchemaException {
        DriverSchema schema = DriverSchema.of(Vector.spec(attribute("number")));
        byte[] expected = converted(schema, 7);
        for (Object seven : Arrays.asList(7L, 7.0, new BigInteger("7"), new BigDecimal("7.00"), "7")) {
            assertArrayEquals(
                    expected, converted(schema, seven), seven.getClass().toString());
        }
    }

    private static byte[] converted(DriverSchema schema, Object value) {
        return assertInstanceOf(ConfigConversion.Converted.class, schema.convert(Map.of("k", value)))
                .msgpack()
                .toByteArray();
    }

    @Test
    void aNullAmongListsOfOneTypeIsAProblem() throws SchemaException {
        assertEquals(
                List.of(path("k")),
                problems(attribute("list(any)"), Map.of("k", Arrays.asList(List.of(1), null))).stream()
                        .map(ConfigProblem::path)
                        .toList());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "{}",
                "{\"object\": {\"attributes\": {\"k\": {}}}}",
                "{\"object\": {\"attributes\": {\"k\": {\"Attr\": {\"type\": \"strin\"}}}}}",
                "{\"object\": {\"attributes\": {\"k\": {\"Attr\": {\"type\": \"\\\"string\\\"\"}}}}}",
                "{\"object\": {\"attributes\": {\"k\": {\"literal\": {\"value\": \"[\"}}}}}",
                "{\"object\": {\"attributes\": {\"k\": {\"blockValue\": {\"name\": \"k\"}}}}}",
                "{\"object\": {\"attributes\": {\"k\": {\"blockMap\": {\"name\": \"k\", \"nested\": {\"object\": {}}}}}}}",
                "{\"object\": {\"attributes\": {\"k\": {\"default\": {\"primary\": {\"Attr\": {\"name\": \"k\", \"type\": \"any\"}}}}}}}",
                "{\"array\": {\"values\": [{\"Attr\": {\"type\": \"any\"}}]}}"
            })
    void aSchemaThatMakesNoSenseIsRefused(String spec) {
        Spec message = Vector.spec(spec);
        SchemaException e = assertThrows(SchemaException.class, () -> DriverSchema.of(message));
        String text = String.valueOf(e.getMessage());
        assertTrue(
                text.startsWith(
                        spec.contains("\"k\"") ? "the driver's schema of \"k\" has " : "the driver's schema has "),
                text);
    }

    @Test
    void aSchemaThatIsNestedTooDeepIsRefused() {
        Spec spec = Vector.spec("{\"literal\": {\"value\": \"1\"}}");
        for (int i = 0; i < 70; i++) {
            spec = Spec.newBuilder()
                    .setArray(Array.newBuilder().addValues(spec))
                    .build();
        }
        Spec deep = spec;
        assertThrows(SchemaException.class, () -> DriverSchema.of(deep));
    }

    @Test
    void aMapOfBlocksOfAnythingIsAProblemWhereItWouldBeRead() throws SchemaException {
        String spec = """
                {"blockMap": {"name": "k", "labels": ["l"], "nested": {"Attr": {"name": "a", "type": "any"}}}}
                """;
        assertEquals(
                path("k"),
                problems(spec, Map.of("k", Map.of("x", Map.of()))).getFirst().path());
    }
}
