package io.homeostat.reconcile.command;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.state.StateStore.ToApply;
import io.homeostat.desired.yaml.DocumentReader;
import io.homeostat.desired.yaml.Input;
import io.homeostat.desired.yaml.ReadResult;
import io.homeostat.reconcile.command.output.Console;
import java.nio.file.Path;
import java.util.Optional;

/** The PATHs of {@code -f}. */
public final class Inputs {
    /** Also the origin of what was read from it. */
    static final String STANDARD_INPUT = "-";

    private final Environment environment;
    private final ImmutableList<String> paths;

    /** @throws UsageException when a PATH is empty */
    public Inputs(Environment environment, ImmutableList<String> paths) {
        this.environment = environment;
        this.paths = paths;
        if (paths.contains("")) {
            // An unset variable, as a rule; the working directory is not what was meant.
            throw new UsageException("-f is empty; give it a file, a directory or -");
        }
    }

    /**
     * Reads all of them and tells people what is wrong.
     *
     * @param verb what they are for
     * @return empty when something is wrong
     * @throws UsageException when what to prune can't be told
     */
    public Optional<Given> read(Verb verb, boolean prune, Console console) {
        checkPrune(prune);
        if (paths.isEmpty()) {
            return Optional.of(Given.NOTHING);
        }
        ReadResult read = read();
        Problems.print(read, console.err());
        if (!read.valid()) {
            console.say(verb.word() + ": " + Problems.count(read)
                    + (verb == Verb.APPLY ? ", so nothing was stored or changed" : "") + "; correct the files");
            return Optional.empty();
        }
        return Optional.of(new Given(
                read.workloads().stream()
                        .map(document -> new ToApply(document.workload(), origin(document.input())))
                        .collect(ImmutableList.toImmutableList()),
                paths.stream().map(this::origin).collect(ImmutableSet.toImmutableSet()),
                prune));
    }

    /** Reads all of them; says nothing of errors, which are in the result. */
    public ReadResult read() {
        return DocumentReader.readAll(paths.stream().map(this::input).toList());
    }

    private void checkPrune(boolean prune) {
        if (prune && paths.isEmpty()) {
            throw new UsageException("--prune needs -f: it removes what an earlier apply of the same PATH declared");
        }
        if (prune && paths.contains(STANDARD_INPUT)) {
            throw new UsageException(
                    "--prune goes by the PATH that was applied, and standard input has none; write a file");
        }
    }

    private Input input(String path) {
        return path.equals(STANDARD_INPUT)
                ? new Input.Stream(STANDARD_INPUT, environment.in(), environment.workingDirectory())
                : new Input.At(Path.of(path));
    }

    /** What {@code --prune} goes by: the same PATH from another working directory is another one, however it is written. */
    private String origin(String path) {
        return path.equals(STANDARD_INPUT)
                ? STANDARD_INPUT
                : environment.workingDirectory().resolve(path).normalize().toString();
    }
}
