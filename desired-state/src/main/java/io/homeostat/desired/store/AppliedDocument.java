package io.homeostat.desired.store;

import io.homeostat.desired.model.Workload;

/**
 * A workload that {@code apply} was given.
 *
 * @param origin the absolute PATH it was applied from, which {@code --prune} goes by
 * @param generation grows by one with each change, from 1; goes on growing when the workload is deleted and applied again
 * @param hash of the declaration
 */
public record AppliedDocument(Workload workload, String origin, long generation, String hash) {}
