package io.homeostat.observe.health;

import com.google.common.collect.ImmutableList;
import java.time.Instant;

/**
 * The result of one health check.
 *
 * @param code a plugin's own status code, never a reason to restart; 0 for others
 * @param results the plugin's own words
 * @param problem why it is not healthy; empty when it is
 */
public record Health(Verdict verdict, int code, ImmutableList<String> results, String problem, Instant checkedAt) {

    /** What the check tells about the process. */
    public enum Verdict {
        HEALTHY,
        /** An error was answered, or the probe failed. */
        UNHEALTHY,
        /** No answer in time. */
        HUNG,
        /** Nobody is there any more who could answer: the machine that it was in may have ended. */
        GONE,
        /** It is slow, or hangs in something that another launch would not cure: it is waited for. */
        DEGRADED,
        /** We could not ask (no permission, no descriptor left): nothing is known. */
        UNKNOWN
    }

    public static Health healthy(Instant at) {
        return new Health(Verdict.HEALTHY, 0, ImmutableList.of(), "", at);
    }

    public static Health failed(Verdict verdict, String problem, Instant at) {
        return new Health(verdict, 0, ImmutableList.of(), problem, at);
    }
}
