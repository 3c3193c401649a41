package io.homeostat.reconcile.command.environment;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.platform.FileOwner;
import io.homeostat.desired.yaml.Problem;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.Path;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** A command can't do what it was asked to; the message says what, why and what to do. */
public final class CommandFailure extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final transient ImmutableList<Problem> problems;

    public CommandFailure(String message) {
        super(message);
        this.problems = ImmutableList.of();
    }

    public CommandFailure(String message, @Nullable Throwable cause) {
        super(message, cause);
        this.problems = ImmutableList.of();
    }

    /** @param problems of documents that led to it; they are not told in the message */
    public CommandFailure(String message, ImmutableList<Problem> problems) {
        super(message);
        this.problems = problems;
    }

    public ImmutableList<Problem> problems() {
        return problems;
    }

    /** Without the file, which the messages of the file system begin with. */
    public static String reason(IOException e) {
        if (e instanceof AccessDeniedException denied) {
            return Optional.ofNullable(denied.getFile())
                    .flatMap(file -> FileOwner.refusing(Path.of(file)))
                    .map(owner -> "permission denied; it belongs to " + owner.words() + ", run as that user")
                    .orElse("permission denied; run as the user that the state directory belongs to");
        }
        if (e instanceof FileSystemException failed && failed.getReason() != null) {
            return failed.getReason();
        }
        return e.getMessage() == null ? e.toString() : e.getMessage();
    }
}
