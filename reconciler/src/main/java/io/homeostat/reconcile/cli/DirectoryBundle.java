package io.homeostat.reconcile.cli;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.homeostat.reconcile.command.environment.Environment;
import io.homeostat.reconcile.command.environment.Environment.Interrupts;
import io.homeostat.reconcile.command.environment.ExitStatus;
import io.homeostat.reconcile.command.environment.UsageException;
import io.homeostat.reconcile.command.environment.UserDirectories;
import io.homeostat.reconcile.command.output.Console;
import io.homeostat.reconcile.command.output.Json;
import io.homeostat.reconcile.command.start.Bundle;
import java.nio.file.Path;
import java.util.Optional;

/** Makes an archive of a directory, and the document for it. */
record DirectoryBundle(Invocation typed) {
    int run() throws InterruptedException {
        Environment environment = typed.environment();
        Arguments arguments = typed.arguments();
        UserDirectories paths = new UserDirectories(environment);
        Path directory = paths.absolute("DIR", arguments.word().orElse(""));
        Path last = directory.getFileName();
        Bundle bundle = new Bundle(
                directory,
                arguments.text(Syntax.ENTRY_POINT).orElse(""),
                arguments
                        .text(Syntax.NAME)
                        .or(() -> Optional.ofNullable(last).map(Path::toString))
                        .orElseThrow(() -> new UsageException("needs " + Syntax.NAME + ": " + directory + " has none")),
                arguments.text(Syntax.REVISION),
                arguments.text(Syntax.URL_PREFIX),
                arguments.text(Syntax.KEY).map(file -> paths.absolute(Syntax.KEY, file)),
                arguments.flag(Syntax.AS_PLUGIN),
                arguments
                        .text(Syntax.TO)
                        .map(to -> paths.absolute(Syntax.TO, to))
                        .orElse(environment.workingDirectory()),
                arguments.flag(Syntax.FORCE),
                FirstDocument.temporary(environment));
        Bundle.Made made;
        try (Interrupts.Guard _ = environment.interrupts().guard()) {
            made = bundle.make(environment.documents());
        }
        print(made, typed.console());
        return ExitStatus.OK;
    }

    private static void print(Bundle.Made made, Console console) {
        if (!console.json()) {
            console.out().println(made.archive());
            console.out().println(made.document());
            return;
        }
        ObjectNode json = Json.versioned()
                .put("archive", made.archive().toString())
                .put("document", made.document().toString())
                .put("sha256", made.sha256())
                .put("revision", made.revision())
                .put("signature", made.signature().orElse(null));
        Json.print(console.out(), json);
    }
}
