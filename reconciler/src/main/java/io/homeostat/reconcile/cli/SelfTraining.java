package io.homeostat.reconcile.cli;

import com.google.common.collect.ImmutableMap;
import com.google.common.io.MoreFiles;
import com.google.common.io.RecursiveDeleteOption;
import io.homeostat.desired.platform.Layout;
import io.homeostat.observe.health.PluginChannel;
import io.homeostat.reconcile.agent.nomad.NomadDriver;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.environment.Environment;
import io.homeostat.reconcile.command.environment.Environment.Interrupts;
import io.homeostat.reconcile.command.environment.ExitStatus;
import io.homeostat.reconcile.command.environment.GlobalOptions;
import io.homeostat.reconcile.command.environment.GlobalOptions.OutputFormat;
import io.homeostat.reconcile.command.environment.UserDirectories;
import io.homeostat.reconcile.command.output.Ansi;
import io.homeostat.reconcile.command.output.Console;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.zip.GZIPOutputStream;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveOutputStream;

/**
 * Runs the usual commands once, in a temporary directory, so that a JVM that records loaded classes can make an archive of them for
 * faster starts. Prints nothing.
 */
record SelfTraining(Environment outside) {
    private static final int DOCUMENTS = 200;
    private static final int EXECUTABLE = 0100755;
    private static final Duration NO_ANSWER = Duration.ofMillis(200);
    private static final Duration AGENT_TIME = Duration.ofSeconds(10);
    private static final Duration LOOK = Duration.ofMillis(10);

