package io.homeostat.observe.driver;

import com.google.protobuf.ByteString;
import io.grpc.Channel;
import io.homeostat.proto.nomad.driver.DriverGrpc;
import io.homeostat.proto.nomad.driver.DriverGrpc.DriverBlockingStub;
import io.homeostat.proto.nomad.driver.ExecTaskRequest;
import io.homeostat.proto.nomad.driver.ExecTaskResponse;
import io.homeostat.proto.nomad.driver.SignalTaskRequest;
import io.homeostat.proto.nomad.driver.SignalTaskResponse;
import java.time.Duration;
import java.util.List;

/** What a driver does within a task that runs, for whoever asks: commands and signals. None of it is part of the task's life. */
public final class TaskAccess {
    /** What a driver may need beyond the time that a command has, to end it and to say so. */
    private static final Duration ANSWERING = Duration.ofSeconds(2);

    private final Channel channel;
    private final DriverBlockingStub driver;

    TaskAccess(Channel channel) {
        this.channel = channel;
        this.driver = DriverGrpc.newBlockingStub(channel);
    }

    /**
     * What a command came to.
     *
     * @param status 0 to 255, 128 and its number for a signal
     * @param output the beginning of what it has written to standard output
     * @param error the same of standard error
     */
    public record Result(int status, ByteString output, ByteString error) {}

    /**
     * Runs a command to its end, without anything to read.
     *
     * @param timeout of the command, which its driver then ends
     * @param kept how much of each of its outputs is kept, in bytes
     * @throws DriverFailure when it could not be run, has not ended in time, or has written more than a message may carry (8 MiB)
     */
    public Result exec(String taskId, List<String> command, Duration timeout, int kept)
            throws DriverFailure, InterruptedException {
        ExecTaskRequest request = ExecTaskRequest.newBuilder()
                .setTaskId(taskId)
                .addAllCommand(command)
                .setTimeout(com.google.protobuf.Duration.newBuilder()
                        .setSeconds(timeout.getSeconds())
                        .setNanos(timeout.getNano()))
                .build();
        ExecTaskResponse response =
                DriverSession.call("ExecTask", timeout.plus(ANSWERING), driver, stub -> stub.execTask(request));
        if (!response.hasResult()) {
            throw new DriverFailure("ExecTask was answered without the result of the command");
        }
        return new Result(
                TaskCommand.status(response.getResult()),
                beginning(response.getStdout(), kept),
                beginning(response.getStderr(), kept));
    }

    private static ByteString beginning(ByteString bytes, int kept) {
        return bytes.substring(0, Math.min(kept, bytes.size()));
    }

    /**
     * Begins a command that is talked with while it runs.
     *
     * @param terminal whether it gets a terminal
     */
    public TaskCommand begin(String taskId, List<String> command, boolean terminal) throws InterruptedException {
        return TaskCommand.begin(channel, taskId, command, terminal);
    }

    /**
     * Sends a signal to a task.
     *
     * @param signal its full name, such as SIGHUP: some drivers take any other word for SIGINT
     */
    public void signal(String taskId, String signal, Duration timeout) throws DriverFailure, InterruptedException {
        SignalTaskRequest request = SignalTaskRequest.newBuilder()
                .setTaskId(taskId)
                .setSignal(signal)
                .build();
        SignalTaskResponse _ = DriverSession.call(
                "SignalTask",
                timeout,
                driver.withMaxInboundMessageSize(DriverSession.LONGEST_MESSAGE),
                stub -> stub.signalTask(request));
    }
}
