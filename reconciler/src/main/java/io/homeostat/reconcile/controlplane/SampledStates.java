package io.homeostat.reconcile.controlplane;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.observe.usage.UsageReport;
import io.homeostat.observe.usage.UsageSampler;
import io.homeostat.proto.acp.CurrentPluginStates;
import io.homeostat.proto.acp.CurrentPluginStates.DaemonPluginState;
import io.homeostat.proto.acp.CurrentPluginStates.OneShotPluginState;
import io.homeostat.reconcile.status.Survey.Finding;
import java.util.ArrayList;
import java.util.List;

/** Describes plugins with the samples that no control plane has acknowledged yet, so a lost answer loses none. */
public final class SampledStates implements PluginStates.Source {
    /** With its labels, an answer of this size is a message that the channel can still send. */
    private static final int MOST_BYTES = 3 << 20;

    private static final int BYTES_OF_A_SAMPLE = 32;
    private static final int BYTES_OF_A_CHARACTER = 3;
    private static final String CUT = "...";

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
     * An answer that is too long to be sent would never be acknowledged, and the next one would be longer still. So it carries the oldest
     * samples, leaves the rest to the next ones, and truncates what plugins say of their health.
     */
    @Override
    public PluginStates.Answer of(ImmutableList<Finding> findings) {
        PluginStates.Answer whole = of(findings, Integer.MAX_VALUE);
        if (whole.message().getSerializedSize() <= mostBytes) {
            return whole;
        }
        int each = mostBytes / 2 / Math.max(1, findings.size());
        PluginStates.Answer shorter = of(findings, Math.max(1, each / BYTES_OF_A_SAMPLE));
        // Two revisions of each have results.
        return new PluginStates.Answer(
                shortened(shorter.message(), each / 2 / BYTES_OF_A_CHARACTER), shorter.acknowledged());
    }

    private PluginStates.Answer of(ImmutableList<Finding> findings, int mostSamples) {
        UsageReport carried = sampler.report(mostSamples)
                .about(findings.stream()
                        .filter(PluginStates::isTold)
                        .map(Finding::id)
                        .collect(ImmutableSet.toImmutableSet()));
        return new PluginStates.Answer(PluginStates.of(findings, carried), () -> sampler.delivered(carried));
    }

    /** @param most about how many characters of results each revision keeps */
    private static CurrentPluginStates shortened(CurrentPluginStates states, int most) {
        CurrentPluginStates.Builder shorter = states.toBuilder();
        for (DaemonPluginState.Builder state : shorter.getDaemonPluginStatesBuilderList()) {
            cut(state.getCurrentPluginStatusBuilder(), most);
            if (state.hasPendingPluginStatus()) {
                cut(state.getPendingPluginStatusBuilder(), most);
            }
        }
        for (OneShotPluginState.Builder state : shorter.getOneShotPluginStatesBuilderList()) {
            cut(state.getCurrentPluginStatusBuilder(), most);
            if (state.hasPendingPluginStatus()) {
                cut(state.getPendingPluginStatusBuilder(), most);
            }
        }
        return shorter.build();
    }

    private static void cut(CurrentPluginStates.Status.Builder status, int most) {
        List<String> kept = new ArrayList<>();
        int left = most;
        for (String result : status.getResultsList()) {
            if (result.length() + CUT.length() > left) {
                kept.add(result.substring(0, Math.max(0, left - CUT.length())) + CUT);
                break;
            }
            kept.add(result);
            left -= result.length() + CUT.length();
        }
        status.clearResults().addAllResults(kept);
    }
}
