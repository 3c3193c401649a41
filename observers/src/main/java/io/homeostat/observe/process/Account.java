package io.homeostat.observe.process;

import com.google.common.base.Splitter;
import com.google.common.collect.ImmutableMap;
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

    /** What login(1) takes for an empty field of passwd(5). */
    private static final String DEFAULT_SHELL = "/bin/sh";

    /** Without a language, so that texts and their order are the same on every machine; with all letters. */
    private static final String LANGUAGE = "C.UTF-8";

    /** Looks up a user by name or number, in /etc/passwd and then in the machine's other databases. */
    public static Optional<Account> find(String user) throws IOException, InterruptedException {
        Optional<Account> local = find(PASSWD, user);
        return local.isPresent() ? local : directory(user);
    }

    static Optional<Account> find(Path passwd, String user) throws IOException {
        // Any byte is a character of it: names of people are written there in whatever was usual.
        try (Stream<String> lines = Files.lines(passwd, StandardCharsets.ISO_8859_1)) {
            return lines.flatMap(line -> parse(line).stream())
                    .filter(account -> account.name.equals(user)
                            || Integer.toString(account.uid).equals(user))
                    .findFirst();
        }
    }

    /** The user that we are; one without a name has its number as one, and no home. */
    public static Account ours() throws IOException, InterruptedException {
        String number = Integer.toString(ourUid());
        Optional<Account> known = find(number);
        return known.isPresent()
                ? known.get()
                : new Account(
                        number,
                        ourUid(),
                        (Integer) Files.getAttribute(Path.of("/proc/self"), "unix:gid"),
                        "/",
                        DEFAULT_SHELL);
    }

    /**
     * The environment that every program of this user begins with, whatever ours is: what a workload finds must not depend on who
     * launched it.
     */
    public ImmutableMap<String, String> environment() {
        return ImmutableMap.of(
                "PATH",
                Executables.DEFAULT_PATH,
                "HOME",
                home.isEmpty() ? "/" : home,
                "USER",
                name,
                "LOGNAME",
                name,
                "SHELL",
                shell.isEmpty() ? DEFAULT_SHELL : shell,
                "LANG",
                LANGUAGE);
    }

    /** A directory on the way to a file that certainly bars this user; empty when there is none. */
    public Optional<Path> barredOnTheWayTo(Path file) throws IOException {
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
