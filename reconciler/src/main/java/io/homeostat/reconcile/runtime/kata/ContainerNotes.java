package io.homeostat.reconcile.runtime.kata;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.Disk;
import io.homeostat.actuate.LocalDisk;
import io.homeostat.desired.model.guest.ContainerSettings.InPlace;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.RecordCodec;
import io.homeostat.desired.state.history.Exit;
import io.homeostat.proto.kata.Process;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Optional;

/** What is written down of a container while it is there, beside the note on its launch: nobody in the guest remembers it for us. */
final class ContainerNotes {
    private static final RecordCodec RECORDS = new RecordCodec(new ObjectMapper());

    private final Layout layout;
    private final Disk disk = new LocalDisk();

    ContainerNotes(Layout layout) {
        this.layout = layout;
    }

    /** What it was given last; empty when that is not known. Paused is written before it is paused, and before it is not any more. */
    Optional<InPlace> given(Instance instance) throws IOException {
        return read(InPlace.class, file(instance, "given.json"));
    }

    void writeGiven(Instance instance, InPlace given) throws ActuationFailure {
        write(instance, "given.json", RECORDS.write(given).getBytes(StandardCharsets.UTF_8));
    }

    /** Its first process as its agent was told it: commands in it are run like that. */
    Optional<Process> process(Instance instance) throws IOException {
        try {
            return Optional.of(Process.parseFrom(Files.readAllBytes(file(instance, "process"))));
        } catch (NoSuchFileException e) {
            return Optional.empty();
        }
    }

    void writeProcess(Instance instance, Process process) throws ActuationFailure {
        write(instance, "process", process.toByteArray());
    }

    /** Held by who begins a command in it, and by who pauses it. */
    Path turnFile(Instance instance) {
        return file(instance, "commands.lock");
    }

    /** Whether somebody has told it to end since then: that it was killed says nothing of its memory then. */
    boolean isSignalledSince(Instance instance, Instant time) throws IOException {
        try {
            return !Files.getLastModifiedTime(file(instance, "signalled"))
                    .toInstant()
                    .isBefore(time);
        } catch (NoSuchFileException e) {
            return false;
        }
    }

    void writeSignalled(Instance instance) throws ActuationFailure {
        write(instance, "signalled", new byte[0]);
    }

    /** How it has ended: its agent tells that only once. */
    Optional<Exit> exit(Instance instance) throws IOException {
        return read(Exit.class, file(instance, "exit.json"));
    }

    /** @param launch the directory of one */
    static boolean hasExit(Path launch) {
        return Files.exists(launch.resolve("exit.json"));
    }

    void writeExit(Instance instance, Exit exit) throws ActuationFailure {
        write(instance, "exit.json", RECORDS.write(exit).getBytes(StandardCharsets.UTF_8));
    }

    /** There once its agent has told that a process of it was killed for want of memory: that, too, is told only once. */
    Path outOfMemoryFile(Instance instance) {
        return file(instance, "out-of-memory");
    }

    private Path file(Instance instance, String name) {
        return layout.launch(instance.workload(), instance.launchId()).resolve(name);
    }

    private static <T extends Record> Optional<T> read(Class<T> type, Path file) throws IOException {
        try {
            return Optional.of(RECORDS.read(type, Files.readString(file)));
        } catch (NoSuchFileException e) {
            return Optional.empty();
        } catch (IllegalArgumentException e) {
            throw new IOException(file + " can't be used: " + e.getMessage(), e);
        }
    }

    private void write(Instance instance, String name, byte[] content) throws ActuationFailure {
        try {
            disk.replace(file(instance, name), content);
        } catch (IOException e) {
            throw new ActuationFailure(
                    "could not write down how far " + instance.workload().brief() + " is: " + Disk.reason(e), false, e);
        }
    }
}
