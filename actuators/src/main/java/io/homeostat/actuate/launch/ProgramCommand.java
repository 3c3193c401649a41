package io.homeostat.actuate.launch;

import com.google.common.collect.ImmutableList;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.launch.Launcher.LaunchRequest;
import io.homeostat.desired.model.schema.Notation;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.observe.process.Account;
import io.homeostat.observe.process.Executables;
import io.homeostat.observe.process.SystemCharset;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs a command that does something for a program that runs: as its user, with its settings, in its environment and working directory,
 * but not in its control groups. It is waited for, and killed with its descendants at its timeout.
 */
public final class ProgramCommand {
    private static final Logger LOG = LoggerFactory.getLogger(ProgramCommand.class);

    /** What it has left running may hold its output open. */
    private static final Duration LAST_OUTPUT = Duration.ofSeconds(1);

    private static final int OUTPUT_KEPT = 4096;
    private static final int LINES_SHOWN = 3;
    private static final int CHARACTERS_SHOWN = 300;

    private final LaunchRequest program;
    private final ImmutableList<String> command;

    /**
     * Prepares a run.
     *
     * @param command the first of which is searched along the PATH of the program
     */
    public ProgramCommand(LaunchRequest program, ImmutableList<String> command) {
        this.program = program;
        this.command = command;
    }

    /**
     * Runs it and waits for it.
     *
     * @throws ActuationFailure when it does not exit with 0 in time, with the end of what it said
     */
    public void run(Duration timeout) throws ActuationFailure, InterruptedException {
        String what = "the command " + command.getFirst();
        try {
            Process process = start(what);
            Output output = new Output(process.getInputStream());
            // No virtual thread: reading a pipe would hold its carrier.
            Thread reader = Thread.ofPlatform().daemon(true).start(output::read);
            try {
                if (!process.waitFor(timeout.toNanos(), TimeUnit.NANOSECONDS)) {
                    throw new ActuationFailure(
                            FailureCause.Kind.TIMED_OUT,
                            what + " did not end within " + Notation.text(timeout) + " and was killed" + output.words()
                                    + "; make it quicker, or raise spec.health.timeout",
                            false);
                }
                reader.join(LAST_OUTPUT);
            } finally {
                // Children first, because they are found through their parent.
                process.descendants().forEach(ProcessHandle::destroyForcibly);
                process.destroyForcibly();
            }
            if (process.exitValue() != 0) {
                throw new ActuationFailure(
                        new FailureCause(FailureCause.Kind.EXITED, process.exitValue()),
                        what + " exited with status " + process.exitValue() + output.words(),
                        false,
                        null);
            }
        } catch (IOException e) {
            throw new ActuationFailure(what + " could not be run: " + e.getMessage(), false, e);
        }
    }

    private Process start(String what) throws ActuationFailure, IOException, InterruptedException {
        for (String argument : command) {
            Optional<String> problem = SystemCharset.problem(argument);
            if (problem.isPresent()) {
                throw new ActuationFailure(FailureCause.Kind.ARGUMENTS, what + " " + problem.get(), false);
            }
        }
        Account user = Launcher.account(program.user());
        Map<String, String> environment = program.environment(user);
        Path file = Executables.find(command.getFirst(), environment.get("PATH"))
                .orElseThrow(() -> new ActuationFailure(
                        FailureCause.Kind.FILE_MISSING,
                        what + " is not there, or may not be executed; install it or correct spec.reload.exec.command",
                        false));
        String directory = program.settings().workingDirectory();
        ProcessBuilder builder = new ProcessBuilder(ImmutableList.<String>builder()
                        .addAll(new LaunchCommand(program.instance().workload(), user, program.settings()).prefix())
                        .add(file.toString())
                        .addAll(command.subList(1, command.size()))
                        .build())
                .directory(new File(directory == null ? "/" : directory))
                .redirectInput(ProcessBuilder.Redirect.from(new File("/dev/null")))
                .redirectErrorStream(true);
        builder.environment().clear();
        builder.environment().putAll(environment);
        return builder.start();
    }

    /** All of it is read, or the command would stand still; its end is kept. */
    private static final class Output {
        private final InputStream stream;
        private final byte[] end = new byte[OUTPUT_KEPT];
        private long length;

        Output(InputStream stream) {
            this.stream = stream;
        }

        void read() {
            byte[] buffer = new byte[OUTPUT_KEPT];
            try (stream) {
                for (int read = stream.read(buffer); read >= 0; read = stream.read(buffer)) {
                    keep(buffer, read);
                }
            } catch (IOException e) {
                LOG.debug("the rest of what a command says is not known: {}", e.getMessage());
            }
        }

        private synchronized void keep(byte[] bytes, int count) {
            for (int i = 0; i < count; i++) {
                end[(int) (length++ % OUTPUT_KEPT)] = bytes[i];
            }
        }

        /** Its last lines in one. */
        synchronized String words() {
            int kept = (int) Math.min(length, OUTPUT_KEPT);
            byte[] bytes = new byte[kept];
            for (int i = 0; i < kept; i++) {
                bytes[i] = end[(int) ((length - kept + i) % OUTPUT_KEPT)];
            }
            List<String> lines = new String(bytes, StandardCharsets.UTF_8)
                    .lines()
                    .map(String::strip)
                    .filter(line -> !line.isEmpty())
                    .toList();
            String words = String.join(" | ", lines.subList(Math.max(0, lines.size() - LINES_SHOWN), lines.size()));
            if (words.isEmpty()) {
                return "";
            }
            return "; it said: "
                    + (words.length() <= CHARACTERS_SHOWN
                            ? words
                            : "..." + words.substring(words.length() - CHARACTERS_SHOWN));
        }
    }
}
