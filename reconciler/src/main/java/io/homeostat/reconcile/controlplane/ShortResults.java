package io.homeostat.reconcile.controlplane;

import io.homeostat.proto.acp.CurrentPluginStates;
import io.homeostat.proto.acp.CurrentPluginStates.Status;
import java.util.ArrayList;
import java.util.List;

/** Cuts what plugins say of their health, which may be as long as they like. */
final class ShortResults {
    private static final String CUT = "...";

    private ShortResults() {}

    /** @param most characters of the results of each revision, about */
    static CurrentPluginStates of(CurrentPluginStates states, int most) {
        CurrentPluginStates.Builder shorter = states.toBuilder();
        shorter.getDaemonPluginStatesBuilderList().forEach(state -> {
            cut(state.getCurrentPluginStatusBuilder(), most);
            if (state.hasPendingPluginStatus()) {
                cut(state.getPendingPluginStatusBuilder(), most);
            }
        });
        shorter.getOneShotPluginStatesBuilderList().forEach(state -> {
            cut(state.getCurrentPluginStatusBuilder(), most);
            if (state.hasPendingPluginStatus()) {
                cut(state.getPendingPluginStatusBuilder(), most);
            }
        });
        return shorter.build();
    }

    private static void cut(Status.Builder status, int most) {
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
