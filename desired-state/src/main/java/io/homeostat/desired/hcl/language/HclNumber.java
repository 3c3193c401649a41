package io.homeostat.desired.hcl.language;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.MathContext;
import java.math.RoundingMode;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A binary floating point number as HCL calculates with it: of any size, with a precision in bits that results inherit from their
 * operands. 0.1 is what 512 bits make of it, and is written "0.1" again because that is the shortest text that means the same bits.
 * Zero has a sign, and there are two infinities.
 */
public final class HclNumber {
    /** Bits of a number that was written. */
    private static final int WRITTEN_PRECISION = 512;

    /** Bits of a number that was counted. */
    private static final int COUNTED_PRECISION = 64;

    /** Digits before or after the point that a number may be written with; larger ones would only serve to fill the memory. */
    private static final int MOST_DIGITS = 20_000;

    private static final Pattern WRITTEN = Pattern.compile(
            "(?<sign>[+-]?)(?:(?<inf>Inf|inf)|(?<whole>[0-9]*)(?:\\.(?<fraction>[0-9]*))?(?:(?<base>[eEpP])(?<exponent>[+-]?[0-9]+))?)");

    /** Digits of a number within an element of a set, by which sets are sorted. */
    private static final MathContext SORTED_DIGITS = new MathContext(10, RoundingMode.HALF_EVEN);

    private final boolean negative;
    private final boolean infinite;
    /** Odd, or zero; the value is this times two to the power of {@link #exponent}. */
    private final BigInteger mantissa;

    private final int exponent;
    private final int precision;

    private HclNumber(boolean negative, boolean infinite, BigInteger mantissa, int exponent, int precision) {
        int zeros = mantissa.signum() == 0 ? 0 : mantissa.getLowestSetBit();
        this.negative = negative;
        this.infinite = infinite;
        this.mantissa = mantissa.shiftRight(zeros);
        this.exponent = mantissa.signum() == 0 ? 0 : exponent + zeros;
        this.precision = precision;
    }

    static HclNumber of(long counted) {
        return rounded(counted < 0, BigInteger.valueOf(counted).abs(), 0, COUNTED_PRECISION);
    }

    /** Empty when the text is no number. */
    public static Optional<HclNumber> parse(String text) {
        Matcher matcher = WRITTEN.matcher(text);
        if (!matcher.matches()) {
            return Optional.empty();
        }
        boolean negative = "-".equals(matcher.group("sign"));
        if (matcher.group("inf") != null) {
            return Optional.of(new HclNumber(negative, true, BigInteger.ZERO, 0, WRITTEN_PRECISION));
        }
        String whole = text(matcher, "whole");
        String fraction = text(matcher, "fraction");
        if (whole.isEmpty() && fraction.isEmpty()) {
            return Optional.empty();
        }
        String exponentDigits = text(matcher, "exponent");
        if (whole.length() + fraction.length() > MOST_DIGITS || exponentDigits.length() > 20) {
            throw tooLong();
        }
        BigInteger digits = new BigInteger(whole + fraction);
        BigInteger shift = exponentDigits.isEmpty() ? BigInteger.ZERO : new BigInteger(exponentDigits);
        if (digits.signum() != 0 && shift.abs().compareTo(BigInteger.valueOf(MOST_DIGITS)) > 0) {
            throw tooLong();
        }
        if (digits.signum() == 0) {
            return Optional.of(new HclNumber(negative, false, BigInteger.ZERO, 0, WRITTEN_PRECISION));
        }
        boolean binary =
                "pP".contains(text(matcher, "base")) && !text(matcher, "base").isEmpty();
        int tens = (binary ? 0 : shift.intValueExact()) - fraction.length();
        int twos = binary ? shift.intValueExact() : 0;
        BigInteger power = BigInteger.TEN.pow(Math.abs(tens));
        return Optional.of(
                tens >= 0
                        ? rounded(negative, digits.multiply(power), twos, WRITTEN_PRECISION)
                        : quotient(negative, digits, power, twos, WRITTEN_PRECISION));
    }

