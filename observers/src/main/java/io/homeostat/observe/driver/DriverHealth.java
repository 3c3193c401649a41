package io.homeostat.observe.driver;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.grpc.StatusRuntimeException;
import io.homeostat.desired.model.WorkloadSpec;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.desired.yaml.IoReason;
import io.homeostat.observe.Observation;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.observe.ObservedInstance.Liveness.Running;
import io.homeostat.observe.ProcessInstances.InstanceHealth;
import io.homeostat.observe.goplugin.Handshake;
import io.homeostat.observe.health.CallFailure;
import io.homeostat.observe.health.Health;
import io.homeostat.observe.health.Health.Verdict;
import java.io.IOException;
import java.time.Duration;
import java.time.InstantSource;
import org.jspecify.annotations.Nullable;

/**
 * How drivers are. One that does not answer is ill. One that answers that it can't run tasks is not: a restart would not help, so that
 * is reported as a code of its own.
 */
public final class DriverHealth implements InstanceHealth {
    /** After the codes of what a driver says of itself. */
    private static final int TASKS_FAIL = 4;

    private final DriverSessions sessions;
    private final InstantSource clock;

    /** @param sessions closed with this */
    public DriverHealth(DriverSessions sessions, InstantSource clock) {
        this.sessions = sessions;
        this.clock = clock;
    }

    /** It listens once it has printed a line: whether that is a handshake is for whoever starts it to say. */
    @Override
    public Observation<Running> of(Instance instance, Running running, @Nullable WorkloadSpec spec) {
        try {
            if (instance.phase() != Phase.STARTED) {
                boolean spoken = sessions.handshakeLine(instance).isPresent();
                return Observation.seen(new Running(running.identity(), running.age(), spoken, null));
            }
            if (!sessions.isReachable(instance)) {
                Health unknown =
                        Health.failed(Verdict.UNKNOWN, "its socket is gone, nobody can ask it", clock.instant());
                return Observation.seen(new Running(
                        running.identity(),
                        running.age(),
                        false,
                        spec == null ? null : unknown,
                        ImmutableSet.of(ObservedInstance.Loss.SOCKET)));
            }
            Health health = spec == null
                    ? null
                    : ask(instance, spec.lifecycle().health().timeout());
            return Observation.seen(new Running(running.identity(), running.age(), true, health));
        } catch (IOException e) {
            return Observation.unseen(
                    "can't see what " + instance.workload().brief() + " has printed: " + IoReason.withFile(e));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return Observation.unseen(
                    "interrupted while asking " + instance.workload().brief());
        }
    }

    private Health ask(Instance instance, Duration timeout) throws IOException, InterruptedException {
        try {
            DriverSession session = sessions.of(instance);
            session.attach(timeout);
            session.check(timeout);
            Fingerprint fingerprint = session.fingerprint(timeout);
            return fingerprint.state() == Fingerprint.State.HEALTHY
                    ? ofStarts(sessions.failedStarts(instance))
                    : new Health(
                            Verdict.HEALTHY,
                            fingerprint.state().code(),
                            ImmutableList.of(fingerprint.words()),
                            "",
                            clock.instant());
        } catch (Handshake.Refused e) {
            return Health.failed(Verdict.UNHEALTHY, e.words(), clock.instant());
        } catch (DriverFailure e) {
            Verdict verdict = e.getCause() instanceof StatusRuntimeException answer
                    ? CallFailure.verdict(answer)
                    : Verdict.UNHEALTHY;
            return Health.failed(verdict, e.words(), clock.instant());
        } catch (StatusRuntimeException e) {
            if (Thread.interrupted()) {
                throw new InterruptedException();
            }
            return Health.failed(
                    CallFailure.verdict(e), CallFailure.words("its health check", e, timeout), clock.instant());
        }
    }

    /** A driver that believes itself well and starts nothing is not; a restart would not help it either. */
    private Health ofStarts(ImmutableList<FailedStart> failed) {
        if (failed.size() < FailedStart.MANY) {
            return Health.healthy(clock.instant());
        }
        FailedStart last = failed.getLast();
        return new Health(
                Verdict.HEALTHY,
                TASKS_FAIL,
                ImmutableList.of("the last " + failed.size() + " starts of its tasks have failed, at last that of "
                        + last.task() + ": " + last.words()),
                "",
                clock.instant());
    }

    @Override
    public void close() {
        sessions.close();
    }
}
