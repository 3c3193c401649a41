package io.homeostat.reconcile.agent;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.homeostat.controlplane.FakeNotifySocket;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SystemdNotifierTest {
    private static final Duration SOON = Duration.ofSeconds(10);
    private static final long PID = 4711;

    @TempDir
    Path directory;

    private static SystemdNotifier notifier(Map<String, String> variables) {
        return new SystemdNotifier(name -> variables.getOrDefault(name, ""), PID);
    }

    @Test
    void tellsThatItLivesTwiceAsOftenAsTheManagerWants() throws IOException {
        String socket = directory.resolve("notify").toString();
        try (FakeNotifySocket manager = new FakeNotifySocket(socket)) {
            SystemdNotifier notifier =
                    notifier(Map.of("NOTIFY_SOCKET", socket, "WATCHDOG_USEC", "90000000", "WATCHDOG_PID", "4711"));
            assertEquals(Optional.of(Duration.ofSeconds(45)), notifier.watchdog());
            notifier.ready();
            notifier.alive();
            notifier.stopping();
            assertEquals(Optional.of("READY=1"), manager.receive(SOON));
            assertEquals(Optional.of("WATCHDOG=1"), manager.receive(SOON));
            assertEquals(Optional.of("STOPPING=1"), manager.receive(SOON));
        }
    }

    @Test
    void saysNothingOfItsLifeToAManagerThatDoesNotAsk() throws IOException {
        String socket = directory.resolve("notify").toString();
        try (FakeNotifySocket manager = new FakeNotifySocket(socket)) {
            SystemdNotifier notifier = notifier(Map.of("NOTIFY_SOCKET", socket));
            notifier.alive();
            notifier.stopping();
            assertEquals(Optional.of("STOPPING=1"), manager.receive(SOON));
        }
    }

    @Test
    void aWatchdogOfAnotherProcessOrOfNoTimeIsNotForUs() {
        for (Map<String, String> variables : List.of(
                Map.of("NOTIFY_SOCKET", "@x", "WATCHDOG_USEC", "90000000", "WATCHDOG_PID", "1"),
                Map.of("NOTIFY_SOCKET", "@x", "WATCHDOG_USEC", "0"),
                Map.of("NOTIFY_SOCKET", "@x", "WATCHDOG_USEC", "soon"),
                Map.of("WATCHDOG_USEC", "90000000"),
                Map.<String, String>of())) {
            assertEquals(Optional.empty(), notifier(variables).watchdog(), variables::toString);
        }
    }

    @Test
    void aManagerThatIsGoneIsNoFailure() {
        notifier(Map.of("NOTIFY_SOCKET", directory.resolve("nobody").toString()))
                .ready();
        assertEquals(Optional.empty(), notifier(Map.of()).watchdog());
    }
}
