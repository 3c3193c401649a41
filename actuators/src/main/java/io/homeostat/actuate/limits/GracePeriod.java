package io.homeostat.actuate.limits;

import io.homeostat.observe.limits.CgroupLayout;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes moves of processes between control groups quick. Before a move the kernel waits for a grace period, in which all processors pass a
 * quiet state: 6 ms on a busy machine, 17 on an idle one. For about as long afterwards later moves don't have to. So one is begun as soon as a
 * launch may follow, by a move that moves nothing: ours, to the group that we are in.
 */
public final class GracePeriod {
    private static final Logger LOG = LoggerFactory.getLogger(GracePeriod.class);

    private final CgroupLayout layout;
    private final Path proc;
    private final ControlFiles files;
    private final String self = Long.toString(ProcessHandle.current().pid());
    private final AtomicBoolean underWay = new AtomicBoolean();

    // Used by whoever has one under way.
    private String groups = "";
    private Optional<Path> procs = Optional.empty();

    public GracePeriod(CgroupLayout layout) {
        this(layout, Path.of("/proc"), ControlFiles.ofTheKernel());
    }

    GracePeriod(CgroupLayout layout, Path proc, ControlFiles files) {
        this.layout = layout;
        this.proc = proc;
        this.files = files;
    }

    /** Begins one, unless one is under way. Returns at once; that it can't begin one costs time, nothing else. */
    public void begin() {
        if (!layout.hierarchies().isEmpty() && underWay.compareAndSet(false, true)) {
            Thread.ofVirtual().name("grace-period").start(this::pass);
        }
    }

    boolean isUnderWay() {
        return underWay.get();
    }

    private void pass() {
        try {
            Optional<Path> own = own();
            if (own.isPresent()) {
                files.write(own.get(), self);
            }
        } catch (IOException | RuntimeException e) {
            LOG.debug("no grace period is begun ahead: {}", e.getMessage());
        } finally {
            underWay.set(false);
        }
    }

    /** Of the group that we are in; none that does not list us, as when this is a namespace and the files are those of the host. */
    private Optional<Path> own() throws IOException {
        String now = Files.readString(proc.resolve("self/cgroup"));
        if (!now.equals(groups)) {
            // Listing takes long where there are thousands of keepers, which are in our group.
            procs = layout.procs(now, ProcessHandle.current().pid()).stream().findFirst();
            groups = now;
        }
        return procs;
    }
}
