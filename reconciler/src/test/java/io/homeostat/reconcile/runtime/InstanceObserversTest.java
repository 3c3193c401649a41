package io.homeostat.reconcile.runtime;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.Instance;
import io.homeostat.observe.InstanceObserver;
import io.homeostat.observe.Observation;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.observe.Observer.Checks;
import io.homeostat.observe.limits.ObservedLimits;
import io.homeostat.observe.process.ProcFs;
import io.homeostat.reconcile.runtime.RuntimeProvider.Access;
import java.nio.file.Path;
import java.time.Clock;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

final class InstanceObserversTest {
    private final List<String> closed = new ArrayList<>();

    @Test
    void allAreClosedAlthoughSomeOfThemFailToBe() {
        Machine machine = new Machine(
                new Layout(Path.of("/s"), Path.of("/r"), "i"),
                new ProcFs(),
                Clock.systemUTC(),
                id -> ImmutableList.of());
        InstanceObservers observers = new InstanceObservers(
                machine,
                ImmutableMap.of(
                        Kind.PLUGIN, access(new Failing("first")),
                        Kind.PROCESS, access(new Failing("second"))));

        RuntimeException thrown = assertThrows(IllegalStateException.class, observers::close);

        assertEquals(List.of("second", "first"), closed);
        assertEquals("second", thrown.getMessage());
        assertEquals("first", thrown.getSuppressed()[0].getMessage());
    }

    private static Access access(InstanceObserver observer) {
        return new Access(observer, () -> {
            throw new AssertionError("not asked");
        });
    }

    private final class Failing implements InstanceObserver {
        private final String name;

        Failing(String name) {
            this.name = name;
        }

        @Override
        public Observation<ImmutableList<ObservedInstance>> look(
                WorkloadId id, ImmutableList<Instance> instances, Checks checks) {
            throw new AssertionError("not asked");
        }

        @Override
        public Observation<ObservedLimits> limits(WorkloadId id, ImmutableList<ObservedInstance> found) {
            throw new AssertionError("not asked");
        }

        @Override
        public void close() {
            closed.add(name);
            throw new IllegalStateException(name);
        }
    }
}