    int run() throws InterruptedException {
        try {
            Path directory = Files.createTempDirectory(
                    "homeostat-", PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
            try {
                return train(directory);
            } finally {
                MoreFiles.deleteRecursively(directory, RecursiveDeleteOption.ALLOW_INSECURE);
            }
        } catch (IOException e) {
            throw new CommandFailure("cannot train in the directory for temporary files: " + e.getMessage(), e);
        }
    }

    private int train(Path directory) throws IOException, InterruptedException {
        Path many = Files.writeString(directory.resolve("many.yaml"), many());
        Path one = Files.writeString(directory.resolve("one.yaml"), one("30"));
        Path changed = Files.writeString(directory.resolve("changed.yaml"), one("31"));
        archive(directory.resolve("archive.tar.gz"));
        // Not what this machine has, which may refuse what is done here, or be wrong.
        Files.writeString(
                config(directory),
                "sources: {files: [" + directory.resolve("none")
                        + "], local: {directories: []}}\nmetrics: {listen: \"\"}\nlog: {level: error}\n");
        try {
            return worst(
                    command(directory, "validate", "-f", many.toString()),
                    command(directory, "plan", "-f", many.toString()),
                    command(directory, "apply", "-f", one.toString()),
                    command(directory, "plan", "-f", many.toString(), "-o", "json"),
                    command(directory, "apply", "-f", changed.toString()),
                    command(directory, "status"),
                    command(directory, "status", "-o", "json"),
                    command(directory, "events"),
                    command(directory, "version"),
                    askAnAgent(directory, one));
        } finally {
            callNobody(directory);
            rehearseTheDriver(directory);
            command(directory, "delete", "process/train", "process/train-archive");
        }
    }

    /** What the agent needs, and what speaks to it, which every command does while one runs. */
    private int askAnAgent(Path directory, Path one) throws IOException, InterruptedException {
        Thread agent = Thread.ofPlatform().start(() -> command(directory, "run"));
        try {
            Path announced = new Layout(directory.resolve("state"), directory.resolve("run"), "").agentFile();
            for (long looks = AGENT_TIME.dividedBy(LOOK); looks > 0 && !Files.exists(announced); looks--) {
                agent.join(LOOK);
            }
            return worst(
                    command(directory, "status"),
                    command(directory, "plan", "-f", one.toString()),
                    command(directory, "apply", "-f", one.toString()));
        } finally {
            agent.interrupt();
            agent.join();
        }
    }

    private static Path config(Path directory) {
        return directory.resolve("agent.yaml");
    }

    private static int worst(int... statuses) {
        int worst = ExitStatus.OK;
        for (int status : statuses) {
            worst = Math.max(worst, status);
        }
        return worst;
    }

    /** A Nomad client starts it three times, and waits for it each time. */
    private void rehearseTheDriver(Path directory) {
        Environment inside = inside(directory);
        new NomadDriver(
                        inside,
                        new Console(inside.out(), inside.err(), OutputFormat.TEXT, new Ansi(false)),
                        new GlobalOptions(
                                OutputFormat.TEXT, Optional.empty(), Optional.empty(), Optional.empty(), true))
                .rehearse(directory.resolve("plugin.sock"));
    }

    private int command(Path directory, String... words) {
        List<String> args = new ArrayList<>(List.of(words));
        args.addAll(List.of(
                Syntax.STATE_DIR,
                directory.resolve("state").toString(),
                Syntax.RUN_DIR,
                directory.resolve("run").toString()));
        return Homeostat.run(args.toArray(String[]::new), inside(directory));
    }

    private Environment inside(Path directory) {
        PrintStream nowhere = new PrintStream(OutputStream.nullOutputStream(), false, StandardCharsets.UTF_8);
        return new Environment(
                // Who is not root has directories of his own there.
                ImmutableMap.of(
                        "HOME",
                        directory.toString(),
                        UserDirectories.CONFIG,
                        config(directory).toString()),
                directory,
                outside.uid(),
                InputStream.nullInputStream(),
                nowhere,
                nowhere,
                false,
                false,
                outside.clock(),
                outside.ticker(),
                outside.documents(),
                Interrupts.none());
    }

    /** What speaks to plugins is most of what there is to load. */
    private void callNobody(Path directory) {
        try (PluginChannel plugins = new PluginChannel(outside.clock())) {
            plugins.status(directory.resolve("nobody.sock"), NO_ANSWER);
        }
    }

    private static String many() {
        StringBuilder documents = new StringBuilder();
        for (int i = 0; i < DOCUMENTS; i++) {
            documents.append("""
                    ---
                    apiVersion: homeostat.io/v1
                    kind: Plugin
                    metadata: {name: plugin-%d, labels: {team: a}}
                    spec:
                      revision: "1"
                      source: {url: "https://127.0.0.1/archive.tar.gz?token=1", timeout: 60s}
                      entryPoint: bin/plugin
                      arguments: ["--verbose"]
                      env: {A: b}
                      config: {struct: {a: 1, b: [true]}}
                      limits: {memory: 64Mi, cpu: 20%%}
                    """.formatted(i));
        }
        return documents.toString();
    }

    private static String one(String seconds) {
        return """
                apiVersion: homeostat.io/v1
                kind: Process
                metadata: {name: train}
                spec:
                  install: local
                  entryPoint: /bin/sleep
                  arguments: ["%s"]
                  stop: {timeout: 2s}
                ---
                apiVersion: homeostat.io/v1
                kind: Process
                metadata: {name: train-archive}
                spec:
                  revision: "1"
                  source: {url: archive.tar.gz}
                  entryPoint: bin/train
                  stop: {timeout: 2s}
                """.formatted(seconds);
    }

    private static void archive(Path file) throws IOException {
        byte[] script = "#!/bin/sh\nexec sleep 30\n".getBytes(StandardCharsets.US_ASCII);
        TarArchiveEntry entry = new TarArchiveEntry("bin/train");
        entry.setMode(EXECUTABLE);
        entry.setSize(script.length);
        try (TarArchiveOutputStream tar =
                new TarArchiveOutputStream(new GZIPOutputStream(Files.newOutputStream(file)))) {
            tar.putArchiveEntry(entry);
            tar.write(script);
            tar.closeArchiveEntry();
        }
    }
}
