package io.homeostat.reconcile.cli;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.store.StateStore.ToApply;
import io.homeostat.desired.yaml.DocumentReader;
import io.homeostat.desired.yaml.Input;
import io.homeostat.desired.yaml.ReadResult;
import java.nio.file.Path;

/** The PATHs of {@code -f}. */
final class Inputs {
    private static final String STANDARD_INPUT = "-";

    private final Environment environment;
    private final ImmutableList<String> paths;

    /** @throws UsageException when a PATH is empty */
    Inputs(Environment environment, ImmutableList<String> paths) {
        this.environment = environment;
        this.paths = paths;
        if (paths.contains("")) {
            // An unset variable, as a rule; the working directory is not what was meant.
            throw new UsageException(Syntax.FILES + " is empty; give it a file, a directory or -");
        }
    }

    boolean areGiven() {
        return !paths.isEmpty();
    }

    /** @throws UsageException when what to prune can't be told */
    void checkPrune(boolean prune) {
        if (prune && !areGiven()) {
            throw new UsageException(Syntax.PRUNE + " needs " + Syntax.FILES
                    + ": it removes what an earlier apply of the same PATH declared");
        }
        if (prune && paths.contains(STANDARD_INPUT)) {
            throw new UsageException(
                    Syntax.PRUNE + " goes by the PATH that was applied, and standard input has none; write a file");
        }
    }

    /** Reads all of them; says nothing of errors, which are in the result. */
    ReadResult read() {
        return DocumentReader.readAll(paths.stream().map(this::input).toList());
    }

    private Input input(String path) {
        return path.equals(STANDARD_INPUT)
                ? new Input.Stream(STANDARD_INPUT, environment.in(), environment.workingDirectory())
                : new Input.At(Path.of(path));
    }

    /** What {@code --prune} goes by: the same PATH from another working directory is another one, however it is written. */
    ImmutableSet<String> origins() {
        return paths.stream().map(this::origin).collect(ImmutableSet.toImmutableSet());
    }

    /** The workloads with their origins, for the store. */
    ImmutableList<ToApply> toApply(ReadResult read) {
        return read.workloads().stream()
                .map(document -> new ToApply(document.workload(), origin(document.input())))
                .collect(ImmutableList.toImmutableList());
    }

    private String origin(String path) {
        return path.equals(STANDARD_INPUT)
                ? STANDARD_INPUT
                : environment.workingDirectory().resolve(path).normalize().toString();
    }
}
