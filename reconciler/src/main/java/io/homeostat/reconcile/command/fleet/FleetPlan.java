package io.homeostat.reconcile.command.fleet;

import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableListMultimap;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.Sets;
import com.google.protobuf.ByteString;
import io.homeostat.desired.etcd.KeyValues.Entry;
import io.homeostat.desired.etcd.KeyValues.Listing;
import io.homeostat.desired.fleet.FleetKeys;
import io.homeostat.desired.fleet.MachineLabels;
import io.homeostat.desired.fleet.MachineReport;
import io.homeostat.desired.fleet.RolloutState;
import io.homeostat.desired.fleet.SetSelection;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.yaml.Choice.ReadRollout;
import io.homeostat.desired.yaml.Choice.Verdict;
import io.homeostat.desired.yaml.DocumentReader.ReadResult;
import io.homeostat.reconcile.command.output.Console;
import io.homeostat.reconcile.command.output.Json;
import io.homeostat.reconcile.command.output.Table;
import io.homeostat.reconcile.command.output.Text;
import io.homeostat.reconcile.fleet.FleetMirror;
import io.homeostat.reconcile.fleet.FleetMirror.Machine;
import io.homeostat.reconcile.fleet.PublishedRollouts;
import io.homeostat.reconcile.fleet.RolloutSituation.Member;
import java.time.Instant;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * What would change on the machines of a fleet were a set published: by the labels that they are registered with, and by the rule by which
 * they choose themselves.
 *
 * @param refusals why it would not be published, see {@link Publication#refusals}
 */
public record FleetPlan(
        int machines, ImmutableList<Row> rows, ImmutableList<String> warnings, ImmutableList<String> refusals)
        implements FleetAnswer {
    private static final String NOTHING = "-";

    /** They share a line with the change, and have up to 20 characters at cloud providers. */
    private static final int EXAMPLES = 3;

    /**
     * The same change on some machines.
     *
     * @param from a revision; empty: the workload is not there
     * @param to a revision; empty: it is removed
     * @param rollout that brings it; empty: it comes at once
     * @param wave of the rollout, from 1; 0: at once, or nobody can tell
     */
    public record Change(WorkloadId workload, String from, String to, String rollout, int wave) {
        private static final Comparator<Change> ORDER = Comparator.comparing(Change::workload)
                .thenComparingInt(Change::wave)
                .thenComparing(Change::rollout)
                .thenComparing(Change::from)
                .thenComparing(Change::to);
    }

    /** A change, and the ids of the machines that have it, sorted. */
    public record Row(Change change, ImmutableList<String> machines) {}

    /**
     * Looks at what would come.
     *
     * @param listing all of the store
     * @param published what is published now; empty: nothing is
     * @param next what is to be published
     * @param force whether it would be published although that is refused otherwise
     */
    public static FleetPlan of(
            FleetKeys keys,
            Listing listing,
            Optional<ReadResult> published,
            ReadResult next,
            boolean force,
            Instant now) {
        FleetMirror mirror = new FleetMirror(keys, set -> PublishedRollouts.scopes(next));
        mirror.replace(listing);
        // As if it had been published now; its text is not looked at.
        long revision = listing.revision() + 1;
        mirror.change(
                ImmutableList.of(new Entry(keys.set(), ByteString.EMPTY, revision, revision)),
                ImmutableList.of(),
                revision);
        ImmutableListMultimap.Builder<Change, String> changes =
                ImmutableListMultimap.<Change, String>builder().orderKeysBy(Change.ORDER);
        ImmutableMap<String, RolloutState> states = mirror.states();
        Map<String, Map<String, Integer>> waves = waves(RolloutStand.all(mirror, now));
        mirror.machines().forEach((id, machine) -> {
            ImmutableMap<WorkloadId, Workload> before = published
                    .map(read -> chosen(read, selection(id, machine, states, reported(mirror.report(id)))))
                    .orElse(ImmutableMap.of());
            ImmutableMap<WorkloadId, String> inForce = before.entrySet().stream()
                    .collect(ImmutableMap.toImmutableMap(
                            Map.Entry::getKey, workload -> workload.getValue().revision()));
            SetSelection selection = selection(id, machine, states, inForce);
            ImmutableMap<WorkloadId, Workload> after = chosen(next, selection);
            atOnce(before, after).forEach(change -> changes.put(change, id));
            inWaves(next, selection, after, id, waves).forEach(change -> changes.put(change, id));
        });
        ImmutableList<Row> rows = changes.build().asMap().entrySet().stream()
                .map(change -> new Row(change.getKey(), ImmutableList.copyOf(change.getValue())))
                .collect(ImmutableList.toImmutableList());
        return new FleetPlan(
                mirror.machines().size(),
                rows,
                warnings(rows, mirror, published, next),
                published
                        .filter(before -> !force)
                        .map(before -> Publication.refusals(before, next))
                        .orElse(ImmutableList.of()));
    }

    private static SetSelection selection(
            String id,
            Machine machine,
            ImmutableMap<String, RolloutState> states,
            ImmutableMap<WorkloadId, String> inForce) {
        return new SetSelection(
                new MachineLabels(machine.labels(), Optional.empty()),
                id,
                OptionalLong.of(machine.registeredAt()),
                states,
                inForce);
    }

    /** What a machine says it goes by; of one that is silent nothing, which counts as the old revision. */
    private static ImmutableMap<WorkloadId, String> reported(Optional<MachineReport> report) {
        Map<WorkloadId, String> reported = new HashMap<>();
        report.ifPresent(said -> said.workloads()
                .forEach(workload ->
                        WorkloadId.parse(workload.id()).ifPresent(id -> reported.put(id, workload.desired()))));
        return ImmutableMap.copyOf(reported);
    }

    private static ImmutableMap<WorkloadId, Workload> chosen(ReadResult set, SetSelection selection) {
        return set.declared().stream()
                .filter(workload ->
                        selection.verdict(workload, rolloutOf(set, workload.id())) instanceof Verdict.Applies)
                .collect(ImmutableMap.toImmutableMap(Workload::id, workload -> workload, (one, other) -> other));
    }

    private static @Nullable ReadRollout rolloutOf(ReadResult set, WorkloadId id) {
        return set.rollouts().stream()
                .filter(rollout -> rollout.spec().workloads().contains(id.toString()))
                .findFirst()
                .orElse(null);
    }

    private static ImmutableList<Change> atOnce(
            ImmutableMap<WorkloadId, Workload> before, ImmutableMap<WorkloadId, Workload> after) {
        ImmutableList.Builder<Change> changes = ImmutableList.builder();
        for (WorkloadId id : Sets.union(before.keySet(), after.keySet())) {
            Workload old = before.get(id);
            Workload next = after.get(id);
            if (old == null || next == null || !old.spec().equals(next.spec())) {
                changes.add(
                        new Change(id, old == null ? "" : old.revision(), next == null ? "" : next.revision(), "", 0));
            }
        }
        return changes.build();
    }

    private static ImmutableList<Change> inWaves(
            ReadResult set,
            SetSelection selection,
            ImmutableMap<WorkloadId, Workload> chosen,
            String machine,
            Map<String, Map<String, Integer>> waves) {
        ImmutableList.Builder<Change> changes = ImmutableList.builder();
        for (Workload workload : set.declared()) {
            ReadRollout rollout = rolloutOf(set, workload.id());
            Workload now = chosen.get(workload.id());
            if (rollout != null
                    && workload.revision().equals(rollout.spec().to())
                    && !workload.equals(now)
                    && selection.labels().verdict(workload, null) instanceof Verdict.Applies) {
                int wave = waves.getOrDefault(rollout.name(), Map.of()).getOrDefault(machine, 0);
                changes.add(new Change(
                        workload.id(), now == null ? "" : now.revision(), workload.revision(), rollout.name(), wave));
            }
        }
        return changes.build();
    }

    /** The wave of each machine, from 1, by the rollout. */
    private static Map<String, Map<String, Integer>> waves(ImmutableList<RolloutStand> rollouts) {
        Map<String, Map<String, Integer>> waves = new HashMap<>();
        for (RolloutStand stand : rollouts) {
            Map<String, Integer> ofMachines = new HashMap<>();
            int index = 0;
            for (Member member : stand.situation().members()) {
                ofMachines.put(member.id(), stand.waveOf(index++) + 1);
            }
            waves.put(stand.name(), ofMachines);
        }
        return waves;
    }

    private static ImmutableList<String> warnings(
            ImmutableList<Row> rows, FleetMirror mirror, Optional<ReadResult> published, ReadResult next) {
        ImmutableList.Builder<String> warnings = ImmutableList.builder();
        rows.stream()
                .filter(row -> row.change().rollout().isEmpty())
                .forEach(row -> warnings.add(row.change().workload() + " changes at once on "
                        + machines(row.machines().size()) + ": no rollout covers that"));
        TreeSet<String> goOn = new TreeSet<>();
        published.ifPresent(read -> PublishedRollouts.scopes(read)
                .forEach(scope -> goOn.add(scope.rollout().digest())));
        PublishedRollouts.scopes(next).stream()
                .map(FleetMirror.Scope::rollout)
                .filter(rollout -> !goOn.contains(rollout.digest()))
                .forEach(rollout -> {
                    RolloutState state = mirror.states().get(rollout.name());
                    if (state != null && state.digest().equals(rollout.digest())) {
                        warnings.add("rollout " + rollout.name() + " was published before and is "
                                + RolloutStand.word(state.phase())
                                + ": it goes on from there, and does not begin anew; give it another name");
                    }
                });
        if (mirror.machines().isEmpty()) {
            warnings.add(mirror.prefix() + " has no registered machine; is sources.etcd.prefix right?");
        }
        mirror.problems().forEach((key, problem) -> warnings.add(key + " " + problem));
        return warnings.build();
    }

    private static String machines(int count) {
        return count == 1 ? "1 machine" : count + " machines";
    }

    @Override
    public void print(Console console) {
        if (rows.isEmpty()) {
            console.out().println("nothing would change on " + machines(machines));
        } else {
            Table table = new Table("WORKLOAD", "FROM", "TO", "MACHINES", "WHEN", "MACHINE IDS");
            rows.forEach(row -> table.row(
                    row.change().workload().toString(),
                    orNothing(row.change().from()),
                    orNothing(row.change().to()),
                    String.valueOf(row.machines().size()),
                    when(row.change()),
                    some(row.machines())));
            table.print(console.out(), console.ansi());
            if (rows.stream().anyMatch(row -> row.machines().size() > EXAMPLES)) {
                console.out().println("all machine ids are in -o json");
            }
        }
        warnings.forEach(warning -> console.say("warning: " + Text.oneLine(warning)));
        refusals.forEach(refusal -> console.say("publish would refuse this: " + Text.oneLine(refusal)));
    }

    private static String some(ImmutableList<String> machines) {
        String first = machines.stream().limit(EXAMPLES).collect(Collectors.joining(", "));
        return machines.size() > EXAMPLES ? first + " and " + (machines.size() - EXAMPLES) + " more" : first;
    }

    private static String when(Change change) {
        if (change.rollout().isEmpty()) {
            return "at once";
        }
        return (change.wave() == 0 ? "some time" : "wave " + change.wave()) + " of rollout " + change.rollout();
    }

    private static String orNothing(String text) {
        return text.isEmpty() ? NOTHING : text;
    }

    @Override
    public ObjectNode json() {
        ObjectNode json = Json.versioned().put("machines", machines);
        json.set(
                "changes",
                Json.array(
                        rows,
                        row -> Json.object()
                                .put("workload", row.change().workload().toString())
                                .put("from", row.change().from())
                                .put("to", row.change().to())
                                .put("rollout", row.change().rollout())
                                .put("wave", row.change().wave())
                                .put("machines", row.machines().size())
                                .<ObjectNode>set("machineIds", Json.texts(row.machines()))));
        json.set("warnings", Json.texts(warnings));
        json.set("refusals", Json.texts(refusals));
        return json;
    }
}
