package io.homeostat.observe.install;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.google.common.hash.Hashing;
import com.google.common.hash.HashingInputStream;
import com.google.common.hash.HashingOutputStream;
import io.homeostat.observe.install.FileList.InstalledFile.Content;
import io.homeostat.observe.install.FileList.InstalledFile.Directory;
import io.homeostat.observe.install.FileList.InstalledFile.Link;
import io.homeostat.observe.install.FileList.InstalledFile.Stat;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The list of an installation's files: a JSON array with one array per entry. It is read and written entry by entry, because an archive
 * may have 200,000 of them and they need not be in memory.
 */
public final class FileList {
    /** Name of the file, beside the marker, which contains its hash. */
    public static final String FILE = InstallationMarker.FILE + ".files";

    private static final String DIRECTORY = "d";
    private static final String LINK = "l";
    private static final String CONTENT = "f";
    private static final JsonFactory JSON = new JsonFactory();

    private FileList() {}

    /** Writes a list. Closes the stream. */
    public static final class Writer implements Closeable {
        private final HashingOutputStream hashed;
        private final JsonGenerator json;

        public Writer(OutputStream out) throws IOException {
            hashed = new HashingOutputStream(Hashing.sha256(), out);
            json = JSON.createGenerator(new BufferedOutputStream(hashed));
            json.writeStartArray();
        }

        /** Directories have to precede their contents. */
        public void add(InstalledFile file) throws IOException {
            json.writeRaw('\n');
            json.writeStartArray();
            switch (file) {
                case Directory(String path, int mode) -> {
                    json.writeString(DIRECTORY);
                    json.writeString(path);
                    json.writeNumber(mode);
                }
                case Link(String path, String target) -> {
                    json.writeString(LINK);
                    json.writeString(path);
                    json.writeString(target);
                }
                case Content(String path, Stat stat, String sha256) -> {
                    json.writeString(CONTENT);
                    json.writeString(path);
                    json.writeNumber(stat.mode());
                    json.writeNumber(stat.size());
                    json.writeNumber(stat.modified());
                    json.writeNumber(stat.changed());
                    json.writeString(sha256);
                }
            }
            json.writeEndArray();
        }

        /** Ends the list and returns its SHA-256, in lower-case hexadecimal. */
        public String finish() throws IOException {
            json.writeEndArray();
            json.flush();
            return hashed.hash().toString();
        }

        @Override
        public void close() throws IOException {
            json.close();
            hashed.close();
        }
    }

    /** Reads a list. Closes the stream. */
    static final class Reader implements Closeable {
        private final HashingInputStream hashed;
        private final JsonParser json;

        Reader(InputStream in) throws IOException {
            hashed = new HashingInputStream(Hashing.sha256(), in);
            json = JSON.createParser(new BufferedInputStream(hashed));
            require(json.nextToken() == JsonToken.START_ARRAY);
        }

        /**
         * The next entry; empty after the last one.
         *
         * @throws JsonProcessingException when {@link Writer} did not write this list
         */
        Optional<InstalledFile> next() throws IOException {
            if (json.nextToken() != JsonToken.START_ARRAY) {
                require(json.currentToken() == JsonToken.END_ARRAY && json.nextToken() == null);
                return Optional.empty();
            }
            String type = text();
            String path = text();
            InstalledFile file = switch (type) {
                case DIRECTORY -> new Directory(path, (int) number());
                case LINK -> new Link(path, text());
                case CONTENT -> new Content(path, new Stat((int) number(), number(), number(), number()), text());
                default -> throw new NotAList();
            };
            require(json.nextToken() == JsonToken.END_ARRAY);
            return Optional.of(file);
        }

        /** SHA-256 of the whole list, once its end has been read. */
        String hash() {
            return hashed.hash().toString();
        }

        private String text() throws IOException {
            require(json.nextToken() == JsonToken.VALUE_STRING);
            return json.getText();
        }

        private long number() throws IOException {
            require(json.nextToken() == JsonToken.VALUE_NUMBER_INT);
            return json.getLongValue();
        }

        private static void require(boolean listed) throws NotAList {
            if (!listed) {
                throw new NotAList();
            }
        }

        @Override
        public void close() throws IOException {
            json.close();
        }
    }

    /** JSON, but not ours. */
    private static final class NotAList extends JsonProcessingException {
        private static final long serialVersionUID = 1;

        NotAList() {
            super("not a list of installed files");
        }
    }

    /** One entry of an archive as it was when it had just been unpacked. */
    public sealed interface InstalledFile {
        /** Relative to the installation, with slashes. */
        String path();

        /** A directory, with its permission bits. */
        record Directory(String path, int mode) implements InstalledFile {}

        /** A symbolic link. */
        record Link(String path, String target) implements InstalledFile {}

        /** A regular file, as lstat(2) described it, with the SHA-256 of its content in lower-case hexadecimal. */
        record Content(String path, Stat stat, String sha256) implements InstalledFile {}

        /**
         * What shows that nobody has written to a file, without reading it: every write updates its times, and nobody can set its ctime.
         * Not the inode: a copy of the installation is as good. Times are in nanoseconds since 1970.
         */
        record Stat(int mode, long size, long modified, long changed) {}

        /** What lstat(2) returns for a path: no symlink is followed and nothing is opened. */
        static Seen look(Path file) throws IOException {
            Map<String, Object> seen =
                    Files.readAttributes(file, "unix:mode,size,lastModifiedTime,ctime", LinkOption.NOFOLLOW_LINKS);
            int mode = (Integer) seen.getOrDefault("mode", 0);
            return new Seen(
                    mode & Seen.TYPE,
                    new Stat(
                            mode & Seen.PERMISSIONS,
                            (Long) seen.getOrDefault("size", 0L),
                            nanoseconds(seen.get("lastModifiedTime")),
                            nanoseconds(seen.get("ctime"))));
        }

        private static long nanoseconds(@Nullable Object time) {
            return ((FileTime) Objects.requireNonNull(time)).to(TimeUnit.NANOSECONDS);
        }

        /** What is at a path; its type as in inode(7). */
        record Seen(int type, Stat stat) {
            private static final int TYPE = 0170000;
            private static final int PERMISSIONS = 07777;
            private static final int DIRECTORY = 0040000;
            private static final int REGULAR = 0100000;
            private static final int LINK = 0120000;

            boolean isDirectory() {
                return type == DIRECTORY;
            }

            boolean isRegular() {
                return type == REGULAR;
            }

            boolean isLink() {
                return type == LINK;
            }
        }
    }
}
