package io.homeostat.reconcile.controlplane;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.source.ManifestReader;
import io.homeostat.desired.state.ControlPlaneChange;
import io.homeostat.desired.state.EventType;
import io.homeostat.desired.state.StateStore.ToApply;
import io.homeostat.desired.state.StoredDeclaration;
import io.homeostat.desired.state.history.FailedRevision;
import io.homeostat.desired.state.history.ProvenRevision;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.desired.yaml.CanonicalDocument;
import io.homeostat.reconcile.plan.Bookkeeping;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Function;

/**
 * What a message changes of what is declared, item after item; each stands for itself. Pure.
 *
 * <p>Only those events are told here that the loop does not: it tells what becomes of another declaration, but has nothing to do, and so
 * nothing to tell, when a message is refused or asks for what is there already.
 */
final class Translation {
    /** So many plugins may a control plane declare. */
    static final int MOST_PLUGINS = 1_000;

    private static final String NO_ROOM = "manifest: all that is declared together would be longer than "
            + (Room.MOST >> 20) + " MiB; send a shorter configuration, or REMOVE some plugins first";

    /**
     * What is known when the message comes.
     *
     * @param declarations of all sources
     * @param origin where the control plane is, for people
     * @param refusals how many refused items may be told of one by one
     */
    record Known(
            ImmutableList<StoredDeclaration> declarations,
            Function<WorkloadId, WorkloadHistory> histories,
            String origin,
            Instant now,
            Refusals.Left refusals) {}

    /** @param refusals how many refused items may be told of once this is stored */
    record Outcome(ControlPlaneChange change, Refusals.Left refusals) {}

    private final Known known;
    private final Map<WorkloadId, Workload> own = new TreeMap<>();
    private final Map<WorkloadId, StoredDeclaration> others = new TreeMap<>();
    private final Map<WorkloadId, Workload> declared = new LinkedHashMap<>();
    private final Set<WorkloadId> withdrawn = new LinkedHashSet<>();
    private final Map<WorkloadId, WorkloadHistory> histories = new LinkedHashMap<>();
    private final Telling telling;
    private final Room room;

    private Translation(Known known) {
        this.known = known;
        this.telling = new Telling(known.refusals());
        for (StoredDeclaration declaration : known.declarations()) {
            WorkloadId id = declaration.workload().id();
            if (declaration.source() == SourceName.CONTROL_PLANE) {
                own.put(id, declaration.workload());
            } else if (id.kind().equals(Kind.PLUGIN)) {
                others.merge(id, declaration, (one, two) -> one.source().compareTo(two.source()) < 0 ? one : two);
            }
        }
        this.room = new Room(own.values());
    }

    static Outcome of(String messageId, ImmutableList<Item> items, Known known) {
        Translation translation = new Translation(known);
        items.forEach(translation::take);
        return new Outcome(translation.change(messageId), translation.telling.left());
    }

    private void take(Item item) {
        boolean declared = item.plugin()
                .filter(id -> own.containsKey(id) || others.containsKey(id))
                .isPresent();
        Said said = new Said(item, known.now());
        switch (item.sent().getAction()) {
            case REMOVE -> remove(item, said);
            case APPLY -> apply(item, said);
            case INSTALL, ACTION_UNSPECIFIED, UNRECOGNIZED -> install(item, said);
        }
        telling.add(said, declared);
    }

    private void install(Item item, Said said) {
        Optional<Workload> read = item.install().flatMap(ManifestReader.Result::workload);
        List<String> refusals = new ArrayList<>(item.refusals());
        if (read.isPresent()
                && own.size() >= MOST_PLUGINS
                && !own.containsKey(read.get().id())) {
            refusals.add("plugin.name: " + MOST_PLUGINS + " plugins are declared already; REMOVE some first");
        }
        if (read.isPresent() && refusals.isEmpty() && !room.take(read.get())) {
            refusals.add(NO_ROOM);
        }
        if (read.isEmpty() || !refusals.isEmpty()) {
            said.tell(EventType.PLUGIN_CONFIG_INSTALL, "sent by the control plane");
            said.refuse(EventType.PLUGIN_INSTALL_FAILED, refusals);
            return;
        }
        Workload wanted = read.get();
        if (withdrawn.contains(wanted.id())) {
            said.tell(EventType.PLUGIN_CONFIG_REMOVE, "withdrawn, and declared again by the same message");
            said.tell(EventType.PLUGIN_REMOVED, "declared again by the same message");
        }
        tellOfInstall(said, wanted);
        declare(wanted);
    }

    /** Tells what the loop does not: that what is asked for was heard and, when the program is there already, that it is. */
    private void tellOfInstall(Said said, Workload wanted) {
        WorkloadHistory history = known.histories().apply(wanted.id());
        String hash = CanonicalDocument.of(wanted).hash();
        boolean another = !hash.equals(history.trial().hash());
        boolean newProgram = Bookkeeping.isNewProgram(history.proven(), wanted);
        if (another && (newProgram || history.trial().hash().isEmpty())) {
            return;
        }
        said.tell(EventType.PLUGIN_CONFIG_INSTALL, "declared by " + SourceName.CONTROL_PLANE.word());
        FailedRevision failed = history.failed();
        if (failed != null && failed.hash().equals(hash)) {
            said.tell(
                    EventType.PLUGIN_INSTALL_FAILED,
                    "it was tried and undone: " + failed.error()
                            + "; it is tried again when another declaration is sent, or later by itself");
        } else if (!newProgram) {
            said.tell(EventType.PLUGIN_INSTALLED, "it is installed already");
        }
    }

