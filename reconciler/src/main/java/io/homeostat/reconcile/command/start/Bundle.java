package io.homeostat.reconcile.command.start;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.platform.NewFile;
import io.homeostat.desired.signature.KeyFailure;
import io.homeostat.desired.signature.SigningKey;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.environment.DocumentFormat;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.Optional;

/**
 * A directory that becomes an archive and the document that declares it.
 *
 * @param revision empty: by the contents
 * @param urlPrefix where the archive will be; empty: beside the document
 * @param key that signs; empty: nobody does
 * @param plugin whether it serves the plugin protocol
 * @param target a directory
 * @param temporary for what is removed again
 */
public record Bundle(
        Path directory,
        String entryPoint,
        String name,
        Optional<String> revision,
        Optional<String> urlPrefix,
        Optional<Path> key,
        boolean plugin,
        Path target,
        boolean replaces,
        Path temporary) {
    private static final int REVISION_DIGITS = 12;
    private static final String SOME_SHA256 = "0".repeat(64);

    /** What was written. */
    public record Made(Path archive, Path document, String sha256, String revision, Optional<String> signature) {}

    /**
     * Writes both files, the document last: it declares nothing that is not there.
     *
     * @throws CommandFailure when the directory can't be installed as it is, or a file can't be written
     */
    public Made make(DocumentFormat format) throws InterruptedException {
        // What is typed wrong is told before any work.
        String _ = document(revision.orElse("0"), SOME_SHA256, Optional.empty()).text(format, target);
        WholeFile document = new WholeFile(target.resolve(name + ".yaml"), replaces);
        requireApart();
        document.require();
        Optional<SigningKey> signer = key.isPresent() ? Optional.of(read(key.get())) : Optional.empty();
        try (NewFile file = NewFile.of(target.resolve(name))) {
            BundleArchive archive = BundleArchive.write(directory, file);
            String revised = revision.orElseGet(() -> archive.content().substring(0, REVISION_DIGITS));
            ArchiveInspection seen =
                    ArchiveInspection.of(file.part().toString(), "an archive of " + directory, entryPoint, temporary);
            if (!seen.sha256().equals(archive.sha256())) {
                throw new CommandFailure("the archive in " + target + " was changed by somebody else; try again");
            }
            Optional<String> signature = signer.map(with -> with.sign(archive.sha256()));
            Path place = target.resolve(archiveName(revised));
            publish(file, place, archive);
            document.write(document(revised, archive.sha256(), signature).text(format, target));
            return new Made(place, document.path(), archive.sha256(), revised, signature);
        } catch (IOException e) {
            throw new CommandFailure("cannot bundle " + directory + ": " + e, e);
        }
    }

    /** The same archive may be there already, from when its contents could be read by others; so it is replaced. */
    private void publish(NewFile file, Path place, BundleArchive archive) throws IOException {
        boolean isThere =
                Files.isRegularFile(place, LinkOption.NOFOLLOW_LINKS) && Files.mismatch(file.part(), place) < 0;
        WholeFile whole = new WholeFile(place, replaces || isThere);
        whole.require();
        file.rename(String.valueOf(place.getFileName()));
        whole.take(file);
        file.warnIfClosed(archive.permissions());
    }

    /** An archive that is written into the directory would be in itself. */
    private void requireApart() {
        try {
            if (!Files.isDirectory(directory)) {
                throw new CommandFailure("there is no directory " + directory);
            }
            BundleArchive.requireOurs(directory);
            if (!Files.isDirectory(target)) {
                throw new CommandFailure(
                        "there is no directory " + target + "; create it, or choose another with --to");
            }
            if (target.toRealPath().startsWith(directory.toRealPath())) {
                throw new CommandFailure(
                        target + " is in the directory that is to be bundled; choose another with --to");
            }
        } catch (IOException e) {
            throw new CommandFailure("cannot look at " + directory + " and " + target + ": " + e, e);
        }
    }

    private static SigningKey read(Path file) {
        try {
            return SigningKey.read(file);
        } catch (KeyFailure e) {
            throw new CommandFailure(String.valueOf(e.getMessage()), e);
        }
    }

    private Drafts document(String revised, String sha256, Optional<String> signature) {
        Draft draft = new Draft(plugin ? "Plugin" : "Process", name)
                .put("revision", revised)
                .put("source.url", url(revised))
                .put("source.sha256", sha256);
        signature.ifPresent(text -> draft.put("source.signature", text));
        draft.put("entryPoint", entryPoint);
        return new Drafts("the directory " + directory, ImmutableList.of(draft));
    }

    private String url(String revised) {
        String prefix = urlPrefix.orElse("");
        return (prefix.isEmpty() || prefix.endsWith("/") ? prefix : prefix + "/") + archiveName(revised);
    }

    private String archiveName(String revised) {
        return name + "-" + revised + ".tar.gz";
    }
}
