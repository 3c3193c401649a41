package io.homeostat.desired.platform;

import com.google.common.collect.ImmutableSet;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadFactory;

/**
 * Virtual threads that a thread dump shows.
 *
 * <p>The JVM's own dump of virtual threads (HotSpotDiagnosticMXBean) can crash the JVM while one of them is mounted or unmounted
 * (JDK-8364343, in JDK 25). {@link Thread#getStackTrace} can't, but needs the thread, and only its creator knows it.
 */
public final class VirtualThreads {

    private static final Set<Thread> RUNNING = ConcurrentHashMap.newKeySet();

    private VirtualThreads() {}

    /**
     * A factory of virtual threads that are among {@link #running} from the beginning of their task to its end.
     *
     * @param prefix of their names; a number follows
     */
    public static ThreadFactory factory(String prefix) {
        ThreadFactory threads = Thread.ofVirtual().name(prefix, 0).factory();
        return task -> threads.newThread(() -> {
            RUNNING.add(Thread.currentThread());
            try {
                task.run();
            } finally {
                RUNNING.remove(Thread.currentThread());
            }
        });
    }

    /** Those that are running now. */
    public static ImmutableSet<Thread> running() {
        return ImmutableSet.copyOf(RUNNING);
    }
}
