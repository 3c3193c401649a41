package io.homeostat.e2e;

import static io.homeostat.e2e.Patience.eventually;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** A small file system of its own, which only root can mount. */
final class FullDiskTest {
    @RegisterExtension
    @Order(1)
    final Guest guest = new Guest();

    @RegisterExtension
    @Order(2)
    final Homeostat homeostat = new Homeostat();

    @Test
    void aDiskThatIsTooSmallIsSaidAndTheOldRevisionGoesOn() throws IOException {
        withAFileSystem(80, () -> {
            Document small = declared("1", 1);
            homeostat.applied(small);
            long pid = homeostat.pid("process/run");

            homeostat.apply(declared("2", 20)).exits(1).says("free");

            assertEquals(pid, homeostat.pid("process/run"));
            fill();
            homeostat.run("status").exits(1).says("process/run");
            homeostat.run("apply", "-f", homeostat.file("c.yaml", small).toString());
            assertEquals(pid, homeostat.processes("process/run").getFirst().pid());
            Files.delete(homeostat.stateDir().resolve("filler"));

            homeostat.applied(small);

            assertEquals(pid, homeostat.pid("process/run"));
            homeostat.run("delete", "process/run").exits(0);
        });
    }

    @Test
    void anAgentThatCanStoreNothingIsAProblemThatStatusTells() throws IOException {
        withAFileSystem(8, () -> {
            Agent agent = homeostat.agent();
            homeostat.applied(Document.script("run", "exec sleep 1000"));
            fill();
            Processes.kill(homeostat.pid("process/run"));

            eventually().untilAsserted(() -> homeostat.run("status").exits(1).says("agent: the store"));

            String why = homeostat
                    .run("status", "-o", "json")
                    .exits(1)
                    .json()
                    .at("/agent/problems/0")
                    .asText();
            assertTrue(why.contains("space"), why);
            Files.delete(homeostat.stateDir().resolve("filler"));
            homeostat.run("delete", "process/run").exits(0);
            agent.terminate();
        });
    }

    @Test
    void whatAContainerPrintsMeanwhileIsLostAndItsLogSaysSo(@TempDir Path signs) throws IOException {
        withAFileSystem(8, () -> {
            String awaits = "while [ ! -e " + signs + "/%s ]; do sleep 0.1; done; ";
            homeostat.declare(
                    "all.yaml",
                    guest.sandbox(),
                    Document.container(
                            "app",
                            "guest",
                            "echo begins; " + awaits.formatted("full") + "head -c 300000 /dev/zero | tr '\\0' x; "
                                    + awaits.formatted("free") + "echo goes on; exec sleep 1000"));
            Agent agent = homeostat.agent();
            homeostat.awaitRunning("container/app");
            eventually()
                    .until(() -> homeostat.run("logs", "container/app").out().contains("begins"));
            fill();
            Files.createFile(signs.resolve("full"));
            agent.awaitSaying("what it prints is lost: ");
            Files.delete(homeostat.stateDir().resolve("filler"));
            Files.createFile(signs.resolve("free"));

            eventually()
                    .until(() -> homeostat.run("logs", "container/app").out().contains("goes on"));

            homeostat.run("logs", "container/app").says(" lost here: No space left on device");
            agent.terminate();
        });
    }

    private interface Trial {
        void run() throws IOException;
    }

    private void withAFileSystem(int megabytes, Trial trial) throws IOException {
        Files.createDirectory(homeostat.stateDir());
        assumeTrue(
                execute(
                                "mount",
                                "-t",
                                "tmpfs",
                                "-o",
                                "mode=0700,size=" + megabytes + "m",
                                "tmpfs",
                                homeostat.stateDir().toString())
                        == 0,
                "a tmpfs can be mounted");
        try {
            trial.run();
        } finally {
            execute("umount", "-l", homeostat.stateDir().toString());
        }
    }

    /** To the last byte. */
    private void fill() {
        try {
            Files.write(homeostat.stateDir().resolve("filler"), new byte[100 << 20]);
        } catch (IOException e) {
            assertTrue(String.valueOf(e.getMessage()).contains("No space"), e::toString);
        }
    }

    private Document declared(String revision, int megabytes) {
        byte[] noise = new byte[megabytes << 20];
        new Random(1).nextBytes(noise);
        Path archive = homeostat.directory().resolve(revision + ".tar.gz");
        try {
            Files.write(
                    archive,
                    new TarGz()
                            .file("bin/run", 0755, "#!/bin/sh\nexec sleep 1000\n")
                            .file("noise", 0644, noise)
                            .bytes());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return Document.process("run")
                .with("revision", revision)
                .with("source.url", archive.toString())
                .with("entryPoint", "bin/run");
    }

    private static int execute(String... command) {
        try {
            Process process = new ProcessBuilder(command)
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                    .redirectError(ProcessBuilder.Redirect.DISCARD)
                    .start();
            return process.waitFor(10, TimeUnit.SECONDS) ? process.exitValue() : -1;
        } catch (IOException e) {
            return -1;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return -1;
        }
    }
}
