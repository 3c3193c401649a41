package io.homeostat.reconcile.agent.guest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.github.benmanes.caffeine.cache.Ticker;
import com.google.common.collect.ImmutableMap;
import io.homeostat.desired.model.guest.GuestEndpoint;
import io.homeostat.observe.ttrpc.SocketWire;
import io.homeostat.observe.ttrpc.TtrpcChannel;
import io.homeostat.proto.kata.AgentServiceGrpc;
import io.homeostat.proto.kata.CheckRequest;
import io.homeostat.proto.kata.CreateSandboxRequest;
import io.homeostat.proto.kata.DestroySandboxRequest;
import io.homeostat.proto.kata.HealthCheckResponse;
import io.homeostat.proto.kata.HealthGrpc;
import io.homeostat.reconcile.command.environment.DocumentFormat;
import io.homeostat.reconcile.command.environment.Environment;
import io.homeostat.reconcile.command.environment.GlobalOptions;
import io.homeostat.reconcile.command.environment.UsageException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(value = 60, unit = TimeUnit.SECONDS)
class GuestServerTest extends GuestTestBed {
    private GuestMachine machine;
    private Path socket;

    @BeforeEach
    void prepare() throws IOException, InterruptedException {
        machine = guest.boot();
        socket = directory.resolve("agent.sock");
    }

    /** Serves by a thread of its own; returns null at its end, or how it failed. */
    private CompletableFuture<String> serve(Thread[] thread) {
        CompletableFuture<String> end = new CompletableFuture<>();
        thread[0] = Thread.ofVirtual().start(() -> {
            try {
                GuestServer.serve(new GuestEndpoint.Unix(socket.toString()), machine);
                end.complete("destroyed");
            } catch (InterruptedException e) {
                end.complete("interrupted");
            } catch (IOException e) {
                end.completeExceptionally(e);
            }
        });
        Awaitility.await().atMost(Duration.ofSeconds(30)).until(() -> Files.exists(socket));
        return end;
    }

    @Test
    void callsAreServedUntilTheSandboxIsDestroyed() throws IOException {
        CompletableFuture<String> serving = serve(new Thread[1]);
        ScheduledThreadPoolExecutor timer = new ScheduledThreadPoolExecutor(1);
        try (TtrpcChannel channel = new TtrpcChannel(
                new SocketWire(SocketChannel.open(UnixDomainSocketAddress.of(socket))), "guest", timer)) {
            HealthCheckResponse health = HealthGrpc.newBlockingStub(channel).check(CheckRequest.getDefaultInstance());
            assertEquals(HealthCheckResponse.ServingStatus.SERVING, health.getStatus());
            AgentServiceGrpc.AgentServiceBlockingStub agent = AgentServiceGrpc.newBlockingStub(channel);
            var _ = agent.createSandbox(CreateSandboxRequest.getDefaultInstance());
            assertTrue(machine.sandbox().isThere());
            assertFalse(serving.isDone());

            var _ = agent.destroySandbox(DestroySandboxRequest.getDefaultInstance());

            assertEquals("destroyed", serving.join());
            assertFalse(Files.exists(socket));
        } finally {
            timer.shutdownNow();
        }
    }

    @Test
    void anAgentThatIsToldToEndKeepsItsSandbox() {
        Thread[] thread = new Thread[1];
        CompletableFuture<String> serving = serve(thread);

        thread[0].interrupt();

        assertEquals("interrupted", serving.join());
        assertFalse(Files.exists(socket));
    }

    @Test
    void aFileThatIsInTheWayIsNotReplaced() throws IOException {
        Files.writeString(socket, "precious");

        assertThrows(IOException.class, () -> GuestServer.serve(new GuestEndpoint.Unix(socket.toString()), machine));

        assertEquals("precious", Files.readString(socket));
    }

    private static GuestServer server(String configured, Optional<String> typed) {
        PrintStream nowhere = new PrintStream(OutputStream.nullOutputStream(), false, StandardCharsets.UTF_8);
        return new GuestServer(
                new Environment(
                        configured.isEmpty()
                                ? ImmutableMap.of()
                                : ImmutableMap.of("KATA_AGENT_SERVER_ADDR", configured),
                        Path.of("/"),
                        0,
                        InputStream.nullInputStream(),
                        nowhere,
                        nowhere,
                        false,
                        false,
                        Clock.systemUTC(),
                        Ticker.disabledTicker(),
                        DocumentFormat.STANDARD,
                        Environment.Interrupts.none()),
                new GlobalOptions(
                        GlobalOptions.OutputFormat.TEXT, Optional.empty(), Optional.empty(), Optional.empty(), false),
                new GuestServer.Settings(typed, Optional.empty(), Optional.empty()));
    }

    @ParameterizedTest
    @CsvSource(
            value = {
                "'', , vsock://-1:1024",
                "vsock://-1:77, , vsock://-1:77",
                "vsock://-1:77, vsock://-1:78, vsock://-1:78",
                "vsock://3:77, , vsock://3:77",
                "'', unix:///run/agent.sock, unix:///run/agent.sock"
            })
    void whatIsTypedComesBeforeWhatIsConfigured(String configured, String typed, String endpoint) {
        GuestEndpoint chosen = server(configured, Optional.ofNullable(typed)).endpoint();

        assertEquals(
                endpoint.startsWith("unix")
                        ? new GuestEndpoint.Unix("/run/agent.sock")
                        : new GuestEndpoint.Vsock(
                                endpoint.contains("-1") ? -1 : 3,
                                Integer.parseInt(endpoint.substring(endpoint.lastIndexOf(':') + 1))),
                chosen);
    }

    @ParameterizedTest
    @ValueSource(strings = {"hvsock:///run/vm.sock:1024", "vsock://-1:port", "agent.sock", "unix://agent.sock"})
    void nobodyListensAtWhatIsNoEndpointOfAGuest(String address) {
        assertThrows(
                UsageException.class, () -> server("", Optional.of(address)).endpoint());
        assertThrows(
                UsageException.class, () -> server(address, Optional.empty()).endpoint());
    }
}
