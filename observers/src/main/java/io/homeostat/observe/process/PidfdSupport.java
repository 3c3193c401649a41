package io.homeostat.observe.process;

import java.util.Optional;

/** Whether this kernel lets us watch processes, pidfd_open(2): not before Linux 5.3, nor where a filter of system calls refuses it. */
public final class PidfdSupport {
    private PidfdSupport() {}

    /** Why it does not; empty when it does. Opens and closes a descriptor of this process. */
    public static Optional<String> problem() {
        int descriptor = Libc.pidfdOpen(ProcessHandle.current().pid());
        if (descriptor < 0) {
            return Optional.of("pidfd_open failed with errno " + -descriptor);
        }
        int closed = Libc.close(descriptor);
        return closed < 0 ? Optional.of("close failed with errno " + -closed) : Optional.empty();
    }
}
