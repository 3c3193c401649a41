package io.homeostat.desired.platform;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * What is left to do when this process has done its work; without any of it, it only ends later. There is one in a process, as of what it is
 * for: who leaves something, such as libraries with threads of their own, knows no command that it is done for.
 */
public final class ProcessEnd implements AutoCloseable {
    private static final ProcessEnd THIS = new ProcessEnd();

    private final Queue<Runnable> left = new ConcurrentLinkedQueue<>();

    private ProcessEnd() {}

    /** The end of this process, which closes it itself: not every command is one of its own. */
    public static ProcessEnd ofThis() {
        return THIS;
    }

    /** Leaves something for the end, if it comes to one. */
    public void leave(Runnable action) {
        left.add(action);
    }

    /** Does what was left, each once. */
    @Override
    public void close() {
        for (Runnable action = left.poll(); action != null; action = left.poll()) {
            action.run();
        }
    }
}
