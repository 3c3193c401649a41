package io.homeostat.reconcile.sim;

import com.google.common.hash.HashCode;
import com.google.common.hash.Hasher;
import com.google.common.hash.Hashing;
import io.homeostat.reconcile.plan.Planner;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;

/** Where the seeds of simulated histories begin. */
public final class CommitSeed {
    private CommitSeed() {}

    /** Another one for each commit, the same for all runs of one. */
    public static long first() throws Exception {
        byte[] id = commit();
        // Without git, by the program as it was compiled. The shift leaves room for the seeds that follow.
        return (id.length > 0 ? Hashing.sha256().hashBytes(id) : program()).asLong() >>> 16;
    }

    private static byte[] commit() throws InterruptedException {
        try {
            Process git = new ProcessBuilder("git", "rev-parse", "HEAD")
                    .redirectError(ProcessBuilder.Redirect.DISCARD)
                    .start();
            byte[] id = git.getInputStream().readAllBytes();
            return git.waitFor() == 0 ? id : new byte[0];
        } catch (IOException e) {
            return new byte[0];
        }
    }

    private static HashCode program() throws Exception {
        Hasher hasher = Hashing.sha256().newHasher();
        Path classes = Path.of(Planner.class
                .getProtectionDomain()
                .getCodeSource()
                .getLocation()
                .toURI());
        try (Stream<Path> files = Files.walk(classes)) {
            for (Path file : files.filter(Files::isRegularFile).sorted().toList()) {
                hasher.putBytes(Files.readAllBytes(file));
            }
        }
        return hasher.hash();
    }
}
