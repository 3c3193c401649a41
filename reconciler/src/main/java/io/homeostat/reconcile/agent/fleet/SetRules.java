package io.homeostat.reconcile.agent.fleet;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.fleet.PublishedSet;
import io.homeostat.desired.fleet.RefusedSet;
import io.homeostat.desired.fleet.SequenceFloor;
import io.homeostat.desired.fleet.SetReader;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.signature.KeyFailure;
import io.homeostat.desired.signature.TrustedKeys;
import io.homeostat.desired.state.StoredSet;
import java.nio.file.Path;
import java.util.Collection;
import java.util.Optional;

/** Which published sets are taken, by {@code signatures.documents}. */
record SetRules(AgentConfig.SignedSets config, TrustedKeys keys) {
    private static final String SETTING = "signatures.documents.keys";

    /** @throws KeyFailure when the keys can't be read */
    static SetRules of(AgentConfig config) throws KeyFailure {
        AgentConfig.SignedSets documents = config.signatures().documents();
        return new SetRules(
                documents,
                TrustedKeys.read(
                        documents.keys().stream().map(Path::of).collect(ImmutableList.toImmutableList()), SETTING));
    }

    SetReader reader() {
        return new SetReader(config, keys);
    }

    /** @throws RefusedSet when the set is older than one that was taken */
    void refuseReplay(PublishedSet set, Collection<StoredSet.Highest> taken) throws RefusedSet {
        Optional<String> refusal = reader().floor(taken.stream()
                        .map(one -> new SequenceFloor.Seen(one.signer(), one.sequence(), one.digest()))
                        .collect(ImmutableList.toImmutableList()))
                .refusal(set);
        if (refusal.isPresent()) {
            throw new RefusedSet(refusal.get());
        }
    }
}
