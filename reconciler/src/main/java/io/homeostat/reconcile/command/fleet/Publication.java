package io.homeostat.reconcile.command.fleet;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedMap;
import com.google.common.collect.ImmutableSortedSet;
import io.homeostat.desired.fleet.PublishedSet;
import io.homeostat.desired.fleet.RefusedSet;
import io.homeostat.desired.fleet.Rollout;
import io.homeostat.desired.fleet.SetFile;
import io.homeostat.desired.fleet.SetReader;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.model.Placement;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.remote.FetchFailure;
import io.homeostat.desired.remote.SetFetcher.Fetched;
import io.homeostat.desired.remote.SetTarget;
import io.homeostat.desired.signature.SigningKey;
import io.homeostat.desired.signature.TrustedKeys;
import io.homeostat.desired.yaml.Choice;
import io.homeostat.desired.yaml.DocumentReader;
import io.homeostat.desired.yaml.DocumentReader.Input;
import io.homeostat.desired.yaml.DocumentReader.ReadResult;
import io.homeostat.desired.yaml.DocumentReader.Texts;
import io.homeostat.reconcile.command.environment.CommandFailure;
import java.time.Duration;
import java.time.Instant;
import java.util.Comparator;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * A set that is to be published.
 *
 * @param documents texts by their names, all of them valid
 * @param key that signs it; empty: nobody does
 * @param trusted keys of others whose sequences a signed set has to come after
 * @param force also what changes a revision that is in a rollout, or the machines that one is for, and after a sequence that is far in the
 *     future
 */
