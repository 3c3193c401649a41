package io.homeostat.desired.hcl.language;

/**
 * What is wrong with an expression, or why a value can't become one of another type. The message is half a sentence without a word of
 * the value, which may be secret.
 */
public final class HclException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final boolean limit;
    private final int character;

    private HclException(String message, boolean limit, int character) {
        super(message, null, false, false);
        this.limit = limit;
        this.character = character;
    }

    public static HclException of(String message) {
        return new HclException(message, false, 0);
    }

    /** A mistake at a character of the source, counted from 1. */
    static HclException at(int character, String message) {
        return new HclException(message, false, character);
    }

    /** Evaluation was given up, because it would take too much: nothing may go on after it. */
    static HclException limit(String message) {
        return new HclException(message, true, 0);
    }

    public boolean isLimit() {
        return limit;
    }

    /** Position of the mistake in the source, in characters from 1; 0 when the mistake has no position. */
    int character() {
        return character;
    }

    @Override
    public String getMessage() {
        String message = super.getMessage();
        return message == null ? "" : message;
    }
}
