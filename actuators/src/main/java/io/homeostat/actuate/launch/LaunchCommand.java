package io.homeostat.actuate.launch;

import com.google.common.base.Splitter;
import com.google.common.collect.ImmutableList;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.desired.model.ProcessSettings;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.observe.files.UserRights;
import io.homeostat.observe.process.Account;
import io.homeostat.observe.process.UserSwitch;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * The commands through which a keeper's child becomes the program's user, with its limits, niceness and groups: those of util-linux and
 * coreutils, each of which executes the next one. What they may certainly not do is refused before.
 */
final class LaunchCommand {
    private static final int FIRST_FIELD = 3;
    private static final int NICENESS_FIELD = 19;

    /** See proc_pid_status(5). */
    private static final String IGNORED_SIGNALS = "SigIgn:";

    /** Those that have names; the C library keeps some of the others for itself. */
    private static final long NAMED_SIGNALS = 0x7FFF_FFFFL;

    private final WorkloadId id;
    private final Account user;
    private final ProcessSettings settings;

    LaunchCommand(WorkloadId id, Account user, ProcessSettings settings) {
        this.id = id;
        this.user = user;
        this.settings = settings;
    }

    /**
     * What precedes the shell that opens the log.
     *
     * @throws ActuationFailure when something of it is missing, or may certainly not be set
     */
    ImmutableList<String> prefix() throws ActuationFailure, IOException, InterruptedException {
        check();
        ImmutableList.Builder<String> command = ImmutableList.builder();
        if (settings.rlimits() != null) {
            command.add(tool("prlimit"));
            for (Map.Entry<String, String> limit : settings.rlimits().entrySet()) {
                command.add("--" + limit.getKey() + "=" + limit.getValue());
            }
            // Separates: what follows is not prlimit's.
            command.add("--");
        }
        if (settings.oomScoreAdjust() != null) {
            command.add(tool("choom"), "--adjust", settings.oomScoreAdjust().toString(), "--");
        }
        int more = nice() - niceness();
        if (more != 0) {
            command.add(tool("nice"), "-n", Integer.toString(more), "--");
        }
        try {
            return command.addAll(UserSwitch.command(user, settings)).build();
        } catch (UserSwitch.Refused e) {
            throw failure(e);
        }
    }

    /**
     * What precedes all that when ProcessBuilder starts it. What this process ignores, as after nohup or in the background of a script, a
     * program would ignore as well, and a shell script could not even trap. Coreutils before 8.31 can't help it; then it stays so.
     */
    static ImmutableList<String> withoutIgnoredSignals() throws ActuationFailure, IOException, InterruptedException {
        try (Stream<String> status = Files.lines(Path.of("/proc/self/status"), StandardCharsets.ISO_8859_1)) {
            boolean ignoresAny = status.filter(line -> line.startsWith(IGNORED_SIGNALS))
                    .map(line -> line.substring(IGNORED_SIGNALS.length()).strip())
                    .anyMatch(mask -> (Long.parseUnsignedLong(mask, 16) & NAMED_SIGNALS) != 0);
            if (!ignoresAny) {
                return ImmutableList.of();
            }
        }
        ImmutableList<String> command = ImmutableList.of(tool("env"), "--default-signal", "--");
        Process trial = new ProcessBuilder(ImmutableList.<String>builder()
                        .addAll(command)
                        .add(tool("true"))
                        .build())
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        trial.getOutputStream().close();
        return trial.waitFor() == 0 ? command : ImmutableList.of();
    }

    private void check() throws ActuationFailure, IOException, InterruptedException {
        Integer nice = settings.nice();
        if (nice != null && nice < niceness() && !canBecome(nice)) {
            throw refused("spec.nice is " + nice + ", but Homeostat itself has " + niceness()
                    + " and may not give a process less (CAP_SYS_NICE); run as root or raise it");
        }
        String directory = settings.workingDirectory();
        if (directory != null
                && !UserRights.ofThisMachine()
                        .lookFor(
                                user.uid() != Account.ourUid(),
                                directory,
                                () -> Files.isDirectory(Path.of(directory)))) {
            throw new ActuationFailure(
                    FailureCause.Kind.FILE_MISSING,
                    id.brief() + " can't be launched: its spec.workingDirectory " + directory
                            + " is no directory that we can see;" + " create it or declare another",
                    false);
        }
    }

    /** That of our caller is no business of the program's, as far as we may change it. */
    private int nice() throws ActuationFailure, IOException, InterruptedException {
        Integer declared = settings.nice();
        if (declared != null) {
            return declared;
        }
        int ours = niceness();
        return ours <= 0 || canBecome(0) ? 0 : ours;
    }

    /** Root may be without that right, and others may have it; nice(1) would only warn. */
    private static boolean canBecome(int nice) throws ActuationFailure, IOException, InterruptedException {
        try {
            String become = UserSwitch.said("nice", "-n", Integer.toString(nice - niceness()), tool("nice"));
            return become.equals(Integer.toString(nice));
        } catch (UserSwitch.Refused e) {
            throw failure(e);
        }
    }

    /** Our own, proc_pid_stat(5). */
    private static int niceness() throws IOException {
        String stat = Files.readString(Path.of("/proc/self/stat"), StandardCharsets.ISO_8859_1);
        // The name in parentheses before may contain anything.
        List<String> fields = Splitter.on(' ').splitToList(stat.substring(stat.lastIndexOf(')') + 2));
        return Integer.parseInt(fields.get(NICENESS_FIELD - FIRST_FIELD));
    }

    private static ActuationFailure refused(String why) {
        return new ActuationFailure(FailureCause.Kind.USER, why, true);
    }

    /** @throws ActuationFailure names the package that it comes in */
    static String tool(String name) throws ActuationFailure {
        try {
            return UserSwitch.tool(name);
        } catch (UserSwitch.Refused e) {
            throw failure(e);
        }
    }

    private static ActuationFailure failure(UserSwitch.Refused e) {
        return new ActuationFailure(e.kind(), String.valueOf(e.getMessage()), e.isPermanent());
    }
}
