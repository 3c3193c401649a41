package io.homeostat.reconcile.command.fleet;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedMap;
import com.google.common.collect.Lists;
import io.homeostat.desired.fleet.BucketReport;
import io.homeostat.desired.model.Redaction;
import io.homeostat.desired.remote.BucketClient;
import io.homeostat.desired.remote.BucketClient.Listed;
import io.homeostat.desired.remote.BucketClient.Read;
import io.homeostat.desired.remote.FetchFailure;
import io.homeostat.desired.state.RecordCodec;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.fleet.MachineReader;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;

/**
 * What machines have written into a bucket. Nobody registers there: who has written once is a machine of the fleet until its object is
 * removed.
 *
 * @param place where that is, without secrets
 * @param machines by id
 * @param problems what can't be read, by object
 */
public record BucketReports(
        String place, ImmutableSortedMap<String, Heard> machines, ImmutableSortedMap<String, String> problems) {
    /** From then on a machine is silent, see {@link BucketReport}. */
    private static final Duration SILENCE = Duration.ofMinutes(15);

    private static final int CONNECTIONS = 16;

    /** What was heard of a machine last. */
    public record Heard(BucketReport report, Duration age) {
        boolean isSilent() {
            return age.compareTo(SILENCE) > 0;
        }
    }

    /** An object: what it says, or why nobody knows; neither when it was removed just now. */
    private record Found(Listed object, Optional<BucketReport> report, String problem) {}

    /**
     * Reads all of them.
     *
     * @param client makes another one each time
     * @param reports what is before the names of objects, such as {@code gs://bucket/reports}
     * @throws CommandFailure when the bucket can't be read
     */
    public static BucketReports read(Supplier<BucketClient> client, String reports) throws InterruptedException {
        return read(client, reports, MachineReader.mostBytes());
    }

    /** @param mostBytes that all reports may take together, about */
    static BucketReports read(Supplier<BucketClient> client, String reports, long mostBytes)
            throws InterruptedException {
        String prefix = BucketReport.object(reports, "").replaceFirst("\\.json$", "");
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            ImmutableList<Listed> objects = client.get().list(prefix).stream()
                    .filter(object -> object.url().endsWith(".json"))
                    .collect(ImmutableList.toImmutableList());
            ImmutableSortedMap.Builder<String, Heard> machines = ImmutableSortedMap.naturalOrder();
            ImmutableSortedMap.Builder<String, String> problems = ImmutableSortedMap.naturalOrder();
            AtomicLong room = new AtomicLong(mostBytes);
            MachineReader reader = new MachineReader();
            int each = Math.max(1, (objects.size() + CONNECTIONS - 1) / CONNECTIONS);
            for (Future<ImmutableList<Found>> some : threads.invokeAll(Lists.partition(objects, each).stream()
                    .map(part -> (Callable<ImmutableList<Found>>) () -> read(client.get(), part, reader, room))
                    .toList())) {
                for (Found found : some.get()) {
                    String url = found.object().url();
                    String id = url.substring(prefix.length(), url.length() - ".json".length());
                    found.report()
                            .ifPresent(report -> machines.put(
                                    id, new Heard(report, found.object().age())));
                    if (!found.problem().isEmpty()) {
                        problems.put(url, found.problem());
                    }
                }
            }
            return new BucketReports(Redaction.url(reports), machines.buildOrThrow(), problems.buildOrThrow());
        } catch (FetchFailure e) {
            throw new CommandFailure("sources.bucket.reports: " + Redaction.url(reports) + ": " + e.words(), e);
        } catch (ExecutionException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Whether nobody has written there. */
    boolean isEmpty() {
        return machines.isEmpty() && problems.isEmpty();
    }

    private static ImmutableList<Found> read(
            BucketClient client, List<Listed> objects, MachineReader reader, AtomicLong room)
            throws InterruptedException {
        ImmutableList.Builder<Found> found = ImmutableList.builder();
        for (Listed object : objects) {
            try {
                if (room.get() < 0) {
                    throw new FetchFailure(
                            "all before it take more memory than there is for reports; remove what is none");
                }
                if (client.getSmall(object.url()) instanceof Read.Content content) {
                    BucketReport report = reader.bucketReport(content.content());
                    room.addAndGet(-MachineReader.bytes(report.report()) - MachineReader.bytes(report.labels()));
                    found.add(new Found(object, Optional.of(report), ""));
                }
            } catch (FetchFailure e) {
                // No machine may hide the others by what it has written.
                found.add(new Found(object, Optional.empty(), "can't be read: " + e.words()));
            } catch (RuntimeException | StackOverflowError e) {
                found.add(new Found(object, Optional.empty(), "can't be read: " + RecordCodec.message(e)));
            }
        }
        return found.build();
    }
}
