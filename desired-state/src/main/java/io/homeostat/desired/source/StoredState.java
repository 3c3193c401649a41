package io.homeostat.desired.source;

import com.google.common.collect.ImmutableCollection;
import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.DesiredState;
import io.homeostat.desired.state.StoredDeclaration;

/** What is stored of all sources, as the one desired state that plan, status, apply and the agent go by. */
public final class StoredState {
    private StoredState() {}

    /** The desired state, see {@link Precedence#merge}. */
    public static DesiredState desired(ImmutableCollection<StoredDeclaration> declarations) {
        return Precedence.merge(
                declarations.stream().map(StoredState::declaration).collect(ImmutableList.toImmutableList()));
    }

    private static Declaration declaration(StoredDeclaration stored) {
        return new Declaration(
                stored.workload(), stored.source(), stored.generation(), stored.hash(), ImmutableList.of());
    }
}
