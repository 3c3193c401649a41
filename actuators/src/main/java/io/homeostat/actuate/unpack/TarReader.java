package io.homeostat.actuate.unpack;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.homeostat.actuate.Interruption;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveInputStream;
import org.apache.commons.compress.archivers.tar.TarConstants;
import org.apache.commons.compress.compressors.gzip.GzipCompressorInputStream;

/** Unpacks a tar, compressed or not, in one pass. */
final class TarReader {
    private static final int INPUT_BUFFER = 256 << 10;

    private TarReader() {}

    static void readGzip(Path archive, StagedTree tree, UnpackBudget budget)
            throws IOException, Refusal, InterruptedException {
        InputStream file = Files.newInputStream(archive);
        try {
            // All members, as gzip does; what follows the last must not be anything else.
            file = GzipCompressorInputStream.builder()
                    .setInputStream(file)
                    .setBufferSize(INPUT_BUFFER)
                    .setDecompressConcatenated(true)
                    .get();
        } catch (IOException e) {
            file.close();
            throw e;
        }
        try (InputStream content = new ReadAhead(file)) {
            read(content, tree, budget);
        }
    }

    static void readPlain(Path archive, StagedTree tree, UnpackBudget budget)
            throws IOException, Refusal, InterruptedException {
        try (InputStream content = new ReadAhead(Files.newInputStream(archive))) {
            read(content, tree, budget);
        }
    }

    private static void read(InputStream content, StagedTree tree, UnpackBudget budget)
            throws IOException, Refusal, InterruptedException {
        TarStream stream = new TarStream(content, budget.maxStreamBytes());
        TarArchiveInputStream tar = new TarArchiveInputStream(stream, UTF_8.name());
        byte[] buffer = new byte[64 << 10];
        stream.beginHeader();
        for (TarArchiveEntry entry; (entry = tar.getNextEntry()) != null; stream.beginHeader()) {
            stream.endHeader();
            Interruption.check();
            take(entry, tar, tree);
            // What an entry has that is not taken, so that the next header begins where it should.
            while (tar.read(buffer) >= 0) {
                Interruption.check();
            }
        }
        stream.requireEnd(buffer);
    }

    private static void take(TarArchiveEntry entry, TarArchiveInputStream tar, StagedTree tree)
            throws IOException, Refusal {
        String name = entry.getName();
        int mode = entry.getMode();
        switch (entry.getLinkFlag()) {
            case TarConstants.LF_NORMAL,
                    TarConstants.LF_OLDNORM,
                    TarConstants.LF_CONTIG,
                    TarConstants.LF_GNUTYPE_SPARSE -> {
                // Tars from before POSIX know directories by the slash at the end.
                if (name.endsWith("/") && entry.getSize() == 0) {
                    tree.directory(name, mode);
                } else if (name.endsWith("/")) {
                    throw Refusal.entry(name, "is a directory with content");
                } else if (!tar.canReadEntryData(entry)) {
                    throw Refusal.entry(name, "is stored in a way that can't be read");
                } else {
                    tree.file(name, mode, entry.getLastModifiedTime(), tar);
                }
            }
            case TarConstants.LF_DIR -> tree.directory(name, mode);
            case TarConstants.LF_SYMLINK -> tree.symlink(name, entry.getLinkName());
            case TarConstants.LF_LINK -> tree.hardLink(name, entry.getLinkName());
            case TarConstants.LF_CHR -> throw Refusal.entry(name, "is a character device");
            case TarConstants.LF_BLK -> throw Refusal.entry(name, "is a block device");
            case TarConstants.LF_FIFO -> throw Refusal.entry(name, "is a FIFO");
            default -> throw Refusal.entry(name, "is of the unknown type " + (entry.getLinkFlag() & 0xff));
        }
    }
}
