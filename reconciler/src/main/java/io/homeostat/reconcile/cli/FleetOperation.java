package io.homeostat.reconcile.cli;

import com.fasterxml.jackson.databind.json.JsonMapper;
import com.google.common.collect.ImmutableList;
import com.google.protobuf.ByteString;
import io.homeostat.desired.etcd.EtcdKeyValues;
import io.homeostat.desired.etcd.KeyValues;
import io.homeostat.desired.etcd.KeyValues.Listing;
import io.homeostat.desired.etcd.KeyValuesException;
import io.homeostat.desired.fleet.FleetKeys;
import io.homeostat.desired.fleet.Rollout;
import io.homeostat.desired.fleet.RolloutOrder;
import io.homeostat.desired.fleet.RolloutOrder.Action;
import io.homeostat.desired.fleet.SetReader;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.signature.KeyFailure;
import io.homeostat.desired.signature.TrustedKeys;
import io.homeostat.desired.state.RecordCodec;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.environment.Environment.Interrupts;
import io.homeostat.reconcile.command.environment.ExitStatus;
import io.homeostat.reconcile.command.environment.UsageException;
import io.homeostat.reconcile.command.fleet.FleetStatus;
import io.homeostat.reconcile.command.output.Json;
import io.homeostat.reconcile.fleet.FleetController;
import io.homeostat.reconcile.fleet.FleetMirror;
import io.homeostat.reconcile.fleet.PublishedRollouts;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.time.temporal.ChronoUnit;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** What somebody does with a fleet whose machines go by etcd. */
record FleetOperation(Invocation typed) {
    static final String CONTROLLER = "controller";
    static final String STATUS = "status";

    /** What may be typed. */
    static final ImmutableList<String> WORDS = ImmutableList.<String>builder()
            .add(CONTROLLER, STATUS)
            .addAll(Arrays.stream(Action.values()).map(FleetOperation::word).toList())
            .build();

    static final String IN_WORDS = String.join(", ", WORDS);

    private static final String SETTING = "signatures.documents.keys";

    private static String word(Action action) {
        return action.name().toLowerCase(Locale.ROOT);
    }

    int run() throws InterruptedException {
        List<String> words = typed.arguments().words();
        String what = words.stream().findFirst().orElse("");
        Optional<String> name = words.stream().skip(1).findFirst();
        Optional<Action> action = Arrays.stream(Action.values())
                .filter(one -> word(one).equals(what))
                .findFirst();
        if (!WORDS.contains(what)) {
            throw new UsageException(
                    what.isEmpty() ? "needs one of " + IN_WORDS : "'" + what + "' is none of " + IN_WORDS);
        }
        if (action.isPresent() != name.isPresent()) {
            throw new UsageException(
                    action.isPresent() ? what + " needs the name of a rollout" : what + " takes no name");
        }
        AgentConfig config = typed.configFile().read();
        AgentConfig.Etcd etcd = config.sources().etcd();
        if (etcd == null) {
            throw new CommandFailure(typed.configFile().path()
                    + " has no sources.etcd; add it, or name another file with " + Syntax.CONFIG);
        }
        PublishedRollouts contents = new PublishedRollouts(reader(config));
        FleetKeys keys = new FleetKeys(etcd.prefix());
        try (KeyValues store = new EtcdKeyValues(etcd)) {
            if (what.equals(CONTROLLER)) {
                return control(store, keys, contents);
            }
            try (Interrupts.Guard _ = typed.environment().interrupts().guard()) {
                Listing listing = store.list(keys.prefix() + "/");
                FleetMirror mirror = new FleetMirror(keys, contents);
                mirror.replace(listing);
                return action.isPresent()
                        ? order(store, keys, mirror, action.get(), name.orElseThrow())
                        : status(mirror);
            }
        } catch (KeyValuesException e) {
            throw new CommandFailure(e.getMessage(), e);
        }
    }

    private static SetReader reader(AgentConfig config) {
        AgentConfig.SignedSets rules = config.signatures().documents();
        try {
            return new SetReader(
                    rules,
                    TrustedKeys.read(
                            rules.keys().stream().map(Path::of).collect(ImmutableList.toImmutableList()), SETTING));
        } catch (KeyFailure e) {
            throw new CommandFailure(String.valueOf(e.getMessage()), e);
        }
    }

    private int control(KeyValues store, FleetKeys keys, PublishedRollouts contents) {
        FleetController controller = new FleetController(
                store,
                keys,
                contents,
                // Tells replicas on one host from each other, too.
                who() + " " + ProcessHandle.current().pid(),
                typed.environment().clock(),
                typed.environment().ticker(),
                new SecureRandom());
        try (Interrupts.Guard _ = typed.environment().interrupts().daemon(() -> {})) {
            controller.run();
            return ExitStatus.FAILED;
        } catch (InterruptedException e) {
            // Told to end, which it has done.
            return ExitStatus.OK;
        }
    }

    private int status(FleetMirror mirror) {
        FleetStatus status = FleetStatus.of(mirror, typed.environment().clock().instant());
        if (typed.console().json()) {
            Json.print(typed.console().out(), status.json());
        } else {
            status.print(typed.console());
        }
        return status.isWell() ? ExitStatus.OK : ExitStatus.FAILED;
    }

    private int order(KeyValues store, FleetKeys keys, FleetMirror mirror, Action action, String name)
            throws KeyValuesException, InterruptedException {
        Rollout rollout = mirror.situations(typed.environment().clock().instant()).stream()
                .map(situation -> situation.rollout())
                .filter(one -> one.name().equals(name))
                .findFirst()
                .orElseThrow(() -> new CommandFailure("there is no rollout " + name + "; "
                        + (mirror.rollouts().isEmpty()
                                ? "none is published"
                                : "published are " + String.join(", ", mirror.rollouts()))));
        RolloutOrder order = new RolloutOrder(
                rollout.digest(), action, typed.environment().clock().instant().truncatedTo(ChronoUnit.MILLIS), who());
        store.commit(
                ImmutableList.of(),
                ImmutableList.of(new KeyValues.Write.Put(
                        keys.order(name),
                        ByteString.copyFromUtf8(new RecordCodec(new JsonMapper()).write(order)),
                        KeyValues.NO_LEASE)));
        if (typed.console().json()) {
            Json.print(
                    typed.console().out(), Json.versioned().put("rollout", name).put("order", word(action)));
        } else {
            typed.console()
                    .out()
                    .println("ordered: " + word(action) + " " + name + "; the controller that leads follows");
        }
        return ExitStatus.OK;
    }

    /** For people. */
    private String who() {
        String user = typed.environment().variable("USER");
        return user.isEmpty() ? "user " + typed.environment().uid() : user;
    }
}
