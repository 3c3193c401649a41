package io.homeostat.desired.yaml;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.common.base.Splitter;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableListMultimap;
import com.google.common.collect.ImmutableMap;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.model.Calendar;
import io.homeostat.desired.model.Config;
import io.homeostat.desired.model.Lifecycle.Execution;
import io.homeostat.desired.model.Lifecycle.Limits;
import io.homeostat.desired.model.Lifecycle.Restart;
import io.homeostat.desired.model.Lifecycle.Triggers;
import io.homeostat.desired.model.MaintenanceWindow;
import io.homeostat.desired.model.Probe;
import io.homeostat.desired.model.ProcessSettings;
import io.homeostat.desired.model.Program;
import io.homeostat.desired.model.Reload;
import io.homeostat.desired.model.RolloutSpec;
import io.homeostat.desired.model.Source;
import io.homeostat.desired.model.schema.Fields.NeverOver;
import io.homeostat.desired.model.schema.Fields.RunsInside;
import io.homeostat.desired.model.schema.Notation;
import io.homeostat.desired.model.schema.Portion;
import io.homeostat.desired.model.schema.Size;
import io.homeostat.desired.platform.HttpRequests;
import io.homeostat.desired.yaml.FieldType.Word;
import io.homeostat.desired.yaml.Node.Entry;
import io.homeostat.desired.yaml.Node.Mapping;
import io.homeostat.desired.yaml.Node.Scalar;
import io.homeostat.desired.yaml.Node.Sequence;
import io.homeostat.desired.yaml.Scalars.Locations;
import java.net.URI;
import java.net.URISyntaxException;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.util.List;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** The rules that take more than one field, by the record whose fields they are. */
final class Constraints {
    private static final ImmutableListMultimap<Class<?>, Constraint> ALL =
            ImmutableListMultimap.<Class<?>, Constraint>builder()
                    .put(
                            Program.class,
                            new Needs("install", Program.Install.DYNAMIC, "source", "or write 'install: local'"))
                    .put(
                            Program.class,
                            new Needs("install", Program.Install.DYNAMIC, "revision", "it says what is installed"))
                    .put(
                            Program.class,
                            new Refuses("install", Program.Install.LOCAL, "source", "what is local isn't fetched"))
                    .put(Program.class, new EntryPoint())
                    .put(Program.class, new ReloadedWhileItRuns())
                    .put(Program.class, new LimitsOfTasks())
                    .put(
                            Execution.class,
                            new Refuses("type", Execution.Type.DAEMON, "triggers", "only a oneShot has them"))
                    .put(
                            Execution.class,
                            new Refuses("type", Execution.Type.DAEMON, "timeout", "only a oneShot has one"))
                    .put(
                            Execution.class,
                            new Needs("type", Execution.Type.ONE_SHOT, "triggers", "without one it would never run"))
                    .put(Triggers.class, new AnyTrigger())
                    .put(Restart.class, new DelaysInOrder())
                    .put(Config.class, new ExactlyOne(ImmutableList.of("string", "struct")))
                    .put(Probe.class, new ExactlyOne(ImmutableList.of("http", "tcp", "exec", "grpc")))
                    .put(Source.class, new Verifiable())
                    .put(MaintenanceWindow.class, new KnownTimeZone())
                    .put(Calendar.class, new KnownTimeZone())
                    .put(Calendar.class, new PossibleTimes())
                    .put(Program.class, new VariablesOfOthers())
                    .put(ProcessSettings.class, new SoftBelowHard())
                    .put(Limits.class, new MemoryToRunOutOf())
                    .put(Limits.class, new MemoryToRunIn())
                    .put(Limits.class, new MemoryAtMost())
                    .put(Reload.class, new ExactlyOne(ImmutableList.of("signal", "exec")))
                    .put(RolloutSpec.class, new TwoRevisions())
                    .put(RolloutSpec.class, new GrowingWaves())
                    .put(AgentConfig.class, new FleetToShow())
                    .put(AgentConfig.Tls.class, new Together("certificate", "key"))
                    .put(AgentConfig.Signatures.class, new KeysToRequire("no archive could ever be installed"))
                    .put(AgentConfig.SignedSets.class, new KeysToRequire("no set could ever be taken"))
                    .put(AgentConfig.Https.class, new SecureUrl("url"))
                    .put(AgentConfig.Bucket.class, new SecureUrl("url"))
                    .put(AgentConfig.Bucket.class, new SecureUrl("endpoint"))
                    .put(AgentConfig.Git.class, new SecureUrl("url"))
                    .put(AgentConfig.Git.class, new BranchOrTag())
                    .put(AgentConfig.Etcd.class, new NoPasswordInTheClear())
                    .put(AgentConfig.Hook.class, new ExactlyOne(ImmutableList.of("exec", "webhook")))
                    .put(AgentConfig.Hook.class, new ProgramFromRoot())
                    .put(AgentConfig.Hook.class, new WebServer())
                    .putAll(GuestConstraints.ALL)
                    .build();

