package io.homeostat.reconcile.cli;

import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.common.base.Splitter;
import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.source.MachineSources;
import io.homeostat.desired.yaml.AgentConfigReader;
import io.homeostat.desired.yaml.Choice;
import io.homeostat.reconcile.command.diagnostics.ControlPlaneCheck;
import io.homeostat.reconcile.command.diagnostics.Doctor;
import io.homeostat.reconcile.command.diagnostics.Doctor.Finding;
import io.homeostat.reconcile.command.diagnostics.ListenChecks;
import io.homeostat.reconcile.command.diagnostics.ReceiverChecks;
import io.homeostat.reconcile.command.diagnostics.SetChecks;
import io.homeostat.reconcile.command.diagnostics.TrustChecks;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.environment.ConfigFile;
import io.homeostat.reconcile.command.environment.ExitStatus;
import io.homeostat.reconcile.command.environment.UserDirectories;
import io.homeostat.reconcile.command.output.Json;
import io.homeostat.reconcile.command.output.Text;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Says what this host can and can't do, and what to do about it. */
record DoctorReport(Invocation typed) {
    int run() {
        ImmutableList<Finding> findings = findings();
        if (typed.console().json()) {
            ObjectNode json = Json.versioned();
            json.set(
                    "findings",
                    Json.array(
                            findings,
                            finding -> Json.object()
                                    .put("check", finding.check())
                                    .put("level", finding.level().word())
                                    .put("message", finding.message())
                                    .put("remedy", finding.remedy())));
            Json.print(typed.console().out(), json);
        } else {
            findings.forEach(finding -> typed.console().out().println(line(finding)));
        }
        return findings.stream().anyMatch(finding -> finding.level() == Finding.Level.FAIL)
                ? ExitStatus.FAILED
                : ExitStatus.OK;
    }

    /** The configuration first: with one that is wrong the rest is looked at all the same, see {@link Invocation#layout}. */
    ImmutableList<Finding> findings() {
        ImmutableList.Builder<Finding> findings = ImmutableList.builder();
        ConfigFile file = typed.configFile();
        AgentConfig config;
        try {
            config = file.read();
            findings.add(new Finding("configuration", Finding.Level.OK, words(file), ""));
        } catch (CommandFailure e) {
            config = AgentConfigReader.defaults();
            findings.add(new Finding(
                    "configuration", Finding.Level.FAIL, String.valueOf(e.getMessage()), "correct the file"));
        }
        UserDirectories directories = new UserDirectories(typed.environment());
        Layout layout;
        try {
            layout = typed.layout(file);
        } catch (CommandFailure e) {
            // Nothing else is looked at there: who can change it could have that done as this user.
            return findings.add(new Finding("directories", Finding.Level.FAIL, String.valueOf(e.getMessage()), ""))
                    .build();
        }
        List<String> files = config.sources().files();
        Stream<Path> sources = files == null
                ? directories.desiredFiles().stream()
                : files.stream().map(Path::of);
        Stream<Path> installed =
                config.sources().local().directories().stream().map(Path::of).filter(Files::exists);
        List<Path> all = Stream.concat(sources, installed).toList();
        AgentConfig.ControlPlane controlPlane = config.sources().controlPlane();
        if (controlPlane != null) {
            findings.add(ControlPlaneCheck.look(controlPlane));
        }
        boolean root = typed.environment().isRoot();
        MachineSources read = new MachineSources(config, directories::desiredFiles, Choice.ALL, root);
        findings.addAll(TrustChecks.look(
                file.path(),
                all,
                config,
                root,
                read.untrusted(typed.environment().clock())));
        findings.addAll(SetChecks.look(config, layout));
        findings.addAll(ListenChecks.look(config, layout));
        findings.addAll(ReceiverChecks.look(config, Path.of(typed.environment().journalSocket())));
        return findings.addAll(new Doctor(layout, all, root, typed.environment().clock()).look())
                .build();
    }

    private static String words(ConfigFile file) {
        return file.path() + (Files.exists(file.path()) ? " is valid" : " is not there, so all has its default");
    }

    /** What is more than one line, such as the mistakes in a file, is indented below its check. */
    static String line(Finding finding) {
        String message = Splitter.on('\n')
                .splitToStream(finding.message())
                .map(Text::oneLine)
                .collect(Collectors.joining(System.lineSeparator() + " ".repeat(23)));
        String line = String.format("%-4s  %-15s  %s", finding.level().word(), finding.check(), message);
        return finding.remedy().isEmpty() ? line : line + " -- " + Text.oneLine(finding.remedy());
    }
}
