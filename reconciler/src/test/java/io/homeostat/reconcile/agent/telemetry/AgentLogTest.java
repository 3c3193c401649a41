package io.homeostat.reconcile.agent.telemetry;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.util.LogbackMDCAdapter;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.homeostat.desired.model.AgentConfig.Log.Format;
import io.homeostat.desired.model.AgentConfig.Log.Level;
import io.homeostat.reconcile.loop.PassId.PassMarks;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.api.parallel.Isolated;

@Timeout(60)
@Isolated("Takes over what all of this JVM logs.")
@Execution(ExecutionMode.SAME_THREAD)
class AgentLogTest {
    private final ByteArrayOutputStream out = new ByteArrayOutputStream();
    private final LoggerContext context = new LoggerContext();
    private final LogbackMDCAdapter marks = new LogbackMDCAdapter();
    private final Logger logger = context.getLogger("io.homeostat.Some");

    AgentLogTest() {
        context.setMDCAdapter(marks);
    }

    private List<String> lines(Format format, Level level, Runnable what) {
        try (AgentLog _ = AgentLog.use(context, out, format, level)) {
            what.run();
        }
        return out.toString(StandardCharsets.UTF_8).lines().toList();
    }

    private void mark() {
        marks.put(PassMarks.WORKLOAD, "plugin/ops-agent");
        marks.put(PassMarks.RECONCILIATION, "42");
        marks.put(PassMarks.TRIGGER, "exit");
    }

    @Test
    void aLineOfTextSaysWhenHowSevereAndInWhichPass() {
        List<String> lines = lines(Format.TEXT, Level.INFO, () -> {
            mark();
            logger.info("launch done in {} ms", 12);
            marks.clear();
            logger.warn("no pass");
        });

        String time = lines.getFirst().substring(0, lines.getFirst().indexOf(' '));
        assertTrue(Instant.parse(time).isAfter(Instant.EPOCH));
        assertEquals(time + " INFO [plugin/ops-agent #42 exit] launch done in 12 ms", lines.get(0));
        assertTrue(lines.get(1).endsWith(" WARN homeostat: no pass"), lines.get(1));
    }

    @Test
    void whatLibrariesLogByJavasOwnMeansComesInTheSameFormAndWhatGrpcSaysOfBrokenConnectionsNotAtAll()
            throws IOException {
        java.util.logging.Logger library = java.util.logging.Logger.getLogger("some.library");
        java.util.logging.Logger grpc = java.util.logging.Logger.getLogger("io.grpc.netty.NettyServerHandler");

        List<String> lines = lines(Format.JSON, Level.INFO, () -> {
            library.log(java.util.logging.Level.WARNING, "worn out: {0}", "a cog");
            library.fine("nobody asked");
            grpc.log(java.util.logging.Level.WARNING, "Stream Error", new IllegalStateException("closed"));
        });

        assertEquals(1, lines.size(), lines.toString());
        JsonNode line = new ObjectMapper().readTree(lines.getFirst());
        assertEquals("worn out: a cog", line.get("message").asText());
        assertEquals("WARN", line.get("level").asText());
        assertEquals("some.library", line.get("logger").asText());
    }

    @Test
    void aLineOfJsonIsOneObjectWithTheSameFacts() throws IOException {
        List<String> lines = lines(Format.JSON, Level.INFO, () -> {
            mark();
            logger.error("broke\noff", new IllegalStateException("why"));
            marks.clear();
            logger.info("no pass");
        });

        assertEquals(2, lines.size(), lines.toString());
        JsonNode event = new ObjectMapper().readTree(lines.get(0));
        assertEquals("ERROR", event.get("level").asText());
        assertEquals("io.homeostat.Some", event.get("logger").asText());
        assertEquals("broke\noff", event.get("message").asText());
        assertEquals("plugin/ops-agent", event.get("workload").asText());
        assertEquals(42, event.get("reconciliation").asInt());
        assertTrue(event.get("reconciliation").isNumber());
        assertEquals("exit", event.get("trigger").asText());
        assertTrue(event.get("exception").asText().startsWith("java.lang.IllegalStateException: why\n"));
        assertFalse(new ObjectMapper().readTree(lines.get(1)).has("workload"));
    }

    @Test
    void nobodyCanForgeALineNorSpeakToTheTerminal() {
        String forged = "x\n2026-01-01T00:00:00Z INFO Agent: all is well\u001b[2J\u202e\u0085";

        List<String> lines =
                lines(Format.TEXT, Level.INFO, () -> logger.warn("said {}", forged, new IllegalStateException(forged)));

        assertTrue(lines.get(0).endsWith("x\\n2026-01-01T00:00:00Z INFO Agent: all is well\\u001b[2J\\u202e\\u0085"));
        assertTrue(lines.stream().skip(1).allMatch(line -> line.startsWith("  | ")), lines.toString());
        assertFalse(out.toString(StandardCharsets.UTF_8).contains("\u001b"));
    }

    @Test
    void theQueryOfAUrlIsInNoLine() {
        List<String> lines = lines(
                Format.TEXT,
                Level.INFO,
                () -> logger.warn(
                        "GET https://example.org/a?X-Goog-Signature=hunter2 failed",
                        new IllegalStateException("https://u:hunter2@example.org/b?s=hunter2")));

        assertFalse(lines.toString().contains("hunter2"), lines.toString());
        assertTrue(lines.getFirst().contains("https://example.org/a?..."), lines.getFirst());
    }

    @Test
    void theLevelDecidesAndCanBeChangedWhileItRuns() {
        List<String> lines = lines(Format.TEXT, Level.WARN, () -> logger.info("unheard"));
        assertEquals(List.of(), lines);

        try (AgentLog log = AgentLog.use(context, out, Format.TEXT, Level.WARN)) {
            log.change(Format.JSON, Level.DEBUG);
            logger.debug("heard");
        }
        assertTrue(
                out.toString(StandardCharsets.UTF_8).contains("\"message\":\"heard\""),
                out.toString(StandardCharsets.UTF_8));
    }

    @Test
    void aReaderWhoStandsStillKeepsNobodyWaitingAndIsToldWhatItMissed() {
        CountDownLatch release = new CountDownLatch(1);
        OutputStream stalled = new OutputStream() {
            @Override
            public void write(int b) throws IOException {
                write(new byte[] {(byte) b}, 0, 1);
            }

            @Override
            public void write(byte[] bytes, int offset, int length) throws IOException {
                try {
                    release.await();
                } catch (InterruptedException e) {
                    throw new IOException(e);
                }
                synchronized (out) {
                    out.write(bytes, offset, length);
                }
            }
        };
        try (AgentLog log = AgentLog.use(context, stalled, Format.TEXT, Level.INFO)) {
            for (int i = 0; i < 5000; i++) {
                logger.info("line {}", i);
            }
            assertTrue(log.dropped() >= 3900, "dropped " + log.dropped());
            release.countDown();
            await().atMost(Duration.ofSeconds(20)).until(() -> {
                synchronized (out) {
                    return out.toString(StandardCharsets.UTF_8)
                            .contains("homeostat: " + log.dropped() + " lines of this log were dropped");
                }
            });
        }
    }

    @Test
    void aMessageOfMegabytesIsCut() {
        List<String> lines = lines(Format.TEXT, Level.INFO, () -> logger.info("x".repeat(5_000_000)));

        assertTrue(
                lines.getFirst().length() < 20_000, "length " + lines.getFirst().length());
        assertTrue(lines.getFirst().endsWith("characters more)"));
    }
}
