package io.homeostat.reconcile.agent;

import static io.homeostat.reconcile.agent.AgentBench.kill;
import static io.homeostat.reconcile.agent.AgentBench.sleeper;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.StateStore.Change;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The running agent and workloads that have to do with each other. A resync of an hour means: only a hint can have done it. */
@Timeout(300)
class AgentOrderTest {
    private static final WorkloadId DB = WorkloadId.process("db");
    private static final WorkloadId WEB = WorkloadId.process("web");
    private static final String NEVER = "1h";

    private final AgentBench bench = new AgentBench();

    @AfterEach
    void close() throws Exception {
        bench.close();
    }

    @Test
    void aDependantIsStartedOnceWhatItDependsOnIsDeclaredAndWell() {
        bench.start(NEVER, true);
        bench.write("web.yaml", dependant(1000));
        await().atMost(AgentBench.PATIENCE)
                .until(() -> bench.store().history(WEB).conditions().stream()
                        .anyMatch(condition -> condition.message().contains("process/db ")
                                && condition.message().contains("by nobody")));
        assertEquals(ImmutableList.of(), bench.store().instances(WEB));

        bench.write("db.yaml", sleeper("db", 1000));

        bench.running(WEB);
        assertEquals(ImmutableSet.of(DB, WEB), ImmutableSet.copyOf(inOrderOfLaunch()));
        assertEquals(List.of(DB, WEB), inOrderOfLaunch());
    }

    @Test
    void afterABootTheOrderHoldsAgain() {
        bench.write("a-web.yaml", dependant(1000));
        bench.write("db.yaml", sleeper("db", 1000));
        bench.start(NEVER, true);
        ProcessIdentity db = bench.running(DB);
        ProcessIdentity web = bench.running(WEB);
        bench.stop();
        kill(db);
        kill(web);
        await().atMost(AgentBench.PATIENCE)
                .until(() -> ProcessHandle.of(db.pid()).isEmpty()
                        && ProcessHandle.of(web.pid()).isEmpty());
        // What a boot makes of what is remembered: all of it is of another one.
        bench.store().instances().forEach(instance -> bench.store().commit(Change.ofInstance(ofAnotherBoot(instance))));

        bench.start(NEVER, true);

        assertNotEquals(web, bench.runningAfter(WEB, ofAnotherBoot(web)));
        assertEquals(List.of(DB, WEB), inOrderOfLaunch());
    }

    @Test
    void ofAGroupNeverMoreGoDownAtATimeThanItsMembersAllow() throws Exception {
        List<WorkloadId> members =
                IntStream.range(0, 5).mapToObj(i -> WorkloadId.process("m" + i)).toList();
        members.forEach(id -> bench.write(id.name() + ".yaml", member(id, 1000)));
        bench.start(NEVER, true);
        Map<WorkloadId, ProcessIdentity> before = new HashMap<>();
        members.forEach(id -> before.put(id, bench.running(id)));
        Path down = bench.declared().resolveSibling("down");

        members.forEach(id -> bench.write(id.name() + ".yaml", member(id, 1001)));
        WorkloadId victim = members.get(4);
        members.forEach(id -> bench.runningAfter(id, Objects.requireNonNull(before.get(id))));

        // Each says when it ends and when its successor begins, so that two that were down at once would stand in a
        // row.
        List<String> told = Files.readAllLines(down);
        List<String> changes = told.subList(members.size(), told.size());
        assertEquals(2 * members.size(), changes.size(), changes::toString);
        for (int i = 0; i < changes.size(); i += 2) {
            assertEquals(changes.get(i).replace("ends", "begins"), changes.get(i + 1), changes::toString);
        }
        ProcessIdentity crashed = bench.running(victim);
        kill(crashed);
        bench.runningAfter(victim, crashed);
    }

    /** It has started once it has said so. */
    private String member(WorkloadId id, int seconds) {
        Path down = bench.declared().resolveSibling("down");
        Path up = bench.declared().resolveSibling(id.name() + "-" + seconds);
        return """
                apiVersion: homeostat.io/v1
                kind: Process
                metadata: {name: %s, labels: {tier: front}}
                spec:
                  install: local
                  entryPoint: /bin/sh
                  arguments:
                    - "-c"
                    - |
                      trap 'echo %s ends >> %s; kill $!; exit' TERM
                      echo %s begins >> %s
                      touch %s
                      sleep %d & wait
                  probe: {exec: {command: [test, -e, %s]}}
                  stop: {timeout: 20s}
                  maxDisruption: {label: tier}
                """.formatted(id.name(), id.name(), down, id.name(), down, up, seconds, up);
    }

    private static String dependant(int seconds) {
        return """
                apiVersion: homeostat.io/v1
                kind: Process
                metadata: {name: web}
                spec: {install: local, entryPoint: /bin/sleep, arguments: ["%d"], dependsOn: [process/db]}
                """.formatted(seconds);
    }

    private List<WorkloadId> inOrderOfLaunch() {
        return bench.store().instances().stream()
                .sorted(Comparator.comparing(Instance::launchedAt))
                .map(Instance::workload)
                .toList();
    }

    private static Instance ofAnotherBoot(Instance instance) {
        return new Instance(
                instance.launchId(),
                instance.workload(),
                instance.target(),
                instance.revision(),
                instance.directory(),
                instance.inputs(),
                instance.launchedAt(),
                ofAnotherBoot(Objects.requireNonNull(instance.process())),
                instance.phase(),
                instance.configHash());
    }

    private static ProcessIdentity ofAnotherBoot(ProcessIdentity identity) {
        return new ProcessIdentity(identity.pid(), identity.startTicks(), "another-boot");
    }
}
