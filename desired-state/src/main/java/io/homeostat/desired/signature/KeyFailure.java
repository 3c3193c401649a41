package io.homeostat.desired.signature;

import java.io.IOException;
import org.jspecify.annotations.Nullable;

/** A file with keys can't be used. The message names the file and the remedy, and has nothing of what is in it. */
public final class KeyFailure extends Exception {
    private static final long serialVersionUID = 1L;

    /** @param cause why it can't be read; null when it can, and has no such key */
    KeyFailure(String message, @Nullable IOException cause) {
        super(message, cause);
    }
}
