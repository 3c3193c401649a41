package io.homeostat.desired.state.history;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.schema.Key;

/**
 * What events have told of a declaration, so that none is told again and again while something keeps failing.
 *
 * @param revision that was told to be declared; of a workload that is to be removed, the one that was declared last
 * @param failures which ones have been told since something last went well, the newest last; so many that causes which take turns
 *     are told once each. Earlier versions stored digests of messages under another key: those are forgotten
 */
public record Told(String revision, @Key("told") ImmutableList<ToldFailure> failures) {
    public static final Told NOTHING = new Told("", ImmutableList.of());

    private static final int REMEMBERED = 8;

    public static Told of(String revision) {
        return new Told(revision, ImmutableList.of());
    }

    public Told and(ToldFailure failure) {
        ImmutableList<ToldFailure> all = ImmutableList.<ToldFailure>builder()
                .addAll(failures)
                .add(failure)
                .build();
        return new Told(revision, all.subList(Math.max(0, all.size() - REMEMBERED), all.size()));
    }
}
