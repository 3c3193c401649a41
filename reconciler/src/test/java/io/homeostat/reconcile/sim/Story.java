package io.homeostat.reconcile.sim;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;

/** What happened, for somebody who looks at a failed history. Told only when a history is played again, because words cost time. */
final class Story {
    private final VirtualClock clock;
    private final boolean told;
    private final List<String> lines = new ArrayList<>();

    Story(VirtualClock clock, boolean told) {
        this.clock = clock;
        this.told = told;
    }

    void tell(Supplier<String> what) {
        if (told) {
            lines.add(clock.instant() + " " + what.get());
        }
    }

    List<String> lines() {
        return lines;
    }
}
