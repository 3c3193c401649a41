package io.homeostat.reconcile.controlplane;

import com.fasterxml.jackson.databind.JsonNode;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import com.google.protobuf.ByteString;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.PluginSpec;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.source.ManifestReader;
import io.homeostat.desired.state.Event;
import io.homeostat.desired.state.EventType;
import io.homeostat.desired.state.StateReader.StoredDeclaration;
import io.homeostat.desired.state.StateStore.ControlPlaneChange;
import io.homeostat.desired.state.StateStore.ToApply;
import io.homeostat.desired.state.history.Condition;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.desired.state.history.WorkloadHistory.Apply;
import io.homeostat.desired.state.history.WorkloadHistory.Asked;
import io.homeostat.desired.state.history.WorkloadHistory.FailedRevision;
import io.homeostat.desired.state.history.WorkloadHistory.LastKnownGood;
import io.homeostat.desired.yaml.CanonicalDocument;
import io.homeostat.reconcile.controlplane.ConfigureEvents.OfItem;
import io.homeostat.reconcile.controlplane.ConfigureEvents.RefusalLimit;
import io.homeostat.reconcile.controlplane.ConfigureItem.Refusal;
import io.homeostat.reconcile.plan.Traits;
import io.homeostat.reconcile.record.ObservationRecorder;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Decides what a ConfigurePluginStates message changes of what is declared, item by item, each on its own. Pure.
 *
 * <p>Makes only events that the loop does not: it reports on changed declarations, but has nothing to report when an item is refused or
 * asks for what is there already.
 */
final class ConfigureHandler {
    /** How many plugins a control plane may declare. */
    static final int MOST_PLUGINS = 1_000;

    private static final Refusal NAMES_EXCEEDED = Refusal.ofName(
            Refusal.Reason.QUOTA_EXCEEDED,
            "the names and revisions of all plugins together would be longer than " + (Quota.MOST_NAMES >> 20)
                    + " MiB, and no message could carry the states of all; send shorter ones, or REMOVE some plugins first");

    private static final Refusal QUOTA_EXCEEDED = new Refusal(
            Refusal.Reason.QUOTA_EXCEEDED,
            "manifest",
            "all that is declared together would be longer than " + (Quota.MOST >> 20)
                    + " MiB; send a shorter configuration, or REMOVE some plugins first");

    /**
     * What is known when the message comes.
     *
     * @param declarations of all sources
     * @param origin where the control plane is, for people
     * @param refusals how many refused items may get an event
     * @param printer prints a workload; asked at most once for each item
     */
    record Known(
            ImmutableList<StoredDeclaration> declarations,
            Function<WorkloadId, WorkloadHistory> histories,
            String origin,
            Instant now,
            RefusalLimit.Count refusals,
            Function<Workload, CanonicalDocument> printer) {}

    /**
     * The result.
     *
     * @param refusals how many refused items got an event
     * @param refused those of the events that say why an item was refused
     */
    record Outcome(ControlPlaneChange change, RefusalLimit.Count refusals, ImmutableList<Event> refused) {}

    /** What the control plane declares. */
    private record Own(Workload workload, String hash) {}

    private final Known known;
    private final Map<WorkloadId, Own> own = new TreeMap<>();
    private final Map<WorkloadId, StoredDeclaration> others = new TreeMap<>();
    private final Map<WorkloadId, CanonicalDocument> declared = new LinkedHashMap<>();
    private final Set<WorkloadId> withdrawn = new LinkedHashSet<>();
    /** Those of the withdrawn of which the loop is to tell that they were removed. */
    private final Set<WorkloadId> toBeRemoved = new HashSet<>();

    private final Map<WorkloadId, WorkloadHistory> histories = new LinkedHashMap<>();
    private final ConfigureEvents events;
    private final Quota quota = new Quota();

    private ConfigureHandler(Known known) {
        this.known = known;
        this.events = new ConfigureEvents(known.refusals());
        for (StoredDeclaration declaration : known.declarations()) {
            WorkloadId id = declaration.workload().id();
            if (declaration.source() == SourceName.CONTROL_PLANE) {
                own.put(id, new Own(declaration.workload(), declaration.hash()));
                quota.count(declaration, history(id));
            } else if (id.kind().equals(Kind.PLUGIN)) {
                others.merge(id, declaration, (one, two) -> one.source().compareTo(two.source()) < 0 ? one : two);
            }
        }
    }

