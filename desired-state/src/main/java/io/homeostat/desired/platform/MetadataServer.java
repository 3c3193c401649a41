package io.homeostat.desired.platform;

/** What the cloud says of this machine. */
@FunctionalInterface
public interface MetadataServer {
    /** The path of a number that no other instance has or ever had. */
    String INSTANCE_ID = "instance/id";

    /** The path of {@code projects/NUMBER/zones/ZONE}. */
    String ZONE = "instance/zone";

    /** The path of the project's number. */
    String NUMERIC_PROJECT = "project/numeric-project-id";

    /** Asks for a value by its path below {@code computeMetadata/v1/}, such as {@link #INSTANCE_ID}; not encoded. */
    Answer get(String path) throws InterruptedException;

    /** The answer to one question. */
    sealed interface Answer {
        /** The value as it was sent; it may be a secret. */
        record Present(String value) implements Answer {
            /** Without the value. */
            @Override
            public String toString() {
                return "Present[" + value.length() + " characters]";
            }
        }

        /** The server has no such value. */
        record Absent() implements Answer {}

        /** No metadata server answered, so nothing is known. The reason contains no secrets. */
        record Unreachable(String reason) implements Answer {}
    }
}