    private Constraints() {}

    static ImmutableList<Constraint> of(Class<?> record) {
        ImmutableList.Builder<Constraint> all =
                ImmutableList.<Constraint>builder().addAll(ALL.get(record));
        NeverOver never = record.getAnnotation(NeverOver.class);
        if (never != null) {
            all.add(new NoOneShot(never.value()));
        }
        if (record.isAnnotationPresent(RunsInside.class)) {
            all.add(new UserInside());
        }
        return all.build();
    }

    /** When one field has a value, by default or in writing, another has to be written. */
    private record Needs(String key, Enum<?> value, String needed, String advice) implements Constraint {
        @Override
        public void check(Bound record) {
            if (record.value(key) == value && !record.mayHave(needed)) {
                record.missing(
                        needed,
                        "required key '" + needed + "' is missing, because " + key + " is " + Word.of(value) + "; "
                                + advice);
            }
        }

        @Override
        public void schema(ArrayNode allOf) {
            then(allOf, key, value).putArray("required").add(needed);
        }
    }

    /** When one field has a value, by default or in writing, another must not be written. */
    private record Refuses(String key, Enum<?> value, String refused, String reason) implements Constraint {
        @Override
        public void check(Bound record) {
            if (record.value(key) == value && record.has(refused)) {
                record.errorAtKey(
                        refused, "not possible when " + key + " is " + Word.of(value) + ": " + reason + "; remove it");
            }
        }

        @Override
        public void schema(ArrayNode allOf) {
            then(allOf, key, value).putObject("properties").put(refused, false);
        }
    }

    private static final class TwoRevisions implements Constraint {
        @Override
        public void check(Bound record) {
            if (record.value("from") instanceof String from && from.equals(record.value("to"))) {
                record.errorAtValue("to", "is the same as 'from', so nothing would change; write the new revision");
            }
        }
    }

    /** How many machines a percentage means shows only where they are, so numbers stand first. */
    private static final class GrowingWaves implements Constraint {
        private static final Portion ALL = new Portion(100, true);

        @Override
        public void check(Bound record) {
            if (!(record.value("waves") instanceof List<?> waves)
                    || (record.written("waves") instanceof Sequence written
                            && written.elements().size() != waves.size())) {
                return;
            }
            Portion before = new Portion(0, false);
            for (Object each : waves) {
                Portion wave = (Portion) each;
                boolean grows = wave.percent() == before.percent()
                        ? wave.amount() > before.amount()
                        : wave.percent() && wave.amount() > 0;
                if (!grows) {
                    record.errorAtValue(
                            "waves",
                            "'" + wave
                                    + "' is not more than what is before it; write numbers first, then percentages, each more"
                                    + " than the one before, such as [1, 10%, 50%, 100%]");
                    return;
                }
                before = wave;
            }
            if (!before.equals(ALL)) {
                record.errorAtValue("waves", "the last one is '" + before + "'; end with 100%");
            }
        }
    }

