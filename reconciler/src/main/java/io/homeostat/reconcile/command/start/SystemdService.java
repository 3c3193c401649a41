package io.homeostat.reconcile.command.start;

import com.google.common.base.Splitter;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.schema.Notation;
import io.homeostat.desired.model.schema.Size;
import io.homeostat.reconcile.command.environment.CommandFailure;
import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** Makes a Process of a systemd service (systemd.service(5), systemd.exec(5), systemd.kill(5), systemd.resource-control(5)). */
public final class SystemdService {
    private static final String SUFFIX = ".service";
    private static final Splitter SPACES = Splitter.onPattern("\\s+").omitEmptyStrings();
    private static final ImmutableSet<String> STOP_SIGNALS =
            ImmutableSet.of("SIGTERM", "SIGINT", "SIGQUIT", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGWINCH", "SIGKILL");
    private static final ImmutableSet<String> ORDER = ImmutableSet.of(
            "After", "Before", "Requires", "Requisite", "Wants", "BindsTo", "PartOf", "Upholds", "Conflicts");
    private static final ImmutableSet<String> OUTPUT =
            ImmutableSet.of("StandardOutput", "StandardError", "SyslogIdentifier", "SyslogFacility", "SyslogLevel");
    private static final Pattern SPAN = Pattern.compile("\\s*([0-9]+(?:\\.[0-9]+)?)\\s*([A-Za-z]*)");
    private static final Pattern BYTES = Pattern.compile("([0-9]{1,15})([KMGT]?)");
    private static final Pattern LIMIT =
            Pattern.compile("(?:[0-9]{1,15}[KMGT]?|infinity)(?::(?:[0-9]{1,15}[KMGT]?|infinity))?");
    private static final Pattern SPECIFIER = Pattern.compile("%(.)", Pattern.DOTALL);
    private static final Pattern EXPANDED = Pattern.compile("\\$(?:\\{[A-Za-z_]|[A-Za-z_])");
    private static final Pattern ASSIGNMENT = Pattern.compile("([A-Za-z_][A-Za-z0-9_]*)=(.*)", Pattern.DOTALL);
    private static final String UNKNOWN = "Homeostat has no such field";

    private final SystemdUnit unit;
    private final String unitName;
    private final Draft draft;
    private final boolean oneShot;
    private final List<String> groups = new ArrayList<>();

    private SystemdService(SystemdUnit unit, String unitName, String name) {
        this.unit = unit;
        this.unitName = unitName;
        this.draft = new Draft("Process", name);
        this.oneShot = unit.settings().stream()
                .anyMatch(setting ->
                        setting.key().equals("Type") && setting.value().equals("oneshot"));
    }

    /** A document for a unit file and its drop-ins; without a name it has that of the unit. */
    public static Drafts draft(Path file, Optional<String> name) {
        String unitName = String.valueOf(file.getFileName());
        if (!unitName.endsWith(SUFFIX)) {
            throw new CommandFailure(file + " is no unit of a service; only those, whose names end in " + SUFFIX
                    + ", can be taken over");
        }
        String usual = LocalProgram.name(unitName.substring(0, unitName.length() - SUFFIX.length()));
        return new Drafts(
                "the unit " + file,
                ImmutableList.of(new SystemdService(SystemdUnit.read(file), unitName, name.orElse(usual)).made()));
    }

    private Draft made() {
        draft.put("install", "local");
        command();
        boolean environment = false;
        boolean files = false;
        for (Setting setting : unit.settings()) {
            environment |= setting.key().equals("Environment");
            files |= setting.key().equals("EnvironmentFile");
            take(setting);
        }
        if (oneShot) {
            draft.put("execution.type", "oneShot").put("execution.triggers.startup", true);
        } else if (unit.settings().stream().noneMatch(setting -> setting.key().equals("Restart"))) {
            // Their default; ours is always.
            draft.put("restart.policy", "never");
        }
        if (environment && files) {
            draft.remark(
                    "envFiles",
                    unit.path().toString(),
                    0,
                    "systemd has EnvironmentFile= win over Environment=, here env wins over envFiles");
        }
        Path timer = unit.path().resolveSibling(unitName.replace(SUFFIX, ".timer"));
        if (Files.exists(timer)) {
            draft.notTaken(
                    timer.toString(),
                    0,
                    String.valueOf(timer.getFileName()),
                    "declare execution.triggers.schedule or every");
        }
        return draft;
    }

    private void command() {
        List<Setting> commands = unit.settings().stream()
                .filter(setting ->
                        setting.section().equals("Service") && setting.key().equals("ExecStart"))
                .toList();
        if (commands.isEmpty()) {
            throw new CommandFailure(unit.path() + " has no ExecStart= in [Service], so there is nothing to run");
        }
        Setting command = commands.getLast();
        if (commands.size() > 1) {
            throw command.failure("there are several commands, and a Process has one; put them into a script");
        }
        String text = command.value();
        int prefixes = 0;
        while ("-@:+!|".indexOf(text.charAt(prefixes)) >= 0 && prefixes + 1 < text.length()) {
            prefixes++;
        }
        String prefix = text.substring(0, prefixes);
        List<String> words =
                new ArrayList<>(split(command, () -> CommandWords.systemdCommand(text.substring(prefix.length()))));
        words.replaceAll(word -> known(command, word));
        if (words.isEmpty()) {
            throw command.failure("there is no program in it");
        }
        String program = Programs.find(words.getFirst())
                .orElseThrow(() -> command.failure(
                        "'" + words.getFirst() + "' is in none of the system's directories; write an absolute path"));
        draft.put("entryPoint", program);
        words.removeFirst();
        prefixes(command, prefix, words);
        if (!prefix.contains(":")) {
            if (words.stream()
                    .anyMatch(word -> EXPANDED.matcher(word.replace("$$", "")).find())) {
                draft.remark(
                        "arguments",
                        command.file(),
                        command.line(),
                        "not taken over: variables in arguments: Homeostat expands none; write their values");
            }
            words.replaceAll(word -> word.replace("$$", "$"));
        }
        if (!words.isEmpty()) {
            draft.put("arguments", words);
        }
    }

    private void prefixes(Setting command, String prefix, List<String> words) {
        if (prefix.contains("@") && !words.isEmpty()) {
            command.notTaken(draft, "the program is called by its own name, and not " + words.removeFirst());
        }
        if (prefix.contains("-")) {
            command.notTaken(draft, "a failure is one, whatever the - before the command");
        }
        if (prefix.contains("+") || prefix.contains("!")) {
            command.notTaken(draft, "with + or ! it runs with all rights; here user and group hold");
        }
        if (prefix.contains("|")) {
            command.notTaken(draft, "no shell is started for it");
        }
    }

    private static ImmutableList<String> split(Setting setting, Supplier<ImmutableList<String>> words) {
        try {
            return words.get();
        } catch (IllegalArgumentException e) {
            throw setting.failure(String.valueOf(e.getMessage()));
        }
    }

    /** With the specifiers that the name of the unit tells. */
    private Optional<String> expanded(String text) {
        String whole = unitName.substring(0, unitName.length() - SUFFIX.length());
        int at = whole.indexOf('@');
        StringBuilder result = new StringBuilder();
        Matcher specifier = SPECIFIER.matcher(text);
        int end = 0;
        while (specifier.find()) {
            result.append(text, end, specifier.start());
            end = specifier.end();
            switch (specifier.group(1)) {
                case "%" -> result.append('%');
                case "n" -> result.append(unitName);
                case "N" -> result.append(whole);
                case "p" -> result.append(at < 0 ? whole : whole.substring(0, at));
                case "i" -> {
                    if (at < 0 || at + 1 == whole.length() || whole.indexOf('\\', at) >= 0) {
                        return Optional.empty();
                    }
                    result.append(whole, at + 1, whole.length());
                }
                default -> {
                    return Optional.empty();
                }
            }
        }
        result.append(text, end, text.length());
        return Optional.of(result.toString());
    }

    private String known(Setting setting, String text) {
        return expanded(text)
                .orElseThrow(() -> setting.failure(
                        "it has a specifier (%) whose value can't be known here; write the value in its place"));
    }

    private void take(Setting setting) {
        switch (setting.section()) {
            case "Service" -> service(setting);
            case "Unit" -> {
                if (ORDER.contains(setting.key())) {
                    setting.notTaken(draft, order(setting));
                } else if (setting.key().startsWith("StartLimit")) {
                    setting.notTaken(draft, "restart.giveUpAfter counts restarts in a row instead");
                } else {
                    setting.notTaken(draft, UNKNOWN);
                }
            }
            case "Install" ->
                setting.notTaken(
                        draft,
                        setting.key().equals("DefaultInstance")
                                ? "a document is of one instance, which the unit's name says"
                                : "what is declared is started anyway");
            default -> setting.notTaken(draft, UNKNOWN);
        }
    }

    private static String order(Setting setting) {
        if (!setting.value().contains(SUFFIX)) {
            return "only services can be declared, and that is none";
        }
        return switch (setting.key()) {
            case "Before" -> "name this one in the dependsOn of that, once it is declared, too";
            case "Conflicts" -> "nothing that is declared excludes another; see to it that they do not both run";
            default -> "name it in dependsOn once it is declared, too";
        };
    }

    private void service(Setting setting) {
        String key = setting.key();
        if (key.equals("ExecStart")) {
            return;
        }
        if (key.equals("Environment")) {
            environment(setting);
            return;
        }
        String value = expanded(setting.value()).orElse("");
        if (value.isEmpty()) {
            setting.notTaken(draft, "it has a specifier (%) whose value can't be known here");
            return;
        }
        switch (key) {
            case "Type" -> type(setting);
            case "EnvironmentFile" -> environmentFile(setting, value);
            case "User" -> draft.put("user", value);
            case "Group" -> draft.put("group", value);
            case "SupplementaryGroups" -> {
                groups.addAll(SPACES.splitToList(value));
                draft.put("supplementaryGroups", groups);
            }
            case "WorkingDirectory" -> directory(setting, value);
            case "UMask" -> matched(setting, "umask", value, "0?[0-7]{1,3}", mask(value));
            case "Nice" -> number(setting, "nice", value);
            case "OOMScoreAdjust" -> number(setting, "oomScoreAdjust", value);
            case "Restart" -> restart(setting, value);
            case "RestartSec" -> duration(setting, "restart.initialDelay", value);
            case "RestartMaxDelaySec" -> duration(setting, "restart.maxDelay", value);
            case "TimeoutStopSec" -> duration(setting, "stop.timeout", value);
            case "TimeoutStartSec" -> duration(setting, oneShot ? "execution.timeout" : "start.timeout", value);
            case "TimeoutSec" -> {
                duration(setting, oneShot ? "execution.timeout" : "start.timeout", value);
                duration(setting, "stop.timeout", value);
            }
            case "KillSignal" -> {
                String signal = value.startsWith("SIG") ? value : "SIG" + value;
                matched(setting, "stop.signal", value, "[A-Z0-9]+", STOP_SIGNALS.contains(signal) ? signal : "");
            }
            case "KillMode" -> {
                if (!value.equals("control-group") && !value.equals("mixed")) {
                    setting.notTaken(draft, "the whole process tree ends with the program");
                }
            }
            case "MemoryMax", "MemoryLimit" -> memory(setting, value);
            case "CPUQuota" -> matched(setting, "limits.cpu", value, "[1-9][0-9]{0,8}%", value);
            case "ExecReload" ->
                setting.notTaken(
                        draft,
                        "declare reload with the files to watch, such as {signal: SIGHUP, watch: [/etc/NAME.conf]}, or {exec: {command: [...]}, watch: [...]}");
            case "ExecStartPre", "ExecStartPost", "ExecStop", "ExecStopPost", "ExecCondition" ->
                setting.notTaken(draft, "a Process has one command; call it from a script that ends with exec");
            case "StartLimitBurst", "StartLimitInterval", "StartLimitIntervalSec" ->
                setting.notTaken(draft, "restart.giveUpAfter counts restarts in a row instead");
            default -> other(setting, key, value);
        }
    }

    private void other(Setting setting, String key, String value) {
        if (key.startsWith("Limit")) {
            limit(setting, key.substring("Limit".length()).toLowerCase(Locale.ROOT), value);
        } else if (OUTPUT.contains(key)) {
            setting.notTaken(draft, "Homeostat keeps the log itself; homeostat logs shows it");
        } else {
            setting.notTaken(draft, UNKNOWN);
        }
    }

    private void type(Setting setting) {
        switch (setting.value()) {
            case "simple", "exec", "oneshot", "idle" -> {}
            case "forking" ->
                setting.notTaken(
                        draft,
                        "Homeostat looks after the process that it starts: have the program stay in the foreground, by an option or its configuration");
            default -> setting.notTaken(draft, "when it is ready is not told to Homeostat; declare a probe");
        }
    }

    private void environment(Setting setting) {
        for (String word : split(setting, () -> CommandWords.systemd(setting.value()))) {
            Matcher assignment = ASSIGNMENT.matcher(word);
            Optional<String> value = assignment.matches() ? expanded(assignment.group(2)) : Optional.empty();
            if (value.isPresent()) {
                draft.variable(assignment.group(1), value.get(), setting.file(), setting.line());
            } else {
                String name = word.replaceAll("=.*", "");
                draft.notTaken(
                        setting.file(),
                        setting.line(),
                        "Environment=" + name,
                        "it is no KEY=VALUE whose value can be known here");
            }
        }
    }

    private void environmentFile(Setting setting, String value) {
        boolean optional = value.startsWith("-");
        String file = optional ? value.substring(1) : value;
        if (!file.startsWith("/") || file.matches(".*[*?\\[].*")) {
            setting.notTaken(draft, "files are named one by one, by absolute paths");
            return;
        }
        draft.add("envFiles", file);
        if (optional) {
            draft.remark(
                    "envFiles",
                    setting.file(),
                    setting.line(),
                    "not taken over: the - before " + file + ": nothing is launched while the file is missing");
        }
    }

    private void directory(Setting setting, String value) {
        boolean optional = value.startsWith("-");
        String directory = optional ? value.substring(1) : value;
        if (!directory.startsWith("/")) {
            setting.notTaken(draft, "it has to be an absolute path");
            return;
        }
        draft.put("workingDirectory", directory);
        if (optional) {
            setting.notTaken(draft, "the - : a directory that is missing is a failure");
        }
    }

    private static String mask(String value) {
        return value.matches("0?[0-7]{1,3}") ? String.format("%04o", Integer.parseInt(value, 8)) : "";
    }

    private void restart(Setting setting, String value) {
        if (oneShot) {
            if (!value.equals("no")) {
                setting.notTaken(draft, "a one-shot runs again when its triggers say so");
            }
            return;
        }
        draft.put(
                "restart.policy",
                switch (value) {
                    case "no" -> "never";
                    case "always", "on-success" -> "always";
                    default -> "onFailure";
                });
        if (!ImmutableSet.of("no", "always", "on-failure").contains(value)) {
            setting.notTaken(draft, "restart.policy is what comes next to it");
        }
    }

    private void number(Setting setting, String path, String value) {
        matched(setting, path, value, "-?[0-9]{1,4}", value.matches("-?[0-9]{1,4}") ? Integer.valueOf(value) : "");
    }

    private void limit(Setting setting, String name, String value) {
        if (!LIMIT.matcher(value).matches()
                || !ImmutableSet.of(
                                "as",
                                "core",
                                "cpu",
                                "data",
                                "fsize",
                                "locks",
                                "memlock",
                                "msgqueue",
                                "nice",
                                "nofile",
                                "nproc",
                                "rss",
                                "rtprio",
                                "rttime",
                                "sigpending",
                                "stack")
                        .contains(name)) {
            setting.notTaken(draft, "declare it in rlimits, in the units of prlimit(1)");
            return;
        }
        draft.put(
                "rlimits." + name,
                Splitter.on(':')
                        .splitToStream(value)
                        .map(part -> bytes(part)
                                .map(Size::bytes)
                                .map(String::valueOf)
                                .orElse("unlimited"))
                        .collect(Collectors.joining(":")));
    }

    private void memory(Setting setting, String value) {
        Optional<Size> size = bytes(value);
        if (size.isPresent()) {
            draft.put("limits.memory", Notation.text(size.get()));
        } else if (!value.equals("infinity")) {
            setting.notTaken(draft, "limits.memory is a number of bytes, such as 512Mi");
        }
    }

    private static Optional<Size> bytes(String value) {
        Matcher matcher = BYTES.matcher(value);
        return matcher.matches()
                ? Notation.size(matcher.group(1) + (matcher.group(2).isEmpty() ? "" : matcher.group(2) + "i"))
                : Optional.empty();
    }

    private void duration(Setting setting, String path, String value) {
        Optional<Duration> span = span(value);
        if (span.isPresent() && (!span.get().isZero() || path.startsWith("restart."))) {
            draft.put(path, Notation.text(span.get()));
        } else {
            setting.notTaken(draft, path + " is a duration, such as 90s");
        }
    }

    /** systemd.time(7); seconds where there is no unit. */
    static Optional<Duration> span(String text) {
        Matcher matcher = SPAN.matcher(text);
        BigDecimal millis = BigDecimal.ZERO;
        int end = 0;
        while (end < text.length() && matcher.find(end) && matcher.start() == end) {
            long unit = millis(matcher.group(2));
            if (unit == 0 || matcher.group(1).length() > 9) {
                return Optional.empty();
            }
            millis = millis.add(new BigDecimal(matcher.group(1)).multiply(BigDecimal.valueOf(unit)));
            end = matcher.end();
        }
        return end == 0 || end < text.length() ? Optional.empty() : Optional.of(Duration.ofMillis(millis.longValue()));
    }

    private static long millis(String unit) {
        return switch (unit) {
            case "ms", "msec" -> 1;
            case "", "s", "sec", "second", "seconds" -> 1000;
            case "m", "min", "minute", "minutes" -> 60_000;
            case "h", "hr", "hour", "hours" -> 3_600_000;
            case "d", "day", "days" -> 86_400_000;
            case "w", "week", "weeks" -> 604_800_000;
            default -> 0;
        };
    }

    private void matched(Setting setting, String path, String value, String pattern, Object taken) {
        if (value.matches(pattern) && !taken.equals("")) {
            draft.put(path, taken);
        } else {
            setting.notTaken(
                    draft, path + " can't be that; homeostat explain Process.spec." + path + " tells what it can be");
        }
    }
}
