package io.homeostat.e2e.soak;

import io.homeostat.e2e.measure.ProcFs;
import io.homeostat.e2e.measure.StampProgram;
import io.homeostat.e2e.measure.Workplace;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;

/**
 * Many processes, always as many, each declared in a file of its own: some are killed, some get other arguments, some go for others
 * that come under names that there never were.
 */
final class Crowd implements Soak.Happenings {
    private static final Duration BETWEEN = Duration.ofMillis(100);
    private static final Duration LOOK_ANEW = Duration.ofSeconds(10);
    private static final Duration PATIENCE = Duration.ofMinutes(2);
    private static final int WORKLOADS_A_SECOND = 20;
    private static final int DIRECTORIES = 64;

    private enum Happening {
        KILLED,
        CHANGED,
        REPLACED
    }

    /** What can happen, in this relation. */
    private static final List<Happening> HAPPENINGS =
            List.of(Happening.KILLED, Happening.KILLED, Happening.CHANGED, Happening.REPLACED);

    private final Daemon daemon;
    private final Workplace place;
    private final Random random;
    private final Path program;
    private final List<String> declared = new ArrayList<>();
    private final Map<Happening, Integer> happened = new EnumMap<>(Happening.class);
    private final int workloads;
    private List<Long> pids = List.of();
    private long looked;
    private int number;

    Crowd(Daemon daemon, int workloads, Random random) throws IOException, InterruptedException {
        this.daemon = daemon;
        this.place = daemon.place();
        this.workloads = workloads;
        this.random = random;
        this.program = place.path("crowd");
        String _ = StampProgram.create(place, program);
    }

    /** All from nothing. */
    void start() throws IOException, InterruptedException {
        for (int i = 0; i < workloads; i++) {
            add();
        }
        long begun = System.nanoTime();
        daemon.start();
        Daemon.until(workloads + " processes run", patience(), () -> alive().size() == workloads);
        System.out.printf(Locale.ROOT, "soak: all run after %.1f s%n", (System.nanoTime() - begun) / 1e9);
    }

    @Override
    public void step() throws IOException {
        if (System.nanoTime() - looked > LOOK_ANEW.toNanos()) {
            looked = System.nanoTime();
            pids = alive();
        }
        Happening next = HAPPENINGS.get(random.nextInt(HAPPENINGS.size()));
        happened.merge(next, 1, Integer::sum);
        switch (next) {
            case KILLED -> kill();
            case CHANGED -> declare(declared.get(random.nextInt(declared.size())));
            case REPLACED -> {
                String leaving = declared.remove(random.nextInt(declared.size()));
                Files.delete(file(leaving));
                add();
            }
        }
        LockSupport.parkNanos(BETWEEN.toNanos());
    }

    /** Nothing is broken: all that was killed comes back by itself. */
    @Override
    public void rest() {}

    @Override
    public String summary() {
        return happened.entrySet().stream()
                .map(entry -> entry.getValue() + " " + entry.getKey().name().toLowerCase(Locale.ROOT))
                .collect(Collectors.joining(", "));
    }

    /** Waits until all is as declared, then until nothing is that was, then for the agent's end; says what did not come. */
    Optional<String> end() throws InterruptedException {
        try {
            Daemon.until(
                    "plan has nothing to do", patience(), () -> daemon.command("plan", "--detailed-exitcode") == 0);
            int running = alive().size();
            if (running != workloads) {
                return Optional.of(running + " processes run, and " + workloads + " are declared");
            }
            daemon.withdrawAll();
            long begun = System.nanoTime();
            Daemon.until("no process is left", patience(), () -> alive().isEmpty());
            System.out.printf(Locale.ROOT, "soak: none runs after %.1f s%n", (System.nanoTime() - begun) / 1e9);
            daemon.terminate();
            return Optional.empty();
        } catch (IOException e) {
            return Optional.of(e.getMessage() + "; " + alive().size() + " processes run");
        }
    }

    private Duration patience() {
        return PATIENCE.plusSeconds(workloads / WORKLOADS_A_SECOND);
    }

    private List<Long> alive() {
        return ProcFs.processes()
                .filter(pid -> ProcFs.link(pid, "exe").equals(program))
                .toList();
    }

    private void kill() {
        if (!pids.isEmpty()) {
            long pid = pids.get(random.nextInt(pids.size()));
            // It may be gone since, and its number somebody else's.
            if (ProcFs.link(pid, "exe").equals(program)) {
                ProcFs.kill(pid);
            }
        }
    }

    private void add() throws IOException {
        String name = "crowd-" + number;
        declared.add(name);
        declare(name);
    }

    /** In one of some directories: one that has not changed for a while tells at once that a file is gone for good. */
    private Path file(String name) {
        return daemon.desired().resolve("d" + Math.floorMod(name.hashCode(), DIRECTORIES), name + ".yaml");
    }

    private void declare(String name) throws IOException {
        number++;
        Path whole = place.write("new/" + name, """
                apiVersion: homeostat.io/v1
                kind: Process
                metadata: {name: %s}
                spec: {install: local, entryPoint: %s, arguments: ["%d"]}
                """.formatted(name, program, number));
        Path file = file(name);
        Files.createDirectories(file.getParent());
        Files.move(whole, file, StandardCopyOption.ATOMIC_MOVE);
    }
}
