package io.homeostat.observe.health;

import com.google.common.collect.ImmutableList;
import com.google.common.net.HostAndPort;
import io.grpc.Attributes;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.Grpc;
import io.grpc.ManagedChannel;
import io.grpc.StatusRuntimeException;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthCheckResponse;
import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.grpc.health.v1.HealthGrpc;
import io.grpc.stub.ClientCalls;
import io.homeostat.desired.model.Probe;
import io.homeostat.desired.model.ProcessSettings;
import io.homeostat.desired.model.ProgramSpec;
import io.homeostat.desired.model.ProgramUser;
import io.homeostat.desired.model.Redaction;
import io.homeostat.desired.model.WorkloadSpec;
import io.homeostat.desired.platform.GrpcTransport;
import io.homeostat.desired.platform.VirtualThreads;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.desired.state.Instance;
import io.homeostat.observe.Observation;
import io.homeostat.observe.ObservedInstance.Liveness.Running;
import io.homeostat.observe.ProcessInstances.InstanceHealth;
import io.homeostat.observe.files.UserRights;
import io.homeostat.observe.health.Health.Verdict;
import io.homeostat.observe.limits.AgentGroup;
import io.homeostat.observe.limits.CgroupLayout;
import io.homeostat.observe.process.Account;
import io.homeostat.observe.process.CommandOutput;
import io.homeostat.observe.process.Executables;
import io.homeostat.observe.process.PinnedFile;
import io.homeostat.observe.process.PortOwners;
import io.homeostat.observe.process.PortOwners.Owner;
import io.homeostat.observe.process.SystemCharset;
import io.homeostat.observe.process.UserSwitch;
import java.io.File;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Proxy;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/**
 * Health by the declared probe, in one of four ways; without one, a running process is healthy. A probe never takes longer than its
 * timeout, whatever the other side does. No proxy is used and no redirect followed, because the question is about this process.
 */
public final class ProbeHealth implements InstanceHealth {
    private static final ThreadFactory THREADS = VirtualThreads.factory("probe-");

    private static final int FIRST_HEALTHY = 200;
    private static final int LAST_HEALTHY = 399;

    /** As long as a process without a probe has to stay alive to count as well. */
    private static final Duration LONG_ENOUGH_ALIVE = Duration.ofSeconds(1);

    /** Enters the directory as the user, whom it may belong to. The variables are those that shells export of themselves. */
    private static final String BECOMING =
            "umask \"$1\"; cd \"$2\" || exit 126; shift 2; unset PWD OLDPWD SHLVL; exec \"$@\"";

    private final GrpcTransport transport;
    private final InstantSource clock;
    private final PortOwners owners;
    private final Supplier<ImmutableList<String>> apart;
    private final Names names;
    private volatile @Nullable Account ours;

    /** @param owners know whose answer it was */
    public ProbeHealth(InstantSource clock, PortOwners owners) {
        this(clock, owners, () -> AgentGroup.apart(CgroupLayout.NONE));
    }

    /**
     * Asks by commands, too.
     *
     * @param owners know whose answer it was
     * @param apart what precedes a command, {@link AgentGroup#apart}
     */
    public ProbeHealth(InstantSource clock, PortOwners owners, Supplier<ImmutableList<String>> apart) {
        this(clock, owners, apart, SystemNames.INSTANCE);
    }

    ProbeHealth(InstantSource clock, PortOwners owners, Supplier<ImmutableList<String>> apart, Names names) {
        this.apart = apart;
        this.transport = new GrpcTransport();
        this.clock = clock;
        this.owners = owners;
        this.names = names;
    }

    /** What has to be looked up before anything can be asked; both may take long where a directory service is asked. */
    interface Names {
        /**
         * The address of a host.
         *
         * @throws UnknownHostException when there is no such host
         */
        InetAddress host(String name) throws UnknownHostException;

        /** The user that we are. */
        Account ours() throws IOException, InterruptedException;
    }

    private enum SystemNames implements Names {
        INSTANCE;