    private static HclException tooLong() {
        return HclException.of("is a number of more than " + MOST_DIGITS + " digits");
    }

    private static String text(Matcher matcher, String group) {
        String found = matcher.group(group);
        return found == null ? "" : found;
    }

    /** To the nearest, of two equally near to the one whose last bit is 0. */
    private static HclNumber rounded(boolean negative, BigInteger mantissa, int exponent, int precision) {
        int excess = mantissa.bitLength() - precision;
        if (excess <= 0) {
            return new HclNumber(negative, false, mantissa, exponent, precision);
        }
        BigInteger kept = mantissa.shiftRight(excess);
        boolean half = mantissa.testBit(excess - 1);
        boolean exactly = mantissa.getLowestSetBit() >= excess - 1;
        if (half && (!exactly || kept.testBit(0))) {
            kept = kept.add(BigInteger.ONE);
        }
        return new HclNumber(negative, false, kept, exponent + excess, precision);
    }

    private static HclNumber quotient(boolean negative, BigInteger a, BigInteger b, int exponent, int precision) {
        int shift = Math.max(0, precision + 2 + b.bitLength() - a.bitLength());
        BigInteger[] result = a.shiftLeft(shift).divideAndRemainder(b);
        // One more bit says whether anything is left, so that a half is told from a little more.
        BigInteger sticky = result[0].shiftLeft(1).or(result[1].signum() == 0 ? BigInteger.ZERO : BigInteger.ONE);
        return rounded(negative, sticky, exponent - shift - 1, precision);
    }

    boolean isInfinite() {
        return infinite;
    }

    boolean isInteger() {
        return !infinite && exponent >= 0;
    }

    int signum() {
        return infinite || mantissa.signum() != 0 ? (negative ? -1 : 1) : 0;
    }

    private BigInteger signed() {
        return negative ? mantissa.negate() : mantissa;
    }

    /** Without what is behind the point. */
    private BigInteger whole() {
        BigInteger shifted = exponent >= 0 ? mantissa.shiftLeft(exponent) : mantissa.shiftRight(-exponent);
        return negative ? shifted.negate() : shifted;
    }

    HclNumber truncated() {
        if (isInteger()) {
            return this;
        }
        BigInteger whole = whole();
        return rounded(whole.signum() < 0, whole.abs(), 0, Math.max(COUNTED_PRECISION, whole.bitLength()));
    }

    HclNumber negated() {
        return new HclNumber(!negative, infinite, mantissa, exponent, precision);
    }

    HclNumber absolute() {
        return new HclNumber(false, infinite, mantissa, exponent, precision);
    }

    HclNumber plus(HclNumber other) {
        return plus(other, Math.max(precision, other.precision));
    }

    private HclNumber plus(HclNumber other, int bits) {
        if (infinite || other.infinite) {
            if (infinite && other.infinite && negative != other.negative) {
                throw HclException.of("adds opposing infinities");
            }
            return infinite ? this : other;
        }
        checkDistance(other);
        int common = Math.min(exponent, other.exponent);
        BigInteger sum =
                signed().shiftLeft(exponent - common).add(other.signed().shiftLeft(other.exponent - common));
        boolean below = sum.signum() < 0 || (sum.signum() == 0 && negative && other.negative && signum() == 0);
        return rounded(below, sum.abs(), common, bits);
    }

    private void checkDistance(HclNumber other) {
        if (Math.abs((long) exponent - other.exponent) > 8L * MOST_DIGITS) {
            throw HclException.of("calculates with numbers of more than " + MOST_DIGITS + " digits");
        }
    }

    HclNumber minus(HclNumber other) {
        return plus(other.negated());
    }

