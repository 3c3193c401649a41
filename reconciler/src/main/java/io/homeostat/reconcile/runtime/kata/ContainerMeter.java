package io.homeostat.reconcile.runtime.kata;

import com.github.benmanes.caffeine.cache.Ticker;
import com.google.common.collect.ImmutableList;
import io.homeostat.desired.state.Identity;
import io.homeostat.desired.state.Instance;
import io.homeostat.observe.Observation;
import io.homeostat.observe.usage.Meter;
import io.homeostat.proto.kata.CgroupStats;
import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Measures a container by what the agent of its guest counts. It is asked in the background: the answer is what the next measurement tells. */
final class ContainerMeter implements Meter {
    private static final Duration TIMEOUT = Duration.ofSeconds(5);

    /** What was counted, and when. */
    private record Count(String launchId, long at, long processorNanos, long memory) {}

    private final Containers containers;
    private final Ticker ticker = Ticker.systemTicker();
    private @Nullable Count told;
    private volatile @Nullable Count answer;
    private volatile boolean asking;

    ContainerMeter(Containers containers) {
        this.containers = containers;
    }

    @Override
    public Optional<Measured> measure(ImmutableList<Instance> launches, Duration interval, Processes processes) {
        Instance launch = launches.getLast();
        Optional<Identity.Container> container = Containers.identity(launch).filter(Identity.Container::started);
        if (container.isPresent() && !asking) {
            asking = true;
            Thread _ = Thread.ofVirtual()
                    .name("usage of " + launch.workload().brief())
                    .start(() -> ask(launch.launchId(), container.get()));
        }
        Count now = answer;
        Count before = told;
        if (now == null || now.equals(before) || !now.launchId().equals(launch.launchId())) {
            return Optional.empty();
        }
        told = now;
        if (before == null || !before.launchId().equals(now.launchId())) {
            return Optional.of(new Measured(0, null, now.memory()));
        }
        return Optional.of(new Measured(
                now.at() - before.at(), Math.max(0, now.processorNanos() - before.processorNanos()), now.memory()));
    }

    private void ask(String launchId, Identity.Container container) {
        try {
            if (containers.guest(container).probes(TIMEOUT).usage(container.containerId())
                            instanceof Observation.Seen<Optional<CgroupStats>>(Optional<CgroupStats> usage)
                    && usage.isPresent()) {
                answer = new Count(
                        launchId,
                        ticker.read(),
                        usage.get().getCpuStats().getCpuUsage().getTotalUsage(),
                        usage.get().getMemoryStats().getUsage().getUsage());
            }
        } finally {
            asking = false;
        }
    }
}
