package io.homeostat.desired.state.sqlite;

import io.homeostat.desired.model.WorkloadId;
import java.util.HashMap;
import java.util.Map;

/**
 * What a page of rows holds. However few rows it has, it ends once that is much: names and revisions may have a million characters. Each of
 * them is held once, since it comes in many rows.
 */
final class PageContent {
    /** Beyond that it has one more row at most. More than all names that a control plane may declare, so that each comes to its turn. */
    static final int MOST_CHARACTERS = 4 << 20;

    private final Map<String, WorkloadId> workloads = new HashMap<>();
    private final Map<String, String> revisions = new HashMap<>();
    private long characters;

    WorkloadId workload(String text) {
        return workloads.computeIfAbsent(text, one -> SqliteStateReader.workload(text(one)));
    }

    String revision(String text) {
        return revisions.computeIfAbsent(text, this::text);
    }

    String text(String text) {
        characters += text.length();
        return text;
    }

    boolean isFull() {
        return characters >= MOST_CHARACTERS;
    }
}
