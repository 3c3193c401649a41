package io.homeostat.reconcile.cli;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.common.primitives.Ints;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.reconcile.command.environment.GlobalOptions.OutputFormat;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** The options and parameters of one command, built in code: reading annotations by reflection takes longer than many a command. */
final class Syntax {
    /** What stands for a workload in help; completion goes by labels, too: PATH, FILE and DIR are what they say. */
    static final String WORKLOAD = "KIND/NAME";

    /** The same of a plugin. */
    static final String PLUGIN = "plugin/NAME";

    /** What is to be explained. */
    static final String FIELD = "FIELD";

    static final String FILES = "-f";
    static final String PRUNE = "--prune";
    static final String ALLOW_EMPTY = "--allow-empty";
    static final String TIMEOUT = "--timeout";
    static final String REASON = "--reason";
    static final String DETAILED_EXIT_CODE = "--detailed-exitcode";
    static final String FOLLOW = "--follow";
    static final String FOR = "--for";
    static final String SINCE = "--since";
    static final String LIMIT = "--limit";
    static final String TAIL = "--tail";
    static final String TIMESTAMPS = "--timestamps";
    static final String TO = "--to";
    static final String WATCH = "--watch";
    static final String INTERACTIVE = "--interactive";
    static final String TERMINAL = "--tty";
    static final String REQUEST = "--request";
    static final String CODE = "--code";
    static final String REVISION = "--revision";
    static final String YES = "--yes";
    static final String NAME = "--name";
    static final String ARGUMENT = "--argument";
    static final String ENTRY_POINT = "--entry-point";
    static final String AS_PLUGIN = "--plugin";
    static final String FROM_PROGRAM = "--program";
    static final String FROM_TASK = "--task";
    static final String ENVIRONMENT = "--env";
    static final String URL_PREFIX = "--url-prefix";
    static final String KEY = "--key";
    static final String FORCE = "--force";
    static final String FLEET = "--fleet";
    static final String MACHINE = "--machine";
    static final String DRY_RUN = "--dry-run";
    static final String OPEN = "--open";
    static final String LABELS = "-l";
    static final String ALL = "--all";
    static final String OUTPUT = "-o";
    static final String CONFIG = "--config";
    static final String LISTEN = "--listen";
    static final String RUNTIME = "--runtime";
    static final String STATE_DIR = "--state-dir";
    static final String RUN_DIR = "--run-dir";
    static final String LOG_LEVEL = "--log-level";
    static final String NO_COLOR = "--no-color";
    static final String HELP = "-h";
    static final String VERSION = "--version";

    /**
     * What may stand after a dash.
     *
     * @param many whether it may be given again; its values are a list then
     * @param greedy whether all words up to the next dash are its values
     * @param words what its value may be; empty when that is not one of a few
     * @param value of a word that was typed; empty when it has none. Nothing converts what is a text anyway
     */
    record Option(
            ImmutableList<String> names,
            Class<?> type,
            boolean many,
            boolean greedy,
            boolean required,
            String label,
            ImmutableList<String> words,
            Function<String, Optional<Object>> value,
            String description) {
        boolean isFlag() {
            return type == boolean.class;
        }

        boolean isChoice() {
            return !words.isEmpty();
        }
    }

    /** What may stand without one: a word, or many. */
    record Parameter(
            String label,
            boolean many,
            boolean required,
            @Nullable Iterable<String> candidates,
            String description) {}

    private final List<Option> options = new ArrayList<>();
    private final List<Parameter> parameters = new ArrayList<>();
    private boolean takesProgram;
    private boolean isYaml;

    private Syntax() {}

    /** What may stand before the command, but for the version. */
    static Syntax root() {
        return new Syntax().global();
    }

    static Syntax of(Verb verb) {
        Syntax syntax = new Syntax();
        verb.declare(syntax);
        return syntax.global();
    }

    ImmutableList<Option> options() {
        return ImmutableList.copyOf(options);
    }

    Optional<Option> option(String name) {
        return options.stream().filter(option -> option.names().contains(name)).findFirst();
    }

    /** In their order; only the last one may be many. */
    ImmutableList<Parameter> parameters() {
        return ImmutableList.copyOf(parameters);
    }

    /** Whether what follows {@code --} is a program and its arguments, and no matter of ours. */
    boolean takesProgram() {
        return takesProgram;
    }

    /** What stands after {@code --}. */
    Syntax program() {
        takesProgram = true;
        return this;
    }

    /** One workload. */
    Syntax workload() {
        parameters.add(new Parameter(WORKLOAD, false, true, null, "Such as process/web."));
        return this;
    }

    Syntax files(boolean required) {
        return texts(
                ImmutableList.of(FILES, "--file"),
                true,
                required,
                "PATH",
                "A file, a directory with .yaml and .yml files, or - for standard input.");
    }

    Syntax about() {
        return texts(
                ImmutableList.of(FOR), false, false, WORKLOAD, "Only what is about this workload; may be given again.");
    }

    Syntax since() {
        return text(
                SINCE,
                "TIME",
                "Only what happened since then: 15m, 2h30m, or a time such as 2026-11-20T12:00:00Z.",
                false);
    }

