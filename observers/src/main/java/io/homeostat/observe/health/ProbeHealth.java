package io.homeostat.observe.health;

import com.google.common.collect.ImmutableList;
import com.google.common.net.HostAndPort;
import io.grpc.ManagedChannel;
import io.grpc.StatusRuntimeException;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.grpc.health.v1.HealthGrpc;
import io.homeostat.desired.model.Probe;
import io.homeostat.desired.model.Redaction;
import io.homeostat.desired.model.WorkloadSpec;
import io.homeostat.desired.platform.GrpcTransport;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.desired.state.Instance;
import io.homeostat.observe.Observation;
import io.homeostat.observe.ObservedInstance.Liveness.Running;
import io.homeostat.observe.ProcessInstances.InstanceHealth;
import io.homeostat.observe.health.Health.Verdict;
import io.homeostat.observe.process.Account;
import io.homeostat.observe.process.Executables;
import io.homeostat.observe.process.PortOwners;
import io.homeostat.observe.process.PortOwners.Owner;
import io.homeostat.observe.process.SystemCharset;
import java.io.File;
import java.io.IOException;
import java.net.HttpURLConnection;
import java.net.InetSocketAddress;
import java.net.Proxy;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.net.URI;
import java.net.URL;
import java.net.UnknownHostException;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * Health by the declared probe, in one of four ways; without one, a running process is healthy. A probe never takes longer than its
 * timeout, whatever the other side does. No proxy is used and no redirect followed, because the question is about this process.
 */
public final class ProbeHealth implements InstanceHealth {
    private static final int FIRST_HEALTHY = 200;
    private static final int LAST_HEALTHY = 399;

    /** As long as a process without a probe has to stay alive to count as well. */
    private static final Duration LONG_ENOUGH_ALIVE = Duration.ofSeconds(1);

    private final GrpcTransport transport;
    private final InstantSource clock;
    private final PortOwners owners;

    /** @param owners know whose answer it was */
    public ProbeHealth(InstantSource clock, PortOwners owners) {
        this.transport = new GrpcTransport();
        this.clock = clock;
        this.owners = owners;
    }

    @Override
    public Observation<Running> of(Instance instance, Running running, @Nullable WorkloadSpec spec) {
        if (spec == null) {
            return Observation.seen(running);
        }
        Probe probe = spec.probe();
        Health health = probe == null
                ? Health.healthy(clock.instant())
                : attributed(ask(probe, spec.lifecycle().health().timeout()), probe, instance, running);
        return Observation.seen(new Running(running.identity(), running.age(), true, health));
    }

    /**
     * An answer only counts when it is the workload's own: its port may be taken by another process. Where that can't be told, the
     * process must have stayed alive for a while, since one whose port is taken mostly ends at once.
     */
    private Health attributed(Health answer, Probe probe, Instance instance, Running running) {
        Optional<InetSocketAddress> address = address(probe);
        if (answer.verdict() != Verdict.HEALTHY
                || address.isEmpty()
                || !(running.identity() instanceof ProcessIdentity main)) {
            return answer;
        }
        String where = address.get().getAddress().getHostAddress() + ":"
                + address.get().getPort();
        return switch (owners.of(instance, main, address.get())) {
            case Owner.Own() -> answer;
            case Owner.Other(String words) ->
                failed(
                        Verdict.UNHEALTHY,
                        "its port is taken: " + where + " is answered by " + words
                                + ", which is none of its own; end that, or let one of the two listen elsewhere");
            case Owner.Unknown() ->
                running.age().compareTo(LONG_ENOUGH_ALIVE) >= 0
                        ? answer
                        : failed(
                                Verdict.UNKNOWN,
                                "who answers on " + where + " can't be seen, and it has not stayed alive for "
                                        + LONG_ENOUGH_ALIVE.toSeconds() + " s");
        };
    }

