package io.homeostat.reconcile.runtime.task;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.state.Instance;
import io.homeostat.observe.usage.Meter;
import io.homeostat.proto.nomad.driver.CPUUsage;
import io.homeostat.proto.nomad.driver.MemoryUsage;
import io.homeostat.proto.nomad.driver.TaskResourceUsage;
import io.homeostat.proto.nomad.driver.TaskStats;
import io.homeostat.proto.nomad.driver.TaskStatsRequest;
import io.homeostat.proto.nomad.driver.TaskStatsResponse;
import io.homeostat.reconcile.runtime.DriverMachine;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Tests the usage of a task that its driver reports. */
class DriverCountTest extends TaskTestBed {
    private static final Duration LONG = Duration.ofSeconds(30);
    private static final Duration INTERVAL = Duration.ofSeconds(10);

    /** The driver counts, so nobody asks for processes. */
    private static final Meter.Processes NONE = (Meter.Processes) Proxy.newProxyInstance(
            Meter.Processes.class.getClassLoader(),
            new Class<?>[] {Meter.Processes.class},
            (proxy, method, arguments) -> {
                throw new AssertionError(method);
            });

    private DriverCount count;
    private Instance running;

    @BeforeEach
    void open() throws Exception {
        count = new DriverCount(bench.tasks);
        running = bench.running();
        bench.driver.answering(
                "TaskStats",
                TaskStatsResponse.newBuilder()
                        .setStats(TaskStats.newBuilder()
                                .setAggResourceUsage(TaskResourceUsage.newBuilder()
                                        .setCpu(CPUUsage.newBuilder()
                                                .setPercent(25)
                                                .addMeasuredFields(CPUUsage.Fields.PERCENT))
                                        .setMemory(MemoryUsage.newBuilder()
                                                .setRss(4096)
                                                .addMeasuredFields(MemoryUsage.Fields.RSS))))
                        .build());
    }

    @AfterEach
    void close() throws Exception {
        count.close();
    }

    private Optional<Meter.Measured> measure(Instance launch, Duration interval) {
        return count.measure(ImmutableList.of(launch), interval, NONE);
    }

    private Meter.Measured awaitMeasured(Duration interval) {
        AtomicReference<Meter.Measured> measured = new AtomicReference<>();
        await().atMost(LONG).until(() -> {
            measure(running, interval).ifPresent(measured::set);
            return measured.get() != null;
        });
        return measured.get();
    }

    @Test
    void aQuarterOfACoreIsAQuarterOfTheTime() throws Exception {
        bench.tasks.session("runner", LONG);

        assertEquals(new Meter.Measured(1_000_000_000, 250_000_000L, 4096), awaitMeasured(INTERVAL));

        TaskStatsRequest request = bench.driver.last(TaskStatsRequest.class);
        assertEquals(bench.taskId(), request.getTaskId());
        assertEquals(INTERVAL.toSeconds(), request.getCollectionInterval().getSeconds());
    }

    @Test
    void theSameQuestionIsAskedOnce() throws Exception {
        bench.tasks.session("runner", LONG);
        awaitMeasured(INTERVAL);

        assertEquals(Optional.empty(), measure(running, INTERVAL));
        assertEquals(1, bench.driver.count("TaskStats"));

        awaitMeasured(INTERVAL.multipliedBy(2));
        assertEquals(2, bench.driver.count("TaskStats"));
    }

    @Test
    void withoutASessionNothingIsCounted() {
        assertEquals(Optional.empty(), measure(running, INTERVAL));
        assertEquals(0, bench.driver.calls.size());
    }

    @Test
    void withoutAnIdentityOrADriverNothingIsCounted() throws Exception {
        bench.tasks.session("runner", LONG);

        assertEquals(Optional.empty(), measure(TaskBench.intended(), INTERVAL));
        bench.host.forget(DriverMachine.RUNNER);
        assertEquals(Optional.empty(), measure(running, INTERVAL));
    }

    @Test
    void afterItWasClosedItIsAskedAnew() throws Exception {
        bench.tasks.session("runner", LONG);
        awaitMeasured(INTERVAL);

        count.close();

        awaitMeasured(INTERVAL);
        assertEquals(2, bench.driver.count("TaskStats"));
    }
}
