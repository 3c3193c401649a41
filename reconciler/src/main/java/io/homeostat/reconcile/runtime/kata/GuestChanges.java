package io.homeostat.reconcile.runtime.kata;

import com.google.protobuf.Empty;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.desired.model.guest.GuestNetwork;
import io.homeostat.desired.model.guest.IpPrefix;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.desired.yaml.IoReason;
import io.homeostat.observe.guest.GuestConnection;
import io.homeostat.observe.guest.GuestFailure;
import io.homeostat.observe.guest.UnreachableGuest;
import io.homeostat.proto.kata.ARPNeighbors;
import io.homeostat.proto.kata.AddARPNeighborsRequest;
import io.homeostat.proto.kata.AgentServiceGrpc;
import io.homeostat.proto.kata.AgentServiceGrpc.AgentServiceBlockingStub;
import io.homeostat.proto.kata.CloseStdinRequest;
import io.homeostat.proto.kata.CopyFileRequest;
import io.homeostat.proto.kata.CreateContainerRequest;
import io.homeostat.proto.kata.CreateSandboxRequest;
import io.homeostat.proto.kata.DestroySandboxRequest;
import io.homeostat.proto.kata.LinuxResources;
import io.homeostat.proto.kata.PauseContainerRequest;
import io.homeostat.proto.kata.RemoveContainerRequest;
import io.homeostat.proto.kata.ResumeContainerRequest;
import io.homeostat.proto.kata.Routes;
import io.homeostat.proto.kata.SetGuestDateTimeRequest;
import io.homeostat.proto.kata.SetPolicyRequest;
import io.homeostat.proto.kata.SignalProcessRequest;
import io.homeostat.proto.kata.StartContainerRequest;
import io.homeostat.proto.kata.UpdateContainerRequest;
import io.homeostat.proto.kata.UpdateInterfaceRequest;
import io.homeostat.proto.kata.UpdateRoutesRequest;
import io.homeostat.proto.kata.types.ARPNeighbor;
import io.homeostat.proto.kata.types.IPAddress;
import io.homeostat.proto.kata.types.IPFamily;
import io.homeostat.proto.kata.types.Interface;
import io.homeostat.proto.kata.types.Route;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

/**
 * What is done to a guest, a call each. The agent is never told a time limit, because it would drop what it does half way; only we stop
 * waiting, and {@link Refused} says whether it may have been done.
 */
final class GuestChanges {
    /** NUD_PERMANENT, rtnetlink(7): agents take no other. */
    private static final int PERMANENT = 0x80;

    /** RT_SCOPE_LINK: what can be reached without anybody who forwards. */
    private static final int LINK = 253;

    private static final int SIGKILL = 9;

    private static final int NANOS_A_MICRO = 1000;

    private final GuestConnection connection;
    private final Unanswered unanswered;
    private final Duration timeout;

    /**
     * @param connection used, not closed
     * @param unanswered hears of each call
     * @param timeout of each call
     */
    GuestChanges(GuestConnection connection, Unanswered unanswered, Duration timeout) {
        this.connection = connection;
        this.unanswered = unanswered;
        this.timeout = timeout;
    }

    /** A call was not answered with yes. */
    static final class Refused extends Exception {
        private static final long serialVersionUID = 1;

        private final transient GuestFailure failure;

        Refused(String call, GuestFailure failure, Duration timeout) {
            super(call
                    + switch (failure.kind()) {
                        case SILENT -> " was not answered within " + timeout.toMillis() + " ms";
                        default -> ": " + failure.words();
                    });
            this.failure = failure;
        }

        GuestFailure.Kind kind() {
            return failure.kind();
        }

        String words() {
            return String.valueOf(getMessage());
        }

        /** As the reason why a step has failed. */
        ActuationFailure because(String what) {
            return new ActuationFailure(causeOf(kind()), what + ": " + words(), false, this);
        }
    }

    /** As a failure is told by programs. */
    static FailureCause causeOf(GuestFailure.Kind kind) {
        return switch (kind) {
            case SILENT -> FailureCause.of(FailureCause.Kind.TIMED_OUT);
            case LOST, OURS -> FailureCause.of(FailureCause.Kind.CONNECTION_LOST);
            case BUSY -> new FailureCause(FailureCause.Kind.REFUSED, Status.Code.RESOURCE_EXHAUSTED.value());
            default -> FailureCause.of(FailureCause.Kind.REFUSED);
        };
    }

