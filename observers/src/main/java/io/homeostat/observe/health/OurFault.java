package io.homeostat.observe.health;

import java.io.IOException;
import java.io.InputStream;
import java.net.BindException;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;

/** Tells a question that could not be asked from one that was answered badly: the first says nothing about whoever was asked. */
final class OurFault {
    private OurFault() {}

    /**
     * Whether a failed connection or start of a program was our own fault: no right to it, no descriptor, no memory. Java has a type only for the
     * first, and words the others in the language of the system.
     */
    static boolean is(Throwable cause) {
        // What java.net makes of EACCES, also from connect.
        if (cause instanceof BindException || cause instanceof AccessDeniedException) {
            return true;
        }
        String message = String.valueOf(cause.getMessage()).toLowerCase(Locale.ROOT);
        return message.contains("too many open files")
                || message.contains("cannot allocate memory")
                || message.contains("permission denied")
                || message.contains("operation not permitted")
                || !descriptorLeft();
    }

    private static boolean descriptorLeft() {
        try (InputStream file = Files.newInputStream(Path.of("/dev/null"))) {
            return file.read() < 0;
        } catch (IOException e) {
            return false;
        }
    }
}
