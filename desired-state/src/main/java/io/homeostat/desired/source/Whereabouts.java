package io.homeostat.desired.source;

import io.homeostat.desired.yaml.IoReason;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.time.Instant;

/** What became of a file: looked at from the root on, since only so "it is gone" and "nobody can tell" are told apart. */
sealed interface Whereabouts {
    /**
     * It is there.
     *
     * @param changed when it was last written
     */
    record There(Instant changed) implements Whereabouts {}

    /**
     * It is not there.
     *
     * @param changed when the place where it is missing last changed
     */
    record Gone(Instant changed) implements Whereabouts {}

    /**
     * It can't be said.
     *
     * @param path what could not be looked at
     */
    record Unknown(Path path, String reason) implements Whereabouts {}

    /**
     * Looks for a file.
     *
     * @param file an absolute path
     */
    static Whereabouts of(Path file) {
        Path root = file.getRoot();
        Instant changed = Instant.EPOCH;
        Path at = root;
        for (int i = 0; i <= file.getNameCount(); i++) {
            at = i == 0 ? root : at.resolve(file.getName(i - 1));
            try {
                BasicFileAttributes attributes = Files.readAttributes(at, BasicFileAttributes.class);
                changed = attributes.lastModifiedTime().toInstant();
                if (i < file.getNameCount() && !attributes.isDirectory()) {
                    return new Gone(changed);
                }
            } catch (NoSuchFileException e) {
                return Files.isSymbolicLink(at) ? new Unknown(at, "a symbolic link to nothing") : new Gone(changed);
            } catch (IOException e) {
                return new Unknown(at, "can't be looked at: " + IoReason.of(e));
            }
        }
        return new There(changed);
    }
}