    /** What is done at a guest, of which any part may fail. */
    @FunctionalInterface
    interface Attempt<T> {
        T make() throws Refused, ActuationFailure, IOException, InterruptedException;
    }

    /**
     * Does it; whatever goes wrong becomes the reason why a step has failed.
     *
     * @param could what then could not be done: "could not launch container/app"
     */
    static <T> T attempt(String could, Attempt<T> attempt) throws ActuationFailure, InterruptedException {
        try {
            return attempt.make();
        } catch (Refused e) {
            throw e.because(could);
        } catch (UnreachableGuest e) {
            throw new ActuationFailure(
                    FailureCause.of(FailureCause.Kind.CONNECTION_LOST), could + ": " + e.getMessage(), false, e);
        } catch (IOException e) {
            throw new ActuationFailure(could + ": " + IoReason.withFile(e), false, e);
        }
    }

    /** Has the agent keep to rules from now on. */
    void setPolicy(String rules) throws Refused, UnreachableGuest, InterruptedException {
        Empty _ = call(
                "SetPolicy",
                agent -> agent.setPolicy(
                        SetPolicyRequest.newBuilder().setPolicy(rules).build()));
    }

    void setClock(Instant now) throws Refused, UnreachableGuest, InterruptedException {
        Empty _ = call(
                "SetGuestDateTime",
                agent -> agent.setGuestDateTime(SetGuestDateTimeRequest.newBuilder()
                        .setSec(now.getEpochSecond())
                        .setUsec(now.getNano() / NANOS_A_MICRO)
                        .build()));
    }

    /** Its addresses are added; routes over it are lost. */
    void updateInterface(GuestNetwork.Interface wanted) throws Refused, UnreachableGuest, InterruptedException {
        Interface.Builder link = Interface.newBuilder()
                .setDevice(wanted.name())
                .setName(wanted.name())
                .setHwAddr(wanted.hwAddr())
                .setMtu(wanted.mtu());
        for (IpPrefix address : wanted.addresses()) {
            String text = address.toString();
            link.addIPAddresses(IPAddress.newBuilder()
                    .setFamily(family(address.isV6()))
                    .setAddress(text.substring(0, text.indexOf('/')))
                    .setMask(String.valueOf(address.length())));
        }
        Interface _ = call(
                "UpdateInterface",
                agent -> agent.updateInterface(
                        UpdateInterfaceRequest.newBuilder().setInterface(link).build()));
    }

    /** Adds and replaces; none is removed. */
    void updateRoutes(List<GuestNetwork.Route> wanted) throws Refused, UnreachableGuest, InterruptedException {
        Routes.Builder routes = Routes.newBuilder();
        for (GuestNetwork.Route route : wanted) {
            Route.Builder one = routes.addRoutesBuilder()
                    .setDest(route.dest().length() == 0 ? "" : route.dest().toString())
                    .setGateway(route.gateway())
                    .setDevice(route.device())
                    .setFamily(family(route.dest().isV6()));
            if (route.gateway().isEmpty()) {
                one.setScope(LINK);
            }
        }
        Routes _ = call(
                "UpdateRoutes",
                agent -> agent.updateRoutes(
                        UpdateRoutesRequest.newBuilder().setRoutes(routes).build()));
    }

    void addNeighbors(List<GuestNetwork.Neighbor> wanted) throws Refused, UnreachableGuest, InterruptedException {
        ARPNeighbors.Builder neighbors = ARPNeighbors.newBuilder();
        for (GuestNetwork.Neighbor neighbor : wanted) {
            neighbors.addARPNeighbors(ARPNeighbor.newBuilder()
                    .setToIPAddress(IPAddress.newBuilder()
                            .setFamily(family(neighbor.address().contains(":")))
                            .setAddress(neighbor.address()))
                    .setDevice(neighbor.device())
                    .setLladdr(neighbor.lladdr())
                    .setState(PERMANENT));
        }
        Empty _ = call(
                "AddARPNeighbors",
                agent -> agent.addARPNeighbors(AddARPNeighborsRequest.newBuilder()
                        .setNeighbors(neighbors)
                        .build()));
    }

