package io.homeostat.desired.platform;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import com.github.benmanes.caffeine.cache.Expiry;
import com.github.benmanes.caffeine.cache.Ticker;
import io.homeostat.desired.platform.MetadataServer.Answer.Unreachable;
import java.time.Duration;

/**
 * Caches a metadata server's answers, so that a look at all workloads asks once; failures, too, but for a shorter time: a machine without
 * a server would otherwise wait for a timeout with each question.
 */
public final class CachedMetadata implements MetadataServer {
    private static final long MAX_PATHS = 256;

    private final MetadataServer server;
    private final Cache<String, Answer> answers;

    /**
     * @param known how long an answer is kept
     * @param unknown how long a failure is kept
     */
    public CachedMetadata(MetadataServer server, Duration known, Duration unknown, Ticker ticker) {
        this.server = server;
        this.answers = Caffeine.newBuilder()
                .ticker(ticker)
                .maximumSize(MAX_PATHS)
                .expireAfter(Expiry.<String, Answer>writing(
                        (path, answer) -> answer instanceof Unreachable ? unknown : known))
                .executor(Runnable::run)
                .build();
    }

    @Override
    public Answer get(String path) throws InterruptedException {
        Answer remembered = answers.getIfPresent(path);
        if (remembered != null) {
            return remembered;
        }
        Answer answer = server.get(path);
        answers.put(path, answer);
        return answer;
    }
}
