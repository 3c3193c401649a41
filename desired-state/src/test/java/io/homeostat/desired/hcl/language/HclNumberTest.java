package io.homeostat.desired.hcl.language;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.math.BigInteger;
import java.util.Optional;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Numbers as they are written, read and compared. */
class HclNumberTest {
    private static final String DIGITS = "123456789012345678901234567890";

    private static HclNumber number(String text) {
        return HclNumber.parse(text).orElseThrow();
    }

    @ParameterizedTest
    @CsvSource({
        "0, 0",
        "-0, -0",
        "00, 0",
        "0.0, 0",
        "1, 1",
        "+1, 1",
        "-1, -1",
        "007, 7",
        ".5, 0.5",
        "5., 5",
        "-.5, -0.5",
        "1.50, 1.5",
        "1e2, 100",
        "1E2, 100",
        "1e+2, 100",
        "1.5e1, 15",
        "1e-2, 0.01",
        "0.1, 0.1",
        "100, 100",
        "1e21, 1000000000000000000000",
        "123.456, 123.456",
        "0.000001, 0.000001",
        "1p3, 8",
        "1P-1, 0.5",
        "1.5p2, 6",
        "3p-2, 0.75",
        "0e99999999999999999999, 0",
        "-0e5, -0",
        "Inf, +Inf",
        "+inf, +Inf",
        "-Inf, -Inf",
        DIGITS + ", " + DIGITS,
        "-" + DIGITS + ".5, -" + DIGITS + ".5",
    })
    void aNumberIsReadAndWrittenWithTheFewestDigits(String written, String text) {
        assertEquals(text, number(written).text());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                ".",
                "-",
                "e5",
                ".e5",
                "1e",
                "1e+",
                "0x10",
                "1_0",
                " 1",
                "1 ",
                "INF",
                "Infinity",
                "NaN",
                "--1",
                "1.2.3",
                "1p1.5"
            })
    void otherTextIsNoNumber(String text) {
        assertEquals(Optional.empty(), HclNumber.parse(text));
    }

    @Test
    void aNumberMayHaveTwentyThousandDigits() {
        assertTrue(number("1" + "0".repeat(19_999)).isSame(number("1e19999")));
        assertTrue(number("1e20000").isInteger());
        assertFalse(number("1e-20000").isInteger());
        assertEquals("0", number("0e" + "9".repeat(19)).text());
        assertEquals("1", number("1." + "0".repeat(19_999)).text());
    }

    @Test
    void aNumberOfMoreDigitsIsRejected() {
        for (String each : new String[] {
            "1".repeat(20_001),
            "1." + "0".repeat(20_000),
            "1e20001",
            "1e-20001",
            "1p20001",
            "0e" + "9".repeat(21),
            "0." + "0".repeat(20_000)
        }) {
            assertThrows(HclException.class, () -> HclNumber.parse(each));
        }
    }

    /** To 512 bits, and of two equally near numbers to the one whose last bit is 0. */
    @ParameterizedTest
    @CsvSource({
        "512, -1, -1", "512, 0, 0", "512, 1, 0", "512, 2, 2", "512, 3, 4", "512, 5, 4", "512, 6, 6", "512, 7, 8",
        "513, 1, 0", "513, 2, 0", "513, 3, 4", "513, 5, 4", "513, 6, 8", "513, 7, 8", "513, 9, 8", "513, 10, 8",
        "513, 11, 12",
    })
    void aLongerNumberIsRounded(int power, int added, int rounded) {
        BigInteger base = BigInteger.TWO.pow(power);
        String written = base.add(BigInteger.valueOf(added)).toString();
        String nearest = base.add(BigInteger.valueOf(rounded)).toString();

        assertEquals(0, number(written).compare(number(nearest)));
        assertEquals(0, number("-" + written).compare(number("-" + nearest)));
    }

    @Test
    void aRoundedNumberIsWrittenAsItIsKept() {
        BigInteger base = BigInteger.TWO.pow(512);

        assertEquals(
                base.add(BigInteger.valueOf(4)).toString(),
                number(base.add(BigInteger.valueOf(3)).toString()).text());
    }

    @ParameterizedTest
    @CsvSource({
        "0, 0",
        "-0, 0",
        "-7, -7",
        "1e3, 1000",
        "4.0, 4",
        "9223372036854775807, 9223372036854775807",
        "-9223372036854775808, -9223372036854775808",
        "4611686018427387904, 4611686018427387904",
    })
    void aWholeNumberOfSixtyFourBitsIsALong(String written, long expected) {
        assertEquals(OptionalLong.of(expected), number(written).exactLong());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "1.5",
                "0.1",
                "Inf",
                "-Inf",
                "9223372036854775808",
                "-9223372036854775809",
                "18446744073709551616",
                "1e30",
                "1e20000"
            })
    void otherNumbersAreNoLongs(String written) {
        assertEquals(OptionalLong.empty(), number(written).exactLong());
    }

    @ParameterizedTest
    @CsvSource(
            nullValues = "none",
            value = {
                "1.5, 1.5",
                "-2.25, -2.25",
                "Inf, Infinity",
                "-Inf, -Infinity",
                "1p-1074, 4.9E-324",
                "1p-1022, 2.2250738585072014E-308",
                "9007199254740991p-1, 4503599627370495.5",
                "-9007199254740991p-1074, -4.4501477170144023E-308",
                "9007199254740993p-1, none",
                "1p-1075, none",
                "3p-1075, none",
                "1p-1080, none",
                "0.1, none",
                "1, none",
                "0, none",
                "1e20, none",
            })
    void aFractionIsADoubleWhenThatIsExact(String written, @Nullable Double expected) {
        assertEquals(expected, number(written).exactFraction());
    }

    @ParameterizedTest
    @CsvSource({
        "0, 0, 0",
        "0, -0, 0",
        "1, 1, 0",
        "1, 2, -1",
        "2, 1, 1",
        "-1, 1, -1",
        "1, -1, 1",
        "-1, -2, 1",
        "-2, -1, -1",
        "0, 1, -1",
        "1, 0, 1",
        "0, -1, 1",
        "-1, 0, -1",
        "0.1, 0.1, 0",
        "0.5, 0.25, 1",
        "3, 2.5, 1",
        "2.5, 3, -1",
        "5, 4, 1",
        "4, 5, -1",
        "-4, -5, 1",
        "8, 7, 1",
        "-8, -7, -1",
        "1e20000, 1e-20000, 1",
        "1e-20000, 1e20000, -1",
        "Inf, 1, 1",
        "1, Inf, -1",
        "-Inf, -1, -1",
        "-1, -Inf, 1",
        "-Inf, Inf, -1",
        "Inf, Inf, 0",
        "-Inf, -Inf, 0",
        "Inf, 0, 1",
        "0, -Inf, 1",
    })
    void numbersAreOrdered(String one, String other, int order) {
        assertEquals(order, Integer.signum(number(one).compare(number(other))));
        assertEquals(order == 0, number(one).isSame(number(other)));
    }

    @Test
    void fractionsAreTheSameWhenTheyAreWrittenTheSame() {
        assertTrue(number("0.1").isSame(number("0.10")));
        assertFalse(number("0.1").isSame(number("0.2")));
        assertFalse(number("1").isSame(number("1.5")));
        assertFalse(number("1.5").isSame(number("1")));
        assertFalse(number("Inf").isSame(number("1")));
        assertFalse(number("1").isSame(number("Inf")));
    }

    /** As it is written within a compound element of a set. */
    @ParameterizedTest
    @CsvSource({
        "0, 0",
        "-0, -0",
        "Inf, +Inf",
        "1, 1",
        "-1.5, -1.5",
        "10, 10",
        "1234567890, 1234567890",
        "1000000000, 1000000000",
        "9999999999, 9999999999",
        "10000000000, 1e+10",
        "12345678901, 1.23456789e+10",
        "12345678955, 1.234567896e+10",
        "123456789.55, 123456789.6",
        "99999999999, 1e+11",
        "1e99, 1e+99",
        "1e100, 1e+100",
        "0.0001, 0.0001",
        "0.00012345678901, 0.000123456789",
        "0.00001, 1e-05",
        "-0.000025, -2.5e-05",
        "2.5e-10, 2.5e-10",
        "1e-100, 1e-100",
    })
    void aNumberIsSortedByTenDigits(String written, String text) {
        assertEquals(text, number(written).sortedText());
    }

    @ParameterizedTest
    @CsvSource({
        "0, 0",
        "-0, 0",
        "1, 1",
        "-1, -1",
        "0.5, 1",
        "Inf, 1",
        "-Inf, -1",
    })
    void aNumberHasASign(String written, int sign) {
        assertEquals(sign, number(written).signum());
    }

    @Test
    void infinityIsNoInteger() {
        assertTrue(number("Inf").isInfinite());
        assertFalse(number("Inf").isInteger());
        assertFalse(number("1").isInfinite());
        assertTrue(number("2").isInteger());
        assertFalse(number("2.5").isInteger());
    }

    @Test
    void aCountIsANumber() {
        assertEquals("0", HclNumber.of(0).text());
        assertEquals("-5", HclNumber.of(-5).text());
        assertEquals(
                OptionalLong.of(Long.MIN_VALUE), HclNumber.of(Long.MIN_VALUE).exactLong());
        assertEquals("9223372036854775807", HclNumber.of(Long.MAX_VALUE).text());
    }
}
