package io.homeostat.reconcile.agent;

import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.ProgramUser;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.observe.Observer;
import io.homeostat.observe.files.FileContent;
import io.homeostat.observe.watch.FileChanges;
import io.homeostat.reconcile.loop.PassListener;
import io.homeostat.reconcile.plan.Situation;
import io.homeostat.reconcile.plan.WorkloadPlan;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Tells when a file whose content matters to a workload is no longer what the workload's last pass has seen. */
final class ContentWatcher implements PassListener, AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(ContentWatcher.class);

    /** Within this many workloads are declared at once, as when the agent starts; the files of all of them are watched together. */
    private static final Duration GATHERING = Duration.ofMillis(100);

    private final Files observer;
    private final Consumer<WorkloadId> onChange;
    private final PeriodicTasks tasks = new PeriodicTasks("file-contents");
    private final ConcurrentMap<WorkloadId, Seen> seen = new ConcurrentHashMap<>();
    private ImmutableSet<Path> watched = ImmutableSet.of();
    private @Nullable FileChanges changes;

    /** As {@link Observer#files}. */
    @FunctionalInterface
    interface Files {
        ImmutableMap<String, FileContent> look(@Nullable ProgramUser user, ImmutableSet<String> paths);
    }

    private record Seen(@Nullable ProgramUser user, ImmutableMap<String, FileContent> files) {}

    /**
     * @param observer says what is at paths now
     * @param onChange must not block
     */
    ContentWatcher(Files observer, Consumer<WorkloadId> onChange) {
        this.observer = observer;
        this.onChange = onChange;
    }

    @Override
    public void looked(Situation situation, WorkloadPlan plan) {
        ImmutableMap<String, FileContent> files = situation.seen().files();
        Declaration declared = situation.declared();
        ProgramUser user = declared == null ? null : declared.workload().spec().runsAs();
        Seen before = files.isEmpty() ? seen.remove(situation.id()) : seen.put(situation.id(), new Seen(user, files));
        ImmutableSet<String> pathsBefore =
                before == null ? ImmutableSet.of() : before.files().keySet();
        if (!files.keySet().equals(pathsBefore)) {
            tasks.instead(GATHERING, "watching files whose contents matter", this::watch);
        }
    }

    private synchronized void watch() {
        ImmutableSet<Path> paths = seen.values().stream()
                .flatMap(one -> one.files().keySet().stream())
                .flatMap(ContentWatcher::path)
                .collect(ImmutableSet.toImmutableSet());
        if (paths.equals(watched)) {
            return;
        }
        release();
        watched = paths;
        changes = paths.isEmpty() ? null : FileChanges.ofFiles(paths, this::compare);
        // For what has changed since it was seen and before it was watched.
        compare();
    }

    private static Stream<Path> path(String name) {
        try {
            return Stream.of(Path.of(name));
        } catch (InvalidPathException e) {
            LOG.debug("no file can be called {}: {}", name, e.getReason());
            return Stream.empty();
        }
    }

    private void compare() {
        seen.forEach((id, one) -> {
            if (!observer.look(one.user(), one.files().keySet()).equals(one.files())) {
                onChange.accept(id);
            }
        });
    }

    private void release() {
        if (changes != null) {
            changes.close();
            changes = null;
        }
    }

    @Override
    public void close() {
        tasks.close();
        synchronized (this) {
            release();
        }
    }
}