    private static IPFamily family(boolean isV6) {
        return isV6 ? IPFamily.v6 : IPFamily.v4;
    }

    /** To a guest that never had one: another would empty the root file systems of its containers. */
    void createSandbox(CreateSandboxRequest request) throws Refused, UnreachableGuest, InterruptedException {
        Empty _ = call("CreateSandbox", agent -> agent.createSandbox(request));
    }

    /** The agent ends after that, and as a rule the machine with it. */
    void destroySandbox() throws Refused, UnreachableGuest, InterruptedException {
        Empty _ = call("DestroySandbox", agent -> agent.destroySandbox(DestroySandboxRequest.getDefaultInstance()));
    }

    /** Its first process reads to an end then, instead of waiting. */
    void closeInput(String container) throws Refused, UnreachableGuest, InterruptedException {
        Empty _ = call(
                "CloseStdin",
                agent -> agent.closeStdin(CloseStdinRequest.newBuilder()
                        .setContainerId(container)
                        .setExecId(container)
                        .build()));
    }

    /** A piece of a file, a directory or a link. */
    void copyFile(CopyFileRequest request) throws Refused, UnreachableGuest, InterruptedException {
        Empty _ = call("CopyFile", agent -> agent.copyFile(request));
    }

    /** Its first process waits until it is started. Repeated, it would destroy what it has made. */
    void createContainer(CreateContainerRequest request) throws Refused, UnreachableGuest, InterruptedException {
        Empty _ = call("CreateContainer", agent -> agent.createContainer(request));
    }

    /** Once only: a second one holds the agent's lock for ever. */
    void startContainer(String id) throws Refused, UnreachableGuest, InterruptedException {
        Empty _ = call(
                "StartContainer",
                agent -> agent.startContainer(
                        StartContainerRequest.newBuilder().setContainerId(id).build()));
    }

    /** Ends what runs of it, and forgets it. */
    void removeContainer(String id) throws Refused, UnreachableGuest, InterruptedException {
        Empty _ = call(
                "RemoveContainer",
                agent -> agent.removeContainer(
                        RemoveContainerRequest.newBuilder().setContainerId(id).build()));
    }

    /** @param process an exec id; the container's own for its first process, empty for all of them, which takes SIGKILL only */
    void signal(String container, String process, int signal) throws Refused, UnreachableGuest, InterruptedException {
        Empty _ = call(
                "SignalProcess",
                agent -> agent.signalProcess(SignalProcessRequest.newBuilder()
                        .setContainerId(container)
                        .setExecId(process)
                        .setSignal(signal)
                        .build()));
    }

    /** What is absent of it stays as it is. */
    void updateContainer(String id, LinuxResources resources) throws Refused, UnreachableGuest, InterruptedException {
        Empty _ = call(
                "UpdateContainer",
                agent -> agent.updateContainer(UpdateContainerRequest.newBuilder()
                        .setContainerId(id)
                        .setResources(resources)
                        .build()));
    }

    /** No command may be run in it from now on: that would hold the agent's lock for ever. */
    void pause(String id) throws Refused, UnreachableGuest, InterruptedException {
        Empty _ = call(
                "PauseContainer",
                agent -> agent.pauseContainer(
                        PauseContainerRequest.newBuilder().setContainerId(id).build()));
    }

    void resume(String id) throws Refused, UnreachableGuest, InterruptedException {
        Empty _ = call(
                "ResumeContainer",
                agent -> agent.resumeContainer(
                        ResumeContainerRequest.newBuilder().setContainerId(id).build()));
    }

    /** Ends all processes of a container. */
    void killAll(String container) throws Refused, UnreachableGuest, InterruptedException {
        signal(container, "", SIGKILL);
    }

    private <A> A call(String name, Function<AgentServiceBlockingStub, A> call)
            throws Refused, UnreachableGuest, InterruptedException {
        AgentServiceBlockingStub agent = AgentServiceGrpc.newBlockingStub(connection.channel())
                .withDeadlineAfter(timeout.toNanos(), TimeUnit.NANOSECONDS);
        try {
            return unanswered.during(name, () -> call.apply(agent));
        } catch (StatusRuntimeException e) {
            if (Thread.interrupted()) {
                throw new InterruptedException(name);
            }
            throw new Refused(name, GuestFailure.of(e), timeout);
        }
    }
}
