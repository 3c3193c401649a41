package io.homeostat.actuate.launch;

import com.google.common.base.Splitter;
import com.google.common.primitives.Longs;
import io.homeostat.desired.platform.MappedNumbers;
import io.homeostat.observe.process.Account;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.PrimitiveIterator;

/**
 * Finds a user number that nobody has, in whatever user namespace this process is. Only root could start a process of such a user.
 *
 * <p>It is the same each time as long as neither accounts nor the namespace change, so what an interrupted change has left is known by it.
 */
final class UnusedUser {
    /** (uid_t) -1 of 16 bits, reserved since. A small namespace, as podman --userns=auto makes them, does not have it. */
    private static final int RESERVED = 65_535;

    /** Above it are the numbers of nobody, who stands for all that are not mapped, and {@link #RESERVED}. */
    private static final int HIGHEST = 65_533;

    private static final Path SUBORDINATES = Path.of("/etc/subuid");
    private static final Splitter FIELDS = Splitter.on(':');

    private final MappedNumbers users;
    private final MappedNumbers groups;
    private final Known known;

    /** Knows the users of a machine. */
    @FunctionalInterface
    interface Known {
        /** Returns whether a number is a user's, or a user may take it. */
        boolean isSomebodys(int number) throws IOException, InterruptedException;
    }

    UnusedUser(MappedNumbers users, MappedNumbers groups, Known known) {
        this.users = users;
        this.groups = groups;
        this.known = known;
    }

    static UnusedUser ofThisMachine() throws IOException {
        return new UnusedUser(
                MappedNumbers.users(),
                MappedNumbers.groups(),
                number -> Account.find(Integer.toString(number)).isPresent() || isSubordinate(number, SUBORDINATES));
    }

    /**
     * Returns a number that is nobody's, neither those of two users who may have no account.
     *
     * @throws IOException when there is none
     */
    int find(int one, int other) throws IOException, InterruptedException {
        if (users.contains(RESERVED)) {
            return RESERVED;
        }
        for (PrimitiveIterator.OfLong numbers = users.downFrom(HIGHEST).iterator(); numbers.hasNext(); ) {
            int number = Math.toIntExact(numbers.nextLong());
            if (number != 0 && number != one && number != other && !known.isSomebodys(number)) {
                return number;
            }
        }
        throw new IOException("files that change hands are nobody's in between, but each number of this user namespace"
                + " (/proc/self/uid_map) is somebody's; map more, best all up to " + RESERVED);
    }

    /**
     * Makes sure that the kernel gives something to a user and a group.
     *
     * @throws IOException when it would not
     */
    void checkMapped(int user, int group) throws IOException {
        checkMapped(users, user, "user", "uid_map");
        checkMapped(groups, group, "group", "gid_map");
    }

    private static void checkMapped(MappedNumbers numbers, int number, String kind, String map) throws IOException {
        if (!numbers.contains(number)) {
            throw new IOException(kind + " " + number + " is not mapped in this user namespace (/proc/self/" + map
                    + "), so that nothing can be given to it, or taken from it; map that number, too");
        }
    }

    /** @param file subuid(5); there need be none */
    static boolean isSubordinate(int number, Path file) throws IOException {
        try {
            return Files.readAllLines(file, StandardCharsets.ISO_8859_1).stream()
                    .anyMatch(line -> {
                        List<String> fields = FIELDS.splitToList(line);
                        Long first = fields.size() == 3 ? Longs.tryParse(fields.get(1)) : null;
                        Long count = fields.size() == 3 ? Longs.tryParse(fields.get(2)) : null;
                        return first != null && count != null && number >= first && number - first < count;
                    });
        } catch (NoSuchFileException e) {
            return false;
        }
    }
}