    private void remove(Item item, Said said) {
        if (!item.refusals().isEmpty() || item.plugin().isEmpty()) {
            said.refuse(EventType.PLUGIN_REMOVE_FAILED, item.refusals());
            return;
        }
        WorkloadId id = item.plugin().get();
        StoredDeclaration other = others.get(id);
        WorkloadHistory history = known.histories().apply(id);
        boolean removing = other == null && history.isOfSomethingDeclared();
        if (own.remove(id) == null) {
            if (removing) {
                said.tell(EventType.PLUGIN_CONFIG_REMOVE, "it is being removed already");
                return;
            }
            String why = other == null
                    ? "no plugin of this name is declared; nothing has to be removed"
                    : SourceName.CONTROL_PLANE.word() + " does not declare it; it is declared by "
                            + other.source().word() + " (" + other.origin() + "), take it out there";
            said.refuse(EventType.PLUGIN_REMOVE_FAILED, ImmutableList.of("plugin.name: " + why));
            return;
        }
        room.free(id);
        declared.remove(id);
        withdrawn.add(id);
        if (other != null) {
            tellOfSuccession(said, other, history);
            // What was removed is nothing to go back to, should the successor fail.
            histories.put(id, history.withProven(null).withFailed(null));
        } else if (!removing) {
            said.tell(EventType.PLUGIN_CONFIG_REMOVE, "no longer declared");
            said.tell(EventType.PLUGIN_REMOVED, "nothing of it was on this machine yet");
        }
    }

    /** Another source declares it as well. Of a revision that gives way to another one the loop tells that it was removed. */
    private void tellOfSuccession(Said said, StoredDeclaration successor, WorkloadHistory history) {
        ProvenRevision proven = history.proven();
        boolean stays = proven == null
                || proven.workload().revision().equals(successor.workload().revision());
        if (stays) {
            String words = "no longer declared by " + SourceName.CONTROL_PLANE.word() + "; what "
                    + successor.source().word() + " declares is in force now";
            said.tell(EventType.PLUGIN_CONFIG_REMOVE, words);
            said.tell(EventType.PLUGIN_REMOVED, words);
        }
    }

    private void apply(Item item, Said said) {
        Optional<Workload> base = item.plugin()
                .flatMap(id -> Optional.ofNullable(own.get(id))
                        .or(() -> Optional.ofNullable(others.get(id)).map(StoredDeclaration::workload)));
        List<String> refusals = new ArrayList<>(item.refusals());
        Optional<Workload> wanted = Optional.empty();
        if (refusals.isEmpty() && base.isEmpty()) {
            refusals.add("plugin.name: no plugin of this name is declared; INSTALL it first");
        } else if (refusals.isEmpty()) {
            ManifestReader.Result read = ManifestReader.reconfigured(base.get(), item.sent());
            read.problems().forEach(problem -> refusals.add(problem.toString()));
            wanted = read.workload();
            if (refusals.isEmpty() && !wanted.map(room::take).orElse(false)) {
                refusals.add(NO_ROOM);
            }
        }
        if (wanted.isEmpty() || !refusals.isEmpty()) {
            said.refuse(EventType.PLUGIN_CONFIG_APPLY_FAILED, refusals);
            return;
        }
        if (!wanted.equals(base)) {
            declare(wanted.get());
            return;
        }
        // It is what is declared: a plugin that has it already is not asked to take it once more.
        tryAtOnce(wanted.get().id());
        ProvenRevision proven = known.histories().apply(wanted.get().id()).proven();
        if (proven != null && proven.hash().equals(CanonicalDocument.of(wanted.get()).hash())) {
            String revision = wanted.get().revision();
            said.tell(revision, EventType.PLUGIN_CONFIG_APPLY, "");
            said.tell(revision, EventType.PLUGIN_CONFIG_APPLIED, "it has this configuration already");
        }
    }

    private void declare(Workload wanted) {
        own.put(wanted.id(), wanted);
        declared.put(wanted.id(), wanted);
        withdrawn.remove(wanted.id());
        tryAtOnce(wanted.id());
    }

    /** Whoever sends it again wants it to be tried again: no pause after failures is waited for. */
    private void tryAtOnce(WorkloadId id) {
        WorkloadHistory history = known.histories().apply(id);
        WorkloadHistory next = history.retriedNow();
        if (!next.equals(history)) {
            histories.put(id, next);
        }
    }

    private ControlPlaneChange change(String messageId) {
        return new ControlPlaneChange(
                messageId,
                declared.values().stream()
                        .map(workload -> new ToApply(workload, known.origin()))
                        .collect(ImmutableList.toImmutableList()),
                ImmutableSet.copyOf(withdrawn),
                ImmutableMap.copyOf(histories),
                telling.events(),
                telling.withheld());
    }
}
