package io.homeostat.reconcile.runtime.timer;

import io.homeostat.desired.model.Lifecycle.Limits;
import io.homeostat.desired.state.Identity;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.function.Consumer;

/** The timers of one machine, by launch id: since when each runs. They outlive the program that made them. */
public final class Timers {
    private static final ConcurrentMap<Path, Timers> MACHINES = new ConcurrentHashMap<>();

    final Map<String, Instant> running = new ConcurrentHashMap<>();

    /** Those in force, by launch id. */
    final Map<String, Limits> limits = new ConcurrentHashMap<>();

    /** What was known of the instances that they are part of, by launch id. */
    final Map<String, Identity> createdIn = new ConcurrentHashMap<>();

    final Map<String, Identity> seenIn = new ConcurrentHashMap<>();

    /** Who waits for their ends, by launch id. */
    final Map<String, Runnable> waiting = new ConcurrentHashMap<>();

    /** What created ones leave behind, by launch id. */
    final Map<String, String> remains = new ConcurrentHashMap<>();

    /** Whether nothing of {@link #remains} can be removed. */
    boolean sticky;

    /** Called with the launch id when the remains of one are removed. */
    Consumer<String> onDestroy = launchId -> {};

    /** Called when one is told to stop. */
    Runnable onStop = () -> {};

    public static Timers of(Path machine) {
        return MACHINES.computeIfAbsent(machine, path -> new Timers());
    }

    public boolean isWaitedFor(String launchId) {
        return waiting.containsKey(launchId);
    }

    /** Ends one, and tells who waits for that. */
    public void end(String launchId) {
        running.remove(launchId);
        Runnable ended = waiting.remove(launchId);
        if (ended != null) {
            ended.run();
        }
    }
}
