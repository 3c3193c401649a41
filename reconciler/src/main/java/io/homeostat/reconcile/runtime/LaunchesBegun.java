package io.homeostat.reconcile.runtime;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** The launches that this process is creating at this moment: whoever looks meanwhile waits for what comes of them. */
public final class LaunchesBegun {
    private final Set<String> launchIds = ConcurrentHashMap.newKeySet();

    public void begin(String launchId) {
        launchIds.add(launchId);
    }

    public void end(String launchId) {
        launchIds.remove(launchId);
    }

    public boolean contains(String launchId) {
        return launchIds.contains(launchId);
    }
}
