package io.homeostat.e2e;

import static io.homeostat.e2e.Patience.eventually;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import io.homeostat.controlplane.Connection;
import io.homeostat.controlplane.Nonsense;
import io.homeostat.controlplane.Transcript.Entry;
import io.homeostat.e2e.Bucket.Stored;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** A control plane that sends nonsense as fast as it is read: the agent stays small and alive, and what runs well is left alone. */
@Tag("nightly")
final class NonsenseTest {
    private static final int SEED = 20261121;
    private static final int MESSAGES = Boolean.getBoolean("nightly") ? 5_000 : 1_500;
    private static final int BROKEN_STREAMS = 3;
    private static final long MOST_GROWTH = 24L << 20;

    /** On a busy machine a heap finds its size late; what leaks grows each time. */
    private static final int FLOODS = 12;

    @RegisterExtension
    static final Commanded COMMANDED = Commanded.inProcess();

    @Test
    void nonsenseAtFullSpeedHarmsNobody() throws Exception {
        Stored archive = COMMANDED.bucket().put("greeter.tar.gz", Bucket.greeter());
        COMMANDED.configure(Items.greeter("well", "1", COMMANDED.bucket(), archive));
        COMMANDED.awaitEvents("well", "CONFIG_INSTALL 1", "STARTED 1", "INSTALLED 1");
        long plugin = COMMANDED.homeostat().pid("plugin/well");
        long agent = COMMANDED.process().pid();

        List<Long> sizes = new ArrayList<>(List.of(flood(MESSAGES, agent)));
        do {
            sizes.add(flood(2 * MESSAGES, agent));
        } while (growth(sizes) >= MOST_GROWTH && sizes.size() < FLOODS);

        assertTrue(growth(sizes) < MOST_GROWTH, () -> "the agent grows and grows: " + sizes + " bytes");
        breakStreams();
        COMMANDED.awaitRunning("well", "1");
        assertEquals(plugin, COMMANDED.homeostat().pid("plugin/well"));
        assertEquals(agent, COMMANDED.process().pid());
        assertEquals(
                List.of("well"),
                COMMANDED.states().getDaemonPluginStatesList().stream()
                        .map(state -> state.getName())
                        .toList());
    }

    private static long growth(List<Long> sizes) {
        return sizes.getLast() - sizes.get(sizes.size() - 2);
    }

    /** The agent's memory, as the system sees it, after so many messages. */
    private static long flood(int messages, long agent) throws Exception {
        Supplier<ByteString> nonsense = Nonsense.messages(SEED + messages);
        AtomicInteger poured = new AtomicInteger();
        while (poured.get() <= messages) {
            Connection connection = COMMANDED.plane().awaitConnection(Patience.LONGEST);
            connection.flood(() -> {
                poured.incrementAndGet();
                return nonsense.get();
            });
            // On a busy machine a stream may time out; the flood goes on over the next.
            eventually()
                    .atMost(Patience.LONGEST.multipliedBy(3))
                    .until(() -> poured.get() > messages || hasEnded(connection));
            connection.stopFlood();
        }
        COMMANDED.awaitRunning("well", "1");
        return Processes.residentBytes(agent);
    }

    /** What is no message ends a stream; the next one has to come all the same. */
    private static void breakStreams() throws Exception {
        for (int i = 0; i < BROKEN_STREAMS; i++) {
            Connection connection = COMMANDED.plane().awaitConnection(Patience.LONGEST);
            connection.flood(Nonsense.bytes(SEED + i));
            COMMANDED
                    .plane()
                    .transcript()
                    .awaitThat(
                            "the end of stream " + connection.number(),
                            Patience.LONGEST,
                            transcript -> hasEnded(connection));
        }
    }

    private static boolean hasEnded(Connection connection) {
        return COMMANDED.plane().transcript().entries(Entry.Ended.class).stream()
                .anyMatch(end -> end.connection() == connection.number());
    }
}
