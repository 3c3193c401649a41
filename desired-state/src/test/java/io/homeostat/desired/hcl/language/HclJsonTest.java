package io.homeostat.desired.hcl.language;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.desired.hcl.language.HclType.Primitive;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class HclJsonTest {
    @ParameterizedTest
    @CsvSource(
            quoteCharacter = '`',
            delimiter = '|',
            value = {
                "null | null",
                "noText | null",
                "true | true",
                "false | false",
                "1.50 | 1.5",
                "123456789012345678901234567890 | 123456789012345678901234567890",
                "\"\" | \"\"",
                "\"aé\" | \"aé\"",
                "[] | []",
                "[1, \"a\", null] | [1,\"a\",null]",
                "words | [\"a\",\"b\"]",
                "tags | [\"p\",\"q\"]",
                "{} | {}",
                "{ b = [1], a = {} } | {\"a\":{},\"b\":[1]}",
                "ports | {\"http\":80}",
                "{ \"a\\\"\" = 1 } | {\"a\\\"\":1}",
            })
    void aValueIsWrittenAsJson(String expression, String json) {
        assertEquals(json, HclExpressions.json(HclCase.expression(expression)));
    }

    @Test
    void charactersAreEscapedAsGoWritesThem() {
        String text = "\"\\\b\f\n\r\t<>&\u2028\u2029\u0000\u001f /";

        assertEquals(
                "\"\\\"\\\\\\b\\f\\n\\r\\t\\u003c\\u003e\\u0026\\u2028\\u2029\\u0000\\u001f /\"",
                HclExpressions.json(HclValue.of(text)));
    }

    @Test
    void whatJsonDoesNotHaveIsRejected() {
        HclValue infinite = HclValue.of(HclNumber.parse("Inf").orElseThrow());
        HclValue type = HclValue.of(Primitive.STRING);

        assertThrows(HclException.class, () -> HclExpressions.json(infinite));
        assertThrows(HclException.class, () -> HclExpressions.json(type));
    }

    @ParameterizedTest
    @CsvSource(
            quoteCharacter = '`',
            delimiter = '|',
            value = {
                "null | null",
                "true | true",
                "false | false",
                "-1.5e1 | -15",
                "12345678901234567890 | 12345678901234567890",
                "\"a\\n\" | \"a\\n\"",
                "[] | []",
                "[1, [2], \"a\"] | [1, [2], \"a\"]",
                "{} | {}",
                "{\"b\": {\"c\": []}, \"a\": null} | {a=null, b={c=[]}}",
                "{\"a\": 1, \"a\": 2} | {a=2}",
            })
    void jsonIsRead(String json, String notation) {
        assertEquals(notation, HclCase.notation(HclJson.decode(json, new Budget())));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"", "1 2", "[1] x", "[1", "[1,]", "{", "{\"a\"", "]", "nul", "{\"a\":1,\"a\":\"b\"}", "'a'"})
    void whatIsNoJsonIsRejected(String json) {
        HclException e = assertThrows(HclException.class, () -> HclJson.decode(json, new Budget()));

        assertFalse(e.isLimit());
    }

    @Test
    void jsonThatIsNestedTooDeepIsRejected() {
        Budget budget = new Budget();
        String deepest = HclCase.nested("[#]", "", Budget.DEEPEST);
        assertEquals(1, HclJson.decode(deepest, budget).size());
        assertEquals(1, HclJson.decode(deepest, budget).size());

        assertTrue(assertThrows(HclException.class, () -> HclJson.decode("[" + deepest + "]", budget))
                .isLimit());
    }
}
