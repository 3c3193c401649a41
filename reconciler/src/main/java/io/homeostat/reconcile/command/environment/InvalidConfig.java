package io.homeostat.reconcile.command.environment;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.yaml.AgentConfigReader;
import io.homeostat.desired.yaml.AgentConfigReader.Places;
import io.homeostat.desired.yaml.Problem;
import java.util.Optional;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * A configuration with errors: the agent that runs goes on with what it has read before, and whoever looks or stops needs no more of the
 * file than where that agent is. The instance is the last known one, as the agent has claimed it.
 */
public final class InvalidConfig {
    private final ConfigFile file;
    private final @Nullable Places places;
    private final boolean namesPlace;
    private final ImmutableList<Problem> errors;

    /** @param read the file, with errors */
    public InvalidConfig(ConfigFile file, AgentConfigReader.Result read) {
        this.file = file;
        this.places = read.places();
        this.namesPlace = read.namesPlace();
        this.errors = read.errors();
    }

    /**
     * The directories to work on. What the file may name and nobody can read is taken from the options; where nothing in it looks like a
     * place, from the agent that runs on the usual directories. Never is it the default for want of another, nor the agent there beside
     * another one: a second copy of everything might be started.
     *
     * @throws CommandFailure when nothing says where they are
     */
    public Layout layout(UserDirectories directories, GlobalOptions options) {
        if (places != null) {
            return directories.layout(options, places);
        }
        Layout usual = directories.layout(options);
        if (options.stateDir().isPresent() && options.runDir().isPresent()) {
            return usual;
        }
        Optional<AgentFile> agent = AgentFile.running(usual);
        if (agent.isEmpty()) {
            throw elsewhere(usual, "where no agent runs", "--state-dir DIR --run-dir DIR");
        }
        if (namesPlace && options.stateDir().isEmpty()) {
            throw elsewhere(usual, "where an agent runs that may be another one", "--state-dir DIR");
        }
        return options.runDir().isPresent() ? usual : agent.get().at(usual);
    }

    private CommandFailure elsewhere(Layout usual, String what, String options) {
        return new CommandFailure(file.path() + " is not valid, and may name other directories than " + usual.stateDir()
                + " and " + usual.runDir() + ", " + what + "; correct it, or say where the state is: " + options + "\n"
                + errors.stream().map(Problem::toString).collect(Collectors.joining("\n")));
    }

    /** For whoever goes on all the same. */
    public String warning(Layout layout) {
        String more = errors.size() > 1 ? " (the first of " + errors.size() + " errors)" : "";
        return "warning: " + errors.getFirst() + more
                + "; the file is not valid, and of it counts only where the state is: " + layout.stateDir() + " and "
                + layout.runDir() + "; correct it, and check it: homeostat validate --config " + file.path();
    }

    /** For whoever would have to know the rest. */
    public CommandFailure failure() {
        return new CommandFailure("no agent runs, and what may be launched here is in " + file.path()
                + ", which is not valid; nothing was done; correct it first");
    }
}
