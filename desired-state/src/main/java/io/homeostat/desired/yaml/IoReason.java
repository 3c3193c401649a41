package io.homeostat.desired.yaml;

import io.homeostat.desired.platform.FileOwner;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;

/** Why something couldn't be read, for people. */
public final class IoReason {
    private IoReason() {}

    /** The reason in a few words, also of what only wraps an {@link IOException}; without the path, which whoever reports it says anyway. */
    public static String of(Exception e) {
        Throwable cause = e.getCause() instanceof IOException io ? io : e;
        return switch (cause) {
            case AccessDeniedException denied -> "permission denied";
            case NoSuchFileException missing -> "it is gone";
            case NotDirectoryException other -> "it is no directory";
            case FileSystemException failed when failed.getReason() != null -> failed.getReason();
            default -> String.valueOf(cause.getMessage());
        };
    }

    /** The same for a look at several files: after the one that was refused, and with whose that is. */
    public static String withFile(IOException e) {
        if (!(e instanceof FileSystemException failed) || failed.getFile() == null) {
            return String.valueOf(e.getMessage());
        }
        String whose = e instanceof AccessDeniedException
                ? FileOwner.refusing(Path.of(failed.getFile()))
                        .map(owner -> ", it belongs to " + owner.words())
                        .orElse("")
                : "";
        return failed.getFile() + ": " + of(e) + whose;
    }
}