    static Outcome handle(ImmutableList<ConfigureItem> items, Known known) {
        ConfigureHandler handler = new ConfigureHandler(known);
        items.forEach(handler::handle);
        return new Outcome(handler.change(), handler.events.told(), handler.events.refusals());
    }

    private void handle(ConfigureItem item) {
        boolean isDeclared = item.plugin()
                .filter(id -> own.containsKey(id) || others.containsKey(id))
                .isPresent();
        OfItem answer = new OfItem(item, known.now());
        switch (item.sent().getAction()) {
            case REMOVE -> remove(item, answer);
            case APPLY -> apply(item, answer);
            case INSTALL, ACTION_UNSPECIFIED, UNRECOGNIZED -> install(item, answer);
        }
        events.add(answer, isDeclared);
    }

    private void install(ConfigureItem item, OfItem answer) {
        Optional<CanonicalDocument> wanted =
                item.install().flatMap(ManifestReader.Result::workload).map(known.printer());
        List<Refusal> refusals = new ArrayList<>(item.refusals());
        if (wanted.isPresent()
                && own.size() >= MOST_PLUGINS
                && !own.containsKey(wanted.get().workload().id())) {
            refusals.add(Refusal.ofName(
                    Refusal.Reason.TOO_MANY_PLUGINS,
                    MOST_PLUGINS + " plugins are declared already; REMOVE some first"));
        }
        if (wanted.isPresent() && refusals.isEmpty()) {
            quota.reserve(wanted.get(), history(wanted.get().workload().id())).ifPresent(refusals::add);
        }
        if (wanted.isEmpty() || !refusals.isEmpty()) {
            answer.tell(EventType.PLUGIN_CONFIG_INSTALL, "sent by the control plane");
            answer.refuse(EventType.PLUGIN_INSTALL_FAILED, refusals);
            return;
        }
        WorkloadId id = wanted.get().workload().id();
        if (withdrawn.contains(id)) {
            histories.put(id, known.histories().apply(id).withAsked(Asked.NOTHING));
        }
        tellOfRevoked(answer, wanted.get().workload());
        Apply apply = history(id).asked().apply();
        if (apply != null && apply.config().equals(config(wanted.get()))) {
            ask(id, history(id).asked().withApply(new Apply(apply.config(), "")));
        } else {
            tellOfOvertaken(
                    answer,
                    id,
                    declared(id).map(Own::workload).orElse(null),
                    "an INSTALL with another configuration came before it was applied");
        }
        tellOfInstall(answer, wanted.get());
        declare(wanted.get());
    }

    /**
     * Tells what has become of a REMOVE before this that the loop has not seen, and now never sees. Where another revision replaces what is
     * there, the loop tells that that was removed.
     */
    private void tellOfRevoked(OfItem answer, Workload wanted) {
        WorkloadId id = wanted.id();
        boolean revoked = withdrawn.contains(id) ? toBeRemoved.remove(id) : isWithdrawnUnseen(id);
        if (revoked && revision(history(id)).equals(wanted.revision())) {
            answer.tell(EventType.PLUGIN_CONFIG_REMOVE, "withdrawn, and declared again before it was removed");
            answer.tell(EventType.PLUGIN_REMOVE_FAILED, "declared again, so it stays");
        }
    }

    /** Whether a message before this one has withdrawn it, and the loop has not looked at it since. */
    private boolean isWithdrawnUnseen(WorkloadId id) {
        WorkloadHistory history = history(id);
        return !own.containsKey(id)
                && !others.containsKey(id)
                && history.isOfSomethingDeclared()
                && !history.attempts().hash().isEmpty();
    }

    /** The one that is there, or on its way. */
    private static String revision(WorkloadHistory history) {
        LastKnownGood lastKnownGood = history.lastKnownGood();
        return lastKnownGood == null
                ? history.attempts().reported().revision()
                : lastKnownGood.workload().revision();
    }

