package io.homeostat.reconcile.controlplane;

import com.google.common.collect.ImmutableList;
import com.google.protobuf.Any;
import io.homeostat.proto.acs.MessageBody;
import io.homeostat.reconcile.status.Survey.Finding;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Answers ListPluginStates on a thread of its own, as a look takes as long as the slowest plugin. Requests that come during a look share
 * the answer of the next one, so plugins are asked at most once a second, however many requests come.
 */
final class PluginStatesResponder implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(PluginStatesResponder.class);
    static final Duration BETWEEN_LOOKS = Duration.ofSeconds(1);
    private static final int MOST = ReplySender.MOST_PENDING;

    private final Look look;
    private final PluginStates.Source states;
    private final ReplySender replies;
    private final Duration betweenLooks;
    private final BlockingQueue<MessageBody> requests = new ArrayBlockingQueue<>(MOST);
    private final Thread worker;

    /** Looks at the plugins. */
    @FunctionalInterface
    interface Look {
        ImmutableList<Finding> plugins() throws InterruptedException;
    }

    PluginStatesResponder(Look look, PluginStates.Source states, ReplySender replies, Duration betweenLooks) {
        this.look = look;
        this.states = states;
        this.replies = replies;
        this.betweenLooks = betweenLooks;
        this.worker = Thread.ofVirtual().name("plugin-states").start(this::work);
    }

    /** Returns at once. Of too many requests the oldest get no answer: whoever sent them has sent newer ones. */
    synchronized void asked(MessageBody request) {
        while (!requests.offer(request)) {
            requests.poll();
        }
    }

    private void work() {
        try {
            while (true) {
                List<MessageBody> asked = new ArrayList<>();
                asked.add(requests.take());
                answer(asked);
                Thread.sleep(betweenLooks);
            }
        } catch (InterruptedException e) {
            LOG.debug("no more answers are given", e);
        }
    }

    private void answer(List<MessageBody> asked) throws InterruptedException {
        try {
            ImmutableList<Finding> findings = look.plugins();
            requests.drainTo(asked);
            PluginStates.Answer answer = states.of(findings);
            // Packed once, since the states of a thousand plugins are shared by all requests.
            Any packed = Any.pack(answer.message());
            asked.forEach(
                    request -> replies.send(request, Protocol.CURRENT_PLUGIN_STATES, packed, answer.acknowledged()));
        } catch (RuntimeException e) {
            LOG.error("how the plugins are could not be found out, and is not answered: {}", e.getMessage(), e);
        }
    }

    @Override
    public void close() {
        worker.interrupt();
    }
}
