package io.homeostat.reconcile.agent.metrics;

import com.google.common.base.Splitter;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What this process takes of the machine, from proc(5). What can't be seen is NaN, which Prometheus knows. */
final class SelfObserver {
    private static final Logger LOG = LoggerFactory.getLogger(SelfObserver.class);

    /** Of every architecture that we run on with its usual kernel. */
    private static final int PAGE = 4096;

    private static final Path SELF = Path.of("/proc/self");

    private SelfObserver() {}

    /** Memory that is in use and not swapped out, in bytes. */
    static double residentBytes() {
        try {
            List<String> fields = Splitter.on(' ')
                    .splitToList(Files.readString(SELF.resolve("statm"), StandardCharsets.US_ASCII)
                            .strip());
            return (double) Long.parseLong(fields.get(1)) * PAGE;
        } catch (IOException | RuntimeException e) {
            return unseen("statm", e);
        }
    }

    static double openDescriptors() {
        try (Stream<Path> descriptors = Files.list(SELF.resolve("fd"))) {
            // One of them is that of the list itself.
            return descriptors.count() - 1;
        } catch (IOException | RuntimeException e) {
            return unseen("fd", e);
        }
    }

    /** How many descriptors may be open at the same time: the soft limit. */
    static double mostDescriptors() {
        try (Stream<String> lines = Files.lines(SELF.resolve("limits"), StandardCharsets.US_ASCII)) {
            String value = lines.filter(line -> line.startsWith("Max open files"))
                    .map(line -> Splitter.on(' ')
                            .omitEmptyStrings()
                            .splitToList(line)
                            .get(3))
                    .findFirst()
                    .orElseThrow(() -> new IOException("no line 'Max open files'"));
            return value.equals("unlimited") ? Double.POSITIVE_INFINITY : Double.parseDouble(value);
        } catch (IOException | RuntimeException e) {
            return unseen("limits", e);
        }
    }

    /** Of the kernel, so virtual threads are not among them. */
    static double threads() {
        try (Stream<Path> tasks = Files.list(SELF.resolve("task"))) {
            return tasks.count();
        } catch (IOException | RuntimeException e) {
            return unseen("task", e);
        }
    }

    private static double unseen(String file, Exception e) {
        LOG.debug("{}/{} can't be read", SELF, file, e);
        return Double.NaN;
    }
}