    /** Where a probe connects to; empty when it does not, or its host is not known any more. */
    private static Optional<InetSocketAddress> address(Probe probe) {
        try {
            if (probe.http() != null) {
                // As who asks reads it: a URI has no host where its name is one that the rules for names forbid.
                URL url = URI.create(probe.http().url()).toURL();
                int port = url.getPort() >= 0 ? url.getPort() : url.getDefaultPort();
                InetSocketAddress address = new InetSocketAddress(url.getHost(), port);
                return address.isUnresolved() ? Optional.empty() : Optional.of(address);
            }
            if (probe.tcp() != null) {
                return Optional.of(resolved(probe.tcp().address()));
            }
            Probe.Grpc grpc = probe.grpc();
            return grpc == null ? Optional.empty() : Optional.of(resolved(grpc.address()));
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    public Health ask(Probe probe, Duration timeout) {
        if (probe.http() != null) {
            String url = probe.http().url();
            return within(timeout, "GET " + Redaction.url(url), () -> http(url, timeout));
        }
        if (probe.tcp() != null) {
            String address = probe.tcp().address();
            return within(timeout, "connecting to " + address, () -> tcp(address, timeout));
        }
        if (probe.exec() != null) {
            return exec(probe.exec().command(), timeout);
        }
        Probe.Grpc grpc = probe.grpc();
        if (grpc != null) {
            String question = "the health check of " + grpc.address();
            return within(timeout, question, () -> grpc(grpc, question, timeout));
        }
        return failed(Verdict.UNKNOWN, "the probe names no way to ask");
    }

    private Health http(String url, Duration timeout) throws IOException {
        HttpURLConnection connection =
                (HttpURLConnection) URI.create(url).toURL().openConnection(Proxy.NO_PROXY);
        try {
            connection.setInstanceFollowRedirects(false);
            connection.setUseCaches(false);
            connection.setConnectTimeout(millis(timeout));
            connection.setReadTimeout(millis(timeout));
            connection.setRequestProperty("User-Agent", "homeostat");
            connection.setRequestProperty("Connection", "close");
            int status = connection.getResponseCode();
            if (status >= FIRST_HEALTHY && status <= LAST_HEALTHY) {
                return Health.healthy(clock.instant());
            }
            return failed(
                    Verdict.UNHEALTHY,
                    status < 0
                            ? "GET " + Redaction.url(url) + " was answered with something that is not HTTP"
                            : "GET " + Redaction.url(url) + " was answered with status " + status);
        } finally {
            connection.disconnect();
        }
    }

    private Health tcp(String address, Duration timeout) throws IOException {
        try (Socket socket = new Socket(Proxy.NO_PROXY)) {
            socket.connect(resolved(address), millis(timeout));
            return Health.healthy(clock.instant());
        }
    }

    private Health grpc(Probe.Grpc grpc, String question, Duration timeout) throws IOException {
        InetSocketAddress address = resolved(grpc.address());
        ManagedChannel channel = null;
        try {
            channel = transport.tcp(address).build();
            ServingStatus status = HealthGrpc.newBlockingStub(channel)
                    .withDeadlineAfter(timeout.toNanos(), TimeUnit.NANOSECONDS)
                    .check(HealthCheckRequest.newBuilder()
                            .setService(grpc.service())
                            .build())
                    .getStatus();
            return status == ServingStatus.SERVING
                    ? Health.healthy(clock.instant())
                    : failed(Verdict.UNHEALTHY, question + " was answered with " + status);
        } catch (StatusRuntimeException e) {
            return failed(CallFailure.verdict(e), CallFailure.words(question, e, timeout));
        } finally {
            if (channel != null) {
                channel.shutdownNow();
            }
        }
    }

    private Health exec(ImmutableList<String> command, Duration timeout) {
        String what = "the probe's command " + command.get(0);
        for (String argument : command) {
            Optional<String> problem = SystemCharset.problem(argument);
            if (problem.isPresent()) {
                return failed(Verdict.UNKNOWN, what + " " + problem.get());
            }
        }
        Process process;
        try {
            ProcessBuilder builder = new ProcessBuilder(command)
                    .redirectInput(ProcessBuilder.Redirect.from(new File("/dev/null")))
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                    .redirectError(ProcessBuilder.Redirect.DISCARD);
            builder.environment().clear();
            builder.environment().putAll(Account.ours().environment());
            process = builder.start();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return failed(Verdict.UNKNOWN, what + " was interrupted");
        } catch (IOException e) {
            // No such file, or not executable: the declaration is wrong, and that lasts. No memory or descriptor left:
            // our fault, and temporary.
            return failed(
                    Executables.find(command.get(0)).isPresent() ? Verdict.UNKNOWN : Verdict.UNHEALTHY,
                    what + " could not be started: " + firstLine(e));
        }
        try {
            if (!process.waitFor(timeout.toNanos(), TimeUnit.NANOSECONDS)) {
                return failed(Verdict.HUNG, what + " did not end within " + timeout.toMillis() + " ms");
            }
            int status = process.exitValue();
            return status == 0
                    ? Health.healthy(clock.instant())
                    : failed(Verdict.UNHEALTHY, what + " exited with status " + status);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return failed(Verdict.UNKNOWN, what + " was interrupted");
        } finally {
            // Children first, because they are found through their parent.
            process.descendants().forEach(ProcessHandle::destroyForcibly);
            process.destroyForcibly();
        }
    }

    /**
     * Name resolution and slow headers have no timeout of their own, so the probe runs on a thread of its own and is abandoned at the
     * timeout.
     */
    private Health within(Duration timeout, String question, Callable<Health> ask) {
        FutureTask<Health> task = new FutureTask<>(ask);
        Thread thread = Thread.ofVirtual().name("probe").start(task);
        try {
            return task.get(timeout.toNanos(), TimeUnit.NANOSECONDS);
        } catch (TimeoutException e) {
            return failed(Verdict.HUNG, question + " was not answered within " + timeout.toMillis() + " ms");
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return failed(Verdict.UNKNOWN, question + " was interrupted");
        } catch (ExecutionException e) {
            Throwable cause = e.getCause() == null ? e : e.getCause();
            if (cause instanceof SocketTimeoutException) {
                return failed(Verdict.HUNG, question + " was not answered within " + timeout.toMillis() + " ms");
            }
            String detail = cause instanceof UnknownHostException
                    ? "the host " + cause.getMessage() + " is not known"
                    : Redaction.text(String.valueOf(cause.getMessage()));
            return failed(
                    CallFailure.isLocalError(cause) ? Verdict.UNKNOWN : Verdict.UNHEALTHY,
                    question + " failed: " + detail);
        } finally {
            // Closes the socket that the probe may still be reading.
            thread.interrupt();
        }
    }

    private static InetSocketAddress resolved(String address) throws IOException {
        HostAndPort parts = HostAndPort.fromString(address);
        InetSocketAddress socket = new InetSocketAddress(parts.getHost(), parts.getPort());
        if (socket.isUnresolved()) {
            throw new UnknownHostException(parts.getHost());
        }
        return socket;
    }

    private static int millis(Duration timeout) {
        // 0 would mean no timeout.
        return Math.clamp(timeout.toMillis(), 1, Integer.MAX_VALUE);
    }

    /** The rest of the message is advice about the JDK, which would mislead. */
    private static String firstLine(IOException e) {
        return String.valueOf(e.getMessage()).lines().findFirst().orElse("");
    }

    private Health failed(Verdict verdict, String problem) {
        return Health.failed(verdict, problem, clock.instant());
    }

    @Override
    public void close() {
        transport.close();
    }
}
