package io.homeostat.e2e;

import static io.homeostat.e2e.Patience.eventually;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Another version of the program is put on a machine whose agent runs. */
final class UpgradeTest {
    private static final String GUIDE = "examples/agent/README.md";

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
    void whatIsMappedWithoutALeaseIsNotMapped() throws IOException, InterruptedException {
        Path installed = copy("opt");
        Path cache = installed.resolve("homeostat.aot");
        assertTrue(Files.size(cache) > 0);
        try (FileChannel writer = FileChannel.open(cache, StandardOpenOption.WRITE)) {
            Agent agent = homeostat.agent(installed);

            String mapped = Files.readString(Path.of("/proc/" + agent.pid() + "/maps"));
            assertFalse(mapped.contains(installed.toString()), mapped);
            writer.truncate(0);

            agent.await().exits(1).says(cache + ", from which this program runs, is being overwritten");
        }
    }

    @Test
    void aDamagedProgramSaysSo() throws IOException, InterruptedException {
        Path installed = copy("opt");
        sh("for library in '" + installed + "'/lib/picocli*.jar; do : >\"$library\"; done");

        homeostat
                .checked(homeostat.start(installed, "version").await(Patience.LONGEST))
                .exits(1)
                .says("this program is being overwritten, or its installation is damaged")
                .doesNotSay("\tat ");
    }

    @Test
    void commandsWhoseFilesAreOverwrittenEndBeforeTheyAre() throws IOException, InterruptedException {
        Path installed = copy("opt");
        Path file = homeostat.file("web.yaml", sleeper().with("probe.exec.command", new String[] {"/bin/false"}));
        Command looks = homeostat.start(installed, "status", "--watch");
        Command follows = homeostat.start(installed, "events", "--follow", "-o", "json");
        Command works = homeostat.start(installed, "apply", "-f", file.toString());
        long files;
        try (var libraries = Files.list(installed.resolve("lib"))) {
            // And the cache of classes and SQLite's own library.
            files = libraries.count() + 2;
        }
        for (Command command : List.of(looks, follows, works)) {
            eventually().until(() -> holdsLeases(command, files));
        }

        sh("cp -rf '" + Distribution.home() + "/.' '" + installed + "'");

        for (Command command : List.of(looks, follows, works)) {
            command.await(Patience.LONGEST)
                    .exits(1)
                    .says(", from which this program runs, is being overwritten; run it again when that is done");
        }
        assertTrue(works.soFar().contains("apply: interrupted; what is declared stays declared"), works.soFar());
    }

    /** On all of them, see proc_locks(5). */
    private static boolean holdsLeases(Command command, long files) throws IOException {
        return Files.readAllLines(Path.of("/proc/locks")).stream()
                        .filter(lock -> lock.contains(" LEASE "))
                        .filter(lock -> lock.contains(" " + command.pid() + " "))
                        .count()
                == files;
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

        follow(section("# Homeostat as a service"), root);
        assertEquals(List.of("daemon-reload", "enable --now homeostat"), Files.readAllLines(told));
        homeostat.declare("web.yaml", sleeper());
        Agent first = homeostat.agent(root.resolve("opt/homeostat"));
        homeostat.awaitRunning("process/web");
        long web = homeostat.pid("process/web");

        follow(section("## Upgrade"), root);

        assertEquals("restart homeostat", Files.readAllLines(told).getLast());
        assertTrue(first.isRunning(), first::said);
        first.terminate().exits(0);
        homeostat.agent(root.resolve("opt/homeostat"));
        eventually().until(() -> homeostat.run("status").exit() == 0);
        assertEquals(web, homeostat.pid("process/web"));
        assertEquals(Path.of("homeostat-2"), Files.readSymbolicLink(root.resolve("opt/homeostat")));
    }

    /** An installation of the program. */
    private Path copy(String name) throws IOException, InterruptedException {
        Path installed = homeostat.directory().resolve(name);
        sh("cp -a '" + Distribution.home() + "' '" + installed + "'");
        return installed;
    }

    /** The first block of commands below a heading of the guide. */
    private static String section(String heading) throws IOException {
        String guide = Files.readString(Distribution.checkout().resolve(GUIDE));
        int begin = guide.indexOf("```sh\n", guide.indexOf(heading)) + "```sh\n".length();
        return guide.substring(begin, guide.indexOf("```", begin));
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
