package io.homeostat.reconcile.agent.guest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.homeostat.observe.process.ProcFs;
import io.homeostat.proto.kata.CreateContainerRequest;
import io.homeostat.proto.kata.Process;
import io.homeostat.proto.kata.Spec;
import io.homeostat.reconcile.command.FrontEnd;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ContainerDocumentTest {
    private static final Duration LONGEST = Duration.ofSeconds(60);

    @TempDir
    private Path directory;

    private HostedContainer container;
    private Path runtime;

    @BeforeEach
    void prepare() throws IOException, InterruptedException {
        Path bundle = Files.createDirectory(directory.resolve("app"));
        container = container(bundle, false);
        runtime = directory.resolve("runtime");
        assertEquals(
                0,
                new ProcessBuilder("mkfifo", container.stdin().toString())
                        .start()
                        .waitFor());
    }

    private HostedContainer container(Path bundle, boolean terminal) {
        return new HostedContainer(
                "app",
                bundle,
                CreateContainerRequest.newBuilder()
                        .setOCI(Spec.newBuilder()
                                .setProcess(Process.newBuilder().setTerminal(terminal)))
                        .build(),
                FrontEnd.GUEST.workload("process", "app", "app"),
                directory.resolve("log"),
                directory.resolve("errors"));
    }

    /**
     * As the agent launches it, with a runtime that is a script. A shell reads the script, as in {@link OciRuntimeTest}.
     */
    private ProcessBuilder launch(String boot, String script) throws IOException {
        Files.writeString(runtime, script);
        JsonNode document = new ObjectMapper()
                .readTree(ContainerDocument.of(
                        container,
                        boot,
                        directory.resolve("errors"),
                        List.of("/bin/sh", runtime.toString(), "--root", "r")));
        List<String> command =
                new ArrayList<>(List.of(document.at("/spec/entryPoint").asText()));
        document.at("/spec/arguments").forEach(argument -> command.add(argument.asText()));
        return new ProcessBuilder(command)
                .redirectOutput(ProcessBuilder.Redirect.appendTo(
                        directory.resolve("log").toFile()))
                .redirectError(directory.resolve("said").toFile());
    }

    private int run(String script) throws IOException, InterruptedException {
        java.lang.Process process = launch(new ProcFs().bootId(), script).start();
        assertTrue(process.waitFor(LONGEST.toSeconds(), TimeUnit.SECONDS));
        return process.exitValue();
    }

    @Test
    void itRunsTheRuntimeOnceAndEndsAsThatDoes() throws IOException, InterruptedException {
        String script = "echo out \"$@\"; echo err >&2; exit 3";

        assertEquals(3, run(script));
        assertEquals(3, run(script));

        assertEquals(
                "out --root r --log D/runtime.log run --keep --pid-file D/pid --bundle D app\n",
                Files.readString(directory.resolve("log"))
                        .replace(container.directory().toString(), "D"),
                "the second one has written nothing");
        assertEquals("err\n", Files.readString(directory.resolve("errors")));
        assertEquals("3", Files.readString(container.exitFile()).strip());
    }

    @Test
    void inAnotherBootOrAfterABrokenLaunchItRunsNothing() throws IOException, InterruptedException {
        java.lang.Process process =
                launch("of another boot", "touch ran; exit 0").start();
        assertTrue(process.waitFor(LONGEST.toSeconds(), TimeUnit.SECONDS));
        assertEquals(137, process.exitValue());
        assertFalse(Files.exists(container.directory().resolve("launched")));

        Files.createDirectory(container.directory().resolve("launched"));
        assertEquals(137, run("exit 0"));
    }

    /** Which comes first is up to the kernel. */
    @RepeatedTest(20)
    void aSignalThatMeetsTheEndDoesNotChangeIt() throws IOException, InterruptedException {
        assertEquals(3, run("kill -USR1 $PPID; exit 3"));
    }

    @Test
    void standardInputStaysOpenUntilItIsSaidThatNothingMoreComes() throws IOException, InterruptedException {
        java.lang.Process process = launch(new ProcFs().bootId(), "cat; exit 4").start();
        for (String words : new String[] {"some ", "words"}) {
            // Each writer closes it.
            Files.writeString(container.stdin(), words);
            Awaitility.await()
                    .atMost(LONGEST)
                    .until(() -> Files.readString(directory.resolve("log")).endsWith(words));
        }
        assertTrue(process.isAlive());

        Files.createFile(container.stdinClosedFile());
        assertEquals(
                0,
                new ProcessBuilder("kill", "-USR1", Long.toString(process.pid()))
                        .start()
                        .waitFor());

        assertTrue(process.waitFor(LONGEST.toSeconds(), TimeUnit.SECONDS));
        assertEquals(4, process.exitValue());
        assertEquals("some words", Files.readString(directory.resolve("log")));
    }

    @Test
    void whatWasClosedBeforeItBeganIsClosed() throws IOException, InterruptedException {
        Files.createFile(container.stdinClosedFile());

        assertEquals(0, run("cat"));
    }

    @Test
    void withATerminalItsOutputIsOne() throws IOException, InterruptedException {
        container = container(container.directory(), true);

        assertEquals(5, run("test -t 0 && test -t 1 && echo \"terminal of $#\"; echo err >&2; exit 5"));

        assertEquals("terminal of 11\r\nerr\r\n", Files.readString(directory.resolve("log")));
    }
}
