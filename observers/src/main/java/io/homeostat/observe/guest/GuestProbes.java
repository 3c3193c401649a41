package io.homeostat.observe.guest;

import com.google.protobuf.Empty;
import io.grpc.Deadline;
import io.grpc.StatusRuntimeException;
import io.homeostat.desired.model.guest.GuestNetwork;
import io.homeostat.observe.Observation;
import io.homeostat.observe.guest.GuestFailure.Kind;
import io.homeostat.observe.ttrpc.TtrpcChannel;
import io.homeostat.proto.kata.AgentServiceGrpc;
import io.homeostat.proto.kata.AgentServiceGrpc.AgentServiceBlockingStub;
import io.homeostat.proto.kata.CgroupStats;
import io.homeostat.proto.kata.CheckRequest;
import io.homeostat.proto.kata.GetMetricsRequest;
import io.homeostat.proto.kata.GuestDetailsRequest;
import io.homeostat.proto.kata.GuestDetailsResponse;
import io.homeostat.proto.kata.HealthCheckResponse;
import io.homeostat.proto.kata.HealthGrpc;
import io.homeostat.proto.kata.ListInterfacesRequest;
import io.homeostat.proto.kata.ListRoutesRequest;
import io.homeostat.proto.kata.StatsContainerRequest;
import io.homeostat.proto.kata.StatsContainerResponse;
import io.homeostat.proto.kata.UpdateContainerRequest;
import io.homeostat.proto.kata.VolumeStatsRequest;
import io.homeostat.proto.kata.VolumeStatsResponse;
import java.time.Duration;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

/**
 * What is found out about a guest by calls that change nothing in it. There is no list of containers, nor of anything else, so each thing
 * is asked for by a call that has one answer when it is there and another when it isn't; which was measured on version 4.1.0.
 *
 * <p>Over a connection of its own: a call that hangs over there does not hold these up, nor do these hold up another.
 */
public final class GuestProbes {
    /** What is kept of a sandbox: only CreateSandbox makes it, and it is there as long as the guest runs. */
    private static final String SANDBOX = "/run/sandbox-ns/ipc";

    /** An id that nobody has, and that any agent takes for one. */
    private static final String NOBODY = "homeostat-nobody";

    private final GuestConnection connection;
    private final Duration timeout;

    /**
     * Asks over a connection, which is not closed.
     *
     * @param timeout of each call
     */
    public GuestProbes(GuestConnection connection, Duration timeout) {
        this.connection = connection;
        this.timeout = timeout;
    }

    /** How an agent is. */
    public enum Responsiveness {
        /** It answers. */
        SERVING,
        /** It says that it serves, and answers nothing that has to do with containers: a call holds its lock, perhaps for ever. */
        BLOCKED
    }

    /**
     * Whether the agent answers. A health check alone tells only that it runs; so it is also asked for a container that nobody has, which it
     * looks up under the lock that a call that hangs would hold. Unseen when there is no answer at all: a slow guest is not a dead one.
     */
    public Observation<Responsiveness> responsiveness() {
        Observation<Responsiveness> runs = ask(
                "Check",
                (channel, deadline) -> {
                    HealthCheckResponse _ = HealthGrpc.newBlockingStub(channel)
                            .withDeadline(deadline)
                            .withOption(TtrpcChannel.TELL_DEADLINE, true)
                            .check(CheckRequest.getDefaultInstance());
                    return Responsiveness.SERVING;
                },
                failure -> Optional.empty());
        return switch (runs) {
            case Observation.Unseen<Responsiveness> unseen -> unseen;
            case Observation.Seen<Responsiveness> _ ->
                ask(
                        "UpdateContainer",
                        (channel, deadline) -> {
                            Empty _ = agent(channel, deadline).updateContainer(lookUp(NOBODY));
                            return Responsiveness.SERVING;
                        },
                        failure -> switch (failure.kind()) {
                            case NO_CONTAINER -> Optional.of(Responsiveness.SERVING);
                            case SILENT -> Optional.of(Responsiveness.BLOCKED);
                            case DENIED -> byStatistics();
                            default -> Optional.empty();
                        });
        };
    }

    /** The same by another call, as a policy may well forbid the first; where it forbids this one, too, that is an answer. */
    private Optional<Responsiveness> byStatistics() {
        return ask(
                        "StatsContainer",
                        (channel, deadline) -> {
                            StatsContainerResponse _ = agent(channel, deadline)
                                    .statsContainer(StatsContainerRequest.newBuilder()
                                            .setContainerId(NOBODY)
                                            .build());
                            return Responsiveness.SERVING;
                        },
                        failure -> switch (failure.kind()) {
                            case NO_CONTAINER, DENIED -> Optional.of(Responsiveness.SERVING);
                            case SILENT -> Optional.of(Responsiveness.BLOCKED);
                            default -> Optional.empty();
                        })
                .map(Optional::of)
                .orElse(Optional.empty());
    }

    /** Without resources it changes nothing. */
    private static UpdateContainerRequest lookUp(String container) {
        return UpdateContainerRequest.newBuilder().setContainerId(container).build();
    }