    HclNumber times(HclNumber other) {
        boolean below = negative != other.negative;
        if (infinite || other.infinite) {
            if (signum() == 0 || other.signum() == 0) {
                throw HclException.of("multiplies zero by infinity");
            }
            return new HclNumber(below, true, BigInteger.ZERO, 0, WRITTEN_PRECISION);
        }
        HclNumber product =
                rounded(below, mantissa.multiply(other.mantissa), exponent + other.exponent, WRITTEN_PRECISION);
        checkRange(product);
        int bits = Math.max(Math.max(precision, other.precision), product.mantissa.bitLength());
        return new HclNumber(below, false, product.mantissa, product.exponent, bits);
    }

    private static void checkRange(HclNumber number) {
        if (Math.abs((long) number.exponent) > 4L * MOST_DIGITS) {
            throw HclException.of("calculates a number of more than " + MOST_DIGITS + " digits");
        }
    }

    HclNumber dividedBy(HclNumber other) {
        boolean below = negative != other.negative;
        int bits = Math.max(precision, other.precision);
        boolean zero = signum() == 0;
        boolean byZero = other.signum() == 0;
        if ((infinite && other.infinite) || (zero && byZero)) {
            throw HclException.of("divides zero by zero or infinity by infinity");
        }
        if (infinite || byZero) {
            return new HclNumber(below, true, BigInteger.ZERO, 0, bits);
        }
        if (zero || other.infinite) {
            return new HclNumber(below, false, BigInteger.ZERO, 0, bits);
        }
        HclNumber result = quotient(below, mantissa, other.mantissa, exponent - other.exponent, bits);
        checkRange(result);
        return result;
    }

    /** What is left of a division that is rounded towards zero; by zero, the number itself. */
    HclNumber modulo(HclNumber other) {
        if (!other.infinite && other.signum() == 0) {
            return this;
        }
        if (infinite || other.infinite) {
            throw HclException.of("divides by or into infinity");
        }
        BigInteger times = dividedBy(other).whole();
        HclNumber whole = rounded(times.signum() < 0, times.abs(), 0, precision);
        HclNumber multiple = rounded(
                other.negative != whole.negative,
                other.mantissa.multiply(whole.mantissa),
                other.exponent + whole.exponent,
                precision);
        return plus(multiple.negated(), precision);
    }

    int compare(HclNumber other) {
        if (signum() != other.signum() || signum() == 0) {
            return Integer.compare(signum(), other.signum());
        }
        if (infinite || other.infinite) {
            return infinite == other.infinite ? 0 : (infinite ? signum() : -signum());
        }
        // Lengths tell nearly all of them apart, without shifting by a large exponent.
        long length = (long) mantissa.bitLength() + exponent;
        long otherLength = (long) other.mantissa.bitLength() + other.exponent;
        if (length != otherLength) {
            return Long.compare(length, otherLength) * signum();
        }
        int common = Math.min(exponent, other.exponent);
        return signed().shiftLeft(exponent - common).compareTo(other.signed().shiftLeft(other.exponent - common));
    }

    /** Numbers that are written the same are the same, even when their bits differ. */
    boolean isSame(HclNumber other) {
        if (signum() != other.signum() || infinite != other.infinite) {
            return false;
        }
        if (infinite) {
            return true;
        }
        if (isInteger() || other.isInteger()) {
            return isInteger() && other.isInteger() && compare(other) == 0;
        }
        return compare(other) == 0 || text().equals(other.text());
    }

    /** Empty unless it is exactly one. */
    public OptionalLong exactLong() {
        return isInteger() && mantissa.bitLength() + (long) exponent <= Long.SIZE && whole().bitLength() < Long.SIZE
                ? OptionalLong.of(whole().longValueExact())
                : OptionalLong.empty();
    }

