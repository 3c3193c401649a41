package io.homeostat.actuate.stop;

import io.homeostat.desired.state.Instance;
import java.time.Duration;

/**
 * Which launch to stop, and how.
 *
 * @param cleanup whether a plugin should leave nothing behind, because it is being removed
 * @param timeout until everything is killed
 * @param plugin whether to ask with the plugin protocol first; such a workload has had a socket
 */
public record StopRequest(Instance instance, boolean cleanup, Duration timeout, boolean plugin) {}
