package io.homeostat.reconcile.command.diagnostics;

import com.google.common.base.Splitter;
import com.google.common.collect.ImmutableList;
import io.homeostat.desired.platform.Layout;
import io.homeostat.observe.limits.CgroupLayout;
import io.homeostat.observe.process.ProcFs;
import io.homeostat.reconcile.command.environment.AgentFile;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Clock;
import java.util.Collection;
import java.util.List;
import java.util.Locale;

/** Looks at everything that the agent needs of this host. Creates and changes nothing, neither file nor process. */
public final class Doctor {
    private final ImmutableList<Named> checks;
    private final boolean isRoot;

    interface Check {
        Finding look() throws IOException;
    }

    private record Named(String name, Check check) {}

    /**
     * @param sources directories that declarations are read from
     * @param isRoot whether root asks
     */
    public Doctor(Layout layout, Collection<Path> sources, boolean isRoot, Clock clock) {
        Path proc = Path.of("/proc");
        HostChecks host = new HostChecks(proc, isRoot, clock);
        ImmutableList.Builder<Named> all = ImmutableList.builder();
        all.add(new Named("java", host::java))
                .add(new Named("clock", host::clock))
                .add(new Named("tools", host::tools))
                .add(new Named("pidfd", host::pidfd))
                .add(new Named("proc", host::proc))
                .add(new Named("cgroups", () -> host.cgroups(CgroupLayout.detect(layout))))
                .add(new Named("inotify", host::inotify))
                .add(new Named("open files", host::openFiles));
        StateChecks state = new StateChecks(layout, proc);
        all.add(new Named("state directory", state::stateDirectory))
                .add(new Named("disk", state::disk))
                .add(new Named("run directory", state::runDirectory))
                .add(new Named("sockets", state::sockets))
                .add(new Named("lock", state::lock))
                .add(new Named("agent", state::agent))
                .add(new Named(
                        "ceiling",
                        () -> host.ceiling(
                                Path.of("/sys/fs/cgroup"),
                                AgentFile.running(layout, new ProcFs())
                                        .map(agent -> agent.identity().pid()))))
                .add(new Named("database", state::database));
        for (Path source : sources) {
            all.add(new Named("source", () -> StateChecks.source(source)));
        }
        this.checks = all.build();
        this.isRoot = isRoot;
    }

    /** Looks, each check for itself: what one of them can't do keeps no other from looking. */
    public ImmutableList<Finding> look() {
        return checks.stream().map(this::look).collect(ImmutableList.toImmutableList());
    }

    private Finding look(Named named) {
        try {
            return named.check().look();
        } catch (IOException | RuntimeException | LinkageError e) {
            return Finding.fail(
                    named.name(),
                    "could not be looked at: " + (e.getMessage() == null ? e : e.getMessage()),
                    isRoot
                            ? "look whether it is there, and what keeps root from it"
                            : "look whether this user may; as root everything can be seen");
        }
    }

    /**
     * What one check found.
     *
     * @param check what was looked at, always in the same one or two words
     * @param remedy what to do about it; empty when all is well
     */
    public record Finding(String check, Level level, String message, String remedy) {
        private static final Splitter WHY_AND_REMEDY = Splitter.on("; ").limit(2);

        public enum Level {
            OK,
            /** Something works less well, or not for everybody. */
            WARN,
            /** Something that is needed does not work. */
            FAIL;

            public String word() {
                return name().toLowerCase(Locale.ROOT);
            }
        }

        static Finding ok(String check, String message) {
            return new Finding(check, Level.OK, message, "");
        }

        static Finding warn(String check, String message, String remedy) {
            return new Finding(check, Level.WARN, message, remedy);
        }

        static Finding fail(String check, String message, String remedy) {
            return new Finding(check, Level.FAIL, message, remedy);
        }

        /** @param sentence what is wrong, and after the first semicolon the remedy */
        static Finding fail(String check, String sentence) {
            List<String> words = WHY_AND_REMEDY.splitToList(sentence);
            return fail(check, words.getFirst(), words.size() > 1 ? words.getLast() : "");
        }
    }
}
