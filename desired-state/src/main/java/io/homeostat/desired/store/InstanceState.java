package io.homeostat.desired.store;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import io.homeostat.desired.instance.Instance;
import io.homeostat.desired.layout.Layout;
import java.io.IOException;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Which instance a state directory belongs to, and what belonged to former ones. The database of an instance that is not this one is
 * in the directory of its id; the note in {@link Layout#instanceFile} says which one this is. Who writes holds the {@link StateLock}.
 */
public final class InstanceState {
    private static final JsonFactory JSON = new JsonFactory();

    private final Path stateDir;
    private final Path database;
    private final Path note;

    public InstanceState(Layout layout) {
        this.stateDir = layout.stateDir();
        this.database = layout.database();
        this.note = layout.instanceFile();
    }

    /**
     * Whose state this is; empty when nobody has claimed it, or the note is not one of ours.
     *
     * @throws StoreException when the note can't be read
     */
    public Optional<Instance> owner() {
        try {
            return Files.exists(note) ? parsed(Files.readAllBytes(note)) : Optional.empty();
        } catch (IOException e) {
            throw StateDirectory.failure("read", note, e);
        }
    }

    /**
     * Makes this the instance's state directory: sets the database of another instance aside, undeleted, and takes this one's back if
     * it was set aside before. May be repeated after having been broken off anywhere.
     *
     * @param former whose state it was; the same id when that is not another one
     * @return whether there was something to set aside
     * @throws StoreException when something can't be moved or written
     */
    public boolean claim(String former, Instance now) {
        try {
            rejoin(former);
            boolean another = !former.equals(now.id());
            boolean setAside = another && move(stateDir, stateDir.resolve(former));
            write(now);
            Path own = stateDir.resolve(now.id());
            if (!Files.exists(database) && Files.exists(own.resolve(database.getFileName()))) {
                move(own, stateDir);
            }
            return setAside;
        } catch (IOException e) {
            throw StateDirectory.failure("make this the state of instance " + now.id() + " in", stateDir, e);
        }
    }

    /**
     * Takes back what a move that was broken off has parted from its database: it may not be repeated, since who is here now may be
     * the former instance after all. A database without its log lacks what was committed last.
     */
    private void rejoin(String former) throws IOException {
        Path aside = stateDir.resolve(former);
        if (Files.exists(database) && !Files.exists(aside.resolve(database.getFileName()))) {
            move(aside, stateDir);
        }
    }

    /** The database comes last: where it is, all of it is, unless that was broken off. */
    private boolean move(Path from, Path to) throws IOException {
        boolean moved = false;
        for (String suffix : new String[] {"-wal", "-shm", "-journal", ""}) {
            Path file = StateDirectory.companion(from.resolve(database.getFileName()), suffix);
            if (Files.exists(file)) {
                Files.createDirectories(to, StateDirectory.PRIVATE_DIRECTORY);
                Files.move(file, to.resolve(file.getFileName()));
                moved = true;
            }
        }
        if (moved) {
            StateDirectory.sync(to);
            StateDirectory.sync(from);
        }
        return moved;
    }

    private void write(Instance instance) throws IOException {
        if (owner().filter(instance::equals).isPresent()) {
            return;
        }
        Path unfinished = note.resolveSibling(note.getFileName() + ".new");
        Files.deleteIfExists(unfinished);
        try (FileChannel channel = FileChannel.open(
                        unfinished,
                        Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE),
                        StateDirectory.PRIVATE_FILE);
                JsonGenerator json = JSON.createGenerator(Channels.newOutputStream(channel))) {
            json.writeStartObject();
            json.writeStringField("id", instance.id());
            json.writeStringField("machineId", instance.machineId());
            json.writeStringField("metadataId", instance.metadataId());
            json.writeStringField("bootId", instance.bootId());
            json.writeEndObject();
            json.flush();
            channel.force(true);
        }
        Files.move(unfinished, note, StandardCopyOption.ATOMIC_MOVE);
        StateDirectory.sync(stateDir);
    }

    private static Optional<Instance> parsed(byte[] bytes) throws IOException {
        Map<String, String> fields = new HashMap<>();
        try (JsonParser json = JSON.createParser(bytes)) {
            while (json.nextToken() != null) {
                if (json.currentToken() == JsonToken.FIELD_NAME) {
                    String name = json.currentName();
                    json.nextToken();
                    fields.put(name, json.getText());
                }
            }
        } catch (JsonProcessingException e) {
            return Optional.empty();
        }
        String id = fields.getOrDefault("id", "");
        return id.isEmpty()
                ? Optional.empty()
                : Optional.of(new Instance(
                        id,
                        fields.getOrDefault("machineId", ""),
                        fields.getOrDefault("metadataId", ""),
                        fields.getOrDefault("bootId", "")));
    }
}
