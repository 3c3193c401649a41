package io.homeostat.reconcile.command.environment;

import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.platform.MachineIdentity;
import io.homeostat.desired.platform.MetadataClient;
import io.homeostat.desired.platform.MetadataServer;
import io.homeostat.desired.state.Event;
import io.homeostat.desired.state.EventType;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.sqlite.MachineState;
import io.homeostat.observe.process.ProcFs;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Makes a state directory that of this machine, under its lock and before its database is opened. Asks a metadata server on
 * Google's machines, and where one is configured.
 */
public final class MachineClaim {
    private static final Path PRODUCT = Path.of("/sys/class/dmi/id/product_name");
    private static final Duration BETWEEN_QUESTIONS = Duration.ofMillis(500);

    /** Whoever gives a machine another id while it runs has to know what becomes of what runs. */
    private static final String LEFT_ALONE =
            "; what that one started in this boot and still runs is not this one's, and is left alone: restart the machine to be rid of it";

    private final Environment environment;
    private final ProcFs procFs;
    private final Path machineId;

    public MachineClaim(Environment environment) {
        this(environment, new ProcFs(), UserDirectories.MACHINE_ID);
    }

    public MachineClaim(Environment environment, ProcFs procFs, Path machineId) {
        this.environment = environment;
        this.procFs = procFs;
        this.machineId = machineId;
    }

    /**
     * The result.
     *
     * @param layout with the id of the machine
     * @param metadataId what the metadata server calls it; empty when it has never answered
     * @param news for people, until they are told: that this is another machine than before
     * @param doubt for people: that it may be another, and nobody could tell
     */
    public record Claimed(Layout layout, String metadataId, Optional<String> news, Optional<String> doubt) {
        /** Says the news, in the database of the new machine, too. */
        public void tell(StateStore store, Consumer<String> say, InstantSource clock) {
            doubt.ifPresent(say);
            news.ifPresent(words -> {
                say.accept(words);
                store.record(new Event(clock.instant(), null, "", EventType.AGENT_STATE_SET_ASIDE, words));
                new MachineState(layout).told();
            });
        }
    }

    /** Claims the directory for the id in agent.yaml, or the one that is found out. */
    public Claimed claim(Layout layout, String configured) throws InterruptedException {
        MachineState state = new MachineState(layout);
        MachineIdentity last = state.owner().orElse(null);
        String machine = UserDirectories.machineId(machineId).orElse("");
        AtomicReference<String> unanswered = new AtomicReference<>("");
        MachineIdentity now = MachineIdentity.determine(
                last,
                configured.equals(UserDirectories.AUTO) ? null : configured,
                machine,
                bootId(),
                !machine.isEmpty() && Files.isDirectory(layout.of(machine).machineDirectory()),
                patience -> ask(patience, unanswered::set));
        String former = last == null ? now.id() : last.id();
        boolean sameBoot = last != null && last.bootId().equals(now.bootId());
        Optional<String> news = state.claim(
                former,
                now,
                "this is instance " + now.id() + " and not " + former
                        + " any more; the state of the former one is set aside in "
                        + layout.of(former).machineDirectory()
                        + (sameBoot ? LEFT_ALONE : ""));
        return new Claimed(
                layout.of(now.id()),
                now.metadataId(),
                news,
                sameBoot ? Optional.empty() : doubt(last, now, unanswered.get()));
    }

    /** A clone that can't find out that it is one does for a whole boot what its source was to do. */
    private static Optional<String> doubt(@Nullable MachineIdentity last, MachineIdentity now, String unanswered) {
        boolean knewBetter =
                last != null && !last.metadataId().isEmpty() && last.id().equals(now.id());
        return knewBetter && !unanswered.isEmpty()
                ? Optional.of(
                        "whether this is still instance " + now.id() + " or a clone of it could not be found out: "
                                + unanswered + "; it goes on as " + now.id()
                                + " until the agent is started again, and talks with a control plane only once the metadata server"
                                + " says that this is it, or as sources.controlPlane.resource says")
                : Optional.empty();
    }

    private String bootId() {
        try {
            return procFs.bootId();
        } catch (IOException e) {
            throw new CommandFailure(
                    "the boot id can't be read, and without it nobody can tell whose state this is: " + e.getMessage());
        }
    }

    private Optional<String> ask(Duration patience, Consumer<String> unanswered) throws InterruptedException {
        if (!hasMetadataServer()) {
            return Optional.empty();
        }
        long end = environment.ticker().read() + patience.toNanos();
        try (MetadataClient metadata = environment.metadata()) {
            while (true) {
                switch (metadata.get(MetadataServer.INSTANCE_ID)) {
                    case MetadataServer.Answer.Present(String id) -> {
                        return Optional.of(id.strip());
                    }
                    case MetadataServer.Answer.Absent() -> {
                        return Optional.empty();
                    }
                    case MetadataServer.Answer.Unreachable(String why) -> {
                        if (environment.ticker().read() - end >= 0) {
                            unanswered.accept(why);
                            return Optional.empty();
                        }
                        Thread.sleep(BETWEEN_QUESTIONS);
                    }
                }
            }
        }
    }

    /** Elsewhere the first command would wait for a connection that nobody takes. */
    private boolean hasMetadataServer() {
        if (!environment.variable(MetadataClient.HOST_VARIABLE).isEmpty()) {
            return true;
        }
        try {
            return Files.readString(PRODUCT, StandardCharsets.ISO_8859_1).startsWith("Google");
        } catch (IOException e) {
            return false;
        }
    }
}
