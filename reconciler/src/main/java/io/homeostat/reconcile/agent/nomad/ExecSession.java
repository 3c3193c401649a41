package io.homeostat.reconcile.agent.nomad;

import com.google.protobuf.ByteString;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.StreamObserver;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.observe.process.PseudoTerminal;
import io.homeostat.proto.nomad.driver.ExecTaskStreamingIOOperation;
import io.homeostat.proto.nomad.driver.ExecTaskStreamingRequest;
import io.homeostat.proto.nomad.driver.ExecTaskStreamingRequest.Setup;
import io.homeostat.proto.nomad.driver.ExecTaskStreamingRequest.TerminalSize;
import io.homeostat.proto.nomad.driver.ExecTaskStreamingResponse;
import io.homeostat.proto.nomad.driver.ExitResult;
import io.homeostat.reconcile.agent.frontend.BoundedCommand;
import io.homeostat.reconcile.agent.frontend.ProcessStarter;
import io.homeostat.reconcile.command.environment.CommandFailure;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * One command that talks with the client while it runs. Empty requests are signs of life. Answers: output, then the close of both streams,
 * then the exit.
 */
final class ExecSession implements StreamObserver<ExecTaskStreamingRequest> {
    private static final int CHUNK = 16 << 10;

    private final NomadTasks tasks;
    private final ProcessStarter starter;
    private final Outlet<ExecTaskStreamingResponse> out;
    /** Asks the client for one more message. */
    private final Runnable more;

    /** A command that does not read must not keep us from hearing that the client has gone. */
    private final ThreadPoolExecutor input = new ThreadPoolExecutor(
            0,
            1,
            1,
            TimeUnit.SECONDS,
            new LinkedBlockingQueue<>(),
            Thread.ofPlatform().daemon().name("exec input").factory(),
            new ThreadPoolExecutor.DiscardPolicy());

    private @Nullable Process process;
    private @Nullable PseudoTerminal terminal;
    private volatile boolean isOver;

    ExecSession(NomadTasks tasks, Outlet<ExecTaskStreamingResponse> out, Runnable more) {
        this(tasks, out, more, ProcessBuilder::start);
    }

    ExecSession(NomadTasks tasks, Outlet<ExecTaskStreamingResponse> out, Runnable more, ProcessStarter starter) {
        this.starter = starter;
        this.tasks = tasks;
        this.out = out;
        this.more = more;
    }

