package io.homeostat.e2e;

import com.google.protobuf.ByteString;
import com.google.protobuf.Empty;
import com.google.protobuf.MessageLite;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.homeostat.observe.ttrpc.SocketWire;
import io.homeostat.observe.ttrpc.TtrpcChannel;
import io.homeostat.proto.kata.AgentServiceGrpc;
import io.homeostat.proto.kata.AgentServiceGrpc.AgentServiceBlockingStub;
import io.homeostat.proto.kata.CheckRequest;
import io.homeostat.proto.kata.CreateContainerRequest;
import io.homeostat.proto.kata.CreateSandboxRequest;
import io.homeostat.proto.kata.HealthCheckResponse;
import io.homeostat.proto.kata.HealthGrpc;
import io.homeostat.proto.kata.Linux;
import io.homeostat.proto.kata.LinuxCapabilities;
import io.homeostat.proto.kata.LinuxNamespace;
import io.homeostat.proto.kata.Mount;
import io.homeostat.proto.kata.ReadStreamRequest;
import io.homeostat.proto.kata.Root;
import io.homeostat.proto.kata.SignalProcessRequest;
import io.homeostat.proto.kata.Spec;
import io.homeostat.proto.kata.StartContainerRequest;
import io.homeostat.proto.kata.WaitProcessRequest;
import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.SocketChannel;
import java.util.List;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.awaitility.Awaitility;

/** Calls to the agent of a guest, one by one, as other hosts than ours may make them. */
final class GuestCalls implements AutoCloseable {
    private static final int LENGTH = 64 << 10;

    private final KataAgent agent;
    private final ScheduledThreadPoolExecutor timer = new ScheduledThreadPoolExecutor(1);
    private TtrpcChannel channel;

    /** Once it serves. */
    GuestCalls(KataAgent agent) {
        this.agent = agent;
        this.channel = connected();
    }

    private TtrpcChannel connected() {
        return Awaitility.await()
                .atMost(Patience.LONGEST)
                .ignoreExceptionsInstanceOf(IOException.class)
                .until(this::connect, one -> true);
    }

    private TtrpcChannel connect() throws IOException {
        return new TtrpcChannel(
                new SocketWire(SocketChannel.open(UnixDomainSocketAddress.of(agent.socket()))), "guest", timer);
    }

    /** To the one that has been started again. */
    void reconnect() {
        channel.close();
        Awaitility.await().atMost(Patience.LONGEST).until(() -> {
            try (TtrpcChannel probe = connect()) {
                HealthCheckResponse _ = HealthGrpc.newBlockingStub(probe).check(CheckRequest.getDefaultInstance());
                return true;
            } catch (IOException | StatusRuntimeException e) {
                return false;
            }
        });
        channel = connected();
    }

    AgentServiceBlockingStub agent() {
        return AgentServiceGrpc.newBlockingStub(channel)
                .withDeadlineAfter(Patience.LONGEST.toSeconds(), TimeUnit.SECONDS);
    }

    /** How an agent says no. */
    record Refusal(Status.Code code, String words) {}

    /** What an agent says no to. */
    Refusal refused(Function<AgentServiceBlockingStub, ? extends MessageLite> call) {
        try {
            MessageLite answer = call.apply(agent());
            throw new AssertionError("it is answered: " + answer);
        } catch (StatusRuntimeException e) {
            return new Refusal(
                    e.getStatus().getCode(), String.valueOf(e.getStatus().getDescription()));
        }
    }

    void sandbox(String id) {
        Empty _ = agent().createSandbox(CreateSandboxRequest.newBuilder()
                .setSandboxId(id)
                .setHostname("guest-" + id)
                .build());
    }

    /** A container that is a shell script, with the programs of this machine. */
    CreateContainerRequest.Builder container(String id, String script) throws IOException {
        Linux.Builder linux = Linux.newBuilder();
        for (String type : List.of("mount", "ipc", "uts")) {
            linux.addNamespaces(LinuxNamespace.newBuilder().setType(type));
        }
        Spec.Builder spec = Spec.newBuilder()
                .setProcess(io.homeostat.proto.kata.Process.newBuilder()
                        .addAllArgs(List.of("/bin/sh", "-c", script))
                        .addEnv("PATH=/usr/bin:/bin")
                        .setCwd("/")
                        .setCapabilities(LinuxCapabilities.getDefaultInstance())
                        .setNoNewPrivileges(true))
                .setRoot(Root.newBuilder().setPath(agent.rootfs(id).toString()))
                .setLinux(linux)
                .addMounts(mount("/proc", "proc", "proc"))
                .addMounts(mount("/dev", "tmpfs", "tmpfs"))
                .addMounts(
                        mount("/dev/pts", "devpts", "devpts").addAllOptions(List.of("newinstance", "ptmxmode=0666")));
        for (String directory : KataAgent.mounted()) {
            spec.addMounts(mount(directory, "bind", directory).addAllOptions(List.of("rbind", "ro")));
        }
        return CreateContainerRequest.newBuilder()
                .setContainerId(id)
                .setExecId(id)
                .setOCI(spec);
    }

    static Mount.Builder mount(String destination, String type, String source) {
        return Mount.newBuilder().setDestination(destination).setType(type).setSource(source);
    }

    void create(CreateContainerRequest.Builder request) {
        Empty _ = agent().createContainer(request.build());
    }

    void start(String id) {
        Empty _ = agent().startContainer(
                        StartContainerRequest.newBuilder().setContainerId(id).build());
    }

    void run(String id, String script) throws IOException {
        create(container(id, script));
        start(id);
    }

    void signal(String id, int signal) {
        Empty _ = agent().signalProcess(SignalProcessRequest.newBuilder()
                .setContainerId(id)
                .setExecId(id)
                .setSignal(signal)
                .build());
    }

    int await(String id, String exec) {
        return agent().waitProcess(WaitProcessRequest.newBuilder()
                        .setContainerId(id)
                        .setExecId(exec)
                        .build())
                .getStatus();
    }

    /** Reads to the end. */
    String output(String id, String exec, boolean isError) {
        ByteString all = ByteString.EMPTY;
        while (true) {
            ByteString piece = piece(id, exec, isError);
            if (piece.isEmpty()) {
                return all.toStringUtf8();
            }
            all = all.concat(piece);
        }
    }

    String output(String id) {
        return output(id, id, false);
    }

    /** Waits for the next piece. */
    ByteString piece(String id, String exec, boolean isError) {
        ReadStreamRequest request = ReadStreamRequest.newBuilder()
                .setContainerId(id)
                .setExecId(exec)
                .setLen(LENGTH)
                .build();
        return (isError ? agent().readStderr(request) : agent().readStdout(request)).getData();
    }

    @Override
    public void close() {
        channel.close();
        timer.shutdownNow();
    }
}