    /** Whether this guest has had a CreateSandbox since its boot. Another one would empty its containers' root file systems. */
    public Observation<Boolean> hasSandbox() {
        return hasFile(SANDBOX);
    }

    /** Whether there is such a container, running or not. */
    public Observation<Boolean> hasContainer(String id) {
        return ask(
                "UpdateContainer",
                (channel, deadline) -> {
                    Empty _ = agent(channel, deadline).updateContainer(lookUp(id));
                    return true;
                },
                failure -> failure.kind() == Kind.NO_CONTAINER ? Optional.of(false) : Optional.empty());
    }

    /**
     * Frees a StartContainer that waits for a process which is not there to read from a pipe, and with it all calls that wait for that one:
     * to look at the pipe opens it. Nothing else is changed by it.
     *
     * @return whether there is such a pipe
     */
    public Observation<Boolean> freeStart(String id) {
        return hasFile("/run/kata-containers/" + id + "/exec.fifo");
    }

    private Observation<Boolean> hasFile(String path) {
        return ask(
                "GetVolumeStats",
                (channel, deadline) -> {
                    VolumeStatsResponse _ = agent(channel, deadline)
                            .getVolumeStats(VolumeStatsRequest.newBuilder()
                                    .setVolumeGuestPath(path)
                                    .build());
                    return true;
                },
                // As Rust prints ENOENT; other errors of the guest tell nothing.
                failure -> failure.kind() == Kind.REFUSED && failure.words().contains("kind: NotFound")
                        ? Optional.of(false)
                        : Optional.empty());
    }

    /** What a container uses, and may; empty when there is no such container. One of which nothing runs any more has no processes. */
    public Observation<Optional<CgroupStats>> usage(String id) {
        return ask(
                "StatsContainer",
                (channel, deadline) -> Optional.of(agent(channel, deadline)
                        .statsContainer(StatsContainerRequest.newBuilder()
                                .setContainerId(id)
                                .build())
                        .getCgroupStats()),
                failure -> failure.kind() == Kind.NO_CONTAINER ? Optional.of(Optional.empty()) : Optional.empty());
    }

    /** What it measures of itself and its guest. */
    public Observation<GuestMetrics> metrics() {
        return ask(
                "GetMetrics",
                (channel, deadline) -> GuestMetrics.parse(agent(channel, deadline)
                        .getMetrics(GetMetricsRequest.getDefaultInstance())
                        .getMetrics()),
                failure -> Optional.empty());
    }

    /**
     * How often this agent was asked for its metrics, this time included: less than before means that it is another one, which knows
     * nothing of what runs in the guest. Empty when it does not count.
     */
    public Observation<OptionalLong> scrapes() {
        return metrics().map(GuestMetrics::scrapes);
    }

    /** How its network differs from a declaration. What the agent does not tell is no difference. */
    public Observation<NetworkDrift> network(GuestNetwork declared) {
        return ask(
                "ListInterfaces or ListRoutes",
                (channel, deadline) -> {
                    AgentServiceBlockingStub agent = agent(channel, deadline);
                    return NetworkDrift.of(
                            declared,
                            agent.listInterfaces(ListInterfacesRequest.getDefaultInstance())
                                    .getInterfacesList(),
                            agent.listRoutes(ListRoutesRequest.getDefaultInstance())
                                    .getRoutesList());
                },
                failure -> Optional.empty());
    }

    /** What it tells of itself. */
    public Observation<GuestDetailsResponse> details() {
        return ask(
                "GetGuestDetails",
                (channel, deadline) -> agent(channel, deadline)
                        .getGuestDetails(GuestDetailsRequest.newBuilder()
                                .setMemBlockSize(true)
                                .setMemHotplugProbe(true)
                                .build()),
                failure -> Optional.empty());
    }

    private static AgentServiceBlockingStub agent(TtrpcChannel channel, Deadline deadline) {
        return AgentServiceGrpc.newBlockingStub(channel)
                .withDeadline(deadline)
                .withOption(TtrpcChannel.TELL_DEADLINE, true);
    }

    private interface Question<T> {
        T ask(TtrpcChannel channel, Deadline deadline);
    }

    /** @param meaning what a failure tells, if anything */
    private <T> Observation<T> ask(String call, Question<T> question, Function<GuestFailure, Optional<T>> meaning) {
        TtrpcChannel channel;
        try {
            channel = connection.channel();
        } catch (UnreachableGuest e) {
            return Observation.unseen(String.valueOf(e.getMessage()));
        }
        try {
            return Observation.seen(question.ask(channel, Deadline.after(timeout.toNanos(), TimeUnit.NANOSECONDS)));
        } catch (StatusRuntimeException e) {
            GuestFailure failure = GuestFailure.of(e);
            return meaning.apply(failure)
                    .map(Observation::seen)
                    .orElseGet(() -> Observation.unseen(call + words(failure)));
        }
    }

    private String words(GuestFailure failure) {
        // Either side may have said so.
        return failure.kind() == Kind.SILENT
                ? " was not answered within " + timeout.toMillis() + " ms"
                : ": " + failure.words();
    }
}
