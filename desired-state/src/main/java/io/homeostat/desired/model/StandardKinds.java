package io.homeostat.desired.model;

import com.google.common.collect.ImmutableList;

/** The kinds that this program brings along, one row each. */
public final class StandardKinds implements KindProvider {
    @Override
    public ImmutableList<Kind> kinds() {
        return ImmutableList.of(Kind.PLUGIN, Kind.PROCESS, Kind.DRIVER, Kind.TASK, Kind.SANDBOX, Kind.CONTAINER);
    }
}
