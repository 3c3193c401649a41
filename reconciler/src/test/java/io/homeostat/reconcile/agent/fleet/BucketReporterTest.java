package io.homeostat.reconcile.agent.fleet;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.common.collect.ImmutableSortedMap;
import com.sun.net.httpserver.HttpServer;
import io.homeostat.desired.fleet.BucketReport;
import io.homeostat.desired.model.AgentConfig.Bucket;
import io.homeostat.desired.model.AgentConfig.Identity;
import io.homeostat.desired.platform.MetadataServer;
import io.homeostat.desired.remote.BucketClient;
import io.homeostat.desired.state.RecordCodec;
import io.homeostat.reconcile.plan.Example;
import io.homeostat.reconcile.plan.Planner;
import io.homeostat.reconcile.plan.Situation;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Clock;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What a machine writes into a bucket of itself, and when. */
class BucketReporterTest {
    private static final Duration PATIENCE = Duration.ofMinutes(1);
    private static final Duration NEVER = Duration.ofDays(1);
    private static final RecordCodec CODEC = new RecordCodec(new ObjectMapper());

    private final ReportedWorkloads workloads = new ReportedWorkloads();
    private final List<BucketReport> written = new CopyOnWriteArrayList<>();
    private final List<String> paths = new CopyOnWriteArrayList<>();
    private volatile int status = 200;
    private volatile String version = "17";
    private volatile ImmutableSortedMap<String, String> labels = ImmutableSortedMap.of("role", "web");
    private HttpServer server;

    @BeforeEach
    void serve() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/", exchange -> {
            String body = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
            if (status == 200) {
                paths.add(exchange.getRequestMethod() + " "
                        + exchange.getRequestURI().getPath());
                written.add(CODEC.read(BucketReport.class, body));
            }
            exchange.getResponseHeaders().add("x-goog-generation", "1");
            exchange.sendResponseHeaders(status, -1);
            exchange.close();
        });
        server.start();
    }

    @AfterEach
    void end() {
        server.stop(0);
    }

    private BucketReporter reporter(Duration renewal) {
        Bucket config = new Bucket(
                "gs://bucket/set.json",
                "gs://bucket/reports",
                Identity.Known.NONE,
                "http://127.0.0.1:" + server.getAddress().getPort(),
                "us-east-1",
                Duration.ofMinutes(1));
        MetadataServer none = path -> {
            throw new AssertionError(path + " is not wanted");
        };
        BucketReporter reporter = new BucketReporter(
                new BucketClient(config, none, Clock.systemUTC()),
                "gs://bucket/reports",
                "i-1",
                workloads,
                () -> new Reporter.About("1.0", labels, "bucket", version, 42, 3),
                Clock.systemUTC(),
                new Random(1),
                Duration.ofMillis(20),
                renewal);
        workloads.onChange(reporter::changed);
        reporter.start();
        return reporter;
    }

    private void looked(Example example) {
        Situation situation = example.learned().situation();
        workloads.looked(situation, Planner.plan(situation));
    }

    private void awaitWritten(int times) {
        await().atMost(PATIENCE).until(() -> written.size() >= times);
    }

    @Test
    void whatTheLoopSawIsWrittenWithTheLabels() {
        looked(Example.plugin().wants("A").installed("A").active("A").runs("A").knownGood("A"));
        try (BucketReporter _ = reporter(NEVER)) {
            awaitWritten(1);
        }

        assertEquals(List.of("PUT /bucket/reports/i-1.json"), paths);
        BucketReport found = written.getFirst();
        assertEquals(labels, found.labels());
        assertEquals(
                List.of("1.0", "bucket", "17", 42L, 3),
                List.of(
                        found.report().agent(),
                        found.report().source(),
                        found.report().version(),
                        found.report().sequence(),
                        found.report().problems()));
        assertEquals("A", found.report().workloads().getFirst().revision());
    }

    @Test
    void whatHasChangedIsWrittenAndWhatHasNotIsNot() {
        try (BucketReporter reporter = reporter(NEVER)) {
            awaitWritten(1);
            reporter.changed();
            version = "18";
            reporter.changed();
            awaitWritten(2);
            labels = ImmutableSortedMap.of("role", "db");
            reporter.changed();
            awaitWritten(3);
            looked(Example.plugin().wants("A"));
            awaitWritten(4);
        }
        for (int i = 1; i < written.size(); i++) {
            BucketReport before = written.get(i - 1);
            assertTrue(!written.get(i).saysTheSameAs(before), before::toString);
        }
    }

    @Test
    void itIsWrittenAnewWhenNothingChanges() {
        try (BucketReporter _ = reporter(Duration.ofMillis(50))) {
            awaitWritten(3);
        }
        assertTrue(written.get(2).saysTheSameAs(written.get(0)));
        assertTrue(written.get(2).report().at().isAfter(written.get(0).report().at()));
    }

    @Test
    void aBucketThatRefusesItIsToldAndWrittenToWhenItDoesNotAnyMore() {
        status = 403;
        try (BucketReporter reporter = reporter(NEVER)) {
            await().atMost(PATIENCE)
                    .until(() -> reporter.problem()
                            .startsWith("this machine can't report to its fleet: gs://bucket/reports/i-1.json: the"
                                    + " server answers 403"));
            status = 200;
            awaitWritten(1);
            await().atMost(PATIENCE).until(() -> reporter.problem().isEmpty());
        }
    }
}
