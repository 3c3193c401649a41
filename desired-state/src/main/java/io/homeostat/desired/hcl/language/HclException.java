package io.homeostat.desired.hcl.language;

/**
 * What is wrong with an expression, or why a value can't become one of another type. The message is half a sentence without a word of
 * the value, which may be secret.
 */
public final class HclException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final boolean limit;

    private HclException(String message, boolean limit) {
        super(message, null, false, false);
        this.limit = limit;
    }

    public static HclException of(String message) {
        return new HclException(message, false);
    }

    /** Evaluation was given up, because it would take too much: nothing may go on after it. */
    static HclException limit(String message) {
        return new HclException(message, true);
    }

    public boolean isLimit() {
        return limit;
    }

    @Override
    public String getMessage() {
        String message = super.getMessage();
        return message == null ? "" : message;
    }
}
