package io.homeostat.reconcile.cli;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.yaml.DocumentReader;
import io.homeostat.desired.yaml.DocumentReader.Input;
import io.homeostat.desired.yaml.DocumentReader.ReadResult;
import io.homeostat.desired.yaml.Problem;
import io.homeostat.reconcile.command.DocumentSet;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.environment.Environment;
import io.homeostat.reconcile.command.environment.UsageException;
import io.homeostat.reconcile.command.output.Console;
import java.io.PrintStream;
import java.nio.file.Path;

/** The PATHs of {@code -f}. */
final class DocumentPaths {
    private final Environment environment;
    private final ImmutableList<String> paths;

    /** @throws UsageException when a PATH is empty */
    DocumentPaths(Environment environment, ImmutableList<String> paths) {
        this.environment = environment;
        this.paths = paths;
        if (paths.contains("")) {
            // An unset variable, as a rule; the working directory is not what was meant.
            throw new UsageException(Syntax.FILES + " is empty; give it a file, a directory or -");
        }
    }

    /**
     * Reads all of them and prints what is wrong.
     *
     * @param consequence of errors, in words that follow their number
     * @throws CommandFailure when something is wrong with the files
     */
    DocumentSet read(boolean prune, Console console, String consequence) {
        checkPrune(prune);
        if (paths.isEmpty()) {
            return DocumentSet.NONE;
        }
        ReadResult read = read();
        print(read, console.err());
        if (!read.valid()) {
            int errors = read.errors().size();
            throw new CommandFailure(
                    (errors == 1 ? "1 error" : errors + " errors") + consequence + "; correct the files");
        }
        return DocumentSet.of(
                read, this::origin, paths.stream().map(this::origin).collect(ImmutableSet.toImmutableSet()), prune);
    }

    /** Reads all of them; says nothing of errors, which are in the result. */
    ReadResult read() {
        return DocumentReader.readAll(paths.stream().map(this::input).toList());
    }

    /** One line a problem: {@code file:line:column: message}. */
    static void print(ReadResult read, PrintStream err) {
        for (Problem warning : read.warnings()) {
            err.println("warning: " + warning);
        }
        for (Problem error : read.errors()) {
            err.println(error);
        }
        err.flush();
    }

    private void checkPrune(boolean prune) {
        if (prune && paths.isEmpty()) {
            throw new UsageException(Syntax.PRUNE + " needs " + Syntax.FILES
                    + ": it removes what an earlier apply of the same PATH declared");
        }
        if (prune && paths.contains(DocumentSet.STANDARD_INPUT)) {
            throw new UsageException(
                    Syntax.PRUNE + " goes by the PATH that was applied, and standard input has none; write a file");
        }
    }

    private Input input(String path) {
        return path.equals(DocumentSet.STANDARD_INPUT)
                ? new Input.Stream(path, environment.in(), environment.workingDirectory())
                : new Input.At(Path.of(path));
    }

    /** What {@code --prune} goes by: the same PATH from another working directory is another one, however it is written. */
    private String origin(String path) {
        return path.equals(DocumentSet.STANDARD_INPUT)
                ? path
                : environment.workingDirectory().resolve(path).normalize().toString();
    }
}
