package io.homeostat.reconcile.sim;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;

/** Changes of directories that are visible and not yet durable: a power cut may take them back, newest first. */
final class Unsynced {
    private final Map<String, List<Change>> changes = new HashMap<>();

    private record Change(String name, Runnable undo) {}

    /**
     * Something in a directory was changed.
     *
     * @param name in that directory
     */
    void changed(String directory, String name, Runnable undo) {
        changes.computeIfAbsent(directory, any -> new ArrayList<>()).add(new Change(name, undo));
    }

    /** A directory is made durable with all names in it, whoever changed them. */
    void sync(String directory) {
        changes.remove(directory);
    }

    boolean isDurable(String directory, String name) {
        return changes.getOrDefault(directory, List.of()).stream()
                .noneMatch(change -> change.name().equals(name));
    }

    /** @param lost whether the changes of a directory are gone; they become durable in order, so here all or none of them */
    void powerFails(Predicate<String> lost) {
        changes.forEach((directory, some) -> {
            if (lost.test(directory)) {
                some.reversed().forEach(change -> change.undo().run());
            }
        });
        changes.clear();
    }
}
