package io.homeostat.e2e.bench;

import static io.homeostat.e2e.bench.Statistic.MAX;
import static io.homeostat.e2e.bench.Statistic.P50;
import static io.homeostat.e2e.bench.Statistic.P99;

import java.util.List;

/** All that is measured, with its goals: the smaller the better, each of them. */
enum Figure {
    YARDSTICK_ARITHMETIC("machine", "yardstick: 50 million multiplications, each of the result before", "ms"),
    YARDSTICK_PROGRAM("machine", "yardstick: `true` from its start to its end", "ms"),

    PLUGIN_EXEC("plugin", "plugin sent -> exec, 12 MB archive", "ms", goal(P50, 60)),
    PLUGIN_RUNNING("plugin", "plugin sent -> RUNNING told, 12 MB archive", "ms", goal(P50, 110), goal(P99, 250)),
    PLUGIN_REMOVED("plugin", "removal sent -> REMOVED told, it does not exit by itself", "ms", goal(P50, 100)),
    PLUGIN_CRASH_EXEC("plugin", "plugin killed -> exec again", "ms", goal(P50, 12), goal(MAX, 60)),
    PLUGIN_CRASH_RUNNING("plugin", "plugin killed -> RUNNING told again", "ms", goal(P50, 50)),
    AGENT_REGISTERED("plugin", "agent start -> registered, its plugins alive", "ms", goal(P50, 300)),

    CRASH_EXEC("crash", "process killed -> exec again", "ms", goal(P50, 12), goal(MAX, 60)),
    FILE_EXEC("file", "file appears in desired.d -> exec", "ms", goal(P50, 60)),

    TASK_START("tasks", "task declared -> its driver's StartTask", "ms", goal(P50, 40)),
    TASK_CRASH("tasks", "task killed -> its driver's StartTask again", "ms", goal(P50, 25)),
    TASKS_100("tasks", "100 tasks of one driver, declared -> exec of the last", "s", goal(P50, 2)),
    TASKS_SUPERVISED("tasks", "kill -9 of the agent -> its next one supervises 100 tasks", "s", goal(P50, 2)),
    IDLE_100_TASKS("tasks", "idle processor, 100 tasks", "% of a core", goal(P50, 1)),

    CONTAINER_START("containers", "container declared -> its agent's StartContainer", "ms", goal(P50, 40)),
    CONTAINERS_200("containers", "200 containers of one sandbox, declared -> StartContainer of the last", "s"),
    CONTAINER_OUTPUT(
            "containers", "200 MB of a container's output, from its start until all is taken", "s", goal(P50, 2)),

    PROCESSES_100("scale", "100 processes from nothing, agent start included", "s"),
    PROCESSES_500("scale", "500 processes from nothing, agent start included", "s", goal(P50, 2.5)),
    PROCESSES_2000("scale", "2,000 processes from nothing, agent start included", "s", goal(P50, 12)),
    CONVERGED_2000("scale", "2,000 converged: `plan` through the agent", "s", goal(P50, 0.5)),

    RSS_1_PLUGIN("memory", "RSS of the agent, 1 plugin", "MiB", goal(P50, 75)),
    ANONYMOUS_1_PLUGIN("memory", "anonymous memory of the agent, 1 plugin", "MiB", goal(P50, 40)),
    RSS_20_PLUGINS("memory", "RSS of the agent, 20 plugins", "MiB", goal(P50, 80)),
    ANONYMOUS_20_PLUGINS("memory", "anonymous memory of the agent, 20 plugins", "MiB", goal(P50, 45)),
    RSS_20_PROCESSES("memory", "RSS of the agent, 20 processes", "MiB", goal(P50, 80)),
    ANONYMOUS_20_PROCESSES("memory", "anonymous memory of the agent, 20 processes", "MiB", goal(P50, 45)),
    PSS_ALL_20_PROCESSES("memory", "PSS with all that runs beside 20 processes", "MiB"),
    THREADS_20("memory", "threads of the agent, 20 processes", "", goal(MAX, 24)),
    THREADS_112("memory", "threads of the agent, 112 processes", "", goal(MAX, 24)),