        @Override
        public InetAddress host(String name) throws UnknownHostException {
            return InetAddress.getByName(name);
        }

        @Override
        public Account ours() throws IOException, InterruptedException {
            return Account.ours();
        }
    }

    /**
     * The answer to a probe.
     *
     * @param by null when it was not asked for by a connection
     */
    private record Answer(Health health, @Nullable Answerer by) {}

    private record Answerer(InetSocketAddress address, Owner owner) {}

    /** Tells whose the other end of a connection is, as long as that is open. */
    @FunctionalInterface
    private interface Attribution {
        /** @param speaks whether an answer counts */
        Owner of(InetSocketAddress from, InetSocketAddress to, boolean speaks);
    }

    /** Knows whether it is being found out whose a connection is, for which the workload can do nothing. */
    private static final class Looking implements Attribution {
        private final Attribution attribution;
        private volatile boolean isUnderWay;

        Looking(Attribution attribution) {
            this.attribution = attribution;
        }

        @Override
        public Owner of(InetSocketAddress from, InetSocketAddress to, boolean speaks) {
            isUnderWay = true;
            Owner owner = attribution.of(from, to, speaks);
            isUnderWay = false;
            return owner;
        }
    }

    @Override
    public Observation<Running> of(Instance instance, Running running, @Nullable WorkloadSpec spec) {
        if (spec == null) {
            return Observation.seen(running);
        }
        Probe probe = spec.probe();
        Health health = probe == null
                ? Health.healthy(clock.instant())
                : attributed(
                        answer(
                                probe,
                                spec.lifecycle().health().timeout(),
                                spec.runsAs(),
                                settings(spec),
                                attribution(instance, running)),
                        running);
        return Observation.seen(new Running(running.identity(), running.age(), true, health));
    }

    private static ProcessSettings settings(WorkloadSpec spec) {
        return spec instanceof ProgramSpec program ? program.program().settings() : ProcessSettings.NONE;
    }

    /**
     * An answer only counts when it is the workload's own: its port may be taken by another process, and a command may succeed without
     * it. Where that can't be told, the process must have stayed alive for a while, since one whose port is taken mostly ends at once.
     */
    private Health attributed(Answer answer, Running running) {
        Answerer by = answer.by();
        if (answer.health().verdict() != Verdict.HEALTHY || !(running.identity() instanceof ProcessIdentity)) {
            return answer.health();
        }
        if (by == null) {
            return longEnoughAlive(answer, running, "its command succeeds");
        }
        String where =
                by.address().getAddress().getHostAddress() + ":" + by.address().getPort();
        return switch (by.owner()) {
            case Owner.Own() -> answer.health();
            case Owner.Other(String words) ->
                failed(
                        Verdict.UNHEALTHY,
                        "its port is taken: " + where + " is answered by " + words
                                + ", which is none of its own; end that, or let one of the two listen elsewhere");
            case Owner.Gone() ->
                failed(
                        Verdict.UNHEALTHY,
                        "the connection to " + where
                                + " was closed before it could be seen who answers there; keep it open until the answer is"
                                + " read, or probe over tcp");
            case Owner.Unknown() -> longEnoughAlive(answer, running, "who answers on " + where + " can't be seen");
        };
    }

    private Attribution attribution(Instance instance, Running running) {
        return running.identity() instanceof ProcessIdentity main
                ? (from, to, speaks) -> owners.of(instance, main, from, to, speaks)
                : (from, to, speaks) -> new Owner.Unknown();
    }

    private Health longEnoughAlive(Answer answer, Running running, String what) {
        return running.age().compareTo(LONG_ENOUGH_ALIVE) >= 0
                ? answer.health()
                : failed(
                        Verdict.UNKNOWN,
                        what + ", and it has not stayed alive for " + LONG_ENOUGH_ALIVE.toSeconds() + " s");
    }

    public Health ask(Probe probe, Duration timeout) {
        return answer(probe, timeout, null, ProcessSettings.NONE, (from, to, speaks) -> new Owner.Unknown())
                .health();
    }

