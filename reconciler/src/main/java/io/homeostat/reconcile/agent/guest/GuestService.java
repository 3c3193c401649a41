package io.homeostat.reconcile.agent.guest;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import com.google.protobuf.ByteString;
import com.google.protobuf.Empty;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.StreamObserver;
import io.homeostat.desired.yaml.IoReason;
import io.homeostat.proto.kata.AddARPNeighborsRequest;
import io.homeostat.proto.kata.AgentDetails;
import io.homeostat.proto.kata.AgentServiceGrpc.AgentServiceImplBase;
import io.homeostat.proto.kata.CloseStdinRequest;
import io.homeostat.proto.kata.CopyFileRequest;
import io.homeostat.proto.kata.CreateContainerRequest;
import io.homeostat.proto.kata.CreateSandboxRequest;
import io.homeostat.proto.kata.DestroySandboxRequest;
import io.homeostat.proto.kata.ExecProcessRequest;
import io.homeostat.proto.kata.GetMetricsRequest;
import io.homeostat.proto.kata.GetOOMEventRequest;
import io.homeostat.proto.kata.GuestDetailsRequest;
import io.homeostat.proto.kata.GuestDetailsResponse;
import io.homeostat.proto.kata.Interfaces;
import io.homeostat.proto.kata.LinuxResources;
import io.homeostat.proto.kata.ListInterfacesRequest;
import io.homeostat.proto.kata.ListRoutesRequest;
import io.homeostat.proto.kata.Metrics;
import io.homeostat.proto.kata.OOMEvent;
import io.homeostat.proto.kata.PauseContainerRequest;
import io.homeostat.proto.kata.ReadStreamRequest;
import io.homeostat.proto.kata.ReadStreamResponse;
import io.homeostat.proto.kata.RemoveContainerRequest;
import io.homeostat.proto.kata.ResumeContainerRequest;
import io.homeostat.proto.kata.Routes;
import io.homeostat.proto.kata.SetGuestDateTimeRequest;
import io.homeostat.proto.kata.SignalProcessRequest;
import io.homeostat.proto.kata.StartContainerRequest;
import io.homeostat.proto.kata.StatsContainerRequest;
import io.homeostat.proto.kata.StatsContainerResponse;
import io.homeostat.proto.kata.TtyWinResizeRequest;
import io.homeostat.proto.kata.UpdateContainerRequest;
import io.homeostat.proto.kata.UpdateInterfaceRequest;
import io.homeostat.proto.kata.UpdateRoutesRequest;
import io.homeostat.proto.kata.VolumeStatsRequest;
import io.homeostat.proto.kata.VolumeStatsResponse;
import io.homeostat.proto.kata.WaitProcessRequest;
import io.homeostat.proto.kata.WaitProcessResponse;
import io.homeostat.proto.kata.WriteStreamRequest;
import io.homeostat.proto.kata.WriteStreamResponse;
import io.homeostat.proto.kata.types.Interface;
import java.io.IOException;
import java.time.Duration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The calls of a Kata agent. What is not here nobody can do in this guest, and is answered so. A call waits for nothing that another one
 * holds, but for the turn of its own container.
 */
final class GuestService extends AgentServiceImplBase {
    private static final Logger LOG = LoggerFactory.getLogger(GuestService.class);
    private static final Duration REMOVAL = Duration.ofSeconds(30);

    private final GuestMachine machine;
    private final HostedContainers containers;
    private final ContainerOperations operations;

    GuestService(GuestMachine machine) {
        this.machine = machine;
        this.containers = machine.containers();
        this.operations = machine.operations();
    }

    private interface Work<A> {
        A run() throws IOException, InterruptedException;
    }

    /** Returns whether it was done. */
    @CanIgnoreReturnValue
    private static <A> boolean answer(String call, StreamObserver<A> answers, Work<A> work) {
        try {
            A answer = work.run();
            answers.onNext(answer);
            answers.onCompleted();
            return true;
        } catch (StatusRuntimeException e) {
            LOG.debug("{}: {}", call, e.getMessage());
            answers.onError(e);
        } catch (IOException e) {
            LOG.warn("{}: {}", call, IoReason.withFile(e));
            answers.onError(Refusals.internal(IoReason.withFile(e)));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            answers.onError(Refusals.unavailable("this agent ends"));
        }
        return false;
    }

    private interface Change {
        void run() throws IOException, InterruptedException;
    }

    @CanIgnoreReturnValue
    private static boolean done(String call, StreamObserver<Empty> answers, Change change) {
        return answer(call, answers, () -> {
            change.run();
            return Empty.getDefaultInstance();
        });
    }

