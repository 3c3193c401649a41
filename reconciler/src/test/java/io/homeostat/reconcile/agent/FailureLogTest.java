package io.homeostat.reconcile.agent;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Event;
import io.homeostat.desired.state.EventType;
import io.homeostat.desired.state.StateReader.StoredEvent;
import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Which failures to install are told with the end of the log. */
@Timeout(180)
class FailureLogTest {
    private static final String FAILS = """
            apiVersion: homeostat.io/v1
            kind: Process
            metadata: {name: a}
            spec:
              install: local
              entryPoint: /bin/sh
              arguments: [-c, 'echo no licence; exit 3']
              start: {attempts: 2}
            """;

    private final AgentBench bench = new AgentBench();

    @AfterEach
    void close() throws IOException {
        bench.close();
    }

    @Test
    void thoseByItsStartsAreAsTheStartsAre() {
        bench.write("a.yaml", FAILS);
        bench.start("1h", true);

        assertEquals(List.of("no licence"), log(failed(1)));
    }

    @Test
    void thatOfAnUpgradeThatIsUndoneIs() {
        bench.write("a.yaml", AgentBench.sleeper("a", 300));
        bench.start("1h", true);
        bench.running(WorkloadId.process("a"));

        bench.write("a.yaml", FAILS);

        assertEquals(List.of("no licence"), log(failed(1)));
    }

    @Test
    void whatCouldNotBeFetchedIsNotExplainedByWhatRanBefore() {
        bench.write("a.yaml", FAILS);
        bench.start("1h", true);
        failed(1);

        bench.write("a.yaml", """
                apiVersion: homeostat.io/v1
                kind: Process
                metadata: {name: a}
                spec:
                  revision: "2"
                  source: {url: "file:///nowhere.tar.gz", sha256: "%s", attempts: 1}
                  entryPoint: a
                """.formatted("0".repeat(64)));

        assertEquals(List.of(), log(failed(2)));
    }

    /** The event of a failure to install, once there are so many of them. */
    private Event failed(int number) {
        return await().atMost(AgentBench.PATIENCE)
                .until(
                        () -> bench.store().events(0, 1000).stream()
                                .map(StoredEvent::event)
                                .filter(event -> event.type() == EventType.PLUGIN_INSTALL_FAILED)
                                .toList(),
                        failures -> failures.size() == number)
                .getLast();
    }

    private static List<String> log(Event failure) {
        return failure.message().lines().skip(1).toList();
    }
}