    private Answer answer(
            Probe probe,
            Duration timeout,
            @Nullable ProgramUser user,
            ProcessSettings settings,
            Attribution attribution) {
        Looking looking = new Looking(attribution);
        if (probe.http() != null) {
            String url = probe.http().url();
            return within(timeout, looking, "GET " + Redaction.url(url), () -> http(url, timeout, looking));
        }
        if (probe.tcp() != null) {
            String address = probe.tcp().address();
            return within(timeout, looking, "connecting to " + address, () -> tcp(resolved(address), timeout, looking));
        }
        if (probe.exec() != null) {
            return new Answer(exec(probe.exec(), timeout, user, settings), null);
        }
        Probe.Grpc grpc = probe.grpc();
        if (grpc != null) {
            String question = "the health check of " + grpc.address();
            return within(
                    timeout,
                    looking,
                    question,
                    () -> grpc(resolved(grpc.address()), grpc.service(), question, timeout, looking));
        }
        return new Answer(failed(Verdict.UNKNOWN, "the probe names no way to ask"), null);
    }

    private Answer http(String url, Duration timeout, Attribution attribution) throws IOException {
        HttpQuestion question = HttpQuestion.of(url);
        InetSocketAddress address = resolved(question.host(), question.port());
        try (Socket socket = connected(address, timeout)) {
            // Before anything is asked: a server may close the connection with its answer.
            Answerer by = answerer(socket.getLocalSocketAddress(), socket.getRemoteSocketAddress(), true, attribution);
            int status = question.ask(socket);
            if (status >= FIRST_HEALTHY && status <= LAST_HEALTHY) {
                return new Answer(Health.healthy(clock.instant()), by);
            }
            return unanswered(
                    Verdict.UNHEALTHY,
                    status < 0
                            ? "GET " + Redaction.url(url) + " was answered with something that is not HTTP"
                            : "GET " + Redaction.url(url) + " was answered with status " + status);
        }
    }

    private Answer tcp(InetSocketAddress address, Duration timeout, Attribution attribution) throws IOException {
        try (Socket socket = connected(address, timeout)) {
            return new Answer(
                    Health.healthy(clock.instant()),
                    answerer(socket.getLocalSocketAddress(), socket.getRemoteSocketAddress(), false, attribution));
        }
    }

    private static Socket connected(InetSocketAddress address, Duration timeout) throws IOException {
        Socket socket = new Socket(Proxy.NO_PROXY);
        try {
            socket.setSoTimeout(millis(timeout));
            socket.connect(address, millis(timeout));
            return socket;
        } catch (IOException | RuntimeException | Error e) {
            socket.close();
            throw e;
        }
    }

    private static Answerer answerer(
            @Nullable SocketAddress from, @Nullable SocketAddress to, boolean speaks, Attribution attribution) {
        InetSocketAddress address = (InetSocketAddress) Objects.requireNonNull(to);
        return new Answerer(address, attribution.of((InetSocketAddress) Objects.requireNonNull(from), address, speaks));
    }

    private Answer grpc(
            InetSocketAddress address, String service, String question, Duration timeout, Attribution attribution) {
        ManagedChannel channel = null;
        try {
            channel = transport.tcp(address).build();
            ClientCall<HealthCheckRequest, HealthCheckResponse> call = channel.newCall(
                    HealthGrpc.getCheckMethod(),
                    CallOptions.DEFAULT.withDeadlineAfter(timeout.toNanos(), TimeUnit.NANOSECONDS));
            ServingStatus status = ClientCalls.blockingUnaryCall(
                            call,
                            HealthCheckRequest.newBuilder().setService(service).build())
                    .getStatus();
            if (status != ServingStatus.SERVING) {
                return unanswered(Verdict.UNHEALTHY, question + " was answered with " + status);
            }
            Attributes connection = call.getAttributes();
            return new Answer(
                    Health.healthy(clock.instant()),
                    answerer(
                            connection.get(Grpc.TRANSPORT_ATTR_LOCAL_ADDR),
                            connection.get(Grpc.TRANSPORT_ATTR_REMOTE_ADDR),
                            true,
                            attribution));
        } catch (StatusRuntimeException e) {
            return unanswered(CallFailure.verdict(e), CallFailure.words(question, e, timeout));
        } finally {
            if (channel != null) {
                channel.shutdownNow();
            }
        }
    }

