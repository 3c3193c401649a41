package io.homeostat.reconcile.command.fleet;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedMap;
import com.sun.net.httpserver.HttpServer;
import io.homeostat.desired.fleet.BucketReport;
import io.homeostat.desired.fleet.MachineReport;
import io.homeostat.desired.model.AgentConfig.Bucket;
import io.homeostat.desired.model.AgentConfig.Identity;
import io.homeostat.desired.remote.BucketClient;
import io.homeostat.desired.state.RecordCodec;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.Collections;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What machines have written into a bucket, of which one may have written anything. */
class BucketReportsTest {
    private static final long MUCH = 16 << 20;

    private final Map<String, byte[]> objects = new TreeMap<>();
    private HttpServer server;

    @BeforeEach
    void serve() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/bucket/", exchange -> {
            String name = exchange.getRequestURI().getPath().substring("/bucket/".length());
            StringBuilder listing = new StringBuilder();
            objects.keySet()
                    .forEach(key -> listing.append("<Contents><Key>")
                            .append(key)
                            .append("</Key><LastModified>2026-11-20T11:59:00Z</LastModified></Contents>"));
            byte[] content = name.isEmpty()
                    ? listing.toString().getBytes(UTF_8)
                    : Objects.requireNonNull(objects.get(name), name);
            exchange.getResponseHeaders().add("Date", "Fri, 20 Nov 2026 12:00:00 GMT");
            exchange.getResponseHeaders().add("x-goog-generation", "1");
            exchange.sendResponseHeaders(200, content.length);
            try (exchange) {
                exchange.getResponseBody().write(content);
            } catch (IOException e) {
                // Nobody wants all of it.
            }
        });
        server.start();
    }

    @AfterEach
    void end() {
        server.stop(0);
    }

    private void machine(String id) {
        BucketReport report = new BucketReport(
                ImmutableSortedMap.of("role", "web"),
                new MachineReport("1", Instant.EPOCH, "etcd", "1", 1, 0, ImmutableList.of()));
        objects.put(
                "reports/" + id + ".json",
                new RecordCodec(new ObjectMapper()).write(report).getBytes(UTF_8));
    }

    private BucketReports read(long mostBytes) throws InterruptedException {
        Bucket config = new Bucket(
                "gs://bucket/set.json",
                "gs://bucket/reports",
                Identity.Known.NONE,
                "http://127.0.0.1:" + server.getAddress().getPort(),
                "us-east-1",
                Duration.ofMinutes(1));
        return BucketReports.read(
                () -> new BucketClient(
                        config,
                        path -> {
                            throw new AssertionError(path + " is not wanted");
                        },
                        Clock.systemUTC()),
                "gs://bucket/reports",
                mostBytes);
    }

    @Test
    void aReportThatIsTooLongHidesNoOther() throws Exception {
        machine("a");
        objects.put("reports/b.json", new byte[(1 << 20) + 1]);
        machine("c");

        BucketReports reports = read(MUCH);

        assertEquals(ImmutableSet.of("a", "c"), reports.machines().keySet());
        assertEquals(
                ImmutableSortedMap.of("gs://bucket/reports/b.json", "can't be read: it has more than 1 MiB"),
                reports.problems());
    }

    @Test
    void aReportBeyondTheBoundsOfTheParserHidesNoOther() throws Exception {
        objects.put("reports/a.json", ("{\"later\":" + "[".repeat(1_001)).getBytes(UTF_8));
        objects.put("reports/b.json", ("{\"report\":{\"sequence\":" + "9".repeat(900_000) + "}}").getBytes(UTF_8));
        machine("c");

        BucketReports reports = read(MUCH);

        assertEquals(ImmutableSet.of("c"), reports.machines().keySet());
        assertEquals(
                ImmutableSet.of("gs://bucket/reports/a.json", "gs://bucket/reports/b.json"),
                reports.problems().keySet());
        reports.problems()
                .values()
                .forEach(problem -> assertTrue(problem.startsWith("can't be read: no JSON"), problem));
    }

    @Test
    void reportsAreBoundedTogether() throws Exception {
        machine("a");

        String problem = read(-1).problems().values().iterator().next();

        assertTrue(problem.startsWith("can't be read: all before it take more memory"), problem);
    }

    @Test
    void aReportOfManyEmptyWorkloadsHidesNoOther() throws Exception {
        workloads("a", 340_000);
        machine("b");

        BucketReports reports = read(MUCH);

        assertEquals(ImmutableSet.of("b"), reports.machines().keySet());
        String problem = String.valueOf(reports.problems().get("gs://bucket/reports/a.json"));
        assertTrue(problem.startsWith("can't be read: workloads: more than 10000"), problem);
    }

    /** One thread reads ten in turn. */
    @Test
    void whatShortRecordsTakeInMemoryCounts() throws Exception {
        for (int i = 0; i < 160; i++) {
            workloads("%03d".formatted(i), 1_000);
        }

        BucketReports reports = read(160 * 1_000 * 10);

        assertTrue(reports.problems().size() > 80, () -> reports.problems().size() + " were left out");
    }

    private void workloads(String id, int empty) {
        objects.put(
                "reports/" + id + ".json",
                ("{\"report\":{\"at\":\"2026-11-20T11:59:00Z\",\"workloads\":["
                                + String.join(",", Collections.nCopies(empty, "{}")) + "]}}")
                        .getBytes(UTF_8));
    }
}