    Syntax prune() {
        return flag(PRUNE, "Also remove what an earlier apply of the same PATH declared and this one does not.")
                .flag(ALLOW_EMPTY, "With --prune: also where there is no document, so that all of it is removed.");
    }

    /** Whose text is YAML, for which may be asked by that name, too. */
    Syntax yaml() {
        isYaml = true;
        return this;
    }

    Syntax timeout() {
        return text(TIMEOUT, "DURATION", "How long to go on, such as 90s or 5m; 2m is the default.", false);
    }

    Syntax reason(boolean required) {
        return text(REASON, "TEXT", "Why, for whoever looks at status or events.", required);
    }

    Syntax config() {
        return text(CONFIG, "FILE", "How the agent works; homeostat explain Agent tells what may stand in it.", false);
    }

    Syntax follow(String description) {
        return flag(ImmutableList.of("-f", FOLLOW), description);
    }

    /** By a letter, too. */
    Syntax flag(String letter, String name, String description) {
        return flag(ImmutableList.of(letter, name), description);
    }

    Syntax flag(String name, String description) {
        return flag(ImmutableList.of(name), description);
    }

    Syntax text(String name, String label, String description, boolean required) {
        return add(new Option(
                ImmutableList.of(name),
                String.class,
                false,
                false,
                required,
                label,
                ImmutableList.of(),
                Optional::of,
                description));
    }

    /** May be given again. */
    Syntax texts(String name, String label, String description) {
        return texts(ImmutableList.of(name), false, false, label, description);
    }

    Syntax number(String name, String description) {
        return add(new Option(
                ImmutableList.of(name),
                Integer.class,
                false,
                false,
                false,
                "NUMBER",
                ImmutableList.of(),
                text -> Optional.ofNullable(Ints.tryParse(text)),
                description));
    }

    /** One or more workloads, or a choice of them. */
    Syntax selection() {
        return selection(WORKLOAD);
    }

    /** One or more plugins, or a choice of them. */
    Syntax plugins() {
        return selection(PLUGIN);
    }

    private Syntax selection(String label) {
        parameters.add(new Parameter(label, true, false, null, "Such as plugin/ops-agent."));
        return labels().flag(ALL, "All workloads that are declared.");
    }

    Syntax labels() {
        return text(LABELS, "LABEL=VALUE", "Those with this label, or with all of several: team=sre,tier=web.", false);
    }

    Syntax word(String label, boolean required, String description) {
        return word(label, required, description, null);
    }

    /** @param candidates what it may be, for completion; null when it is not one of a few words */
    Syntax word(String label, boolean required, String description, @Nullable Iterable<String> candidates) {
        parameters.add(new Parameter(label, false, required, candidates, description));
        return this;
    }

    /** Any words, of which {@code --} has to stand before those that begin with a dash. */
    Syntax words() {
        parameters.add(new Parameter("WORD", true, false, null, ""));
        return this;
    }

    private Syntax global() {
        return choice(
                        OUTPUT,
                        "--output",
                        OutputFormat.class,
                        isYaml ? ImmutableList.of("yaml", "json") : words(OutputFormat.class),
                        isYaml ? "yaml|json" : "text|json",
                        "How results are written; " + (isYaml ? "yaml" : "text") + " is the default.")
                .text(STATE_DIR, "DIR", "Where state is kept; --run-dir stays where it is.", false)
                .text(RUN_DIR, "DIR", "Where sockets are.", false)
                .choice(
                        LOG_LEVEL,
                        LOG_LEVEL,
                        AgentConfig.Log.Level.class,
                        words(AgentConfig.Log.Level.class),
                        "LEVEL",
                        "error, warn (the default; for run what agent.yaml says), info, debug or trace.")
                .flag(NO_COLOR, "No colours, as with NO_COLOR in the environment.")
                .flag(ImmutableList.of(HELP, "--help"), "Print this help.");
    }

    private static <E extends Enum<E>> ImmutableList<String> words(Class<E> type) {
        return Arrays.stream(type.getEnumConstants())
                .map(value -> value.name().toLowerCase(Locale.ROOT))
                .collect(ImmutableList.toImmutableList());
    }

    /**
     * One of a few words, in upper or lower case.
     *
     * @param words for the constants, in their order
     */
    private <E extends Enum<E>> Syntax choice(
            String name,
            String longName,
            Class<E> type,
            ImmutableList<String> words,
            String label,
            String description) {
        return add(new Option(
                ImmutableSet.of(name, longName).asList(),
                type,
                false,
                false,
                false,
                label,
                words,
                text -> {
                    String word = text.toLowerCase(Locale.ROOT);
                    int index = Math.max(words.indexOf(word), words(type).indexOf(word));
                    return index < 0 ? Optional.empty() : Optional.of(type.getEnumConstants()[index]);
                },
                description));
    }

    private Syntax flag(ImmutableList<String> names, String description) {
        return add(new Option(
                names,
                boolean.class,
                false,
                false,
                false,
                "",
                ImmutableList.of(),
                text -> Optional.empty(),
                description));
    }

    private Syntax texts(
            ImmutableList<String> names, boolean greedy, boolean required, String label, String description) {
        return add(new Option(
                names, String.class, true, greedy, required, label, ImmutableList.of(), Optional::of, description));
    }

    private Syntax add(Option option) {
        options.add(option);
        return this;
    }
}
