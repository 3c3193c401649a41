package io.homeostat.reconcile.agent.nomad;

import com.github.benmanes.caffeine.cache.Ticker;
import com.google.common.base.Splitter;
import com.google.common.collect.ImmutableList;
import io.grpc.Status;
import io.homeostat.actuate.launch.ProgramScript;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.observe.limits.CgroupLayout;
import io.homeostat.observe.limits.KernelFile;
import io.homeostat.observe.process.Executables;
import io.homeostat.observe.process.ProcFs;
import io.homeostat.observe.process.SystemCharset;
import io.homeostat.proto.nomad.driver.ExecTaskResponse;
import io.homeostat.proto.nomad.driver.ExitResult;
import io.homeostat.reconcile.agent.frontend.BoundedCommand;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;

/**
 * Commands beside a task's process: with its environment, in its working directory, as its user, in its control groups as far as we may
 * write there. Each has a session of its own.
 */
final class TaskExec {
    private static final ProcFs PROC_FS = new ProcFs();

    /** Joins the groups whose files come before "--", and becomes what follows. */
    private static final String JOINING =
            "until [ \"$1\" = -- ]; do echo 0 >\"$1\" || exit 126; shift; done; shift; exec \"$@\"";

    private TaskExec() {}

    /**
     * Prepares a command. Until it is the task's user it has nothing of the task's environment, which could otherwise have our own commands
     * load whatever that user likes.
     *
     * @param beside the process of the task
     * @param terminal whether what the streams of the builder will be is to control it
     * @throws IOException when the process is gone, or there is no such command
     */
    static ProcessBuilder command(ProcessIdentity beside, List<String> command, boolean terminal) throws IOException {
        if (command.isEmpty() || command.getFirst().isEmpty()) {
            throw TaskFailures.invalid("there is no command to execute");
        }
        Path process = Path.of("/proc", Long.toString(beside.pid()));
        Credentials user = Credentials.of(process);
        String directory = Files.readSymbolicLink(process.resolve("cwd")).toString();
        Map<String, String> environment = environment(process);
        if (!PROC_FS.runs(beside)) {
            // All that may be another one's.
            throw new IOException("the process of the task has ended");
        }
        if (terminal) {
            environment.putIfAbsent("TERM", "xterm");
        }
        Path executable = Executables.find(Executables.from(directory, command.getFirst()), environment.get("PATH"))
                .orElseThrow(() -> new IOException(command.getFirst() + " is not there, or may not be executed"));
        ImmutableList.Builder<String> becoming = ImmutableList.builder();
        ImmutableList<String> groups = groups(process, beside.pid());
        if (!groups.isEmpty()) {
            becoming.add("/bin/sh", "-c", JOINING, "homeostat").addAll(groups).add("--");
        }
        becoming.add(tool("setsid"), "--wait");
        if (terminal) {
            becoming.add("--ctty");
        }
        becoming.add("--");
        if (!user.sameAs(Credentials.of(Path.of("/proc/self")))) {
            becoming.add(tool("setpriv"), "--reuid=" + user.uid(), "--regid=" + user.gid())
                    .add(user.groups().isEmpty() ? "--clear-groups" : "--groups=" + String.join(",", user.groups()))
                    .add("--");
        }
        ProcessBuilder builder = new ProcessBuilder(ProgramScript.command(
                        becoming.build(),
                        user.umask(),
                        directory,
                        executable,
                        ImmutableList.copyOf(command.subList(1, command.size()))))
                .directory(new File("/"));
        builder.environment().clear();
        builder.environment().putAll(ProgramScript.environment(environment));
        return builder;
    }

    /** As whom a process runs, proc_pid_status(5). The owner of its files below /proc may be root instead. */
    private record Credentials(String uid, String gid, ImmutableList<String> groups, String umask) {
        static Credentials of(Path process) throws IOException {
            Map<String, String> fields = new HashMap<>();
            for (String line : Files.readAllLines(process.resolve("status"), StandardCharsets.ISO_8859_1)) {
                int colon = line.indexOf(':');
                if (colon > 0) {
                    fields.put(
                            line.substring(0, colon), line.substring(colon + 1).strip());
                }
            }
            return new Credentials(
                    first(fields, "Uid", process),
                    first(fields, "Gid", process),
                    ImmutableList.copyOf(Splitter.on(' ').omitEmptyStrings().split(fields.getOrDefault("Groups", ""))),
                    first(fields, "Umask", process));
        }

        /** The real one, of those that are ids. */
        private static String first(Map<String, String> fields, String name, Path process) throws IOException {
            String value = fields.get(name);
            if (value == null) {
                throw new IOException(process.resolve("status") + " has no line " + name);
            }
            return Splitter.on('\t').splitToList(value).getFirst();
        }

        boolean sameAs(Credentials other) {
            return uid.equals(other.uid) && gid.equals(other.gid) && groups.equals(other.groups);
        }
    }

    /** Without our own marks, and without what a shell could not set. */
    private static Map<String, String> environment(Path process) throws IOException {
        String all = new String(KernelFile.bytes(process.resolve("environ")), SystemCharset.get());
        Map<String, String> environment = new LinkedHashMap<>();
        for (String one : Splitter.on('\0').omitEmptyStrings().split(all)) {
            int equals = one.indexOf('=');
            if (equals > 0 && !one.startsWith("HOMEOSTAT_") && TaskDocument.isVariable(one.substring(0, equals))) {
                environment.put(one.substring(0, equals), one.substring(equals + 1));
            }
        }
        return environment;
    }

    private static ImmutableList<String> groups(Path process, long pid) throws IOException {
        CgroupLayout layout = CgroupLayout.detect(Path.of("/sys/fs/cgroup"), Path.of("/proc"), "homeostat");
        return layout.procs(Files.readString(process.resolve("cgroup")), pid).stream()
                .filter(Files::isWritable)
                .map(Path::toString)
                .collect(ImmutableList.toImmutableList());
    }

    private static String tool(String name) throws IOException {
        return Executables.find(name)
                .map(Path::toString)
                .orElseThrow(() -> new IOException(
                        "the command " + name + " is not on this machine, and needed for this; install util-linux"));
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
