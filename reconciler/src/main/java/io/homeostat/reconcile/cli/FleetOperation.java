package io.homeostat.reconcile.cli;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSetMultimap;
import com.google.protobuf.ByteString;
import io.homeostat.desired.etcd.EtcdKeyValues;
import io.homeostat.desired.etcd.EtcdUsers;
import io.homeostat.desired.etcd.KeyValues;
import io.homeostat.desired.etcd.KeyValues.Listing;
import io.homeostat.desired.etcd.KeyValuesException;
import io.homeostat.desired.fleet.FleetKeys;
import io.homeostat.desired.fleet.RolloutOrder.Action;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.platform.MetadataClient;
import io.homeostat.desired.remote.BucketClient;
import io.homeostat.desired.signature.KeyFailure;
import io.homeostat.desired.yaml.DocumentReader.ReadResult;
import io.homeostat.observe.Observation;
import io.homeostat.observe.host.Kernel;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.environment.Environment.Interrupts;
import io.homeostat.reconcile.command.environment.ExitStatus;
import io.homeostat.reconcile.command.environment.UsageException;
import io.homeostat.reconcile.command.environment.UserDirectories;
import io.homeostat.reconcile.command.fleet.BucketReports;
import io.homeostat.reconcile.command.fleet.FleetAccess;
import io.homeostat.reconcile.command.fleet.FleetAnswer;
import io.homeostat.reconcile.command.fleet.FleetMachine;
import io.homeostat.reconcile.command.fleet.FleetOrder;
import io.homeostat.reconcile.command.fleet.FleetPlan;
import io.homeostat.reconcile.command.fleet.FleetRollouts;
import io.homeostat.reconcile.command.fleet.FleetStatus;
import io.homeostat.reconcile.command.fleet.FleetStatusCommand;
import io.homeostat.reconcile.command.fleet.ForgottenMachine;
import io.homeostat.reconcile.command.output.Json;
import io.homeostat.reconcile.fleet.FleetMirror;
import io.homeostat.reconcile.fleet.PublishedRollouts;
import java.security.SecureRandom;
import java.time.Instant;
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

    /** The words that take an option, of those that not all take. */
    private static final ImmutableSetMultimap<String, String> TAKE = ImmutableSetMultimap.<String, String>builder()
            .put(Syntax.FILES, PLAN)
            .put(Syntax.DETAILED_EXIT_CODE, PLAN)
            .put(Syntax.MACHINE, INIT)
            .put(Syntax.TO, INIT)
            .putAll(Syntax.FORCE, PLAN, INIT, FORGET)
            .build();

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
        TAKE.asMap().forEach((option, takers) -> {
            if (typed.arguments().command().options().containsKey(option) && !takers.contains(what)) {
                throw new UsageException(what + " takes no " + option + "; it is for " + String.join(", ", takers));
            }
        });
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
        if (what.equals(CONTROLLER)) {
            return new FleetControl(typed, replica()).run();
        }
        AgentConfig config = typed.configFile().read();
        AgentConfig.Etcd etcd = config.sources().etcd();
        AgentConfig.Bucket bucket = config.sources().bucket();
        if (etcd == null && bucket != null && bucket.reports() != null && IN_BUCKETS.contains(what)) {
            return inBucket(bucket, bucket.reports(), name);
        }
        etcd = etcd(typed, config);
        FleetKeys keys = new FleetKeys(etcd.prefix());
        String registered = keys.machines() + " in etcd at " + String.join(", ", etcd.endpoints());
        try (KeyValues store = new EtcdKeyValues(etcd)) {
            PublishedRollouts contents = PublishedRollouts.of(config);
            try (Interrupts.Guard _ = typed.environment().interrupts().guard()) {
                if (what.equals(INIT)) {
                    return init(etcd, keys);
                }
                FleetMirror mirror = new FleetMirror(keys, contents);
                Listing listing = mirror.list(store);
                mirror.replace(listing);
                Instant now = typed.environment().clock().instant();
                if (action.isPresent()) {
                    return show(FleetOrder.give(store, keys, mirror, name.orElseThrow(), action.get(), who(), now));
                }
                return switch (what) {
                    case ROLLOUTS -> show(FleetRollouts.of(keys, mirror, name, now));
                    case MACHINE -> show(FleetMachine.of(mirror, registered, name.orElseThrow(), now));
                    case FORGET ->
                        show(ForgottenMachine.forget(
                                store,
                                keys,
                                listing,
                                registered,
                                name.orElseThrow(),
                                typed.arguments().flag(Syntax.FORCE)));
                    case PLAN -> {
                        FleetPlan plan = plan(keys, listing, contents);
                        show(plan);
                        if (!plan.refusals().isEmpty()) {
                            yield ExitStatus.FAILED;
                        }
                        yield typed.arguments().flag(Syntax.DETAILED_EXIT_CODE)
                                        && !plan.rows().isEmpty()
                                ? ExitStatus.CHANGES
                                : ExitStatus.OK;
                    }
                    default -> FleetStatusCommand.tell(FleetStatus.of(mirror, now), typed.console());
                };
            }
        } catch (KeyValuesException | KeyFailure e) {
            throw new CommandFailure(String.valueOf(e.getMessage()), e);
        }
    }

    /** Where the fleet is; a {@link CommandFailure} where that is not configured. */
    static AgentConfig.Etcd etcd(Invocation typed, AgentConfig config) {
        AgentConfig.Etcd etcd = config.sources().etcd();
        if (etcd == null) {
            throw new CommandFailure(typed.configFile().path()
                    + " has no sources.etcd; add it, or name another file with " + Syntax.CONFIG);
        }
        return etcd;
    }

    private int inBucket(AgentConfig.Bucket config, String reports, Optional<String> machine)
            throws InterruptedException {
        try (MetadataClient metadata = typed.environment().metadata();
                Interrupts.Guard _ = typed.environment().interrupts().guard()) {
            BucketReports read = BucketReports.read(
                    () -> new BucketClient(config, metadata, typed.environment().clock()), reports);
            return machine.isPresent()
                    ? show(FleetMachine.of(read, reports, machine.get()))
                    : FleetStatusCommand.tell(FleetStatus.of(read), typed.console());
        }
    }

    private int show(FleetAnswer answer) {
        answer.show(typed.console());
        return ExitStatus.OK;
    }

    private FleetPlan plan(FleetKeys keys, Listing listing, PublishedRollouts contents) {
        ReadResult next =
                SetPublication.documents(typed, "nothing could be compared").read();
        return FleetPlan.of(
                keys,
                listing,
                Optional.ofNullable(listing.entries().get(keys.set()))
                        .map(set -> published(keys, contents, set.value())),
                next,
                typed.arguments().flag(Syntax.FORCE),
                typed.environment().clock().instant());
    }

    private static ReadResult published(FleetKeys keys, PublishedRollouts contents, ByteString set) {
        try {
            return contents.read(set);
        } catch (IllegalArgumentException e) {
            throw new CommandFailure(
                    "what is published can't be read, so nobody can tell what machines go by: " + keys.set() + ": "
                            + e.getMessage() + "; publish a set in its place",
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

    /** For people, who can tell it from others on this host and elsewhere. */
    private String replica() {
        String host = new Kernel().hostName() instanceof Observation.Seen<String>(String name) ? "@" + name : "";
        return who() + host + " " + ProcessHandle.current().pid();
    }

    /** For people. */
    private String who() {
        String user = typed.environment().variable("USER");
        return user.isEmpty() ? "uid " + typed.environment().uid() : user;
    }
}
