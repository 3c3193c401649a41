package io.homeostat.desired.hcl.language;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Text as HCL sees it: characters are what people take for one (grapheme clusters), white space is that of Unicode. */
final class HclText {
    private static final Pattern CLUSTER = Pattern.compile("\\X");

    private HclText() {}

    static List<String> characters(String text) {
        List<String> characters = new ArrayList<>();
        Matcher matcher = CLUSTER.matcher(text);
        while (matcher.find()) {
            String cluster = matcher.group();
            int start = 0;
            for (int i = 1; i < cluster.length(); i++) {
                if (isConjunct(cluster.charAt(i - 1), cluster.charAt(i))) {
                    characters.add(cluster.substring(start, i));
                    start = i;
                }
            }
            characters.add(cluster.substring(start));
        }
        return characters;
    }

    /** Of Indic scripts: in one cluster since Unicode 15.1, but HCL counts as Unicode 15.0 does. */
    private static boolean isConjunct(char before, char letter) {
        return letter >= '\u0900'
                && letter <= '\u0D7F'
                && Character.getType(letter) == Character.OTHER_LETTER
                && (before == '\u200D' || Character.getType(before) == Character.NON_SPACING_MARK);
    }

    static boolean isSpace(int point) {
        return switch (point) {
            case '\t', '\n', 11, '\f', '\r', ' ', 0x85, 0xA0 -> true;
            default -> Character.isSpaceChar(point);
        };
    }

    static String trimLeft(String text) {
        int start = 0;
        while (start < text.length() && isSpace(text.codePointAt(start))) {
            start++;
        }
        return text.substring(start);
    }

    static String trimRight(String text) {
        int end = text.length();
        while (end > 0 && isSpace(text.codePointBefore(end))) {
            end--;
        }
        return text.substring(0, end);
    }

    static String trim(String text) {
        return trimLeft(trimRight(text));
    }

    /** What a token of literal text means: a doubled sign before a brace is one, and within quotes a backslash escapes. */
    static String unescaped(HclToken token) {
        String text = token.text();
        boolean quoted = token.is(HclToken.Kind.QUOTED_TEXT);
        StringBuilder result = new StringBuilder();
        int at = 0;
        while (at < text.length()) {
            if (text.startsWith("$${", at) || text.startsWith("%%{", at)) {
                result.append(text, at + 1, at + 3);
                at += 3;
            } else if (quoted && text.charAt(at) == '\\') {
                at = escape(text, at, result, token.position());
            } else {
                result.append(text.charAt(at++));
            }
        }
        return result.toString();
    }

    private static int escape(String text, int at, StringBuilder result, int position) {
        char selector = at + 1 < text.length() ? text.charAt(at + 1) : 0;
        int digits = selector == 'u' ? 4 : selector == 'U' ? 8 : 0;
        if (digits > 0) {
            int end = at + 2 + digits;
            if (end > text.length() || !text.substring(at + 2, end).matches("[0-9a-fA-F]+")) {
                throw escapeError(digits + " hexadecimal digits have to follow", position + at);
            }
            long point = Long.parseLong(text.substring(at + 2, end), 16);
            if (point > Character.MAX_CODE_POINT
                    || (point >= Character.MIN_SURROGATE && point <= Character.MAX_SURROGATE)) {
                throw escapeError("there is no such character", position + at);
            }
            result.appendCodePoint((int) point);
            return end;
        }
        result.append(
                switch (selector) {
                    case 'n' -> '\n';
                    case 'r' -> '\r';
                    case 't' -> '\t';
                    case '"' -> '"';
                    case '\\' -> '\\';
                    default ->
                        throw escapeError("one of n, r, t, u, U, quote and backslash has to follow", position + at);
                });
        return at + 2;
    }

    private static HclException escapeError(String remedy, int position) {
        return HclException.at(
                position, "has a backslash at character " + position + " that escapes nothing: " + remedy);
    }
}
