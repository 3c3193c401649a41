package io.homeostat.observe.guest;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.homeostat.desired.model.guest.GuestEndpoint;
import io.homeostat.observe.guest.UnreachableGuest.Reason;
import io.homeostat.observe.process.Account;
import io.homeostat.observe.ttrpc.Wire;
import java.io.IOException;
import java.net.BindException;
import java.net.SocketException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Each way in which a guest can't be reached has a reason of its own, and words that help. */
@Timeout(60)
class GuestDialerTest {
    private static final Duration LONG = Duration.ofSeconds(30);

    @TempDir
    Path root;

    private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();
    private final GuestDialer dialer = new GuestDialer(timer);
    private ServerSocketChannel monitor;

    @BeforeEach
    void setUp() throws IOException {
        monitor = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
        monitor.bind(UnixDomainSocketAddress.of(socket()));
    }

    @AfterEach
    void tearDown() throws IOException {
        monitor.close();
        timer.shutdownNow();
    }

    private Path socket() {
        return root.resolve("vm.sock");
    }

    private GuestEndpoint hybrid() {
        return new GuestEndpoint.HybridVsock(socket().toString(), 1024);
    }

    private GuestEndpoint unix() {
        return new GuestEndpoint.Unix(socket().toString());
    }

    private UnreachableGuest failure(GuestEndpoint endpoint, Duration timeout) {
        return assertThrows(
                UnreachableGuest.class, () -> dialer.connect(endpoint, timeout).close());
    }

    /** Takes one connection, reads a line and answers; null closes it without a word. */
    private CompletableFuture<String> monitor(@Nullable String answer) {
        return CompletableFuture.supplyAsync(
                () -> {
                    try (SocketChannel client = monitor.accept()) {
                        String line = line(client::read);
                        if (answer != null) {
                            client.write(ByteBuffer.wrap(answer.getBytes(StandardCharsets.US_ASCII)));
                        }
                        return line;
                    } catch (IOException e) {
                        return e.toString();
                    }
                },
                command -> Thread.ofPlatform().start(command));
    }

    private interface Bytes {
        int read(ByteBuffer into) throws IOException;
    }

    private static String line(Bytes from) throws IOException {
        StringBuilder result = new StringBuilder();
        ByteBuffer one = ByteBuffer.allocateDirect(1);
        while (from.read(one.clear()) > 0 && one.get(0) != '\n') {
            result.append((char) one.get(0));
        }
        return result.toString();
    }

    @Test
    void whenItsOwnerHasEndedNobodyIsTried() {
        timer.shutdownNow();

        UnreachableGuest failure = failure(unix(), LONG);

        assertEquals(Reason.NOT_TRIED, failure.reason());
        assertEquals(unix() + " could not be tried: no more connections are made", failure.getMessage());
    }

    @Test
    void aMonitorIsAskedForAPortAndWhatFollowsItsAnswerIsTheGuests() throws Exception {
        // Firecracker tells a port of this machine.
        CompletableFuture<String> asked = monitor("OK 1073741824\nfrom the guest\n");

        try (Wire channel = dialer.connect(hybrid(), LONG)) {
            assertEquals("from the guest", line(channel::read));
        }
        assertEquals("CONNECT 1024", asked.get());
    }

    @Test
    void theMonitorOfRootIsToldNothingToWhoseSocketThatOfAnotherUserLeads() throws Exception {
        assumeTrue(Account.ourUid() == 0, "only root has anything to say to sockets of others");
        CompletableFuture<String> asked = monitor(null);
        Path theirs = Files.createDirectory(root.resolve("theirs"));
        Path link = Files.createSymbolicLink(theirs.resolve("vm.sock"), socket());
        Files.setAttribute(theirs, "unix:uid", 65534);

        UnreachableGuest failure = failure(new GuestEndpoint.HybridVsock(link.toString(), 1024), LONG);

        assertEquals(Reason.NOT_ALLOWED, failure.reason(), failure.getMessage());
        assertEquals("", asked.get());
    }

