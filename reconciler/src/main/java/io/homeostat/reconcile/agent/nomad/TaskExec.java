package io.homeostat.reconcile.agent.nomad;

import com.github.benmanes.caffeine.cache.Ticker;
import com.google.common.collect.ImmutableList;
import io.grpc.Status;
import io.homeostat.actuate.launch.ProgramScript;
import io.homeostat.desired.model.ProcessSettings;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.observe.files.UserRights;
import io.homeostat.observe.limits.CgroupLayout;
import io.homeostat.observe.process.Account;
import io.homeostat.observe.process.Executables;
import io.homeostat.observe.process.ProcFs;
import io.homeostat.observe.process.UserSwitch;
import io.homeostat.proto.nomad.driver.ExecTaskResponse;
import io.homeostat.proto.nomad.driver.ExitResult;
import io.homeostat.reconcile.agent.frontend.BoundedCommand;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;

/**
 * Commands beside a task's process: as its user, with its environment and in its directory, as they are declared, in its control groups as far as
 * we may write there. Each has a session of its own.
 */
final class TaskExec {
    private static final ProcFs PROC_FS = new ProcFs();
    private static final String ENDED = "the process of the task has ended";

    /**
     * Joins the groups whose files come before "--", and runs what follows. It is the parent of that, as the JVM never collects what has itself
     * traced by its parent; with another command after it, no shell executes the last one in its own place.
     */
    private static final String JOINING =
            "until [ \"$1\" = -- ]; do echo 0 >\"$1\" || exit 126; shift; done; shift; \"$@\"; exit $?";

    private TaskExec() {}

    /**
     * Prepares a command. Until it is the task's user it has nothing of the task's environment, which could otherwise have our own commands
     * load whatever that user likes.
     *
     * @param beside the process of the task. Only where it is counted is asked of it: the user can have it become another user's, as by a
     *     setuid program that they give an environment of theirs
     * @param terminal whether what the streams of the builder will be is to control it
     * @throws IOException when the process is gone, or there is no such user or command
     */
    static ProcessBuilder command(DrivenTask task, ProcessIdentity beside, List<String> command, boolean terminal)
            throws IOException, InterruptedException {
        if (command.isEmpty() || command.getFirst().isEmpty()) {
            throw TaskFailures.invalid("there is no command to execute");
        }
        String declared = task.config().getUser();
        Account user = declared.isEmpty()
                ? Account.ours()
                : Account.find(declared)
                        .orElseThrow(() -> new IOException("there is no user " + declared + " any more"));
        String directory = TaskDocument.directory(task.config()).toString();
        Map<String, String> environment = new LinkedHashMap<>(user.environment());
        environment.putAll(TaskDocument.variables(task.config(), task.settings()));
        if (terminal) {
            environment.putIfAbsent("TERM", "xterm");
        }
        String named = Executables.from(directory, command.getFirst());
        Path executable = UserRights.ofThisMachine()
                .lookFor(!declared.isEmpty(), named, () -> Executables.find(named, environment.get("PATH")))
                .orElseThrow(() -> new IOException(command.getFirst() + " is not there, or may not be executed"));
        ImmutableList.Builder<String> becoming = ImmutableList.builder();
        ImmutableList<String> groups = groups(beside);
        try {
            becoming.add("/bin/sh", "-c", JOINING, "homeostat").addAll(groups).add("--");
            becoming.add(UserSwitch.tool("setsid"), "--wait");
            if (terminal) {
                becoming.add("--ctty");
            }
            becoming.add("--").addAll(UserSwitch.command(user, ProcessSettings.NONE));
        } catch (UserSwitch.Refused e) {
            throw new IOException(e.getMessage(), e);
        }
        ProcessBuilder builder = new ProcessBuilder(ProgramScript.command(
                        becoming.build(),
                        ProcessSettings.NONE.mask(),
                        directory,
                        executable,
                        ImmutableList.copyOf(command.subList(1, command.size()))))
                .directory(new File("/"));
        builder.environment().clear();
        builder.environment().putAll(ProgramScript.environment(environment));
        return builder;
    }

    private static ImmutableList<String> groups(ProcessIdentity process) throws IOException {
        CgroupLayout layout = CgroupLayout.detect(Path.of("/sys/fs/cgroup"), Path.of("/proc"), "homeostat");
        try {
            Path membership = Path.of("/proc", Long.toString(process.pid()), "cgroup");
            ImmutableList<String> groups = layout.procs(Files.readString(membership), process.pid()).stream()
                    .filter(Files::isWritable)
                    .map(Path::toString)
                    .collect(ImmutableList.toImmutableList());
            if (PROC_FS.runs(process)) {
                return groups;
            }
        } catch (NoSuchFileException e) {
            throw new IOException(ENDED, e);
        }
        // All that may be another one's.
        throw new IOException(ENDED);
    }

    /**
     * Runs a command without input.
     *
     * @param timeout 0 for none
     * @throws io.grpc.StatusRuntimeException when the command itself has not ended in time, or the call was given up; then it is killed
     */
    static ExecTaskResponse run(ProcessBuilder builder, Duration timeout, Ticker ticker, BooleanSupplier isCancelled)
            throws IOException, InterruptedException {
        return switch (BoundedCommand.run(builder, timeout, ticker, isCancelled)) {
            case BoundedCommand.Ended ended ->
                ExecTaskResponse.newBuilder()
                        .setStdout(ended.stdout())
                        .setStderr(ended.stderr())
                        .setResult(ExitResult.newBuilder().setExitCode(ended.exitStatus()))
                        .build();
            case BoundedCommand.Cancelled _ ->
                throw Status.CANCELLED
                        .withDescription("the call was given up, and the command is killed")
                        .asRuntimeException();
            case BoundedCommand.TimedOut _ ->
                throw TaskFailures.failed(
                        "the command has not ended after " + timeout.toMillis() + " ms, and is killed");
        };
    }
}