    /** Reports what the loop does not: that the request arrived and, if nothing is to be done, that it is installed already. */
    private void tellOfInstall(OfItem answer, CanonicalDocument wanted) {
        WorkloadId id = wanted.workload().id();
        WorkloadHistory history = history(id);
        boolean another = !wanted.hash().equals(history.attempts().hash());
        boolean newProgram = ObservationRecorder.isNewProgram(history.lastKnownGood(), wanted.workload());
        if (another && (newProgram || history.attempts().hash().isEmpty())) {
            return;
        }
        answer.tell(EventType.PLUGIN_CONFIG_INSTALL, "declared by " + SourceName.CONTROL_PLANE.word());
        Optional<FailedRevision> undone = history.undone(wanted.hash());
        if (undone.isPresent()) {
            answer.tell(EventType.PLUGIN_INSTALL_FAILED, words(undone.get()));
        } else if (!newProgram) {
            boolean done = isKnownGood(history, wanted) && isConverged(history);
            ask(id, history.asked().withInstall(!done));
            if (done) {
                answer.tell(EventType.PLUGIN_INSTALLED, "it is installed already");
            }
        }
    }

    private void remove(ConfigureItem item, OfItem answer) {
        if (!item.refusals().isEmpty() || item.plugin().isEmpty()) {
            answer.refuse(EventType.PLUGIN_REMOVE_FAILED, item.refusals());
            return;
        }
        WorkloadId id = item.plugin().get();
        StoredDeclaration other = others.get(id);
        WorkloadHistory history = known.histories().apply(id);
        boolean removing = other == null && history.isOfSomethingDeclared();
        Own removed = own.remove(id);
        if (removed == null) {
            if (removing) {
                answer.tell(EventType.PLUGIN_CONFIG_REMOVE, "it is being removed already");
                return;
            }
            Refusal refusal = other == null
                    ? Refusal.ofName(
                            Refusal.Reason.NOT_DECLARED,
                            "no plugin of this name is declared; nothing has to be removed")
                    : Refusal.ofName(
                            Refusal.Reason.DECLARED_ELSEWHERE,
                            SourceName.CONTROL_PLANE.word() + " does not declare it; it is declared by "
                                    + other.source().word() + " (" + other.origin() + "), take it out there");
            answer.refuse(EventType.PLUGIN_REMOVE_FAILED, ImmutableList.of(refusal));
            return;
        }
        quota.release(id);
        declared.remove(id);
        withdrawn.add(id);
        tellOfOvertaken(answer, id, removed.workload(), "a REMOVE came before it was applied");
        if (other != null) {
            tellOfSuccession(answer, other, history);
            // If the successor fails, there is no going back to what was removed.
            histories.put(id, history(id).withLastKnownGood(null).withFailed(null));
        } else if (!removing) {
            answer.tell(EventType.PLUGIN_CONFIG_REMOVE, "no longer declared");
            answer.tell(EventType.PLUGIN_REMOVED, "nothing of it was on this machine yet");
        } else {
            toBeRemoved.add(id);
        }
    }

    /** Another source declares it, too. If that is another revision, the loop reports that this one was removed. */
    private void tellOfSuccession(OfItem answer, StoredDeclaration successor, WorkloadHistory history) {
        LastKnownGood lastKnownGood = history.lastKnownGood();
        boolean stays = lastKnownGood == null
                || lastKnownGood
                        .workload()
                        .revision()
                        .equals(successor.workload().revision());
        if (stays) {
            String message = "no longer declared by " + SourceName.CONTROL_PLANE.word() + "; what "
                    + successor.source().word() + " declares is in force now";
            answer.tell(EventType.PLUGIN_CONFIG_REMOVE, message);
            answer.tell(EventType.PLUGIN_REMOVED, message);
        } else {
            toBeRemoved.add(successor.workload().id());
        }
    }

