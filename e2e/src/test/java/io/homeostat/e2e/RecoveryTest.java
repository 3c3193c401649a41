package io.homeostat.e2e;

import static io.homeostat.e2e.Patience.eventually;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.e2e.Bucket.Stored;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.TreeSet;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Whatever happens to the program or to what it remembers: the next apply goes on from what is there. */
final class RecoveryTest {
    private static final int KILLS = Boolean.getBoolean("nightly") ? 16 : 4;
    private static final int SEED = 20261120;
    private static final int LONGEST_LIFE_MILLIS = 1500;

    @RegisterExtension
    final Homeostat homeostat = new Homeostat();

    @RegisterExtension
    final Bucket bucket = new Bucket();

    @Tag("nightly")
    @Test
    void anApplyThatIsKilledAtAnyMomentIsFinishedByTheNext() throws IOException {
        Random random = new Random(SEED);
        Stored one = bucket.put("1.tar.gz", TarGz.ofScriptWithNoise("exec sleep 1000", 1));
        Stored two = bucket.put("2.tar.gz", TarGz.ofScriptWithNoise("exec sleep 1000", 2));
        for (int kill = 1; kill <= KILLS; kill++) {
            int revision = 1 + kill % 2;
            Path file = homeostat.file("desired.yaml", run(revision, revision == 1 ? one : two));
            Command apply = homeostat.start("apply", "-f", file.toString());
            // Not a sleep until something is there: the moment is meant to be any.
            LockSupport.parkNanos(random.nextInt(LONGEST_LIFE_MILLIS) * 1_000_000L);
            homeostat.checked(apply.kill());
            String when = "after kill " + kill + " of seed " + SEED;
            assertTrue(homeostat.processes("process/run").size() <= 1, () -> "two at once " + when);
            assertNothingHalfWritten(when);
        }

        homeostat.apply(run(3, two)).exits(0);

        assertEquals("RUNNING 3", homeostat.state("process/run"));
        assertEquals(1, homeostat.processes("process/run").size());
        try (Stream<Path> installs = Files.list(homeostat.installs("processes"))) {
            assertEquals(
                    new TreeSet<>(List.of(".staging", "run", "run_3")),
                    new TreeSet<>(
                            installs.map(file -> file.getFileName().toString()).toList()));
        }
        try (Stream<Path> launches = Files.list(homeostat.instance().resolve("launches/processes/run"))) {
            assertEquals(1, launches.count(), "notes on launches that are over");
        }
    }

    /** What is visible is whole: an install has all its files, an archive all its bytes. */
    private void assertNothingHalfWritten(String when) throws IOException {
        if (!Files.exists(homeostat.stateDir())) {
            return;
        }
        try (Stream<Path> files = Files.walk(homeostat.stateDir())) {
            for (Path file : files.toList()) {
                String name = file.getFileName().toString();
                Path parent = Objects.requireNonNull(file.getParent());
                if (parent.endsWith("cache/archives")) {
                    assertEquals(name, Hashes.sha256(Files.readAllBytes(file)), when);
                } else if (parent.endsWith("processes") && name.matches("run_[12]")) {
                    assertTrue(Files.isExecutable(file.resolve("bin/run")), when);
                    assertEquals(2_000_000, Files.size(file.resolve("noise")), when);
                }
            }
        }
    }

    @Test
    void ofTwoAppliesAtOnceOneWaitsAndSaysForWhom() {
        Path slow = homeostat.file(
                "slow.yaml", Document.script("slow", "exec sleep 1000").with("probe.exec.command", new String[] {
                    "/usr/bin/test", "-e", homeostat.directory().resolve("go").toString()
                }));
        Path quick = homeostat.file("quick.yaml", Document.script("quick", "exec sleep 1000"));
        Command first = homeostat.start("apply", "-f", slow.toString());
        eventually().until(() -> !homeostat.processes("process/slow").isEmpty());

        homeostat.run("status").says("homeostat apply (pid " + first.pid() + ") is at work here");
        Command second = homeostat.start("apply", "-f", quick.toString());
        eventually().until(() -> second.soFar().contains("waiting for homeostat apply (pid " + first.pid() + ")"));
        assertTrue(first.isRunning());
        homeostat.file("go", "");

        first.await(Duration.ofSeconds(60)).exits(0);
        second.await(Duration.ofSeconds(60)).exits(0);
        assertEquals("RUNNING local", homeostat.state("process/slow"));
        assertEquals("RUNNING local", homeostat.state("process/quick"));
    }

