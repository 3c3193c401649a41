package io.homeostat.desired.state.sqlite;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.platform.MachineIdentity;
import io.homeostat.desired.state.StoreException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Which machine a state directory belongs to, and what belonged to former ones. The database of a machine that is not this one is
 * in the directory of its id; the note in {@link Layout#machineFile} says which one this is. Who writes holds the {@link StateLock}.
 */
public final class MachineState {
    private static final Logger LOG = LoggerFactory.getLogger(MachineState.class);
    private static final JsonFactory JSON = new JsonFactory();
    /** In the note: the news of the last claim, until they have been told. */
    private static final String NEWS = "news";

    private static final int MOST_BYTES = 1 << 16;

    private final Layout layout;
    private final Path stateDir;
    private final Path database;
    private final Path note;

    public MachineState(Layout layout) {
        this.layout = layout;
        this.stateDir = layout.stateDir();
        this.database = layout.database();
        this.note = layout.machineFile();
    }

    /**
     * Whose state this is; empty when nobody has claimed it, or the note is damaged and nothing else tells.
     *
     * @throws StoreException when the note can't be read, or somebody else can write it
     */
    public Optional<MachineIdentity> owner() {
        try {
            if (!Files.exists(note)) {
                return Optional.empty();
            }
            StateDirectory.requireOurs(stateDir);
            Optional<MachineIdentity> noted = noted();
            return noted.isPresent() ? noted : inferred();
        } catch (IOException e) {
            throw StateDirectory.failure("read", note, e);
        }
    }

    /**
     * Whether the database of an instance is here, in use or set aside.
     *
     * @throws StoreException when it can't be read whose the one in use is
     */
    public boolean isKept(String id) {
        return isSetAside(id)
                || (Files.exists(database)
                        && owner().map(MachineIdentity::id).filter(id::equals).isPresent());
    }

    private boolean isSetAside(String id) {
        return Files.exists(stateDir.resolve(id).resolve(database.getFileName()));
    }

    /** What is longer is none of ours, and damaged. */
    private byte[] content() throws IOException {
        StateDirectory.requireFileOrNothing(note);
        try (InputStream in = Files.newInputStream(note)) {
            return in.readNBytes(MOST_BYTES);
        }
    }

    private Optional<MachineIdentity> noted() throws IOException {
        return Files.exists(note) ? parsed(content()) : Optional.empty();
    }

    /** Who has installed something here and whose database was not set aside, if there is exactly one: this database is his. */
    private Optional<MachineIdentity> inferred() throws IOException {
        List<String> ids = Files.exists(database) ? installers() : List.of();
        if (ids.size() != 1) {
            LOG.warn("{} is damaged and does not say whose state this is; whoever is here now goes on with it", note);
            return Optional.empty();
        }
        String id = ids.getFirst();
        LOG.warn(
                "{} is damaged and does not say whose state this is; it is taken for that of instance {}, whose {} is the only one without a database of its own",
                note,
                id,
                stateDir.resolve(id));
        return Optional.of(new MachineIdentity(id, "", "", ""));
    }

    private List<String> installers() throws IOException {
        try (Stream<Path> entries = Files.list(stateDir)) {
            return entries.map(entry -> String.valueOf(entry.getFileName()))
                    .filter(id -> Kind.all().stream()
                            .anyMatch(kind -> Files.isDirectory(layout.of(id).installs(kind))))
                    .filter(id -> !isSetAside(id))
                    .toList();
        }
    }

    /**
     * Makes this the machine's state directory: sets the database of another machine aside, undeleted, and takes back this one's. May
     * be repeated after an interruption at any point.
     *
     * @param former whose state it was
     * @param news what to tell when something is set aside
     * @return what to tell, until {@link #told}: that something was set aside, now or by a claim that was not told
     * @throws StoreException when something can't be moved or written
     */
    public Optional<String> claim(String former, MachineIdentity now, String news) {
        try {
            rejoin(former);
            boolean another = !former.equals(now.id());
            Path aside = stateDir.resolve(former);
            boolean setAside = another && (move(stateDir, aside) || isSetAside(former));
            Optional<String> untold = setAside ? Optional.of(news) : another ? Optional.empty() : notedNews();
            write(now, untold.orElse(""));
            Path own = stateDir.resolve(now.id());
            if (!Files.exists(database) && isSetAside(now.id())) {
                move(own, stateDir);
            }
            return untold;
        } catch (IOException e) {
            throw StateDirectory.failure("make this the state of instance " + now.id() + " in", stateDir, e);
        }
    }

    /** The news that {@link #claim} returned have been told; if this can't be written down, they are told again. */
    public void told() {
        try {
            Optional<MachineIdentity> owner = noted();
            if (owner.isPresent()) {
                write(owner.get(), "");
            }
        } catch (IOException e) {
            LOG.warn(
                    "that the state of another instance was set aside will be told again: {} can't be written: {}",
                    note,
                    e);
        }
    }

    /**
     * Takes back what an interrupted move parted from its database: the move may not be repeated, as this may be the former machine
     * after all. Without its log, a database lacks the newest commits.
     */
    private void rejoin(String former) throws IOException {
        Path aside = stateDir.resolve(former);
        if (Files.exists(database) && !isSetAside(former)) {
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

    private void write(MachineIdentity machine, String news) throws IOException {
        if (noted().filter(machine::equals).isPresent()
                && notedNews().orElse("").equals(news)) {
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
            json.writeStringField("id", machine.id());
            json.writeStringField("machineId", machine.machineId());
            json.writeStringField("metadataId", machine.metadataId());
            json.writeStringField("bootId", machine.bootId());
            if (!news.isEmpty()) {
                json.writeStringField(NEWS, news);
            }
            json.writeEndObject();
            json.flush();
            channel.force(true);
        }
        Files.move(unfinished, note, StandardCopyOption.ATOMIC_MOVE);
        StateDirectory.sync(stateDir);
    }

    private Optional<String> notedNews() throws IOException {
        return Files.exists(note) ? Optional.ofNullable(fields(content()).get(NEWS)) : Optional.empty();
    }

    /** The fields of a note; none of one that is damaged. */
    private static Map<String, String> fields(byte[] bytes) throws IOException {
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
            return Map.of();
        }
        return fields;
    }

    private static Optional<MachineIdentity> parsed(byte[] bytes) throws IOException {
        Map<String, String> fields = fields(bytes);
        String id = fields.getOrDefault("id", "");
        return id.isEmpty()
                ? Optional.empty()
                : Optional.of(new MachineIdentity(
                        id,
                        fields.getOrDefault("machineId", ""),
                        fields.getOrDefault("metadataId", ""),
                        fields.getOrDefault("bootId", "")));
    }
}
