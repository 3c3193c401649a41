package io.homeostat.observe.process;

import com.google.common.base.Splitter;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Interrupts system calls of a thread, by the signal by which Java itself does that, and which has no other effect. */
public final class ThreadWaker {
    private static final Logger LOG = LoggerFactory.getLogger(ThreadWaker.class);

    /** The signal, two below the highest: Java handles it once a channel or socket was used. */
    private static final int SIGNAL = 62;

    private static final Path STATUS = Path.of("/proc/self/status");
    private static final String CAUGHT = "SigCgt:";
    private static final int HEXADECIMAL = 16;

    private ThreadWaker() {}

    /** Returns what interrupts the system call that the calling thread is in by then; to be run only while the thread exists. */
    public static Runnable ofThisThread() {
        int thread = Libc.gettid();
        return () -> {
            // Whoever does not handle it is ended by it.
            int result = isHandled() ? Libc.signalThread(thread, SIGNAL) : -Libc.EPERM;
            if (result < 0 && result != -Libc.ESRCH) {
                LOG.warn("a thread does not answer, and can't be woken: {}", Libc.words(-result));
            } else {
                LOG.debug("a thread does not answer, and was woken");
            }
        };
    }

    private static boolean isHandled() {
        try {
            String line = Files.readAllLines(STATUS).stream()
                    .filter(each -> each.startsWith(CAUGHT))
                    .findFirst()
                    .orElse(CAUGHT + " 0");
            String mask = Splitter.on(':').splitToList(line).get(1).strip();
            return (Long.parseUnsignedLong(mask, HEXADECIMAL) >>> (SIGNAL - 1) & 1) == 1;
        } catch (IOException | NumberFormatException e) {
            LOG.debug("which signals are handled is not known: {}", e.toString());
            return false;
        }
    }
}
