package io.homeostat.reconcile.command.start;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.yaml.DocumentReader.Input;
import io.homeostat.desired.yaml.DocumentReader.ReadResult;
import io.homeostat.desired.yaml.DocumentReader.Texts;
import io.homeostat.desired.yaml.Problem;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.environment.DocumentFormat;
import io.homeostat.reconcile.command.output.Text;
import java.nio.file.Path;
import java.util.stream.Collectors;

/**
 * Documents for one file.
 *
 * @param from what they are made from, for the comment at their beginning
 */
public record Drafts(String from, ImmutableList<Draft> documents) {
    /**
     * The text of that file, which {@code validate} accepts.
     *
     * @param directory that relative paths start from
     * @throws CommandFailure when it does not: what was read says something that can't be declared
     */
    public String text(DocumentFormat format, Path directory) {
        String text = "# Made from " + Text.oneLine(from) + ".\n"
                + documents.stream().map(Draft::yaml).collect(Collectors.joining("---\n"));
        check(text, format, directory);
        return text;
    }

    private void check(String text, DocumentFormat format, Path directory) {
        Input.Text input = new Input.Text("document", "document", directory, text);
        ReadResult read = format.parse(new Texts(ImmutableList.of(input), ImmutableList.of()));
        if (!read.errors().isEmpty()) {
            throw new CommandFailure("what " + from + " says can't be declared, and nothing was written: "
                    + read.errors().stream().map(Problem::message).collect(Collectors.joining("; ")));
        }
    }

    /** What whoever uses them has to know. */
    public ImmutableList<Draft.Remark> remarks() {
        return documents.stream()
                .flatMap(document -> document.remarks().stream())
                .collect(ImmutableList.toImmutableList());
    }
}