    private static final class EntryPoint implements Constraint {
        @Override
        public void check(Bound record) {
            if (!(record.value("entryPoint") instanceof String path) || record.value("install") == null) {
                return;
            }
            if (record.value("install") == Program.Install.LOCAL) {
                if (!path.startsWith("/")) {
                    record.errorAtValue(
                            "entryPoint",
                            "has to be absolute when install is local, such as /usr/bin/" + lastName(path));
                }
            } else if (path.startsWith("/")) {
                record.errorAtValue(
                        "entryPoint",
                        "has to be a path inside the archive, without a leading '/'; absolute only with 'install: local'");
            } else if (("/" + path + "/").contains("/../")) {
                record.errorAtValue("entryPoint", "must not leave the archive; write it without '..'");
            }
        }

        private static String lastName(String path) {
            return Binder.shown(path.substring(path.lastIndexOf('/') + 1));
        }

        @Override
        public void schema(ArrayNode allOf) {
            entryPoint(then(allOf, "install", Program.Install.LOCAL), "^/");
            entryPoint(then(allOf, "install", Program.Install.DYNAMIC), "^(?!/)(?!(?:[^\\n]*/)?\\.\\.(?:/|$))");
        }

        private static void entryPoint(ObjectNode then, String pattern) {
            then.putObject("properties").putObject("entryPoint").put("pattern", pattern);
        }
    }

    private static final class AnyTrigger implements Constraint {
        @Override
        public void check(Bound record) {
            if (Boolean.FALSE.equals(record.value("startup"))
                    && Boolean.FALSE.equals(record.value("firstBoot"))
                    && !record.mayHave("every")
                    && !record.mayHave("schedule")) {
                record.error("no trigger; set one of startup, firstBoot, every and schedule, or it would never run");
            }
        }

        @Override
        public void schema(ArrayNode allOf) {
            ArrayNode anyOf = allOf.addObject().putArray("anyOf");
            for (String key : ImmutableList.of("startup", "firstBoot")) {
                ObjectNode set = anyOf.addObject();
                set.putObject("properties").putObject(key).put("const", true);
                set.putArray("required").add(key);
            }
            for (String key : ImmutableList.of("every", "schedule")) {
                anyOf.addObject().putArray("required").add(key);
            }
        }
    }

    /** What runs to its end reads its files anew each time. A program is declared beside its execution. */
    private static final class ReloadedWhileItRuns implements Constraint {
        @Override
        public void check(Bound record) {
            if (record.value("execution") instanceof Execution execution
                    && execution.type() == Execution.Type.ONE_SHOT
                    && record.has("reload")) {
                record.errorAtKey(
                        "reload",
                        "not possible when execution.type is oneShot: each run reads its files anew; remove it");
            }
        }

        @Override
        public void schema(ArrayNode allOf) {
            ObjectNode rule = allOf.addObject();
            ObjectNode condition = rule.putObject("if");
            ObjectNode execution = condition.putObject("properties").putObject("execution");
            execution.putObject("properties").putObject("type").put("const", Word.of(Execution.Type.ONE_SHOT));
            execution.putArray("required").add("type");
            condition.putArray("required").add("execution");
            rule.putObject("then").putObject("properties").put("reload", false);
        }
    }

    /** What serves others has no run that could be over. */
    private record NoOneShot(String reason) implements Constraint {
        @Override
        public void check(Bound record) {
            if (record.value("execution") instanceof Execution execution
                    && execution.type() == Execution.Type.ONE_SHOT) {
                record.errorAtKey("execution", reason + ", so it can't be a oneShot; remove execution.type");
            }
        }