    @Override
    public void createSandbox(CreateSandboxRequest request, StreamObserver<Empty> answers) {
        done("CreateSandbox", answers, () -> machine.create(request));
    }

    @Override
    public void destroySandbox(DestroySandboxRequest request, StreamObserver<Empty> answers) {
        if (done("DestroySandbox", answers, machine::destroy)) {
            machine.end();
        }
    }

    @Override
    public void createContainer(CreateContainerRequest request, StreamObserver<Empty> answers) {
        done("CreateContainer", answers, () -> containers.create(request));
    }

    @Override
    public void startContainer(StartContainerRequest request, StreamObserver<Empty> answers) {
        done("StartContainer", answers, () -> containers.start(request.getContainerId()));
    }

    @Override
    public void removeContainer(RemoveContainerRequest request, StreamObserver<Empty> answers) {
        Duration timeout =
                request.getTimeout() == 0 ? REMOVAL : Duration.ofSeconds(Integer.toUnsignedLong(request.getTimeout()));
        done(
                "RemoveContainer",
                answers,
                () -> containers.remove(containers.toRemove(request.getContainerId()), timeout));
    }

    @Override
    public void execProcess(ExecProcessRequest request, StreamObserver<Empty> answers) {
        done("ExecProcess", answers, () -> operations.exec(request));
    }

    /** Whether a process is the first one of its container. */
    private static boolean isFirst(String container, String exec) {
        return exec.isEmpty() || exec.equals(container);
    }

    @Override
    public void signalProcess(SignalProcessRequest request, StreamObserver<Empty> answers) {
        String exec = request.getExecId();
        done("SignalProcess", answers, () -> {
            HostedContainer container = containers.get(request.getContainerId());
            if (isFirst(container.id(), exec)) {
                operations.signal(container, request.getSignal(), exec.isEmpty());
            } else if (!container.exec(exec).signal(request.getSignal())) {
                throw Refusals.noProcess();
            }
        });
    }

    @Override
    public void waitProcess(WaitProcessRequest request, StreamObserver<WaitProcessResponse> answers) {
        answer("WaitProcess", answers, () -> {
            HostedContainer container = containers.get(request.getContainerId());
            int status;
            if (isFirst(container.id(), request.getExecId())) {
                status = HostedContainer.await(container.end());
            } else {
                HostedExec exec = container.exec(request.getExecId());
                status = exec.await();
                exec.forgetOutput();
            }
            return WaitProcessResponse.newBuilder().setStatus(status).build();
        });
    }

    /** Without resources it is only asked whether there is such a container. */
    @Override
    public void updateContainer(UpdateContainerRequest request, StreamObserver<Empty> answers) {
        done("UpdateContainer", answers, () -> {
            HostedContainer container = containers.get(request.getContainerId());
            if (!request.getResources().equals(LinuxResources.getDefaultInstance())) {
                operations.update(container.id(), request.getResources());
            }
        });
    }

    @Override
    public void statsContainer(StatsContainerRequest request, StreamObserver<StatsContainerResponse> answers) {
        answer(
                "StatsContainer",
                answers,
                () -> StatsContainerResponse.newBuilder()
                        .setCgroupStats(operations.statistics(request.getContainerId()))
                        .build());
    }

    @Override
    public void pauseContainer(PauseContainerRequest request, StreamObserver<Empty> answers) {
        done("PauseContainer", answers, () -> operations.pause(request.getContainerId()));
    }

    @Override
    public void resumeContainer(ResumeContainerRequest request, StreamObserver<Empty> answers) {
        done("ResumeContainer", answers, () -> operations.resume(request.getContainerId()));
    }

    @Override
    public void writeStdin(WriteStreamRequest request, StreamObserver<WriteStreamResponse> answers) {
        answer("WriteStdin", answers, () -> {
            HostedContainer container = containers.get(request.getContainerId());
            int taken = request.getData().size();
            if (isFirst(container.id(), request.getExecId())) {
                taken = operations.write(container, request.getData());
            } else {
                container.exec(request.getExecId()).write(request.getData());
            }
            return WriteStreamResponse.newBuilder().setLen(taken).build();
        });
    }

    @Override
    public void closeStdin(CloseStdinRequest request, StreamObserver<Empty> answers) {
        done("CloseStdin", answers, () -> {
            HostedContainer container = containers.get(request.getContainerId());
            if (isFirst(container.id(), request.getExecId())) {
                operations.closeInput(container);
            } else {
                container.exec(request.getExecId()).closeInput();
            }
        });
    }

