package io.homeostat.desired.yaml;

/**
 * What a scalar without quotes means: the core schema of YAML 1.2.2 (section 10.3.2). Where YAML 1.1 and 1.2 read different
 * numbers ({@code 010}, {@code 1_000}), it is {@link #AMBIGUOUS} and nobody's guess. {@code yes}, {@code off} and dates are text.
 */
enum Plain {
    NULL("nothing"),
    TRUE("true"),
    FALSE("false"),
    INTEGER("a number"),
    FRACTION("a number"),
    AMBIGUOUS("a number"),
    TEXT("text");

    private final String described;

    Plain(String described) {
        this.described = described;
    }

    String described() {
        return described;
    }

    static Plain of(String text) {
        return switch (text) {
            case "", "~", "null", "Null", "NULL" -> NULL;
            case "true", "True", "TRUE" -> TRUE;
            case "false", "False", "FALSE" -> FALSE;
            default -> mayBeNumber(text) ? number(text) : TEXT;
        };
    }

    private static boolean mayBeNumber(String text) {
        char first = text.charAt(0);
        return isDigit(first) || first == '-' || first == '+' || first == '.';
    }

    private static Plain number(String text) {
        int at = text.charAt(0) == '-' || text.charAt(0) == '+' ? 1 : 0;
        String rest = text.substring(at);
        switch (rest) {
            case ".inf", ".Inf", ".INF", ".nan", ".NaN", ".NAN" -> {
                return AMBIGUOUS;
            }
            default -> {}
        }
        if (rest.startsWith("0x") || rest.startsWith("0o") || rest.startsWith("0b")) {
            return rest.chars().skip(2).allMatch(c -> Character.digit(c, 16) >= 0 || c == '_') && rest.length() > 2
                    ? AMBIGUOUS
                    : TEXT;
        }
        return decimal(rest);
    }

    private static Plain decimal(String text) {
        int whole = skipDigits(text, 0);
        boolean ambiguous = text.indexOf('_') >= 0 || (whole > 1 && text.charAt(0) == '0');
        if (whole == text.length()) {
            return whole == 0 ? TEXT : ambiguous ? AMBIGUOUS : INTEGER;
        }
        int at = whole;
        int digits = whole;
        if (text.charAt(at) == '.') {
            int end = skipDigits(text, at + 1);
            digits += end - at - 1;
            at = end;
        }
        if (digits == 0) {
            return TEXT;
        }
        if (at < text.length() && (text.charAt(at) == 'e' || text.charAt(at) == 'E')) {
            at++;
            if (at < text.length() && (text.charAt(at) == '-' || text.charAt(at) == '+')) {
                at++;
            }
            int end = skipDigits(text, at);
            at = end == at ? -1 : end;
        }
        return at == text.length() ? ambiguous ? AMBIGUOUS : FRACTION : TEXT;
    }

    private static int skipDigits(String text, int from) {
        int at = from;
        while (at < text.length() && (isDigit(text.charAt(at)) || (text.charAt(at) == '_' && at > 0))) {
            at++;
        }
        return at;
    }

    private static boolean isDigit(char c) {
        return c >= '0' && c <= '9';
    }
}
