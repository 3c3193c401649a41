package io.homeostat.reconcile.runtime.task;

import com.google.common.base.Ascii;
import com.google.protobuf.ByteString;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.desired.state.Identity;
import io.homeostat.observe.driver.DriverFailure;
import io.homeostat.observe.driver.DriverSession;
import io.homeostat.observe.driver.TaskAccess;
import io.homeostat.observe.driver.TaskCommand;
import io.homeostat.observe.driver.TaskState;
import io.homeostat.reconcile.runtime.Execution;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Optional;
import java.util.Queue;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A command in a task. A driver that says nothing may have nothing to say, so it is asked something else after a while: one that does not
 * answer that either hangs. Where it can't talk with a command while that runs, one that reads nothing is run to its end.
 */
final class TaskExecution implements Execution {
    private static final Logger LOG = LoggerFactory.getLogger(TaskExecution.class);

    /** For so long a driver may say nothing before it is asked whether it lives, and for so long it may take to answer. */
    private static final Duration SILENCE = Duration.ofSeconds(5);

    /** Of a command that can't be talked with. */
    private static final Duration LONGEST = Duration.ofHours(1);

    private final DriverSession session;
    private final Identity.Task task;
    private final Request request;
    private final TaskCommand command;
    private final Duration silence;
    private final Queue<Event> events = new ArrayDeque<>();
    private boolean heard;
    private boolean over;

    private TaskExecution(
            DriverSession session, Identity.Task task, Request request, TaskCommand command, Duration silence) {
        this.silence = silence;
        this.session = session;
        this.task = task;
        this.request = request;
        this.command = command;
    }

    static TaskExecution begin(DriverSession session, Identity.Task task, Request request) throws InterruptedException {
        return begin(session, task, request, SILENCE);
    }

    /** @param silence after which the driver is asked whether the task still runs */
    static TaskExecution begin(DriverSession session, Identity.Task task, Request request, Duration silence)
            throws InterruptedException {
        TaskCommand command = session.tasks().begin(task.taskId(), request.command(), request.terminal());
        return new TaskExecution(session, task, request, command, silence);
    }

    private static ActuationFailure failed(Identity.Task task, DriverFailure e) {
        return TaskAccesses.failed("the driver " + task.driver() + " did not run it to its end", e);
    }

    @Override
    public Event next() throws ActuationFailure, InterruptedException {
        try {
            while (events.isEmpty()) {
                listen();
            }
            return events.remove();
        } catch (DriverFailure e) {
            throw failed(task, e);
        }
    }

    private void listen() throws DriverFailure, InterruptedException {
        Optional<TaskCommand.Event> event;
        try {
            event = command.next(silence);
        } catch (DriverFailure e) {
            if (heard || request.reads() || request.terminal() || !isNotOffered(e)) {
                throw e;
            }
            runToItsEnd();
            return;
        }
        heard |= event.isPresent();
        if (event.isEmpty()) {
            // A driver that has heard of the end answers from memory, so that its end must not be waited for again.
            if (over) {
                throw new DriverFailure("the task has ended, and it does not say how the command has");
            }
            over = !(session.inspectTask(task.taskId(), SILENCE) instanceof TaskState.Runs);
            return;
        }
        switch (event.get()) {
            case TaskCommand.Event.Output(ByteString bytes, boolean isError) ->
                events.add(new Event.Output(bytes, isError));
            case TaskCommand.Event.Ended(int status) -> events.add(new Event.Ended(status));
            case TaskCommand.Event.Nothing nothing -> {
                // It lives.
            }
        }
    }

    /** Older drivers answer the call, and have no code of their own for it. */
    private static boolean isNotOffered(DriverFailure e) {
        String words = Ascii.toLowerCase(e.words());
        return e.isUnimplemented()
                || (!e.isSilence()
                        && Stream.of("not supported", "unsupported", "does not support", "not implemented")
                                .anyMatch(words::contains));
    }

    private void runToItsEnd() throws DriverFailure, InterruptedException {
        TaskAccess.Result result = session.tasks().exec(task.taskId(), request.command(), LONGEST, Integer.MAX_VALUE);
        if (!result.output().isEmpty()) {
            events.add(new Event.Output(result.output(), false));
        }
        if (!result.error().isEmpty()) {
            events.add(new Event.Output(result.error(), true));
        }
        events.add(new Event.Ended(result.status()));
    }

    /** What is to be told to the command; false when there is none any more. */
    @FunctionalInterface
    private interface Telling {
        boolean tell() throws DriverFailure, InterruptedException;
    }

    private static boolean told(Telling telling) throws InterruptedException {
        try {
            return telling.tell();
        } catch (DriverFailure e) {
            // Whoever reads is told the same.
            LOG.debug("{}", e.words());
            return false;
        }
    }

    @Override
    public boolean write(ByteString bytes) throws InterruptedException {
        return told(() -> command.write(bytes));
    }

    @Override
    public boolean endInput() throws InterruptedException {
        return told(command::endInput);
    }

    @Override
    public boolean resize(int rows, int columns) throws InterruptedException {
        return told(() -> command.resize(rows, columns));
    }

    @Override
    public void close() {
        command.close();
    }
}