        @Override
        public void schema(ArrayNode allOf) {
            ObjectNode execution = allOf.addObject().putObject("properties").putObject("execution");
            execution
                    .putObject("properties")
                    .putObject("type")
                    .putObject("not")
                    .put("const", Word.of(Execution.Type.ONE_SHOT));
        }
    }

    /** A command that runs in something else is run as what that says. */
    private static final class UserInside implements Constraint {
        @Override
        public void check(Bound record) {
            if (record.value("probe") instanceof Probe probe
                    && probe.exec() != null
                    && probe.exec().isAsRoot()) {
                record.errorAtKey(
                        "probe",
                        "exec.asRoot is only possible of a Process, Plugin or Driver, whose command runs beside it; remove it");
            }
        }

        @Override
        public void schema(ArrayNode allOf) {
            ObjectNode probe = allOf.addObject().putObject("properties").putObject("probe");
            ObjectNode exec = probe.putObject("properties").putObject("exec");
            exec.putObject("properties").putObject("asRoot").put("const", false);
        }
    }

    /** Only a driver can do these, not we for a program that we launch. */
    private static final class LimitsOfTasks implements Constraint {
        @Override
        public void check(Bound record) {
            if (record.value("limits") instanceof Limits limits
                    && (limits.memoryMax() != null || limits.cores() != null || limits.pids() != null)) {
                record.errorAtKey(
                        "limits", "only a Task can have memoryMax or cores, and only a Container pids; remove them");
            }
        }

        @Override
        public void schema(ArrayNode allOf) {
            ObjectNode limits = limits(allOf);
            limits.put("memoryMax", false);
            limits.put("cores", false);
            limits.put("pids", false);
        }
    }

    /** The fields of limits, for a rule about them. */
    static ObjectNode limits(ArrayNode allOf) {
        return allOf.addObject().putObject("properties").putObject("limits").putObject("properties");
    }

    /** What may be used at most is no less than what may be used always. */
    private static final class MemoryAtMost implements Constraint {
        @Override
        public void check(Bound record) {
            if (record.value("memoryMax") instanceof Size most
                    && (!(record.value("memory") instanceof Size memory) || most.bytes() < memory.bytes())) {
                record.errorAtValue("memoryMax", "has to be at least memory, which has to be written beside it");
            }
        }
    }

    private static final class DelaysInOrder implements Constraint {
        @Override
        public void check(Bound record) {
            if (record.value("initialDelay") instanceof Duration initial
                    && record.value("maxDelay") instanceof Duration max
                    && initial.compareTo(max) > 0) {
                String key = record.has("initialDelay") ? "initialDelay" : "maxDelay";
                record.errorAtValue(
                        key,
                        "initialDelay " + Notation.text(initial) + " is longer than maxDelay " + Notation.text(max)
                                + "; shorten the one or raise the other");
            }
        }
    }

    /** Those that we set ourselves would be overwritten, and processes are recognized by them. */
    private static final class VariablesOfOthers implements Constraint {
        private static final Pattern OURS =
                Pattern.compile("HOMEOSTAT_(LAUNCH_ID|WORKLOAD|KEEPER|KEEPER_SCRIPT|PROGRAM_SCRIPT|ENV_.*)");

        @Override
        public void check(Bound record) {
            if (record.value("env") instanceof ImmutableMap<?, ?> env) {
                env.keySet().stream()
                        .map(Object::toString)
                        .filter(name -> OURS.matcher(name).matches())
                        .forEach(name -> record.errorAtValue(
                                "env", name + " is one of Homeostat's own variables; choose another name"));
            }
        }

        @Override
        public void schema(ArrayNode allOf) {
            allOf.addObject()
                    .putObject("properties")
                    .putObject("env")
                    .putObject("propertyNames")
                    .putObject("not")
                    .put("pattern", "^(?:" + OURS.pattern() + ")$");
        }
    }

    /** As setrlimit(2) wants it. */
    private static final class SoftBelowHard implements Constraint {
        private static final String UNLIMITED = "unlimited";

