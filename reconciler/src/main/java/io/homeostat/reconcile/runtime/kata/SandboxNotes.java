package io.homeostat.reconcile.runtime.kata;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.common.collect.ImmutableList;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.Disk;
import io.homeostat.actuate.LocalDisk;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.model.guest.GuestEndpoint;
import io.homeostat.desired.model.guest.SandboxSettings.Network;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.Identity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.RecordCodec;
import io.homeostat.observe.process.LaunchDirectory;
import io.homeostat.observe.process.LaunchNote;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Optional;

/** What is written down of a sandbox while it is there, beside the note on its launch. */
final class SandboxNotes {
    private static final RecordCodec RECORDS = new RecordCodec(new ObjectMapper());
    private static final ImmutableList<Kind> ASKING = ImmutableList.of(Kind.SANDBOX, Kind.CONTAINER);
    private static final String NUMBER = "[0-9]{1,18}";

    private final Layout layout;
    private final Disk disk = new LocalDisk();

    SandboxNotes(Layout layout) {
        this.layout = layout;
    }

    private Path file(Instance instance, String name) {
        return layout.launch(instance.workload(), instance.launchId()).resolve(name);
    }

    /** How often its agent was asked for its metrics, as it counted last: by that another agent is told from it. */
    long scrapes(Instance instance, Identity.Sandbox identity) throws IOException {
        return read(file(instance, "scrapes"))
                .map(String::strip)
                .filter(text -> text.matches(NUMBER))
                .map(Long::valueOf)
                .orElse(identity.scrapes());
    }

    void writeScrapes(Instance instance, long count) throws ActuationFailure {
        write(instance, file(instance, "scrapes"), Long.toString(count));
    }

    /** There once another agent was seen in its guest: nothing heals that but another boot, which is another launch. */
    Path agentLostFile(Instance instance) {
        return file(instance, "agent-lost");
    }

    /** There once its guest was made another sandbox of, which is done only after another boot. */
    Path guestBootedFile(Instance instance) {
        return file(instance, "guest-booted");
    }

    /** The launches that have, or had, their sandbox in a guest, as far as is known. */
    ImmutableList<Instance> at(GuestEndpoint guest) throws IOException {
        ImmutableList.Builder<Instance> found = ImmutableList.builder();
        for (LaunchDirectory directory : LaunchDirectory.all(layout.launches(Kind.SANDBOX))) {
            if (!Files.exists(directory.endedFile())) {
                directory
                        .note()
                        .map(LaunchNote::instance)
                        .filter(instance -> !Files.exists(guestBootedFile(instance)))
                        .filter(instance -> Guests.identity(instance)
                                .filter(sandbox ->
                                        GuestEndpoint.parse(sandbox.endpoint()).equals(guest))
                                .isPresent())
                        .ifPresent(found::add);
            }
        }
        return found.build();
    }

    /** There where all of its containers see each other's processes. */
    Path sharedPidsFile(Instance instance) {
        return file(instance, "shared-pids");
    }

    /**
     * The container that its shared namespace of processes began with, and ends with; empty as long as none was asked for.
     *
     * @return the path of its launch's directory
     */
    Optional<Path> firstContainer(Instance instance) throws IOException {
        return read(file(instance, "first-container")).map(Path::of);
    }

    void writeFirstContainer(Instance instance, Instance container) throws ActuationFailure {
        write(
                instance,
                file(instance, "first-container"),
                layout.launch(container.workload(), container.launchId()).toString());
    }

    /** It was refused. */
    void forgetFirstContainer(Instance instance) throws IOException {
        Files.deleteIfExists(file(instance, "first-container"));
    }

    /** There once that container has ended: nothing heals that but another boot, which is another launch. */
    Path sharedPidsLostFile(Instance instance) {
        return file(instance, "shared-pids-lost");
    }

    /** There once all files of an archive are in its guest: in another boot they are not. */
    Path copiedFile(Instance instance, WorkloadId container, String directory) {
        return file(instance, "copied-" + container.name() + "-" + directory);
    }

    /** The network that its guest was given last: what it has is compared with that. Empty when it is not known. */
    Optional<Network> given(Instance instance) throws IOException {
        try {
            return Optional.of(RECORDS.read(Network.class, Files.readString(file(instance, "network.json"))));
        } catch (NoSuchFileException | IllegalArgumentException e) {
            return Optional.empty();
        }
    }

    void writeGiven(Instance instance, Network given) throws ActuationFailure {
        write(instance, file(instance, "network.json"), RECORDS.write(given));
    }

    /** The calls that its guest does not answer, for people, by whichever kind of ours they were sent. */
    ImmutableList<String> unanswered(Instance instance) throws IOException {
        ImmutableList.Builder<String> calls = ImmutableList.builder();
        for (Kind by : ASKING) {
            read(unansweredFile(instance, by)).ifPresent(calls::add);
        }
        return calls.build();
    }

    /** @param call empty when all are answered */
    void writeUnanswered(Instance instance, Kind by, Optional<String> call) throws ActuationFailure {
        if (call.isPresent()) {
            write(instance, unansweredFile(instance, by), call.get());
            return;
        }
        try {
            Files.deleteIfExists(unansweredFile(instance, by));
        } catch (IOException e) {
            throw failure(instance, e);
        }
    }

    /** Empty where it is not written, or not any more. */
    private static Optional<String> read(Path file) throws IOException {
        try {
            return Optional.of(Files.readString(file));
        } catch (NoSuchFileException e) {
            return Optional.empty();
        }
    }

    private Path unansweredFile(Instance instance, Kind by) {
        return file(instance, "unanswered-" + by.word());
    }

    private void write(Instance instance, Path file, String text) throws ActuationFailure {
        try {
            disk.replace(file, text.getBytes(StandardCharsets.UTF_8));
        } catch (IOException e) {
            throw failure(instance, e);
        }
    }

    private static ActuationFailure failure(Instance instance, IOException e) {
        return new ActuationFailure(
                "could not write down how far " + instance.workload().brief() + " is: " + Disk.reason(e), false, e);
    }
}
