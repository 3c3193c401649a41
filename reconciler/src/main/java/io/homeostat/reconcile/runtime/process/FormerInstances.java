package io.homeostat.reconcile.runtime.process;

import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import java.io.IOException;
import java.nio.file.Files;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The instances to which the state directory belonged before, by what they have left in it. */
final class FormerInstances {
    private static final Logger LOG = LoggerFactory.getLogger(FormerInstances.class);

    /** What a process carries may be its own invention, and is to name a launch and no other place. */
    private static final Pattern LAUNCH_ID = Pattern.compile("[0-9a-f-]{1,64}");

    private final Layout layout;

    FormerInstances(Layout layout) {
        this.layout = layout;
    }

    /** Whether one of them has notes on that launch of a workload; not when that can't be seen. */
    boolean launched(WorkloadId id, String launchId) {
        if (!LAUNCH_ID.matcher(launchId).matches()) {
            return false;
        }
        try (Stream<String> names =
                Files.list(layout.stateDir()).map(entry -> entry.getFileName().toString())) {
            return names.filter(name -> !name.equals(layout.instanceId()))
                    .anyMatch(other -> Files.isDirectory(layout.of(other).launch(id, launchId)));
        } catch (IOException e) {
            LOG.debug("who was here before can't be seen in {}: {}", layout.stateDir(), e.getMessage());
            return false;
        }
    }
}