    @Test
    void whoCanNotWaitSaysWhoHoldsTheLock() {
        Path slow = homeostat.file(
                "slow.yaml",
                Document.script("slow", "exec sleep 1000").with("probe.exec.command", new String[] {"/bin/false"}));
        Command first = homeostat.start("apply", "-f", slow.toString());
        eventually().until(() -> !homeostat.processes("process/slow").isEmpty());

        homeostat
                .run("apply", "-f", slow.toString(), "--timeout", "1s")
                .exits(1)
                .says("(pid " + first.pid() + ")");
    }

    @Test
    void anApplyThatRunsOutOfTimeSaysWhereItWas() {
        Document never =
                Document.script("never", "exec sleep 1000").with("probe.exec.command", new String[] {"/bin/false"});

        Result applied = homeostat.apply(homeostat.file("a.yaml", never), "--timeout", "6s");

        applied.exits(1).says("process/never  failed").says("6s").says("/bin/false");
        assertTrue(applied.took().toSeconds() < 40, applied::toString);
    }

    @Tag("nightly")
    @Test
    void anInterruptedDeleteSaysThatTheRestIsStillToBeRemoved() {
        homeostat.applied(Document.script("stubborn", "trap '' TERM; while :; do sleep 0.2; done")
                .with("stop.timeout", "100s"));
        Command delete = homeostat.start("delete", "process/stubborn");
        eventually().until(() -> homeostat.run("plan").out().contains("no longer declared"));

        delete.terminate();

        Result ended = delete.await(Duration.ofSeconds(60))
                .says("delete: interrupted; what was withdrawn stays withdrawn, what is left of it runs on");
        assertTrue(ended.exit() == 143 || ended.exit() == 130, ended::toString);
        Processes.kill(homeostat.processes("process/stubborn").getFirst().pid());
        homeostat.run("delete", "process/stubborn").exits(0).says("removed");
    }

    @Test
    void anInterruptedApplyEndsSoonAndTheNextGoesOn() {
        Path mark = homeostat.directory().resolve("go");
        Document slow = Document.script("slow", "exec sleep 1000")
                .with("probe.exec.command", new String[] {"/usr/bin/test", "-e", mark.toString()});
        Path file = homeostat.file("slow.yaml", slow);
        Command apply = homeostat.start("apply", "-f", file.toString());
        eventually().until(() -> !homeostat.processes("process/slow").isEmpty());

        apply.terminate();

        Result ended = apply.await(Duration.ofSeconds(15)).says("interrupted");
        assertTrue(ended.exit() == 143 || ended.exit() == 130, ended::toString);
        long pid = homeostat.processes("process/slow").getFirst().pid();
        homeostat.file("go", "");
        homeostat.apply(file).exits(0);
        assertEquals(pid, homeostat.pid("process/slow"));
    }

    @Test
    void anInterruptedStatusLeavesNoProbeBehind() throws IOException {
        Path mark = homeostat.directory().resolve("hang");
        Path probe = homeostat.directory().resolve("probe");
        String command = "test ! -e " + mark + " || { echo $$ > " + probe + "; exec sleep 1000; }";
        homeostat.applied(Document.script("web", "exec sleep 1000")
                .with("probe.exec.command", new String[] {"/bin/sh", "-c", command})
                .with("health.timeout", "60s"));
        homeostat.file("hang", "");
        Command status = homeostat.start("status");
        eventually().until(() -> Files.exists(probe) && Files.size(probe) > 0);
        long pid = Long.parseLong(Files.readString(probe).strip());

        status.terminate();

        Result ended = status.await(Duration.ofSeconds(15));
        assertTrue(ended.exit() == 143 || ended.exit() == 130, ended::toString);
        eventually().until(() -> !Processes.isAlive(pid));
        Files.delete(mark);
    }

