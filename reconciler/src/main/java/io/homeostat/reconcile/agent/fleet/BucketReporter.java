package io.homeostat.reconcile.agent.fleet;

import com.google.protobuf.ByteString;
import io.homeostat.desired.fleet.BucketReport;
import io.homeostat.desired.model.Redaction;
import io.homeostat.desired.remote.BucketClient;
import io.homeostat.desired.remote.FetchFailure;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/** Tells the fleet how this machine is by an object of a bucket. Nothing there ends by itself, so it is written anew now and then. */
final class BucketReporter extends Reporter {
    /** When it is written although nothing has changed; with what chance adds, sooner than every five minutes. */
    static final Duration RENEWAL = Duration.ofMinutes(4);

    private final BucketClient bucket;
    private final String object;
    private final Duration renewal;

    /**
     * @param reports what is before the names of objects, such as {@code gs://bucket/reports}
     * @param renewal when it is written although nothing has changed, about
     */
    BucketReporter(
            BucketClient bucket,
            String reports,
            String instanceId,
            ReportedWorkloads workloads,
            Supplier<About> about,
            InstantSource clock,
            RandomGenerator random,
            Duration interval,
            Duration renewal) {
        super("bucket-reporter", workloads, about, clock, random, interval);
        this.bucket = bucket;
        this.object = BucketReport.object(reports, instanceId);
        this.renewal = renewal;
    }

    @Override
    void report() throws FetchFailure, InterruptedException {
        @Nullable BucketReport last = null;
        Instant renew = nextRenewal();
        changed();
        while (true) {
            if (awaitDue(renew, renewal.multipliedBy(2))) {
                About about = about();
                BucketReport now = new BucketReport(about.labels(), current(about));
                if (last == null || !now.saysTheSameAs(last)) {
                    write(now);
                    last = now;
                    renew = nextRenewal();
                }
            } else {
                last = null;
                renew = nextRenewal();
                changed();
            }
        }
    }

    private void write(BucketReport report) throws FetchFailure, InterruptedException {
        try {
            bucket.put(object, ByteString.copyFromUtf8(codec.write(report)));
        } catch (FetchFailure e) {
            throw new FetchFailure(Redaction.url(object) + ": " + e.words(), e);
        }
        reached();
    }

    private Instant nextRenewal() {
        return clock.instant().plus(SetPoller.jittered(renewal, random));
    }
}
