package io.homeostat.actuate.launch;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import io.homeostat.desired.state.Instance;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * What to launch.
 *
 * @param instance as stored before; names the launch
 * @param executable absolute
 * @param arguments as declared; the {@link Launcher} adds those of the plugin protocol
 * @param env added to our own environment
 * @param user name or number; null for our own user
 * @param plugin whether it is told to serve the plugin protocol, and where
 */
public record LaunchRequest(
        Instance instance,
        Path executable,
        ImmutableList<String> arguments,
        ImmutableMap<String, String> env,
        @Nullable String user,
        boolean plugin) {

    /** A program that is told nothing but what is declared. */
    public LaunchRequest(
            Instance instance,
            Path executable,
            ImmutableList<String> arguments,
            ImmutableMap<String, String> env,
            @Nullable String user) {
        this(instance, executable, arguments, env, user, false);
    }

    /** Without the values, which may be secret. */
    @Override
    public String toString() {
        return "LaunchRequest[" + instance.workload() + " " + instance.launchId() + " " + executable + "]";
    }
}