        @Override
        public void check(Bound record) {
            if (!(record.value("rlimits") instanceof ImmutableMap<?, ?> limits)) {
                return;
            }
            limits.forEach((name, limit) -> {
                List<String> softAndHard = Splitter.on(':').splitToList(limit.toString());
                if (softAndHard.size() == 2 && isAbove(softAndHard.get(0), softAndHard.get(1))) {
                    record.errorAtValue(
                            "rlimits",
                            name + ": the soft limit " + softAndHard.get(0) + " is above the hard limit "
                                    + softAndHard.get(1) + "; lower the one or raise the other");
                }
            });
        }

        private static boolean isAbove(String soft, String hard) {
            return !hard.equals(UNLIMITED) && (soft.equals(UNLIMITED) || Long.parseLong(soft) > Long.parseLong(hard));
        }
    }

    private record ExactlyOne(ImmutableList<String> keys) implements Constraint {
        @Override
        public void check(Bound record) {
            ImmutableList<String> given = keys.stream().filter(record::has).collect(ImmutableList.toImmutableList());
            if (given.isEmpty() && keys.stream().noneMatch(record::mayHave)) {
                record.error("needs exactly one of " + String.join(", ", keys));
            }
            for (int i = 1; i < given.size(); i++) {
                record.errorAtKey(
                        given.get(i),
                        "there is " + given.getFirst() + " already, and only one of " + String.join(", ", keys)
                                + " is possible; remove one");
            }
        }

        @Override
        public void schema(ArrayNode allOf) {
            ArrayNode oneOf = allOf.addObject().putArray("oneOf");
            keys.forEach(key -> oneOf.addObject().putArray("required").add(key));
        }
    }

    /** What comes from a network should say what it has to be. Only a warning: signed archives may change under one name. */
    private static final class Verifiable implements Constraint {
        @Override
        public void check(Bound record) {
            if (record.value("url") instanceof String url && url.startsWith("http") && !record.mayHave("sha256")) {
                record.warningAtValue("url", "no sha256 beside it, so what is fetched will not be verified");
            }
        }
    }

    private static final class MemoryToRunOutOf implements Constraint {
        @Override
        public void check(Bound record) {
            if (Boolean.TRUE.equals(record.value("oomGroup")) && !record.mayHave("memory")) {
                record.errorAtKey("oomGroup", "without memory there is no limit to run out of; write both or none");
            }
        }

        @Override
        public void schema(ArrayNode allOf) {
            then(allOf, "oomGroup").putArray("required").add("memory");
        }
    }

    /** Of what was written without a unit and probably meant with one: nothing can be launched in so little. Only a warning. */
    private static final class MemoryToRunIn implements Constraint {
        private static final long LEAST = 1 << 20;
        private static final long MOST_MEANT = 1 << 16;

        @Override
        public void check(Bound record) {
            if (record.value("memory") instanceof Size size && size.bytes() < LEAST) {
                record.warningAtValue(
                        "memory",
                        size.bytes() + " bytes, in which no program starts; write "
                                + (size.bytes() <= MOST_MEANT ? size.bytes() + "Mi for MiB" : "1Mi or more"));
            }
        }
    }

    /** Hooks run in /, so that no path is relative to anything that somebody could mean. None of what it says quotes what may be secret. */
    private static final class ProgramFromRoot implements Constraint {
        private static final Pattern PROGRAM = Pattern.compile("/[^\\u0000]*|[^/\\u0000]+");

        @Override
        public void check(Bound record) {
            if (!(record.written("exec") instanceof Sequence exec)) {
                return;
            }
            if (exec.elements().isEmpty()) {
                record.errorAtValue("exec", "has 0 elements; write a program and its arguments");
            } else if (exec.elements().getFirst() instanceof Scalar program
                    && program.meaning() == Plain.TEXT
                    && !PROGRAM.matcher(program.text()).matches()) {
                record.errorAt(
                        program,
                        "exec[0]",
                        (program.text().isEmpty() ? "is empty" : "is relative, and hooks run in /")
                                + "; write an absolute path, or the name of a program in PATH");
            }
        }

