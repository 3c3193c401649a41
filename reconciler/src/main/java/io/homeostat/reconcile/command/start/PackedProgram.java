package io.homeostat.reconcile.command.start;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.Redaction;
import java.nio.file.Path;
import java.util.Optional;

/**
 * A program in an archive.
 *
 * @param url or an absolute path
 * @param name empty: by that of the archive
 * @param entryPoint empty: the only one
 * @param revision empty: by the archive's SHA-256
 */
public record PackedProgram(
        String url,
        Optional<String> name,
        Optional<String> entryPoint,
        Optional<String> revision,
        ImmutableList<String> arguments,
        boolean plugin) {
    private static final int REVISION_DIGITS = 12;

    /** Fetches the archive once, looks into it, and forgets it again. */
    public Drafts draft(Path temporary) throws InterruptedException {
        ArchiveInspection archive = ArchiveInspection.of(url, Redaction.url(url), entryPoint.orElse(null), temporary);
        Draft draft = new Draft(plugin ? "Plugin" : "Process", name.orElseGet(this::nameOfFile))
                .put("revision", revision.orElseGet(() -> archive.sha256().substring(0, REVISION_DIGITS)))
                .put("source.url", url)
                .put("source.sha256", archive.sha256())
                .put("entryPoint", archive.entryPoint());
        if (!arguments.isEmpty()) {
            draft.put("arguments", arguments);
        }
        return new Drafts(Redaction.url(url), ImmutableList.of(draft));
    }

    /** web-1.2.tar.gz is of web. */
    private String nameOfFile() {
        String path = url.replaceAll("[?#].*", "");
        String file = path.substring(path.lastIndexOf('/') + 1).replaceAll("\\.(?:tar\\.gz|tgz|tar|zip)$", "");
        return LocalProgram.name(file.replaceAll("[-_]v?[0-9].*$", ""));
    }
}
