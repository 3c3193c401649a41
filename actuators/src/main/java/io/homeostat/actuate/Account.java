package io.homeostat.actuate;

import com.google.common.base.Splitter;
import io.homeostat.observe.process.Executables;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** A user of this machine, passwd(5). */
public record Account(String name, int uid, int gid, String home, String shell) {
    private static final Path PASSWD = Path.of("/etc/passwd");

    /**
     * Looks a user up by name or number: in /etc/passwd, then wherever the machine keeps its users.
     *
     * @throws ActuationFailure when there is no such user
     */
    public static Account find(String user) throws ActuationFailure, InterruptedException {
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
                    "there is no user " + user + " on this machine; create it or declare another spec.user",
                    false,
                    null));
        } catch (IOException e) {
            throw new ActuationFailure("could not look up the user " + user + ": " + e, false, e);
        }
    }

    /** The number of the user that we are. */
    public static int ourUid() throws IOException {
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
