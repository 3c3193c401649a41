package io.homeostat.observe.install;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.google.common.hash.Hashing;
import com.google.common.hash.HashingInputStream;
import com.google.common.hash.HashingOutputStream;
import io.homeostat.observe.install.InstalledFile.Content;
import io.homeostat.observe.install.InstalledFile.Directory;
import io.homeostat.observe.install.InstalledFile.Link;
import io.homeostat.observe.install.InstalledFile.Stat;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.Optional;

/**
 * The list of an installation's files, one JSON array each, in an array. Read and written entry by entry: an archive may have two
 * hundred thousand, and none of them need be in memory.
 */
public final class FileList {
    /** Name of the file, beside the marker, which has its hash. */
    public static final String FILE = InstallationMarker.FILE + ".files";

    private static final String DIRECTORY = "d";
    private static final String LINK = "l";
    private static final String CONTENT = "f";
    private static final JsonFactory JSON = new JsonFactory();

    private FileList() {}

    /** Writes a list. Owns the stream. */
    public static final class Writer implements Closeable {
        private final HashingOutputStream hashed;
        private final JsonGenerator json;

        public Writer(OutputStream out) throws IOException {
            hashed = new HashingOutputStream(Hashing.sha256(), out);
            json = JSON.createGenerator(new BufferedOutputStream(hashed));
            json.writeStartArray();
        }

        /** Directories have to come before what is in them. */
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

        /** Ends the list; its SHA-256, in lower-case hexadecimal. */
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

    /** Reads a list. Owns the stream. */
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
         * @throws JsonProcessingException when this is no list that {@link Writer} wrote
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
}
