package io.homeostat.reconcile.controlplane;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.observe.UsageReport;
import io.homeostat.observe.UsageSampler;
import io.homeostat.reconcile.status.Survey.Finding;

/** How the plugins are, with the samples that no control plane has acknowledged; an answer that gets lost takes none with it. */
public final class SampledStates implements States {
    private final UsageSampler sampler;

    public SampledStates(UsageSampler sampler) {
        this.sampler = sampler;
    }

    @Override
    public Answer of(ImmutableList<Finding> findings) {
        UsageReport carried = sampler.report()
                .about(findings.stream()
                        .filter(PluginStates::isTold)
                        .map(Finding::id)
                        .collect(ImmutableSet.toImmutableSet()));
        return new Answer(PluginStates.of(findings, carried), () -> sampler.delivered(carried));
    }
}
