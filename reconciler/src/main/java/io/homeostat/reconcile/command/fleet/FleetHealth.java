package io.homeostat.reconcile.command.fleet;

import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.common.collect.ImmutableSortedMap;
import com.google.common.collect.ImmutableSortedSet;
import io.homeostat.desired.fleet.MachineReport;
import io.homeostat.desired.fleet.MachineReport.ReportedWorkload;
import io.homeostat.reconcile.command.output.Console;
import io.homeostat.reconcile.command.output.Json;
import io.homeostat.reconcile.command.output.Text;
import io.homeostat.reconcile.status.WorkloadState;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * How the machines of a fleet are.
 *
 * @param silent those that are not heard of, which may be well or not, by id
 * @param notWell those that report that something is wrong, by id, with what it is
 */
record FleetHealth(int machines, ImmutableSortedSet<String> silent, ImmutableSortedMap<String, String> notWell) {
    private static final int EXAMPLES = 5;

    /** @param reports of all machines by id; empty of those that are silent */
    static FleetHealth of(Map<String, Optional<MachineReport>> reports) {
        ImmutableSortedMap.Builder<String, String> notWell = ImmutableSortedMap.naturalOrder();
        ImmutableSortedSet.Builder<String> silent = ImmutableSortedSet.naturalOrder();
        for (Map.Entry<String, Optional<MachineReport>> machine : reports.entrySet()) {
            if (machine.getValue().isEmpty()) {
                silent.add(machine.getKey());
            } else {
                wrong(machine.getValue().get()).ifPresent(why -> notWell.put(machine.getKey(), why));
            }
        }
        return new FleetHealth(reports.size(), silent.build(), notWell.buildOrThrow());
    }

    private static Optional<String> wrong(MachineReport report) {
        if (report.problems() > 0) {
            return Optional.of(
                    "its sources have " + report.problems() + (report.problems() == 1 ? " problem" : " problems"));
        }
        return report.workloads().stream()
                .filter(workload -> !workload.converged() || !isAsWellAsItShould(workload))
                .map(FleetHealth::wrong)
                .findFirst();
    }

    /** As {@code status} has it: what is stopped on request is not healthy, and well. */
    private static boolean isAsWellAsItShould(ReportedWorkload workload) {
        return workload.healthy() || workload.state().equals(WorkloadState.STOPPED.name());
    }

    private static String wrong(ReportedWorkload workload) {
        return workload.id() + " is " + (isAsWellAsItShould(workload) ? "not converged" : "not healthy")
                + (workload.paused() ? ", paused" : "")
                + (workload.failure().isEmpty() ? "" : ": " + workload.failure());
    }

    boolean isWell() {
        return silent.isEmpty() && notWell.isEmpty();
    }

    void print(Console console) {
        console.out()
                .println(machines + (machines == 1 ? " machine, " : " machines, ") + (machines - silent.size())
                        + " heard of, " + silent.size() + " silent, " + notWell.size() + " not well");
        print(console, silent.stream().map(machine -> machine + ": nothing is heard of it"), silent.size(), "silent");
        print(
                console,
                notWell.entrySet().stream().map(machine -> machine.getKey() + ": " + machine.getValue()),
                notWell.size(),
                "not well");
    }

    /** Names the first of them: there may be thousands. */
    private static void print(Console console, Stream<String> machines, int count, String how) {
        machines.limit(EXAMPLES).forEach(machine -> console.out().println(Text.oneLine(machine)));
        if (count > EXAMPLES) {
            console.out().println("and " + (count - EXAMPLES) + " more " + how + ", all of them in -o json");
        }
    }

    /** Adds the same for programs. */
    void writeTo(ObjectNode json) {
        json.put("machines", machines).put("silent", silent.size());
        json.set("silentMachines", Json.texts(silent));
        json.set(
                "notWell",
                Json.array(
                        notWell.entrySet(),
                        machine ->
                                Json.object().put("machine", machine.getKey()).put("reason", machine.getValue())));
    }
}
