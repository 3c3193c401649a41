package io.homeostat.reconcile.controlplane;

import com.google.common.collect.ImmutableList;
import io.homeostat.proto.acp.CurrentPluginStates;
import io.homeostat.reconcile.status.Survey.Finding;

/** How the plugins are, in the words of the control plane. */
@FunctionalInterface
public interface States {
    /** Describes the plugins among these workloads, whoever declares them. */
    Answer of(ImmutableList<Finding> findings);

    /**
     * One answer.
     *
     * @param acknowledged run once the control plane has acknowledged the message; what it carries need not be told again from then on
     */
    record Answer(CurrentPluginStates message, Runnable acknowledged) {}
}
