package io.homeostat.e2e;

import static io.homeostat.e2e.Patience.eventually;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Another version of the program is put on a machine whose agent runs. */
@Tag("nightly")
final class UpgradeTest {
    private static final String GUIDE = "examples/agent/README.md";
    private static final String INSTALLATION = "Homeostat as a service";
    private static final String UPGRADE = "Upgrade";
    private static final String DIRECTORY_TO_VERSION = "mv /opt/homeostat /opt/homeostat-1 ";

    @RegisterExtension
    final Homeostat homeostat = new Homeostat();

    @Test
    void anAgentWhoseFilesAreOverwrittenEndsBeforeTheyAre() throws IOException, InterruptedException {
        Path installed = copy("opt");
        homeostat.declare("web.yaml", sleeper());
        Agent agent = homeostat.agent(installed);
        homeostat.awaitRunning("process/web");
        long web = homeostat.pid("process/web");

        sh("cp -rf '" + Distribution.home() + "/.' '" + installed + "'");

        agent.await()
                .exits(1)
                .says(installed.toString())
                .says("is being overwritten")
                .says("workloads go on running");
        assertTrue(homeostat.events().toString().contains("is being overwritten"));
        homeostat.agent(installed);
        homeostat.awaitRunning("process/web");
        assertEquals(web, homeostat.pid("process/web"));
    }

    @Test
    void anAgentThatCanNotMakeOthersWaitEndsWhenAFileHasChanged() throws IOException, InterruptedException {
        Path installed = copy("opt");
        Path library;
        try (var libraries = Files.list(installed.resolve("lib"))) {
            library = libraries
                    .filter(file -> file.toString().contains("simpleclient")
                            || file.toString().contains("picocli"))
                    .findFirst()
                    .orElseThrow();
        }
        // Who has it open for writing keeps the kernel from granting a lease.
        try (FileChannel writer = FileChannel.open(library, StandardOpenOption.APPEND)) {
            Agent agent = homeostat.agent(installed);

            writer.write(ByteBuffer.wrap(new byte[] {0}));

            agent.await().exits(1).says(library + ", from which this program runs, is being overwritten");
        }
    }

    @Test
    void whatIsMappedIntoMemoryIsNotOverwritten() throws IOException, InterruptedException {
        Path used = copy("used");
        homeostat.start(used, "version").await(Patience.LONGEST).exits(0);
        Path installed = homeostat.directory().resolve("opt");
        sh("cp -a '" + used + "' '" + installed + "'");
        AgentProcess agent = homeostat.agent(installed);
        Set<Path> mapped = mapped(agent, installed);
        assertEquals(2, mapped.size(), mapped::toString);

        for (Path version : List.of(Distribution.home(), used)) {
            try (Stream<Path> files = Files.walk(version)) {
                files.map(file -> installed.resolve(version.relativize(file)))
                        .forEach(file -> assertFalse(mapped.contains(file), file::toString));
            }
        }

        agent.terminate().exits(0);
        homeostat.agent(installed);
        try (Stream<Path> kept = Files.list(installed.resolve("mapped"))) {
            assertEquals(mapped, kept.collect(Collectors.toSet()), "a second start moves nothing");
        }
    }

    private static Set<Path> mapped(AgentProcess agent, Path installed) throws IOException {
        return Files.readAllLines(Path.of("/proc/" + agent.pid() + "/maps")).stream()
                .filter(line -> line.contains(installed + "/"))
                .map(line -> Path.of(line.substring(line.indexOf('/'))))
                .collect(Collectors.toSet());
    }

    @Test
    void aNewVersionOfWhatIsMappedTakesThePlaceOfTheFormer() throws IOException, InterruptedException {
        Path installed = copy("opt");
        homeostat.start(installed, "version").await(Patience.LONGEST).exits(0);

        sh("cp -rf '" + Distribution.home() + "/.' '" + installed + "'");
        homeostat.start(installed, "version").await(Patience.LONGEST).exits(0);

        try (Stream<Path> files = Files.list(installed.resolve("mapped"))) {
            List<Path> mapped = files.toList();
            assertEquals(2, mapped.size(), mapped::toString);
            for (Path file : mapped) {
                String number = Files.getAttribute(file, "unix:ino").toString();
                assertTrue(file.getFileName().toString().startsWith(number + "."), mapped::toString);
            }
        }
    }

