package io.homeostat.reconcile.command.fleet;

import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.common.base.Joiner;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.fleet.MachineReport;
import io.homeostat.desired.fleet.MachineReport.ReportedWorkload;
import io.homeostat.desired.fleet.RolloutState;
import io.homeostat.desired.model.Redaction;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.output.Console;
import io.homeostat.reconcile.command.output.Json;
import io.homeostat.reconcile.command.output.Table;
import io.homeostat.reconcile.command.output.Text;
import io.homeostat.reconcile.fleet.FleetMirror;
import io.homeostat.reconcile.fleet.FleetMirror.Machine;
import io.homeostat.reconcile.fleet.RolloutSituation.Member;
import io.homeostat.reconcile.fleet.Standing;
import java.time.Instant;
import java.util.Optional;

/**
 * One machine of a fleet.
 *
 * @param registeredAt empty where machines do not register
 * @param report empty while it is silent
 */
public record FleetMachine(
        String id,
        ImmutableSortedMap<String, String> labels,
        Optional<Instant> registeredAt,
        Optional<MachineReport> report,
        ImmutableList<Turn> rollouts)
        implements FleetAnswer {
    static final String NAMES =
            "machines are named by their instance ids; fleet status shows those that are silent or not well";

    private static final String NOTHING = "-";

    /**
     * Whether a rollout lets it in.
     *
     * @param admits whether it may have the new revision, as was decided last
     * @param standing how it fares then; else whose turn it is
     * @param wave that it is in, from 1; 0: the rollout is not for it
     * @param why for people; empty when there is nothing to say
     */
    public record Turn(String rollout, boolean admits, String standing, int wave, String why) {}

    /**
     * Looks at one.
     *
     * @param where machines are registered, for people
     * @throws CommandFailure when it was never there
     */
    public static FleetMachine of(FleetMirror mirror, String where, String id, Instant now) {
        Machine machine = mirror.machines().get(id);
        if (machine == null) {
            throw new CommandFailure("there is no machine " + id + " among the "
                    + mirror.machines().size() + " that are registered under " + where + "; " + NAMES);
        }
        return new FleetMachine(
                id,
                machine.labels(),
                Optional.of(machine.at()),
                mirror.report(id),
                RolloutStand.all(mirror, now).stream()
                        .map(stand -> turn(stand, id))
                        .collect(ImmutableList.toImmutableList()));
    }

    /**
     * Looks at one by what it has written into a bucket.
     *
     * @param where they are written, a URL
     * @throws CommandFailure when it has written nothing
     */
    public static FleetMachine of(BucketReports reports, String where, String id) {
        BucketReports.Heard heard = reports.machines().get(id);
        if (heard == null) {
            throw new CommandFailure("there is no report of " + id + " among the "
                    + reports.machines().size() + " in " + Redaction.url(where) + "; " + NAMES);
        }
        return new FleetMachine(
                id,
                heard.report().labels(),
                Optional.empty(),
                heard.isSilent() ? Optional.empty() : Optional.of(heard.report().report()),
                ImmutableList.of());
    }

    private static Turn turn(RolloutStand stand, String id) {
        ImmutableList<Member> members = stand.situation().members();
        int index = 0;
        while (index < members.size() && !members.get(index).id().equals(id)) {
            index++;
        }
        if (index == members.size()) {
            return new Turn(stand.name(), false, "notForIt", 0, "its placement is for other machines");
        }
        Member member = members.get(index);
        int wave = stand.waveOf(index) + 1;
        RolloutState state = stand.plan().state();
        if (!stand.situation().hasBegun()) {
            return notYet(stand, wave, stand.reason());
        }
        Standing standing = stand.plan().standings().get(index);
        if (state.admits(member.place(), member.registeredAt())) {
            return new Turn(stand.name(), true, RolloutStand.word(standing.kind()), wave, standing.why());
        } else if (standing.kind() != Standing.Kind.NOT_ITS_TURN) {
            String why = "it had the new revision before, and keeps it";
            return new Turn(
                    stand.name(),
                    false,
                    RolloutStand.word(standing.kind()),
                    wave,
                    standing.why().isEmpty() ? why : why + "; " + standing.why());
        } else if (!state.letsIn()) {
            return notYet(stand, wave, state.reason());
        } else if (member.place().compareTo(state.through()) <= 0) {
            return notYet(stand, wave, "it came, or got its labels, after wave " + (state.wave() + 1) + " had opened");
        }
        return notYet(stand, wave, "wave " + (state.wave() + 1) + " is open");
    }

    private static Turn notYet(RolloutStand stand, int wave, String why) {
        return new Turn(stand.name(), false, RolloutStand.word(Standing.Kind.NOT_ITS_TURN), wave, why);
    }

    @Override
    public void print(Console console) {
        console.out().println("machine     " + Text.oneLine(id));
        registeredAt.ifPresent(at -> console.out().println("registered  " + at));
        console.out()
                .println("labels      "
                        + (labels.isEmpty()
                                ? NOTHING
                                : Text.oneLine(Joiner.on(", ")
                                        .withKeyValueSeparator("=")
                                        .join(labels))));
        console.out()
                .println("report      "
                        + report.map(said -> Text.oneLine("at " + said.at() + " by agent " + said.agent()
                                        + (said.problems() == 0
                                                ? ""
                                                : ", problems of its sources: " + said.problems())))
                                .orElse("silent: nothing is heard of it"));
        report.ifPresent(said -> {
            console.out()
                    .println("set         "
                            + (said.source().isEmpty()
                                    ? NOTHING
                                    : Text.oneLine(said.source() + " " + said.version()
                                            + (said.sequence() == 0 ? "" : ", sequence " + said.sequence()))));
            print(said.workloads(), console);
        });
        if (!rollouts.isEmpty()) {
            Table table = new Table("ROLLOUT", "ADMITTED", "STANDING", "WAVE", "WHY");
            rollouts.forEach(turn -> table.row(
                    turn.rollout(),
                    turn.admits() ? "yes" : "no",
                    turn.standing(),
                    turn.wave() == 0 ? NOTHING : String.valueOf(turn.wave()),
                    turn.why()));
            table.print(console.out(), console.ansi());
        }
    }

    private static void print(ImmutableList<ReportedWorkload> workloads, Console console) {
        if (workloads.isEmpty()) {
            return;
        }
        Table table =
                new Table("WORKLOAD", "REVISION", "DESIRED", "STATE", "HEALTHY", "CONVERGED", "RESTARTS", "FAILURE");
        workloads.forEach(workload -> table.row(
                workload.id(),
                orNothing(workload.revision()),
                orNothing(workload.desired()),
                workload.state(),
                workload.healthy() ? "yes" : "no",
                workload.converged() ? "yes" : "no",
                String.valueOf(workload.restarts()),
                orNothing(workload.failure())));
        table.print(console.out(), console.ansi());
    }

    private static String orNothing(String text) {
        return text.isEmpty() ? NOTHING : text;
    }

    @Override
    public ObjectNode json() {
        ObjectNode json = Json.versioned().put("machine", id).put("silent", report.isEmpty());
        registeredAt.ifPresent(at -> json.put("registeredAt", at.toString()));
        ObjectNode placed = json.putObject("labels");
        labels.forEach(placed::put);
        report.ifPresent(said -> json.set("report", json(said)));
        json.set(
                "rollouts",
                Json.array(
                        rollouts,
                        turn -> Json.object()
                                .put("name", turn.rollout())
                                .put("admitted", turn.admits())
                                .put("standing", turn.standing())
                                .put("wave", turn.wave())
                                .put("reason", turn.why())));
        return json;
    }

    private static ObjectNode json(MachineReport report) {
        ObjectNode json = Json.object()
                .put("agent", report.agent())
                .put("at", report.at().toString())
                .put("source", report.source())
                .put("version", report.version())
                .put("sequence", report.sequence())
                .put("problems", report.problems());
        json.set(
                "workloads",
                Json.array(
                        report.workloads(),
                        workload -> Json.object()
                                .put("id", workload.id())
                                .put("revision", workload.revision())
                                .put("desired", workload.desired())
                                .put("failed", workload.failed())
                                .put("state", workload.state())
                                .put("converged", workload.converged())
                                .put("healthy", workload.healthy())
                                .put("paused", workload.paused())
                                .put("givenUp", workload.givenUp())
                                .put("restarts", workload.restarts())
                                .put("failure", workload.failure())));
        return json;
    }
}