    private void apply(ConfigureItem item, OfItem answer) {
        Optional<Own> base = item.plugin().flatMap(this::declared);
        List<Refusal> refusals = new ArrayList<>(item.refusals());
        Optional<CanonicalDocument> wanted = Optional.empty();
        if (refusals.isEmpty() && base.isEmpty()) {
            refusals.add(Refusal.ofName(
                    Refusal.Reason.NOT_DECLARED, "no plugin of this name is declared; INSTALL it first"));
        } else if (refusals.isEmpty()) {
            ManifestReader.Result read = ManifestReader.reconfigured(base.get().workload(), item.sent());
            read.problems().forEach(problem -> refusals.add(Refusal.invalid(problem)));
            wanted = read.workload().map(known.printer());
            wanted.flatMap(document ->
                            quota.reserve(document, history(document.workload().id())))
                    .ifPresent(refusals::add);
        }
        if (wanted.isEmpty() || !refusals.isEmpty()) {
            answer.refuse(EventType.PLUGIN_CONFIG_APPLY_FAILED, refusals);
            return;
        }
        Workload workload = wanted.get().workload();
        WorkloadId id = workload.id();
        String config = config(wanted.get());
        Apply before = history(id).asked().apply();
        if (before != null && !before.config().equals(config)) {
            tellOfOvertaken(answer, id, base.get().workload(), "a later one came before it was applied");
        }
        if (!workload.equals(base.get().workload())) {
            declare(wanted.get());
            // What the loop has not looked at yet is one change together with this one.
            String looked = history(id).attempts().hash();
            boolean together = before != null && before.base().equals(looked);
            Apply apply = new Apply(config, together ? looked : base.get().hash());
            ask(id, history(id).asked().withApply(apply));
            return;
        }
        // Already declared: a plugin that has this configuration is not asked to take it again.
        tryAtOnce(id);
        Optional<FailedRevision> undone = history(id).undone(wanted.get().hash());
        if (isKnownGood(history(id), wanted.get())) {
            ask(id, history(id).asked().withApply(null));
            answer.tell(workload.revision(), EventType.PLUGIN_CONFIG_APPLY, "configuration received");
            answer.tell(workload.revision(), EventType.PLUGIN_CONFIG_APPLIED, "it has this configuration already");
        } else if (undone.isPresent()) {
            ask(id, history(id).asked().withApply(null));
            answer.tell(workload.revision(), EventType.PLUGIN_CONFIG_APPLY, "configuration received");
            answer.tell(workload.revision(), EventType.PLUGIN_CONFIG_APPLY_FAILED, words(undone.get()));
        } else if (before == null || !before.config().equals(config)) {
            ask(id, history(id).asked().withApply(new Apply(config, "")));
        }
    }

    /** Tells of an APPLY that something else came in the way of before the loop could tell what became of it. */
    private void tellOfOvertaken(OfItem answer, WorkloadId id, @Nullable Workload declared, String why) {
        Asked asked = history(id).asked();
        if (asked.apply() != null) {
            // Of the revision that was to take it, whichever is sent now.
            String revision = declared == null ? revision(history(id)) : declared.revision();
            answer.tell(revision, EventType.PLUGIN_CONFIG_APPLY, "configuration received");
            answer.tell(revision, EventType.PLUGIN_CONFIG_APPLY_FAILED, why);
            ask(id, asked.withApply(null));
        }
    }

    /** What is declared of it, by whomever. */
    private Optional<Own> declared(WorkloadId id) {
        return Optional.ofNullable(own.get(id))
                .or(() -> Optional.ofNullable(others.get(id)).map(other -> new Own(other.workload(), other.hash())));
    }

    private void ask(WorkloadId id, Asked asked) {
        WorkloadHistory history = history(id);
        if (!asked.equals(history.asked())) {
            histories.put(id, history.withAsked(asked));
        }
    }

    private static boolean isKnownGood(WorkloadHistory history, CanonicalDocument wanted) {
        LastKnownGood lastKnownGood = history.lastKnownGood();
        return lastKnownGood != null && lastKnownGood.hash().equals(wanted.hash());
    }

    /** Not so while it is held by hand, has crashed or waits for anything. */
    private static boolean isConverged(WorkloadHistory history) {
        return history.conditions().stream()
                .anyMatch(condition ->
                        condition.type() == Condition.Type.CONVERGED && condition.status() == Condition.Status.TRUE);
    }

    private static String config(CanonicalDocument wanted) {
        return Traits.of(wanted.workload()).configHash();
    }

    private static String words(FailedRevision undone) {
        return "it was tried and undone: " + undone.error()
                + "; it is tried again when another declaration is sent, or later "
                + (undone.byRequest() ? "on request" : "by itself");
    }

