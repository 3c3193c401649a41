package io.homeostat.actuate.launch;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.io.Resources;
import io.homeostat.desired.model.ProcessSettings;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The shell script (program.sh) through which a process becomes a program. Until it is the program's user it has nothing of the program's
 * environment, which could otherwise have our own commands load whatever that user likes.
 */
public final class ProgramScript {
    static final String SHELL = "/bin/sh";

    /** Scripts travel in the environment: on the command line of every keeper they would be in the way of whoever lists processes. */
    private static final String VARIABLE = "HOMEOSTAT_PROGRAM_SCRIPT";

    private static final String SCRIPT = read("program.sh");

    private ProgramScript() {}

    /**
     * The command that becomes a program.
     *
     * @param becoming what makes it the program's user, with its limits; each executes the next one
     * @param log that takes its output, opened as that user; null: where our own goes
     * @param speaks whether the log takes only what it writes to standard error
     */
    static ImmutableList<String> command(
            ImmutableList<String> becoming,
            @Nullable Path log,
            boolean speaks,
            ProcessSettings settings,
            Path executable,
            ImmutableList<String> arguments) {
        return ImmutableList.<String>builder()
                .addAll(becoming)
                .add(SHELL, "-c", evaluated(VARIABLE), "homeostat")
                .add(log == null ? "" : log.toString(), log == null ? "nothing" : speaks ? "errors" : "all")
                .add(settings.mask())
                .add(settings.directory())
                .add(executable.toString())
                .addAll(arguments)
                .build();
    }

    /**
     * The command that becomes a program whose output goes where ours does.
     *
     * @param becoming what makes it the program's user; each executes the next one
     */
    public static ImmutableList<String> command(
            ImmutableList<String> becoming,
            String mask,
            String directory,
            Path executable,
            ImmutableList<String> arguments) {
        return ImmutableList.<String>builder()
                .addAll(becoming)
                .add(SHELL, "-c", evaluated(VARIABLE), "homeostat", "", "nothing", mask, directory)
                .add(executable.toString())
                .addAll(arguments)
                .build();
    }

    /** What that command needs in its environment, nothing of our own. */
    public static ImmutableMap<String, String> environment(Map<String, String> program) {
        ImmutableMap.Builder<String, String> variables = ImmutableMap.builder();
        int number = 0;
        for (Map.Entry<String, String> variable : program.entrySet()) {
            variables.put("HOMEOSTAT_ENV_" + number, variable.getKey() + "=" + variable.getValue());
            number++;
        }
        return variables.put(VARIABLE, SCRIPT).buildOrThrow();
    }

    /** A script of our own for {@code sh -c}. */
    static String evaluated(String variable) {
        return "eval \"$" + variable + "\"";
    }

    /** Without its comments: each process on the way carries the text. */
    static String read(String name) {
        try {
            return Resources.toString(Resources.getResource(ProgramScript.class, name), StandardCharsets.UTF_8)
                    .lines()
                    .map(String::strip)
                    .filter(line -> !line.isEmpty() && !line.startsWith("#"))
                    .collect(Collectors.joining("\n", "", "\n"));
        } catch (IOException e) {
            throw new IllegalStateException("the program is damaged: " + name + " can't be read", e);
        }
    }
}
