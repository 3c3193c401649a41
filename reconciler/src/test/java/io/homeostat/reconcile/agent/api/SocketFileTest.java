package io.homeostat.reconcile.agent.api;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.reconcile.agent.api.ApiException.Kind;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What is in the way of the socket. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class SocketFileTest {
    private static final Path NOTHING = Path.of("/dev/null");

    @TempDir
    Path directory;

    @Test
    void aSocketThatADeadProcessLeftIsReplaced() throws IOException, InterruptedException {
        Path socket = directory.resolve("agent.sock");
        try (ServerSocketChannel dead = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
            dead.bind(UnixDomainSocketAddress.of(socket));
        }
        assertTrue(Files.exists(socket));
        try (ApiServer _ = ApiServer.start(socket, new Answers(output -> 0))) {
            assertEquals("0 ", Reading.ask(socket));
            assertEquals("rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(socket)));
        }
    }

    @Test
    void aSocketThatSomebodyListensOnIsLeftToHimAndHisPidTold() throws InterruptedException {
        Path socket = directory.resolve("agent.sock");
        try (ApiServer _ = ApiServer.start(socket, new Answers(output -> 0))) {
            ApiException e = assertThrows(ApiException.class, () -> ApiServer.start(socket, new Answers(output -> 1)));
            assertEquals(Kind.NOT_SERVED, e.kind());
            assertEquals(
                    "cannot listen on " + socket + ": process "
                            + ProcessHandle.current().pid() + " does; stop it, or choose another --run-dir",
                    e.getMessage());
            assertEquals("0 ", Reading.ask(socket));
        }
    }

    @Test
    void aListenerIsFoundWhileItOpensAndClosesFiles() throws InterruptedException {
        Path socket = directory.resolve("agent.sock");
        AtomicBoolean done = new AtomicBoolean();
        Thread busy = Thread.ofPlatform().start(() -> {
            while (!done.get()) {
                try (InputStream _ = Files.newInputStream(NOTHING)) {
                    // Open for a moment.
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            }
        });
        try (ApiServer _ = ApiServer.start(socket, new Answers(output -> 0))) {
            for (int i = 0; i < (Boolean.getBoolean("nightly") ? 200 : 20); i++) {
                ApiException e =
                        assertThrows(ApiException.class, () -> ApiServer.start(socket, new Answers(output -> 1)));
                assertTrue(
                        e.getMessage()
                                .contains("process " + ProcessHandle.current().pid()),
                        e.getMessage());
            }
        } finally {
            done.set(true);
            busy.join();
        }
    }

    @Test
    void whatIsNoSocketIsNotRemoved() throws IOException {
        Path socket = Files.writeString(directory.resolve("agent.sock"), "precious");
        ApiException e = assertThrows(ApiException.class, () -> ApiServer.start(socket, new Answers(output -> 0)));
        assertTrue(e.getMessage().contains("what is there is no socket"), e.getMessage());
        assertEquals("precious", Files.readString(socket));
    }

    @Test
    void aPathThatTheKernelWouldNotTakeIsNamedWithItsRemedy() {
        Path socket = directory.resolve("x".repeat(120)).resolve("agent.sock");
        ApiException e = assertThrows(ApiException.class, () -> ApiServer.start(socket, new Answers(output -> 0)));
        assertTrue(e.getMessage().contains("--run-dir"), e.getMessage());
        assertTrue(e.getMessage().contains("at most 106 bytes"), e.getMessage());
    }

    @Test
    void aDirectoryThatIsMissingIsToldAsThat() {
        Path socket = directory.resolve("none").resolve("agent.sock");
        ApiException e = assertThrows(ApiException.class, () -> ApiServer.start(socket, new Answers(output -> 0)));
        assertEquals(Kind.NOT_SERVED, e.kind());
        assertTrue(e.getMessage().startsWith("cannot listen on " + socket + ": "), e.getMessage());
    }
}