    @Tag("nightly")
    @Test
    void aLostDatabaseDoublesNoProcess() throws IOException {
        Stored archive = bucket.put("greeter.tar.gz", Bucket.greeter());
        Document greeter =
                Document.greeter("greeter", "1", bucket.signedUrl(archive)).config("hello");
        Document web = Document.script("web", "exec sleep 1000");
        homeostat.apply(greeter, web).exits(0);
        long plugin = homeostat.pid("plugin/greeter");
        long process = homeostat.pid("process/web");
        for (String name : List.of("homeostat.db", "homeostat.db-wal", "homeostat.db-shm")) {
            Files.deleteIfExists(homeostat.stateDir().resolve(name));
        }

        homeostat.apply(greeter, web).exits(0);

        assertEquals(plugin, homeostat.pid("plugin/greeter"));
        assertEquals(process, homeostat.pid("process/web"));
        assertEquals(1, homeostat.processes("plugin/greeter").size());
        assertTrue(homeostat.events("plugin/greeter").contains("AGENT_ADOPTED 1"));
        assertEquals(1, bucket.requests());
    }

    @Tag("nightly")
    @Test
    void anAgentThatCanNotReadWhatIsDeclaredTouchesNothing() throws Exception {
        Document damaged = Document.script("other", "exec sleep 1000");
        homeostat.apply(Document.script("web", "exec sleep 1000"), damaged).exits(0);
        long web = homeostat.pid("process/web");
        long other = homeostat.pid("process/other");
        rewriteDocuments("process/other", "entryPoint", "entryPiont");

        homeostat
                .runProcess(
                        "run",
                        "--config",
                        homeostat.file("agent.yaml", "metrics: {listen: ''}\n").toString())
                .exits(1)
                .says("cannot read the document of process/other")
                .says("unknown key 'entryPiont'")
                .doesNotSay("enforced")
                .doesNotSay("\tat ");

        homeostat.apply(damaged).exits(0);
        assertEquals(web, homeostat.pid("process/web"));
        assertEquals(other, homeostat.pid("process/other"));
    }

    private void rewriteDocuments(String workload, String from, String to) throws SQLException {
        try (Connection database = DriverManager.getConnection(
                        "jdbc:sqlite:" + homeostat.stateDir().resolve("homeostat.db"));
                PreparedStatement update = database.prepareStatement(
                        "UPDATE declaration SET document = replace(document, ?, ?) WHERE workload = ?")) {
            update.setString(1, from);
            update.setString(2, to);
            update.setString(3, workload);
            assertEquals(1, update.executeUpdate());
        }
    }

    @Test
    void aDamagedDatabaseIsSetAsideLoudlyAndTheMachineConverges() throws IOException {
        Document web = Document.script("web", "exec sleep 1000");
        homeostat.apply(web).exits(0);
        long pid = homeostat.pid("process/web");
        byte[] garbage = "this is no database ".repeat(1000).getBytes(StandardCharsets.US_ASCII);
        Files.write(homeostat.stateDir().resolve("homeostat.db"), garbage);
        homeostat.run("status").exits(1).says("homeostat.db");
        homeostat.run("plan").exits(1).says("homeostat.db");

        homeostat.apply(web).exits(0).says("homeostat.db.unreadable-");

        assertEquals(pid, homeostat.pid("process/web"));
        try (Stream<Path> files = Files.list(homeostat.stateDir())) {
            Path aside = files.filter(file -> file.getFileName().toString().startsWith("homeostat.db.unreadable-"))
                    .findFirst()
                    .orElseThrow();
            assertEquals(garbage.length, Files.size(aside));
        }
        assertTrue(homeostat.events().stream()
                .anyMatch(event -> event.get("type").asText().equals("AGENT_STATE_SET_ASIDE")));
        assertFalse(homeostat.apply(web).exits(0).err().contains("unreadable"));
    }

    private Document run(int revision, Stored archive) {
        return Document.process("run")
                .with("revision", Integer.toString(revision))
                .with("source.url", bucket.signedUrl(archive))
                .with("source.sha256", archive.sha256())
                .with("entryPoint", "bin/run");
    }
}