    IDLE_20_PROCESSES("idle", "idle processor, 20 processes", "% of a core", goal(P50, 0.15)),
    IDLE_112_PROCESSES("idle", "idle processor, 112 processes", "% of a core", goal(P50, 0.5)),
    IDLE_1_PLUGIN("idle", "idle processor, 1 plugin", "% of a core", goal(P50, 0.17)),
    IDLE_20_PLUGINS("idle", "idle processor, 20 plugins", "% of a core", goal(P50, 0.55)),

    FLEET_EXEC("fleet", "set written to etcd -> exec on a machine", "ms", goal(P50, 150)),
    FLEET_STATUS("fleet", "`fleet status` of 10,000 machines", "s", goal(P50, 1)),
    FLEET_PLAN("fleet", "`fleet plan` with 10,000 machines", "s"),
    FLEET_CONTROLLER("fleet", "greatest RSS of the controller, 10,000 machines", "MiB", goal(MAX, 200)),
    FLEET_HALT("fleet", "failure of the first machine reported -> rollout halted", "s", goal(MAX, 10)),
    FLEET_WRITES("fleet", "writes to etcd in a second, 10,000 machines that change together", "", goal(MAX, 1200)),

    DISK("size", "size on disk without a JDK", "MiB"),
    DISK_WITH_RUNTIME("size", "size on disk with its runtime", "MiB", goal(P50, 90)),

    STATUS("commands", "`status` through an agent, 20 processes", "s", goal(P50, 0.15)),
    PLAN("commands", "`plan` through an agent, 20 processes", "s", goal(P50, 0.15)),
    VALIDATE("commands", "`validate` of a document, without an agent", "s", goal(P50, 0.15)),

    PLANNER_CONVERGED("planner", "planner alone, 10,000 converged workloads", "ms", goal(P50, 60)),
    PLANNER_NEW("planner", "planner alone, 10,000 new workloads", "ms", goal(P50, 60)),

    SAMPLE_IN_GROUPS("sampling", "a sample of a workload, in control groups", "ms", bound(P50, 0.05)),
    SAMPLE_BY_TREE("sampling", "a sample of a workload, by its tree of processes", "ms"),

    SECOND_APPLY("apply", "second apply of 45 processes and 5 plugins", "s", bound(P50, 1)),
    PLAN_ONE_FILE("plan", "plan of 1,000 plugins in one file", "s", bound(P50, 1)),
    PLAN_MANY_FILES("plan", "plan of 1,000 plugins in 1,000 files", "s", bound(P50, 1)),

    INSTALL("install", "install of 206 MB / sha256sum + tar xzf", "x", goal(P50, 0.6), bound(P50, 1.3)),
    INSTALL_1_GB("large", "install of 1 GB / sha256sum + tar xzf", "x", goal(P50, 0.6)),
    INSTALL_1_GB_MEMORY("large", "greatest RSS during an install of 1 GB / of 206 MB", "x", goal(MAX, 1.1));

    /**
     * What a figure is held to.
     *
     * @param isBound whether to break it is a failure; what is only a goal is said to be missed
     */
    record Limit(Statistic of, double most, boolean isBound) {}

    private final String benchmark;
    private final String title;
    private final String unit;
    private final List<Limit> limits;

    Figure(String benchmark, String title, String unit, Limit... limits) {
        this.benchmark = benchmark;
        this.title = title;
        this.unit = unit;
        this.limits = List.of(limits);
    }

    private static Limit goal(Statistic of, double most) {
        return new Limit(of, most, false);
    }

    private static Limit bound(Statistic of, double most) {
        return new Limit(of, most, true);
    }

    /** The name by which it is chosen, together with others that are measured in one go. */
    String benchmark() {
        return benchmark;
    }

    String title() {
        return title;
    }

    String unit() {
        return unit;
    }

    List<Limit> limits() {
        return limits;
    }
}
