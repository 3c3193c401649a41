package io.homeostat.observe.driver;

import com.google.protobuf.ByteString;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.StatusException;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.BlockingClientCall;
import io.grpc.stub.ClientCalls;
import io.homeostat.proto.nomad.driver.DriverGrpc;
import io.homeostat.proto.nomad.driver.ExecTaskStreamingIOOperation;
import io.homeostat.proto.nomad.driver.ExecTaskStreamingRequest;
import io.homeostat.proto.nomad.driver.ExecTaskStreamingResponse;
import io.homeostat.proto.nomad.driver.ExitResult;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * A command that runs inside a task, and whom it talks with. One thread reads; others may write meanwhile. Both wait for the other side, so
 * that little is kept here, however much there is to read or to write. Until it is closed the driver lets the command run.
 */
public final class TaskCommand implements AutoCloseable {
    private static final String CALL = "ExecTaskStreaming";
    private static final int SIGNAL_BASE = 128;
    private static final int LARGEST_STATUS = 255;

    private final BlockingClientCall<ExecTaskStreamingRequest, ExecTaskStreamingResponse> call;

    /** What one message has brought and was not handed on yet; two at most, and an end. */
    private final Queue<Event> events = new ArrayDeque<>();

    private final ReentrantLock writing = new ReentrantLock();
    private @Nullable DriverFailure refused;

    /** What comes of a command, in order. */
    public sealed interface Event {
        /** What it has written, never empty. */
        record Output(ByteString bytes, boolean isError) implements Event {}

        /**
         * Its end, the last.
         *
         * @param status 0 to 255, 128 and its number for a signal
         */
        record Ended(int status) implements Event {}

        /** The driver lives and has nothing to say. */
        record Nothing() implements Event {}
    }

    private TaskCommand(BlockingClientCall<ExecTaskStreamingRequest, ExecTaskStreamingResponse> call) {
        this.call = call;
    }

    /**
     * Has a driver run a command in a task.
     *
     * @param terminal whether the command gets one, whose output is all of its standard output
     */
    static TaskCommand begin(Channel channel, String taskId, List<String> command, boolean terminal)
            throws InterruptedException {
        TaskCommand begun = new TaskCommand(ClientCalls.blockingBidiStreamingCall(
                channel, DriverGrpc.getExecTaskStreamingMethod(), CallOptions.DEFAULT));
        try {
            begun.send(ExecTaskStreamingRequest.newBuilder()
                    .setSetup(ExecTaskStreamingRequest.Setup.newBuilder()
                            .setTaskId(taskId)
                            .addAllCommand(command)
                            .setTty(terminal))
                    .build());
        } catch (DriverFailure e) {
            // A driver may have refused the call by then. Whoever reads is told, as if that came later.
            begun.refused = e;
        } catch (InterruptedException e) {
            begun.close();
            throw e;
        }
        return begun;
    }

    /**
     * What comes next; empty when nothing has come within that time.
     *
     * @throws DriverFailure when the driver refuses, is gone, or never says how the command has ended
     */
    public Optional<Event> next(Duration wait) throws DriverFailure, InterruptedException {
        if (refused != null) {
            throw refused;
        }
        if (events.isEmpty()) {
            try {
                ExecTaskStreamingResponse response = call.read(wait.toNanos(), TimeUnit.NANOSECONDS);
                if (response == null) {
                    throw new DriverFailure(CALL + " was ended before the command has, so how that ends is not known");
                }
                add(response);
            } catch (TimeoutException e) {
                return Optional.empty();
            } catch (StatusException e) {
                throw failed(e);
            }
        }
        return Optional.of(events.remove());
    }

    private void add(ExecTaskStreamingResponse response) throws DriverFailure {
        if (!response.getStdout().getData().isEmpty()) {
            events.add(new Event.Output(response.getStdout().getData(), false));
        }
        if (!response.getStderr().getData().isEmpty()) {
            events.add(new Event.Output(response.getStderr().getData(), true));
        }
        if (response.getExited()) {
            if (!response.hasResult()) {
                throw new DriverFailure(CALL + " said that the command has ended, and not how");
            }
            events.add(new Event.Ended(status(response.getResult())));
        }
        if (events.isEmpty()) {
            events.add(new Event.Nothing());
        }
    }

    /** As a shell has it. What is no exit status of a process is none of success either. */
    static int status(ExitResult result) {
        int code = result.getExitCode() == 0 && result.getSignal() != 0
                ? SIGNAL_BASE + result.getSignal()
                : result.getExitCode();
        return code >= 0 && code <= LARGEST_STATUS ? code : LARGEST_STATUS;
    }

    /** Gives the command something to read, once the driver takes it; false when nobody will read it any more. */
    public boolean write(ByteString bytes) throws DriverFailure, InterruptedException {
        return send(ExecTaskStreamingRequest.newBuilder()
                .setStdin(ExecTaskStreamingIOOperation.newBuilder().setData(bytes))
                .build());
    }

    /** The command has read all that there is. */
    public boolean endInput() throws DriverFailure, InterruptedException {
        return send(ExecTaskStreamingRequest.newBuilder()
                .setStdin(ExecTaskStreamingIOOperation.newBuilder().setClose(true))
                .build());
    }

    /** Gives its terminal another size. */
    public boolean resize(int rows, int columns) throws DriverFailure, InterruptedException {
        return send(ExecTaskStreamingRequest.newBuilder()
                .setTtySize(ExecTaskStreamingRequest.TerminalSize.newBuilder()
                        .setHeight(rows)
                        .setWidth(columns))
                .build());
    }

    private boolean send(ExecTaskStreamingRequest request) throws DriverFailure, InterruptedException {
        writing.lockInterruptibly();
        try {
            return call.write(request);
        } catch (StatusException e) {
            throw failed(e);
        } finally {
            writing.unlock();
        }
    }

    private static DriverFailure failed(StatusException e) {
        StatusRuntimeException unchecked = e.getStatus().asRuntimeException(e.getTrailers());
        return new DriverFailure(CALL, unchecked, Duration.ZERO);
    }

    /** The driver ends the command, if that has not ended. */
    @Override
    public void close() {
        call.cancel("no longer wanted", null);
    }
}
