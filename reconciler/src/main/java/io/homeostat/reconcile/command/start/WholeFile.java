package io.homeostat.reconcile.command.start;

import io.homeostat.actuate.SecureDirectories;
import io.homeostat.desired.platform.NewFile;
import io.homeostat.reconcile.command.environment.CommandFailure;
import java.io.IOException;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.Objects;

/** A file that is there as a whole or not at all, also after a power failure, and takes the place of another one only when it may. */
public record WholeFile(Path path, boolean replaces) {
    /**
     * Fails when the file can't be written, before there is any work with it.
     *
     * @throws CommandFailure that says what is in the way
     */
    public void require() {
        if (!replaces && Files.exists(path, LinkOption.NOFOLLOW_LINKS)) {
            throw there();
        }
        if (Files.isDirectory(path, LinkOption.NOFOLLOW_LINKS)) {
            throw new CommandFailure(path + " is a directory; name a file in it");
        }
        Path directory = directory();
        if (!Files.isDirectory(directory)) {
            throw new CommandFailure("there is no directory " + directory + "; create it, or choose another place");
        }
    }

    /** Writes a text for its owner alone: it may contain secrets. */
    public void write(String text) {
        try (NewFile file = NewFile.of(path)) {
            try (FileChannel out = file.create(NewFile.OURS)) {
                Channels.newOutputStream(out).write(text.getBytes(StandardCharsets.UTF_8));
                out.force(true);
            }
            take(file);
        } catch (IOException e) {
            throw new CommandFailure("cannot write " + path + ": " + CommandFailure.reason(e), e);
        }
    }

    /** Gives a file its name that is on the disk. */
    void take(NewFile file) throws IOException {
        try {
            if (replaces) {
                file.replace();
            } else {
                file.add();
            }
        } catch (FileAlreadyExistsException e) {
            throw there();
        }
        SecureDirectories.sync(file.directory());
    }

    private CommandFailure there() {
        return new CommandFailure(path + " exists already; choose another name, or replace it with --force");
    }

    Path directory() {
        return Objects.requireNonNull(path.getParent(), "an absolute path");
    }
}