    /**
     * As the user of the program, who may be able to replace the command, and in its directory and with its groups and umask; as root with
     * nothing of the program.
     *
     * @param programUser null: as we
     */
    private Health exec(
            Probe.Exec exec, Duration timeout, @Nullable ProgramUser programUser, ProcessSettings programSettings) {
        ProgramUser user = exec.isAsRoot() ? null : programUser;
        ProcessSettings settings = exec.isAsRoot() ? ProcessSettings.NONE : programSettings;
        ImmutableList<String> command = exec.command();
        String name = user == null ? "" : user.name();
        String runAs = UserSwitch.runAs(user == null ? null : name);
        String what = "the probe's command " + command.get(0);
        for (String argument : command) {
            Optional<String> problem = SystemCharset.problem(argument);
            if (problem.isPresent()) {
                return failed(Verdict.UNKNOWN, what + " " + problem.get());
            }
        }
        Process process;
        try {
            Optional<Account> account = user == null ? Optional.of(ours()) : Account.find(user.name());
            if (account.isEmpty()) {
                return failed(
                        Verdict.UNKNOWN,
                        what + " can't run: there is no user " + name + "; create it or correct spec.user");
            }
            if (!mayEnter(user, settings.directory())) {
                return failed(
                        Verdict.UNHEALTHY,
                        "spec.workingDirectory " + settings.directory() + " is not there, or may not be entered"
                                + (name.isEmpty() ? "" : " by the user " + name) + "; " + what
                                + " can't run without it");
            }
            String file = Executables.from(settings.directory(), command.get(0));
            Optional<Path> program =
                    UserRights.ofThisMachine().lookFor(user != null, file, () -> Executables.find(file));
            if (program.isEmpty()) {
                return failed(
                        Verdict.UNHEALTHY,
                        what + " is not there, or may not be executed; install it or correct spec.probe.exec.command");
            }
            Optional<String> problem = exec.isAsRoot() ? UserSwitch.problemAsRoot(program.get()) : Optional.empty();
            if (problem.isPresent()) {
                return failed(Verdict.UNKNOWN, what + " is not run as root: " + problem.get());
            }
            ImmutableList<String> becoming = UserSwitch.command(account.get(), settings);
            ProcessBuilder builder = new ProcessBuilder(ImmutableList.<String>builder()
                            .addAll(apart.get())
                            // Out of our session: at its terminal, another user could type what root's shell reads.
                            .addAll(becoming.isEmpty() ? becoming : ImmutableList.of(UserSwitch.tool("setsid")))
                            .addAll(becoming)
                            .add("/bin/sh", "-c", BECOMING, "homeostat", settings.mask(), settings.directory())
                            .add(program.get().toString())
                            .addAll(command.subList(1, command.size()))
                            .build())
                    .directory(new File("/"))
                    .redirectInput(ProcessBuilder.Redirect.from(new File("/dev/null")))
                    .redirectErrorStream(true);
            builder.environment().clear();
            builder.environment().putAll(account.get().environment());
            process = builder.start();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return failed(Verdict.UNKNOWN, what + " was interrupted");
        } catch (UserSwitch.Refused e) {
            return failed(Verdict.UNKNOWN, what + " can't run: " + e.getMessage());
        } catch (IOException e) {
            // What the program needs has been looked at; what is left is mostly memory or descriptors, which are ours
            // to have.
            return failed(Verdict.UNKNOWN, what + " could not be started: " + firstLine(e));
        }
        try {
            CommandOutput output = new CommandOutput();
            if (!output.awaitEnd(process, timeout)) {
                return failed(
                        Verdict.HUNG,
                        what + " did not end within " + timeout.toMillis() + " ms" + runAs + said(output));
            }
            int status = process.exitValue();
            return status == 0
                    ? Health.healthy(clock.instant())
                    : failed(Verdict.UNHEALTHY, what + " exited with status " + status + runAs + said(output));
        } catch (IOException e) {
            return failed(Verdict.UNKNOWN, what + " was not heard to its end: " + firstLine(e));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return failed(Verdict.UNKNOWN, what + " was interrupted");
        } finally {
            CommandOutput.kill(process);
        }
    }

