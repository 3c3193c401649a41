package io.homeostat.reconcile.agent.fleet;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.fleet.PublishedSet;
import io.homeostat.desired.fleet.RefusedSet;
import io.homeostat.desired.fleet.SetReader;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.remote.SetFetcher.Fetched;
import io.homeostat.desired.state.StateReader.SourceProblem;
import io.homeostat.desired.state.StateReader.StoredDeclaration;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.StateStore.SourceContent;
import io.homeostat.desired.state.StoreException;
import io.homeostat.desired.state.StoredSet;
import io.homeostat.desired.yaml.Choice;
import io.homeostat.desired.yaml.Problem;
import io.homeostat.reconcile.agent.telemetry.ProblemLog;
import java.time.Instant;
import java.time.InstantSource;
import java.time.temporal.ChronoUnit;
import java.util.Optional;
import java.util.concurrent.locks.Lock;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A source of published sets: brings what it gives into the store, or why it does not. A set is taken as a whole; one with a mistake
 * leaves the last good one in force.
 */
final class PublishedSource {
    private static final Logger LOG = LoggerFactory.getLogger(PublishedSource.class);

    private final SourceName source;
    private final String name;
    private final SetReader reader;
    private final Supplier<? extends Choice> choice;
    private final StateStore store;
    private final InstantSource clock;
    private final Lock declaring;
    private final Runnable changed;
    private final ProblemLog problemLog;

    /** What was looked at last, taken or not. */
    private Optional<String> seen = Optional.empty();

    /** What is wrong with that. */
    private ImmutableList<SourceProblem> mistakes;

    /** That it does not answer. */
    private Optional<SourceProblem> unreached;

    /** What is wrong with the last good set, by what the machine is now. */
    private ImmutableList<SourceProblem> inForceMistakes = ImmutableList.of();

    /** By what the last good set was read. */
    private @Nullable Choice chosen;

    /** By what the one that was looked at last was refused; null when it was not, or not for that. */
    private @Nullable Choice refusedBy;

    private ImmutableSet<String> rollouts = ImmutableSet.of();

    private boolean ended;

    /**
     * @param name where the set is
     * @param reader by the rules of this machine
     * @param choice which documents are for this machine as of now
     * @param declaring held while something is stored
     * @param changed is called when something may be declared otherwise
     */
    PublishedSource(
            SourceName source,
            String name,
            SetReader reader,
            Supplier<? extends Choice> choice,
            StateStore store,
            InstantSource clock,
            Lock declaring,
            Runnable changed) {
        this.source = source;
        this.name = name;
        this.reader = reader;
        this.choice = choice;
        this.store = store;
        this.clock = clock;
        this.declaring = declaring;
        this.changed = changed;
        this.problemLog = new ProblemLog(LOG, source.word());
        // What was wrong before a restart is, until it answers.
        ImmutableList<SourceProblem> known = store.problems().stream()
                .filter(problem ->
                        problem.source() == source && problem.origin().startsWith(name))
                .collect(ImmutableList.toImmutableList());
        this.unreached = known.stream().filter(this::isSilence).findFirst();
        this.mistakes = known.stream().filter(problem -> !isSilence(problem)).collect(ImmutableList.toImmutableList());
    }

    private boolean isSilence(SourceProblem problem) {
        return problem.origin().equals(name) && problem.kind() == Problem.Kind.UNREADABLE;
    }

    String name() {
        return name;
    }

    /** The names of those that the last good set has. */
    synchronized ImmutableSet<String> rollouts() {
        return rollouts;
    }

    /** The version that was looked at last; empty when none was since this was made, so that new rules are applied to any. */
    synchronized Optional<String> seen() {
        return seen;
    }

    /**
     * The same if something may be for this machine now that was not, or the other way round.
     *
     * @throws StoreException when it can't be stored
     */
    synchronized void refreshIfMoved() {
        Choice now = choice.get();
        if (ended) {
            return;
        }
        if (refusedBy != null && !now.equals(refusedBy)) {
            // It may be taken now: it is looked at as if it had not been seen.
            seen = Optional.empty();
            refusedBy = null;
        }
        if (now.equals(chosen)) {
            return;
        }
        // How rollouts stood then is not kept in memory beside how they stand now.
        chosen = null;
        if (standing().flatMap(StoredSet.Standing::set).isPresent()) {
            refresh();
            changed.run();
        }
    }

    /**
     * Declares what the last good set says on this machine now.
     *
     * @throws StoreException when that can't be stored
     */
    synchronized void refresh() {
        store.answered(source, name, null);
        // Where it was taken from, which may have been another place.
        String from =
                standing().flatMap(StoredSet.Standing::set).map(StoredSet::name).orElse(name);
        Choice now = choice.get();
        SetDocuments documents = SetDocuments.read(source, from, store.publishedDocuments(source), now);
        inForceMistakes = documents.problems();
        if (documents.problems().isEmpty()) {
            rollouts = documents.rollouts();
            store(content(documents, problems()));
        } else {
            store(retained());
        }
        // Not before: what could not be stored is tried again.
        chosen = now;
    }

