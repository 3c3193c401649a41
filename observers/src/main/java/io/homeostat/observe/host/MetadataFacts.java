package io.homeostat.observe.host;

import com.github.benmanes.caffeine.cache.Ticker;
import com.google.common.base.CharMatcher;
import com.google.common.base.Suppliers;
import com.google.common.collect.ImmutableList;
import com.google.common.util.concurrent.Striped;
import io.homeostat.desired.model.lifecycle.Rule;
import io.homeostat.desired.platform.CachedMetadata;
import io.homeostat.desired.platform.MetadataServer;
import io.homeostat.desired.platform.MetadataServer.Answer;
import io.homeostat.observe.Observation;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.locks.Lock;
import java.util.function.Supplier;

/**
 * What the metadata server says to the rules of the scopes instance and metadata. Answers are kept for a while, so that a thousand
 * workloads with the same rule cost one question.
 */
public final class MetadataFacts {
    /** How late a change is noticed at most, beside the resync. */
    static final Duration KNOWN = Duration.ofSeconds(15);

    /** How long nobody waits again for a server that could not be reached. */
    static final Duration UNKNOWN = Duration.ofSeconds(5);

    private static final int QUESTIONS_AT_ONCE = 16;

    /** Made when it is first asked: most commands never do. */
    private final Supplier<MetadataServer> server;

    private final Striped<Lock> asking = Striped.lock(QUESTIONS_AT_ONCE);

    public MetadataFacts(MetadataServer server, Ticker ticker) {
        this.server = Suppliers.memoize(() -> new CachedMetadata(server, KNOWN, UNKNOWN, ticker));
    }

    public Observation<Optional<String>> get(HostFact fact) {
        for (String path : paths(fact)) {
            switch (ask(path)) {
                case Answer.Present(String value) -> {
                    return Observation.seen(Optional.of(shortened(fact, value)));
                }
                case Answer.Unreachable(String reason) -> {
                    return Observation.unseen(reason);
                }
                case Answer.Absent() -> {
                    // The next place, if there is one.
                }
            }
        }
        return Observation.seen(Optional.empty());
    }

    /** One question at a time about a path: whoever comes second finds the answer. */
    private Answer ask(String path) {
        Lock lock = asking.get(path);
        lock.lock();
        try {
            return server.get().get(path);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return new Answer.Unreachable("interrupted while the metadata server was asked for " + path);
        } finally {
            lock.unlock();
        }
    }

    /** Where the fact may be; the instance's own attribute wins over its project's. */
    private static ImmutableList<String> paths(HostFact fact) {
        String attribute = CharMatcher.is('/').trimFrom(fact.attribute());
        if (attribute.startsWith("instance/") || attribute.startsWith("project/")) {
            return ImmutableList.of(attribute);
        }
        return fact.scope() == Rule.Scope.INSTANCE
                ? ImmutableList.of("instance/" + attribute)
                : ImmutableList.of("instance/attributes/" + attribute, "project/attributes/" + attribute);
    }

    /** Of {@code projects/1/zones/z} only the name: which project that is nobody can know who writes a rule for many. */
    private static String shortened(HostFact fact, String value) {
        boolean named = fact.scope() == Rule.Scope.INSTANCE && value.startsWith("projects/");
        return named ? value.substring(value.lastIndexOf('/') + 1) : value;
    }
}
