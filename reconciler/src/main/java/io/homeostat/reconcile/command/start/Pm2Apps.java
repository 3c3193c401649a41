package io.homeostat.reconcile.command.start;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.common.primitives.Ints;
import io.homeostat.desired.model.schema.Notation;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.start.SourceTree.Entry;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Makes Processes of the apps in an ecosystem file of pm2 (pm2.keymetrics.io, "Ecosystem File"), in JSON or YAML. */
public final class Pm2Apps {
    private static final int MOST_INSTANCES = 1000;
    private static final ImmutableSet<String> LOGS = ImmutableSet.of(
            "out_file",
            "output",
            "error_file",
            "error",
            "log_file",
            "log",
            "merge_logs",
            "combine_logs",
            "time",
            "log_date_format",
            "log_type",
            "disable_logs");

    private final Path file;
    private final SourceTree app;
    private final Draft draft;

    private Pm2Apps(Path file, SourceTree app, String name) {
        this.file = file;
        this.app = app;
        this.draft = new Draft("Process", LocalProgram.name(name));
    }

    /** A document for each instance of each app, or of the one that is named; {@code environment} is that of {@code pm2 --env}. */
    public static Drafts drafts(Path file, Optional<String> only, Optional<String> environment) {
        if (file.toString().matches(".*\\.[cm]?js")) {
            throw new CommandFailure(file
                    + " is a program, which only node can read; have it print what it says, and give that: node -p"
                    + " 'JSON.stringify(require(\"./" + file.getFileName() + "\"))' > ecosystem.json");
        }
        SourceTree whole = SourceTree.read(SourceFile.read(file));
        SourceTree apps = whole.at("apps").orElse(whole);
        ImmutableList<SourceTree> all = apps.isList() ? apps.items() : ImmutableList.of(apps);
        ImmutableList<SourceTree> wanted = all.stream()
                .filter(app -> only.isEmpty() || only.get().equals(nameOf(app)))
                .collect(ImmutableList.toImmutableList());
        if (wanted.isEmpty()) {
            throw new CommandFailure(file + " has no such app; it has "
                    + String.join(", ", all.stream().map(Pm2Apps::nameOf).toList()));
        }
        if (environment.isPresent()
                && wanted.stream()
                        .allMatch(app -> app.at("env_" + environment.get()).isEmpty())) {
            throw wanted.getFirst().failure("there is no env_" + environment.get() + " for --env " + environment.get());
        }
        ImmutableList<Draft> drafts = wanted.stream()
                .flatMap(app -> drafts(file, app, environment).stream())
                .collect(ImmutableList.toImmutableList());
        if (whole.at("apps").isPresent()) {
            whole.entries().stream()
                    .filter(entry -> !entry.key().equals("apps"))
                    .forEach(entry -> entry.notTaken(drafts.getFirst(), "Homeostat has nothing like it"));
        }
        return new Drafts("pm2's " + file, drafts);
    }

    private static String nameOf(SourceTree app) {
        return app.at("name")
                .map(SourceTree::text)
                .orElseGet(
                        () -> String.valueOf(Path.of(script(app)).getFileName()).replaceAll("\\.[^.]*$", ""));
    }

    private static String script(SourceTree app) {
        return app.at("script")
                .map(SourceTree::text)
                .orElseThrow(() -> app.failure("the app has no script, so there is nothing to run"));
    }

    private static ImmutableList<Draft> drafts(Path file, SourceTree app, Optional<String> environment) {
        boolean forks = app.at("exec_mode")
                .filter(mode -> mode.text().startsWith("fork"))
                .isPresent();
        Optional<SourceTree> instances = app.at("instances");
        Integer count = instances.isEmpty()
                ? Integer.valueOf(1)
                : Ints.tryParse(instances.get().text());
        String name = nameOf(app);
        if (!forks || instances.isEmpty() || count == null || count == 1) {
            return ImmutableList.of(new Pm2Apps(file, app, name)
                    .made(environment, instances.isPresent() && (count == null || count != 1)));
        }
        if (count < 1 || count > MOST_INSTANCES) {
            throw instances.get().failure("instances: write a number from 1 to " + MOST_INSTANCES);
        }
        ImmutableList.Builder<Draft> drafts = ImmutableList.builder();
        for (int i = 0; i < count; i++) {
            Pm2Apps one = new Pm2Apps(file, app, name + "-" + i);
            one.draft.variable(
                    "NODE_APP_INSTANCE",
                    Integer.toString(i),
                    file.toString(),
                    instances.get().line());
            drafts.add(one.made(environment, false));
        }
        return drafts.build();
    }

    private Draft made(Optional<String> environment, boolean cluster) {
        draft.put("install", "local");
        command();
        // What pm2 does when nothing else is said.
        draft.put("stop.signal", "SIGINT");
        // After env, wherever it stands: it wins over that.
        app.entries().stream().filter(entry -> entry.key().equals("env")).forEach(this::take);
        for (Entry entry : app.entries()) {
            if (entry.key().startsWith("env_")) {
                environment(entry, environment);
            } else if (entry.key().equals("instances") && cluster) {
                entry.notTaken(draft, "its cluster shares a port between processes, which takes pm2; one is declared");
            } else if (!entry.key().equals("env")) {
                take(entry);
            }
        }
        if (environment.isPresent() && app.at("env_" + environment.get()).isEmpty()) {
            draft.remark(
                    "",
                    file.toString(),
                    app.line(),
                    "it has no env_" + environment.get() + ", so --env " + environment.get() + " changes nothing here");
        }
        return draft;
    }