    @Override
    public void onNext(ExecTaskStreamingRequest request) {
        if (isOver) {
            return;
        }
        try {
            Process running = process;
            if (running == null) {
                begin(request);
            } else if (request.hasTtySize()) {
                resize(request.getTtySize());
            } else if (request.hasStdin()) {
                input.execute(() -> {
                    give(running, request.getStdin());
                    more.run();
                });
                return;
            }
            more.run();
        } catch (IOException | CommandFailure e) {
            fail(TaskFailures.failed("the command could not be run: " + e.getMessage()));
        } catch (StatusRuntimeException e) {
            fail(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            fail(TaskFailures.failed("the driver is ending"));
        }
    }

    private void fail(StatusRuntimeException failure) {
        over();
        Process running = process;
        if (running != null) {
            BoundedCommand.kill(running);
        }
        out.fail(failure);
    }

    /** Nothing is given to the command any more. */
    private void over() {
        isOver = true;
        input.shutdownNow();
    }

    private void begin(ExecTaskStreamingRequest request) throws IOException, InterruptedException {
        if (!request.hasSetup()) {
            throw TaskFailures.invalid("the first message is not the setup");
        }
        Setup setup = request.getSetup();
        DrivenTask task = tasks.get(setup.getTaskId());
        ProcessIdentity beside =
                tasks.process(task).orElseThrow(() -> TaskFailures.failed("the task has no process now"));
        ProcessBuilder builder = TaskExec.command(task, beside, setup.getCommandList(), setup.getTty());
        Process started;
        if (setup.getTty()) {
            PseudoTerminal pty = PseudoTerminal.open();
            File device = new File(pty.device());
            try {
                started = starter.start(
                        builder.redirectInput(device).redirectOutput(device).redirectError(device));
            } catch (IOException e) {
                pty.close();
                throw e;
            }
            terminal = pty;
            Thread.ofPlatform().daemon().name("exec terminal").start(() -> serve(started, pty));
        } else {
            started = starter.start(builder);
            Thread.ofVirtual().name("exec output").start(() -> serve(started));
        }
        process = started;
        out.whenCancelled(() -> BoundedCommand.kill(started));
    }

    /** A size of 0 is none. */
    private void resize(TerminalSize size) throws IOException {
        PseudoTerminal pty = terminal;
        if (pty != null && size.getHeight() > 0 && size.getWidth() > 0) {
            pty.resize(size.getHeight(), size.getWidth());
        }
    }

    private void give(Process running, ExecTaskStreamingIOOperation operation) {
        PseudoTerminal pty = terminal;
        try {
            if (pty != null) {
                pty.write(operation.getData().toByteArray());
                if (operation.getClose()) {
                    pty.write(new byte[] {PseudoTerminal.END_OF_INPUT});
                }
                return;
            }
            OutputStream stdin = running.getOutputStream();
            operation.getData().writeTo(stdin);
            stdin.flush();
            if (operation.getClose()) {
                stdin.close();
            }
        } catch (IOException e) {
            // Nobody reads it any more: its end says the rest.
            return;
        }
    }

    private void serve(Process running) {
        Thread errors = Thread.ofVirtual().name("exec errors").start(() -> pump(running.getErrorStream(), false));
        try {
            pump(running.getInputStream(), true);
            errors.join();
            over();
            exited(running);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void serve(Process running, PseudoTerminal pty) {
        try (pty) {
            byte[] chunk = new byte[CHUNK];
            for (int length = pty.read(chunk); length > 0; length = pty.read(chunk)) {
                if (!out.send(output(true, data(ByteString.copyFrom(chunk, 0, length))))) {
                    break;
                }
            }
            over();
            close(true);
            close(false);
            exited(running);
        } catch (IOException e) {
            out.fail(TaskFailures.failed("the terminal of the command could not be read: " + e.getMessage()));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void exited(Process running) throws InterruptedException {
        int code = running.waitFor();
        if (out.send(ExecTaskStreamingResponse.newBuilder()
                .setExited(true)
                .setResult(ExitResult.newBuilder().setExitCode(code))
                .build())) {
            out.complete();
        }
    }

    private void pump(InputStream from, boolean isStdout) {
        byte[] chunk = new byte[CHUNK];
        try {
            for (int length = from.read(chunk); length >= 0; length = from.read(chunk)) {
                if (!out.send(output(isStdout, data(ByteString.copyFrom(chunk, 0, length))))) {
                    return;
                }
            }
        } catch (IOException e) {
            // It was killed while it was being read: that is its end, too.
            close(isStdout);
            return;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return;
        }
        close(isStdout);
    }

    private void close(boolean isStdout) {
        try {
            boolean _ = out.send(output(
                    isStdout,
                    ExecTaskStreamingIOOperation.newBuilder().setClose(true).build()));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static ExecTaskStreamingIOOperation data(ByteString data) {
        return ExecTaskStreamingIOOperation.newBuilder().setData(data).build();
    }

    private static ExecTaskStreamingResponse output(boolean isStdout, ExecTaskStreamingIOOperation operation) {
        return isStdout
                ? ExecTaskStreamingResponse.newBuilder().setStdout(operation).build()
                : ExecTaskStreamingResponse.newBuilder().setStderr(operation).build();
    }

    @Override
    public void onError(Throwable error) {
        over();
        Process running = process;
        if (running != null) {
            BoundedCommand.kill(running);
        }
    }

    @Override
    public void onCompleted() {
        if (isOver) {
            return;
        }
        Process running = process;
        if (running == null) {
            over();
            out.complete();
            return;
        }
        input.execute(() -> give(
                running,
                ExecTaskStreamingIOOperation.newBuilder().setClose(true).build()));
    }
}
