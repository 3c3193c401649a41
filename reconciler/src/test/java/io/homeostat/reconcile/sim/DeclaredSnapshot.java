package io.homeostat.reconcile.sim;

import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.DesiredState;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.reconcile.loop.DesiredSource;
import java.util.HashSet;
import java.util.Optional;
import java.util.Set;

/** Remembers what the agent was told to want at the beginning of its pass; in the middle of one, that may change. */
final class DeclaredSnapshot implements DesiredSource {
    private final DesiredSource desired;
    private final Set<WorkloadId> wanted = new HashSet<>();
    private DesiredState answer = DesiredState.EMPTY;

    DeclaredSnapshot(DesiredSource desired) {
        this.desired = desired;
    }

    @Override
    public DesiredState now() {
        answer = desired.now();
        wanted.addAll(answer.declarations().keySet());
        return answer;
    }

    /** Whether the agent was ever told to want it, as far as its present database can know. */
    boolean everWanted(WorkloadId id) {
        return wanted.contains(id);
    }

    /** The database is lost. */
    void forget() {
        wanted.clear();
    }

    DesiredState answer() {
        return answer;
    }

    Optional<Declaration> answer(WorkloadId id) {
        return answer.get(id);
    }
}
