package io.homeostat.e2e.soak;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/** Files with declarations; whoever reads one sees it whole. */
final class Declarations {
    private static final int KEPT = 3;
    private static final String SHORT_PAUSES = "restart: {maxDelay: 1s}, start: {attempts: 10}, stop: {timeout: 5s}";

    private final Daemon daemon;
    private final Path archive;

    Declarations(Daemon daemon) throws IOException, InterruptedException {
        this.daemon = daemon;
        Path tree = Files.createDirectories(daemon.root().resolve("tree"));
        Path run = Files.writeString(tree.resolve("run"), "#!/bin/sh\nexec sleep 100000\n");
        if (!run.toFile().setExecutable(true)) {
            throw new IOException("cannot make " + run + " executable");
        }
        Files.writeString(tree.resolve("data"), "data\n".repeat(10_000));
        archive = daemon.root().resolve("archive.tar.gz");
        int exit = new ProcessBuilder("tar", "czf", archive.toString(), "-C", tree.toString(), ".")
                .start()
                .waitFor();
        if (exit != 0) {
            throw new IOException("tar exited with " + exit);
        }
    }

    /** A process that writes a line, runs for a while, and one in seven of them not for long. */
    void script(String name, int number) throws IOException {
        write(daemon.desired().resolve(name + ".yaml"), process(name, number));
    }

    /** The same, in a file that nobody watches. */
    String applied(String name, int number) throws IOException {
        Path file = daemon.root().resolve(name + ".yaml");
        write(file, process(name, number));
        return file.toString();
    }

    private static String process(String name, int number) {
        String seconds = number % 7 == 0 ? "3" : "100000";
        return """
                apiVersion: homeostat.io/v1
                kind: Process
                metadata: {name: %s}
                spec: {install: local, entryPoint: /bin/sh, arguments: ["-c", "echo %d; exec sleep %s"], %s}
                """.formatted(name, number, seconds, SHORT_PAUSES);
    }

    /** A revision that there never was. */
    void installed(String name, int number) throws IOException {
        write(daemon.desired().resolve(name + ".yaml"), """
                apiVersion: homeostat.io/v1
                kind: Process
                metadata: {name: %s}
                spec: {revision: r%d, source: {url: "%s"}, entryPoint: run, %s}
                """.formatted(name, number, archive, SHORT_PAUSES));
    }

    void plugin(String name, int number, String revision) throws IOException {
        write(daemon.desired().resolve(name + ".yaml"), """
                apiVersion: homeostat.io/v1
                kind: Plugin
                metadata: {name: %s}
                spec:
                  revision: %s
                  source: {url: "%s"}
                  entryPoint: bin/greeter
                  config: {string: "number %d"}
                  health: {interval: 2s}
                  %s
                """.formatted(
                        name, revision, daemon.greeter(), number, SHORT_PAUSES.replace("}, ", "}\n  ")));
    }

    void breakFile(String name) throws IOException {
        write(daemon.desired().resolve(name + ".yaml"), "apiVersion: homeostat.io/v1\nkind: [\n");
    }

    void withdraw(String name) throws IOException {
        Files.deleteIfExists(daemon.desired().resolve(name + ".yaml"));
    }

    /** All but the youngest few with such a name. */
    void withdrawOld(String prefix) throws IOException {
        try (Stream<Path> files = Files.list(daemon.desired())) {
            List<Path> old = files.filter(file -> file.getFileName().toString().startsWith(prefix))
                    .sorted(Comparator.comparingLong(file -> -file.toFile().lastModified()))
                    .skip(KEPT)
                    .toList();
            for (Path file : old) {
                Files.delete(file);
            }
        }
    }

    private void write(Path file, String text) throws IOException {
        Path whole = Files.writeString(daemon.root().resolve("new"), text);
        Files.move(whole, file, StandardCopyOption.REPLACE_EXISTING);
    }
}