    /** The exact double for an infinity or a number with a fraction, null when there is none. */
    public @Nullable Double exactFraction() {
        if (infinite) {
            return negative ? Double.NEGATIVE_INFINITY : Double.POSITIVE_INFINITY;
        }
        if (isInteger() || mantissa.bitLength() > 53) {
            return null;
        }
        double value = Math.scalb(signed().doubleValue(), exponent);
        boolean exact = value != 0 && exponent >= -1074 && !Double.isInfinite(value);
        return exact ? (Double) value : null;
    }

    private BigDecimal exactDecimal() {
        return exponent >= 0
                ? new BigDecimal(mantissa.shiftLeft(exponent))
                : new BigDecimal(mantissa.multiply(BigInteger.valueOf(5).pow(-exponent)), -exponent);
    }

    /** The fewest digits that mean this number at its precision, without an exponent. */
    public String text() {
        String sign = negative ? "-" : "";
        if (infinite) {
            return negative ? "-Inf" : "+Inf";
        }
        return mantissa.signum() == 0 ? sign + "0" : sign + shortest().toPlainString();
    }

    private BigDecimal shortest() {
        int length = mantissa.bitLength();
        if (isInteger() && (long) length + exponent < precision) {
            // Its neighbours are closer than any other integer.
            return plain(exactDecimal());
        }
        // The value, and the two half-way points to its neighbours, in units of half the last bit.
        BigInteger halves = mantissa.shiftLeft(precision + 1 - length);
        int unit = exponent - (precision + 1 - length);
        BigDecimal exact = exactDecimal().stripTrailingZeros();
        String digits = exact.unscaledValue().toString();
        String lower = digits(halves.subtract(BigInteger.ONE), unit);
        String upper = digits(halves.add(BigInteger.ONE), unit);
        // At exactly half way, reading rounds to the even one.
        boolean inclusive = !halves.testBit(1);
        for (int i = 0; i < digits.length(); i++) {
            char digit = digits.charAt(i);
            char below = i < lower.length() ? lower.charAt(i) : '0';
            char above = i < upper.length() ? upper.charAt(i) : '0';
            boolean down = below != digit || (inclusive && i + 1 == lower.length());
            boolean up = digit != above && (inclusive || digit + 1 < above || i + 1 < upper.length());
            if (down || up) {
                RoundingMode mode = down && up ? RoundingMode.HALF_EVEN : down ? RoundingMode.DOWN : RoundingMode.UP;
                return plain(exact.round(new MathContext(i + 1, mode)));
            }
        }
        return plain(exact);
    }

    private static BigDecimal plain(BigDecimal number) {
        BigDecimal stripped = number.stripTrailingZeros();
        return stripped.scale() < 0 ? stripped.setScale(0) : stripped;
    }

    private static String digits(BigInteger mantissa, int exponent) {
        BigDecimal exact = exponent >= 0
                ? new BigDecimal(mantissa.shiftLeft(exponent))
                : new BigDecimal(mantissa.multiply(BigInteger.valueOf(5).pow(-exponent)), -exponent);
        return exact.stripTrailingZeros().unscaledValue().toString();
    }

    /** Ten digits, with an exponent when it is very large or small: how it counts when compound elements of a set are sorted. */
    String sortedText() {
        if (infinite || mantissa.signum() == 0) {
            return text();
        }
        BigDecimal rounded = exactDecimal().round(SORTED_DIGITS).stripTrailingZeros();
        String digits = rounded.unscaledValue().toString();
        int point = digits.length() - rounded.scale();
        int most = digits.length() < 10 && digits.length() >= point ? digits.length() : 10;
        int power = point - 1;
        String sign = negative ? "-" : "";
        if (power >= -4 && power < most) {
            return sign + plain(rounded).toPlainString();
        }
        String fraction = digits.length() == 1 ? "" : "." + digits.substring(1);
        String exponentDigits = (Math.abs(power) < 10 ? "0" : "") + Math.abs(power);
        return sign + digits.charAt(0) + fraction + "e" + (power < 0 ? "-" : "+") + exponentDigits;
    }
}
