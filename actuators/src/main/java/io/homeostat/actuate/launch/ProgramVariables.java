package io.homeostat.actuate.launch;

import com.google.common.collect.ImmutableMap;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.desired.model.EnvValue;
import io.homeostat.desired.model.Program;
import io.homeostat.desired.model.ProgramUser;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.observe.files.EnvironmentFile;
import io.homeostat.observe.files.FileContent;
import io.homeostat.observe.files.FileContent.Use;
import io.homeostat.observe.files.FileContents;
import io.homeostat.observe.files.FileValue;
import java.io.IOException;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The variables that a program is launched with: those of its files in their order, and over them those that are declared.
 *
 * @param files what was read, by path: of the very bytes that the variables are from
 */
public record ProgramVariables(ImmutableMap<String, String> variables, ImmutableMap<String, FileContent> files) {
    /**
     * Reads the files.
     *
     * @throws ActuationFailure names the file that can't be read, and no value; not fatal, because files change
     */
    public static ProgramVariables read(WorkloadId id, Program program) throws ActuationFailure {
        Reading reading = new Reading(id, program.runsAs());
        Map<String, String> variables = new LinkedHashMap<>();
        if (program.envFiles() != null) {
            for (String path : program.envFiles()) {
                variables.putAll(
                        EnvironmentFile.of(reading.bytes(path, Use.VARIABLES)).variables());
            }
        }
        for (Map.Entry<String, EnvValue> variable : program.env().entrySet()) {
            String value = switch (variable.getValue()) {
                case EnvValue.Text(String text) -> text;
                case EnvValue.FromFile(String path) ->
                    FileValue.of(reading.bytes(path, Use.VALUE)).text();
            };
            variables.put(variable.getKey(), value);
        }
        return new ProgramVariables(ImmutableMap.copyOf(variables), ImmutableMap.copyOf(reading.contents));
    }

    /** Without the values, which may be secret. */
    @Override
    public String toString() {
        return "ProgramVariables" + variables.keySet() + files.keySet();
    }

    /** Reads each file once, whatever for. */
    private static final class Reading {
        private final WorkloadId id;
        private final @Nullable ProgramUser user;
        private final Map<String, byte[]> bytes = new HashMap<>();
        private final Map<String, FileContent> contents = new LinkedHashMap<>();

        Reading(WorkloadId id, @Nullable ProgramUser user) {
            this.id = id;
            this.user = user;
        }

        byte[] bytes(String path, Use use) throws ActuationFailure {
            byte[] known = bytes.get(path);
            byte[] read = known == null ? read(path, use) : known;
            bytes.put(path, read);
            FileContent content = contents.computeIfAbsent(path, any -> FileContent.of(read));
            Optional<String> problem = content.problem(use);
            if (problem.isPresent()) {
                throw unusable(path, problem.get());
            }
            return read;
        }

        private byte[] read(String path, Use use) throws ActuationFailure {
            try {
                return FileContents.read(user, path);
            } catch (IOException e) {
                throw unusable(path, FileContents.problem(e).problem(use).orElse("it can't be read"));
            }
        }

        private ActuationFailure unusable(String path, String problem) {
            return new ActuationFailure(
                    FailureCause.Kind.FILE_MISSING,
                    id.brief() + " can't be launched: its environment can't be read from " + path + ": " + problem,
                    false);
        }
    }
}
