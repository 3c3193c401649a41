package io.homeostat.desired.yaml;

import java.io.InputStream;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** Where documents are read from. */
public sealed interface Input {
    /** A file, or a directory with all {@code .yaml} and {@code .yml} files below it. */
    record At(Path path) implements Input {}

    /** As {@link At}, but never a device or a fifo, which could be read for ever. */
    record Watched(Path path) implements Input {}

    /**
     * Standard input, for one.
     *
     * @param name as errors call it
     * @param stream read to its end, not closed
     * @param directory where relative paths in the documents start from
     */
    record Stream(String name, InputStream stream, Path directory) implements Input {}

    /**
     * What another process has read.
     *
     * @param name as errors call it
     * @param input what led to it, see {@link ReadWorkload#input}
     * @param directory where relative paths in the documents start from; null: there may be none
     */
    record Text(String name, String input, @Nullable Path directory, String text) implements Input {}
}
