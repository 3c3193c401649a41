package io.homeostat.reconcile.fleet;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedMap;
import com.google.protobuf.ByteString;
import io.homeostat.desired.fleet.PublishedSet;
import io.homeostat.desired.fleet.RefusedSet;
import io.homeostat.desired.fleet.Rollout;
import io.homeostat.desired.fleet.SequenceFloor;
import io.homeostat.desired.fleet.SetReader;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.model.Placement;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.signature.KeyFailure;
import io.homeostat.desired.state.StoredSet.Highest;
import io.homeostat.desired.yaml.Choice;
import io.homeostat.desired.yaml.DocumentReader;
import io.homeostat.desired.yaml.DocumentReader.Input;
import io.homeostat.desired.yaml.DocumentReader.ReadResult;
import io.homeostat.desired.yaml.DocumentReader.Texts;
import io.homeostat.reconcile.fleet.FleetMirror.Scope;
import io.homeostat.reconcile.fleet.FleetMirror.SetContents;
import java.util.Comparator;
import java.util.stream.Stream;

/** The rollouts of sets that machines would take, too: by the same rules for signatures and documents. */
public final class PublishedRollouts implements SetContents {
    private static final String NAME = "set.yaml";

    private final SetReader reader;

    PublishedRollouts(SetReader reader) {
        this.reader = reader;
    }

    /**
     * How sets are read with a configuration: as machines with the same one read them.
     *
     * @throws KeyFailure when a key can't be read
     */
    public static PublishedRollouts of(AgentConfig config) throws KeyFailure {
        return new PublishedRollouts(SetReader.of(config.signatures().documents()));
    }

    @Override
    public ImmutableList<Scope> rollouts(ByteString set) {
        return scopes(read(set));
    }

    /** The documents of a set; throws an IllegalArgumentException as {@link #rollouts} does. */
    public ReadResult read(ByteString set) {
        ReadResult read = DocumentReader.parse(texts(set), Choice.ALL);
        if (!read.valid()) {
            throw new IllegalArgumentException(read.errors().getFirst().toString());
        }
        return read;
    }

    /** The rollouts among documents, with the machines that they are for. */
    public static ImmutableList<Scope> scopes(ReadResult read) {
        return read.rollouts().stream()
                .map(rollout -> scope(Rollout.of(rollout.name(), rollout.spec()), read.declared()))
                .collect(ImmutableList.toImmutableList());
    }

    @Override
    public ImmutableList<Highest> newest(ByteString set, ImmutableList<Highest> before) {
        PublishedSet published = published(set);
        reader.floor(before).refusal(published).ifPresent(refusal -> {
            throw new IllegalArgumentException(refusal);
        });
        if (published.sequence() == 0) {
            return before;
        }
        ImmutableList<String> signers =
                published.signers().isEmpty() ? ImmutableList.of(SequenceFloor.UNSIGNED) : published.signers();
        return Stream.concat(
                        before.stream().filter(seen -> !signers.contains(seen.signer())),
                        signers.stream().map(signer -> new Highest(signer, published.sequence(), published.digest())))
                .sorted(Comparator.comparing(Highest::signer))
                .collect(ImmutableList.toImmutableList());
    }

    private Texts texts(ByteString set) {
        return new Texts(
                published(set).documents().entrySet().stream()
                        .map(document ->
                                new Input.Text(document.getKey(), document.getKey(), null, document.getValue()))
                        .collect(ImmutableList.toImmutableList()),
                ImmutableList.of());
    }

    private PublishedSet published(ByteString set) {
        try {
            return reader.read(set, NAME);
        } catch (RefusedSet e) {
            throw new IllegalArgumentException(e.getMessage(), e);
        }
    }

    /** It is for machines that any document at its new revision is for. */
    private static Scope scope(Rollout rollout, ImmutableList<Workload> declared) {
        ImmutableList<Placement> placements = declared.stream()
                .filter(workload -> workload.revision().equals(rollout.spec().to())
                        && rollout.spec().workloads().contains(workload.id().toString()))
                .map(Workload::placement)
                .collect(ImmutableList.toImmutableList());
        return new Scope(
                rollout,
                (ImmutableSortedMap<String, String> labels) -> placements.stream()
                        .anyMatch(placement -> placement.refusal(labels).isEmpty()));
    }
}
