package io.homeostat.reconcile.command.start;

import com.google.common.base.CharMatcher;
import com.google.common.base.Splitter;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import com.google.common.primitives.Ints;
import io.homeostat.reconcile.command.environment.CommandFailure;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Makes Processes of the programs in a configuration of supervisord (supervisord.org/configuration.html). */
public final class SupervisorPrograms {
    private static final int MOST_PROCESSES = 1000;
    private static final String PROGRAM = "program:";
    private static final Pattern EXPRESSION = Pattern.compile("%(?:%|\\(([A-Za-z0-9_]*)\\)(0?)([0-9]?)([ds]))");
    private static final Pattern VARIABLE =
            Pattern.compile("\\s*([A-Za-z_][A-Za-z0-9_]*)\\s*=\\s*(\"[^\"]*\"|'[^']*'|[^\\s,\"']*)\\s*(?:,|$)");
    private static final ImmutableSet<String> STOP_SIGNALS =
            ImmutableSet.of("TERM", "INT", "QUIT", "HUP", "USR1", "USR2", "WINCH", "KILL");

    private final Path file;
    private final String program;
    private final ImmutableMap<String, Setting> settings;
    private final int number;
    private final Draft draft;

    private SupervisorPrograms(Path file, String program, ImmutableMap<String, Setting> settings, int number) {
        this.file = file;
        this.program = program;
        this.settings = settings;
        this.number = number;
        this.draft = new Draft("Process", LocalProgram.name(name()));
    }

    /** A document for each process of each program, or of the one that is named. */
    public static Drafts drafts(Path file, Optional<String> only) {
        Map<String, Map<String, Setting>> sections = sections(SourceFile.read(file));
        ImmutableList.Builder<Draft> made = ImmutableList.builder();
        List<String> names = sections.keySet().stream()
                .filter(section -> section.startsWith(PROGRAM))
                .map(section -> section.substring(PROGRAM.length()).strip())
                .toList();
        if (names.isEmpty()) {
            throw new CommandFailure(file + " has no section [program:NAME]; name the file that has");
        }
        if (only.isPresent() && !names.contains(only.get())) {
            throw new CommandFailure(file + " has no program '" + only.get() + "'; it has " + String.join(", ", names));
        }
        for (String name : names) {
            if (only.isEmpty() || only.get().equals(name)) {
                ImmutableMap<String, Setting> settings = sections.entrySet().stream()
                        .filter(section -> section.getKey().startsWith(PROGRAM)
                                && section.getKey()
                                        .substring(PROGRAM.length())
                                        .strip()
                                        .equals(name))
                        .findFirst()
                        .map(section -> ImmutableMap.copyOf(section.getValue()))
                        .orElseThrow();
                made.addAll(drafts(file, name, settings));
            }
        }
        ImmutableList<Draft> drafts = made.build();
        others(sections, drafts.getFirst());
        return new Drafts("supervisor's " + file, drafts);
    }

    private static ImmutableList<Draft> drafts(Path file, String name, ImmutableMap<String, Setting> settings) {
        Setting processes = settings.get("numprocs");
        int count = processes == null ? 1 : whole(processes);
        Setting start = settings.get("numprocs_start");
        int first = start == null ? 0 : whole(start);
        if (count < 1 || count > MOST_PROCESSES) {
            throw processes == null
                    ? new IllegalStateException("one is neither none nor too many")
                    : processes.failure("write a number from 1 to " + MOST_PROCESSES);
        }
        ImmutableList.Builder<Draft> drafts = ImmutableList.builder();
        for (int i = first; i < first + count; i++) {
            drafts.add(new SupervisorPrograms(file, name, settings, i).made());
        }
        return drafts.build();
    }

    /** What is no program belongs to none of them. */
    private static void others(Map<String, Map<String, Setting>> sections, Draft draft) {
        sections.forEach((section, settings) -> {
            if (!section.startsWith(PROGRAM)) {
                String why = section.startsWith("group:")
                        ? "give its programs a label, by which commands choose them (-l)"
                        : section.equals("include")
                                ? "make documents of these files one by one"
                                : "Homeostat has nothing like it";
                for (Setting setting : settings.values()) {
                    draft.notTaken(setting.file(), setting.line(), "[" + section + "] " + setting.written(), why);
                }
            }
        });
    }

