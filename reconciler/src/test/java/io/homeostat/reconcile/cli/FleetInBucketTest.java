package io.homeostat.reconcile.cli;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedMap;
import com.google.common.io.MoreFiles;
import com.google.common.io.RecursiveDeleteOption;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.homeostat.desired.fleet.BucketReport;
import io.homeostat.desired.fleet.MachineReport;
import io.homeostat.desired.fleet.MachineReport.ReportedWorkload;
import io.homeostat.desired.state.RecordCodec;
import io.homeostat.reconcile.cli.Shell.Result;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The commands for a fleet whose machines report into a bucket. */
class FleetInBucketTest {
    private static final Duration NOW = Duration.ofSeconds(1);

    private record Stored(String content, Duration age) {}

    /** By what comes after the name of the bucket in the path. */
    private final Map<String, Stored> objects = new ConcurrentSkipListMap<>();

    private volatile int refuses;

    private Path directory;
    private Path config;
    private Shell shell;
    private HttpServer bucket;

    @BeforeEach
    void start() throws IOException {
        directory = Shell.userDirectory();
        bucket = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        bucket.createContext("/fleet/", this::answer);
        bucket.start();
        config = Files.writeString(
                directory.resolve("agent.yaml"),
                "sources: {bucket: {url: 'gs://fleet/set.json', reports: 'gs://fleet/reports', credentials: none,"
                        + " endpoint: 'http://127.0.0.1:" + bucket.getAddress().getPort() + "'}}\n");
        shell = new Shell(directory).with(Map.of("XDG_CONFIG_HOME", directory + "/config", "USER", "ann"));
    }

    @AfterEach
    void end() throws IOException {
        bucket.stop(0);
        MoreFiles.deleteRecursively(directory, RecursiveDeleteOption.ALLOW_INSECURE);
    }

    private void answer(HttpExchange exchange) throws IOException {
        String name = exchange.getRequestURI().getPath().substring("/fleet/".length());
        Stored stored = objects.get(name);
        String body = "";
        int status = 404;
        if (refuses > 0) {
            status = refuses;
        } else if (name.isEmpty()) {
            status = 200;
            body = objects.entrySet().stream()
                    .filter(object -> object.getKey().startsWith("reports/"))
                    .map(object -> "<Contents><Key>" + object.getKey() + "</Key><LastModified>"
                            + Instant.now().minus(object.getValue().age()) + "</LastModified></Contents>")
                    .collect(Collectors.joining("", "<ListBucketResult>", "</ListBucketResult>"));
        } else if (stored != null) {
            status = 200;
            body = stored.content();
        }
        exchange.getResponseHeaders().add("x-goog-generation", "1");
        byte[] bytes = body.getBytes(UTF_8);
        exchange.sendResponseHeaders(status, bytes.length == 0 ? -1 : bytes.length);
        try (OutputStream out = exchange.getResponseBody()) {
            out.write(bytes);
        }
    }

    private void report(String machine, boolean healthy, int problems, Duration age) {
        report(machine, "RUNNING", healthy, problems, age);
    }

    private void report(String machine, String state, boolean healthy, int problems, Duration age) {
        ReportedWorkload web = new ReportedWorkload(
                "process/web", "2", "2", "", state, true, healthy, false, false, 3, healthy ? "" : "it answers 500");
        String text = new RecordCodec(new ObjectMapper())
                .write(new BucketReport(
                        ImmutableSortedMap.of("role", "web"),
                        new MachineReport("1.0", Instant.EPOCH, "bucket", "17", 42, problems, ImmutableList.of(web))));
        objects.put("reports/" + machine + ".json", new Stored(text, age));
    }

    private Result fleet(String... words) {
        return shell.fleet(config, words);
    }