        @Override
        public void schema(ArrayNode allOf) {
            ObjectNode exec = allOf.addObject().putObject("properties").putObject("exec");
            exec.put("minItems", 1);
            exec.putArray("prefixItems").addObject().put("pattern", "^(?:" + PROGRAM.pattern() + ")$");
        }
    }

    /** What is posted to has to be a URL with a host that is a name; the pattern of the field is not enough. */
    private static final class WebServer implements Constraint {
        private static final int LAST_PORT = 65_535;

        @Override
        public void check(Bound record) {
            if (!(record.value("webhook") instanceof String url)) {
                return;
            }
            String error = Locations.resolve(url, null).error();
            if (error == null && URI.create(url).getPort() > LAST_PORT) {
                error = "a URL with a port above " + LAST_PORT + "; write another";
            }
            if (error != null) {
                record.errorAtValue("webhook", error);
            }
        }
    }

    /** Which time zones there are is known to the machine, and not to a schema. */
    private static final class KnownTimeZone implements Constraint {
        @Override
        public void check(Bound record) {
            if (record.value("timezone") instanceof String zone && !isKnown(zone)) {
                record.errorAtValue(
                        "timezone", "'" + Binder.shown(zone) + "' is no time zone; write one such as Europe/Berlin");
            }
        }

        private static boolean isKnown(String zone) {
            try {
                return ZoneId.of(zone).getRules() != null;
            } catch (DateTimeException e) {
                return false;
            }
        }
    }

    private static final class PossibleTimes implements Constraint {
        @Override
        public void check(Bound record) {
            if (!(record.value("cron") instanceof String cron)) {
                return;
            }
            try {
                if (new Calendar(cron, "UTC").next(Instant.EPOCH).isEmpty()) {
                    record.errorAtValue("cron", "'" + Binder.shown(cron) + "' never comes; write a date that exists");
                }
            } catch (IllegalArgumentException e) {
                record.errorAtValue(
                        "cron",
                        "'" + Binder.shown(cron)
                                + "' is not possible here; write minute, hour, day of the month, month and day of"
                                + " the week, such as \"0 2 * * *\"");
            }
        }
    }

    /** Neither of two keys is of use without the other. */
    private record Together(String one, String other) implements Constraint {
        @Override
        public void check(Bound record) {
            if (record.has(one) != record.has(other) && record.mayHave(one) != record.mayHave(other)) {
                String there = record.has(one) ? one : other;
                String missing = record.has(one) ? other : one;
                record.errorAtKey(there, "of no use without " + missing + "; write both or none");
            }
        }

        @Override
        public void schema(ArrayNode allOf) {
            ObjectNode dependent = allOf.addObject().putObject("dependentRequired");
            dependent.putArray(one).add(other);
            dependent.putArray(other).add(one);
        }
    }

    /** Nothing else is a place where machines report. */
    private static final class FleetToShow implements Constraint {
        @Override
        public void check(Bound record) {
            if (record.value("ui") instanceof AgentConfig.Ui ui
                    && ui.fleet()
                    && record.value("sources") instanceof AgentConfig.Sources sources
                    && sources.etcd() == null
                    && record.written("ui") instanceof Mapping written) {
                written.entries().stream()
                        .filter(entry -> entry.key().text().equals("fleet"))
                        .forEach(entry -> record.errorAt(
                                entry.key(),
                                "ui.fleet",
                                "without sources.etcd there is no fleet to show; write where it is, or remove this"));
            }
        }

