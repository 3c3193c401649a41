package io.homeostat.desired.hcl.language;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.desired.hcl.language.HclToken.Kind;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class HclScannerTest {
    private static final int LONGEST = 1 << 20;

    static Stream<HclCase> expressions() {
        return HclCase.read("tokens.txt");
    }

    static Stream<HclCase> templates() {
        return HclCase.read("template-tokens.txt");
    }

    private static String notation(List<HclToken> tokens) {
        return tokens.stream()
                .map(each -> each.position() + ":" + each.kind()
                        + (each.text().isEmpty() ? "" : HclCase.quoted(each.text())))
                .collect(Collectors.joining(" "));
    }

    @ParameterizedTest
    @MethodSource("expressions")
    void anExpressionIsDividedIntoTokens(HclCase each) {
        assertEquals(each.outcome(), HclCase.text(() -> notation(HclScanner.expression(each.source()))));
    }

    @ParameterizedTest
    @MethodSource("templates")
    void aTemplateIsDividedIntoTokens(HclCase each) {
        assertEquals(each.outcome(), HclCase.text(() -> notation(HclScanner.template(each.source()))));
    }

    @Test
    void aByteOrderMarkIsNoToken() {
        assertEquals(
                List.of(new HclToken(Kind.NUMBER, "1", 1), new HclToken(Kind.END, "", 2)),
                HclScanner.expression("\uFEFF1"));
        assertEquals(
                List.of(new HclToken(Kind.TEXT, "a\uFEFF", 1), new HclToken(Kind.END, "", 3)),
                HclScanner.template("\uFEFFa\uFEFF"));
    }

    @Test
    void aSourceOfTheGreatestLengthIsRead() {
        assertEquals(
                List.of(new HclToken(Kind.TEXT, " ".repeat(LONGEST), 1), new HclToken(Kind.END, "", LONGEST + 1)),
                HclScanner.template(" ".repeat(LONGEST)));
    }

    @Test
    void aSourceThatIsTooLongIsRejected() {
        String source = " ".repeat(LONGEST + 1);

        assertTrue(assertThrows(HclException.class, () -> HclScanner.template(source))
                .isLimit());
    }
}
