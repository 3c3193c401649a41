package io.homeostat.observe.driver;

import com.google.common.collect.ImmutableList;
import io.homeostat.observe.process.LaunchDirectory;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;

/**
 * A start of a task that a driver has failed. Those since the last one that it has not failed are noted beside the notes on its launch, one
 * a line, so that everybody who looks at the driver knows of them.
 *
 * @param task whose start it was, in its brief form
 * @param words why, in the driver's own words, without the secrets of the task
 */
public record FailedStart(String task, String words) {
    /** So many in a row are the driver's own trouble, as far as anybody can tell. */
    public static final int MANY = 3;

    /** Those of a launch of a driver, the newest last. */
    public static ImmutableList<FailedStart> of(LaunchDirectory launch) throws IOException {
        try {
            return Files.readString(launch.failedStartsFile(), StandardCharsets.UTF_8)
                    .lines()
                    .filter(line -> line.indexOf(' ') > 0)
                    .map(line -> new FailedStart(
                            line.substring(0, line.indexOf(' ')), line.substring(line.indexOf(' ') + 1)))
                    .collect(ImmutableList.toImmutableList());
        } catch (NoSuchFileException e) {
            return ImmutableList.of();
        }
    }

    /** As it is noted. */
    public String line() {
        return task + " " + words + "\n";
    }
}
