package io.homeostat.reconcile.command.start;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.Calendar;
import io.homeostat.desired.model.schema.Notation;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.start.SourceTree.Entry;
import io.homeostat.reconcile.secrets.SecretForms;
import java.math.BigDecimal;
import java.nio.file.Path;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** Makes Tasks, and the Drivers that run them, of a Nomad job in JSON, as {@code nomad job run -output} prints it. */
public final class NomadJob {
    private static final String PLUGINS = "/opt/nomad/plugins/";
    private static final String NONE = "Homeostat has nothing like it";
    private static final Pattern DAYS = Pattern.compile("\\s*\\S+\\s+\\S+\\s+(\\S+)\\s+\\S+\\s+(\\S+)\\s*");
    private static final String DISPATCHED =
            "Nomad runs it only when it is dispatched; here it runs at each boot, and by homeostat start";
    private static final String NETWORKS = "declare network and ports";

    private final Path file;
    private final Map<String, Draft> drivers = new LinkedHashMap<>();
    private final ImmutableList.Builder<Draft> tasks = ImmutableList.builder();

    private NomadJob(Path file) {
        this.file = file;
    }

    /** The documents of a job, or of one task of it. */
    public static Drafts drafts(Path file, Optional<String> only) {
        SourceFile text = SourceFile.read(file);
        if (!text.text().stripLeading().startsWith("{")) {
            throw new CommandFailure(file + " is no JSON; Nomad makes it of a job file: nomad job run -output "
                    + file.getFileName() + " > job.json");
        }
        SourceTree whole = SourceTree.read(text);
        return new NomadJob(file).made(whole.at("Job").orElse(whole), only);
    }

    private Drafts made(SourceTree job, Optional<String> only) {
        ImmutableList.Builder<String> names = ImmutableList.builder();
        Draft first = null;
        for (SourceTree group : job.at("TaskGroups").map(SourceTree::items).orElse(ImmutableList.of())) {
            for (SourceTree task : group.at("Tasks").map(SourceTree::items).orElse(ImmutableList.of())) {
                String name = text(task, "Name");
                names.add(name);
                if (only.isEmpty() || only.get().equals(name)) {
                    Draft draft = task(job, group, task, name);
                    first = first == null ? draft : first;
                    tasks.add(draft);
                }
            }
        }
        if (first == null) {
            throw new CommandFailure(file + " has no such task; it has " + String.join(", ", names.build()));
        }
        Draft told = first;
        job.entries().stream()
                .filter(entry -> !entry.value().isNothing())
                .filter(entry -> !entry.key().matches("ID|Name|Type|TaskGroups|Periodic"))
                .forEach(entry -> entry.notTaken(told, entry.key().equals("ParameterizedJob") ? DISPATCHED : NONE));
        return new Drafts(
                "the Nomad job " + file,
                ImmutableList.<Draft>builder()
                        .addAll(drivers.values())
                        .addAll(tasks.build())
                        .build());
    }

    private static String text(SourceTree tree, String key) {
        return tree.at(key)
                .map(SourceTree::text)
                .filter(text -> !text.isEmpty())
                .orElseThrow(() -> tree.failure("there is no " + key + " here"));
    }

    private Draft task(SourceTree job, SourceTree group, SourceTree task, String name) {
        String driver = text(task, "Driver");
        drivers.computeIfAbsent(driver, _ -> driver(driver, task.line()));
        Draft draft = new Draft("Task", LocalProgram.name(name)).put("driver", driver);
        Optional<Entry> periodic = periodic(job);
        if (periodic.isPresent()
                || job.at("Type").map(SourceTree::text).orElse("").endsWith("batch")) {
            draft.put("execution.type", "oneShot");
            trigger(draft, periodic);
        }
        for (Entry entry : group.entries()) {
            if (entry.value().isNothing() && !entry.key().equals("Count")) {
                continue;
            }
            switch (entry.key()) {
                case "Name", "Tasks" -> {}
                case "Count" -> count(draft, entry);
                case "RestartPolicy" -> {
                    if (task.at("RestartPolicy").isEmpty()) {
                        restart(draft, entry);
                    }
                }
                case "Networks" -> entry.notTaken(draft, NETWORKS);
                default -> entry.notTaken(draft, NONE);
            }
        }
        task.entries().stream()
                // What a variable or a driver's key says may be "0" or false.
                .filter(entry -> !entry.value().isNothing()
                        || (entry.key().matches("Env|Config")
                                && !entry.value().entries().isEmpty()))
                .forEach(entry -> take(draft, entry));
        return draft;
    }

