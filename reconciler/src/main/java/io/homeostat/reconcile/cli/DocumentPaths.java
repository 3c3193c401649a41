package io.homeostat.reconcile.cli;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.Redaction;
import io.homeostat.desired.yaml.DocumentReader;
import io.homeostat.desired.yaml.DocumentReader.Input;
import io.homeostat.desired.yaml.DocumentReader.Texts;
import io.homeostat.reconcile.command.DocumentTexts;
import io.homeostat.reconcile.command.environment.Environment;
import io.homeostat.reconcile.command.environment.UsageException;
import java.nio.file.Path;
import java.util.regex.Pattern;

/** The PATHs of {@code -f}. */
final class DocumentPaths {
    private static final Pattern URL = Pattern.compile("[a-zA-Z][a-zA-Z0-9+.-]*://");

    private final Environment environment;
    private final ImmutableList<String> paths;

    /** @throws UsageException when a PATH is empty, a URL or an option that does not exist */
    DocumentPaths(Environment environment, ImmutableList<String> paths) {
        this.environment = environment;
        this.paths = paths;
        if (paths.contains("")) {
            // An unset variable, as a rule; the working directory is not what was meant.
            throw new UsageException(Syntax.FILES + " is empty; give it a file, a directory or -");
        }
        paths.forEach(DocumentPaths::requireNoUrl);
        paths.stream()
                .filter(path -> path.startsWith("-") && !path.equals(DocumentTexts.STANDARD_INPUT))
                .findFirst()
                .ifPresent(path -> {
                    throw new UsageException("Unknown option: '" + path + "'; a file of that name is ./" + path);
                });
    }

    /**
     * Reads all of them and parses none.
     *
     * @throws UsageException when what to prune can't be told
     */
    DocumentTexts texts(boolean prune, boolean allowEmpty) {
        checkPrune(prune);
        Texts read = read();
        return new DocumentTexts(
                new Texts(
                        read.texts().stream()
                                .map(text -> new Input.Text(
                                        text.name(), origin(text.input()), text.directory(), text.text()))
                                .collect(ImmutableList.toImmutableList()),
                        read.errors()),
                paths.stream().map(this::origin).collect(ImmutableSet.toImmutableSet()),
                prune,
                allowEmpty);
    }

    Texts read() {
        return DocumentReader.collect(paths.stream().map(this::input).toList());
    }

    private void checkPrune(boolean prune) {
        if (prune && paths.isEmpty()) {
            throw new UsageException(Syntax.PRUNE + " needs " + Syntax.FILES
                    + ": it removes what an earlier apply of the same PATH declared");
        }
        if (prune && paths.contains(DocumentTexts.STANDARD_INPUT)) {
            throw new UsageException(
                    Syntax.PRUNE + " goes by the PATH that was applied, and standard input has none; write a file");
        }
    }

    private static void requireNoUrl(String path) {
        if (URL.matcher(path).lookingAt()) {
            String shown = Redaction.text(path);
            throw new UsageException(Syntax.FILES + ": URLs are not read; fetch it first, as in curl -fsS '" + shown
                    + "' | homeostat ... " + Syntax.FILES + " -");
        }
    }

    private Input input(String path) {
        return path.equals(DocumentTexts.STANDARD_INPUT)
                ? new Input.Stream(path, environment.in(), environment.workingDirectory())
                : new Input.At(Path.of(path));
    }

    /** What {@code --prune} compares: the same PATH in another working directory is another origin. */
    private String origin(String path) {
        return path.equals(DocumentTexts.STANDARD_INPUT)
                ? path
                : environment.workingDirectory().resolve(path).normalize().toString();
    }
}
