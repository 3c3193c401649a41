package io.homeostat.reconcile.agent.telemetry;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.Sets;
import io.homeostat.desired.state.StateReader.SourceProblem;
import java.util.Set;
import org.slf4j.Logger;

/** Logs what is wrong with a source, each problem once as long as it lasts. */
public final class ProblemLog {
    /** A source with a thousand mistakes must not push everything else out of the log. */
    private static final int LOGGED = 20;

    private final Logger log;
    private final String source;
    private ImmutableSet<SourceProblem> told = ImmutableSet.of();

    public ProblemLog(Logger log, String source) {
        this.log = log;
        this.source = source;
    }

    public void tell(ImmutableList<SourceProblem> problems) {
        ImmutableSet<SourceProblem> now = ImmutableSet.copyOf(problems);
        Set<SourceProblem> fresh = Sets.difference(now, told);
        fresh.stream().limit(LOGGED).forEach(problem -> log.warn("{}: {}", source, problem.message()));
        if (fresh.size() > LOGGED) {
            log.warn("{}: {} more problems; homeostat status shows all", source, fresh.size() - LOGGED);
        }
        if (now.isEmpty() && !told.isEmpty()) {
            log.info("{}: nothing is wrong with it any more", source);
        }
        told = now;
    }
}