public record Publication(
        String fleet,
        ImmutableSortedMap<String, String> documents,
        Optional<SigningKey> key,
        TrustedKeys trusted,
        boolean force,
        Instant now) {
    /** Sequences are times in seconds, or a few more where several sets are published in one. */
    private static final Duration FAR = Duration.ofDays(3650);

    /** So far ahead a sequence counts whoever has published it: several are published in a second, and clocks differ. */
    private static final Duration NEAR = Duration.ofDays(1);

    /**
     * What became of it.
     *
     * @param sequence of what is published there now, or would be
     * @param changed false: it was published there before
     */
    public record Outcome(long sequence, boolean changed) {}

    /**
     * Publishes it, unless it is there already.
     *
     * @param dryRun only looks
     * @throws CommandFailure when it is not published
     */
    public Outcome to(SetTarget target, boolean dryRun) throws InterruptedException {
        String what = (dryRun ? "would not publish to " : "did not publish to ") + target.name() + ": ";
        try {
            Optional<Fetched> found = target.read();
            Optional<PublishedSet> before =
                    found.isPresent() ? Optional.of(read(found.get(), TrustedKeys.NONE)) : Optional.empty();
            if (before.isPresent() && isSame(found.get(), before.get())) {
                return new Outcome(before.get().sequence(), false);
            }
            if (before.isPresent() && !force) {
                ReadResult next = read(documents);
                // What machines have not taken, as it is not valid, changes nothing for them.
                ReadResult published = read(before.get().documents());
                if (published.valid()) {
                    refusals(published, next).stream().findFirst().ifPresent(refusal -> {
                        throw new CommandFailure(what + refusal);
                    });
                }
            }
            long last = before.isPresent() && counts(found.get(), before.get().sequence())
                    ? before.get().sequence()
                    : 0;
            if (last >= SetFile.MAX_SEQUENCE) {
                throw new CommandFailure(what + "the sequence there, " + last
                        + ", is the largest one; whoever published that has locked everybody out: have machines trust another"
                        + " key instead of that one, remove what is there, and publish again");
            }
            if (!force && last > now.plus(FAR).getEpochSecond()) {
                throw new CommandFailure(what + "the sequence there, " + last
                        + ", is more than ten years ahead of the clock of this machine; set that if it is wrong, else remove"
                        + " what is there and publish again, or add --force where machines have taken that sequence");
            }
            SetFile set = SetFile.of(fleet, Math.max(last + 1, now.getEpochSecond()), now, documents, key);
            if (set.bytes().length > SetReader.MAX_BYTES) {
                throw new CommandFailure(what + "the set is longer than " + (SetReader.MAX_BYTES >> 20)
                        + " MiB, and no machine would take it; publish fewer or shorter documents");
            }
            if (!dryRun && !target.write(set)) {
                throw new CommandFailure(what
                        + "somebody else has published there meanwhile; look at what is there now, and publish again");
            }
            return new Outcome(set.sequence(), true);
        } catch (FetchFailure e) {
            throw new CommandFailure(what + e.words(), e);
        } catch (RefusedSet e) {
            throw new CommandFailure(
                    what + "remove what is there first, as nobody can tell what may come after it: " + e.getMessage(),
                    e);
        }
    }

    /** Why a set is not published in place of this one unless forced: machines would change past the waves of rollouts. */
    static ImmutableList<String> refusals(ReadResult published, ReadResult next) {
        return Stream.of(changedRevisions(published, next), otherPlacements(published, next))
                .flatMap(Optional::stream)
                .collect(ImmutableList.toImmutableList());
    }

    /** Machines that have a revision take what else it says at once: nothing would hold that up when it does harm. */
    private static Optional<String> changedRevisions(ReadResult published, ReadResult next) {
        ImmutableSortedSet<String> changed = next.rollouts().stream()
                .flatMap(rollout -> next.declared().stream()
                        .filter(workload -> rollout.spec()
                                .workloads()
                                .contains(workload.id().toString()))
                        .filter(workload ->
                                published.declared().stream().anyMatch(other -> isOtherText(workload, other)))
                        .map(workload -> workload.id() + " at revision '" + workload.revision() + "', of rollout "
                                + rollout.name()))
                .collect(ImmutableSortedSet.toImmutableSortedSet(Comparator.naturalOrder()));
        return changed.isEmpty()
                ? Optional.empty()
                : Optional.of("it is not what was published before under the same revision: "
                        + String.join("; ", changed)
                        + "; machines with that revision would change at once, whatever wave is open: write another revision and"
                        + " have the rollout bring that, or add --force");
    }

    /** Machines that a rollout was not for when its wave opened were not counted then, and would take the new revision at once. */
    private static Optional<String> otherPlacements(ReadResult published, ReadResult next) {
        ImmutableSet<String> going = published.rollouts().stream()
                .map(rollout -> Rollout.of(rollout.name(), rollout.spec()).digest())
                .collect(ImmutableSet.toImmutableSet());
        ImmutableList<String> changed = next.rollouts().stream()
                .filter(rollout -> going.contains(
                        Rollout.of(rollout.name(), rollout.spec()).digest()))
                .flatMap(rollout -> rollout.spec().workloads().stream()
                        .filter(id -> !placements(published, id).equals(placements(next, id)))
                        .map(id -> id + ", of rollout " + rollout.name()))
                .sorted()
                .collect(ImmutableList.toImmutableList());
        return changed.isEmpty()
                ? Optional.empty()
                : Optional.of("the placement is not what was published before: " + String.join("; ", changed)
                        + "; machines that it is for now could take the new revision at once, whatever wave is open: rename the"
                        + " rollout, which then counts them from its first wave, or add --force");
    }

    private static ImmutableSet<Placement> placements(ReadResult set, String id) {
        return set.declared().stream()
                .filter(workload -> workload.id().toString().equals(id))
                .map(Workload::placement)
                .collect(ImmutableSet.toImmutableSet());
    }

    /** Of one revision, on a machine that both may be for. */
    private static boolean isOtherText(Workload workload, Workload before) {
        return workload.id().equals(before.id())
                && workload.revision().equals(before.revision())
                && !workload.placement().neverMeets(before.placement())
                && !workload.spec().equals(before.spec());
    }

    private static ReadResult read(ImmutableSortedMap<String, String> documents) {
        return DocumentReader.parse(
                new Texts(
                        documents.entrySet().stream()
                                .map(document ->
                                        new Input.Text(document.getKey(), document.getKey(), null, document.getValue()))
                                .collect(ImmutableList.toImmutableList()),
                        ImmutableList.of()),
                Choice.ALL);
    }

    /** Whoever has no key leaves what somebody has signed as it is. */
    private boolean isSame(Fetched found, PublishedSet before) {
        return before.sequence() > 0
                && before.documents().equals(documents)
                && key.map(signing -> isSignedBy(signing.trusted(), found)).orElse(true);
    }

    /** Whoever has no key could have machines that ask for one refuse all that is signed later, did an unsigned sequence count. */
    private boolean counts(Fetched found, long sequence) {
        return key.isEmpty()
                || sequence <= now.plus(NEAR).getEpochSecond()
                || isSignedBy(key.get().trusted(), found)
                || isSignedBy(trusted, found);
    }

    private boolean isSignedBy(TrustedKeys trusted, Fetched found) {
        try {
            return !read(found, trusted).signers().isEmpty();
        } catch (RefusedSet e) {
            // By somebody else.
            return false;
        }
    }

    private PublishedSet read(Fetched found, TrustedKeys trusted) throws RefusedSet {
        SetReader reader = new SetReader(new AgentConfig.SignedSets(false, ImmutableList.of(), fleet), trusted);
        return switch (found) {
            case Fetched.File file -> reader.read(file.content(), "set.yaml");
            case Fetched.Tree tree -> reader.readTree(tree.files());
            default -> throw new IllegalStateException("a target has read " + found);
        };
    }
}
