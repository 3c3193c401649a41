package io.homeostat.reconcile.controlplane;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.observe.usage.UsageReport;
import io.homeostat.observe.usage.UsageSampler;
import io.homeostat.reconcile.status.Survey.Finding;

/** How the plugins are, with the samples that no control plane has acknowledged; an answer that gets lost takes none with it. */
public final class SampledStates implements States {
    /** Of an answer: with its labels it is a message that the channel can still send. */
    private static final int MOST_BYTES = 3 << 20;

    private static final int BYTES_OF_A_SAMPLE = 32;
    private static final int BYTES_OF_A_CHARACTER = 3;

    private final UsageSampler sampler;

    private final int mostBytes;

    public SampledStates(UsageSampler sampler) {
        this(sampler, MOST_BYTES);
    }

    SampledStates(UsageSampler sampler, int mostBytes) {
        this.sampler = sampler;
        this.mostBytes = mostBytes;
    }

    /**
     * An answer that would be too long to be sent would never be acknowledged, and the next one be longer still. So it has the oldest
     * samples, and the next ones have the rest; and a plugin that talks without end is not let finish.
     */
    @Override
    public Answer of(ImmutableList<Finding> findings) {
        Answer whole = of(findings, Integer.MAX_VALUE);
        if (whole.message().getSerializedSize() <= mostBytes) {
            return whole;
        }
        int each = mostBytes / 2 / Math.max(1, findings.size());
        Answer shorter = of(findings, Math.max(1, each / BYTES_OF_A_SAMPLE));
        // Two revisions of each have results.
        return new Answer(ShortResults.of(shorter.message(), each / 2 / BYTES_OF_A_CHARACTER), shorter.acknowledged());
    }

    private Answer of(ImmutableList<Finding> findings, int mostSamples) {
        UsageReport carried = sampler.report(mostSamples)
                .about(findings.stream()
                        .filter(PluginStates::isTold)
                        .map(Finding::id)
                        .collect(ImmutableSet.toImmutableSet()));
        return new Answer(PluginStates.of(findings, carried), () -> sampler.delivered(carried));
    }
}