    @Test
    void anAgentWhoseFilesAreOverwrittenBeforeItEnforcesHasFailed() throws IOException, InterruptedException {
        Path installed = copy("opt");
        Files.createDirectories(homeostat.stateDir());
        AgentProcess agent;
        try (FileChannel lock = FileChannel.open(
                        homeostat.stateDir().resolve("lock"), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
                FileLock _ = lock.lock()) {
            agent = homeostat.startAgent(installed);
            eventually().until(() -> holdsLeases(agent.pid(), installed));

            sh("cp -rf '" + Distribution.home() + "/.' '" + installed + "'");

            agent.await().exits(1).says("is being overwritten").says("nothing was enforced yet");
        }
    }

    @Test
    void anAgentWhoseFilesWereOverwrittenBeforeItHadLeasesHasFailed() throws IOException, InterruptedException {
        Path installed = copy("opt");
        overwriteAtLaunch(installed.resolve("lib"));

        homeostat.startAgent(installed).await().exits(1).says("overwritten").says("enforced yet");
    }

    /** A JVM during whose start somebody changes a library. */
    private void overwriteAtLaunch(Path libraries) throws IOException, InterruptedException {
        Path java = homeostat.directory().resolve("java");
        Files.createDirectories(java.resolve("bin"));
        Files.writeString(java.resolve("release"), "JAVA_VERSION=\"25\"\n");
        Path program = Files.writeString(
                java.resolve("bin/java"),
                "#!/bin/sh\nchmod 600 '" + libraries + "'/picocli*.jar\nexec '" + System.getProperty("java.home")
                        + "/bin/java' \"$@\"\n");
        assertTrue(program.toFile().setExecutable(true));
        homeostat.environment("HOMEOSTAT_JAVA_HOME", java.toString());
    }

    @Test
    void whatIsStartedInTheMidstOfACopyWaitsForItsEnd() throws IOException, InterruptedException {
        Path installed = copy("opt");
        Path library = installed.resolve("lib/homeostat.jar");
        change(library);
        Command waits = homeostat.start(installed, "version");
        Awaitility.await()
                .atMost(Patience.LONGEST)
                .pollInterval(Duration.ofMillis(20))
                .until(() -> {
                    change(library);
                    return waits.soFar().contains("are being written; waiting until that is done");
                });
        assertFalse(waits.soFar().contains("Java"), waits::soFar);

        waits.await(Patience.LONGEST).exits(0).says("Java");
    }

    private static void change(Path file) throws IOException {
        Files.setLastModifiedTime(file, FileTime.from(Instant.now()));
    }

    @Test
    void severalFirstStartsAtOnceFindWhatOneOfThemMoves() throws IOException, InterruptedException {
        homeostat.applied(sleeper());
        for (int round = 0; round < 3; round++) {
            Path installed = unmoved("opt" + round);
            List<Command> starts = Stream.generate(() -> homeostat.start(installed, "events"))
                    .limit(6)
                    .toList();
            for (Command start : starts) {
                start.await(Patience.LONGEST).exits(0).says("PLUGIN_STARTED").doesNotSay("ERROR");
            }
        }
    }

    @Test
    void aDamagedProgramSaysSo() throws IOException, InterruptedException {
        Path installed = copy("opt");
        sh("for library in '" + installed + "'/lib/picocli*.jar; do : >\"$library\"; done");

        homeostat
                .checked(homeostat.start(installed, "version", "--help").await(Patience.LONGEST))
                .exits(1)
                .says("damaged")
                .doesNotSay("\tat ");
    }

    @Test
    void commandsWhoseFilesAreOverwrittenEndBeforeTheyAre() throws IOException, InterruptedException {
        Path installed = copy("opt");
        Path file = homeostat.file("web.yaml", sleeper().with("probe.exec.command", new String[] {"/bin/false"}));
        Command looks = homeostat.start(installed, "status", "--watch");
        Command follows = homeostat.start(installed, "events", "--follow", "-o", "json");
        Command works = homeostat.start(installed, "apply", "-f", file.toString());
        for (Command command : List.of(looks, follows, works)) {
            eventually().until(() -> holdsLeases(command.pid(), installed));
        }
        eventually().until(() -> homeostat.run("status").out().contains("process/web"));

        sh("cp -rf '" + Distribution.home() + "/.' '" + installed + "'");

        for (Command command : List.of(looks, follows, works)) {
            command.await(Patience.LONGEST).exits(1).says("; run it again when that is done");
        }
        assertTrue(works.soFar().contains("apply: interrupted; what is declared stays declared"), works.soFar());
    }

    /** On all libraries, see proc_locks(5). */
    private static boolean holdsLeases(long pid, Path installed) throws IOException {
        try (Stream<Path> libraries = Files.list(installed.resolve("lib"))) {
            return Files.readAllLines(Path.of("/proc/locks")).stream()
                            .filter(lock -> lock.contains(" LEASE "))
                            .filter(lock -> lock.contains(" " + pid + " "))
                            .count()
                    == libraries.count();
        }
    }

    @Test
    void theGuideKeepsWorkloadsRunningAndEndsWithTheNewVersion() throws IOException, InterruptedException {
        Path root = Files.createDirectory(homeostat.directory().resolve("root"));
        for (String directory : List.of("opt", "etc/systemd/system", "bin")) {
            Files.createDirectories(root.resolve(directory));
        }
        Path told = root.resolve("told");
        Path manager = Files.writeString(root.resolve("bin/systemctl"), "#!/bin/sh\necho \"$@\" >>" + told + "\n");
        assertTrue(manager.toFile().setExecutable(true));

        follow(section(INSTALLATION), root);
        assertEquals(List.of("daemon-reload", "enable --now homeostat"), Files.readAllLines(told));
        homeostat.declare("web.yaml", sleeper());
        Agent first = homeostat.agent(root.resolve("opt/homeostat"));
        homeostat.awaitRunning("process/web");
        long web = homeostat.pid("process/web");

        follow(section(UPGRADE), root);

        assertEquals("restart homeostat", Files.readAllLines(told).getLast());
        assertTrue(first.isRunning(), first::said);
        first.terminate().exits(0);
        homeostat.agent(root.resolve("opt/homeostat"));
        eventually().until(() -> homeostat.run("status").exit() == 0);
        assertEquals(web, homeostat.pid("process/web"));
        assertEquals(Path.of("homeostat-2"), Files.readSymbolicLink(root.resolve("opt/homeostat")));
    }

    /** As earlier guides made it. */
    @Test
    void aDirectoryBecomesAVersionUnderARunningAgent() throws IOException, InterruptedException {
        Path root = Files.createDirectory(homeostat.directory().resolve("root"));
        Path installed = copy(Files.createDirectories(root.resolve("opt")) + "/homeostat");
        homeostat.declare("web.yaml", sleeper());
        Agent agent = homeostat.agent(installed);
        homeostat.awaitRunning("process/web");

        follow(
                DocPage.named(GUIDE).code().stream()
                        .map(DocPage.Code::text)
                        .filter(text -> text.startsWith(DIRECTORY_TO_VERSION))
                        .findFirst()
                        .orElseThrow(),
                root);

        assertEquals(Path.of("homeostat-1"), Files.readSymbolicLink(installed));
        assertTrue(agent.isRunning(), agent::said);
        homeostat.run("status").exits(0);
    }

    /** An installation of the program. */
    private Path copy(String name) throws IOException, InterruptedException {
        Path installed = homeostat.directory().resolve(name);
        sh("cp -a '" + Distribution.home() + "' '" + installed + "'");
        return installed;
    }

    /** An installation as it was before its first start. */
    private Path unmoved(String name) throws IOException, InterruptedException {
        Path installed = copy(name);
        sh("cd '" + installed + "' && mkdir -p native && mv mapped/*.aot homeostat.aot"
                + " && mv mapped/*.so native/libsqlitejdbc.so && rmdir mapped");
        return installed;
    }

    /** Whether this test runs what a block of the shell shows. */
    static boolean runs(DocPage page, DocPage.Block block) {
        return page.name().equals(GUIDE)
                && block.language().equals("sh")
                && List.of(INSTALLATION, UPGRADE).contains(block.heading());
    }

    /** The commands below a heading of the guide. */
    private static String section(String heading) {
        DocPage guide = DocPage.named(GUIDE);
        return guide.blocks().stream()
                .filter(block -> runs(guide, block) && block.heading().equals(heading))
                .map(DocPage.Block::text)
                .collect(Collectors.joining());
    }

    /** Types it line by line in a checkout, below another root directory and without a service manager. */
    private void follow(String commands, Path root) throws IOException, InterruptedException {
        sh("cd '" + Distribution.checkout() + "'\nexport PATH=" + root.resolve("bin") + ":$PATH\n"
                + commands.replace("/opt/", root + "/opt/")
                        .replace("/etc/", root + "/etc/")
                        .replace("./homeostat version", Distribution.program() + " version"));
    }

    private static void sh(String script) throws IOException, InterruptedException {
        Process shell = new ProcessBuilder("/bin/sh", "-euc", script)
                .redirectErrorStream(true)
                .start();
        String said = new String(shell.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertTrue(shell.waitFor(Patience.LONGEST.toSeconds(), TimeUnit.SECONDS), () -> "goes on and on: " + script);
        assertEquals(0, shell.exitValue(), () -> script + "\n" + said);
    }

    private static Document sleeper() {
        return Document.process("web")
                .with("install", "local")
                .with("entryPoint", "/bin/sleep")
                .arguments("1000");
    }
}