    private static Map<String, Map<String, Setting>> sections(SourceFile file) {
        Map<String, Map<String, Setting>> sections = new LinkedHashMap<>();
        Map<String, Setting> settings = new LinkedHashMap<>();
        String section = "";
        Setting last = null;
        int number = 0;
        for (String line : Splitter.on('\n').split(file.text())) {
            number++;
            String text = withoutComment(line);
            int delimiter = CharMatcher.anyOf("=:").indexIn(text);
            if (text.isBlank()) {
                continue;
            }
            if (Character.isWhitespace(text.charAt(0)) && last != null) {
                last = new Setting(section, last.key(), last.value() + "\n" + text.strip(), last.file(), last.line());
                settings.put(last.key(), last);
            } else if (text.startsWith("[") && text.strip().endsWith("]")) {
                section = text.strip().substring(1, text.strip().length() - 1);
                settings = sections.computeIfAbsent(section, _ -> new LinkedHashMap<>());
                last = null;
            } else if (delimiter > 0 && !section.isEmpty()) {
                last = new Setting(
                        section,
                        text.substring(0, delimiter).strip(),
                        text.substring(delimiter + 1).strip(),
                        file.path().toString(),
                        number);
                settings.put(last.key(), last);
            } else {
                throw file.failure(
                        number, "'" + text.strip() + "' is neither [SECTION] nor KEY=VALUE, or KEY: VALUE, in one");
            }
        }
        return sections;
    }

    private static String withoutComment(String line) {
        if (line.startsWith("#") || line.startsWith(";")) {
            return "";
        }
        return line.replaceFirst("\\s+[;#].*$", "").stripTrailing();
    }

    private String name() {
        Setting named = settings.get("process_name");
        String name = named == null ? program : known(named);
        return named == null && whole(settings.get("numprocs"), 1) > 1 ? name + "-" + number : name;
    }

    private Draft made() {
        draft.put("install", "local");
        command();
        if (!settings.containsKey("autorestart")) {
            draft.put("restart.policy", "onFailure");
        }
        settings.values().forEach(this::take);
        return draft;
    }

    private void command() {
        Setting command = settings.get("command");
        if (command == null) {
            throw new CommandFailure(file + ": [program:" + program + "] has no command");
        }
        List<String> words;
        try {
            words = new ArrayList<>(CommandWords.shell(known(command)));
        } catch (IllegalArgumentException e) {
            throw command.failure(String.valueOf(e.getMessage()));
        }
        String first = words.isEmpty() ? "" : words.removeFirst();
        draft.put(
                "entryPoint",
                Programs.find(first)
                        .orElseThrow(() -> command.failure("the program '" + first
                                + "' is in none of the system's directories; write an absolute path")));
        if (!words.isEmpty()) {
            draft.put("arguments", words);
        }
    }

    /** With the expressions of Python that the file itself tells. */
    private Optional<String> expanded(String text) {
        Matcher matcher = EXPRESSION.matcher(text);
        StringBuilder result = new StringBuilder();
        int end = 0;
        while (matcher.find()) {
            result.append(text, end, matcher.start());
            end = matcher.end();
            String name = matcher.group(1);
            if (name == null) {
                result.append('%');
                continue;
            }
            switch (name) {
                case "here" -> result.append(file.getParent());
                case "program_name", "group_name" -> result.append(program);
                case "numprocs" -> result.append(whole(settings.get("numprocs"), 1));
                case "process_num" -> {
                    String width = matcher.group(3);
                    result.append(
                            width.isEmpty()
                                    ? Integer.toString(number)
                                    : String.format("%" + matcher.group(2) + width + "d", number));
                }
                default -> {
                    return Optional.empty();
                }
            }
        }
        result.append(text, end, text.length());
        return Optional.of(result.toString());
    }

    private String known(Setting setting) {
        return expanded(setting.value())
                .orElseThrow(
                        () -> setting.failure("it has an expression whose value can't be known here; write the value"));
    }

