package io.homeostat.desired.hcl.language;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What operators and functions calculate. */
class HclNumberArithmeticTest {
    private static HclNumber number(String text) {
        return HclNumber.parse(text).orElseThrow();
    }

    private static HclNumber calculated(String left, char operator, String right) {
        return calculated(number(left), operator, number(right));
    }

    private static HclNumber calculated(HclNumber left, char operator, HclNumber right) {
        return switch (operator) {
            case '+' -> left.plus(right);
            case '-' -> left.minus(right);
            case '*' -> left.times(right);
            case '/' -> left.dividedBy(right);
            default -> left.modulo(right);
        };
    }

    @ParameterizedTest
    @CsvSource({
        "1, +, 2, 3",
        "1.5, +, 0.25, 1.75",
        "0.1, +, 0.2, 0.3",
        "1, +, -1, 0",
        "-1, +, -2, -3",
        "0, +, 0, 0",
        "-0, +, -0, -0",
        "-0, +, 0, 0",
        "0, +, -0, 0",
        "1024, +, 0.5, 1024.5",
        "Inf, +, 1, +Inf",
        "1, +, -Inf, -Inf",
        "Inf, +, Inf, +Inf",
        "-Inf, +, -Inf, -Inf",
        "1, -, 3, -2",
        "1, -, Inf, -Inf",
        "2, *, 3, 6",
        "-2, *, 3, -6",
        "-2, *, -3, 6",
        "0.1, *, 3, 0.3",
        "0.5, *, 0.5, 0.25",
        "0, *, -3, -0",
        "Inf, *, 2, +Inf",
        "-2, *, Inf, -Inf",
        "-Inf, *, -Inf, +Inf",
        "7, /, 2, 3.5",
        "-7, /, 2, -3.5",
        "-7, /, -2, 3.5",
        "1, /, 10, 0.1",
        "1, /, 0, +Inf",
        "1, /, -0, -Inf",
        "-1, /, 0, -Inf",
        "Inf, /, 2, +Inf",
        "Inf, /, 0, +Inf",
        "0, /, 5, 0",
        "0, /, -5, -0",
        "5, /, Inf, 0",
        "-5, /, Inf, -0",
        "7, %, 3, 1",
        "-7, %, 3, -1",
        "7, %, -3, 1",
        "-7, %, -3, -1",
        "5.5, %, 2, 1.5",
        "6, %, 3, 0",
        "2, %, 5, 2",
        "7, %, 0, 7",
        "Inf, %, 0, +Inf",
    })
    void twoNumbersAreCalculatedWith(String left, char operator, String right, String result) {
        assertEquals(result, calculated(left, operator, right).text());
    }

    @ParameterizedTest
    @CsvSource({
        "Inf, +, -Inf",
        "-Inf, +, Inf",
        "Inf, -, Inf",
        "0, *, Inf",
        "Inf, *, 0",
        "0, /, 0",
        "Inf, /, Inf",
        "Inf, %, 2",
        "2, %, Inf",
    })
    void whatHasNoResultIsRejected(String left, char operator, String right) {
        assertThrows(HclException.class, () -> calculated(left, operator, right));
    }

    @Test
    void numbersThatBecomeTooLongAreRejected() {
        HclNumber large = number("1p20000").times(number("1p20000")).times(number("1p20000"));
        HclNumber small = number("1p-20000");

        assertEquals(
                0, large.times(number("1p20000")).dividedBy(number("1p20000")).compare(large));
        assertThrows(HclException.class, () -> large.times(number("1p20000")).times(number("2")));
        assertThrows(HclException.class, () -> large.dividedBy(small).dividedBy(number("0.5")));
    }

    @Test
    void numbersThatAreTooFarApartAreNotAdded() {
        HclNumber small = number("0." + "0".repeat(19_000) + "1e-20000");
        HclNumber large = number("1p20000");
        HclNumber larger = large.times(large).times(number("1p10000"));

        assertEquals(0, large.plus(small).compare(large));
        assertThrows(HclException.class, () -> larger.plus(small));
        assertThrows(HclException.class, () -> small.minus(larger));
    }

