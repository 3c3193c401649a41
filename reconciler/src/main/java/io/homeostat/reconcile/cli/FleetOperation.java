package io.homeostat.reconcile.cli;

import com.fasterxml.jackson.databind.json.JsonMapper;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.protobuf.ByteString;
import io.homeostat.desired.etcd.EtcdKeyValues;
import io.homeostat.desired.etcd.EtcdUsers;
import io.homeostat.desired.etcd.KeyValues;
import io.homeostat.desired.etcd.KeyValues.Listing;
import io.homeostat.desired.etcd.KeyValuesException;
import io.homeostat.desired.fleet.FleetKeys;
import io.homeostat.desired.fleet.Rollout;
import io.homeostat.desired.fleet.RolloutOrder;
import io.homeostat.desired.fleet.RolloutOrder.Action;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.platform.MetadataClient;
import io.homeostat.desired.remote.BucketClient;
import io.homeostat.desired.state.RecordCodec;
import io.homeostat.desired.yaml.DocumentReader.ReadResult;
import io.homeostat.reconcile.agent.telemetry.AgentLog;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.environment.Environment.Interrupts;
import io.homeostat.reconcile.command.environment.ExitStatus;
import io.homeostat.reconcile.command.environment.UsageException;
import io.homeostat.reconcile.command.environment.UserDirectories;
import io.homeostat.reconcile.command.fleet.BucketReports;
import io.homeostat.reconcile.command.fleet.FleetAccess;
import io.homeostat.reconcile.command.fleet.FleetMachine;
import io.homeostat.reconcile.command.fleet.FleetPlan;
import io.homeostat.reconcile.command.fleet.FleetRollouts;
import io.homeostat.reconcile.command.fleet.FleetStatus;
import io.homeostat.reconcile.command.fleet.FleetStatusCommand;
import io.homeostat.reconcile.command.output.Json;
import io.homeostat.reconcile.fleet.FleetController;
import io.homeostat.reconcile.fleet.FleetMirror;
import io.homeostat.reconcile.fleet.PublishedRollouts;
import java.security.SecureRandom;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Pattern;

/** What somebody does with a fleet whose machines go by etcd, or report into a bucket. */
record FleetOperation(Invocation typed) {
    static final String CONTROLLER = "controller";
    static final String STATUS = "status";
    static final String ROLLOUTS = "rollouts";
    static final String MACHINE = "machine";
    static final String PLAN = "plan";
    static final String INIT = "init";
    static final String FORGET = "forget";

    /** What may be typed. */
    static final ImmutableList<String> WORDS = ImmutableList.<String>builder()
            .add(CONTROLLER, STATUS, ROLLOUTS, MACHINE, PLAN, INIT, FORGET)
            .addAll(Arrays.stream(Action.values()).map(FleetOperation::word).toList())
            .build();

    static final String IN_WORDS = String.join(", ", WORDS);

    /** What can be told of machines that report into a bucket. */
    private static final ImmutableSet<String> IN_BUCKETS = ImmutableSet.of(STATUS, MACHINE);

