package io.homeostat.reconcile.command.start;

import com.google.common.collect.ImmutableList;
import io.homeostat.reconcile.command.environment.CommandFailure;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/** A program that is on this machine already. */
public final class LocalProgram {
    private static final int LONGEST_NAME = 63;

    private LocalProgram() {}

    /** A document for it; without a name it has that of the file. */
    public static Drafts draft(Path file, Optional<String> name, ImmutableList<String> arguments) {
        if (!Files.isRegularFile(file)) {
            throw new CommandFailure("there is no file " + file
                    + "; name the program that is to run, or write archive for what has to be fetched");
        }
        if (!Files.isExecutable(file)) {
            throw new CommandFailure(file + " is not executable; chmod +x makes it so");
        }
        Draft draft = new Draft("Process", name.orElseGet(() -> name(file.getFileName() + "")))
                .put("install", "local")
                .put("entryPoint", file.toString());
        if (!arguments.isEmpty()) {
            draft.put("arguments", arguments);
        }
        return new Drafts(file.toString(), ImmutableList.of(draft));
    }

    /** What may be a workload's name, as like this one as can be; others are told by the check of the document. */
    static String name(String like) {
        String possible = like.replaceAll("[^A-Za-z0-9._-]+", "-").replaceAll("^[^A-Za-z0-9]+|-+$", "");
        return possible.substring(0, Math.min(LONGEST_NAME, possible.length()));
    }
}