    @Test
    void theFleetIsWhatIsInTheBucket() throws Exception {
        for (int i = 0; i < 40; i++) {
            report("vm-" + i, true, 0, NOW);
        }
        report("vm-7", "STOPPED", false, 0, NOW);
        objects.put("reports/notes.txt", new Stored("of somebody", NOW));
        Result well = fleet("status");
        assertEquals("40 machines, 40 heard of, 0 silent, 0 not well\n", well.out());
        assertEquals(0, well.status(), well.err());

        report("vm-3", false, 0, NOW);
        report("vm-4", true, 2, NOW);
        report("vm-5", false, 0, Duration.ofMinutes(20));
        objects.put("reports/vm-6.json", new Stored("{", NOW));
        objects.put("reports/vm-40.json", new Stored("x".repeat((16 << 20) + 1), NOW));
        Result sick = fleet("status");
        assertEquals("""
                39 machines, 38 heard of, 1 silent, 2 not well
                vm-5: nothing is heard of it
                vm-3: process/web is not healthy: it answers 500
                vm-4: its sources have 2 problems
                """, sick.out());
        assertTrue(sick.err().contains("gs://fleet/reports/vm-6.json can't be read: "), sick.err());
        assertTrue(
                sick.err().contains("gs://fleet/reports/vm-40.json can't be read: it has more than 16 MiB"),
                sick.err());
        assertEquals(1, sick.status());
        JsonNode json =
                new ObjectMapper().readTree(fleet("status", "-o", "json").out());
        assertEquals(39, json.path("machines").intValue());
        assertEquals(1, json.path("silent").intValue());
        assertEquals("[\"vm-5\"]", json.path("silentMachines").toString());
        assertEquals("vm-3", json.path("notWell").path(0).path("machine").textValue());
    }

    @Test
    void moreThanAScreenfulIsCounted() throws Exception {
        for (int i = 9; i > 0; i--) {
            report("db-" + i, true, 0, Duration.ofMinutes(20));
        }
        for (int i = 0; i < 7; i++) {
            report("vm-" + i, false, 0, NOW);
        }
        assertEquals("""
                16 machines, 7 heard of, 9 silent, 7 not well
                db-1: nothing is heard of it
                db-2: nothing is heard of it
                db-3: nothing is heard of it
                db-4: nothing is heard of it
                db-5: nothing is heard of it
                and 4 more silent, all of them in -o json
                vm-0: process/web is not healthy: it answers 500
                vm-1: process/web is not healthy: it answers 500
                vm-2: process/web is not healthy: it answers 500
                vm-3: process/web is not healthy: it answers 500
                vm-4: process/web is not healthy: it answers 500
                and 2 more not well, all of them in -o json
                """, fleet("status").out());
        JsonNode json =
                new ObjectMapper().readTree(fleet("status", "-o", "json").out());
        assertEquals(9, json.path("silentMachines").size());
        assertEquals("db-9", json.path("silentMachines").path(8).textValue());
        assertEquals(7, json.path("notWell").size());
    }

    @Test
    void aPlaceWithoutReportsIsNoFleetThatIsWell() throws Exception {
        Result nobody = fleet("status");
        assertEquals(
                new Result(
                        1,
                        "0 machines, 0 heard of, 0 silent, 0 not well\n",
                        "homeostat: gs://fleet/reports has no report of any machine; is sources.bucket.reports right?\n"),
                nobody);
        JsonNode json =
                new ObjectMapper().readTree(fleet("status", "-o", "json").out());
        assertEquals(
                "gs://fleet/reports", json.path("problems").path(0).path("key").textValue());

        objects.put("reports/vm-1.json", new Stored("{", NOW));
        Result unread = fleet("status");
        assertFalse(unread.err().contains("sources.bucket.reports"), unread.err());
        assertTrue(unread.err().contains("gs://fleet/reports/vm-1.json can't be read: "), unread.err());
        assertEquals(1, unread.status());
    }

    @Test
    void aMachineIsWhatItWroteLast() {
        report("vm-1", true, 0, NOW);
        report("vm-2", true, 0, Duration.ofMinutes(16));
        Result one = fleet("machine", "vm-1");
        assertTrue(one.out().contains("labels      role=web\n"), one.out());
        assertTrue(one.out().contains("bucket 17, sequence 42\n"), one.out());
        assertFalse(one.out().contains("registered"), one.out());
        assertTrue(fleet("machine", "vm-2").out().contains("silent"));
        Result nobody = fleet("machine", "vm-3");
        assertEquals(1, nobody.status());
        assertTrue(
                nobody.err()
                        .contains(
                                "there is no report of vm-3 among the 2 in gs://fleet/reports; machines are named by"),
                nobody.err());
    }

    @Test
    void whatCantBeDoneIsSaid() {
        report("vm-1", true, 0, NOW);
        Result rollouts = fleet("rollouts");
        assertEquals(1, rollouts.status());
        assertTrue(rollouts.err().contains(config + " has no sources.etcd"), rollouts.err());

        refuses = 403;
        Result refused = fleet("status");
        assertEquals(1, refused.status());
        assertTrue(
                refused.err().contains("sources.bucket.reports: gs://fleet/reports: the server answers 403: "),
                refused.err());
    }
}
