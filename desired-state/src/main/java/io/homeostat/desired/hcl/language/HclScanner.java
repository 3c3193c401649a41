package io.homeostat.desired.hcl.language;

import io.homeostat.desired.hcl.language.HclToken.Kind;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;

/** Divides an expression or a template into tokens; templates and expressions may stand within each other. */
final class HclScanner {
    private static final List<String> SYMBOLS = List.of(
            "...", "==", "!=", ">=", "<=", "&&", "||", "::", "=>", "[", "]", "(", ")", ".", ",", "*", "/", "%", "+",
            "-", "=", "<", ">", "!", "?", ":", "{");

    /** Longer ones would only serve to fill the memory. */
    private static final int MOST_CHARACTERS = 1 << 20;

    private final String source;
    private final List<HclToken> tokens = new ArrayList<>();
    private final Deque<Mode> modes = new ArrayDeque<>();
    private int at;
    /** False once none was found, so that it is not looked for again and again. */
    private boolean commentsEnd = true;

    /** What is being read, within what. */
    private static final class Mode {
        private final Kind kind;
        private final String marker;
        private int braces;
        private boolean startOfLine = true;

        /** @param kind how it began: a quote, a heredoc, an interpolation or directive; text for a bare template */
        private Mode(Kind kind, String marker) {
            this.kind = kind;
            this.marker = marker;
        }
    }

    private HclScanner(String source) {
        if (source.length() > MOST_CHARACTERS) {
            throw HclException.limit("has more than " + MOST_CHARACTERS + " characters");
        }
        this.source = source.startsWith("\uFEFF") ? source.substring(1) : source;
    }

    static List<HclToken> expression(String source) {
        return new HclScanner(source).scan(Kind.SYMBOL);
    }

    static List<HclToken> template(String source) {
        return new HclScanner(source).scan(Kind.TEXT);
    }

    private List<HclToken> scan(Kind outer) {
        modes.push(new Mode(outer, ""));
        while (at < source.length()) {
            switch (modes.element().kind) {
                case TEXT -> bareTemplate();
                case OPEN_QUOTE -> quoted();
                case OPEN_HEREDOC -> heredoc();
                default -> code();
            }
        }
        if (modes.size() > 1) {
            throw unclosed(modes.element());
        }
        add(Kind.END, 0);
        return tokens;
    }

    private static HclException unclosed(Mode mode) {
        return HclException.of(
                switch (mode.kind) {
                    case OPEN_QUOTE -> "lacks the closing quote of a string";
                    case OPEN_HEREDOC ->
                        "lacks the closing marker of a heredoc, on a line of its own that ends with a line break";
                    default ->
                        "lacks the brace that closes a sequence begun with \"${\" or \"%{\"; to mean these characters, write \"$${\" or"
                                + " \"%%{\"";
                });
    }

    private void add(Kind kind, int length) {
        tokens.add(new HclToken(kind, source.substring(at, at + length), at + 1));
        at += length;
    }

    private HclException unexpected(String what) {
        return HclException.at(at + 1, what + " at character " + (at + 1));
    }

    private boolean isAt(String text) {
        return source.startsWith(text, at);
    }

    private char charAt(int position) {
        return position < source.length() ? source.charAt(position) : 0;
    }

    private boolean beginsSequence(int position) {
        char first = charAt(position);
        return (first == '$' || first == '%') && charAt(position + 1) == '{';
    }

    /** An interpolation or directive, if one begins here. */
    private boolean sequence() {
        if (!beginsSequence(at)) {
            return false;
        }
        Kind kind = source.charAt(at) == '$' ? Kind.INTERPOLATION : Kind.DIRECTIVE;
        modes.element().startOfLine = false;
        add(kind, charAt(at + 2) == '~' ? 3 : 2);
        modes.push(new Mode(kind, ""));
        return true;
    }

    /** How long the dollar or per cent sign is that begins nothing: with what it escapes. */
    private int sign() {
        boolean escape = charAt(at + 1) == source.charAt(at) && charAt(at + 2) == '{';
        return escape ? charAt(at + 3) == '~' ? 4 : 3 : 1;
    }

    private static boolean isSign(char c) {
        return c == '$' || c == '%';
    }

    private int lineBreak(int position) {
        return charAt(position) == '\n' ? 1 : charAt(position) == '\r' && charAt(position + 1) == '\n' ? 2 : 0;
    }

    private void bareTemplate() {
        if (sequence()) {
            return;
        }
        if (isSign(source.charAt(at))) {
            int length = sign();
            // What is trimmed are tokens, and these are how HCL divides them.
            boolean withNext = length == 1 && charAt(at + 1) != 0 && lineBreak(at + 1) == 0 && lineBreak(at + 2) > 0;
            add(Kind.TEXT, withNext ? 2 : length + lineBreak(at + length));
            return;
        }
        int end = at;
        while (end < source.length() && !isSign(source.charAt(end)) && "\r\n".indexOf(source.charAt(end)) < 0) {
            end++;
        }
        int length = end - at + lineBreak(end);
        // After a carriage return alone HCL reads no more sequences.
        add(Kind.TEXT, length == 0 ? source.length() - at : length);
    }