    /** What is remembered, with what this message has changed of it. */
    private WorkloadHistory history(WorkloadId id) {
        WorkloadHistory changed = histories.get(id);
        return changed == null ? known.histories().apply(id) : changed;
    }

    private void declare(CanonicalDocument wanted) {
        WorkloadId id = wanted.workload().id();
        own.put(id, new Own(wanted.workload(), wanted.hash()));
        declared.put(id, wanted);
        withdrawn.remove(id);
        tryAtOnce(id);
    }

    /** A repeated item asks for another try: delays after failures end. */
    private void tryAtOnce(WorkloadId id) {
        WorkloadHistory history = history(id);
        WorkloadHistory next = history.retriedNow();
        if (!next.equals(history)) {
            histories.put(id, next);
        }
    }

    private ControlPlaneChange change() {
        return new ControlPlaneChange(
                declared.values().stream()
                        .map(document -> new ToApply(document, known.origin()))
                        .collect(ImmutableList.toImmutableList()),
                ImmutableSet.copyOf(withdrawn),
                ImmutableMap.copyOf(histories),
                events.events(),
                events.withheld());
    }

    /**
     * Bounds how much a control plane may declare in all. The agent holds it in memory, parts of it several times while it handles a message:
     * without a bound, a few messages of maximum size would kill it, and again after each start.
     */
    static final class Quota {
        /** In characters of stored documents: 8 Ki for each of the most plugins that there may be. */
        static final long MOST = 8 << 20;

        /** In bytes of names and revisions; half of the states of all plugins, in one message, are left for what else is told of them. */
        static final int MOST_NAMES = 2 << 20;

        /** What a value takes in memory beside its characters, approximately. */
        private static final int PER_VALUE = 32;

        private final Map<WorkloadId, Used> used = new HashMap<>();
        private Used sum = Used.NOTHING;

        private record Used(long characters, long names) {
            static final Used NOTHING = new Used(0, 0);

            Used plus(Used more) {
                return new Used(characters + more.characters, names + more.names);
            }

            Used minus(Used less) {
                return new Used(characters - less.characters, names - less.names);
            }
        }

        void count(StoredDeclaration declared, WorkloadHistory history) {
            put(declared.workload().id(), used(declared.workload(), declared.length(), history));
        }

        /**
         * Reserves what a workload needs, in place of what it had.
         *
         * @return why not, if there is not enough left, and nothing was reserved; a workload that needs no more than before always fits
         */
        Optional<Refusal> reserve(CanonicalDocument document, WorkloadHistory history) {
            WorkloadId id = document.workload().id();
            Used needed = used(document.workload(), document.length(), history);
            Used before = used.getOrDefault(id, Used.NOTHING);
            Used after = sum.minus(before).plus(needed);
            if (needed.names() > before.names() && after.names() > MOST_NAMES) {
                return Optional.of(NAMES_EXCEEDED);
            }
            if (needed.characters() > before.characters() && after.characters() > MOST) {
                return Optional.of(QUOTA_EXCEEDED);
            }
            put(id, needed);
            return Optional.empty();
        }

        void release(WorkloadId id) {
            put(id, Used.NOTHING);
        }

        private void put(WorkloadId id, Used needed) {
            Used before = used.put(id, needed);
            sum = sum.plus(needed).minus(before == null ? Used.NOTHING : before);
        }

        private static Used used(Workload workload, int length, WorkloadHistory history) {
            long values = workload.spec() instanceof PluginSpec plugin && plugin.config() != null
                    ? values(plugin.config().struct())
                    : 0;
            long comes = bytes(workload.revision());
            long runs = history.standIns().stream()
                    .mapToLong(one -> bytes(one.workload().revision()))
                    .max()
                    .orElse(0);
            return new Used(
                    length
                            + PER_VALUE
                                    * (values + workload.program().arguments().size()),
                    // Both revisions are told; what comes is what runs one day.
                    bytes(workload.id().name()) + comes + Math.max(comes, runs));
        }

        private static long bytes(String text) {
            return ByteString.copyFromUtf8(text).size();
        }

        private static long values(@Nullable JsonNode node) {
            long all = 1;
            if (node != null) {
                for (JsonNode each : node) {
                    all += values(each);
                }
            }
            return all;
        }
    }
}
