package io.homeostat.observe.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.controlplane.FakeNotifySocket;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(60)
class UnixDatagramTest {
    private static final Duration SOON = Duration.ofSeconds(30);

    @TempDir
    Path directory;

    @Test
    void whatIsSentToAPathArrivesWhole() throws IOException {
        String socket = directory.resolve("notify").toString();
        try (FakeNotifySocket receiver = new FakeNotifySocket(socket)) {
            UnixDatagram.send(socket, "READY=1\nSTATUS=grüße");
            UnixDatagram.send(socket, "STOPPING=1");

            assertEquals(Optional.of("READY=1\nSTATUS=grüße"), receiver.receive(SOON));
            assertEquals(Optional.of("STOPPING=1"), receiver.receive(SOON));
        }
    }

    @Test
    void anAbstractNameIsNoFile() throws IOException {
        String socket = "@homeostat-test-" + ProcessHandle.current().pid();
        try (FakeNotifySocket receiver = new FakeNotifySocket(socket)) {
            UnixDatagram.send(socket, "READY=1");

            assertEquals(Optional.of("READY=1"), receiver.receive(SOON));
        }
    }

    @Test
    void whereNobodyListensIsAnError() {
        String socket = directory.resolve("nobody").toString();

        IOException refused = assertThrows(IOException.class, () -> UnixDatagram.send(socket, "READY=1"));

        assertTrue(String.valueOf(refused.getMessage()).startsWith("sending to " + socket + " failed with errno "));
    }

    @Test
    void aReceiverThatTakesNothingMakesNobodyWait() throws IOException {
        String socket = directory.resolve("busy").toString();
        try (FakeNotifySocket _ = new FakeNotifySocket(socket)) {
            assertThrows(IOException.class, () -> {
                for (int number = 0; number < 100_000; number++) {
                    UnixDatagram.send(socket, "READY=1");
                }
            });
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"relative", "vsock:2:1", "@", "/"})
    void whatIsNoAddressIsAnError(String socket) {
        assertThrows(IOException.class, () -> UnixDatagram.send(socket, "READY=1"));
    }

    @Test
    void aNameThatIsTooLongIsAnError() {
        String socket = "/" + "a".repeat(107);

        assertThrows(IOException.class, () -> UnixDatagram.send(socket, "READY=1"));
    }
}
