package io.homeostat.desired.state.history;

import io.homeostat.desired.model.Workload;
import org.jspecify.annotations.Nullable;

/**
 * The last revision that was seen healthy, with all that is needed to run it again after a failed upgrade.
 *
 * @param workload the whole declaration it ran with
 * @param hash the declaration's hash
 * @param directory where it is installed; null when it is local
 */
public record LastKnownGood(
        Workload workload, String hash, @Nullable String directory) {}
