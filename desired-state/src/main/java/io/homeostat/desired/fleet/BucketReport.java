package io.homeostat.desired.fleet;

import com.google.common.collect.ImmutableSortedMap;

/**
 * What a machine says of itself in an object of a bucket. It writes it at least every five minutes, so one that has not been written for
 * fifteen, by the bucket's clock, is that of a machine that is silent. There is no registration: the labels are here.
 *
 * @param labels of agent.yaml, with the facts of the host that placement goes by
 */
public record BucketReport(ImmutableSortedMap<String, String> labels, MachineReport report) {
    /**
     * Where a machine's is.
     *
     * @param reports what is before the names of objects, such as {@code gs://bucket/reports}
     */
    public static String object(String reports, String instanceId) {
        return reports + (reports.endsWith("/") ? "" : "/") + instanceId + ".json";
    }

    /** Whether it differs in nothing but its time. */
    public boolean saysTheSameAs(BucketReport other) {
        return labels.equals(other.labels) && report.at(other.report.at()).equals(other.report);
    }
}