    /**
     * It has answered.
     *
     * @throws StoreException when that can't be stored; then it was not looked at
     */
    synchronized void fetched(Fetched fetched) {
        if (ended) {
            return;
        }
        switch (fetched) {
            case Fetched.NotModified _ -> answered();
            case Fetched.File file -> take(file.version(), () -> reader.read(file.content(), lastName()));
            case Fetched.Refused refused ->
                take(refused.version(), () -> {
                    throw new RefusedSet(refused.why());
                });
            case Fetched.Tree tree -> {
                take(tree.version(), () -> reader.readTree(tree.files()));
                if (!tree.notice().isEmpty()) {
                    LOG.warn("{}: {}", source.word(), tree.notice());
                }
            }
        }
        changed.run();
    }

    /**
     * It could not be asked, or has nothing.
     *
     * @param why the end of a sentence about it
     * @throws StoreException when that can't be stored
     */
    synchronized void failed(String why) {
        if (ended) {
            return;
        }
        unreached = Optional.of(problem(Problem.Kind.UNREADABLE, why + "; " + since()));
        store(retained());
    }

    /**
     * It has answered that it has no set.
     *
     * @param what the end of a sentence about it
     * @throws StoreException when that can't be stored
     */
    synchronized void empty(String what) {
        if (!ended) {
            refuse(ImmutableList.of(problem(Problem.Kind.UNREADABLE, what)), clock.instant());
        }
    }

    /** Nothing that is told from now on counts. */
    synchronized void end() {
        ended = true;
    }

    private String since() {
        return standing()
                .flatMap(StoredSet.Standing::answeredAt)
                .map(at -> "it last answered at " + at.truncatedTo(ChronoUnit.SECONDS))
                .orElse("it has not answered yet");
    }

    private Optional<StoredSet.Standing> standing() {
        return store.publishedSets().stream()
                .filter(one -> one.source() == source)
                .findFirst();
    }

    private void answered() {
        store.answered(source, name, clock.instant());
        if (unreached.isPresent()) {
            unreached = Optional.empty();
            store(retained());
        }
    }

    private void take(String version, Reading reading) {
        Instant now = clock.instant();
        Choice by = choice.get();
        try {
            PublishedSet set = reading.read();
            refuseReplay(set);
            SetDocuments documents = SetDocuments.read(source, name, set.documents(), by);
            if (documents.problems().isEmpty() && documents.nothing()) {
                throw new RefusedSet(
                        "the set declares nothing at all, as if something had been cut off; publish one with a"
                                + " document, or take sources." + source.word() + " out of agent.yaml");
            }
            if (documents.problems().isEmpty()) {
                take(version, set, documents, now);
                chosen = by;
                refusedBy = null;
            } else {
                refuse(documents.problems(), now);
                refusedBy = by;
            }
        } catch (RefusedSet e) {
            refuse(ImmutableList.of(problem(Problem.Kind.VALUE, String.valueOf(e.getMessage()))), now);
        }
        seen = Optional.of(version);
    }

    private void refuseReplay(PublishedSet set) throws RefusedSet {
        Optional<String> refusal = reader.floor(store.highestSequences(source)).refusal(set);
        if (refusal.isPresent()) {
            throw new RefusedSet(refusal.get());
        }
    }

    private void take(String version, PublishedSet set, SetDocuments documents, Instant now) {
        StoredSet stored = new StoredSet(source, name, version, set.sequence(), set.publishedAt(), set.digest(), now);
        declaring.lock();
        try {
            store.take(
                    new StoredSet.Content(stored, set.signers(), set.documents()),
                    content(documents, ImmutableList.of()),
                    now);
        } finally {
            declaring.unlock();
        }
        mistakes = ImmutableList.of();
        inForceMistakes = ImmutableList.of();
        unreached = Optional.empty();
        rollouts = documents.rollouts();
        problemLog.tell(ImmutableList.of());
        LOG.info(
                "{}: version {} is in force{}",
                source.word(),
                version,
                set.sequence() == 0 ? "" : ", sequence " + set.sequence());
    }

    private void refuse(ImmutableList<SourceProblem> problems, Instant now) {
        mistakes = problems;
        unreached = Optional.empty();
        store.answered(source, name, now);
        store(retained());
    }

    private SourceProblem problem(Problem.Kind kind, String message) {
        return new SourceProblem(source, name, kind, "", name + ": " + message);
    }

    private ImmutableList<SourceProblem> problems() {
        return ImmutableList.<SourceProblem>builder()
                .addAll(unreached.stream().iterator())
                .addAll(mistakes)
                .addAll(inForceMistakes)
                .build();
    }

    private SourceContent content(SetDocuments documents, ImmutableList<SourceProblem> problems) {
        return new SourceContent(source, documents.declared(), ImmutableSet.of(), problems);
    }

    /** All that is in force stays. */
    private SourceContent retained() {
        ImmutableSet<String> origins = store.declarations().stream()
                .filter(declaration -> declaration.source() == source)
                .map(StoredDeclaration::origin)
                .collect(ImmutableSet.toImmutableSet());
        return new SourceContent(source, ImmutableList.of(), origins, problems());
    }

    private void store(SourceContent content) {
        declaring.lock();
        try {
            store.replace(content, clock.instant());
        } finally {
            declaring.unlock();
        }
        problemLog.tell(content.problems());
    }

    private String lastName() {
        return name.substring(name.lastIndexOf('/') + 1);
    }

    @FunctionalInterface
    private interface Reading {
        PublishedSet read() throws RefusedSet;
    }
}
