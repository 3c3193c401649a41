package io.homeostat.desired.state;

/**
 * How far an instance has come. Written down before the call that it names, because some calls must not be repeated and some answers
 * can be read only once.
 */
public enum Phase {
    /** About to be created; whether there is anything is seen, not known. */
    INTENDED,
    CREATED,
    /** Told to start, answer unknown: what a crash of ours leaves behind. A plugin's Start, for one, is sent at most once. */
    START_SENT,
    STARTED;

    /** Whether it has not been told to start yet. */
    public boolean isBeforeStart() {
        return this == INTENDED || this == CREATED;
    }

    /** The word that databases and launch notes have for it. */
    public String stored() {
        return switch (this) {
            case INTENDED, CREATED -> "NOT_SENT";
            case START_SENT -> "SENT";
            case STARTED -> "SUCCEEDED";
        };
    }

    /**
     * The phase of a stored word.
     *
     * @param created whether it is known who the instance is
     * @throws IllegalArgumentException when it is none
     */
    public static Phase ofStored(String word, boolean created) {
        return switch (word) {
            case "NOT_SENT" -> created ? CREATED : INTENDED;
            case "SENT" -> START_SENT;
            case "SUCCEEDED" -> STARTED;
            default -> throw new IllegalArgumentException("no phase of an instance: " + word);
        };
    }
}