    private static Optional<Entry> periodic(SourceTree job) {
        return job.entries().stream()
                .filter(entry ->
                        entry.key().equals("Periodic") && !entry.value().isNothing())
                .filter(entry -> !entry.value()
                        .at("Enabled")
                        .map(SourceTree::text)
                        .orElse("")
                        .equals("false"))
                .findFirst();
    }

    private static void trigger(Draft draft, Optional<Entry> periodic) {
        Optional<Calendar> calendar = periodic.flatMap(entry -> calendar(entry.value()));
        if (calendar.isPresent()) {
            draft.put("execution.triggers.schedule.cron", calendar.get().cron())
                    .put("execution.triggers.schedule.timezone", calendar.get().timezone());
            return;
        }
        // Without any trigger it could not be declared.
        draft.put("execution.triggers.startup", true);
        periodic.ifPresent(entry -> entry.notTaken(draft, "declare execution.triggers.schedule in place of startup"));
    }

    /** The only one, if it means something here: Nomad knows more fields and signs than crontab(5). */
    private static Optional<Calendar> calendar(SourceTree periodic) {
        ImmutableList<String> specs = Stream.of("Spec", "Specs")
                .flatMap(key -> periodic.at(key).stream())
                .flatMap(spec -> spec.isList() ? spec.items().stream() : Stream.of(spec))
                .map(SourceTree::text)
                .filter(spec -> !spec.isEmpty())
                .collect(ImmutableList.toImmutableList());
        String zone = periodic.at("TimeZone")
                .map(SourceTree::text)
                .filter(text -> !text.isEmpty())
                .orElse("UTC");
        return specs.size() == 1
                ? Optional.of(new Calendar(specs.getFirst(), zone)).filter(NomadJob::isTheSameHere)
                : Optional.empty();
    }

    private static boolean isTheSameHere(Calendar calendar) {
        Matcher days = DAYS.matcher(calendar.cron());
        if (!days.matches()) {
            return false;
        }
        String ofMonth = days.group(1);
        String ofWeek = days.group(2);
        // Of two days Nomad takes either, crontab(5) both when one of them begins with a star, such as */2.
        if (!ofMonth.equals("*") && !ofWeek.equals("*") && (ofMonth.startsWith("*") || ofWeek.startsWith("*"))) {
            return false;
        }
        try {
            return calendar.next(Instant.EPOCH).isPresent();
        } catch (IllegalArgumentException | DateTimeException e) {
            return false;
        }
    }

    private static void count(Draft draft, Entry entry) {
        if (!(entry.value().value() instanceof BigDecimal)) {
            return;
        }
        long count = entry.value().number();
        if (count == 0) {
            entry.notTaken(draft, "Nomad runs none of them; take this document away to have none here");
        } else if (count != 1) {
            entry.notTaken(draft, "declare as many Tasks, each with its own name");
        }
    }

    /** A driver would get it as it stands. */
    private void remarkOnNomadsVariables(Draft draft, String key, Entry entry) {
        if (String.valueOf(entry.value().value()).contains("${")) {
            draft.remark(
                    key,
                    file.toString(),
                    entry.line(),
                    key + "." + entry.key() + " has ${...} in it, which Nomad replaces and Homeostat does not");
        }
    }

    private Draft driver(String name, int line) {
        Draft driver = new Draft("Driver", name).put("install", "local").put("entryPoint", PLUGINS + name);
        driver.remark(
                "entryPoint",
                file.toString(),
                line,
                "where the program of the driver " + name + " is, the job does not say; correct this path");
        return driver;
    }

    private void take(Draft draft, Entry entry) {
        SourceTree value = entry.value();
        switch (entry.key()) {
            case "Name", "Driver" -> {}
            case "Config" -> {
                Map<String, Object> config = new LinkedHashMap<>();
                for (Entry each : value.entries()) {
                    Object one = each.value().value();
                    if (one != null) {
                        config.put(each.key(), one);
                        remarkOnNomadsVariables(draft, "config", each);
                    }
                }
                draft.put("config", config);
            }
            case "Env" -> variables(draft, entry);
            case "User" -> draft.put("user", value.text());
            case "KillSignal" -> {
                String signal = value.text().startsWith("SIG") ? value.text() : "SIG" + value.text();
                if (signal.matches("SIG(TERM|INT|QUIT|HUP|USR1|USR2|WINCH|KILL)")) {
                    draft.put("stop.signal", signal);
                } else {
                    entry.notTaken(draft, "homeostat explain Task.spec.stop.signal tells what it can be");
                }
            }
            case "KillTimeout" -> nanoseconds(draft, "stop.timeout", value);
            case "Resources" -> resources(draft, value);
            case "RestartPolicy" -> restart(draft, entry);
            case "Artifacts" -> artifacts(draft, entry);
            case "Templates" ->
                entry.notTaken(draft, "write the file by other means, and name it in the task's configuration");
            case "LogConfig" -> entry.notTaken(draft, "Homeostat keeps the log itself; homeostat logs shows it");
            default -> entry.notTaken(draft, NONE);
        }
    }

