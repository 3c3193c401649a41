package io.homeostat.desired.platform;

/** Knows what the cloud says of this machine. */
@FunctionalInterface
public interface MetadataServer {
    /** The path of the number that no other instance has or ever had. */
    String INSTANCE_ID = "instance/id";

    /** The path of {@code projects/NUMBER/zones/ZONE}. */
    String ZONE = "instance/zone";

    /** The path of the project's number. */
    String NUMERIC_PROJECT = "project/numeric-project-id";

    /**
     * One value.
     *
     * @param path below {@code computeMetadata/v1/}, such as {@link #INSTANCE_ID} or {@code instance/attributes/role}; not encoded
     */
    Answer get(String path) throws InterruptedException;

    /** What became of a question. */
    sealed interface Answer {
        /**
         * The server says so.
         *
         * @param value as it was sent; may be a secret
         */
        record Present(String value) implements Answer {
            /** Without the value. */
            @Override
            public String toString() {
                return "Present[" + value.length() + " characters]";
            }
        }

        /** The server says that there is no such value. */
        record Absent() implements Answer {}

        /**
         * Nobody said anything that can be believed, so nothing is known.
         *
         * @param reason what was tried, on what, and why it failed; no secrets in it
         */
        record Unreachable(String reason) implements Answer {}
    }
}
