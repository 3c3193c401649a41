package io.homeostat.e2e;

import static io.homeostat.e2e.Patience.eventually;

import com.google.protobuf.ByteString;
import io.grpc.stub.StreamObserver;
import io.homeostat.proto.nomad.driver.ExecTaskStreamingIOOperation;
import io.homeostat.proto.nomad.driver.ExecTaskStreamingRequest;
import io.homeostat.proto.nomad.driver.ExecTaskStreamingResponse;
import io.homeostat.proto.nomad.driver.ExitResult;
import io.homeostat.proto.nomad.driver.TaskConfig;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Whoever talks with a command that is executed beside a task, as Nomad's client does. */
final class ExecClient implements AutoCloseable {
    private final StreamObserver<ExecTaskStreamingRequest> requests;
    private final StringBuffer stdout = new StringBuffer();
    private final StringBuffer stderr = new StringBuffer();
    private final CompletableFuture<ExitResult> exit = new CompletableFuture<>();

    ExecClient(NomadPlugin nomad, TaskConfig task, boolean terminal, String... command) {
        requests = nomad.process().streams().execTaskStreaming(new StreamObserver<>() {
            @Override
            public void onNext(ExecTaskStreamingResponse response) {
                stdout.append(response.getStdout().getData().toStringUtf8());
                stderr.append(response.getStderr().getData().toStringUtf8());
                if (response.getExited()) {
                    exit.complete(response.getResult());
                }
            }

            @Override
            public void onError(Throwable error) {
                exit.completeExceptionally(error);
            }

            @Override
            public void onCompleted() {
                exit.completeExceptionally(new IllegalStateException("it ended without an exit"));
            }
        });
        requests.onNext(ExecTaskStreamingRequest.newBuilder()
                .setSetup(ExecTaskStreamingRequest.Setup.newBuilder()
                        .setTaskId(task.getId())
                        .addAllCommand(List.of(command))
                        .setTty(terminal))
                .build());
    }

    void type(String text) {
        requests.onNext(ExecTaskStreamingRequest.newBuilder()
                .setStdin(ExecTaskStreamingIOOperation.newBuilder().setData(ByteString.copyFromUtf8(text)))
                .build());
    }

    void endOfInput() {
        requests.onNext(ExecTaskStreamingRequest.newBuilder()
                .setStdin(ExecTaskStreamingIOOperation.newBuilder().setClose(true))
                .build());
    }

    void resize(int rows, int columns) {
        requests.onNext(ExecTaskStreamingRequest.newBuilder()
                .setTtySize(ExecTaskStreamingRequest.TerminalSize.newBuilder()
                        .setHeight(rows)
                        .setWidth(columns))
                .build());
    }

    void awaitOutput(String text) {
        eventually().until(this::stdout, output -> output.contains(text));
    }

    String stdout() {
        return stdout.toString();
    }

    String stderr() {
        return stderr.toString();
    }

    ExitResult await() throws InterruptedException {
        try {
            return exit.get(Patience.LONGEST.toSeconds(), TimeUnit.SECONDS);
        } catch (ExecutionException | TimeoutException e) {
            throw new IllegalStateException("the command has not ended: " + stdout + stderr, e);
        }
    }

    @Override
    public void close() {
        exit.cancel(false);
        requests.onCompleted();
    }
}
