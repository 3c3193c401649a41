package io.homeostat.e2e.bench;

import io.homeostat.e2e.measure.Tools;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Optional;

/**
 * Where, when and of what it was measured.
 *
 * @param load of the machine before, as in /proc/loadavg
 * @param commit of the checkout, with {@code +} when it had changes
 */
record Machine(
        String date,
        String commit,
        String processor,
        int cores,
        int memoryMebibytes,
        String kernel,
        String java,
        String load) {
    private static final int KIB_PER_MIB = 1024;
    private static final int COMMIT_DIGITS = 12;

    static Machine here() throws IOException, InterruptedException {
        return new Machine(
                Instant.now().truncatedTo(ChronoUnit.SECONDS).toString(),
                head(),
                field(Path.of("/proc/cpuinfo"), "model name").orElse(System.getProperty("os.arch")),
                Runtime.getRuntime().availableProcessors(),
                Integer.parseInt(field(Path.of("/proc/meminfo"), "MemTotal")
                                .orElse("0")
                                .replaceAll("[^0-9]", ""))
                        / KIB_PER_MIB,
                System.getProperty("os.name") + " " + System.getProperty("os.version"),
                System.getProperty("java.vendor.version", Runtime.version().toString()),
                Files.readString(Path.of("/proc/loadavg")).strip());
    }

    private static Optional<String> field(Path file, String name) throws IOException {
        return Files.readAllLines(file).stream()
                .filter(line -> line.startsWith(name))
                .map(line -> line.substring(line.indexOf(':') + 1).strip())
                .findFirst();
    }

    private static String head() throws IOException, InterruptedException {
        Path root = Path.of(System.getProperty("homeostat.root", "."));
        if (Tools.find("git").isEmpty() || Files.notExists(root.resolve(".git"))) {
            return "unknown";
        }
        String commit = git(root, "rev-parse", "HEAD");
        String changes = git(root, "status", "--porcelain", "--untracked-files=no");
        return commit.length() < COMMIT_DIGITS
                ? "unknown"
                : commit.substring(0, COMMIT_DIGITS) + (changes.isEmpty() ? "" : "+");
    }

    private static String git(Path root, String... words) throws IOException, InterruptedException {
        ProcessBuilder builder = new ProcessBuilder("git", "-C", root.toString());
        builder.command().addAll(List.of(words));
        Process process = builder.redirectError(ProcessBuilder.Redirect.DISCARD).start();
        String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
        return process.waitFor() == 0 ? said : "";
    }
}
