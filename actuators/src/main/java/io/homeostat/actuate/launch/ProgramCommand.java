package io.homeostat.actuate.launch;

import com.google.common.collect.ImmutableList;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.launch.Launcher.LaunchRequest;
import io.homeostat.desired.model.Probe;
import io.homeostat.desired.model.ProcessSettings;
import io.homeostat.desired.model.schema.Notation;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.observe.files.UserRights;
import io.homeostat.observe.process.Account;
import io.homeostat.observe.process.CommandOutput;
import io.homeostat.observe.process.Executables;
import io.homeostat.observe.process.SystemCharset;
import io.homeostat.observe.process.UserSwitch;
import java.io.File;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;

/**
 * Runs a command that does something for a program that runs: as its user, with its settings, in its environment and working directory,
 * but not in its control groups. As root it has nothing of the program: whoever can write to the program's files could choose its
 * variables and directory. It is waited for, and killed with its descendants at its timeout.
 */
public final class ProgramCommand {
    private final LaunchRequest program;
    private final Probe.Exec exec;
    private final ImmutableList<String> command;
    private final ImmutableList<String> apart;

    /**
     * Prepares a run.
     *
     * @param exec the command's first word is searched along the PATH that it runs with
     * @param apart what precedes it, {@link io.homeostat.observe.limits.AgentGroup#apart}
     */
    public ProgramCommand(LaunchRequest program, Probe.Exec exec, ImmutableList<String> apart) {
        this.program = program;
        this.exec = exec;
        this.apart = apart;
        this.command = exec.command();
    }

    /**
     * Runs it and waits for it.
     *
     * @throws ActuationFailure when it does not exit with 0 in time, with the end of what it said
     */
    public void run(Duration timeout) throws ActuationFailure, InterruptedException {
        String what = "the command " + command.getFirst();
        String user = exec.isAsRoot() ? null : program.user();
        String runAs = UserSwitch.runAs(user);
        try {
            Process process = start(what);
            CommandOutput output = new CommandOutput();
            try {
                if (!output.awaitEnd(process, timeout)) {
                    throw new ActuationFailure(
                            FailureCause.Kind.TIMED_OUT,
                            what + " did not end within " + Notation.text(timeout) + " and was killed" + runAs
                                    + said(output) + "; make it quicker, or raise spec.health.timeout",
                            false);
                }
            } finally {
                CommandOutput.kill(process);
            }
            if (process.exitValue() != 0) {
                throw new ActuationFailure(
                        new FailureCause(FailureCause.Kind.EXITED, process.exitValue()),
                        what + " exited with status " + process.exitValue() + runAs + said(output),
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
        Account user = Launcher.account(exec.isAsRoot() ? null : program.user());
        ProcessSettings settings = exec.isAsRoot() ? ProcessSettings.NONE : program.settings();
        Map<String, String> environment = exec.isAsRoot() ? user.environment() : program.environment(user);
        String named = Executables.from(settings.directory(), command.getFirst());
        Path file = UserRights.ofThisMachine()
                .lookFor(
                        !exec.isAsRoot() && program.user() != null,
                        named,
                        () -> Executables.find(named, environment.get("PATH")))
                .orElseThrow(() -> new ActuationFailure(
                        FailureCause.Kind.FILE_MISSING,
                        what + " is not there, or may not be executed; install it or correct spec.reload.exec.command",
                        false));
        Optional<String> refused = exec.isAsRoot() ? UserSwitch.problemAsRoot(file) : Optional.empty();
        if (refused.isPresent()) {
            throw new ActuationFailure(FailureCause.Kind.USER, what + " is not run as root: " + refused.get(), false);
        }
        ProcessBuilder builder = new ProcessBuilder(ImmutableList.<String>builder()
                        .addAll(apart)
                        .addAll(LaunchCommand.withoutIgnoredSignals())
                        // Out of our session: at its terminal, another user could type what root's shell reads.
                        .add(LaunchCommand.tool("setsid"))
                        .addAll(ProgramScript.command(
                                new LaunchCommand(program.instance().workload(), user, settings).prefix(),
                                null,
                                false,
                                settings,
                                file,
                                command.subList(1, command.size())))
                        .build())
                .directory(new File("/"))
                .redirectInput(ProcessBuilder.Redirect.from(new File("/dev/null")))
                .redirectErrorStream(true);
        builder.environment().clear();
        builder.environment().putAll(ProgramScript.environment(environment));
        return builder.start();
    }

    private static String said(CommandOutput output) {
        String said = output.lastLines();
        return said.isEmpty() ? "" : "; it said: " + said;
    }
}