    @Override
    public void readStdout(ReadStreamRequest request, StreamObserver<ReadStreamResponse> answers) {
        answer("ReadStdout", answers, () -> read(request, false));
    }

    @Override
    public void readStderr(ReadStreamRequest request, StreamObserver<ReadStreamResponse> answers) {
        answer("ReadStderr", answers, () -> read(request, true));
    }

    private ReadStreamResponse read(ReadStreamRequest request, boolean isError)
            throws IOException, InterruptedException {
        HostedContainer container = containers.get(request.getContainerId());
        ByteString piece;
        if (!isFirst(container.id(), request.getExecId())) {
            piece = container.exec(request.getExecId()).read(isError, request.getLen());
        } else if (isError && container.hasTerminal()) {
            piece = ByteString.EMPTY;
        } else {
            piece = container.output(isError).read(request.getLen(), container::hasEnded);
        }
        return ReadStreamResponse.newBuilder().setData(piece).build();
    }

    @Override
    public void ttyWinResize(TtyWinResizeRequest request, StreamObserver<Empty> answers) {
        done("TtyWinResize", answers, () -> {
            HostedContainer container = containers.get(request.getContainerId());
            boolean isFirst = isFirst(container.id(), request.getExecId());
            if (isFirst
                    ? !container.hasTerminal()
                    : !container.exec(request.getExecId()).hasTerminal()) {
                throw Refusals.unavailable("no tty");
            }
            if (isFirst) {
                operations.resize(container, request.getRow(), request.getColumn());
            } else {
                container.exec(request.getExecId()).resize(request.getRow(), request.getColumn());
            }
        });
    }

    @Override
    public void getOOMEvent(GetOOMEventRequest request, StreamObserver<OOMEvent> answers) {
        answer(
                "GetOOMEvent",
                answers,
                () -> OOMEvent.newBuilder()
                        .setContainerId(containers.memory().next())
                        .build());
    }

    @Override
    public void copyFile(CopyFileRequest request, StreamObserver<Empty> answers) {
        done("CopyFile", answers, () -> machine.files().copy(request));
    }

    @Override
    public void getVolumeStats(VolumeStatsRequest request, StreamObserver<VolumeStatsResponse> answers) {
        answer("GetVolumeStats", answers, () -> machine.files().volume(request.getVolumeGuestPath()));
    }

    @Override
    public void getMetrics(GetMetricsRequest request, StreamObserver<Metrics> answers) {
        answer(
                "GetMetrics",
                answers,
                () -> Metrics.newBuilder().setMetrics(machine.metrics()).build());
    }

    @Override
    public void setGuestDateTime(SetGuestDateTimeRequest request, StreamObserver<Empty> answers) {
        done("SetGuestDateTime", answers, () -> machine.setClock(request.getSec(), request.getUsec()));
    }

    @Override
    public void getGuestDetails(GuestDetailsRequest request, StreamObserver<GuestDetailsResponse> answers) {
        answer("GetGuestDetails", answers, () -> {
            AgentDetails.Builder agent = AgentDetails.newBuilder()
                    .setVersion(machine.version())
                    .setSupportsSeccomp(machine.filtersCalls())
                    .addAllStorageHandlers(Storages.drivers());
            return GuestDetailsResponse.newBuilder()
                    .setAgentDetails(agent)
                    .setMemBlockSizeBytes(request.getMemBlockSize() ? machine.memoryBlock() : 0)
                    .build();
        });
    }

    @Override
    public void listInterfaces(ListInterfacesRequest request, StreamObserver<Interfaces> answers) {
        answer("ListInterfaces", answers, () -> machine.network().interfaces());
    }

    @Override
    public void listRoutes(ListRoutesRequest request, StreamObserver<Routes> answers) {
        answer("ListRoutes", answers, () -> machine.network().routes());
    }

    @Override
    public void updateInterface(UpdateInterfaceRequest request, StreamObserver<Interface> answers) {
        answer("UpdateInterface", answers, () -> {
            machine.network().update(request.getInterface());
            return request.getInterface();
        });
    }

    @Override
    public void updateRoutes(UpdateRoutesRequest request, StreamObserver<Routes> answers) {
        answer("UpdateRoutes", answers, () -> {
            machine.network().update(request.getRoutes());
            return machine.network().routes();
        });
    }

    @Override
    public void addARPNeighbors(AddARPNeighborsRequest request, StreamObserver<Empty> answers) {
        done(
                "AddARPNeighbors",
                answers,
                () -> machine.network().add(request.getNeighbors().getARPNeighborsList()));
    }
}
