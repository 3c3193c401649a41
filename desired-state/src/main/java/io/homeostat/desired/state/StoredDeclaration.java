package io.homeostat.desired.state;

import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.Workload;

/**
 * A workload as one source declares it.
 *
 * @param origin where the source has it from: the absolute PATH that was applied, which {@code --prune} goes by, or a file
 * @param generation grows by one with each change that this source makes, from 1; goes on growing when it withdraws the
 *     workload and declares it again
 * @param hash of the declaration
 * @param length of its document, in characters
 */
public record StoredDeclaration(
        SourceName source, Workload workload, String origin, long generation, String hash, int length) {}
