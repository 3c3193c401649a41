package io.homeostat.reconcile.runtime.task;

import com.google.common.base.Ascii;
import com.google.protobuf.InvalidProtocolBufferException;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.Disk;
import io.homeostat.actuate.LocalDisk;
import io.homeostat.actuate.task.NetworkNamespaces;
import io.homeostat.desired.model.TaskSpec;
import io.homeostat.desired.model.TaskSpec.Network.Mode;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.observe.driver.DriverFailure;
import io.homeostat.observe.driver.DriverSession;
import io.homeostat.proto.nomad.driver.DriverCapabilities;
import io.homeostat.proto.nomad.driver.NetworkIsolationSpec;
import io.homeostat.proto.nomad.driver.NetworkIsolationSpec.NetworkIsolationMode;
import io.homeostat.reconcile.runtime.driver.RunningDrivers.Absent;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Base64;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The networks of tasks that are in another one than the host's, made before the task starts. One that a driver has made goes after each
 * launch, one of ours when the task is removed or wants another. It is noted before it is made, so that none is left behind.
 */
final class TaskNetworks {
    private static final Logger LOG = LoggerFactory.getLogger(TaskNetworks.class);
    private static final Duration TIMEOUT = Duration.ofSeconds(30);

    private final Layout layout;
    private final Tasks tasks;
    private final Disk disk = new LocalDisk();
    private final NetworkNamespaces namespaces;

    TaskNetworks(Layout layout, Tasks tasks, NetworkNamespaces namespaces) {
        this.layout = layout;
        this.tasks = tasks;
        this.namespaces = namespaces;
    }

    /**
     * What was made for a task, or was about to be.
     *
     * @param driver that made it; empty when we did
     * @param network as the driver has described it; the default before it has
     */
    private record Made(String driver, Mode mode, NetworkIsolationSpec network) {
        static Made of(String text) throws IOException {
            List<String> lines = text.lines().toList();
            try {
                return new Made(
                        lines.get(0),
                        Mode.valueOf(lines.get(1)),
                        NetworkIsolationSpec.parseFrom(Base64.getDecoder().decode(lines.get(2))));
            } catch (IndexOutOfBoundsException | IllegalArgumentException | InvalidProtocolBufferException e) {
                throw new IOException("it is damaged; remove it, and what its driver has made for this task", e);
            }
        }

        byte[] bytes() {
            String text =
                    driver + "\n" + mode + "\n" + Base64.getEncoder().encodeToString(network.toByteArray()) + "\n";
            return text.getBytes(StandardCharsets.UTF_8);
        }
    }

    /** Why a task can't have the network that it wants with this driver; empty when it can. */
    static String refusal(TaskSpec spec, DriverCapabilities capabilities) {
        Mode mode = spec.networkMode();
        if (mode == Mode.HOST) {
            return "";
        }
        String field = "spec.network.mode: its driver " + spec.driver() + " ";
        if (!capabilities.getNetworkIsolationModesList().contains(isolation(mode))) {
            String offered = capabilities.getNetworkIsolationModesList().stream()
                    .filter(other -> other != NetworkIsolationMode.UNRECOGNIZED && other != NetworkIsolationMode.HOST)
                    .map(other -> Ascii.toLowerCase(other.name()))
                    .distinct()
                    .sorted()
                    .collect(Collectors.joining(", "));
            return field + "does not offer " + Ascii.toLowerCase(mode.name()) + "; use host"
                    + (offered.isEmpty() ? "" : " or one of those that it offers: " + offered);
        }
        return mode == Mode.GROUP && !capabilities.getMustCreateNetwork()
                ? field + "makes no networks, and Homeostat makes none that lead anywhere; use host or none"
                : "";
    }

    private static NetworkIsolationMode isolation(Mode mode) {
        return switch (mode) {
            case HOST -> NetworkIsolationMode.HOST;
            case NONE -> NetworkIsolationMode.NONE;
            case TASK -> NetworkIsolationMode.TASK;
            case GROUP -> NetworkIsolationMode.GROUP;
        };
    }