    private void quoted() {
        if (sequence()) {
            return;
        }
        char first = source.charAt(at);
        if (first == '"') {
            modes.pop();
            add(Kind.CLOSE_QUOTE, 1);
        } else if (first == '\n' || first == '\r') {
            throw unexpected("has a line break within quotes");
        } else if (isSign(first)) {
            add(Kind.QUOTED_TEXT, sign());
        } else {
            int end = at;
            while (end < source.length() && "$%\"\r\n".indexOf(source.charAt(end)) < 0) {
                boolean escape = source.charAt(end) == '\\' && end + 1 < source.length() && lineBreak(end + 1) == 0;
                end += escape ? 2 : 1;
            }
            add(Kind.QUOTED_TEXT, Math.min(end, source.length()) - at);
        }
    }

    private void heredoc() {
        Mode mode = modes.element();
        if (sequence()) {
            return;
        }
        if (isSign(source.charAt(at))) {
            int length = sign();
            int end = lineBreak(at + length);
            mode.startOfLine = end > 0;
            add(Kind.TEXT, length + end);
            return;
        }
        int end = at;
        while (end < source.length() && !isSign(source.charAt(end)) && "\r\n".indexOf(source.charAt(end)) < 0) {
            end++;
        }
        int breakLength = lineBreak(end);
        if (breakLength == 0 && end < source.length() && !isSign(source.charAt(end))) {
            at = end;
            throw unexpected("has a carriage return alone");
        }
        if (breakLength > 0
                && mode.startOfLine
                && HclText.trim(source.substring(at, end)).equals(mode.marker)) {
            modes.pop();
            add(Kind.CLOSE_HEREDOC, end - at);
            add(Kind.NEWLINE, breakLength);
            return;
        }
        mode.startOfLine = breakLength > 0;
        add(Kind.TEXT, end - at + breakLength);
    }

    private void code() {
        Mode mode = modes.element();
        char first = source.charAt(at);
        if (first == ' ' || first == '\t') {
            at++;
        } else if (lineBreak(at) > 0) {
            add(Kind.NEWLINE, lineBreak(at));
        } else if (first == '#' || isAt("//")) {
            int end = source.indexOf('\n', at);
            add(Kind.COMMENT, (end < 0 ? source.length() : end + 1) - at);
        } else if (commentEnd() >= 0) {
            add(Kind.COMMENT, commentEnd() - at);
        } else if (first == '"') {
            add(Kind.OPEN_QUOTE, 1);
            modes.push(new Mode(Kind.OPEN_QUOTE, ""));
        } else if (isAt("~}")) {
            endSequence(mode, 2);
        } else if (first == '}') {
            if (mode.kind != Kind.SYMBOL && mode.braces == 0) {
                endSequence(mode, 1);
            } else {
                mode.braces--;
                add(Kind.SYMBOL, 1);
            }
        } else if (first >= '0' && first <= '9') {
            add(Kind.NUMBER, number());
        } else if (beginsHeredoc()) {
            return;
        } else if (identifier(at) > 0) {
            add(Kind.IDENTIFIER, identifier(at));
        } else {
            symbol(mode);
        }
    }

    private void endSequence(Mode mode, int length) {
        if (mode.kind == Kind.SYMBOL || mode.braces > 0) {
            throw unexpected("has a \"~}\" that closes nothing");
        }
        modes.pop();
        add(Kind.SEQUENCE_END, length);
    }

    private void symbol(Mode mode) {
        String symbol = SYMBOLS.stream()
                .filter(this::isAt)
                .findFirst()
                .orElseThrow(() -> unexpected("has a character that means nothing"));
        if (symbol.equals("{")) {
            mode.braces++;
        }
        add(Kind.SYMBOL, symbol.length());
    }

    private boolean beginsHeredoc() {
        if (!isAt("<<")) {
            return false;
        }
        int start = at + (charAt(at + 2) == '-' ? 3 : 2);
        int end = start + identifier(start);
        if (end == start || lineBreak(end) == 0) {
            return false;
        }
        String marker = source.substring(start, end);
        add(Kind.OPEN_HEREDOC, end + lineBreak(end) - at);
        modes.push(new Mode(Kind.OPEN_HEREDOC, marker));
        return true;
    }

    /** How long the number is that begins here, or what looks like one; it does not end with a point. */
    private int number() {
        int end = at + 1;
        while (true) {
            int next = end;
            while (charAt(next) == '.') {
                next++;
            }
            if ("eE".indexOf(charAt(next)) >= 0) {
                next += "+-".indexOf(charAt(next + 1)) >= 0 ? 2 : 1;
            }
            if (charAt(next) < '0' || charAt(next) > '9') {
                return end - at;
            }
            end = next + 1;
        }
    }

    /** Where the comment ends that begins here; -1 when it does not. */
    private int commentEnd() {
        if (!commentsEnd || !isAt("/*")) {
            return -1;
        }
        int end = source.indexOf("*/", at + 2);
        commentsEnd = end >= 0;
        return end < 0 ? -1 : end + 2;
    }

    /** How long the identifier is that begins there; 0 when none does. */
    private int identifier(int start) {
        int end = start;
        while (end < source.length()) {
            int point = source.codePointAt(end);
            boolean fits = point == '_'
                    || Character.isUnicodeIdentifierStart(point)
                    || (end > start
                            && (point == '-'
                                    || (Character.isUnicodeIdentifierPart(point)
                                            && !Character.isIdentifierIgnorable(point))));
            if (!fits) {
                break;
            }
            end += Character.charCount(point);
        }
        return end - start;
    }
}
