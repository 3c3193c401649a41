package io.homeostat.actuate.unpack;

/** An archive that is not unpacked because of what is in it. Its message names the entry. */
final class Refusal extends Exception {
    private static final long serialVersionUID = 1L;

    Refusal(String message) {
        super(message);
    }

    static Refusal entry(String name, String why) {
        return new Refusal("entry '" + EntryName.shown(name) + "' " + why);
    }

    /** The message; never null. */
    String problem() {
        return String.valueOf(getMessage());
    }
}