    private void take(Setting setting) {
        Optional<String> expanded = expanded(setting.value());
        if (expanded.isEmpty()) {
            setting.notTaken(draft, "it has an expression whose value can't be known here");
            return;
        }
        String value = expanded.get();
        switch (setting.key()) {
            case "command", "process_name", "numprocs", "numprocs_start" -> {}
            case "directory" -> path(setting, value);
            case "environment" -> environment(setting, value);
            case "user" -> draft.put("user", value);
            case "umask" -> {
                if (value.matches("0?[0-7]{1,3}")) {
                    draft.put("umask", String.format("%04o", Integer.parseInt(value, 8)));
                } else {
                    setting.notTaken(draft, "umask is octal, such as 0022");
                }
            }
            case "autorestart" ->
                draft.put(
                        "restart.policy",
                        switch (value.toLowerCase(Locale.ROOT)) {
                            case "true", "yes", "on", "1" -> "always";
                            case "false", "no", "off", "0" -> "never";
                            case "unexpected" -> "onFailure";
                            default -> throw setting.failure("it is true, false or unexpected");
                        });
            case "exitcodes" -> {
                if (!value.equals("0")) {
                    setting.notTaken(draft, "an end with exit status 0 is the expected one");
                }
            }
            case "startretries" -> {
                draft.put("start.attempts", Math.clamp(whole(setting) + 1L, 1, 1000));
                draft.remark(
                        "start",
                        setting.file(),
                        setting.line(),
                        "after " + setting.written() + " supervisor gives up; Homeostat goes on, by longer pauses");
            }
            case "stopsignal" -> {
                String signal = value.startsWith("SIG") ? value.substring(3) : value;
                if (STOP_SIGNALS.contains(signal)) {
                    draft.put("stop.signal", "SIG" + signal);
                } else {
                    setting.notTaken(draft, "a program is asked to end by one of " + String.join(", ", STOP_SIGNALS));
                }
            }
            case "stopwaitsecs" -> {
                if (whole(setting) > 0) {
                    draft.put("stop.timeout", whole(setting) + "s");
                } else {
                    setting.notTaken(draft, "a stop takes some time; signal SIGKILL takes none");
                }
            }
            default -> setting.notTaken(draft, why(setting.key(), value));
        }
    }

    private static String why(String key, String value) {
        return switch (key) {
            case "stopasgroup", "killasgroup" -> "the whole process tree ends with the program anyway";
            case "priority" -> "dependsOn orders starts and stops";
            case "autostart" ->
                value.equalsIgnoreCase("true")
                        ? "what is declared is started anyway"
                        : "what is declared is started; homeostat stop keeps it from that";
            case "startsecs" -> "a start has succeeded when the program is well; declare a probe";
            case "redirect_stderr" -> "both go to one log anyway";
            default ->
                key.startsWith("stdout_") || key.startsWith("stderr_")
                        ? "Homeostat keeps the log itself; homeostat logs shows it"
                        : "Homeostat has no such field";
        };
    }

    private void path(Setting setting, String value) {
        if (value.startsWith("/")) {
            draft.put("workingDirectory", value);
        } else {
            setting.notTaken(draft, "it has to be an absolute path");
        }
    }

    /** {@code KEY="value",KEY2=value2}. */
    private void environment(Setting setting, String value) {
        Matcher matcher = VARIABLE.matcher(value);
        int end = 0;
        while (end < value.length() && matcher.find(end) && matcher.start() == end) {
            String text = matcher.group(2);
            boolean quoted = text.startsWith("\"") || text.startsWith("'");
            draft.variable(
                    matcher.group(1),
                    quoted ? text.substring(1, text.length() - 1) : text,
                    setting.file(),
                    setting.line());
            end = matcher.end();
        }
        if (end < value.length()) {
            // Its rest may be a secret.
            throw SourceFile.failure(
                    setting.file(),
                    setting.line(),
                    "environment is not KEY=\"value\",KEY2=\"value2\" from character " + (end + 1) + " on");
        }
    }

    private static int whole(@Nullable Setting setting, int otherwise) {
        return setting == null ? otherwise : whole(setting);
    }

    private static int whole(Setting setting) {
        Integer number = Ints.tryParse(setting.value());
        if (number == null || number < 0 || number > 1_000_000) {
            throw setting.failure("write a number");
        }
        return number;
    }
}
