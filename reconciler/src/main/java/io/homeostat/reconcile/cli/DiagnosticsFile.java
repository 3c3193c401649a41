package io.homeostat.reconcile.cli;

import com.google.common.base.Splitter;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.Sets;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.platform.NewFile;
import io.homeostat.desired.yaml.AgentConfigReader;
import io.homeostat.desired.yaml.DocumentCodec;
import io.homeostat.desired.yaml.Problem;
import io.homeostat.reconcile.command.DirectEnforcer;
import io.homeostat.reconcile.command.Workspace;
import io.homeostat.reconcile.command.diagnostics.DiagnosticsArchive;
import io.homeostat.reconcile.command.diagnostics.DiagnosticsBundle;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.environment.ConfigFile;
import io.homeostat.reconcile.command.environment.Environment;
import io.homeostat.reconcile.command.environment.Environment.Interrupts;
import io.homeostat.reconcile.command.environment.ExitStatus;
import io.homeostat.reconcile.command.environment.UsageException;
import io.homeostat.reconcile.command.environment.UserDirectories;
import io.homeostat.reconcile.secrets.SecretMask;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.channels.Channels;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Collects in one file what is needed to look for a fault from afar: what is declared, remembered and observed, ends of logs, the host.
 * Secrets are masked, and what can't be had is noted. Works without an agent, and with a damaged database.
 */
record DiagnosticsFile(Invocation typed) {
    private static final String STANDARD_OUTPUT = "-";

    int run() throws InterruptedException {
        Environment environment = typed.environment();
        String target = typed.arguments().word().orElse("");
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
        if (target.isEmpty()) {
            throw new UsageException(
                    "FILE is missing or empty; name a new file, such as diagnostics.tar.gz, or write - for standard output");
        }
        Path whole = new UserDirectories(environment).absolute("FILE", target);
        if (Files.exists(whole, LinkOption.NOFOLLOW_LINKS)) {
            throw new CommandFailure(whole + " exists already, and nothing is overwritten; choose another name");
        }
        Path parent = whole.getParent();
        if (parent != null && !Files.isDirectory(parent)) {
            throw new CommandFailure("cannot write " + whole + ": "
                    + (Files.exists(parent, LinkOption.NOFOLLOW_LINKS)
                            ? parent + " is not a directory; choose another name"
                            : Files.notExists(parent, LinkOption.NOFOLLOW_LINKS)
                                    ? "there is no directory " + parent + "; create it, or choose another name"
                                    : "whether there is a directory " + parent
                                            + " may not be seen; choose another name"));
        }
        try (Interrupts.Guard _ = environment.interrupts().guard()) {
            write(whole);
        } catch (FileAlreadyExistsException e) {
            throw new CommandFailure(e.getFile() + " exists already; remove it, or choose another name", e);
        } catch (NoSuchFileException e) {
            // Only its directory could be missing, and that is there.
            throw new CommandFailure(
                    "cannot write " + whole + ": no files can be created in " + parent + "; choose another directory",
                    e);
        } catch (IOException e) {
            throw new CommandFailure("cannot write " + whole + ": " + CommandFailure.reason(e), e);
        }
        typed.console()
                .say("wrote " + whole
                        + "; what is known to be secret is masked, but look through it before you give it away");
        return ExitStatus.OK;
    }

    private void write(Path whole) throws IOException, InterruptedException {
        try (NewFile file = NewFile.of(whole)) {
            try (OutputStream out = Channels.newOutputStream(file.create(NewFile.OURS))) {
                collect(out);
            }
            file.add();
        }
    }

    private void collect(OutputStream out) throws IOException, InterruptedException {
        SecretMask mask = new SecretMask();
        Environment environment = typed.environment();
        RedactedConfig redacted = RedactedConfig.of(typed.configFile(), mask);
        AgentConfig config = redacted.config() == null ? AgentConfigReader.defaults() : redacted.config();
        Layout layout = typed.layout(typed.configFile());
        Workspace workspace =
                new Workspace(typed.word(), environment, typed.console(), layout, new DirectEnforcer(() -> config));
        DiagnosticsArchive archive =
                new DiagnosticsArchive(out, mask, environment.clock().instant());
        DiagnosticsBundle bundle = new DiagnosticsBundle(
                workspace, archive, mask, (there, command) -> new AgentSession(there).run(command));
        bundle.remembered();
        bundle.asked();
        archive.add("agent-config.json", redacted::text);
        archive.add(
                "doctor.txt",
                () -> new DoctorReport(typed)
                        .findings().stream()
                                .map(finding -> DoctorReport.line(finding) + "\n")
                                .collect(Collectors.joining()));
        bundle.host();
        archive.finish();
    }

    /**
     * The agent's configuration as it may be shown: what holds, with every default, without comments. Nothing of an invalid file is shown:
     * nobody knows what in it is secret.
     *
     * @param config null when the file is not valid
     * @param text for the archive
     */
    private record RedactedConfig(@Nullable AgentConfig config, String text) {
        private static final int MOST_BYTES = 1 << 20;
        private static final ImmutableSet<Problem.Kind> UNREAD =
                Sets.immutableEnumSet(Problem.Kind.NO_FILE, Problem.Kind.UNTRUSTED, Problem.Kind.UNREADABLE);

        /** Reads a file and teaches the mask its secrets. */
        static RedactedConfig of(ConfigFile file, SecretMask mask) {
            if (!Files.exists(file.path())) {
                AgentConfig defaults = AgentConfigReader.defaults();
                return new RedactedConfig(defaults, DocumentCodec.toJson(defaults) + "\n");
            }
            AgentConfigReader.Result read = file.look();
            AgentConfig config = read.config();
            if (config == null) {
                // No message quotes what was not read, and to read it may be to wait for ever.
                if (read.errors().stream().map(Problem::kind).noneMatch(UNREAD::contains)) {
                    learnAll(file, mask);
                }
                return new RedactedConfig(null, file.path() + " is not valid, see doctor.txt\n");
            }
            AgentConfig.ControlPlane plane = config.sources().controlPlane();
            if (plane != null) {
                learnUser(plane.endpoint(), mask);
            }
            learnUser(config.metrics().listen(), mask);
            for (AgentConfig.Hook hook : config.hooks()) {
                // The program itself is no secret.
                hook.exec().stream().skip(1).forEach(mask::learn);
                if (hook.webhook() != null) {
                    mask.learn(hook.webhook());
                }
            }
            return new RedactedConfig(config, DocumentCodec.toJson(config) + "\n");
        }

        private static void learnUser(String address, SecretMask mask) {
            int at = address.lastIndexOf('@');
            if (at > 0) {
                mask.learn(address.substring(0, at));
                mask.learn(address.substring(address.indexOf(':') + 1, Math.max(at, address.indexOf(':') + 1)));
            }
        }

        /** Error messages about the file quote it. */
        private static void learnAll(ConfigFile file, SecretMask mask) {
            try {
                if (Files.size(file.path()) <= MOST_BYTES) {
                    String text = new String(Files.readAllBytes(file.path()), StandardCharsets.UTF_8);
                    for (String line : Splitter.on('\n').split(text)) {
                        int value = line.indexOf(':') + 1;
                        mask.learn(line.substring(value).strip());
                        Splitter.onPattern("[\\s,\"'{}\\[\\]]+")
                                .omitEmptyStrings()
                                .split(line.substring(value))
                                .forEach(mask::learn);
                    }
                }
            } catch (IOException e) {
                // Then no message quotes it either.
                return;
            }
        }
    }
}
