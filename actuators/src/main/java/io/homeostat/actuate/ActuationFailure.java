package io.homeostat.actuate;

import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.desired.state.history.FailureCause.Kind;
import java.io.IOException;
import java.net.ConnectException;
import java.net.UnknownHostException;
import java.net.http.HttpTimeoutException;
import java.nio.channels.UnresolvedAddressException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.NoSuchFileException;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/** A verb failed. The message says what was tried, on what, why it failed and what to do, and contains no secrets. */
public final class ActuationFailure extends Exception {
    private static final long serialVersionUID = 1L;

    private final FailureCause failureCause;
    private final boolean fatal;

    /** @param fatal see {@link #fatal()} */
    public ActuationFailure(FailureCause.Kind kind, String message, boolean fatal) {
        this(FailureCause.of(kind), message, fatal, null);
    }

    /** One that is the fault of the machine: the exception's class says of which kind. */
    public ActuationFailure(String message, boolean fatal, Exception cause) {
        this(causeOf(cause, Kind.INPUT_OUTPUT), message, fatal, cause);
    }

    public ActuationFailure(FailureCause failureCause, String message, boolean fatal, @Nullable Throwable cause) {
        super(message, cause);
        this.failureCause = failureCause;
        this.fatal = fatal;
    }

    /** What an exception of the JDK says by its class. */
    public static FailureCause causeOf(@Nullable Throwable exception, Kind otherwise) {
        for (Throwable each = exception; each != null; each = each.getCause()) {
            if (each instanceof UnresolvedAddressException || each instanceof UnknownHostException) {
                return FailureCause.of(Kind.HOST_UNKNOWN);
            }
        }
        return FailureCause.of(
                switch (exception) {
                    case ConnectException refused -> Kind.NO_CONNECTION;
                    case SSLException tls -> Kind.TLS;
                    case HttpTimeoutException late -> Kind.TIMED_OUT;
                    case AccessDeniedException denied -> Kind.ACCESS_DENIED;
                    case NoSuchFileException missing -> Kind.FILE_MISSING;
                    case FileAlreadyExistsException there -> Kind.FILE_IN_THE_WAY;
                    case IOException full when Disk.isFull(full) -> Kind.DISK_FULL;
                    case null, default -> otherwise;
                });
    }

    /** Why it failed, for programs. */
    public FailureCause failureCause() {
        return failureCause;
    }

    /** Whether trying again is useless until the declaration changes. */
    public boolean fatal() {
        return fatal;
    }
}
