package io.homeostat.reconcile.agent;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedSet;
import io.homeostat.actuate.fetch.Downloader.Progress;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.reconcile.agent.PassBroadcast.Following;
import io.homeostat.reconcile.loop.PassId;
import io.homeostat.reconcile.loop.PassId.Trigger;
import io.homeostat.reconcile.loop.PassListener;
import io.homeostat.reconcile.loop.PassResult;
import io.homeostat.reconcile.plan.Step;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class PassBroadcastTest {
    private static final WorkloadId A = WorkloadId.plugin("a");
    private static final WorkloadId B = WorkloadId.plugin("b");

    private final PassBroadcast broadcast = new PassBroadcast(ImmutableList.of());
    private final Heard heard = new Heard();

    @Test
    void aPassThatBeganBeforeTheSubscriptionIsNotTold() {
        broadcast.begun(pass(A, 1));
        broadcast.subscribe(ImmutableSortedSet.of(A)).tell(heard);
        broadcast.broken(A, new IllegalStateException("of the pass before"));
        broadcast.begun(pass(A, 2));
        broadcast.broken(A, new IllegalStateException("of the pass after"));

        assertEquals(List.of("begun 2", "broken of the pass after"), heard.words);
    }

    @Test
    void whatIsHeardBeforeAnybodyListensIsKeptForHim() {
        Following following = broadcast.subscribe(ImmutableSortedSet.of(A));
        broadcast.begun(pass(A, 1));
        broadcast.broken(A, new IllegalStateException("early"));
        following.tell(heard);
        broadcast.begun(pass(A, 2));

        assertEquals(List.of("begun 1", "broken early", "begun 2"), heard.words);
    }

    @Test
    void otherWorkloadsAreNotTold() {
        broadcast.subscribe(ImmutableSortedSet.of(A)).tell(heard);
        broadcast.begun(pass(B, 1));
        broadcast.broken(B, new IllegalStateException("b"));

        assertEquals(List.of(), heard.words);
    }

    @Test
    void nothingIsToldAfterTheEndOfASubscription() {
        Following following = broadcast.subscribe(ImmutableSortedSet.of(A));
        following.tell(heard);
        broadcast.begun(pass(A, 1));
        following.close();
        broadcast.broken(A, new IllegalStateException("too late"));
        broadcast.begun(pass(A, 2));

        assertEquals(List.of("begun 1"), heard.words);
    }

    @Test
    void aDownloadIsToldToWhoeverListensByThen() {
        Progress progress = broadcast.download(A);
        progress.bytes(1, 10);
        broadcast.subscribe(ImmutableSortedSet.of(A)).tell(heard);
        broadcast.begun(pass(A, 1));
        progress.bytes(2, 10);

        assertEquals(List.of("begun 1", "2 of 10"), heard.words);
    }

    private static PassId pass(WorkloadId id, long number) {
        return new PassId(id, number, Trigger.REQUEST);
    }

    private static final class Heard implements PassListener {
        private final List<String> words = new ArrayList<>();

        @Override
        public Progress download(WorkloadId id) {
            return (done, total) -> words.add(done + " of " + total);
        }

        @Override
        public void begun(PassId pass) {
            words.add("begun " + pass.number());
        }

        @Override
        public void starting(Step step) {
            words.add("starting " + step.word());
        }

        @Override
        public void finished(WorkloadId id, PassResult next) {
            words.add("finished " + id);
        }

        @Override
        public void broken(WorkloadId id, Throwable problem) {
            words.add("broken " + problem.getMessage());
        }
    }
}
