package io.homeostat.desired.yaml;

import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;

/** Why something couldn't be read, without the path that whoever reports it says anyway. */
public final class IoReason {
    private IoReason() {}

    /** The reason in a few words, also of what only wraps an {@link IOException}. */
    public static String of(Exception e) {
        Throwable cause = e.getCause() instanceof IOException io ? io : e;
        return switch (cause) {
            case AccessDeniedException denied -> "permission denied";
            case NoSuchFileException missing -> "it is gone";
            case FileSystemException failed when failed.getReason() != null -> failed.getReason();
            default -> String.valueOf(cause.getMessage());
        };
    }
}
