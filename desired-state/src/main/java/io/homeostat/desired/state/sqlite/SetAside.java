package io.homeostat.desired.state.sqlite;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;

/** Moves damaged files out of the way, under names that say what they are; nothing is ever overwritten or deleted. */
final class SetAside {
    private static final DateTimeFormatter STAMP =
            DateTimeFormatter.ofPattern("yyyyMMdd'T'HHmmss'Z'").withZone(ZoneOffset.UTC);

    private SetAside() {}

    /**
     * Puts a complete new database in the place of a damaged one. A power cut leaves either of the two under the database's
     * name, so the event that the new one holds is never lost.
     *
     * @param aside where the damaged one goes; its log, when it has one, beside it as SQLite expects
     */
    static void replace(Path database, Path replacement, Path aside) throws IOException {
        moveCompanions(database, aside);
        if (Files.exists(database)) {
            try {
                Files.createLink(aside, database);
            } catch (UnsupportedOperationException | IOException e) {
                // A file system without hard links; then there is a moment without a database.
                Files.move(database, aside);
            }
        }
        Files.move(replacement, database, StandardCopyOption.ATOMIC_MOVE);
    }

    /** Moves away the log of a database that is itself whole. */
    static Path moveLog(Path database, Instant now) throws IOException {
        Path aside = freeName(database, now);
        moveCompanions(database, aside);
        return StateDirectory.companion(aside, "-wal");
    }

    private static void moveCompanions(Path database, Path aside) throws IOException {
        for (String suffix : StateDirectory.companions()) {
            Path companion = StateDirectory.companion(database, suffix);
            if (Files.exists(companion)) {
                Files.move(companion, StateDirectory.companion(aside, suffix));
            }
        }
    }

    /** A name that nothing has yet: {@code homeostat.db.unreadable-20261120T120000Z}. */
    static Path freeName(Path database, Instant now) {
        String name = database.getFileName() + ".unreadable-" + STAMP.format(now);
        Path candidate = database.resolveSibling(name);
        for (int i = 2; isTaken(candidate); i++) {
            candidate = database.resolveSibling(name + "-" + i);
        }
        return candidate;
    }

    private static boolean isTaken(Path name) {
        return Files.exists(name)
                || StateDirectory.companions().stream()
                        .anyMatch(suffix -> Files.exists(StateDirectory.companion(name, suffix)));
    }
}
