package io.homeostat.reconcile.command.start;

import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.output.Text;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

/** A text of another program that a document is made from. */
record SourceFile(Path path, String text) {
    private static final int LONGEST = 1 << 20;

    static SourceFile read(Path path) {
        try {
            if (Files.exists(path) && !Files.isRegularFile(path)) {
                throw new CommandFailure(path + " is not a file; name the file itself");
            }
            if (Files.size(path) > LONGEST) {
                throw new CommandFailure(path + " is longer than 1 MiB, and can't be what was meant");
            }
            return new SourceFile(path, Files.readString(path, StandardCharsets.UTF_8));
        } catch (NoSuchFileException e) {
            throw new CommandFailure("there is no file " + path, e);
        } catch (IOException e) {
            throw new CommandFailure("cannot read " + path + ": " + CommandFailure.reason(e), e);
        }
    }

    CommandFailure failure(int line, String words) {
        return failure(path.toString(), line, words);
    }

    static CommandFailure failure(String file, int line, String words) {
        return new CommandFailure(file + ":" + line + ": " + Text.oneLine(words));
    }
}
