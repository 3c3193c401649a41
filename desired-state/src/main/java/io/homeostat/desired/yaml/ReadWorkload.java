package io.homeostat.desired.yaml;

import io.homeostat.desired.model.Workload;

/**
 * A workload and where it was read.
 *
 * @param input the one of the inputs that led to the file: a path as it was given, or the name of a stream
 * @param file as errors name it
 * @param line where the document begins, from 1
 */
public record ReadWorkload(Workload workload, String input, String file, int line) {
    /** {@code file:line}. */
    public String origin() {
        return file + ":" + line;
    }
}
