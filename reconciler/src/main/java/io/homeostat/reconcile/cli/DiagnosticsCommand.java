package io.homeostat.reconcile.cli;

import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.yaml.AgentConfigReader;
import io.homeostat.reconcile.command.DirectEnforcer;
import io.homeostat.reconcile.command.Workspace;
import io.homeostat.reconcile.command.diagnostics.DiagnosticsArchive;
import io.homeostat.reconcile.command.diagnostics.DiagnosticsBundle;
import io.homeostat.reconcile.command.diagnostics.RedactedConfig;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.environment.ConfigFile;
import io.homeostat.reconcile.command.environment.Environment;
import io.homeostat.reconcile.command.environment.ExitStatus;
import io.homeostat.reconcile.command.environment.GlobalOptions;
import io.homeostat.reconcile.command.environment.Interrupts;
import io.homeostat.reconcile.command.environment.UsageException;
import io.homeostat.reconcile.command.environment.UserDirectories;
import io.homeostat.reconcile.command.output.Console;
import io.homeostat.reconcile.secrets.SecretMask;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.stream.Collectors;

/**
 * Collects in one file what is needed to look for a fault from afar: what is declared, remembered and observed, ends of logs, the host.
 * Secrets are masked, and what can't be had is noted. Works without an agent, and with a damaged database.
 */
final class DiagnosticsCommand {
    private static final String STANDARD_OUTPUT = "-";

    private final Environment environment;
    private final Console console;
    private final GlobalOptions options;
    private final ConfigFile file;
    private final String target;

    /** @param target a file that is not there yet, or {@code -} */
    DiagnosticsCommand(
            Environment environment, Console console, GlobalOptions options, ConfigFile file, String target) {
        this.environment = environment;
        this.console = console;
        this.options = options;
        this.file = file;
        this.target = target;
    }

    int run() throws InterruptedException {
        if (target.equals(STANDARD_OUTPUT)) {
            if (environment.outIsTerminal()) {
                throw new UsageException(
                        "standard output is a terminal, and this is no text; redirect it, or name a file");
            }
            try {
                collect(environment.out());
                return ExitStatus.OK;
            } catch (IOException e) {
                throw new CommandFailure("cannot write to standard output: " + CommandFailure.reason(e), e);
            }
        }
        Path whole = new UserDirectories(environment).absolute("FILE", target);
        if (Files.exists(whole, LinkOption.NOFOLLOW_LINKS)) {
            throw new CommandFailure(whole + " exists already, and nothing is overwritten; choose another name");
        }
        try (Interrupts.Guard _ = environment.interrupts().guard()) {
            write(whole);
        } catch (FileAlreadyExistsException e) {
            throw new CommandFailure(e.getFile() + " exists already; remove it, or choose another name", e);
        } catch (IOException e) {
            throw new CommandFailure("cannot write " + whole + ": " + CommandFailure.reason(e), e);
        }
        console.say("wrote " + whole
                + "; what is known to be secret is masked, but look through it before you give it away");
        return ExitStatus.OK;
    }

    private void write(Path whole) throws IOException, InterruptedException {
        Path part = whole.resolveSibling(whole.getFileName() + ".part");
        Files.createFile(part, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
        try {
            try (OutputStream out = Files.newOutputStream(part, StandardOpenOption.WRITE)) {
                collect(out);
            }
            Files.move(part, whole);
        } finally {
            Files.deleteIfExists(part);
        }
    }

    private void collect(OutputStream out) throws IOException, InterruptedException {
        SecretMask mask = new SecretMask();
        RedactedConfig redacted = RedactedConfig.of(file, mask);
        AgentConfig config = redacted.config() == null ? AgentConfigReader.defaults() : redacted.config();
        Layout layout = new UserDirectories(environment).layout(options, config);
        Workspace workspace = new Workspace("diagnostics", environment, console, layout, new DirectEnforcer(config));
        DoctorCommand doctor = new DoctorCommand(environment, console, options, file);
        DiagnosticsArchive archive =
                new DiagnosticsArchive(out, mask, environment.clock().instant());
        DiagnosticsBundle bundle = new DiagnosticsBundle(
                workspace, archive, mask, (there, command) -> new AgentSession(there).run(command));
        bundle.remembered();
        bundle.asked();
        archive.add("agent-config.json", redacted::text);
        archive.add(
                "doctor.txt",
                () -> doctor.findings().stream()
                        .map(finding -> DoctorCommand.line(finding) + "\n")
                        .collect(Collectors.joining()));
        bundle.host();
        archive.finish();
    }
}
