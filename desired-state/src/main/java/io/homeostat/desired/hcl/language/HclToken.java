package io.homeostat.desired.hcl.language;

/**
 * A piece of an expression or template.
 *
 * @param text as it is written; of an operator or bracket, which one it is
 * @param position in characters from the beginning, from 1
 */
record HclToken(Kind kind, String text, int position) {
    enum Kind {
        NUMBER,
        IDENTIFIER,
        /** Operators, brackets and separators. */
        SYMBOL,
        NEWLINE,
        /** Of a line; whether it ends with a line break says the text. */
        COMMENT,
        OPEN_QUOTE,
        CLOSE_QUOTE,
        OPEN_HEREDOC,
        CLOSE_HEREDOC,
        /** Literal text within quotes, with escapes that begin with a backslash. */
        QUOTED_TEXT,
        /** Literal text of a template without quotes. */
        TEXT,
        /** A dollar sign and a brace, and perhaps a tilde. */
        INTERPOLATION,
        /** A per cent sign and a brace, and perhaps a tilde. */
        DIRECTIVE,
        /** The brace that ends one of these, with the tilde before it. */
        SEQUENCE_END,
        END
    }

    boolean is(Kind other) {
        return kind == other;
    }

    boolean isSymbol(String symbol) {
        return kind == Kind.SYMBOL && text.equals(symbol);
    }

    boolean isWord(String word) {
        return kind == Kind.IDENTIFIER && text.equals(word);
    }

    /** Of an interpolation or directive: white space on its outer side is removed. */
    boolean trims() {
        return text.indexOf('~') >= 0;
    }
}