        @Override
        public void schema(ArrayNode allOf) {
            ObjectNode rule = allOf.addObject();
            ObjectNode condition = rule.putObject("if");
            ObjectNode ui = condition.putObject("properties").putObject("ui");
            ui.putObject("properties").putObject("fleet").put("const", true);
            ui.putArray("required").add("fleet");
            condition.putArray("required").add("ui");
            ObjectNode then = rule.putObject("then");
            then.putArray("required").add("sources");
            then.putObject("properties")
                    .putObject("sources")
                    .putArray("required")
                    .add("etcd");
        }
    }

    private record KeysToRequire(String otherwise) implements Constraint {
        @Override
        public void check(Bound record) {
            if (Boolean.TRUE.equals(record.value("require"))
                    && record.value("keys") instanceof ImmutableList<?> keys
                    && keys.isEmpty()) {
                record.errorAtKey("require", "without keys " + otherwise + "; name keys or remove it");
            }
        }

        @Override
        public void schema(ArrayNode allOf) {
            ObjectNode then = then(allOf, "require");
            then.putArray("required").add("keys");
            then.putObject("properties").putObject("keys").put("minItems", 1);
        }
    }

    /** What is declared comes from there, so nobody on the way may read or change it; this machine's own addresses have no way. */
    private record SecureUrl(String key) implements Constraint {
        private static final Pattern SECURE = Pattern.compile(
                "(https|file|gs|s3)://.*|http://([^/@]*@)?(localhost|127(\\.[0-9]{1,3}){3}|\\[::1\\])([:/?].*)?");

        @Override
        public void check(Bound record) {
            if (!(record.value(key) instanceof String url)) {
                return;
            }
            if (!SECURE.matcher(url).matches()) {
                record.errorAtValue(
                        key, "is plain http, with which anybody on the way could change what is declared; write https");
                return;
            }
            try {
                HttpRequests.unusableHost(new URI(url))
                        .ifPresent(unusable -> record.errorAtValue(key, "names " + unusable));
            } catch (URISyntaxException e) {
                record.errorAtValue(key, "is not a URL; write it with %XX in place of other characters");
            }
        }

        @Override
        public void schema(ArrayNode allOf) {
            allOf.addObject().putObject("properties").putObject(key).put("pattern", "^(?:" + SECURE.pattern() + ")$");
        }
    }

    private static final class NoPasswordInTheClear implements Constraint {
        @Override
        public void check(Bound record) {
            if (record.has("login")
                    && record.value("endpoints") instanceof List<?> endpoints
                    && endpoints.stream()
                            .anyMatch(endpoint ->
                                    !SecureUrl.SECURE.matcher((String) endpoint).matches())) {
                record.errorAtKey(
                        "login",
                        "its password would go over plain http, where anybody on the way could read it; write https in endpoints");
            }
        }

        @Override
        public void schema(ArrayNode allOf) {
            ObjectNode rule = allOf.addObject();
            rule.putObject("if").putArray("required").add("login");
            rule.putObject("then")
                    .putObject("properties")
                    .putObject("endpoints")
                    .putObject("items")
                    .put("pattern", "^(?:" + SecureUrl.SECURE.pattern() + ")$");
        }
    }

    private static final class BranchOrTag implements Constraint {
        @Override
        public void check(Bound record) {
            if (record.has("branch") && record.has("tag")) {
                record.errorAtKey("tag", "there is branch already, and only one of both is possible; remove one");
            }
        }

        @Override
        public void schema(ArrayNode allOf) {
            ArrayNode both = allOf.addObject().putObject("not").putArray("required");
            both.add("branch").add("tag");
        }
    }

    /** For when a key is there and true. */
    private static ObjectNode then(ArrayNode allOf, String key) {
        ObjectNode rule = allOf.addObject();
        ObjectNode condition = rule.putObject("if");
        condition.putObject("properties").putObject(key).put("const", true);
        condition.putArray("required").add(key);
        return rule.putObject("then");
    }