    /** What is both a key and a file's name. */
    private static final Pattern ID = Pattern.compile("[A-Za-z0-9][A-Za-z0-9._-]{0,252}");

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
        boolean needsName = action.isPresent() || what.equals(MACHINE) || what.equals(FORGET);
        if (needsName && name.isEmpty()) {
            throw new UsageException(
                    what + (action.isPresent() ? " needs the name of a rollout" : " needs the id of a machine"));
        }
        if (name.isPresent() && !needsName && !what.equals(ROLLOUTS)) {
            throw new UsageException(what + " takes no name");
        }
        if (what.equals(PLAN) && typed.arguments().files().isEmpty()) {
            throw new UsageException(PLAN + " needs " + Syntax.FILES + " PATH, what is to be published");
        }
        AgentConfig config = typed.configFile().read();
        AgentConfig.Etcd etcd = config.sources().etcd();
        AgentConfig.Bucket bucket = config.sources().bucket();
        if (etcd == null && bucket != null && bucket.reports() != null && IN_BUCKETS.contains(what)) {
            return inBucket(bucket, bucket.reports(), name);
        }
        if (etcd == null) {
            throw new CommandFailure(typed.configFile().path()
                    + " has no sources.etcd; add it, or name another file with " + Syntax.CONFIG);
        }
        PublishedRollouts contents = FleetStatusCommand.contents(config);
        FleetKeys keys = new FleetKeys(etcd.prefix());
        try (KeyValues store = new EtcdKeyValues(etcd)) {
            if (what.equals(CONTROLLER)) {
                return control(store, keys, contents, config.log());
            }
            try (Interrupts.Guard _ = typed.environment().interrupts().guard()) {
                if (what.equals(INIT)) {
                    return init(etcd, keys);
                }
                Listing listing = store.list(keys.prefix() + "/");
                FleetMirror mirror = new FleetMirror(keys, contents);
                mirror.replace(listing);
                if (action.isPresent()) {
                    return order(store, keys, mirror, action.get(), name.orElseThrow());
                }
                Instant now = typed.environment().clock().instant();
                return switch (what) {
                    case ROLLOUTS -> rollouts(keys, mirror, name);
                    case MACHINE -> machine(FleetMachine.of(mirror, name.orElseThrow(), now));
                    case PLAN -> plan(keys, listing, contents);
                    case FORGET -> forget(store, keys, listing, name.orElseThrow());
                    default -> status(FleetStatus.of(mirror, now));
                };
            }
        } catch (KeyValuesException e) {
            throw new CommandFailure(e.getMessage(), e);
        }
    }

    private int control(KeyValues store, FleetKeys keys, PublishedRollouts contents, AgentConfig.Log log) {
        FleetController controller = new FleetController(
                store,
                keys,
                contents,
                // Tells replicas on one host from each other, too.
                who() + " " + ProcessHandle.current().pid(),
                typed.environment().clock(),
                typed.environment().ticker(),
                new SecureRandom());
        try (AgentLog _ = AgentLog.use(
                        log.format(), typed.arguments().global().logLevel().orElse(log.level()));
                Interrupts.Guard _ = typed.environment().interrupts().daemon(() -> {})) {
            controller.run();
            return ExitStatus.FAILED;
        } catch (InterruptedException e) {
            // Told to end, which it has done.
            return ExitStatus.OK;
        }
    }

    private int inBucket(AgentConfig.Bucket config, String reports, Optional<String> machine)
            throws InterruptedException {
        try (MetadataClient metadata = typed.environment().metadata();
                Interrupts.Guard _ = typed.environment().interrupts().guard()) {
            BucketReports read = BucketReports.read(
                    () -> new BucketClient(config, metadata, typed.environment().clock()), reports);
            return machine.isPresent() ? machine(FleetMachine.of(read, machine.get())) : status(FleetStatus.of(read));
        }
    }

    private int status(FleetStatus status) {
        return FleetStatusCommand.tell(status, typed.console());
    }

    private int rollouts(FleetKeys keys, FleetMirror mirror, Optional<String> name) {
        FleetRollouts rollouts =
                FleetRollouts.of(keys, mirror, name, typed.environment().clock().instant());
        if (typed.console().json()) {
            Json.print(typed.console().out(), rollouts.json());
        } else {
            rollouts.print(typed.console());
        }
        return ExitStatus.OK;
    }

    private int machine(FleetMachine machine) {
        if (typed.console().json()) {
            Json.print(typed.console().out(), machine.json());
        } else {
            machine.print(typed.console());
        }
        return ExitStatus.OK;
    }

    private int plan(FleetKeys keys, Listing listing, PublishedRollouts contents) {
        ReadResult next =
                SetPublication.documents(typed, "nothing could be compared").read();
        FleetPlan plan = FleetPlan.of(
                keys,
                listing,
                Optional.ofNullable(listing.entries().get(keys.set()))
                        .map(set -> published(keys, contents, set.value())),
                next,
                typed.environment().clock().instant());
        if (typed.console().json()) {
            Json.print(typed.console().out(), plan.json());
        } else {
            plan.print(typed.console());
        }
        return typed.arguments().flag(Syntax.DETAILED_EXIT_CODE) && !plan.rows().isEmpty()
                ? ExitStatus.CHANGES
                : ExitStatus.OK;
    }

    private static ReadResult published(FleetKeys keys, PublishedRollouts contents, ByteString set) {
        try {
            return contents.read(set);
        } catch (IllegalArgumentException e) {
            throw new CommandFailure(
                    "what is published can't be read, so nobody can tell what machines go by: " + keys.set() + ": "
                            + e.getMessage(),
                    e);
        }
    }

    private int init(AgentConfig.Etcd etcd, FleetKeys keys) throws KeyValuesException, InterruptedException {
        Optional<String> machine = typed.arguments().text(Syntax.MACHINE);
        if (machine.isPresent() && !ID.matcher(machine.get()).matches()) {
            throw new UsageException(
                    Syntax.MACHINE + ": '" + machine.get() + "' is no id; write letters, digits, '.', '_' or '-'");
        }
        String directory = typed.arguments()
                .text(Syntax.TO)
                .orElseThrow(() -> new UsageException(
                        INIT + " needs " + Syntax.TO + " DIR, where passwords are kept, a file each"));
        List<String> done = new ArrayList<>();
        try (EtcdUsers users = new EtcdUsers(etcd)) {
            FleetAccess access = new FleetAccess(
                    users,
                    keys,
                    new UserDirectories(typed.environment()).absolute(Syntax.TO, directory),
                    typed.arguments().flag(Syntax.FORCE),
                    new SecureRandom(),
                    typed.console().json() ? done::add : typed.console().out()::println);
            if (machine.isPresent()) {
                access.machine(machine.get());
            } else {
                access.fleet();
            }
        }
        if (typed.console().json()) {
            Json.print(typed.console().out(), Json.versioned().set("done", Json.texts(done)));
        }
        return ExitStatus.OK;
    }

    /** In one step, so that it is not heard of in between. */
    private int forget(KeyValues store, FleetKeys keys, Listing listing, String id)
            throws KeyValuesException, InterruptedException {
        KeyValues.Entry machine = listing.entries().get(keys.machine(id));
        KeyValues.Entry report = listing.entries().get(keys.report(id));
        if (machine == null) {
            throw new CommandFailure("there is no machine " + id + ", so nothing was removed");
        }
        boolean force = typed.arguments().flag(Syntax.FORCE);
        ImmutableList.Builder<KeyValues.Condition> conditions = ImmutableList.<KeyValues.Condition>builder()
                .add(new KeyValues.Condition.CreatedIn(keys.machine(id), machine.created()));
        ImmutableList.Builder<KeyValues.Write> writes =
                ImmutableList.<KeyValues.Write>builder().add(new KeyValues.Write.Delete(keys.machine(id)));
        if (force) {
            writes.add(new KeyValues.Write.Delete(keys.report(id)));
        } else {
            conditions.add(new KeyValues.Condition.CreatedIn(keys.report(id), 0));
        }
        if ((report != null && !force)
                || store.commit(conditions.build(), writes.build()).isEmpty()) {
            throw new CommandFailure(id + " is heard of, so it was not forgotten; end its agent first, or add "
                    + Syntax.FORCE + ": it registers again when it starts");
        }
        if (typed.console().json()) {
            Json.print(typed.console().out(), Json.versioned().put("forgotten", id));
        } else {
            typed.console().out().println("forgotten: " + id + "; rollouts do not wait for it any more");
        }
        return ExitStatus.OK;
    }

    private int order(KeyValues store, FleetKeys keys, FleetMirror mirror, Action action, String name)
            throws KeyValuesException, InterruptedException {
        Rollout rollout = mirror.situations(typed.environment().clock().instant()).stream()
                .map(situation -> situation.rollout())
                .filter(one -> one.name().equals(name))
                .findFirst()
                .orElseThrow(() -> FleetRollouts.unknown(keys, mirror, name));
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
                    .println("ordered: " + word(action) + " " + name + "; "
                            + (mirror.leader().isPresent()
                                    ? "the controller that leads follows"
                                    : "no controller leads; it takes effect when one does"));
        }
        return ExitStatus.OK;
    }

    /** For people. */
    private String who() {
        String user = typed.environment().variable("USER");
        return user.isEmpty() ? "user " + typed.environment().uid() : user;
    }
}
