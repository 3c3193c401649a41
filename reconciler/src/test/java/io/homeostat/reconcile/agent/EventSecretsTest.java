package io.homeostat.reconcile.agent;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.desired.state.Event;
import io.homeostat.desired.state.EventType;
import io.homeostat.desired.state.StateReader.StoredEvent;
import java.io.IOException;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What a program was given in confidence goes into no event, also when the program writes it into its log. */
class EventSecretsTest {
    private static final String SECRET = "s3cr3t-of-the-environment";

    private final AgentBench bench = new AgentBench();

    @AfterEach
    void close() throws IOException {
        bench.close();
    }

    @Test
    void aValueOfTheEnvironmentThatAFailedProgramLoggedIsMaskedInItsEvents() {
        bench.write("a.yaml", """
                apiVersion: homeostat.io/v1
                kind: Process
                metadata: {name: a}
                spec:
                  install: local
                  entryPoint: /bin/sh
                  arguments: [-c, 'echo "refused: <$GIVEN>"; exit 3']
                  env: {GIVEN: %s}
                """.formatted(SECRET));
        bench.start("1h", true);

        String failure = await().atMost(AgentBench.PATIENCE)
                .until(() -> told(EventType.PLUGIN_START_FAILED), told -> !told.isEmpty())
                .getFirst();

        assertTrue(failure.contains("refused: <(masked)>"), failure);
        assertEquals(
                List.of(),
                events().map(Event::message)
                        .filter(message -> message.contains(SECRET))
                        .toList());
    }

    private List<String> told(EventType type) {
        return events().filter(event -> event.type() == type)
                .map(Event::message)
                .toList();
    }

    private Stream<Event> events() {
        return bench.store().events(0, 1000).stream().map(StoredEvent::event);
    }
}
