package io.homeostat.desired.model.schema;

/** A number of bytes, written {@code 64Mi}, {@code 1Gi} or plain in a document. */
public record Size(long bytes) {
    public Size {
        if (bytes < 0) {
            throw new IllegalArgumentException("negative size: " + bytes);
        }
    }
}