    /**
     * Makes the network of a task that is about to start; what it had before and does not want any more goes.
     *
     * @return what the driver is told of it; empty for the host's
     */
    Optional<NetworkIsolationSpec> prepare(
            WorkloadId id, TaskSpec spec, DriverSession session, DriverCapabilities capabilities, Duration timeout)
            throws ActuationFailure, InterruptedException {
        Mode mode = spec.networkMode();
        boolean ofDriver = mode != Mode.HOST && capabilities.getMustCreateNetwork();
        boolean ours = mode == Mode.NONE && !ofDriver;
        Made wanted = new Made(ofDriver ? spec.driver() : "", mode, NetworkIsolationSpec.getDefaultInstance());
        Optional<Made> made = made(id);
        if (made.isPresent()
                && (!(ofDriver || ours)
                        || !made.get().driver().equals(wanted.driver())
                        || made.get().mode() != mode)) {
            release(id, made.get());
            made = Optional.empty();
        }
        if (made.isEmpty() && (ofDriver || ours)) {
            note(id, wanted);
        }
        if (ofDriver) {
            NetworkIsolationSpec network = made(id, session, timeout);
            note(id, new Made(spec.driver(), mode, network));
            return Optional.of(network);
        }
        NetworkIsolationSpec.Builder network = NetworkIsolationSpec.newBuilder().setMode(isolation(mode));
        if (ours) {
            Path file = layout.network(id);
            namespaces.make(file);
            network.setPath(file.toString());
        }
        return mode == Mode.HOST ? Optional.empty() : Optional.of(network.build());
    }

    private NetworkIsolationSpec made(WorkloadId id, DriverSession session, Duration timeout)
            throws ActuationFailure, InterruptedException {
        try {
            return askedFor(id, session, timeout);
        } catch (DriverFailure e) {
            // Never for good: what is in the way is mostly outside of the driver.
            throw new ActuationFailure(
                    e.failureCause(), "its driver could not make its network: " + e.words(), false, e);
        }
    }

    /** The driver makes it, or tells of the one that it has made before. */
    private NetworkIsolationSpec askedFor(WorkloadId id, DriverSession session, Duration timeout)
            throws DriverFailure, InterruptedException {
        return session.createNetwork(
                        tasks.place(id).allocation(), tasks.place(id).task(), timeout)
                .getIsolationSpec();
    }

    /** The same as {@link #release}, but one that we have made stays for the next launch. */
    void releaseToDriver(WorkloadId id) throws ActuationFailure, InterruptedException {
        Optional<Made> made = made(id);
        if (made.isPresent() && !made.get().driver().isEmpty()) {
            release(id, made.get());
        }
    }

    /**
     * Removes the network of a task of which nothing runs any more, if it has one.
     *
     * @throws ActuationFailure when its driver can't be asked to now
     */
    void release(WorkloadId id) throws ActuationFailure, InterruptedException {
        Optional<Made> made = made(id);
        if (made.isPresent()) {
            release(id, made.get());
        }
    }

    private void release(WorkloadId id, Made made) throws ActuationFailure, InterruptedException {
        if (made.driver().isEmpty()) {
            namespaces.remove(layout.network(id));
        } else {
            destroy(id, made);
        }
        try {
            disk.delete(tasks.place(id).networkNote());
        } catch (IOException e) {
            throw failure(id, e);
        }
    }

    private void destroy(WorkloadId id, Made made) throws ActuationFailure, InterruptedException {
        String what = "the network of " + id.brief();
        try {
            DriverSession session = tasks.session(made.driver(), TIMEOUT);
            NetworkIsolationSpec network = made.network();
            if (network.equals(NetworkIsolationSpec.getDefaultInstance())) {
                // We died before it could say what it has made.
                network = askedFor(id, session, TIMEOUT);
            }
            session.destroyNetwork(tasks.place(id).allocation(), network, TIMEOUT);
        } catch (Absent e) {
            if (e.isKnown()) {
                throw new ActuationFailure(
                        FailureCause.Kind.NO_CONNECTION, what + " can't be removed yet: its " + e.words(), false);
            }
            LOG.warn("[{}] what its driver {} has made of a network stays: {}", id.brief(), made.driver(), e.words());
        } catch (DriverFailure e) {
            if (e.isSilence()) {
                throw new ActuationFailure(e.failureCause(), what + " could not be removed: " + e.words(), false, e);
            }
            // It will say so for ever; most likely there is none.
            LOG.warn("[{}] its driver {} does not remove its network: {}", id.brief(), made.driver(), e.words());
        }
    }

    private Optional<Made> made(WorkloadId id) throws ActuationFailure {
        try {
            return Optional.of(Made.of(Files.readString(tasks.place(id).networkNote())));
        } catch (NoSuchFileException e) {
            return Optional.empty();
        } catch (IOException e) {
            throw failure(id, e);
        }
    }

    private void note(WorkloadId id, Made made) throws ActuationFailure {
        try {
            disk.write(tasks.place(id).networkNote(), made.bytes());
        } catch (IOException e) {
            throw failure(id, e);
        }
    }

    private ActuationFailure failure(WorkloadId id, IOException e) {
        return new ActuationFailure(
                "the note on the network of " + id.brief() + " in "
                        + tasks.place(id).networkNote() + " can't be used: " + Disk.reason(e),
                false,
                e);
    }
}
