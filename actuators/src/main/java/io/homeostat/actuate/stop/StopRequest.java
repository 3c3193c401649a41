package io.homeostat.actuate.stop;

import io.homeostat.desired.state.Instance;
import java.time.Duration;

/**
 * Which launch to end, and how.
 *
 * @param cleanup whether a plugin is told to leave nothing behind, because it is being removed
 * @param timeout from now until everything is killed
 * @param plugin whether it is asked by the plugin protocol first, and has had a socket
 */
public record StopRequest(Instance instance, boolean cleanup, Duration timeout, boolean plugin) {}