    private Path directory() {
        Path parent = file.toAbsolutePath().getParent();
        Path beside = parent == null ? file.toAbsolutePath() : parent;
        return app.at("cwd").map(cwd -> beside.resolve(cwd.text()).normalize()).orElse(beside);
    }

    /** As pm2 finds it: what is not there may be a program of the system's. */
    private String program() {
        Path script = directory().resolve(script(app)).normalize();
        return Files.isRegularFile(script)
                ? script.toString()
                : Programs.find(script(app)).orElse(script.toString());
    }

    private void command() {
        String script = program();
        List<String> words = new ArrayList<>();
        String interpreter = app.at("interpreter")
                .or(() -> app.at("exec_interpreter"))
                .map(SourceTree::text)
                .orElseGet(() -> usual(script));
        if (!interpreter.equals("none") && !interpreter.isEmpty()) {
            words.add(Programs.find(interpreter)
                    .orElseThrow(() -> app.failure("the interpreter '" + interpreter
                            + "' is in none of the system's directories; write an absolute path")));
            for (String key : List.of("interpreter_args", "node_args")) {
                app.at(key).ifPresent(args -> words.addAll(words(args)));
            }
        }
        words.add(script);
        for (String key : List.of("args", "script_args")) {
            app.at(key).ifPresent(args -> words.addAll(words(args)));
        }
        draft.put("entryPoint", words.removeFirst());
        if (!words.isEmpty()) {
            draft.put("arguments", words);
        }
        draft.put("workingDirectory", directory().toString());
    }

    private static String usual(String script) {
        return script.matches(".*\\.[cm]?js")
                ? "node"
                : script.endsWith(".py") ? "python3" : script.endsWith(".sh") ? "bash" : "none";
    }

    private static List<String> words(SourceTree args) {
        if (args.isList()) {
            return args.items().stream().map(SourceTree::text).toList();
        }
        try {
            return CommandWords.shell(args.text());
        } catch (IllegalArgumentException e) {
            throw args.failure(String.valueOf(e.getMessage()));
        }
    }

    private void environment(Entry entry, Optional<String> wanted) {
        if (wanted.isPresent() && entry.key().equals("env_" + wanted.get())) {
            variables(entry);
        } else {
            entry.notTaken(draft, "--env " + entry.key().substring("env_".length()) + " takes it");
        }
    }

    private void variables(Entry entry) {
        for (Entry variable : entry.value().entries()) {
            draft.variable(variable.key(), variable.value().text(), file.toString(), variable.line());
        }
    }

    private void take(Entry entry) {
        SourceTree value = entry.value();
        if (value.isNothing() && !entry.key().matches("autorestart|env")) {
            return;
        }
        switch (entry.key()) {
            case "name",
                    "script",
                    "args",
                    "script_args",
                    "interpreter",
                    "exec_interpreter",
                    "interpreter_args",
                    "node_args",
                    "cwd",
                    "instances",
                    "exec_mode" -> {}
            case "env" -> variables(entry);
            case "user", "uid" -> draft.put("user", value.text());
            case "group", "gid" -> draft.put("group", value.text());
            case "autorestart" -> draft.put("restart.policy", value.text().equals("false") ? "never" : "always");
            case "max_restarts" -> draft.put("restart.giveUpAfter", value.number());
            case "min_uptime" -> duration(entry, "restart.resetAfter");
            case "restart_delay", "exp_backoff_restart_delay" -> duration(entry, "restart.initialDelay");
            case "kill_timeout" -> duration(entry, "stop.timeout");
            case "max_memory_restart" -> memory(entry);
            case "cron_restart" -> entry.notTaken(draft, "Homeostat restarts nothing by the clock");
            case "watch", "ignore_watch", "watch_delay", "watch_options" ->
                entry.notTaken(
                        draft, "a restart for files that change is not there; reload.watch names files to read again");
            case "wait_ready", "listen_timeout" ->
                entry.notTaken(draft, "a start has succeeded when the program is well; declare a probe");
            default ->
                entry.notTaken(
                        draft,
                        LOGS.contains(entry.key())
                                ? "Homeostat keeps the log itself; homeostat logs shows it"
                                : "Homeostat has no such field");
        }
    }

    /** In milliseconds, or with a unit. */
    private void duration(Entry entry, String path) {
        String text = entry.value().text();
        Optional<Duration> duration = text.matches("[0-9]{1,9}")
                ? Optional.of(Duration.ofMillis(Long.parseLong(text)))
                : Notation.duration(text);
        if (duration.isPresent()) {
            draft.put(path, Notation.text(duration.get()));
        } else {
            entry.notTaken(draft, path + " is a duration, such as 90s");
        }
    }

    private void memory(Entry entry) {
        String text = entry.value().text();
        String size = text.matches("[0-9]{1,9}[KMG]") ? text + "i" : text;
        if (size.matches("[0-9]{1,15}|[0-9]{1,9}[KMG]i")) {
            draft.put("limits.memory", size);
        } else {
            entry.notTaken(draft, "limits.memory is a number of bytes, such as 512Mi");
        }
    }
}