    private static ObjectNode then(ArrayNode allOf, String key, Enum<?> value) {
        ObjectNode rule = allOf.addObject();
        ObjectNode condition = rule.putObject("if");
        condition.putObject("properties").putObject(key).put("const", Word.of(value));
        if (!isDefault(key, value)) {
            condition.putArray("required").add(key);
        }
        return rule.putObject("then");
    }

    /** Whether leaving the key out is the same as writing the value. */
    private static boolean isDefault(String key, Enum<?> value) {
        Class<?> record = value instanceof Program.Install ? Program.class : Execution.class;
        Shape shape = Shape.of(record);
        return value == shape.defaults()[shape.indexOf(key)];
    }

    /** A rule that takes more than the one field: how the reader checks it and how the JSON Schema says it. */
    interface Constraint {
        /** Reports what breaks the rule. Fields that are wrong in themselves are null in {@code record} and no reason to complain again. */
        void check(Bound record);

        /** Adds subschemas that all have to hold; none where JSON Schema has no words for the rule. */
        default void schema(ArrayNode allOf) {}
    }

    /** A mapping whose fields have been read one by one, for the rules that take several of them. */
    static final class Bound {
        private final Shape shape;
        private final Mapping mapping;
        private final Node at;
        private final String path;
        private final @Nullable Object[] values;
        private final boolean[] given;
        private final boolean[] meant;
        private final Report report;

        /**
         * @param at what a missing field is reported at
         * @param path to the mapping, empty for the document itself
         * @param values in the order of the shape's fields; null for what is wrong or left out without a default
         * @param given in the same order, whether the key is there
         * @param meant in the same order, whether an unknown key is there that probably means it
         */
        Bound(
                Shape shape,
                Mapping mapping,
                Node at,
                String path,
                @Nullable Object[] values,
                boolean[] given,
                boolean[] meant,
                Report report) {
            this.shape = shape;
            this.mapping = mapping;
            this.at = at;
            this.path = path;
            this.values = values;
            this.given = given;
            this.meant = meant;
            this.report = report;
        }

        @Nullable
        Object value(String key) {
            return values[shape.indexOf(key)];
        }

        /** The value as it is written; null when the key was left out. */
        @Nullable
        Node written(String key) {
            Entry entry = entry(key);
            return entry == null ? null : entry.value();
        }

        boolean has(String key) {
            return given[shape.indexOf(key)];
        }

        /** Whether it is there, if only mistyped: then it is not missing, which would be a second error for one mistake. */
        boolean mayHave(String key) {
            return has(key) || meant[shape.indexOf(key)];
        }

        /** Says what is wrong with the record as a whole. */
        void error(String message) {
            report.error(Problem.Kind.VALUE, at, path, message);
        }

        /** Says why a key has to be there that isn't. */
        void missing(String key, String message) {
            report.error(Problem.Kind.MISSING_KEY, key, at, path, message);
        }

        /** Says what is wrong with the value of a key that is there. */
        void errorAtValue(String key, String message) {
            Node value = written(key);
            report.error(Problem.Kind.VALUE, value == null ? at : value, Binder.join(path, key), message);
        }

        /** Says what is wrong with a part of a value. */
        void errorAt(Node at, String key, String message) {
            report.error(Problem.Kind.VALUE, at, Binder.join(path, key), message);
        }

        /** Says what is wrong with a key being there. */
        void errorAtKey(String key, String message) {
            Entry entry = entry(key);
            report.error(Problem.Kind.VALUE, entry == null ? at : entry.key(), Binder.join(path, key), message);
        }

        void warningAtValue(String key, String message) {
            Node value = written(key);
            report.warning(value == null ? at : value, Binder.join(path, key), message);
        }

        private @Nullable Entry entry(String key) {
            for (Entry entry : mapping.entries()) {
                if (entry.key().text().equals(key)) {
                    return entry;
                }
            }
            return null;
        }
    }
}
