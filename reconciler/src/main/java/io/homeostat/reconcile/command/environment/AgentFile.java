package io.homeostat.reconcile.command.environment;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.platform.OwnDirectory;
import io.homeostat.desired.platform.TrustedPath;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.observe.process.ProcFs;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/**
 * The note in a state directory that says which agent runs on it and where it listens, so that commands find it whatever their run
 * directory. Written once the agent listens, removed when it ends; a killed agent's note is recognised by the process's identity, and a
 * copy of the directory by the directory that the note names.
 */
public record AgentFile(ProcessIdentity identity, Path socket, String version) {
    private static final JsonFactory JSON = new JsonFactory();

    /** What this process would write. */
    public static AgentFile ofThisProcess(Path socket, String version, ProcFs procFs) throws IOException {
        long pid = ProcessHandle.current().pid();
        ProcFs.Stat stat = procFs.stat(pid).orElseThrow(() -> new IOException("/proc does not show this process"));
        return new AgentFile(new ProcessIdentity(pid, stat.startTicks(), procFs.bootId()), socket, version);
    }

    /** The agent that runs on a state directory; empty when none does. */
    public static Optional<AgentFile> running(Layout layout, ProcFs procFs) throws IOException {
        Path file = layout.agentFile();
        if (!Files.exists(file)) {
            return Optional.empty();
        }
        Optional<String> objection = OwnDirectory.objectionToContent(layout.stateDir(), TrustedPath.isRoot());
        if (objection.isPresent()) {
            throw new IOException(objection.get());
        }
        Optional<AgentFile> noted;
        try {
            noted = read(file, key(layout));
        } catch (NoSuchFileException e) {
            // It has ended just now.
            return Optional.empty();
        }
        return noted.isPresent() && procFs.runs(noted.get().identity()) ? noted : Optional.empty();
    }

    /**
     * The same.
     *
     * @throws CommandFailure when that can't be found out
     */
    public static Optional<AgentFile> running(Layout layout) {
        try {
            return running(layout, new ProcFs());
        } catch (IOException e) {
            throw new CommandFailure(
                    "cannot find out whether an agent runs on " + layout.stateDir() + ": " + CommandFailure.reason(e),
                    e);
        }
    }

    /** The layout with its own run directory, which may be another one than that of whoever asks. */
    public Layout at(Layout here) {
        Path runDir = socket.getParent();
        return runDir == null ? here : new Layout(here.stateDir(), runDir, here.instanceId());
    }

    /** Writes it, at once whole. */
    public void write(Layout layout) throws IOException {
        Path file = layout.agentFile();
        Path unfinished = file.resolveSibling("agent.new");
        Files.deleteIfExists(unfinished);
        Files.createFile(
                unfinished, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
        try (OutputStream out = Files.newOutputStream(unfinished, StandardOpenOption.WRITE);
                JsonGenerator json = JSON.createGenerator(out)) {
            json.writeStartObject();
            json.writeNumberField("pid", identity.pid());
            json.writeNumberField("startTicks", identity.startTicks());
            json.writeStringField("bootId", identity.bootId());
            json.writeStringField("socket", socket.toString());
            json.writeStringField("version", version);
            json.writeStringField("directory", key(layout));
            json.writeEndObject();
        }
        Files.move(unfinished, file, StandardCopyOption.ATOMIC_MOVE);
    }

    /** What tells the state directory from a copy of it, and stays when it is moved. */
    private static String key(Layout layout) throws IOException {
        return String.valueOf(Files.readAttributes(layout.stateDir(), BasicFileAttributes.class)
                .fileKey());
    }

    /** Empty when nobody could have written that, or not here. */
    private static Optional<AgentFile> read(Path file, String directory) throws IOException {
        Map<String, String> fields = new HashMap<>();
        try (JsonParser parser = JSON.createParser(Files.readAllBytes(file))) {
            while (parser.nextToken() != null) {
                if (parser.currentToken() == JsonToken.FIELD_NAME) {
                    String name = parser.currentName();
                    parser.nextToken();
                    fields.put(name, parser.getText());
                }
            }
            if (!directory.equals(fields.get("directory"))) {
                return Optional.empty();
            }
            return Optional.of(new AgentFile(
                    new ProcessIdentity(
                            Long.parseLong(fields.getOrDefault("pid", "")),
                            Long.parseLong(fields.getOrDefault("startTicks", "")),
                            fields.getOrDefault("bootId", "")),
                    Path.of(fields.getOrDefault("socket", "")),
                    fields.getOrDefault("version", "unknown")));
        } catch (JsonProcessingException | NumberFormatException | InvalidPathException e) {
            return Optional.empty();
        }
    }
}
