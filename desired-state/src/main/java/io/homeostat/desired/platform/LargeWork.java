package io.homeostat.desired.platform;

import java.util.concurrent.locks.ReentrantLock;

/**
 * Work that takes up to half of an agent's heap, as others choose: to unpack an archive of many entries, and to read a large set. A process
 * does one piece of it at a time.
 */
public final class LargeWork {
    /** Held while such work is done. Fair: who has more of it each time keeps nobody else out. */
    public static final ReentrantLock LOCK = new ReentrantLock(true);

    private LargeWork() {}
}
