package io.homeostat.desired.remote;

import com.google.protobuf.ByteString;
import io.homeostat.desired.fleet.SetFile;
import io.homeostat.desired.platform.NewFile;
import io.homeostat.desired.remote.SetFetcher.Fetched;
import io.homeostat.desired.yaml.IoReason;
import java.io.IOException;
import java.io.InputStream;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Optional;
import java.util.Set;

/** A set in a file, of a web server's directory for example. Publishers on several machines are not kept apart by it. */
public final class FileTarget implements SetTarget {
    /** As readable as web servers need it: what is in it is not secret from those who fetch it. */
    private static final Set<PosixFilePermission> FOR_ALL = PosixFilePermissions.fromString("rw-r--r--");

    private final Path file;
    private Optional<ByteString> found = Optional.empty();

    public FileTarget(Path file) {
        this.file = file;
    }

    @Override
    public String name() {
        return file.toString();
    }

    @Override
    public Optional<Fetched> read() throws FetchFailure {
        found = content();
        return found.map(content -> new Fetched.File("", content));
    }

    private Optional<ByteString> content() throws FetchFailure {
        if (Files.isDirectory(file)) {
            throw new FetchFailure("it is a directory; name a file in it, such as " + file.resolve("set.json"));
        }
        if (Files.exists(file) && !Files.isRegularFile(file)) {
            throw new FetchFailure("it is no regular file; remove it, or name another");
        }
        try (InputStream in = Files.newInputStream(file)) {
            return Optional.of(ByteString.copyFrom(in.readNBytes(SetFetcher.MAX_BYTES + 1)));
        } catch (NoSuchFileException e) {
            return Optional.empty();
        } catch (IOException e) {
            throw new FetchFailure("it can't be read: " + IoReason.of(e), e);
        }
    }

    @Override
    public boolean write(SetFile set) throws FetchFailure {
        if (!content().equals(found)) {
            return false;
        }
        try (NewFile written = NewFile.of(file)) {
            try (FileChannel out = written.create(FOR_ALL)) {
                Channels.newOutputStream(out).write(set.bytes());
                out.force(true);
            }
            written.replace();
            written.warnIfClosed(FOR_ALL);
            return true;
        } catch (IOException e) {
            throw new FetchFailure("it can't be written: " + IoReason.withFile(e), e);
        }
    }

    @Override
    public void close() {
        // Nothing is open between two calls.
    }
}