    private void variables(Draft draft, Entry entry) {
        for (Entry variable : entry.value().entries()) {
            draft.plain(variable.key(), variable.value().text());
            remarkOnNomadsVariables(draft, "env", variable);
            if (SecretForms.isName(variable.key())) {
                draft.remark(
                        "env",
                        file.toString(),
                        variable.line(),
                        "env." + variable.key() + " looks like a secret; who may read this document knows it");
            }
        }
    }

    private static void resources(Draft draft, SourceTree resources) {
        for (Entry entry : resources.entries()) {
            if (entry.value().isNothing()) {
                continue;
            }
            switch (entry.key()) {
                case "MemoryMB" -> draft.put("limits.memory", entry.value().number() + "Mi");
                case "MemoryMaxMB" ->
                    draft.put("limits.memoryMax", entry.value().number() + "Mi");
                case "Cores" -> draft.put("limits.cores", entry.value().number());
                case "Networks" -> entry.notTaken(draft, NETWORKS);
                case "CPU" -> entry.notTaken(draft, "MHz are a share of Nomad's; limits.cpu is percent of a processor");
                default -> entry.notTaken(draft, NONE);
            }
        }
    }

    private static void restart(Draft draft, Entry policy) {
        boolean fails =
                policy.value().at("Mode").map(SourceTree::text).orElse("").equals("fail");
        for (Entry entry : policy.value().entries()) {
            switch (entry.key()) {
                case "Delay" -> nanoseconds(draft, "restart.initialDelay", entry.value());
                case "Attempts" -> {
                    if (!fails) {
                        entry.notTaken(draft, "Homeostat tries on, by longer pauses");
                    } else if (entry.value().number() == 0) {
                        draft.put("restart.policy", "never");
                    } else {
                        draft.put("restart.giveUpAfter", entry.value().number());
                    }
                }
                case "Mode" -> {}
                default -> {
                    if (!entry.value().isNothing()) {
                        entry.notTaken(draft, "restarts are counted in a row; restart.resetAfter says when anew");
                    }
                }
            }
        }
    }

    private static void nanoseconds(Draft draft, String path, SourceTree value) {
        draft.put(path, Notation.text(Duration.ofNanos(Math.max(0, value.number()))));
    }

    /** One archive with a checksum is a source; there can be no more of them. */
    private static void artifacts(Draft draft, Entry entry) {
        ImmutableList<SourceTree> all = entry.value().items();
        Optional<String> url = all.stream()
                .flatMap(artifact -> artifact.at("GetterSource").stream())
                .map(SourceTree::text)
                .findFirst();
        Optional<String> sha256 = all.stream()
                .flatMap(artifact -> artifact.at("GetterOptions").stream())
                .flatMap(options -> options.at("checksum").stream())
                .map(SourceTree::text)
                .filter(sum -> sum.matches("sha256:[0-9a-fA-F]{64}"))
                .findFirst();
        if (all.size() == 1
                && sha256.isPresent()
                && url.filter(one -> one.matches("https?://.*\\.(?:tar\\.gz|tgz|tar|zip)"))
                        .isPresent()) {
            draft.put("source.url", url.get()).put("source.sha256", sha256.get().substring("sha256:".length()));
            all.getFirst().entries().stream()
                    .filter(option -> !option.value().isNothing())
                    .forEach(option -> artifact(draft, option));
        } else {
            entry.notTaken(draft, "source is one archive (tar.gz, tar or zip) with its sha256");
        }
    }

    /** What an archive has beside its URL and its checksum. */
    private static void artifact(Draft draft, Entry option) {
        switch (option.key()) {
            case "GetterSource" -> {}
            case "GetterOptions" ->
                option.value().entries().stream()
                        // Where archive is false, that matters.
                        .filter(each ->
                                !each.key().equals("checksum") && each.value().value() != null)
                        .forEach(each -> each.notTaken(draft, "Homeostat fetches an archive without options"));
            case "GetterMode" -> {
                if (!option.value().text().matches("any|dir")) {
                    option.notTaken(draft, "an archive is unpacked");
                }
            }
            case "RelativeDest" -> {
                if (!option.value().text().matches("(?:\\$\\{NOMAD_TASK_DIR\\}|local)/?")) {
                    option.notTaken(draft, "an archive is unpacked into a directory of its revision");
                }
            }
            case "GetterHeaders" -> option.notTaken(draft, "Homeostat sends no headers of others");
            default -> option.notTaken(draft, NONE);
        }
    }
}
