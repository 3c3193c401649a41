package io.homeostat.reconcile.runtime.kata;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.homeostat.actuate.LocalDisk;
import io.homeostat.actuate.SecureDirectories;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.model.guest.GuestEndpoint;
import io.homeostat.desired.state.Identity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.RecordCodec;
import io.homeostat.observe.Observation;
import io.homeostat.reconcile.runtime.Machine;
import io.homeostat.reconcile.runtime.kata.Guests.Guest;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.OptionalLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Sandboxes that were given up, as nobody listened in their guest any more or nobody answered. A guest that is back has booted anew, as a
 * rule. Where it has not, and the same agent answers, what was given up is still in it and nobody's: it is known by these notes, one for
 * each workload.
 */
final class LostSandboxes {
    private static final Logger LOG = LoggerFactory.getLogger(LostSandboxes.class);
    private static final RecordCodec RECORDS = new RecordCodec(new ObjectMapper());

    private final Machine machine;
    private final SandboxNotes notes;
    private final LocalDisk disk = new LocalDisk();

    LostSandboxes(Machine machine, SandboxNotes notes) {
        this.machine = machine;
        this.notes = notes;
    }

    private Path file(WorkloadId id) {
        return machine.layout().workloadState(id).resolve("lost-sandbox.json");
    }

    /** Notes one. Where that can't be written down its guest has to boot anew, as it had to without. */
    void note(Instance instance, Identity.Sandbox sandbox) {
        try {
            Identity.Sandbox lost = new Identity.Sandbox(
                    sandbox.endpoint(), notes.scrapes(instance, sandbox), sandbox.created(), sandbox.bootId());
            SecureDirectories.create(machine.layout().workloadState(instance.workload()), SecureDirectories.OURS);
            disk.replace(file(instance.workload()), RECORDS.write(lost).getBytes(StandardCharsets.UTF_8));
        } catch (IOException e) {
            LOG.warn(
                    "[{}] that it was given up is not noted: {}",
                    instance.workload().brief(),
                    e.getMessage());
        }
    }

    /** The one that was given up last; empty when there is none, or it can't be read. */
    Optional<Identity.Sandbox> of(WorkloadId id) {
        try {
            return Optional.of(RECORDS.read(Identity.Sandbox.class, Files.readString(file(id))));
        } catch (NoSuchFileException e) {
            return Optional.empty();
        } catch (IOException | IllegalArgumentException e) {
            LOG.debug("[{}] {}", id.brief(), e.getMessage());
            return Optional.empty();
        }
    }

    /** Whether the sandbox that is in a guest is the one that was given up: nobody else's, and its agent has gone on counting. */
    boolean isIn(Guest guest, WorkloadId id, Duration timeout) {
        try {
            String boot = machine.procFs().bootId();
            Optional<Identity.Sandbox> lost = of(id).filter(
                            sandbox -> GuestEndpoint.parse(sandbox.endpoint()).equals(guest.endpoint()))
                    .filter(sandbox -> sandbox.mayBeOf(boot));
            return lost.isPresent()
                    && notes.at(guest.endpoint()).isEmpty()
                    && guest.probes(timeout).hasSandbox() instanceof Observation.Seen<Boolean>(Boolean there)
                    && there
                    && guest.probes(timeout).scrapes() instanceof Observation.Seen<OptionalLong>(OptionalLong count)
                    && count.isPresent()
                    && count.getAsLong() > lost.get().scrapes();
        } catch (IOException e) {
            LOG.debug("[{}] {}", id.brief(), e.getMessage());
            return false;
        }
    }

    void forget(WorkloadId id) {
        try {
            Files.deleteIfExists(file(id));
        } catch (IOException e) {
            LOG.debug("[{}] {}", id.brief(), e.getMessage());
        }
    }
}
