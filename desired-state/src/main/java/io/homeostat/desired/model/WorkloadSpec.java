package io.homeostat.desired.model;

import org.jspecify.annotations.Nullable;

/** What a document declares of a workload, one record a kind. */
public interface WorkloadSpec {
    String revision();

    Lifecycle lifecycle();

    /** The archive that it is installed from; null when there is nothing to fetch. */
    @Nullable
    Source source();

    /** The user of this machine that it runs as, with its groups; null when that is the agent's, or not of this machine. */
    default @Nullable ProgramUser runsAs() {
        return null;
    }

    /** How its instances are asked for their health; null when they answer by themselves, or need not be asked. */
    default @Nullable Probe probe() {
        return null;
    }

    /** What its instances are part of; null when they are part of nothing else. */
    default @Nullable WorkloadId partOf() {
        return null;
    }

    /** What only one workload can have: its field and what is there, such as {@code spec.endpoint: vsock://3:1024}; null when nothing is. */
    default @Nullable String exclusive() {
        return null;
    }
}