    @Test
    void aGuestInWhichNobodyListensYetIsNotUp() throws Exception {
        CompletableFuture<String> asked = monitor(null);

        UnreachableGuest failure = failure(hybrid(), LONG);

        assertEquals(Reason.NOT_UP, failure.reason());
        assertEquals(
                hybrid()
                        + ": the monitor of the virtual machine runs, and nobody in the machine listens at port 1024"
                        + " yet; it is tried again",
                failure.getMessage());
        assertEquals("CONNECT 1024", asked.get());
    }

    @ParameterizedTest
    @CsvSource({"HTTP/1.1 400 Bad Request", "OK", "OK x", "ok 1024", "OK 1024 and far more than a monitor ever says"})
    void whoeverAnswersOtherwiseIsNoMonitor(String answer) {
        CompletableFuture<String> _ = monitor(answer + "\n");

        UnreachableGuest failure = failure(hybrid(), LONG);

        assertEquals(Reason.WRONG_PROTOCOL, failure.reason());
        assertTrue(String.valueOf(failure.getMessage()).contains("write unix://PATH"), failure.getMessage());
    }

    @Test
    void aMonitorThatSaysNothingIsNotWaitedForForEver() {
        UnreachableGuest failure = failure(hybrid(), Duration.ofMillis(200));

        assertEquals(Reason.NO_ANSWER, failure.reason());
        assertEquals(
                hybrid() + ": nobody has taken the connection within 200 ms; look whether the machine is busy or hangs",
                failure.getMessage());
    }

    @Test
    void anAgentOnThisMachineIsConnectedTo() throws Exception {
        try (Wire channel = dialer.connect(unix(), LONG);
                SocketChannel accepted = monitor.accept()) {
            channel.write(ByteBuffer.wrap(new byte[] {'h', 'i', '\n'}));
            assertEquals("hi", line(accepted::read));
        }
    }

    @Test
    void aSocketThatIsNotThereAndOneThatNobodyListensAtAreToldApart() throws Exception {
        monitor.close();
        // A process that another test starts holds this JVM's descriptors until its exec.
        await().atMost(LONG)
                .untilAsserted(
                        () -> assertEquals(Reason.REFUSED, failure(unix(), LONG).reason()));
        UnreachableGuest refused = failure(unix(), LONG);
        assertEquals(unix() + ": nobody listens at " + socket() + "; start what should", refused.getMessage());

        Files.delete(socket());
        UnreachableGuest gone = failure(hybrid(), LONG);
        assertEquals(Reason.NO_SOCKET, gone.reason());
        assertEquals(
                hybrid() + ": there is no " + socket() + "; start what makes it, or correct spec.endpoint",
                gone.getMessage());
    }

    @Test
    void aFileThatIsNoSocketIsRefused() throws Exception {
        GuestEndpoint file = new GuestEndpoint.Unix(
                Files.writeString(root.resolve("file"), "").toString());

        assertEquals(Reason.REFUSED, failure(file, LONG).reason());
    }

    @Test
    void whatIsOurFaultIsNotTheGuests() {
        assertEquals(
                Reason.NOT_ALLOWED,
                GuestDialer.refused(unix(), socket(), new BindException("Permission denied"))
                        .reason());
        assertEquals(
                Reason.NOT_TRIED,
                GuestDialer.refused(unix(), socket(), new SocketException("Too many open files"))
                        .reason());
    }

    @ParameterizedTest
    @CsvSource({
        "97, NO_VSOCK, load the module",
        "19, NO_SUCH_GUEST, no virtual machine has this CID",
        "113, NO_SUCH_GUEST, this CID",
        "104, REFUSED, listens there",
        "110, NO_ANSWER, look whether it has booted",
        "13, NOT_ALLOWED, run as root",
        "24, NOT_TRIED, Too many open files",
        "71, REFUSED, Protocol error",
    })
    void whatTheKernelSaysOfVsockIsAReason(int error, Reason reason, String words) {
        UnreachableGuest failure = GuestDialer.vsockFailure(new GuestEndpoint.Vsock(3, 1024), error);

        assertEquals(reason, failure.reason());
        String message = String.valueOf(failure.getMessage());
        assertTrue(message.startsWith("vsock://3:1024: ") && message.contains(words), message);
    }
}
