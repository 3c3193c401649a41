package io.homeostat.observe.host;

import com.github.benmanes.caffeine.cache.Ticker;
import com.google.common.base.CharMatcher;
import com.google.common.base.Suppliers;
import com.google.common.collect.ImmutableList;
import com.google.common.util.concurrent.Striped;
import io.homeostat.desired.model.Lifecycle.Rule;
import io.homeostat.desired.platform.CachedMetadata;
import io.homeostat.desired.platform.MetadataServer;
import io.homeostat.desired.platform.MetadataServer.Answer;
import io.homeostat.observe.Observation;
import io.homeostat.observe.host.HostFacts.HostFact;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.locks.Lock;
import java.util.function.Supplier;

/**
 * Answers rules of the scopes instance and metadata from the metadata server. Answers are cached, so that a thousand workloads with the
 * same rule cost one request.
 */
public final class MetadataFacts {
    /** The longest delay, besides the resync, until a change is noticed. */
    static final Duration KNOWN = Duration.ofSeconds(15);

    /** For how long an unreachable server is not asked again. */
    static final Duration UNKNOWN = Duration.ofSeconds(5);

    private static final int QUESTIONS_AT_ONCE = 16;

    /** Created on first use: most commands never ask. */
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
                    // Try the next path, if there is one.
                }
            }
        }
        return Observation.seen(Optional.empty());
    }

    /** One request per path at a time: concurrent callers share its answer. */
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

    /** The paths where the fact may be; the instance's own attribute wins over its project's. */
    private static ImmutableList<String> paths(HostFact fact) {
        String attribute = CharMatcher.is('/').trimFrom(fact.attribute());
        if (attribute.startsWith("instance/") || attribute.startsWith("project/")) {
            return ImmutableList.of(attribute);
        }
        return fact.scope() == Rule.Scope.INSTANCE
                ? ImmutableList.of("instance/" + attribute)
                : ImmutableList.of("instance/attributes/" + attribute, "project/attributes/" + attribute);
    }

    /** Only the name of {@code projects/1/zones/z}: a rule is written for many projects and cannot know their numbers. */
    private static String shortened(HostFact fact, String value) {
        boolean named = fact.scope() == Rule.Scope.INSTANCE && value.startsWith("projects/");
        return named ? value.substring(value.lastIndexOf('/') + 1) : value;
    }
}
