package io.homeostat.actuate.launch;

import com.google.common.base.Splitter;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.observe.process.Executables;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFileAttributes;
import java.nio.file.attribute.PosixFilePermission;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

/** A user, passwd(5). */
public record Account(String name, int uid, int gid, String home, String shell) {
    private static final Path PASSWD = Path.of("/etc/passwd");

    /**
     * Looks up a user by name or number, in /etc/passwd and then in the machine's other databases.
     *
     * @throws ActuationFailure when there is no such user
     */
    static Account find(String user) throws ActuationFailure, InterruptedException {
        try {
            Optional<Account> local;
            try (Stream<String> lines = Files.lines(PASSWD, StandardCharsets.UTF_8)) {
                local = lines.flatMap(line -> parse(line).stream())
                        .filter(account -> account.name.equals(user)
                                || Integer.toString(account.uid).equals(user))
                        .findFirst();
            }
            Optional<Account> found = local.isPresent() ? local : directory(user);
            return found.orElseThrow(() -> new ActuationFailure(
                    FailureCause.Kind.USER,
                    "there is no user " + user + " on this machine; create it or declare another spec.user",
                    false));
        } catch (IOException e) {
            throw new ActuationFailure("could not look up the user " + user + ": " + e, false, e);
        }
    }

    /** A directory on the way to a file that certainly bars this user; empty when there is none. */
    Optional<Path> barredOnTheWayTo(Path file) throws IOException {
        for (Path directory = file.getParent(); directory != null; directory = directory.getParent()) {
            PosixFileAttributes attributes = Files.readAttributes(directory, PosixFileAttributes.class);
            Set<PosixFilePermission> rights = attributes.permissions();
            // Group membership is decided by the system, and an access control list shows as group permissions.
            boolean passable = rights.contains(PosixFilePermission.OTHERS_EXECUTE)
                    || rights.contains(PosixFilePermission.GROUP_EXECUTE)
                    || (Integer) Files.getAttribute(directory, "unix:uid") == uid;
            if (!passable) {
                return Optional.of(directory);
            }
        }
        return Optional.empty();
    }

    static int ourUid() throws IOException {
        return (Integer) Files.getAttribute(Path.of("/proc/self"), "unix:uid");
    }

    private static Optional<Account> directory(String user) throws IOException, InterruptedException {
        Optional<Path> getent = Executables.find("getent");
        if (getent.isEmpty()) {
            return Optional.empty();
        }
        Process process = new ProcessBuilder(getent.get().toString(), "passwd", "--", user)
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        process.getOutputStream().close();
        String answer = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        process.waitFor();
        return answer.lines().flatMap(line -> parse(line).stream()).findFirst();
    }

    private static Optional<Account> parse(String line) {
        List<String> fields = Splitter.on(':').splitToList(line);
        if (fields.size() < 7) {
            return Optional.empty();
        }
        try {
            return Optional.of(new Account(
                    fields.get(0),
                    Integer.parseInt(fields.get(2)),
                    Integer.parseInt(fields.get(3)),
                    fields.get(5),
                    fields.get(6)));
        } catch (NumberFormatException e) {
            return Optional.empty();
        }
    }
}
