package io.homeostat.reconcile.command.environment;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.platform.TrustedPath;
import io.homeostat.desired.yaml.AgentConfigReader;
import io.homeostat.desired.yaml.Problem;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Collectors;

/**
 * The file that configures the agent; the defaults hold where it is not required and not there.
 *
 * @param root whether root goes by it, who does not where others can change it
 */
public record ConfigFile(Path path, boolean required, boolean root) {

    public boolean exists() {
        return Files.exists(path);
    }

    /** Reads it; a {@link CommandFailure} has each error on a line of its own. */
    public AgentConfig read() {
        AgentConfigReader.Result result = look();
        AgentConfig config = result.config();
        if (config == null) {
            throw new CommandFailure(path + " is not valid\n"
                    + result.errors().stream().map(Problem::toString).collect(Collectors.joining("\n")));
        }
        return config;
    }

    /** Reads it, or what is right in it; a {@link CommandFailure} when it is required and not there. */
    public AgentConfigReader.Result look() {
        if (exists()) {
            return AgentConfigReader.read(path, TrustedPath.of(root, ImmutableList.of()));
        }
        if (required) {
            throw new CommandFailure(path + " does not exist; correct --config or " + UserDirectories.CONFIG);
        }
        return new AgentConfigReader.Result(
                AgentConfigReader.defaults(), new AgentConfigReader.Places(null, null), false, ImmutableList.of());
    }
}
