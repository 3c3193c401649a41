package io.homeostat.e2e.bench;

import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/** What can be chosen, each a group of figures that are measured in one go. */
enum Benchmark {
    MACHINE(bench -> {}),
    PLUGIN(Plugins::measure),
    CRASH(ProcessCrashes::measure),
    FILE(DeclaredFile::measure),
    TASKS(DriverTasks::measure),
    CONTAINERS(GuestContainers::measure),
    SCALE(ManyProcesses::measure),
    MEMORY(Footprint::measureMemory),
    IDLE(Footprint::measureIdle),
    FLEET(Fleet::measure),
    SIZE(DiskSize::measure),
    COMMANDS(CommandTimes::measure),
    PLANNER(PartsAlone::measurePlanner),
    SAMPLING(PartsAlone::measureSampling),
    APPLY(SecondApply::measure),
    PLAN(ManyDocuments::measure),
    INSTALL(LargeArchive::measureInstall),
    LARGE(LargeArchive::measureGigabyte);

    private interface Measure {
        void measure(Bench bench) throws IOException, InterruptedException;
    }

    private final Measure measure;

    Benchmark(Measure measure) {
        this.measure = measure;
    }

    String word() {
        return name().toLowerCase(Locale.ROOT);
    }

    List<Figure> figures() {
        return Arrays.stream(Figure.values())
                .filter(figure -> figure.benchmark().equals(word()))
                .toList();
    }

    /** What can't be measured is noted, and others are. The machine is measured before each of them. */
    void measure(Bench bench) throws InterruptedException {
        try {
            bench.yardsticks().look();
            measure.measure(bench);
        } catch (IOException | RuntimeException | AssertionError e) {
            bench.fail(word(), e);
        }
    }
}
