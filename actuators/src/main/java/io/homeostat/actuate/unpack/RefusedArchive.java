package io.homeostat.actuate.unpack;

/** An archive is refused because of its contents. The message names the entry. */
public final class RefusedArchive extends Exception {
    private static final long serialVersionUID = 1L;

    RefusedArchive(String message) {
        super(message);
    }

    static RefusedArchive entry(String name, String why) {
        return new RefusedArchive("entry '" + EntryName.shown(name) + "' " + why);
    }

    /** The message; never null. */
    public String problem() {
        return String.valueOf(getMessage());
    }
}