    /** Whether a directory can be entered, which is more than that it is there. */
    private static boolean mayEnter(@Nullable ProgramUser user, String directory) throws IOException {
        return UserRights.ofThisMachine().with(user, directory, () -> {
            try (PinnedFile _ = PinnedFile.following(Path.of(directory).resolve("."))) {
                return true;
            } catch (IOException e) {
                return false;
            }
        });
    }

    private static String said(CommandOutput output) {
        String said = output.lastLines();
        return said.isEmpty() ? "" : "; it said: " + said;
    }

    /** Looked up once: for a user who is not in /etc/passwd that takes a process, and maybe a server. */
    private Account ours() throws IOException, InterruptedException {
        Account known = ours;
        if (known == null) {
            known = names.ours();
            ours = known;
        }
        return known;
    }

    /**
     * Name resolution and slow headers have no timeout of their own, so the probe runs on a thread of its own and is abandoned at the
     * timeout.
     */
    private Answer within(Duration timeout, Looking looking, String question, Callable<Answer> ask) {
        FutureTask<Answer> task = new FutureTask<>(ask);
        Thread thread = THREADS.newThread(task);
        thread.start();
        try {
            return task.get(timeout.toNanos(), TimeUnit.NANOSECONDS);
        } catch (TimeoutException e) {
            if (looking.isUnderWay) {
                return unanswered(
                        Verdict.UNKNOWN,
                        question + ": who answers could not be seen within " + timeout.toMillis() + " ms");
            }
            return unanswered(Verdict.HUNG, question + " was not answered within " + timeout.toMillis() + " ms");
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return unanswered(Verdict.UNKNOWN, question + " was interrupted");
        } catch (ExecutionException e) {
            Throwable cause = e.getCause() == null ? e : e.getCause();
            if (cause instanceof SocketTimeoutException) {
                return unanswered(Verdict.HUNG, question + " was not answered within " + timeout.toMillis() + " ms");
            }
            String detail = switch (cause) {
                case UnknownHostException unknown -> "the host " + unknown.getMessage() + " is not known";
                // The JDK's words for it; it has no class of its own.
                case SSLException plain
                when String.valueOf(plain.getMessage()).startsWith("Unsupported or unrecognized SSL message") ->
                    "the answer is not TLS; write http:// where it listens without TLS";
                default -> Redaction.text(String.valueOf(cause.getMessage()));
            };
            return unanswered(
                    CallFailure.isLocalError(cause) ? Verdict.UNKNOWN : Verdict.UNHEALTHY,
                    question + " failed: " + detail);
        } finally {
            // Closes the socket that the probe may still be reading.
            thread.interrupt();
        }
    }

    private Answer unanswered(Verdict verdict, String problem) {
        return new Answer(failed(verdict, problem), null);
    }

    private InetSocketAddress resolved(String address) throws IOException {
        HostAndPort parts = HostAndPort.fromString(address);
        return resolved(parts.getHost(), parts.getPort());
    }

    private InetSocketAddress resolved(String host, int port) throws IOException {
        try {
            return new InetSocketAddress(names.host(host), port);
        } catch (UnknownHostException e) {
            // The system's words for it are no sentence.
            UnknownHostException unknown = new UnknownHostException(host);
            unknown.initCause(e);
            throw unknown;
        }
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
