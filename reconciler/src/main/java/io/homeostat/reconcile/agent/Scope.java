package io.homeostat.reconcile.agent;

import com.google.common.collect.ImmutableSortedSet;
import io.homeostat.desired.model.WorkloadId;

/**
 * The workloads that passes are about.
 *
 * @param all that are declared, remembered or left on the machine
 * @param declared those of them that somebody wants
 */
public record Scope(ImmutableSortedSet<WorkloadId> all, ImmutableSortedSet<WorkloadId> declared) {}
