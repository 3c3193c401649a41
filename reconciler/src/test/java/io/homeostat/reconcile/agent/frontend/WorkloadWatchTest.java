package io.homeostat.reconcile.agent.frontend;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicReference;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.Test;

class WorkloadWatchTest {
    private static final WorkloadId APP = WorkloadId.parse("process/app").orElseThrow();
    private static final WorkloadId OTHER = WorkloadId.parse("process/other").orElseThrow();

    private final FakeAgent agent = new FakeAgent(new Layout(Path.of("/state"), Path.of("/run"), "machine"));
    private final AtomicReference<ImmutableList<WorkloadId>> wanted = new AtomicReference<>(ImmutableList.of());
    private final List<WorkloadLook> seen = new CopyOnWriteArrayList<>();
    private final List<String> warnings = new CopyOnWriteArrayList<>();

    private WorkloadWatch begin() {
        return WorkloadWatch.begin(agent, wanted::get, seen::add, warnings::add);
    }

    /** Leaves nothing to follow: the thread of the watch waits without end. */
    private void end(WorkloadWatch watch) {
        wanted.set(ImmutableList.of());
        watch.changed();
        await().until(() -> agent.followers() == 0);
    }

    private static ConditionFactory await() {
        return Awaitility.await().atMost(Duration.ofSeconds(30));
    }

    @Test
    void theAgentIsNotAskedWhileThereIsNothingToFollow() {
        WorkloadWatch watch = begin();
        watch.changed();
        assertEquals(List.of(), agent.followed());

        wanted.set(ImmutableList.of(APP));
        watch.changed();

        await().until(() -> agent.followed().contains(ImmutableList.of(APP)));
        end(watch);
    }

    @Test
    void eachChangeIsHandedOn() {
        wanted.set(ImmutableList.of(APP));
        agent.set(FakeAgent.seen(APP, null, ""));
        WorkloadWatch watch = begin();
        await().until(() -> agent.followers() == 1);

        agent.change(FakeAgent.seen(APP, 1, ""));
        agent.change(FakeAgent.seen(APP, 2, ""));

        await().until(() -> seen.size() == 3);
        assertEquals(
                List.of(FakeAgent.seen(APP, null, ""), FakeAgent.seen(APP, 1, ""), FakeAgent.seen(APP, 2, "")), seen);
        end(watch);
    }

    @Test
    void othersAreFollowedWhenWhatIsWantedChanges() {
        wanted.set(ImmutableList.of(APP));
        WorkloadWatch watch = begin();
        await().until(() -> agent.followers() == 1);

        wanted.set(ImmutableList.of(APP, OTHER));
        watch.changed();

        await().until(() -> agent.followed().contains(ImmutableList.of(APP, OTHER)));
        assertEquals(List.of(), warnings);
        end(watch);
    }

    @Test
    void anAgentThatDoesNotAnswerIsAskedAgain() {
        agent.failNext("follow", "no agent");
        agent.failNext("follow", "no agent");
        wanted.set(ImmutableList.of(APP));
        WorkloadWatch watch = begin();

        await().until(() -> agent.followers() == 1);

        assertEquals(2, warnings.size());
        assertTrue(warnings.getFirst().contains("no agent"), warnings::toString);
        end(watch);
    }

    @Test
    void aChangeOfWhatIsWantedEndsThePause() {
        for (int i = 0; i < 4; i++) {
            agent.failNext("follow", "no agent");
        }
        wanted.set(ImmutableList.of(APP));
        WorkloadWatch watch = begin();
        await().until(() -> !warnings.isEmpty());

        await().pollInterval(Duration.ofMillis(5)).until(() -> {
            watch.changed();
            return agent.followers() == 1;
        });

        assertEquals(4, warnings.size());
        end(watch);
    }

    @Test
    void pausesDoubleUpToFiveSeconds() {
        assertEquals(Duration.ofMillis(200), WorkloadWatch.longer(WorkloadWatch.SHORTEST_PAUSE));
        assertEquals(Duration.ofSeconds(5), WorkloadWatch.longer(Duration.ofMillis(2500)));
        assertEquals(Duration.ofSeconds(5), WorkloadWatch.longer(Duration.ofMillis(2501)));
        assertEquals(Duration.ofSeconds(5), WorkloadWatch.longer(Duration.ofSeconds(5)));
    }
}