    @Test
    void theResultHasTheGreaterPrecisionOfItsOperands() {
        HclNumber third = HclNumber.of(1).dividedBy(HclNumber.of(3));

        assertEquals("0.33333333333333333334", third.text());
        assertEquals("0.6666666666666666667", third.plus(third).text());
        assertEquals("0.1", HclNumber.of(1).dividedBy(number("10")).text());
        assertEquals(number("0.1").compare(HclNumber.of(1).dividedBy(number("10"))), 0);
        assertEquals(number("0.1").compare(number("1").dividedBy(HclNumber.of(10))), 0);
        assertEquals(
                "0." + "3".repeat(154) + "5", number("1").dividedBy(number("3")).text());
        assertEquals(
                "0.1" + "0".repeat(153) + "3", number("1").minus(number("0.9")).text());
    }

    @Test
    void fractionsOfDifferentPrecisionAreTheSameWhenTheyAreWrittenTheSame() {
        HclNumber shorter = HclNumber.of(1).dividedBy(HclNumber.of(10));

        assertNotEquals(0, shorter.compare(number("0.1")));
        assertTrue(shorter.isSame(number("0.1")));
        assertFalse(shorter.isSame(number("0.2")));
    }

    /** To 64 bits, as whole numbers of the program are kept; the digits are those that no shorter number rounds to. */
    @ParameterizedTest
    @CsvSource({
        "2, 3, 0.6666666666666666667",
        "1, 6, 0.16666666666666666667",
        "5, 6, 0.8333333333333333333",
        "1, 7, 0.14285714285714285714",
        "2, 7, 0.28571428571428571428",
        "22, 7, 3.1428571428571428572",
        "1, 9, 0.11111111111111111111",
        "8, 9, 0.8888888888888888889",
        "1, 11, 0.09090909090909090909",
        "10, 11, 0.90909090909090909093",
        "1, 13, 0.07692307692307692308",
        "100, 3, 33.333333333333333332",
        "1000, 7, 142.85714285714285714",
        "1, 1000, 0.001",
        "1, 1024, 0.0009765625",
        "3, 1000, 0.003",
        "123456789, 1000, 123456.789",
        "999, 1000, 0.999",
        "1, 99, 0.01010101010101010101",
        "98, 99, 0.989898989898989899",
        "1000000000000000, 3, 333333333333333.33334",
        "100000000000000000, 7, 14285714285714285.714",
        "1000000000000000000, 3, 333333333333333333.34",
        "7, 10000000000, 0.0000000007",
    })
    void aQuotientIsWrittenWithTheFewestDigits(long dividend, long divisor, String text) {
        HclNumber quotient = HclNumber.of(dividend).dividedBy(HclNumber.of(divisor));

        assertEquals(text, quotient.text());
        assertEquals("-" + text, quotient.negated().text());
    }

    @Test
    void theResultIsRounded() {
        HclNumber large = number("1p600");

        assertEquals(0, large.plus(number("1")).compare(large));
        assertEquals(
                "18446744073709551616",
                HclNumber.of(Long.MAX_VALUE)
                        .plus(HclNumber.of(Long.MAX_VALUE))
                        .plus(HclNumber.of(3))
                        .text());
    }

    @ParameterizedTest
    @CsvSource({"1, -1", "-1.5, 1.5", "0, -0", "-0, 0", "Inf, -Inf"})
    void aNumberIsNegated(String written, String negated) {
        assertEquals(negated, number(written).negated().text());
    }

    @ParameterizedTest
    @CsvSource({"1, 1", "-1.5, 1.5", "-0, 0", "-Inf, +Inf"})
    void aNumberHasAnAbsoluteValue(String written, String absolute) {
        assertEquals(absolute, number(written).absolute().text());
    }

    @ParameterizedTest
    @CsvSource({
        "1.9, 1",
        "-1.9, -1",
        "0.5, 0",
        "-0.5, 0",
        "1e30, 1000000000000000000000000000000",
        "123456789012345678901234567890.7, 123456789012345678901234567890",
    })
    void aNumberIsTruncatedTowardsZero(String written, String truncated) {
        assertEquals(truncated, number(written).truncated().text());
    }

    @Test
    void aWholeNumberIsItsOwnTruncation() {
        HclNumber whole = number("7");

        assertSame(whole, whole.truncated());
    }
}
